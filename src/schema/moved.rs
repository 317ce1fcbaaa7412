//! One object in another API version: what moved, was renamed or changed its form between v1beta1 and v1beta2 of Cluster API, in both
//! directions (cluster-api `api/*/v1beta1/conversion.go` since 1.11, CAPRKE2 since 0.22, CAPM3 1.13, k0smotron 2.0). Live objects are
//! brought into the rendered version by it, so that a chart that moves to v1beta2 shows no change.

use std::sync::LazyLock;

use super::carry::{Carry, Form, get, put, seconds, take};
use super::moves::{HEALTH_CHECK_TIMEOUT, How, KINDS, Parts, is_kubeadm};
use super::sources::Sources;
use crate::hashed::HashMap;
use crate::object::ApiVersion;
use crate::tree::Value;

/// Brings `object` into the API version of `wanted`, an object of the same kind; true where its form changed.
///
/// References in v1beta2 do not say a version: on the way back to v1beta1 they take that of the same reference in
/// `wanted`. A kind whose versions are not known to differ keeps its form.
pub(crate) fn reshape(object: &mut Value, wanted: &Value) -> bool {
    let text = |object: &Value, key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (from, to) = (text(object, "apiVersion"), text(wanted, "apiVersion"));
    let (old, new) = (ApiVersion::is_before_v1beta2(&from), ApiVersion::is_before_v1beta2(&to));
    if from == to || old == new || ApiVersion::parse(&from).group != ApiVersion::parse(&to).group {
        return false;
    }
    let kind = text(wanted, "kind");
    let Some(moves) = MOVES.get(kind.as_str()) else { return false };
    if old {
        for place in moves.sources.in_object(object) {
            moves.all[place].forward(object, Form::Version);
        }
    } else {
        // Of a map whose parts go elsewhere the rest comes last in either direction.
        let (rest, parts): (Vec<_>, Vec<_>) = moves.all.iter().partition(|one| one.how == How::Rest);
        for one in parts.into_iter().rev().chain(rest) {
            one.back(object, wanted);
        }
    }
    for prefix in &moves.kubeadm {
        health_check_timeout(object, prefix, old);
        if !old {
            // v1beta1 has no other timeouts.
            ["initConfiguration.timeouts", "joinConfiguration.timeouts"].iter().for_each(|place| {
                take(object, &keys(prefix, place));
            });
        }
    }
    object["apiVersion"] = Value::from(to);
    true
}

/// What differs between the versions of a kind, read.
struct Moves {
    all: Vec<Carry>,
    sources: Sources,
    /// Where it has kubeadm configurations.
    kubeadm: Vec<&'static str>,
}

/// Of each kind whose versions differ.
static MOVES: LazyLock<HashMap<&'static str, Moves>> = LazyLock::new(|| {
    let read = |(kind, parts): &(&'static str, Parts)| {
        let all: Vec<Carry> =
            parts.iter().flat_map(|(prefix, moves)| moves.iter().map(|one| Carry::of(prefix, one))).collect();
        let kubeadm = parts.iter().filter(|(_, moves)| is_kubeadm(moves)).map(|(prefix, _)| *prefix).collect();
        (*kind, Moves { sources: Sources::of(&all), all, kubeadm })
    };
    KINDS.iter().map(read).collect()
});

/// Moves the timeout for the API server, which v1beta2 has once for each way of making a node.
fn health_check_timeout(object: &mut Value, prefix: &str, old: bool) {
    let (from, places) = HEALTH_CHECK_TIMEOUT;
    let from = keys(prefix, from);
    let [init, other] = places.map(|place| keys(prefix, place));
    if old {
        let Some(value) = take(object, &from) else { return };
        let value = seconds(&value).unwrap_or(value);
        put(object, &init, value.clone());
        put(object, &other, value);
    } else if let Some(value) = take(object, &init) {
        if get(object, &other) == Some(&value) {
            take(object, &other);
        }
        put(object, &from, value.as_i64().map_or(value, |seconds| Value::from(format!("{seconds}s"))));
    }
}

/// The keys of a place below a prefix.
fn keys<'p>(prefix: &'p str, place: &'p str) -> Vec<&'p str> {
    prefix.split('.').chain(place.split('.')).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
#[path = "moved_tests.rs"]
mod tests;
