//! Finds the rule that is about a change.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::builtin::{self, BuiltIn};
pub(crate) use super::pack::Shift;
use super::pack::{Alike, Pack, Rule, names};
use crate::kinds::Versions;
use crate::model::{Effect, Touches};
use crate::object::{ApiVersion, Key, Path, Segment};
use crate::tree::Value;

/// All packs in force for a run.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Those that are built in, in the order in which they are asked.
    pub(super) packs: &'static [BuiltIn],
    pub(super) user: Vec<Pack>,
}

/// What is asked about one leaf of a change.
#[derive(Debug, Clone, Copy)]
pub struct ChangedLeaf<'a> {
    /// The object.
    pub key: &'a Key,
    /// Place in the superset form.
    pub path: &'a Path,
    /// Old value of the leaf.
    pub before: Option<&'a Value>,
    /// New value of the leaf.
    pub after: Option<&'a Value>,
    /// The object before the write, in the superset form.
    pub old: &'a Value,
    /// The object after the write, in the superset form.
    pub new: &'a Value,
    /// Kinds that refer to the object after the write.
    pub used_by: &'a [String],
    /// The providers' versions.
    pub versions: &'a Versions,
    /// Whether the old side is what a cluster holds, and not an old render.
    pub live: bool,
    /// What is known of the controllers' feature gates.
    pub gates: &'a dyn Gates,
}

/// Somebody who may know whether a feature gate of the controllers is on.
pub trait Gates {
    /// Whether it is on; `None` where that is not known.
    fn is_on(&self, gate: &str) -> Option<bool>;
}

impl Gates for BTreeMap<String, bool> {
    fn is_on(&self, gate: &str) -> Option<bool> {
        self.get(gate).copied()
    }
}

impl std::fmt::Debug for dyn Gates + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gates")
    }
}

/// The rule that was found, filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Id of the rule.
    pub rule: String,
    /// What it does.
    pub effect: Effect,
    /// What it moves besides Machines.
    pub touches: Option<Touches>,
    /// A finding that it makes.
    pub finding: Option<String>,
    /// One sentence.
    pub because: String,
    /// Where that behaviour stands.
    pub source: String,
}

/// The packs that are built in, in the order in which they are asked.
static BUILT_IN: LazyLock<Rules> = LazyLock::new(|| Rules { packs: builtin::packs(), user: Vec::new() });

impl Rules {
    /// The packs that are built in.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// The packs that are built in, in the order in which they are asked. All of them are read.
    pub fn packs(&self) -> impl Iterator<Item = &Pack> + Clone + use<'_> {
        self.packs.iter().map(BuiltIn::pack)
    }

    /// Every id that `rollgate explain` answers.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.packs.iter().flat_map(BuiltIn::ids).chain(self.user.iter().flat_map(Pack::ids))
    }

    /// The packs of the providers that are wanted, and no others are read.
    pub fn packs_of(&self, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &Pack> {
        self.packs.iter().filter(move |pack| is_wanted(pack.provider())).map(BuiltIn::pack)
    }

    /// The packs that are about a kind.
    pub fn about<'r>(&'r self, key: &'r Key) -> impl Iterator<Item = &'r Pack> {
        self.packs.iter().filter(|pack| pack.is_about(&key.group, &key.kind)).map(BuiltIn::pack)
    }

    /// The providers whose packs are about a kind.
    pub fn providers_about<'r>(&'r self, group: &'r str, kind: &'r str) -> impl Iterator<Item = &'static str> {
        self.packs.iter().filter(move |pack| pack.is_about(group, kind)).map(BuiltIn::provider)
    }

    /// Whether any pack is about this kind, and not only about any.
    #[must_use]
    pub fn knows(&self, key: &Key) -> bool {
        self.packs.iter().any(|pack| pack.knows(&key.group, &key.kind))
    }

    /// Whether an empty value at a place is another one than none.
    #[must_use]
    pub fn empty_counts(&self, key: &Key, path: &Path) -> bool {
        self.about(key).any(|pack| pack.empty_counts.iter().any(|pattern| pattern.matches(path)))
    }

    /// The versions since which a rule begins or ends to hold, by the provider of its pack.
    pub fn turns(&self) -> impl Iterator<Item = (&str, (u64, u64, u64))> {
        let built_in = self.packs.iter().flat_map(|pack| pack.turns().iter().map(|turn| (pack.provider(), *turn)));
        built_in.chain(self.user.iter().flat_map(|pack| pack.turns().map(|turn| (pack.provider.as_str(), turn))))
    }

    /// The first rule that is about a change.
    #[must_use]
    pub fn find(&self, asked: &ChangedLeaf<'_>) -> Option<Hit> {
        self.about(asked.key)
            .find_map(|pack| pack.rules.iter().find(|rule| rule.holds(asked, pack)).map(|rule| hit(rule, pack, asked)))
    }

    /// The sentence and source of a cause that a mirror gave.
    #[must_use]
    pub fn cause(&self, id: &str) -> Option<(&str, &str)> {
        let cause = builtin::with_cause(id)?.pack().causes.iter().find(|cause| cause.id == id)?;
        Some((&cause.because, &cause.source))
    }
}

impl Pack {
    /// Whether the pack is about a kind.
    #[must_use]
    pub fn is_about(&self, group: &str, kind: &str) -> bool {
        self.kinds.iter().any(|name| names((&name.group, &name.kind), group, kind))
    }

