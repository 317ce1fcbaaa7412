//! Reads a policy file and says where it is wrong: file, line, column, field.

use super::{Policy, Profile, check};
use crate::object::{Path, Segment};
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
pub(super) struct Fault {
    /// The field.
    pub(super) path: Path,
    /// What is wrong with it.
    pub(super) message: String,
}

/// Reads a policy from the bytes of a file and checks what each field says.
///
/// # Errors
/// When the text is not YAML as Kubernetes reads it, holds an unknown field, a value of the wrong type, or one that can
/// never work (a value without a source, a pattern that is no regular expression, two places for the pins).
pub fn parse(file: &str, bytes: &[u8]) -> Result<Policy, PolicyError> {
    let mut value = yaml::read_strict(bytes).map_err(|error| PolicyError {
        file: file.to_owned(),
        line: error.line,
        column: error.column,
        message: error.message,
    })?;
    let at = |fault: Fault| {
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
        return Err(at(Fault { path: Path::root(), message }));
    }
    Profile::fill_in(&mut value);
    let mut policy: Policy = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = steps(error.path());
        at(Fault { path, message: yaml::plain(&error.inner().to_string()) })
    })?;
    check::check(&policy).map_err(at)?;
    policy.late_values.iter_mut().flat_map(|value| &mut value.from).for_each(super::schema::Source::unfold);
    Ok(policy)
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
            assert_eq!(gates(lines).latent, crate::policy::Answer::Hold, "{lines:?}");
        }
        assert_eq!(gates("gates: {latent: allow}\n").latent, crate::policy::Answer::Allow);
        assert_eq!(gates("gates: {latent: allow}\n").infrastructure, crate::policy::Answer::Hold);
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
                "rollgate.yaml:4:3: gates.rollout: expected a word (unquoted yes, no, on and off are true or false in YAML), found false",
            ),
            (
                "gates: {rollout: halt}\n",
                "rollgate.yaml:3:9: gates.rollout: \"halt\" is not a choice here; did you mean `hold`?",
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
            assert_eq!(complaint(lines), message);
        }
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
        let same_name_elsewhere = "gates: {health: {etcd: hold}}\npins: {file: a}\nignore: []\n";
        let text = format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{same_name_elsewhere}");
        assert!(parse("rollgate.yaml", text.as_bytes()).is_ok());
    }

    #[test]
    fn a_second_document_is_not_silently_dropped() {
        assert!(complaint("---\nkind: Policy\n").starts_with("rollgate.yaml:3:"));
    }
}
