//! Reads a policy file and says where it is wrong: file, line, column, field.

mod wrong;

use self::wrong::Wrong;
use super::{ClusterGates, Policy, Profile, check, expected};
use crate::object::{Path, Segment};
use crate::tree::Value;
use crate::yaml;

/// Why a policy could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct PolicyError {
    /// File, as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, with the path of the field.
    pub message: String,
}

/// What is wrong with one field, before its line is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PolicyFault {
    /// The field.
    pub(super) path: Path,
    /// What is wrong with it.
    pub(super) message: String,
}

/// Everything that is wrong with a policy, a line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct PolicyErrors(pub Vec<PolicyError>);

/// Most faults that are named: who gave another file as the policy sees by a few that it is none.
const MOST_FAULTS: usize = 50;

/// Reads a policy from the bytes of a file and checks what each field says.
///
/// # Errors
/// When the text is not YAML as Kubernetes reads it, holds an unknown field, a value of the wrong type, or one that can
/// never work (a value without a source, a pattern that is no regular expression, two places for the pins): everything that
/// is wrong, in the order of the lines.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Policy, PolicyErrors> {
    let mut value = yaml::read_strict(bytes).map_err(|error| {
        let yaml::Error { line, column, message } = error;
        PolicyErrors(vec![PolicyError { file: file.to_owned(), line, column, message }])
    })?;
    let at = |fault: PolicyFault| {
        let (line, column) = place(bytes, &fault.path);
        let message = match fault.path.is_root() {
            true => fault.message,
            false => format!("{}: {}", fault.path, fault.message),
        };
        PolicyError { file: file.to_owned(), line, column, message }
    };
    if value.is_null() {
        let message =
            "the policy is empty; it starts with apiVersion: rollgate.dev/v1alpha1 and kind: Policy".to_owned();
        return Err(PolicyErrors(vec![at(PolicyFault { path: Path::root(), message })]));
    }
    Profile::fill_in(&mut value);
    let mut wrong = Wrong::default();
    // What is wrong is put aside, and the rest is looked at without it.
    loop {
        let faults = match attempt(&value) {
            Ok(policy) if policy.per_cluster.is_empty() && wrong.faults.is_empty() => return Ok(policy),
            Ok(_) if wrong.faults.is_empty() => {
                ClusterGates::inherit(&mut value);
                return attempt(&value).map_err(|faults| PolicyErrors(faults.into_iter().map(at).collect()));
            }
            Ok(_) => break,
            Err(faults) => faults,
        };
        if !wrong.put_aside(&mut value, faults) || wrong.faults.len() > MOST_FAULTS {
            break;
        }
    }
    let left_out = wrong.faults.len() > MOST_FAULTS;
    let mut errors: Vec<PolicyError> = wrong.faults.into_iter().take(MOST_FAULTS).map(at).collect();
    errors.sort_by_key(|error| (error.line, error.column));
    if left_out && let Some(last) = errors.last().cloned() {
        let message = format!("more is wrong; fix these {MOST_FAULTS} first, or give the file that is the policy");
        errors.push(PolicyError { message, ..last });
    }
    Err(PolicyErrors(errors))
}

/// Reads a policy as far as its first fault of form, or says everything that can never work.
fn attempt(value: &Value) -> Result<Policy, Vec<PolicyFault>> {
    let misshapen: Vec<PolicyFault> = expected::misshapen(value)
        .into_iter()
        .map(|(path, message)| PolicyFault { path, message: message.to_owned() })
        .collect();
    if !misshapen.is_empty() {
        return Err(misshapen);
    }
    let read: Result<Policy, _> = serde_path_to_error::deserialize(serde_json::Value::from(value));
    let mut policy = read.map_err(|error| {
        let path = steps(error.path());
        let message = with_words(yaml::plain(&error.inner().to_string()), &path);
        vec![PolicyFault { path, message }]
    })?;
    let faults = check::check(&policy);
    if !faults.is_empty() {
        return Err(faults);
    }
    policy.late_values.iter_mut().flat_map(|value| &mut value.from).for_each(super::schema::Source::unfold);
    Ok(policy)
}

