//! Feature gates of the controllers: what is known of one, and what follows for a place that needs it.
//! A gate that is off until somebody turns it on, and of which nobody said whether it is on, refuses nothing: it is a doubt.
//! Read beside `feature/feature.go` of Cluster API 1.6 to 1.14 and the webhooks that ask `feature.Gates.Enabled`.

use std::collections::BTreeMap;

use super::versions::Since;
use super::webhook::{Refusal, refuse};
use crate::model::RuleId;
use crate::object::{Key, Path};

/// Id of a refusal because a gate is off.
const OFF: RuleId = RuleId::of("gate/off");

/// A feature gate.
#[derive(Debug)]
pub struct Gate {
    /// Its name, as the controllers' `--feature-gates` has it.
    pub name: &'static str,
    /// Since when it is on where nobody says otherwise; `None` where it is off.
    pub usually_on: Option<&'static Since>,
    /// The controllers whose webhooks ask for it while it is off by default, by the label of their provider.
    pub asked_by: &'static [&'static str],
}

/// What is known of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is on: somebody told it, an object that is there shows it, or it usually is.
    On,
    /// It is off: somebody told it, or its controller was read.
    Off,
    /// It is off unless somebody turned it on, and nobody said whether somebody did.
    Open,
}

/// A place of an object that a webhook lets through only with a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    /// The gate.
    pub gate: &'static str,
    /// The place, in the superset form.
    pub path: Path,
}

/// What a webhook refuses because a gate is known to be off, and what it may refuse because nobody knows.
#[must_use]
pub(crate) fn unmet(needs: &[Need], state: &dyn Fn(&str) -> State) -> (Vec<Refusal>, Vec<Open>) {
    let (mut refused, mut open) = (Vec::new(), Vec::new());
    for Need { gate, path } in needs {
        match state(gate) {
            State::On => {}
            State::Off => {
                refuse(&mut refused, OFF, path, "", format!("it needs the feature gate {gate}, which is off"));
            }
            State::Open => open.push(Open { gate, path: path.clone() }),
        }
    }
    (refused, open)
}

/// A place that needs a gate of which nobody said whether it is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    /// The gate.
    pub gate: &'static str,
    /// The place, in the superset form.
    pub path: Path,
}

impl Open {
    /// The sentence about a write to what is there already.
    #[must_use]
    pub(crate) fn because(&self) -> String {
        let gate = self.gate;
        format!(
            "the webhook refuses it unless the feature gate {gate} is on (it is off by default, and its state was not read); pass \
             --feature-gate {gate}=true or {gate}=false"
        )
    }
}

/// One note a gate about new objects that a webhook lets through only with it, where nobody said whether it is on.
#[must_use]
pub(crate) fn warnings(new: &[(&Key, &[Open])]) -> Vec<String> {
    let mut by_gate: BTreeMap<&str, Vec<&Key>> = BTreeMap::new();
    for (key, open) in new {
        for open in *open {
            let keys = by_gate.entry(open.gate).or_default();
            if keys.last() != Some(key) {
                keys.push(key);
            }
        }
    }
    let say = |(gate, keys): (&str, Vec<&Key>)| {
        let who = match keys.as_slice() {
            [one] => format!("{one} is new and needs"),
            [first, rest @ ..] => format!("{first} and {} more are new and need", rest.len()),
            [] => return None,
        };
        Some(format!(
            "{who} the feature gate {gate}, or the API server refuses the write (it is off by default, and its state was not \
             read); pass --feature-gate {gate}=true or {gate}=false"
        ))
    };
    by_gate.into_iter().filter_map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_gate_refuses_nothing() {
        let path = Path::parse("spec.format").expect("a path");
        let need = [Need { gate: "A", path: path.clone() }];
        let (refused, open) = unmet(&need, &|_| State::Open);
        assert!(refused.is_empty());
        assert_eq!(open, [Open { gate: "A", path }]);
        assert_eq!(unmet(&need, &|_| State::Off).0.len(), 1);
        assert_eq!(unmet(&need, &|_| State::On), (Vec::new(), Vec::new()));
    }
}
