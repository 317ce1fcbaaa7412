//! Flags, values of flags and feature gates in what Machines start Kubernetes with that the new version no longer has: the component ends at
//! once, the first new Machine never gets ready, and the rollout stops there.
//! The table (`gone.tsv`) was made of the sources of Kubernetes, minor version by minor version.

mod told;

use std::borrow::Cow;
use std::sync::LazyLock;

use self::told::{Argument, GATES, KUBEADM, MARKS, arguments, holds_arguments, of_template};
use super::version::{After, minor, version};
use super::{Judged, decision};
use crate::compare::{Action, Pair};
use crate::hashed::HashMap;
use crate::kinds::Role;
use crate::kinds::Versions;
use crate::kinds::contract::{CLUSTER, MACHINE_DEPLOYMENT, MACHINE_POOL};
use crate::kinds::fields::{class_named, list, number, text, wanted};
use crate::model::{Decision, Effect, Reason};
use crate::object::{Key, Object};
use crate::providers::kind;
use crate::tree::Value;

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

/// The table by its flags: most arguments have none of them.
static TABLE: LazyLock<HashMap<&'static str, Vec<Gone>>> = LazyLock::new(|| {
    let mut table: HashMap<&str, Vec<Gone>> = HashMap::default();
    for gone in include_str!("gone.tsv").lines().filter_map(Gone::of) {
        table.entry(gone.flag).or_default().push(gone);
    }
    table
});

/// Labels of Kubernetes that no kubelet may give its own node, since 1.16 (`cmd/kubelet/app/options/options.go` ValidateKubeletFlags).
static LABELS: Gone = Gone { component: "kubelet", flag: "node-labels", value: "", since: 16 };

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
            (flag, _) if flag == LABELS.flag => {
                format!("the label {} in --{flag}", reserved_label(&argument.value).unwrap_or_default())
            }
            (GATES, gate) => format!("the feature gate {gate}"),
            (flag, "") => format!("the flag --{flag}"),
            (flag, value) => format!("the value {value} of --{flag}"),
        };
        format!("{what} of {}", argument.component)
    }
}

/// A reason for each owner whose new Machines would be told what their version does not know.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = decision(judged.policy.gates.version);
    if answer == Decision::Allow {
        return Vec::new();
    }
    let is_asked = |pair: &&Pair| {
        let role = kind(&pair.key).role;
        (role.owns_machines() || role == Role::Cluster)
            && pair.action != Action::Delete
            && pair.effect != Effect::Rejected
    };
    let mut owners = judged.pairs.iter().filter(is_asked).peekable();
    let is_any_spoilt = judged.pairs.iter().any(is_spoilt);
    if owners.peek().is_none() && !is_any_spoilt {
        return Vec::new();
    }
    let (after, versions) = (After::of(judged), Versions::of(&judged.world.told_versions()));
    let others = if is_any_spoilt { untouched(judged, &after) } else { Vec::new() };
    let of_pair = |pair: &Pair| of_owner(judged, (&after, &versions), pair, answer);
    owners.filter_map(of_pair).chain(others.iter().filter_map(of_pair)).collect()
}

/// Whether a template that is edited in place comes to say what some version of a component refuses: whoever names it makes its next
/// Machines from that.
fn is_spoilt(pair: &Pair) -> bool {
    let (true, Some(old), Some(new)) = (holds_arguments(&pair.key.kind), &pair.live, &pair.predicted) else {
        return false;
    };
    let had = of_template(&pair.key.kind, old);
    let told = of_template(&pair.key.kind, new);
    told.iter().any(|argument| !had.contains(argument) && !refused(argument, u64::MAX).is_empty())
}

/// Owners of Machines that nobody writes, as they are.
fn untouched(judged: &Judged<'_>, after: &After<'_>) -> Vec<Pair> {
    let all = [CLUSTER, MACHINE_DEPLOYMENT, MACHINE_POOL].into_iter().flat_map(|kind| after.all(kind));
    let unwritten = all.filter(|(key, _)| judged.written(key).next().is_none());
    let as_it_is = |(key, value): (Key, Cow<'_, Value>)| {
        let api_version = text(&value, "/apiVersion").unwrap_or_default().to_owned();
        let (live, predicted) = (Some(value.clone().into_owned()), Some(value.into_owned()));
        Pair { live, predicted, ..Pair::of(key, api_version, Action::Unchanged) }
    };
    unwritten.map(as_it_is).collect()
}

