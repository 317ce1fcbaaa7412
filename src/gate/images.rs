//! Whether what new Machines boot from is still there: without its image the first new Machine never comes, and the rollout stands
//! still. Asked only of the servers that the policy names.

use std::collections::{BTreeMap, BTreeSet};

use super::hosts::growth;
use super::pairs::{image_texts, template};
use super::version::After;
use super::workload::{Blind, drains, names};
use super::{Judged, decision};
use crate::compare::Pair;
use crate::kinds::Role;
use crate::kinds::contract::TOPOLOGY_OWNED;
use crate::kinds::fields::label;
use crate::model::{Decision, Effect, Reason};
use crate::object::{Key, Presence};
use crate::policy::{Gates, HealthGates};
use crate::providers::{PROVIDERS, kind};
use crate::tree::Value;
use crate::world::workload::Heard;

/// What new Machines boot from.
#[derive(Default)]
struct Wanted<'j> {
    /// Addresses of images, each with the owners whose new Machines boot from it.
    urls: BTreeMap<String, BTreeSet<&'j Key>>,
    /// Owners whose template a topology has yet to make.
    unclear: Vec<&'j Key>,
    /// Owners whose template was not read.
    unread: Vec<&'j Key>,
}

/// The addresses that may be asked about: those of images of Machines that this write makes.
#[must_use]
pub(crate) fn addresses(judged: &Judged<'_>) -> Vec<String> {
    let images = &judged.policy.images;
    let asks = !images.servers.is_empty();
    let is_asked = |gates: &Gates| decision(HealthGates::of_images(gates.health.images, asks)) != Decision::Allow;
    if !asks || !judged.policy.all_gates().any(is_asked) {
        return Vec::new();
    }
    wanted(judged).urls.into_keys().filter(|url| images.includes(url)).collect()
}

/// A reason for each image that is not there, or of which nobody knows.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = answer(judged);
    if answer == Decision::Allow {
        return Vec::new();
    }
    let Wanted { urls, unclear, unread } = wanted(judged);
    let mut out: Vec<Reason> = urls.iter().filter_map(|(url, owners)| said(judged, answer, url, owners)).collect();
    out.extend(unread.into_iter().map(|owner| {
        let blind = Blind::of(("the template of its Machines was not read", ""));
        blind.reason("images", answer, "from which image new Machines boot", owner)
    }));
    out.extend(unclear.into_iter().map(|owner| {
        let why = "its topology makes the template of its new Machines, which is not there yet";
        Blind { is_wanted: true, ..Blind::of((why, "rollgate explain health.images")) }.reason(
            "images",
            answer,
            "from which image they boot",
            owner,
        )
    }));
    out
}

fn answer(judged: &Judged<'_>) -> Decision {
    let asks = !judged.policy.images.servers.is_empty();
    decision(HealthGates::of_images(judged.policy.gates.health.images, asks))
}

/// What is wrong with one image.
fn said(judged: &Judged<'_>, answer: Decision, url: &str, owners: &BTreeSet<&Key>) -> Option<Reason> {
    let owner = owners.first()?;
    let blind = |why: &str, remedy: &str, is_wanted| {
        let blind = Blind { is_wanted, ..Blind::of((why, remedy)) };
        Some(blind.reason("images", answer, &format!("whether {url} is served"), owner))
    };
    if !judged.policy.images.includes(url) {
        return blind(
            "its server is none of images.servers of the policy",
            "add the server to images.servers, or ask it yourself",
            true,
        );
    }
    match judged.world.images.iter().find(|image| image.url == *url).map(|image| &image.served) {
        Some(Heard::Read(true)) => None,
        Some(Heard::Read(false)) => {
            let owners: Vec<String> = owners.iter().map(ToString::to_string).collect();
            let message = format!(
                "{}: new Machines boot from {url}, which its server does not have; the rollout would stand still",
                names(&owners.iter().map(String::as_str).collect())
            );
            let remedy = "put the image back, or write one that is served";
            // Its address may hold a password, which a command would show.
            let next = super::health::describe(owner);
            Some(Reason::new("health.images", answer, message).with_remedy(remedy.to_owned()).with_next(next).of(owner))
        }
        Some(Heard::Unread { why, remedy }) => blind(why, remedy, false),
        None => blind(
            "its server was not asked",
            "plan where the server can be reached, or from a snapshot that was taken there",
            false,
        ),
    }
}

/// The images of Machines that this write makes.
fn wanted<'j>(judged: &'j Judged<'j>) -> Wanted<'j> {
    let after = After::of(judged);
    let rolls =
        judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout && drains(rollout));
    let grows = judged.pairs.iter().filter(|pair| growth(pair) > 0).map(|pair| &pair.key);
    let owners: BTreeSet<&Key> = rolls.map(|rollout| &rollout.owner).chain(grows).collect();
    let mut wanted = Wanted::default();
    for owner in owners {
        let Some(value) = after.get(owner) else { continue };
        let Some(urls) = urls(judged, &after, owner, &value) else {
            wanted.unread.push(owner);
            continue;
        };
        if label(&value, TOPOLOGY_OWNED).is_some() {
            wanted.unclear.extend((!urls.is_empty()).then_some(owner));
        } else {
            for url in urls {
                wanted.urls.entry(url).or_default().insert(owner);
            }
        }
    }
    wanted.unclear.extend(new_topologies(judged, &after));
    wanted
}

/// Clusters whose topology makes owners anew, where templates of their namespace boot from addresses.
fn new_topologies<'j>(judged: &'j Judged<'j>, after: &After<'j>) -> Vec<&'j Key> {
    let makes = |pair: &&Pair| {
        let has_topology = pair.predicted.as_ref().is_some_and(|value| value.pointer("/spec/topology").is_some());
        kind(&pair.key).role == Role::Cluster && has_topology && (pair.live.is_none() || pair.effect >= Effect::Scale)
    };
    let mut makers = judged.pairs.iter().filter(makes).map(|pair| &pair.key).peekable();
    if makers.peek().is_none() {
        return Vec::new();
    }
    let named = PROVIDERS.iter().flat_map(|provider| provider.kinds).filter(|kind| !kind.images.is_empty());
    let has_address = named
        .flat_map(|kind| after.all(kind.name))
        .any(|(key, value)| image_texts(&key, &value).iter().any(|text| is_address(text)));
    makers.filter(|_| has_address).collect()
}

fn is_address(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// The addresses in what the template of an owner says of its image; `None` where that was not read.
fn urls(judged: &Judged<'_>, after: &After<'_>, owner: &Key, value: &Value) -> Option<Vec<String>> {
    let Some(template) = template(owner, value) else { return Some(Vec::new()) };
    match after.get(&template) {
        Some(value) => Some(image_texts(&template, &value).into_iter().filter(|text| is_address(text)).collect()),
        // Without its template no Machine is made; where nobody looked for it, it may be there.
        None => (!matches!(judged.view.get(&template), Presence::Unread)).then(Vec::new),
    }
}
