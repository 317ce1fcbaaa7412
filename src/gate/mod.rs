//! Checks that can hold an install, one file a gate. A gate reads what was judged and answers with reasons;
//! every gate looks at every change, not only at the worst.

pub(crate) mod approval;
pub(crate) mod budget;
mod chain;
mod checks;
mod clusters;
mod doubt;
mod effects;
mod etcd;
mod expect;
pub(crate) mod glass;
mod gone;
mod health;
mod hosts;
mod images;
mod kubeadm;
mod members;
mod pairs;
mod pdb;
mod progress;
mod release;
mod reuse;
mod rolling;
mod scale_in;
mod speakers;
mod unavailable;
mod unread_owners;
mod version;
mod vip;
mod window;
mod workload;

use std::sync::OnceLock;

use self::expect::Expected;
use crate::compare::Pair;
use crate::hashed::HashMap;
use crate::model::Classified;
use crate::model::Decision;
use crate::model::Reason;
use crate::object::{Inventory, Key, View};
use crate::parallel;
use crate::policy::{GateAnswer, Policy, Profile};
use crate::world::{Unread, World};

pub(crate) use checks::Checks;
pub(crate) use health::Groups;
pub(crate) use images::addresses;
pub(crate) use rolling::{Rolling, rolling};
use workload::Blind;
pub(crate) use workload::drains;

/// What the gates look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged<'a> {
    /// Every object that differs, judged.
    pub pairs: &'a [Pair],
    /// Rollouts and findings.
    pub classified: &'a Classified,
    /// What was read.
    pub world: &'a World,
    /// What is live.
    pub view: &'a dyn View,
    /// What is rendered.
    pub rendered: &'a Inventory,
    /// What could not be predicted.
    pub doubts: &'a [Unread],
    /// The policy in force.
    pub policy: &'a Policy,
    /// Hash of what affects Machines.
    pub digest: &'a str,
    /// The groups of workers of each cluster, found when a gate first asks.
    pub(crate) groups: &'a Groups,
    /// The pairs by their keys, found when somebody first asks.
    pub(crate) written: &'a Written,
    /// The health checks of each cluster, found when a gate first asks.
    pub(crate) checks: &'a Checks,
    /// What the policy expects of the whole write, found when somebody first asks.
    pub(crate) expected: &'a Expectations,
}

/// What the policy expects of a write.
#[derive(Debug, Default)]
pub(crate) struct Expectations(OnceLock<Expected>);

/// The places of pairs by their keys; two have one where an object is removed and made anew.
#[derive(Debug, Default)]
pub(crate) struct Written(OnceLock<HashMap<Key, Vec<usize>>>);

impl Written {
    /// The pairs of an object, in their order; `pairs` are the same each time.
    pub(crate) fn of<'a>(&self, pairs: &'a [Pair], key: &Key) -> impl Iterator<Item = &'a Pair> + use<'a, '_> {
        let found = self.0.get_or_init(|| {
            let mut found: HashMap<Key, Vec<usize>> = HashMap::default();
            for (place, pair) in pairs.iter().enumerate() {
                found.entry(pair.key.clone()).or_default().push(place);
            }
            found
        });
        found.get(key).into_iter().flatten().filter_map(move |place| pairs.get(*place))
    }
}

impl<'a> Judged<'a> {
    /// What the policy expects of the whole write: gates that are asked for some clusters alone ask for it after all of them.
    fn expected(&self) -> &'a Expected {
        self.expected.0.get_or_init(|| Expected::of(self))
    }

    /// The pairs of an object, in their order.
    fn written(&self, key: &Key) -> impl Iterator<Item = &'a Pair> + use<'a, '_> {
        self.written.of(self.pairs, key)
    }
}

/// The gates, in the order in which they are asked.
const GATES: [fn(&Judged<'_>) -> Vec<Reason>; 21] = [
    doubt::reasons,
    release::reasons,
    effects::reasons,
    effects::unsaid,
    scale_in::reasons,
    version::reasons,
    kubeadm::reasons,
    chain::reasons,
    gone::reasons,
    pairs::reasons,
    budget::reasons,
    window::reasons,
    progress::reasons,
    health::reasons,
    checks::reasons,
    vip::reasons,
    pdb::reasons,
    unavailable::reasons,
    hosts::reasons,
    images::reasons,
    reuse::reasons,
];

pub(crate) use unavailable::together;

/// Asks every gate; the weightiest answer comes first.
#[must_use]
pub(crate) fn ask(judged: &Judged<'_>) -> Vec<Reason> {
    let all = |part: &Judged<'_>| {
        parallel::pieces(&GATES, part.pairs.len(), |gate| gate(part)).into_iter().flatten().collect()
    };
    let mut reasons = clusters::each(judged, all);
    reasons.extend(budget::days(judged));
    if judged.policy.profile == Profile::Observe {
        reasons.iter_mut().for_each(observed);
    }
    rank(&mut reasons);
    reasons
}

/// A hold as somebody sees it who only watches.
fn observed(reason: &mut Reason) {
    if reason.decision == Decision::Hold {
        reason.decision = Decision::Warn;
        reason.message = format!("would hold (profile: observe): {}", reason.message);
    }
}

/// Puts the weightiest answers first; among equals the order of the gates stays.
pub(crate) fn rank(reasons: &mut [Reason]) {
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.decision));
}

/// The decision that a policy's answer stands for.
const fn decision(answer: GateAnswer) -> Decision {
    match answer {
        GateAnswer::Allow => Decision::Allow,
        GateAnswer::Warn => Decision::Warn,
        GateAnswer::Hold => Decision::Hold,
    }
}
