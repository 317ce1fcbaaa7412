//! What Argo CD is told about one application: how it writes each object, and which differences it leaves alone.
//! An application that is not among the live objects is not known, and then nothing is assumed about it.

use super::{HostKind, stream};
use crate::apiserver::fields::{FieldSet, Step, canonical, owners};
use crate::apiserver::merge;
use crate::object::{Key, Object};
use crate::tree::Value;
use crate::world::{World, WriteMethod};

/// An application, as far as it matters for writing.
#[derive(Debug, Clone, Default)]
pub(super) struct Application {
    /// `spec.syncPolicy.syncOptions`.
    options: Vec<String>,
    /// `spec.ignoreDifferences`.
    ignored: Vec<Ignored>,
    /// Whether it has the name of the release: one that stands in a render may have nothing to do with what stands beside it.
    pub(super) is_named: bool,
}

/// One entry of `ignoreDifferences`.
#[derive(Debug, Clone)]
struct Ignored {
    group: String,
    kind: String,
    name: String,
    namespace: String,
    places: Vec<Vec<IgnoredStep>>,
    managers: Vec<String>,
    /// A jq expression that is more than a path.
    unread: Option<String>,
}

/// One step of a place that is left alone.
#[derive(Debug, Clone, PartialEq)]
enum IgnoredStep {
    Key(String),
    Index(usize),
    /// Every item.
    Each,
}

impl Application {
    /// The application that writes, where it stands among the live objects: the one with the name of the release, else the
    /// only one.
    pub(super) fn of(world: &World) -> Option<Self> {
        if world.host.kind != Some(HostKind::Argocd) {
            return None;
        }
        let all: Vec<&Object> = world.live.objects().iter().filter(|object| is_application(&object.key)).collect();
        let named = all.iter().find(|object| world.host.release.as_ref() == Some(&object.key.name));
        let object = named.or_else(|| all.first().filter(|_| all.len() == 1))?;
        let value = object.value().ok()?;
        let list = |pointer: &str| value.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Self {
            options: list("/spec/syncPolicy/syncOptions").iter().filter_map(text).collect(),
            ignored: list("/spec/ignoreDifferences").iter().map(Ignored::read).collect(),
            is_named: named.is_some(),
        })
    }

    /// Whether the application as a whole has an option.
    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|word| word == option)
    }

    /// How an object is written (argo-cd `gitops-engine/pkg/sync/sync_context.go`, `applyObject`, `shouldUseServerSideApply`, v3.5.1). To
    /// replace it and to force that also counts where only the live object says so, which older versions do not look at.
    pub(super) fn way(&self, rendered: &Value, live: Option<&Value>, usual: WriteMethod) -> WriteMethod {
        let wants = |option: &str| self.has(option) || stream::has_option(rendered, option);
        let replaces = |option: &str| wants(option) || live.is_some_and(|live| stream::has_option(live, option));
        match (replaces("Replace=true"), replaces("Force=true")) {
            (true, true) => WriteMethod::Recreate,
            (true, false) => WriteMethod::Replace,
            _ if stream::has_option(rendered, "ServerSideApply=false") => WriteMethod::LastApplied,
            _ if wants("ServerSideApply=true") => WriteMethod::ServerSideApply,
            _ => usual,
        }
    }

    /// Whether a refused write makes Argo CD delete the object and make it anew (kubectl `pkg/cmd/apply/patcher.go`).
    pub(super) fn recreates_refused(&self, rendered: &Value) -> bool {
        self.has("Force=true") || stream::has_option(rendered, "Force=true")
    }

    /// What Argo CD sends with `RespectIgnoreDifferences`: the rendered object, with what it leaves alone as live has it
    /// (argo-cd `controller/sync.go`, `normalizeTargetResources`). Live lists go whole where a place inside of one is left
    /// alone, because the patch that puts it back is a merge patch.
    ///
    /// # Errors
    /// The jq expression that is more than a path, so that what it means is not known.
    pub(super) fn respected(&self, key: &Key, live: &Value, rendered: Value) -> Result<Value, String> {
        if !self.has("RespectIgnoreDifferences=true") {
            return Ok(rendered);
        }
        let mut bare = live.clone();
        let mut target = rendered;
        for ignored in self.ignored.iter().filter(|ignored| ignored.is_about(key)) {
            if let Some(expression) = &ignored.unread {
                return Err(expression.clone());
            }
            for value in [&mut bare, &mut target] {
                ignored.places.iter().for_each(|place| take(value, place));
                for owner in owners(live).iter().filter(|owner| ignored.managers.contains(&owner.manager)) {
                    take_owned(value, &owner.fields);
                }
            }
        }
        let patch = merge::diff(&bare, live);
        merge::apply(&mut target, patch);
        Ok(target)
    }
}

