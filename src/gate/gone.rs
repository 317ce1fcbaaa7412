//! Flags, values of flags and feature gates in what Machines start Kubernetes with that the new version no longer has: the component ends at
//! once, the first new Machine never gets ready, and the rollout stops there.
//! The table (`gone.tsv`) was made of the sources of Kubernetes, minor version by minor version.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::version::{After, minor, version};
use super::{Judged, decision};
use crate::compare::{Action, Pair};
use crate::kinds::Role;
use crate::kinds::contract::{CLUSTER_CLASS, CORE};
use crate::kinds::fields::{target, text};
use crate::kinds::references::references;
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
        let role = kind(&pair.key).role;
        (role.owns_machines() || role == Role::Cluster)
            && pair.action != Action::Delete
            && pair.effect != Effect::Rejected
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
    let is_in = minor(told_version(&pair.key, new)?)?;
    // A template that nobody writes and that says no arguments need not be read.
    let says = |key: &Key| {
        !holds_arguments(&key.kind)
            || judged.written(key).next().is_some()
            || judged
                .view
                .get(key)
                .object()
                .is_none_or(|object| object.may_say("xtraArgs") || object.may_say("featureGates"))
    };
    let template = |key: &Key| says(key).then(|| after.get(key)).flatten().map(|value| value.into_owned());
    let told = arguments(&pair.key, new, template);
    let mut found: Vec<(&Gone, &Argument)> = told
        .iter()
        .flat_map(|argument| refused(argument, is_in).into_iter().map(move |gone| (gone, argument)))
        .collect();
    if found.is_empty() {
        return None;
    }
    // What ends already ends no more than before.
    let was = pair.live.as_ref().and_then(|old| Some((minor(told_version(&pair.key, old)?)?, old)));
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

/// The version that an owner, or a topology, gives to its Machines.
fn told_version<'v>(key: &Key, owner: &'v Value) -> Option<&'v str> {
    if kind(key).role == Role::Cluster { text(owner, "/spec/topology/version") } else { version(key, owner) }
}

/// What of an argument a version no longer takes. A gate that is gone is not told again as locked.
fn refused(argument: &Argument, is_in: u64) -> Vec<&'static Gone> {
    let all: Vec<&Gone> = TABLE.iter().filter(|gone| gone.since <= is_in && gone.is(argument)).collect();
    let is_gone = |gate: &str| all.iter().any(|other| other.value == gate);
    let alone = |gone: &&&Gone| gone.value.split_once('=').is_none_or(|(gate, _)| !is_gone(gate));
    all.iter().filter(alone).copied().collect()
}

/// What an owner tells the components of its Machines: itself, by the template that it names, or by those of its class. What patches of a
/// class make of a template is not looked at.
fn arguments(key: &Key, owner: &Value, read: impl Fn(&Key) -> Option<Value>) -> Vec<Argument> {
    match key.kind.as_str() {
        kubeadm::CONTROL_PLANE_KIND => at(owner, "/spec/kubeadmConfigSpec", &OF_KUBEADM),
        rke2::CONTROL_PLANE_KIND => at(owner, "/spec", &OF_RKE2),
        _ if kind(key).role == Role::Cluster => {
            let class = class_of(key, owner).and_then(|class| Some((read(&class)?, class.namespace.clone())));
            let Some((class, namespace)) = class else { return Vec::new() };
            let named = references(&class).into_iter().filter(|reference| holds_arguments(&reference.kind));
            let keys = named.map(|to| {
                let namespace = to.namespace.or_else(|| namespace.clone());
                Key::of(to.group.unwrap_or_default(), to.kind, namespace, to.name)
            });
            // Two groups of workers may share one.
            let keys: BTreeSet<Key> = keys.collect();
            keys.iter().filter_map(|key| Some(of_template(&key.kind, &read(key)?))).flatten().collect()
        }
        _ => {
            let reference = owner.pointer("/spec/template/spec/bootstrap/configRef");
            let named = reference.and_then(|named| target(named, key.namespace.as_deref()));
            let named = named.filter(|named| holds_arguments(&named.kind));
            named.and_then(|named| Some(of_template(&named.kind, &read(&named)?))).unwrap_or_default()
        }
    }
}

/// The class of a Cluster, in either version.
fn class_of(key: &Key, cluster: &Value) -> Option<Key> {
    let said = |new: &str, old: &str| text(cluster, new).or_else(|| text(cluster, old)).map(str::to_owned);
    let name = said("/spec/topology/classRef/name", "/spec/topology/class")?;
    let namespace = said("/spec/topology/classRef/namespace", "/spec/topology/classNamespace");
    Some(Key::of(CORE.to_owned(), CLUSTER_CLASS, namespace.or_else(|| key.namespace.clone()), name))
}

/// Whether templates of a kind hold arguments.
fn holds_arguments(kind: &str) -> bool {
    matches!(
        kind,
        kubeadm::CONFIG_TEMPLATE
            | kubeadm::CONTROL_PLANE_TEMPLATE
            | rke2::CONFIG_TEMPLATE
            | rke2::CONTROL_PLANE_TEMPLATE
    )
}

/// The arguments in a template.
fn of_template(kind: &str, template: &Value) -> Vec<Argument> {
    match kind {
        kubeadm::CONFIG_TEMPLATE => at(template, "/spec/template/spec", &OF_KUBEADM[5..]),
        kubeadm::CONTROL_PLANE_TEMPLATE => at(template, "/spec/template/spec/kubeadmConfigSpec", &OF_KUBEADM),
        rke2::CONFIG_TEMPLATE => at(template, "/spec/template/spec", &OF_RKE2[3..]),
        rke2::CONTROL_PLANE_TEMPLATE => at(template, "/spec/template/spec", &OF_RKE2),
        _ => Vec::new(),
    }
}

/// The arguments at some places of a part of an object.
fn at(object: &Value, part: &str, places: &[(&'static str, &str)]) -> Vec<Argument> {
    let part = object.pointer(part);
    let found = places.iter().filter_map(|(component, place)| Some((*component, part?.pointer(place)?)));
    found.flat_map(|(component, told)| each(component, told)).collect()
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
    fn each_gate_of_an_argument_counts_and_a_gone_one_once() {
        let told = |value: &str| Argument { component: "kubelet", flag: GATES.to_owned(), value: value.to_owned() };
        let found = |value: &str, is_in| refused(&told(value), is_in).iter().map(|gone| gone.value).collect::<Vec<_>>();
        assert_eq!(found("MemoryManager=true, TopologyAwareHints=true", 36), ["MemoryManager", "TopologyAwareHints"]);
        assert_eq!(found("MemoryManager=false", 36), ["MemoryManager"]);
        assert_eq!(found("MemoryManager=false", 35), ["MemoryManager=false"]);
        assert!(found("MemoryManager=true,NodeSwap=true", 35).is_empty());
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
