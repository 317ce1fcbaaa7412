//! Whether what makes Nodes fits together: kubeadm workers behind an RKE2 control plane never join, a version of RKE2 is none of kubeadm,
//! and an image that says another minor version than its owner is most likely not the one that was meant.

use std::collections::{BTreeMap, BTreeSet};

use super::version::{After, minor, version};
use super::{Judged, decision};
use crate::compare::Pair;
use crate::judge::templates_with_own_image;
use crate::kinds::Role;
use crate::kinds::contract::INFRASTRUCTURE;
use crate::kinds::fields::{class_named, cluster_name, text};
use crate::kinds::references::references;
use crate::model::{Action, Decision, Effect, Reason};
use crate::object::Key;
use crate::parallel;
use crate::providers::{kind, kubeadm, rke2};
use crate::tree::Value;

/// What makes Nodes of Machines, where it is one of the two that do not mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Kubeadm,
    Rke2,
}

impl Family {
    fn of(name: &str) -> Option<Self> {
        match name {
            kubeadm::CONTROL_PLANE_KIND | kubeadm::CONFIG_TEMPLATE | kubeadm::CONFIG => Some(Self::Kubeadm),
            rke2::CONTROL_PLANE_KIND | rke2::CONFIG_TEMPLATE | rke2::CONFIG => Some(Self::Rke2),
            _ => None,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Kubeadm => kubeadm::TITLE,
            Self::Rke2 => rke2::TITLE,
        }
    }
}

/// A reason for each owner that a write makes or changes and that does not fit.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = decision(judged.policy.gates.version);
    if answer == Decision::Allow {
        return Vec::new();
    }
    let after = After::of(judged);
    let mut out = images_of_topologies(judged, &after, answer);
    let asked = parallel::map(judged.pairs, is_asked);
    let owners: Vec<&Pair> =
        judged.pairs.iter().zip(asked).filter(|(_, is_asked)| *is_asked).map(|(pair, _)| pair).collect();
    if owners.is_empty() {
        return out;
    }
    let planes: BTreeMap<_, Key> = after.planes().into_iter().collect();
    let of_pair = |pair: &&Pair| -> Vec<Reason> {
        let Some(owner) = pair.predicted.as_ref() else { return Vec::new() };
        let home = cluster_name(owner).map(|name| (pair.key.namespace.clone(), name.to_owned()));
        let plane = home.and_then(|home| planes.get(&home));
        let said = [
            mixed(&pair.key, owner, plane).map(|what| (answer, what)),
            foreign(&pair.key, owner).map(|what| (answer, what)),
            image(&after, &pair.key, owner).map(|what| (answer.min(Decision::Warn), what)),
        ];
        said.into_iter().flatten().map(|(answer, what)| reason(&pair.key, answer, &what)).collect()
    };
    out.extend(parallel::map(&owners, of_pair).into_iter().flatten());
    out
}

fn reason(key: &Key, answer: Decision, what: &str) -> Reason {
    Reason::new("version", answer, format!("{key}: {what}")).with_next("rollgate explain version".to_owned()).of(key)
}

/// A warning for each image of a topology that is new or gets another version, where its class names one for another version and no patch
/// writes it.
fn images_of_topologies(judged: &Judged<'_>, after: &After<'_>, answer: Decision) -> Vec<Reason> {
    let told = |side: &Option<Value>| Some(text(side.as_ref()?, "/spec/topology/version")?.to_owned());
    let of_pair = |pair: &Pair| -> Vec<Reason> {
        let version = told(&pair.predicted).filter(|new| told(&pair.live).as_ref() != Some(new));
        let (Some(version), Some(cluster)) = (version, pair.predicted.as_ref()) else { return Vec::new() };
        let class = class_named(&pair.key, cluster).and_then(|key| Some((after.get(&key)?, key)));
        let Some((class, class_key)) = class.filter(|_| pair.effect != Effect::Rejected) else { return Vec::new() };
        let templates = templates_with_own_image(&class_key, cluster, &class);
        let said: Vec<String> =
            templates.iter().filter_map(|template| other_image(after, template, &version)).collect();
        said.iter().map(|what| reason(&pair.key, answer.min(Decision::Warn), what)).collect()
    };
    let clusters = judged.pairs.iter().filter(|pair| kind(&pair.key).role == Role::Cluster);
    clusters.flat_map(of_pair).collect()
}

/// Whether a write makes an owner of Machines, or changes what makes its Nodes or in which version.
fn is_asked(pair: &Pair) -> bool {
    let is_owner =
        kind(&pair.key).role.owns_machines() && pair.action != Action::Delete && pair.effect != Effect::Rejected;
    let names =
        |side: &Value| -> BTreeSet<_> { references(side).into_iter().map(|one| (one.kind, one.name)).collect() };
    is_owner
        && match (&pair.live, &pair.predicted) {
            (Some(old), Some(new)) => version(&pair.key, old) != version(&pair.key, new) || names(old) != names(new),
            (old, new) => old.is_some() || new.is_some(),
        }
}