fn of_owner(
    judged: &Judged<'_>,
    (after, versions): (&After<'_>, &Versions),
    pair: &Pair,
    answer: Decision,
) -> Option<Reason> {
    let new = pair.predicted.as_ref()?;
    let is_in = minor(told_version(&pair.key, new)?)?;
    let is_patched = class_named(&pair.key, new).is_some_and(|class| says(judged, &class) || says(judged, &pair.key));
    // A template that says no arguments need not be read, unless a patch may put some into it.
    let is_quiet = |key: &Key| holds_arguments(&key.kind) && !is_patched && !says(judged, key);
    let template = |key: &Key| after.get(key).filter(|_| !is_quiet(key)).map(|value| value.into_owned());
    let api_version = pair.api_version.as_str();
    let told = arguments((&pair.key, api_version), new, versions, template);
    let mut found: Vec<(&Gone, &Argument)> = told
        .iter()
        .flat_map(|argument| refused(argument, is_in).into_iter().map(move |gone| (gone, argument)))
        .collect();
    if found.is_empty() {
        return None;
    }
    // What ends already ends no more than before, unless more Machines are to come.
    let was = pair.live.as_ref().and_then(|old| Some((minor(told_version(&pair.key, old)?)?, old)));
    if let Some((was_in, old)) = was {
        let before = |key: &Key| judged.view.get(key).object()?.value().ok().map(|value| value.into_owned());
        let was = text(old, "/apiVersion").unwrap_or(api_version);
        let had = arguments((&pair.key, was), old, versions, before);
        let grows = grows(&pair.key, old, new);
        found.retain(|(gone, argument)| gone.since > was_in || grows || !had.contains(argument));
    }
    let (first, argument) = found.first()?;
    let others = match found.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let what = first.words(argument);
    let message = format!(
        "{}: Kubernetes 1.{is_in} no longer takes {what}{others} (since 1.{}), so the component ends at once on {}",
        pair.key,
        first.since,
        match pair.action {
            Action::Unchanged => "each Machine that is made from now on",
            _ => "the first new Machine and the rollout stops there",
        }
    );
    let remedy = format!("take {what} out in the same write");
    Some(
        Reason::new("version", answer, message)
            .with_remedy(remedy)
            .with_next("rollgate explain version".to_owned())
            .of(&pair.key),
    )
}

/// Whether a write asks for more Machines of an owner, or of a part of a topology.
fn grows(key: &Key, old: &Value, new: &Value) -> bool {
    if kind(key).role != Role::Cluster {
        return wanted(new, Some(old)) > wanted(old, None);
    }
    let parts = ["/spec/topology/workers/machineDeployments", "/spec/topology/workers/machinePools"];
    let number = |part: &Value| number(part, "/replicas").unwrap_or(1);
    let plane = |side: &Value| side.pointer("/spec/topology/controlPlane").map(number);
    let is_more = |at: &&str| {
        list(new, at).any(|group| {
            let had = list(old, at).find(|had| text(had, "/name") == text(group, "/name"));
            had.is_none_or(|had| number(group) > number(had))
        })
    };
    plane(new) > plane(old) || parts.iter().any(is_more)
}

/// Whether an object may say an argument of a component, as it is written or, where nobody writes it, as it is live.
fn says(judged: &Judged<'_>, key: &Key) -> bool {
    let may_say = |object: &Object| MARKS.iter().any(|mark| object.may_say(mark));
    match judged.rendered.get(key) {
        Some(rendered) => may_say(rendered) || judged.view.get(key).object().is_some_and(may_say),
        None => judged.written(key).next().is_some() || judged.view.get(key).object().is_none_or(may_say),
    }
}

/// The version that an owner, or a topology, gives to its Machines.
fn told_version<'v>(key: &Key, owner: &'v Value) -> Option<&'v str> {
    if kind(key).role == Role::Cluster { text(owner, "/spec/topology/version") } else { version(key, owner) }
}

/// What of an argument a version no longer takes. A gate that is gone is not told again as locked.
fn refused(argument: &Argument, is_in: u64) -> Vec<&'static Gone> {
    if LABELS.since <= is_in && LABELS.is(argument) && reserved_label(&argument.value).is_some() {
        return vec![&LABELS];
    }
    let of_flag = TABLE.get(argument.flag.as_str()).into_iter().flatten();
    let all: Vec<&Gone> = of_flag.filter(|gone| gone.since <= is_in && gone.is(argument)).collect();
    let is_gone = |gate: &str| all.iter().any(|other| other.value == gate);
    let alone = |gone: &&&Gone| gone.value.split_once('=').is_none_or(|(gate, _)| !is_gone(gate));
    all.iter().filter(alone).copied().collect()
}

/// The first label of a list that belongs to Kubernetes and is none of those that a kubelet may say of its own node
/// (`k8s.io/kubelet/pkg/apis/well_known_labels.go` IsKubeletLabel, v0.36).
fn reserved_label(labels: &str) -> Option<&str> {
    const OWN: [&str; 11] = [
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    ];
    let lies_in = |domain: &str, of: &str| {
        domain.strip_suffix(of).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let is_reserved = |label: &&str| {
        let Some((domain, _)) = label.split_once('/') else { return false };
        let is_of_kubernetes = ["kubernetes.io", "k8s.io"].iter().any(|own| lies_in(domain, own));
        let is_of_kubelet = ["kubelet.kubernetes.io", "node.kubernetes.io"].iter().any(|own| lies_in(domain, own));
        is_of_kubernetes && !is_of_kubelet && !OWN.contains(label)
    };
    labels.split(',').filter_map(|pair| pair.split('=').next()).map(str::trim).find(is_reserved)
}

#[cfg(test)]
mod tests {
    use super::told::each;
    use super::*;
    use crate::tree::json;

    #[test]
    fn every_line_of_the_table_is_read_and_stands_once() {
        let lines = include_str!("gone.tsv").lines().filter(|line| !line.starts_with('#')).count();
        let all = || TABLE.values().flatten();
        assert_eq!(all().count(), lines);
        let mut names: Vec<_> = all().map(|gone| (gone.component, gone.flag, gone.value)).collect();
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

    #[test]
    fn a_kubelet_may_not_give_its_node_labels_of_kubernetes() {
        for reserved in
            ["node-role.kubernetes.io/worker", "kubernetes.io/role", "x.k8s.io/a", "node-restriction.kubernetes.io/a"]
        {
            assert_eq!(reserved_label(&format!("a=b, {reserved}=")), Some(reserved));
        }
        for free in [
            "worker=",
            "node.kubernetes.io/worker=",
            "a.node.kubernetes.io/b=c",
            "kubernetes.io/arch=arm64",
            "example.org/a=kubernetes.io/b",
            "notkubernetes.io/a=",
        ] {
            assert_eq!(reserved_label(free), None, "{free}");
        }
    }
}
