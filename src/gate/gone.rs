//! Flags, values of flags and feature gates in what Machines start Kubernetes with that the new version no longer has: the component ends at
//! once, the first new Machine never gets ready, and the rollout stops there.
//! The table (`gone.tsv`) was made of the sources of Kubernetes, minor version by minor version.

use std::sync::LazyLock;

use super::version::{After, minor, version};
use super::{Judged, decision};
use crate::compare::{Action, Pair};
use crate::kinds::fields::target;
use crate::model::{Decision, Effect, Reason};
use crate::object::Key;
use crate::providers::{kind, kubeadm, rke2};
use crate::tree::{Text, Value};

/// The component that reads gates of its own, and the flag that has gates.
const KUBEADM: &str = "kubeadm";
const GATES: &str = "feature-gates";

/// One line of the table.
struct Gone {
    /// The component that ends; `*` for each of them.
    component: &'static str,
    /// The flag, without dashes; [`GATES`] for a gate.
    flag: &'static str,
    /// The gate, with `=` and a value that is refused where it is locked; or the value of the flag that is no longer taken; empty for the flag.
    value: &'static str,
    /// The first minor version without it.
    since: u64,
}

static TABLE: LazyLock<Vec<Gone>> = LazyLock::new(|| include_str!("gone.tsv").lines().filter_map(Gone::of).collect());

impl Gone {
    fn of(line: &'static str) -> Option<Self> {
        let mut words = line.split('\t');
        let (component, flag, value) = (words.next()?, words.next()?, words.next()?);
        Some(Self { component, flag, value, since: words.next()?.parse().ok()? })
    }

    /// Whether an argument is it.
    fn is(&self, argument: &Argument) -> bool {
        let is_value = || {
            argument
                .value
                .split(',')
                .map(str::trim)
                .any(|part| part == self.value || part.split('=').next() == Some(self.value))
        };
        let is_any = self.component == "*" && argument.component != KUBEADM;
        (is_any || self.component == argument.component)
            && self.flag == argument.flag
            && (self.value.is_empty() || is_value())
    }

    /// What a person has to take out.
    fn words(&self, argument: &Argument) -> String {
        let what = match (self.flag, self.value) {
            (GATES, gate) => format!("the feature gate {gate}"),
            (flag, "") => format!("the flag --{flag}"),
            (flag, value) => format!("the value {value} of --{flag}"),
        };
        format!("{what} of {}", argument.component)
    }
}

/// An argument of a component.
#[derive(PartialEq, Eq)]
struct Argument {
    component: &'static str,
    flag: String,
    value: String,
}

/// Where a control plane of kubeadm, a template of its workers, and those of RKE2 say arguments. Kubeadm knows its own gates alone.
const OF_KUBEADM: [(&str, &str); 6] = [
    (KUBEADM, "/clusterConfiguration/featureGates"),
    ("kube-apiserver", "/clusterConfiguration/apiServer/extraArgs"),
    ("kube-controller-manager", "/clusterConfiguration/controllerManager/extraArgs"),
    ("kube-scheduler", "/clusterConfiguration/scheduler/extraArgs"),
    ("kubelet", "/initConfiguration/nodeRegistration/kubeletExtraArgs"),
    ("kubelet", "/joinConfiguration/nodeRegistration/kubeletExtraArgs"),
];
const OF_RKE2: [(&str, &str); 4] = [
    ("kube-apiserver", "/serverConfig/kubeAPIServer/extraArgs"),
    ("kube-controller-manager", "/serverConfig/kubeControllerManager/extraArgs"),
    ("kube-scheduler", "/serverConfig/kubeScheduler/extraArgs"),
    ("kubelet", "/agentConfig/kubelet/extraArgs"),
];

/// A reason for each owner whose new Machines would be told what their version does not know.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = decision(judged.policy.gates.version);
    let is_asked = |pair: &&Pair| {
        kind(&pair.key).role.owns_machines() && pair.action != Action::Delete && pair.effect != Effect::Rejected
    };
    let mut owners = judged.pairs.iter().filter(is_asked).peekable();
    if answer == Decision::Allow || owners.peek().is_none() {
        return Vec::new();
    }
    let after = After::of(judged);
    owners.flat_map(|pair| of_owner(judged, &after, pair, answer)).collect()
}

