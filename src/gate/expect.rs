//! What the policy expects: a wanted change, such as a new version, and what must move with it, pass the gate of their effect. Whatever
//! else stands in the same render is held as ever, and an expectation that does not fit says why.

use jiff::Timestamp;

use super::{Judged, clusters};
use std::sync::Arc;

use crate::compare::{Action, Change, Pair};
use crate::hashed::HashSet;
use crate::impact::Rollout;
use crate::kinds::{Role, contract};
use crate::model::{Decision, Effect, Reason};
use crate::object::Key;
use crate::policy::{Expectation, Selector};
use crate::providers::kind;
use crate::report::{self, plural, sentence};
use crate::rules::Pattern;
use crate::tree::Value;

/// The changes that the policy expects.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    /// Object and path of each.
    changes: HashSet<(Key, String)>,
    /// What is said of them, and of expectations that do not fit.
    pub(super) remarks: Vec<Reason>,
}

impl Expected {
    /// What the policy expects of this write.
    pub(super) fn of(judged: &Judged<'_>) -> Self {
        let mut expected = Self::default();
        for expectation in &judged.policy.expect {
            expected.add(judged, expectation);
        }
        expected
    }

    /// Whether a change is expected.
    pub(super) fn has(&self, pair: &Pair, change: &Change) -> bool {
        !self.changes.is_empty() && self.changes.contains(&(pair.key.clone(), change.path.to_string()))
    }

    fn add(&mut self, judged: &Judged<'_>, expectation: &Expectation) {
        let found: Vec<(&Pair, &Change)> = wanted(judged, expectation).collect();
        let mut fits: Vec<(&Pair, &Change)> = Vec::new();
        for (pair, change) in found {
            match misfit(judged, expectation, pair, change) {
                Some(why) => self.remark(pair, change, format!("{}, and {why}", said(pair, change))),
                None => fits.push((pair, change)),
            }
        }
        let machines = machines(judged, &fits);
        if let (Some(limit), Some((pair, change))) = (expectation.max_machines, fits.first()) {
            let count = match machines {
                Some(count) if count <= limit => None,
                Some(count) => Some(plural(count, "Machine")),
                None => Some("an unknown number of Machines".to_owned()),
            };
            if let Some(count) = count {
                let why = format!("takes {count}, and the policy expects {limit} at most");
                return self.remark(pair, change, format!("{} {why}", said(pair, change)));
            }
        }
        for (pair, change) in fits {
            let until = expectation.until;
            self.remark(pair, change, format!("{}, as the policy expects until {until}", said(pair, change)));
            self.changes.insert((pair.key.clone(), change.path.to_string()));
            self.companions(judged, expectation, pair);
        }
    }

    fn remark(&mut self, pair: &Pair, change: &Change, message: String) {
        let mut reason = Reason::new("expected", Decision::Warn, message).of(&pair.key);
        reason.about.path = Some(change.path.to_string());
        self.remarks.push(reason);
    }

    /// What must move with a wanted change: the reference to a template of a new name, where nothing but the image is new in it, and
    /// the places that the policy names.
    fn companions(&mut self, judged: &Judged<'_>, expectation: &Expectation, owner: &Pair) {
        let named: Vec<Pattern> = expectation.with.iter().filter_map(|text| Pattern::parse(text).ok()).collect();
        let is_named = |change: &Change| named.iter().any(|pattern| pattern.matches(&change.path));
        for change in owner.changes.iter().filter(|change| may_pass(change)) {
            if is_named(change) {
                self.changes.insert((owner.key.clone(), change.path.to_string()));
            }
            let Some(template) = template(judged, owner, change) else { continue };
            let images = kind(&template.key).images;
            let moves = |change: &&Change| {
                let path = change.path.to_string();
                is_named(change) || images.iter().any(|image| report::leads_to(image, &path))
            };
            let weighty = || template.changes.iter().filter(|change| change.effect > Effect::None);
            if weighty().all(|change| moves(&change) && may_pass(change))
                && template.changes.iter().all(|change| change.symbol.is_none())
            {
                self.changes.insert((owner.key.clone(), change.path.to_string()));
            }
            // What it holds beside them is held by itself; these are wanted in any case.
            let wanted = weighty()
                .filter(|change| moves(change) && may_pass(change))
                .map(|change| (template.key.clone(), change.path.to_string()));
            self.changes.extend(wanted.collect::<Vec<_>>());
        }
    }
}

/// The changes that an expectation is about, whatever they become.
fn wanted<'j>(judged: &Judged<'j>, expectation: &'j Expectation) -> impl Iterator<Item = (&'j Pair, &'j Change)> {
    let selector = expectation.clusters.as_deref().map(Selector::parse);
    let judged = *judged;
    let is_of = move |pair: &Pair| match &selector {
        None => true,
        Some(Ok(selector)) => labels(&judged, pair).is_some_and(|cluster| selector.fits(&cluster)),
        Some(Err(_)) => false,
    };
    let pairs = judged
        .pairs
        .iter()
        .filter(move |pair| pair.key.kind == expectation.kind && pair.action == Action::Update && is_of(pair));
    pairs.flat_map(|pair| {
        // A field that holds a document may differ at several places of it: all of them pass, or none does.
        let mut at = pair.changes.iter().filter(|change| change.path.to_string() == expectation.path).peekable();
        let first = at.peek().copied();
        first.filter(|_| at.all(may_pass)).map(|change| (pair, change))
    })
}