/// Whether an object is an application of Argo CD.
fn is_application(key: &Key) -> bool {
    key.group == "argoproj.io" && key.kind == "Application"
}

impl Ignored {
    /// Reads one entry.
    fn read(entry: &Value) -> Self {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let list = |key: &str| -> Vec<String> {
            let items = entry.get(key).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let expressions = list("jqPathExpressions");
        let unread = expressions.iter().find(|text| jq_place(text).is_none()).cloned();
        let mut places: Vec<Vec<IgnoredStep>> = list("jsonPointers").iter().map(|text| pointer(text)).collect();
        places.extend(expressions.iter().filter_map(|text| jq_place(text)));
        Self {
            group: text("group"),
            kind: text("kind"),
            name: text("name"),
            namespace: text("namespace"),
            places,
            managers: list("managedFieldsManagers"),
            unread,
        }
    }

    /// Whether the entry is about an object.
    fn is_about(&self, key: &Key) -> bool {
        fits_glob(&self.group, &key.group)
            && fits_glob(&self.kind, &key.kind)
            && (self.name.is_empty() || self.name == key.name)
            && (self.namespace.is_empty() || Some(&self.namespace) == key.namespace.as_ref())
    }
}

/// Whether a group or kind fits a pattern (argo-cd `util/argo/normalizers/diff_normalizer.go`, `Normalize`, by gobwas/glob without separators);
/// one that is no pattern fits nothing but itself.
fn fits_glob(pattern: &str, text: &str) -> bool {
    if !pattern.contains(['*', '?', '[', '{']) {
        return pattern == text;
    }
    let mut expression = String::from("^");
    let mut depth = 0_usize;
    for letter in pattern.chars() {
        match letter {
            '*' => expression.push_str(".*"),
            '?' => expression.push('.'),
            '{' => {
                depth += 1;
                expression.push_str("(?:");
            }
            '}' if depth > 0 => {
                depth -= 1;
                expression.push(')');
            }
            ',' if depth > 0 => expression.push('|'),
            '[' | ']' | '-' | '!' => expression.push(if letter == '!' { '^' } else { letter }),
            other => expression.push_str(&regex::escape(&other.to_string())),
        }
    }
    expression.push('$');
    regex::Regex::new(&expression).is_ok_and(|expression| expression.is_match(text))
}

/// The steps of a JSON pointer.
fn pointer(text: &str) -> Vec<IgnoredStep> {
    let step = |word: &str| IgnoredStep::Key(word.replace("~1", "/").replace("~0", "~"));
    text.split('/').skip(1).map(step).collect()
}

/// The steps of a jq expression that is a plain path: `.spec.a`, `.a["b.c"]`, `.a[]`, `.a[0]`; `None` for any other.
fn jq_place(text: &str) -> Option<Vec<IgnoredStep>> {
    let mut rest = text.trim();
    let mut places = Vec::new();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix(".[").or_else(|| rest.strip_prefix('[')) {
            let (word, tail) = inside.split_once(']')?;
            let quoted = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
            places.push(match quoted {
                Some(key) if !key.contains('\\') => IgnoredStep::Key(key.to_owned()),
                None if word.is_empty() => IgnoredStep::Each,
                _ => IgnoredStep::Index(word.parse().ok()?),
            });
            rest = tail;
            continue;
        }
        let inside = rest.strip_prefix('.')?;
        let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
        if end == 0 {
            return None;
        }
        places.push(IgnoredStep::Key(inside[..end].to_owned()));
        rest = &inside[end..];
    }
    (!places.is_empty()).then_some(places)
}

/// Takes out what stands at a place.
fn take(value: &mut Value, place: &[IgnoredStep]) {
    let Some((first, rest)) = place.split_first() else { return };
    match (value, first) {
        (Value::Object(map), IgnoredStep::Key(key)) if rest.is_empty() => drop(map.shift_remove(key)),
        (Value::Object(map), IgnoredStep::Key(key)) => {
            if let Some(below) = map.get_mut(key) {
                take(below, rest);
            }
        }
        (Value::Array(items), IgnoredStep::Each) if rest.is_empty() => items.clear(),
        (Value::Array(items), IgnoredStep::Each) => items.iter_mut().for_each(|item| take(item, rest)),
        (Value::Array(items), step) => {
            let at = match step {
                IgnoredStep::Index(at) => Some(*at),
                IgnoredStep::Key(word) => word.parse().ok(),
                IgnoredStep::Each => None,
            };
            let Some(at) = at.filter(|at| *at < items.len()) else { return };
            if rest.is_empty() {
                items.remove(at);
            } else {
                take(&mut items[at], rest);
            }
        }
        _ => {}
    }
}

