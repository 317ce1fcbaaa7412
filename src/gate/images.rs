//! Whether what new Machines boot from is still there: without its image the first new Machine never comes, and the rollout stands
//! still. Asked only of the servers that the policy names.

use std::collections::{BTreeMap, BTreeSet};

use super::hosts::growth;
use super::pairs::images;
use super::version::After;
use super::workload::{Blind, drains, names};
use super::{Judged, decision};
use crate::kinds::contract::TOPOLOGY_OWNED;
use crate::kinds::fields::label;
use crate::model::{Decision, Effect, Reason};
use crate::object::Key;
use crate::policy::HealthGates;
use crate::tree::Value;
use crate::world::workload::Told;

/// Addresses of images, each with the owners whose new Machines boot from it.
type Wanted<'j> = BTreeMap<String, BTreeSet<&'j Key>>;

/// The addresses that may be asked about: those of images of Machines that this write makes.
#[must_use]
pub fn addresses(judged: &Judged<'_>) -> Vec<String> {
    let images = &judged.policy.images;
    if answer(judged) == Decision::Allow || images.servers.is_empty() {
        return Vec::new();
    }
    wanted(judged).0.into_keys().filter(|url| images.includes(url)).collect()
}

/// A reason for each image that is not there, or of which nobody knows.
pub(super) fn reasons(judged: &Judged<'_>) -> Vec<Reason> {
    let answer = answer(judged);
    if answer == Decision::Allow {
        return Vec::new();
    }
    let (wanted, unclear) = wanted(judged);
    let mut out: Vec<Reason> = wanted.iter().filter_map(|(url, owners)| said(judged, answer, url, owners)).collect();
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
        Some(Told::Read(true)) => None,
        Some(Told::Read(false)) => {
            let owners: Vec<String> = owners.iter().map(ToString::to_string).collect();
            let message = format!(
                "{}: new Machines boot from {url}, which its server does not have; the rollout would stand still",
                names(&owners.iter().map(String::as_str).collect())
            );
            let remedy = "put the image back, or write one that is served";
            let next = format!("curl -sI {}", crate::model::quoted(url));
            Some(Reason::new("health.images", answer, message).with_remedy(remedy.to_owned()).with_next(next).of(owner))
        }
        Some(Told::Unread { why, remedy }) => blind(why, remedy, false),
        None => blind(
            "its server was not asked",
            "plan where the server can be reached, or from a snapshot that was taken there",
            false,
        ),
    }
}

/// The images of Machines that this write makes, and the owners whose template nobody has seen yet.
fn wanted<'j>(judged: &Judged<'j>) -> (Wanted<'j>, Vec<&'j Key>) {
    let after = After::of(judged);
    let rolls =
        judged.classified.rollouts.iter().filter(|rollout| rollout.effect == Effect::Rollout && drains(rollout));
    let grows = judged.pairs.iter().filter(|pair| growth(pair) > 0).map(|pair| &pair.key);
    let owners: BTreeSet<&Key> = rolls.map(|rollout| &rollout.owner).chain(grows).collect();
    let (mut wanted, mut unclear) = (Wanted::new(), Vec::new());
    for owner in owners {
        let Some(value) = after.get(owner) else { continue };
        let urls = urls(&after, owner, &value);
        if label(&value, TOPOLOGY_OWNED).is_some() {
            unclear.extend((!urls.is_empty()).then_some(owner));
        } else {
            for url in urls {
                wanted.entry(url).or_default().insert(owner);
            }
        }
    }
    (wanted, unclear)
}

/// The addresses in what the template of an owner says of its image.
fn urls(after: &After<'_>, owner: &Key, value: &Value) -> Vec<String> {
    let is_address = |text: &String| text.starts_with("http://") || text.starts_with("https://");
    let found = images(after, owner, value).map(|(_, found)| found).unwrap_or_default();
    found.into_iter().filter(is_address).collect()
}