/// What makes the Nodes of an owner.
fn family(key: &Key, owner: &Value) -> Option<Family> {
    Family::of(&key.kind).or_else(|| Family::of(text(owner, "/spec/template/spec/bootstrap/configRef/kind")?))
}

/// Workers of one family behind a control plane of the other.
fn mixed(key: &Key, owner: &Value, plane: Option<&Key>) -> Option<String> {
    let plane = plane.filter(|plane| *plane != key)?;
    let (own, theirs) = (family(key, owner)?, Family::of(&plane.kind)?);
    (own != theirs).then(|| {
        format!(
            "its Machines are made with {}, and {plane} makes a control plane of {}: they never join",
            own.word(),
            theirs.word()
        )
    })
}

/// A version of RKE2 given to kubeadm, which finds no images of that name.
fn foreign(key: &Key, owner: &Value) -> Option<String> {
    let told = version(key, owner)?;
    let is_foreign = family(key, owner)? == Family::Kubeadm && told.contains("+rke2r");
    is_foreign.then(|| {
        format!("{told} is a version of RKE2, and its Machines are made with kubeadm, which has no images of it")
    })
}

/// The template of an owner's Machines, where it is of a kind that names an image.
pub(super) fn template(key: &Key, owner: &Value) -> Option<Key> {
    let reference = references(owner).into_iter().find(|one| !kind_of(&one.kind).images.is_empty())?;
    Some(Key::of(INFRASTRUCTURE, reference.kind, key.namespace.clone(), reference.name))
}

/// Every text of what a template says of the image of its Machines.
pub(super) fn image_texts(template: &Key, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for path in kind(template).images {
        texts(value.pointer(&format!("/{}", path.replace('.', "/"))), &mut found);
    }
    found.into_iter().map(str::to_owned).collect()
}

/// The minor versions of Kubernetes that the name of an image says, as `1.31.4` or `1-31-4`. A number or a dot before it makes it another
/// one's version, as in `22.04.1.31`.
fn minors(name: &str) -> Vec<u64> {
    let bytes = name.as_bytes();
    let (mut found, mut end) = (Vec::new(), 0);
    for place in memchr::memchr_iter(b'1', bytes) {
        let is_led = place.checked_sub(1).is_none_or(|before| !matches!(bytes[before], b'0'..=b'9' | b'.'));
        let Some([b'.' | b'-', ten, one, b'.' | b'-', patch]) = bytes.get(place + 1..place + 6) else { continue };
        // What is a part of one version is not the beginning of another.
        if place >= end && is_led && [ten, one, patch].iter().all(|byte| byte.is_ascii_digit()) {
            found.push(u64::from(ten - b'0') * 10 + u64::from(one - b'0'));
            end = place + 6;
        }
    }
    found
}

/// An image whose name says another minor version.
fn image(after: &After<'_>, key: &Key, owner: &Value) -> Option<String> {
    other_image(after, &template(key, owner)?, version(key, owner)?)
}

/// What is said of a template whose image is named for another minor version than is told.
fn other_image(after: &After<'_>, template: &Key, told: &str) -> Option<String> {
    let own = minor(told)?;
    let names = image_texts(template, &*after.get(template)?);
    let said: Vec<u64> = names.iter().flat_map(|name| minors(name)).collect();
    let other = said.first().filter(|_| !said.contains(&own))?;
    Some(format!("its version is {told}, but the image of {template} is named for v1.{other}"))
}

fn kind_of(name: &str) -> &'static crate::kinds::Kind {
    crate::providers::kind_of(INFRASTRUCTURE, name)
}

/// Every text at or below a place.
fn texts<'v>(value: Option<&'v Value>, out: &mut Vec<&'v str>) {
    match value {
        Some(Value::String(text)) => out.push(text),
        Some(Value::Object(map)) => map.values().for_each(|value| texts(Some(value), out)),
        Some(Value::Array(items)) => items.iter().for_each(|value| texts(Some(value), out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_version_is_found_in_the_name_of_an_image_and_no_other_number_is() {
        for (name, minor) in [
            ("ubuntu-22.04-kube-v1.31.4", vec![31]),
            ("kindest/node:v1.33.1", vec![33]),
            ("http://images/rke2-1-32-9.qcow2", vec![32]),
            ("kube-1.31.4-1.32.0", vec![31, 32]),
            ("1.30.1.29.2 ümlaut1.28.0", vec![30, 28]),
            ("node-1-31-1-32-9", vec![31]),
            ("ubuntu-24.04.1.qcow2", vec![]),
            ("flatcar-4081.1.31.2", vec![]),
            ("kube-1.31", vec![]),
            ("kube-1.31.x", vec![]),
            ("kube-1.310.1", vec![]),
            ("sha256:1031", vec![]),
            ("1", vec![]),
        ] {
            assert_eq!(minors(name), minor, "{name}");
        }
    }
}