    /// The ids of its causes, then those of its rules.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        let causes = self.causes.iter().map(|cause| cause.id.as_str());
        causes.chain(self.rules.iter().map(|rule| rule.id.as_str()))
    }

    /// The versions since which a rule begins or ends to hold.
    pub(super) fn turns(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.rules.iter().flat_map(Rule::turns)
    }
}

impl Rule {
    /// Whether the rule is about this change.
    pub(super) fn holds(&self, asked: &ChangedLeaf<'_>, pack: &Pack) -> bool {
        // The version is asked for last, and only where it can decide: what nobody asks is judged once for all versions.
        self.paths.iter().any(|pattern| pattern.matches(asked.path))
            && self.when_holds(asked)
            && (self.since.is_none() && self.until.is_none()
                || asked.versions.ask(&pack.provider, |version| self.in_force(version)))
    }

    /// Whether the conditions hold.
    fn when_holds(&self, asked: &ChangedLeaf<'_>) -> bool {
        let when = &self.when;
        let one_of = |value: Option<&Value>, list: &[Value]| list.contains(value.unwrap_or(&Value::Null));
        let field = |object: &Value, path: &String, list: &[Value]| {
            Path::parse(path).is_ok_and(|path| one_of(path.get(object), list))
        };
        (when.change.is_empty() || when.change.iter().any(|shift| shift.is(asked.before, asked.after)))
            && when.before.as_ref().is_none_or(|list| one_of(asked.before, list))
            && when.after.as_ref().is_none_or(|list| one_of(asked.after, list))
            && when.alike.is_none_or(|alike| alike.are(asked.before, asked.after))
            && when.field.iter().all(|(path, list)| field(asked.new, path, list))
            && when.field_before.iter().all(|(path, list)| field(asked.old, path, list))
            && when.live.is_none_or(|wanted| wanted == asked.live)
            && when.new_item.is_none_or(|wanted| wanted == is_in_new_item(asked))
            && when.elsewhere.is_none_or(|wanted| wanted == names_another_namespace(asked))
            && when.gate.as_ref().is_none_or(|gate| asked.gates.is_on(&gate.name).unwrap_or(gate.default) == gate.state)
            && (when.used_by.is_empty() || when.used_by.iter().any(|kind| asked.used_by.contains(kind)))
    }
}

/// Whether the innermost list item in which a field stands was not there before.
fn is_in_new_item(asked: &ChangedLeaf<'_>) -> bool {
    let mut item = asked.path.clone();
    while !matches!(item.segments().last(), Some(Segment::Index(_)) | None) {
        item.pop();
    }
    asked.before.is_none() && !item.is_root() && item.get(asked.old).is_none_or(Value::is_null)
}

/// Whether the new value is the name of another namespace than the object's own; an empty one is none.
fn names_another_namespace(asked: &ChangedLeaf<'_>) -> bool {
    let named = asked.after.and_then(Value::as_str).filter(|name| !name.is_empty());
    named.is_some_and(|name| Some(name) != asked.key.namespace.as_deref())
}

impl Shift {
    /// Whether this is what happens.
    fn is(self, before: Option<&Value>, after: Option<&Value>) -> bool {
        let numbers = || Some((before?.as_f64()?, after?.as_f64()?));
        match self {
            Self::Added => before.is_none() && after.is_some(),
            Self::Removed => before.is_some() && after.is_none(),
            Self::Changed => before.is_some() && after.is_some(),
            Self::Raised => numbers().is_some_and(|(before, after)| after > before),
            Self::Lowered => numbers().is_some_and(|(before, after)| after < before),
        }
    }
}

impl Alike {
    /// Whether two texts are the same in this.
    fn are(self, before: Option<&Value>, after: Option<&Value>) -> bool {
        let texts = before.and_then(Value::as_str).zip(after.and_then(Value::as_str));
        let same = |part: fn(&str) -> Option<&str>| {
            texts.is_some_and(|(before, after)| part(before).is_some() && part(before) == part(after))
        };
        match self {
            Self::Group => same(|text| Some(ApiVersion::parse(text).group).filter(|group| !group.is_empty())),
            Self::Minor => same(minor),
            Self::Version => same(|text| Some(text.strip_prefix('v').unwrap_or(text)).filter(|text| !text.is_empty())),
        }
    }
}

/// The major and the minor number of a version such as `v1.33.1`, as `v1.33`.
fn minor(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix('v')?;
    let (major, rest) = numbers.split_once('.')?;
    let minor = rest.split(['.', '-', '+']).next()?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(major) && is_number(minor)).then(|| text.get(..major.len() + minor.len() + 2))?
}

/// The rule, filled in for a change.
pub(super) fn hit(rule: &Rule, pack: &Pack, asked: &ChangedLeaf<'_>) -> Hit {
    let because = if rule.because.contains('{') {
        let word = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.to_string(),
            Some(value) => value.to_string(),
            None => "nothing".to_owned(),
        };
        rule.because.replace("{before}", &word(asked.before)).replace("{after}", &word(asked.after))
    } else {
        rule.because.clone()
    };
    Hit {
        rule: rule.id.clone(),
        effect: rule.effect,
        touches: rule.touches,
        finding: rule.finding.clone(),
        because,
        source: if rule.source.is_empty() { pack.source.clone() } else { rule.source.clone() },
    }
}
