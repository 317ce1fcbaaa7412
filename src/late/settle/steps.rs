//! What can be done about a late value that is not known: whether time brings it, and the commands by which a person decides.

use super::{Evidence, Reach};
use crate::late::sources::describe;
use crate::model::Call;
use crate::pin::Pin;
use crate::policy::{LateValue, PinMode, Policy, Source, SourceKind, origins};

/// Whether a value that no source has now may come by itself. A variable of this process never does, nor an object that is missing
/// among files, nor a value that only a person gives.
pub(in crate::late) fn may_come(policy: &Policy, value: &LateValue, reach: Reach) -> bool {
    let comes = |from: &Source| match from.kind() {
        SourceKind::Template(template) => made_of(policy, template).any(|origin| may_come(policy, origin, reach)),
        SourceKind::Object(_) => reach == Reach::Cluster,
        SourceKind::Env(_) => false,
        SourceKind::File(_) | SourceKind::Http(_) | SourceKind::Exec(_) => true,
    };
    value.pin != PinMode::Manual && value.from.iter().any(comes)
}

/// What to do first where no source has a value.
pub(super) fn first(policy: &Policy, value: &LateValue, evidence: Evidence<'_>) -> Option<String> {
    if evidence.reach == Reach::Cluster && may_come(policy, value, evidence.reach) {
        return Some("wait for it (--wait 10m)".to_owned());
    }
    value.from.iter().find_map(|from| {
        let place = describe(from, evidence.namespace).0;
        match from.kind() {
            SourceKind::Template(template) => {
                made_of(policy, template).find_map(|origin| first(policy, origin, evidence))
            }
            SourceKind::Object(_) => Some(format!("run with --live cluster, or with {place} as it is now in --live")),
            SourceKind::Env(name) => Some(format!("set {name} and run again")),
            SourceKind::File(file) => Some(format!("write {file} and run again")),
            SourceKind::Http(_) | SourceKind::Exec(_) => Some(format!("run again when {place} has it")),
        }
    })
}

/// The late values that a template is made of.
fn made_of<'p>(policy: &'p Policy, template: &str) -> impl Iterator<Item = &'p LateValue> {
    origins(template).unwrap_or_default().into_iter().filter_map(|name| policy.late_value(&name))
}

/// The command that pins a value by hand, where a pin is kept, used, and able to give the value back, which a sealed one is not.
pub(super) fn set(policy: &Policy, value: &LateValue, text: &str, evidence: Evidence<'_>) -> Option<Call> {
    let kept = policy.pins.file.is_some() || policy.pins.store.is_some();
    if !kept || value.pin == PinMode::Follow || evidence.hides(value) {
        return None;
    }
    // What was seen of the stream says that it is no secret; the command by itself could not know.
    let is_open = evidence.pins.iter().any(|pin: &Pin| pin.name == value.name) || !value.is_open_secret();
    let words = ["pin", "set", value.name.as_str(), text].into_iter().chain((!is_open).then_some("--plain"));
    Some(Call::of(words))
}

/// The command that takes what the source says.
pub(super) fn repin(value: &LateValue) -> Call {
    Call::of(["pin", "repin", value.name.as_str(), "--from-source"])
}