/// Whether an expectation can let a change pass at all: what destroys, what is refused and what nobody knows, it cannot.
fn may_pass(change: &Change) -> bool {
    change.effect > Effect::None
        && change.effect <= Effect::Rollout
        && change.symbol.is_none()
        && change.waits.is_none()
}

/// The labels of the cluster that an object belongs to.
fn labels(judged: &Judged<'_>, pair: &Pair) -> Option<Value> {
    let (namespace, name) = clusters::cluster_of(judged, pair)?;
    clusters::labels(judged, namespace.as_deref(), &name)
}

/// Why a change is not the one that is expected.
fn misfit(judged: &Judged<'_>, expectation: &Expectation, pair: &Pair, change: &Change) -> Option<String> {
    let now: Timestamp = judged.world.now;
    if now >= expectation.until {
        return Some(format!("what the policy expected of it ended at {}", expectation.until));
    }
    let becomes = match change.within.is_empty() {
        true => change.after.as_ref(),
        false => pair.predicted.as_ref().and_then(|predicted| change.path.get(predicted)),
    };
    if becomes != Some(&expectation.to) {
        return Some(format!("the policy expects {}", sentence::short(Some(&expectation.to))));
    }
    // What waits in an owner already lands with it, and no render shows it.
    let lands = judged.classified.rollouts.iter().filter(|rollout| rollout.owner == pair.key);
    let waits = lands.flat_map(|rollout| &rollout.causes).find(|cause| {
        !pair
            .changes
            .iter()
            .any(|change| report::is_along(cause, &change.path.to_string()) || is_same_end(cause, change))
    });
    let waits = waits.map(|cause| format!("{cause} is out of date already and would land with it"));
    waits.or_else(|| rider(judged, pair).map(|owner| format!("Machines of {owner} that wait for it would go with it")))
}

/// Another owner of the same cluster whose Machines go although nothing that is written of it says so: they waited for this one.
fn rider<'j>(judged: &Judged<'j>, pair: &Pair) -> Option<&'j Key> {
    if !kind(&pair.key).role.is_part_of_cluster() {
        return None;
    }
    let cluster = clusters::cluster_of(judged, pair)?;
    let is_near = |rollout: &Rollout| (&rollout.owner.namespace, &rollout.cluster) == (&cluster.0, &cluster.1);
    let mut others = judged.classified.rollouts.iter().filter(|one| one.effect >= Effect::Rollout && is_near(one));
    let says = |owner: &Key| judged.pairs.iter().any(|other| other.key == *owner && other.effect >= Effect::Rollout);
    let is_rider = |owner: &Key| *owner != pair.key && !says(owner);
    others.find(|one| is_rider(&one.owner)).map(|one| &one.owner)
}

/// Whether a place of the superset form is that of a change: references to templates stand one level deeper there.
fn is_same_end(cause: &str, change: &Change) -> bool {
    let end = |path: &str| path.rsplit('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    cause.contains("Ref.") && end(cause) == end(&change.path.to_string())
}

/// Machines that these changes take, each counted once; `None` where a number is not known. What owns none itself (a class, a template,
/// a host) may take those of anybody.
fn machines(judged: &Judged<'_>, fits: &[(&Pair, &Change)]) -> Option<u64> {
    let is_of = |rollout: &Rollout, pair: &Pair| {
        let whole = pair.key == contract::cluster(rollout.owner.namespace.as_deref(), &rollout.cluster);
        rollout.owner == pair.key || whole
    };
    let takes_any = |pair: &Pair| {
        let role = kind(&pair.key).role;
        role != Role::Cluster && !role.is_part_of_cluster() && pair.effect >= Effect::Rollout
    };
    let takes = |rollout: &&Arc<Rollout>| fits.iter().any(|(pair, _)| takes_any(pair) || is_of(rollout, pair));
    let rollouts = judged.classified.rollouts.iter().filter(takes);
    rollouts
        .filter(|rollout| rollout.effect == Effect::Rollout)
        .try_fold(0, |sum, rollout| Some(sum + rollout.machines?))
}

/// The template of a new name that a changed reference leads to, where it took the place of the one that was referred to.
pub(super) fn template<'j>(judged: &Judged<'j>, owner: &Pair, change: &Change) -> Option<&'j Pair> {
    let reference = change.path.to_string().ends_with("Ref.name").then(|| {
        let mut above = change.path.clone();
        above.pop();
        above
    })?;
    let named = reference.get(owner.predicted.as_ref()?)?.get("kind")?.as_str()?;
    let (old, new) = (change.before.as_ref()?.as_str()?, change.after.as_ref()?.as_str()?);
    let is_it = |pair: &&Pair| {
        let is_there = pair.key.kind == named && pair.key.name == new && pair.key.namespace == owner.key.namespace;
        is_there && pair.renamed_from.as_deref() == Some(old)
    };
    judged.pairs.iter().find(is_it)
}

fn said(pair: &Pair, change: &Change) -> String {
    format!("{}: {}", pair.key, sentence::of_change(change))
}
