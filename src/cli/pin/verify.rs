//! `rollgate pin verify`: each pin against what its source says now.

use std::collections::BTreeSet;

use anyhow::anyhow;

use super::super::{Outside, Stop};
use super::{LateValues, at, print};
use crate::exit::Exit;
use crate::late::Settled;
use crate::model::Decision;
use crate::policy::Policy;
use crate::report::{LateState, escape};
use crate::tree::json;
use crate::verdict;

pub(super) fn verify(
    known: &mut LateValues<'_>,
    policy: &Policy,
    names: &[String],
    as_json: bool,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    let all = || policy.late_values.iter().map(|late| late.name.clone()).collect::<BTreeSet<_>>();
    if let Some(name) = names.iter().find(|name| policy.late_value(name).is_none()) {
        return Err(Stop::usage(anyhow!("the policy has no late value {name}")));
    }
    let asked = if names.is_empty() { all() } else { names.iter().cloned().collect() };
    let pinned: BTreeSet<String> = known.pins()?.pins().iter().map(|pin| pin.name.clone()).collect();
    let mut worst = Decision::Allow;
    let mut told = Vec::new();
    for one in known.settle(&asked, outside)? {
        let name = one.name.clone();
        let (decision, state, text) = verified(one, &pinned);
        worst = worst.max(decision);
        match as_json {
            true => told.push(json!({"name": name, "state": state, "message": text})),
            false => drop(print(outside, &format!("{name}: {text}\n"))?),
        }
    }
    match as_json {
        true => drop(print(outside, &escape::json(&json!({"place": known.place(), "pins": told})))?),
        false => at(&known.place(), outside),
    }
    Ok(verdict::exit(worst))
}

/// How one pin stands to its source: the decision, the state, and a sentence.
fn verified(one: Settled, pinned: &BTreeSet<String>) -> (Decision, &'static str, String) {
    match one.state {
        _ if !pinned.contains(&one.name) => (Decision::Allow, "not-pinned", "is not pinned".to_owned()),
        LateState::Differs => (Decision::Hold, "differs", one.reason.map(|reason| reason.message).unwrap_or_default()),
        LateState::Pinned if one.warning.is_none() && one.source != "pin" => {
            (Decision::Allow, "agrees", format!("is what {} says", one.source))
        }
        LateState::Resolved => (Decision::Allow, "follows", "follows its source, the pin is not used".to_owned()),
        _ => {
            let why = one.warning.or_else(|| one.reason.map(|reason| reason.message));
            (Decision::Undecided, "not-compared", why.unwrap_or_else(|| "its source is out of reach".to_owned()))
        }
    }
}
