//! What a webhook compares as a whole: the content of a template, the spec of a Machine. Whether an empty value differs from none
//! is what the Go types of the provider say, so each provider brings its own style.

use super::diff::{self, Style};
use super::versions::{Since, Versions};
use crate::model::RuleId;
use crate::object::{Path, go_duration};
use crate::tree::{Value, json};

/// Id of the refusal of another content under the name of a template.
pub(crate) const CONTENT: RuleId = RuleId::of("template/content");

/// What is compared of one kind.
#[derive(Debug, Clone, Copy)]
pub struct Fixed {
    /// Id of the refusal.
    pub rule: RuleId,
    /// Keys down to what is compared.
    pub at: &'static [&'static str],
    /// Places below it that may change.
    pub free: &'static [&'static str],
    /// The only places below it that may not change; all others where none is named.
    pub only: &'static [&'static str],
    /// What Go's types keep apart.
    pub style: Style,
    /// Fields that an object from before they were there takes once.
    pub once: &'static [&'static str],
    /// Whether a webhook makes those where they are not written.
    pub makes_once: bool,
    /// Whether the comparison also answers for the blocks around the content.
    pub around: bool,
    /// First version of the provider that compares; all where none is named.
    pub since: Option<&'static Since>,
    /// Whether it compares a dry run of the topology controller too, by which that finds out whether a template has to be made anew under
    /// another name (cluster-api `util/topology/topology.go`, IsDryRunRequest: others let it through).
    pub refuses_dry_run: fn(&Versions) -> bool,
}

/// The content of a template whose webhook compares it in a way of its own.
pub(crate) static OWN_WAY: Fixed =
    Fixed { around: true, ..Fixed::template(Style { keep_empty: &[], drop_zero: &[], keep_blank: &[] }) };

impl Fixed {
    /// The content of a template.
    #[must_use]
    pub const fn template(style: Style) -> Self {
        Self {
            rule: CONTENT,
            at: &["spec", "template", "spec"],
            free: &[],
            only: &[],
            style,
            once: &[],
            makes_once: false,
            around: false,
            since: None,
            refuses_dry_run: |_| false,
        }
    }

    /// The whole spec.
    #[must_use]
    pub const fn spec(rule: RuleId, style: Style) -> Self {
        Self { rule, at: &["spec"], ..Self::template(style) }
    }

    /// The refusal of a place that differs.
    #[must_use]
    pub fn message(&self, path: &Path) -> String {
        if self.rule == CONTENT {
            format!(
                "the webhook refuses new content under the same name ({path}); make a template with a new name and point the reference at it"
            )
        } else {
            format!("the webhook refuses another value of {path} later")
        }
    }
}

impl Fixed {
    /// The places at which both sides differ; `None` where this version compares nothing.
    pub fn differences(&self, old: &Value, new: &Value, versions: &Versions) -> Option<Vec<Path>> {
        if self.since.is_some_and(|since| !versions.has(since)) {
            return None;
        }
        let (mut before, mut after) = (self.content(old), self.content(new));
        for key in self.once {
            if let (Some(before), Some(value)) = (before.as_object_mut(), after.get(*key)) {
                before.entry(*key).or_insert_with(|| value.clone());
            }
        }
        for side in [&mut before, &mut after] {
            durations(side);
        }
        Some(diff::places(Some(&before), Some(&after), &self.place()))
    }

    /// Where the webhook refuses the dry run of a template that comes out different; `None` where it lets it through.
    pub fn refused_dry_run(&self, old: &Value, new: &Value, versions: &Versions) -> Option<Path> {
        let is_asked = (self.refuses_dry_run)(versions);
        is_asked.then(|| self.differences(old, new, versions))??.into_iter().next()
    }

    /// Whether a path lies in a field that an object takes once and did not have.
    #[must_use]
    pub fn is_taken_once(&self, path: &Path, old: &Value) -> bool {
        let place = self.place();
        let is_missing = |once: &Path| once.get(old).is_none_or(|had| had.as_str().is_some_and(str::is_empty));
        self.once.iter().map(|key| place.key(*key)).any(|once| once.covers(path) && is_missing(&once))
    }

    /// Whether the comparison is about a path.
    pub fn covers(&self, path: &Path) -> bool {
        let below = |text: &&str| text.split('.').fold(self.place(), |at, key| at.key(key)).covers(path);
        let is_named = self.only.is_empty() || self.only.iter().any(below);
        let place = self.place();
        (place.covers(path) && is_named && !self.free.iter().any(below)) || (self.around && path.covers(&place))
    }

    /// The place of what is compared.
    fn place(&self) -> Path {
        self.at.iter().fold(Path::root(), |at, key| at.key(*key))
    }

    /// What is compared of one side.
    fn content(&self, side: &Value) -> Value {
        let mut whole = self.place().get(side).cloned().unwrap_or_else(|| json!({}));
        for free in self.free {
            let (parent, last) = free
                .rsplit_once('.')
                .map_or((String::new(), *free), |(head, last)| (format!("/{}", head.replace('.', "/")), last));
            if let Some(map) = whole.pointer_mut(&parent).and_then(Value::as_object_mut) {
                map.shift_remove(last);
            }
        }
        if !self.only.is_empty() {
            let mut named = json!({});
            for only in self.only {
                if let Some(value) = whole.pointer(&format!("/{}", only.replace('.', "/"))) {
                    let mut at = &mut named;
                    for key in only.split('.') {
                        // What is named lies in maps that are made here.
                        at = &mut at[key];
                    }
                    *at = value.clone();
                }
            }
            whole = named;
        }
        diff::prune(&mut whole, self.style);
        whole
    }
}

/// Spells durations alike: Go compares what they mean.
pub(crate) fn durations(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, child) in map.iter_mut() {
                match child
                    .as_str()
                    .filter(|_| key.ends_with("Timeout") || key.ends_with("Duration"))
                    .and_then(go_duration)
                {
                    Some(length) => *child = json!(length),
                    None => durations(child),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(durations),
        _ => {}
    }
}