fn of_owner(judged: &Judged<'_>, after: &After<'_>, pair: &Pair, answer: Decision) -> Option<Reason> {
    let new = pair.predicted.as_ref()?;
    let is_in = minor(version(&pair.key, new)?)?;
    // A template that nobody writes and that says no arguments need not be read.
    let says = |key: &Key| {
        judged.written(key).next().is_some()
            || judged.view.get(key).object().is_none_or(|object| object.may_say("xtraArgs"))
    };
    let template = |key: &Key| says(key).then(|| after.get(key)).flatten().map(|value| value.into_owned());
    let told = arguments(&pair.key, new, template);
    let gone = |is_in: u64, argument: &Argument| TABLE.iter().find(|gone| gone.since <= is_in && gone.is(argument));
    let mut found: Vec<(&Gone, &Argument)> =
        told.iter().filter_map(|argument| Some((gone(is_in, argument)?, argument))).collect();
    if found.is_empty() {
        return None;
    }
    // What ends already ends no more than before.
    let was = pair.live.as_ref().and_then(|old| Some((minor(version(&pair.key, old)?)?, old)));
    if let Some((was_in, old)) = was {
        let before = |key: &Key| judged.view.get(key).object()?.value().ok().map(|value| value.into_owned());
        let had = arguments(&pair.key, old, before);
        found.retain(|(gone, argument)| gone.since > was_in || !had.contains(argument));
    }
    let (first, argument) = found.first()?;
    let others = match found.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let what = first.words(argument);
    let message = format!(
        "{}: Kubernetes 1.{is_in} no longer takes {what}{others} (since 1.{}), so the component ends at once on the first new Machine and the rollout stops there",
        pair.key, first.since
    );
    let remedy = format!("take {what} out in the same write");
    Some(
        Reason::new("version", answer, message)
            .with_remedy(remedy)
            .with_next("rollgate explain version".to_owned())
            .of(&pair.key),
    )
}

/// What an owner tells the components of its Machines, itself or by the template that it names.
fn arguments(key: &Key, owner: &Value, template: impl Fn(&Key) -> Option<Value>) -> Vec<Argument> {
    let read = |part: &Value, places: &[(&'static str, &str)]| -> Vec<Argument> {
        let found = places.iter().filter_map(|(component, place)| Some((*component, part.pointer(place)?)));
        found.flat_map(|(component, told)| each(component, told)).collect()
    };
    let at = |value: &Value, place: &str, places: &[(&'static str, &str)]| {
        value.pointer(place).map(|part| read(part, places)).unwrap_or_default()
    };
    match key.kind.as_str() {
        kubeadm::CONTROL_PLANE_KIND => at(owner, "/spec/kubeadmConfigSpec", &OF_KUBEADM),
        rke2::CONTROL_PLANE_KIND => at(owner, "/spec", &OF_RKE2),
        _ => {
            let reference = owner.pointer("/spec/template/spec/bootstrap/configRef");
            let Some(named) = reference.and_then(|named| target(named, key.namespace.as_deref())) else {
                return Vec::new();
            };
            let places: &[(&'static str, &str)] = match named.kind.as_str() {
                kubeadm::CONFIG_TEMPLATE => &OF_KUBEADM[5..],
                rke2::CONFIG_TEMPLATE => &OF_RKE2[3..],
                _ => return Vec::new(),
            };
            template(&named).map(|value| at(&value, "/spec/template/spec", places)).unwrap_or_default()
        }
    }
}

/// Arguments as they are written: a map, a list of names and values, or a list of texts.
fn each(component: &'static str, told: &Value) -> Vec<Argument> {
    let one = |flag: &str, value: &Value| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Argument { component, flag: flag.trim_start_matches('-').replace('_', "-"), value }
    };
    match told {
        Value::Object(gates) if component == KUBEADM => {
            let gate = |(gate, on): (&Text, &Value)| one(GATES, &Value::from(format!("{gate}={on}")));
            gates.iter().map(gate).collect()
        }
        Value::Object(map) => map.iter().map(|(flag, value)| one(flag, value)).collect(),
        Value::Array(items) => items
            .iter()
            .filter_map(|item| match item.as_str() {
                Some(text) => {
                    let (flag, value) = text.split_once('=').unwrap_or((text, ""));
                    Some(one(flag, &Value::from(value)))
                }
                None => Some(one(item.get("name")?.as_str()?, item.get("value").unwrap_or(&Value::Null))),
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn every_line_of_the_table_is_read_and_stands_once() {
        let lines = include_str!("gone.tsv").lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(TABLE.len(), lines);
        let mut names: Vec<_> = TABLE.iter().map(|gone| (gone.component, gone.flag, gone.value)).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn arguments_are_read_in_each_of_their_forms() {
        let forms = [
            json!({"feature-gates": "A=true,B=false"}),
            json!([{"name": "feature-gates", "value": "A=true,B=false"}]),
            json!(["feature-gates=A=true,B=false"]),
            json!(["--feature-gates=A=true,B=false"]),
        ];
        let gate = Gone { component: "*", flag: "feature-gates", value: "B", since: 30 };
        let locked = Gone { value: "A=true", ..gate };
        let other = Gone { component: "*", flag: "feature-gates", value: "C", since: 30 };
        for form in forms {
            let told = each("kubelet", &form);
            assert_eq!(told.len(), 1, "{form}");
            assert!(gate.is(&told[0]) && locked.is(&told[0]) && !other.is(&told[0]), "{form}");
        }
    }
}