/// Takes out what a set of fields names.
fn take_owned(value: &mut Value, owned: &FieldSet) {
    for (step, below) in &owned.below {
        let whole = below.below.is_empty();
        match (&mut *value, step) {
            (Value::Object(map), Step::Field(key)) if whole => drop(map.shift_remove(key)),
            (Value::Object(map), Step::Field(key)) => {
                if let Some(inner) = map.get_mut(key) {
                    take_owned(inner, below);
                }
            }
            (Value::Array(items), Step::Item(keys)) => {
                let wanted: Value = serde_json::from_str(keys).unwrap_or_default();
                let is_it = |item: &Value| {
                    wanted
                        .as_object()
                        .is_some_and(|wanted| wanted.iter().all(|(key, value)| item.get(key) == Some(value)))
                };
                items.iter_mut().filter(|item| is_it(item)).for_each(|item| take_owned(item, below));
            }
            (Value::Array(items), Step::Member(member)) => items.retain(|item| canonical(item) != *member),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn key() -> Key {
        Key::new("cluster.x-k8s.io/v1beta1", "MachineDeployment", Some("n"), "md")
    }

    fn leaving(entry: Value) -> Application {
        Application {
            options: vec!["RespectIgnoreDifferences=true".into()],
            ignored: vec![Ignored::read(&entry)],
            is_named: true,
        }
    }

    fn entry(what: &str, places: Value) -> Value {
        json!({"group": "cluster.x-k8s.io", "kind": "MachineDeployment", what: places})
    }

    #[test]
    fn what_is_left_alone_is_sent_as_live_has_it() {
        let live = json!({"spec": {"replicas": 5, "paused": true}});
        let rendered = json!({"spec": {"replicas": 1, "version": "v2"}});
        for (what, place) in [("jsonPointers", "/spec/replicas"), ("jqPathExpressions", ".spec.replicas")] {
            assert_eq!(
                leaving(entry(what, json!([place]))).respected(&key(), &live, rendered.clone()),
                Ok(json!({"spec": {"replicas": 5, "version": "v2"}}))
            );
        }
        let other = json!({"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]});
        assert_eq!(leaving(other).respected(&key(), &live, rendered.clone()), Ok(rendered));
    }

    #[test]
    fn what_is_left_alone_and_not_in_live_is_not_sent() {
        let sent = leaving(entry("jsonPointers", json!(["/spec/replicas"]))).respected(
            &key(),
            &json!({"spec": {}}),
            json!({"spec": {"replicas": 1}}),
        );
        assert_eq!(sent, Ok(json!({"spec": {}})));
    }

    #[test]
    fn a_place_inside_of_a_list_brings_the_whole_live_list() {
        let live = json!({"spec": {"files": [{"path": "/a", "content": "by hand"}]}});
        let rendered = json!({"spec": {"files": [{"path": "/a", "content": "1"}, {"path": "/b", "content": "2"}]}});
        let sent =
            leaving(entry("jqPathExpressions", json!([".spec.files[].content"]))).respected(&key(), &live, rendered);
        assert_eq!(sent, Ok(live));
    }

    #[test]
    fn what_another_manager_owns_is_left_alone() {
        let live = json!({"metadata": {"managedFields": [{"manager": "autoscaler", "operation": "Update",
            "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}, "spec": {"replicas": 5}});
        let sent = leaving(entry("managedFieldsManagers", json!(["autoscaler"])))
            .respected(&key(), &live, json!({"spec": {"replicas": 1}}))
            .expect("known");
        assert_eq!(sent["spec"], json!({"replicas": 5}));
    }

    #[test]
    fn a_program_in_jq_is_not_guessed() {
        let program = ".spec.files[] | select(.path == \"/a\")";
        let sent = leaving(entry("jqPathExpressions", json!([program]))).respected(&key(), &json!({}), json!({}));
        assert_eq!(sent, Err(program.to_owned()));
    }

    #[test]
    fn an_object_may_say_how_it_is_written() {
        let with = |options: &str| json!({"metadata": {"annotations": {"argocd.argoproj.io/sync-options": options}}});
        let plain = Application::default();
        for (options, way) in [
            ("Replace=true", WriteMethod::Replace),
            ("Force=true, Replace=true", WriteMethod::Recreate),
            ("ServerSideApply=true", WriteMethod::ServerSideApply),
            ("Validate=false", WriteMethod::LastApplied),
        ] {
            assert_eq!(plain.way(&with(options), None, WriteMethod::LastApplied), way, "{options}");
        }
        let all = Application { options: vec!["ServerSideApply=true".into()], ..Application::default() };
        assert_eq!(all.way(&with("ServerSideApply=false"), None, WriteMethod::LastApplied), WriteMethod::LastApplied);
    }
}
