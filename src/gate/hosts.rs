//! Whether bare metal has room for what a write makes: a Machine that is made before an old one goes needs a free host, and so does
//! each one of a scale-out or a first install. Asked only where BareMetalHosts were read.

use std::collections::BTreeMap;

use super::{Judged, decision};
use crate::compare::Pair;
use crate::hashed::HashMap;
use crate::judge::hosts::are_read;
use crate::kinds::fields::wanted;
use crate::model::Reason;
use crate::model::{Action, Decision, Effect, plural_is};
use crate::object::{Key, Object};
use crate::providers::hosts::{HOST, chooses, is_free, is_on_its_way, selector};
use crate::providers::kind;
use crate::providers::metal3::MACHINE_TEMPLATE as TEMPLATE;
use crate::tree::Value;
use crate::world::{Coverage, LiveKind, World, rights};

/// A reason for each choice of hosts that is too small for what chooses from it at one time.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = decision(judged.policy.gates.health.hosts);
    let live = judged.view;
    let is_metal = live.of_kind(TEMPLATE).next().is_some() || judged.pairs.iter().any(|pair| pair.key.kind == TEMPLATE);
    // A fleet without bare metal has thousands of owners, and none of them is looked up for this.
    if answer == Decision::Allow || !is_metal {
        return Vec::new();
    }
    // In an old render, no host says nothing.
    if live.of_kind(HOST.1).next().is_none() && judged.world.source.kind != LiveKind::Cluster {
        return Vec::new();
    }
    let mut predicted: HashMap<&Key, &Pair> = HashMap::default();
    for pair in judged.pairs {
        predicted.entry(&pair.key).or_insert(pair);
    }
    // A new Machine chooses among the hosts as they are when the write is done.
    let hosts: Vec<(&Object, Value)> =
        live.of_kind(HOST.1).filter_map(|host| Some((host, object(judged, &predicted, &host.key)?))).collect();
    let mut crowds: BTreeMap<String, Crowd<'_>> = BTreeMap::new();
    let rolls = judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout);
    let surges = rolls.map(|rollout| (&rollout.owner, rollout.max_surge.unwrap_or(1), 0));
    let grows = judged.pairs.iter().map(|pair| (&pair.key, 0, growth(pair))).filter(|(_, _, more)| *more > 0);
    for (owner, surge, more) in surges.chain(grows) {
        if let Some(selector) = selector(owner, |key| object(judged, &predicted, key)) {
            let choice = format!("{:?} {selector}", owner.namespace);
            let crowd = crowds.entry(choice).or_insert(Crowd { first: owner, selector, surge: 0, more: 0 });
            crowd.surge += surge;
            crowd.more += more;
        }
    }
    // Hosts that the same write brings become free once they were looked at.
    let brought = judged.pairs.iter().filter(|pair| pair.key.kind == HOST.1 && pair.live.is_none());
    let brought: Vec<(&Key, &Value)> = brought.filter_map(|pair| Some((&pair.key, pair.predicted.as_ref()?))).collect();
    let is_blind = |crowd: &Crowd<'_>| {
        judged.world.source.kind == LiveKind::Cluster && !are_read(judged.world, live, crowd.first.namespace.as_deref())
    };
    let reason = |crowd: &Crowd<'_>| match is_blind(crowd) {
        true => crowd.unread(judged.world, answer),
        false => crowd.short_of(&hosts, &brought, answer),
    };
    crowds.values().filter_map(reason).collect()
}

/// How many more Machines an owner wants after the write than before it.
pub(super) fn growth(pair: &Pair) -> u64 {
    let is_owner =
        kind(&pair.key).role.owns_machines() && pair.action != Action::Delete && pair.effect != Effect::Rejected;
    let Some(predicted) = pair.predicted.as_ref().filter(|_| is_owner) else { return 0 };
    let had = pair.live.as_ref().map_or(0, |live| wanted(live, None));
    wanted(predicted, pair.live.as_ref()).saturating_sub(had)
}

/// Owners whose new Machines choose from the same hosts at one time.
struct Crowd<'a> {
    first: &'a Key,
    selector: Value,
    /// Hosts that are wanted before the first old Machine goes.
    surge: u64,
    /// Hosts that are wanted for Machines that take nobody's place.
    more: u64,
}

impl Crowd<'_> {
    /// The doubt of a write that needs hosts where nobody read which there are.
    fn unread(&self, world: &World, answer: Decision) -> Option<Reason> {
        let Self { first, surge, more, .. } = self;
        let remedy = match world.coverage {
            Coverage::Whole => "add the BareMetalHosts to the live side, or set gates.health.hosts: allow".to_owned(),
            Coverage::Asked(_) => rights::remedy(HOST.0, "baremetalhosts", &["list"]),
        };
        let message = format!(
            "{first}: {} needed, and nobody knows how many are free: the BareMetalHosts were not read",
            plural_is(surge + more, "host")
        );
        let answer = if answer == Decision::Hold { Decision::Undecided } else { answer };
        (surge + more > 0).then(|| Reason::new("health.hosts", answer, message).with_advice(&remedy).of(first))
    }

    fn short_of(&self, hosts: &[(&Object, Value)], brought: &[(&Key, &Value)], answer: Decision) -> Option<Reason> {
        let Self { first, selector, surge, more } = self;
        let fits = |(host, value): &&(&Object, Value)| {
            host.key.namespace == first.namespace && is_free(value, first) && chooses(selector, value)
        };
        let free = hosts.iter().filter(fits).count() as u64;
        let is_coming = |(key, host): &&(&Key, &Value)| key.namespace == first.namespace && chooses(selector, host);
        let is_looked_at = |(host, value): &&(&Object, Value)| {
            host.key.namespace == first.namespace && is_on_its_way(value) && chooses(selector, value)
        };
        let coming = (brought.iter().filter(is_coming).count() + hosts.iter().filter(is_looked_at).count()) as u64;
        let place = first.namespace.as_ref().map_or_else(String::new, |namespace| format!(" -n {namespace}"));
        // What only grows can wait for a host that is being looked at; a rollout that has begun should not have to.
        let is_short = free < *surge || free + coming < surge + more;
        is_short.then(|| {
            let soon = if coming > 0 { format!(" ({coming} more being prepared)") } else { String::new() };
            let message = match more {
                0 => format!(
                    "{first}: {} free{soon}, {surge} needed before the first old Machine goes; the rollout would {}",
                    plural_is(free, "host"),
                    if free + coming < *surge { "stand still" } else { "wait until they are ready" }
                ),
                _ if *surge == 0 => format!(
                    "{first}: {} free{soon}, {more} needed for the Machines that this write adds; the rest would wait for a host",
                    plural_is(free, "host")
                ),
                _ => format!(
                    "{first}: {} free{soon}, {surge} needed before the first old Machine goes and {more} for the Machines that this write \
                     adds; the rollout would stand still",
                    plural_is(free, "host")
                ),
            };
            let next = format!("kubectl get baremetalhosts{place}");
            Reason::new("health.hosts", answer, message).with_next(next).of(first)
        })
    }
}

/// An object as it will be, else as it is.
fn object(judged: &Judged<'_>, predicted: &HashMap<&Key, &Pair>, key: &Key) -> Option<Value> {
    match predicted.get(key) {
        Some(pair) => pair.predicted.clone(),
        None => judged.view.get(key).object()?.value().ok().map(std::borrow::Cow::into_owned),
    }
}