/// A message with the words that the field may hold.
fn with_words(message: String, path: &Path) -> String {
    let words = expected::words(path);
    let Some((last, first)) = words.split_last().filter(|(_, first)| !first.is_empty()) else { return message };
    let list = format!("{} or {last}", first.join(", "));
    if let Some(rest) = message.strip_prefix("expected ").and_then(|rest| rest.split_once(", found ")) {
        let (wish, found) = rest;
        let hint = wish.split_once(" (").map(|(_, hint)| format!(" ({hint}")).unwrap_or_default();
        return format!("expected {list}{hint}, found {found}");
    }
    message.replace("is not a choice here", &format!("is not {list}"))
}

/// The line of a field, where the file says it.
#[must_use]
pub(crate) fn line_of(bytes: &[u8], path: &Path) -> Option<usize> {
    let value = yaml::read_strict(bytes).ok()?;
    path.get(&value)?;
    Some(place(bytes, path).0)
}

/// The path of the field that serde could not read.
fn steps(path: &serde_path_to_error::Path) -> Path {
    let steps: Vec<Segment> = path
        .iter()
        .filter_map(|segment| match segment {
            serde_path_to_error::Segment::Seq { index } => Some(Segment::Index(*index)),
            serde_path_to_error::Segment::Map { key } => Some(Segment::Key(key.clone())),
            serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => None,
        })
        .collect();
    steps.into()
}

/// Line and column of a field; of what holds it where it is not there.
fn place(bytes: &[u8], path: &Path) -> (usize, usize) {
    let Ok(tree) = yaml::read(bytes) else { return (1, 1) };
    let Some(mut node) = tree.root() else { return (1, 1) };
    let mut offset = tree.span(node).start;
    for segment in path.segments() {
        let next = match segment {
            Segment::Key(key) => tree.entries(node).filter(|(name, _)| tree.key_is(*name, key)).last(),
            Segment::Index(index) => tree.items(node).nth(*index).map(|item| (item, item)),
        };
        let Some((name, value)) = next else { break };
        offset = tree.span(name).start;
        node = value;
    }
    let position = tree.position(offset);
    (position.line, position.column)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message for a policy with these lines below its head.
    fn complaint(lines: &str) -> String {
        let text = format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{lines}");
        parse("rollgate.yaml", text.as_bytes()).expect_err(lines).to_string()
    }

    #[test]
    fn the_policy_of_the_design_is_read() {
        let text = r#"
apiVersion: rollgate.dev/v1alpha1
kind: Policy
lateValues:
  - name: cluster_virtual_ip
    placeholders: ["55.55.55.55"]        # what the chart prints while unknown
    equivalent: [""]
    type: ip
    from:
      - object: {apiVersion: v1, kind: ConfigMap, name: capo-cluster-resources, path: "$.data.allocated_ip"}
      - env: CLUSTER_VIP
    pin: once
    wait: 10m
pins: {store: configmap/rollgate-pins}
gates:
  rollout: hold
  delete: hold
  latent: warn
  infrastructure: warn
  maxMachines: 3
  windows: [{cron: "0 2 * * 6", for: 3h, timeZone: Europe/Paris}]
  paused: rollout
  health: {etcd: hold, machines: hold, remediation: hold, vip: warn, hosts: hold}
profile: default
rules: []
"#;
        let policy = parse("rollgate.yaml", text.as_bytes()).expect("a policy");
        assert_eq!(policy.late_values[0].from.len(), 2);
        assert_eq!(policy.gates.max_machines, Some(3));
    }

    #[test]
    fn a_strict_profile_says_what_the_gates_leave_out_and_nothing_else() {
        let gates = |lines: &str| {
            let text = format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nprofile: strict\n{lines}");
            parse("rollgate.yaml", text.as_bytes()).expect("a policy").gates
        };
        for lines in ["", "gates:\n", "gates: {}\n"] {
            assert_eq!(gates(lines).latent, crate::policy::GateAnswer::Hold, "{lines:?}");
        }
        assert_eq!(gates("gates: {latent: allow}\n").latent, crate::policy::GateAnswer::Allow);
        assert_eq!(gates("gates: {latent: allow}\n").infrastructure, crate::policy::GateAnswer::Hold);
    }

    #[test]
    fn gates_of_some_clusters_are_those_of_all_where_they_say_nothing() {
        let read = |lines: &str| {
            let text = format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{lines}");
            parse("rollgate.yaml", text.as_bytes())
        };
        let entry = "perCluster:\n  - clusters: env=lab\n    gates: {rollout: warn, maxUnavailable: null, health: {etcd: warn}}\n";
        let policy = read(&format!("gates: {{latent: hold, maxMachines: 3, health: {{machines: warn}}}}\n{entry}"));
        let gates = policy.expect("a policy").per_cluster.remove(0).gates;
        let (hold, warn) = (crate::policy::GateAnswer::Hold, crate::policy::GateAnswer::Warn);
        assert_eq!((gates.latent, gates.rollout, gates.max_machines), (hold, Some(warn), Some(3)));
        assert_eq!((gates.max_unavailable, gates.health.etcd, gates.health.machines), (None, warn, warn));
        let strict = read(&format!("profile: strict\n{entry}")).expect("a policy").per_cluster.remove(0).gates;
        assert_eq!((strict.latent, strict.health.machines), (hold, hold));
        let wrong =
            read("gates: {rollout: true}\nperCluster:\n  - {clusters: '', gates: {x: 1}}\n").expect_err("wrong");
        let lines: Vec<usize> = wrong.0.iter().map(|error| error.line).collect();
        assert_eq!(lines, [3, 5, 5], "{wrong}");
    }

    #[test]
    fn a_complaint_names_the_line_and_column_of_the_field() {
        for (lines, message) in [
            (
                "lateValues:\n  - name: vip\n    placeholder: x\n",
                "rollgate.yaml:5:5: lateValues[0].placeholder: there is no such field here; did you mean `placeholders`?",
            ),
            (
                "lateValues:\n  - name: vip\n    placeholders: x\n",
                "rollgate.yaml:5:5: lateValues[0].placeholders: expected a list (lines that start with -), found \"x\"",
            ),
            (
                "lateValues:\n  - name: vip\n    wait: 10\n",
                "rollgate.yaml:5:5: lateValues[0].wait: expected text (put it in quotes), found 10",
            ),
            ("lateValues:\n- placeholders: []\n", "rollgate.yaml:4:3: lateValues[0]: the field `name` is missing"),
            (
                "gates:\n  rollout: no\n",
                "rollgate.yaml:4:3: gates.rollout: expected allow, warn or hold (unquoted yes, no, on and off are true or false in YAML), found false",
            ),
            (
                "gates: {rollout: halt}\n",
                "rollgate.yaml:3:9: gates.rollout: \"halt\" is not allow, warn or hold; did you mean `hold`?",
            ),
            (
                "gates:\n  windows:\n  - {cron: \"* * * * *\", for: 3h, timeZone: Mars}\n",
                "rollgate.yaml:5:34: gates.windows[0].timeZone: \"Mars\" is not a time zone; write it as Europe/Paris",
            ),
            (
                "gates: {maxMachines: -1}\n",
                "rollgate.yaml:3:9: gates.maxMachines: expected a whole number that is not negative, found -1",
            ),
            (
                "lateValues:\n  - name: vip\n",
                "rollgate.yaml:4:5: lateValues[0].from: vip has no source; name an object, a file or an env variable",
            ),
        ] {
            let said = complaint(lines);
            assert!(said.lines().any(|line| line == message), "{message} is not in {said}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_said_in_one_run_with_its_lines() {
        let lines = "lateValues:\n- placeholders: [x]\n  wait: soon\n- name: b\n  type: addres\n  from: [{env: B}]\n  wait: 10\n\
                     - name: c\n  from: [{env: C}]\n  patern: x\n- name: d\n  wait: never\ngates:\n  rollout: true\n  delete: halt\n  \
                     maxMachines: -1\n  windows: [{cron: x, for: 3h}, {cron: '0 2 * * 6', for: long}]\nignore:\n- {path: 'a..b', reason: x}\n";
        let text = complaint(lines);
        let found: Vec<&str> = text.lines().map(|line| line.strip_prefix("rollgate.yaml:").unwrap_or(line)).collect();
        let begins = [
            "4:3: lateValues[0]: the field `name` is missing",
            "4:3: lateValues[0].from: unnamed has no source",
            "5:3: lateValues[0].wait: ",
            "7:3: lateValues[1].type: \"addres\" is not ",
            "9:3: lateValues[1].wait: expected text",
            "12:3: lateValues[2].patern: there is no such field here; did you mean `pattern`?",
            "13:3: lateValues[3].from: d has no source",
            "14:3: lateValues[3].wait: ",
            "16:3: gates.rollout: expected allow, warn or hold (",
            "17:3: gates.delete: \"halt\" is not allow, warn or hold",
            "18:3: gates.maxMachines: expected a whole number",
            "19:14: gates.windows[0].cron: ",
            "19:53: gates.windows[1].for: ",
            "21:4: ignore[0].path: ",
        ];
        assert_eq!(found.len(), begins.len(), "{text}");
        for (line, begin) in found.iter().zip(begins) {
            assert!(line.starts_with(begin), "{line} does not begin with {begin}");
        }
    }

    #[test]
    fn of_very_much_that_is_wrong_the_first_is_said_and_that_there_is_more() {
        let lines = |count: usize| (0..count).map(|number| format!("key{number}: 1\n")).collect::<String>();
        let said = complaint(&lines(MOST_FAULTS));
        assert_eq!(said.lines().count(), MOST_FAULTS, "{said}");
        let said = complaint(&lines(4_000));
        assert_eq!(said.lines().count(), MOST_FAULTS + 1, "{said}");
        assert!(said.ends_with("more is wrong; fix these 50 first, or give the file that is the policy"), "{said}");
    }

    #[test]
    fn everything_that_is_wrong_with_a_rule_is_said_with_its_place() {
        let lines = "rules:\n- id: Ours\n  kinds: [{group: apps, kind: Deployment}]\n  effect: nothing\n  path: [spec.x]\n  when: {change: \
                     [moved]}\n- id: ours/b\n  paths: [spec.x]\n  effect: none\n  because: We know\n- {id: ours/c, paths: [spec.x], effect: \
                     rollout, because: We know}\n";
        let text = complaint(lines);
        let places: Vec<&str> = text.lines().map(|line| line.strip_prefix("rollgate.yaml:").unwrap_or(line)).collect();
        let begins = [
            "4:3: rules[0]: the field `because` is missing",
            "4:3: rules[0]: the field `paths` is missing",
            "4:3: rules[0].id: Ours: an id has the form family/name",
            "5:11: rules[0].kinds[0]: Deployment of group \"apps\" is never compared",
            "6:3: rules[0].effect: \"nothing\" is not a choice here; known are none, in-place",
            "7:3: rules[0].path: there is no such field here; did you mean `paths`?",
            "8:19: rules[0].when.change[0]: \"moved\" is not a choice here",
            "11:3: rules[1].effect: ours/b: the effect none makes nothing stricter",
        ];
        for begin in begins {
            assert!(places.iter().any(|place| place.starts_with(begin)), "nothing begins with {begin} in:\n{text}");
        }
        assert_eq!(places.len(), begins.len(), "{text}");
    }

    #[test]
    fn text_that_kubernetes_would_refuse_is_refused_at_its_place() {
        assert!(complaint("gates: {").starts_with("rollgate.yaml:3:"), "{}", complaint("gates: {"));
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_wherever_it_stands() {
        for (lines, place) in [
            ("gates: {rollout: hold}\ngates: {rollout: allow}\n", "rollgate.yaml:4:1: the key \"gates\""),
            ("gates:\n  rollout: hold\n  \"roll\\x6fut\": allow\n", "rollgate.yaml:5:3: the key \"rollout\""),
            ("rules:\n- match: {a: 1, a: 2}\n", "rollgate.yaml:4:17: the key \"a\""),
        ] {
            assert!(complaint(lines).starts_with(place), "{}", complaint(lines));
        }
        // Go takes keys and merges in the order of the text: what is merged last would count.
        for (lines, place) in [
            ("gates:\n  rollout: hold\n  <<: {rollout: allow}\n", "rollgate.yaml:5:3: `<<` stands behind"),
            ("gates:\n  <<: {rollout: hold}\n  <<: {rollout: allow}\n", "rollgate.yaml:5:3: `<<` stands behind"),
        ] {
            assert!(complaint(lines).starts_with(place), "{}", complaint(lines));
        }
        let merged =
            "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\ngates:\n  <<: {rollout: allow}\n  rollout: hold\n";
        assert!(parse("rollgate.yaml", merged.as_bytes()).is_ok());
        let same_name_elsewhere = "gates: {health: {etcd: hold}}\npins: {file: a}\nignore: []\n";
        let text = format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{same_name_elsewhere}");
        assert!(parse("rollgate.yaml", text.as_bytes()).is_ok());
    }

    #[test]
    fn a_second_document_is_not_silently_dropped() {
        assert!(complaint("---\nkind: Policy\n").starts_with("rollgate.yaml:3:"));
    }
}
