//! What is said to one write: the two sides of the review are judged over what the cache knows, under the policy in force.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio::time::{Duration, Instant};

use super::cache::Cache;
use super::review::{Operation, Request, Response};
use super::said::{Said, Why};
use crate::cluster::{self, Cluster};
use crate::compare;
use crate::host::Given;
use crate::late;
use crate::object::{GroupKind, Inventory, Key, Object, is_deleting};
use crate::pipeline::{self, Fault, Judgement, Question};
use crate::rules::Rules;
use crate::session::{Setup, Stop};
use crate::tree::{Value, json};
use crate::world::{Unread, World};

/// How long is waited for what a write names and the cache has not heard of, such as a template that was made a moment ago.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// How long before the caller gives up an answer is given in any case.
const BEFORE: Duration = Duration::from_millis(500);

/// Most bytes of a review that is judged where it was read.
const SMALL: usize = 64 * 1024;
/// Most objects that such a review may have to do with.
const NEAR: usize = 256;

/// What becomes of writes that would be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They are let through with a warning, and counted.
    Observe,
    /// They are refused.
    Enforce,
}

/// What becomes of writes about which nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubtful {
    /// They are let through with a warning.
    Allow,
    /// They are refused.
    Hold,
}

/// How reviews are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// Whether holds refuse.
    pub mode: Mode,
    /// What is said where the judgement is undecided.
    pub undecided: Doubtful,
    /// What is said while the cluster is not read.
    pub not_ready: Doubtful,
}

/// Judges reviews.
pub struct Judge {
    question: Question,
    rules: Rules,
    manner: Manner,
    cache: Arc<Cache>,
    cluster: Option<Cluster>,
    /// So many judge at one time: more than there are cores only makes all of them wait.
    turns: Arc<Semaphore>,
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge").field("manner", &self.manner).finish_non_exhaustive()
    }
}

impl Judge {
    /// A judge under the policy of a setup.
    ///
    /// # Errors
    /// When a rule of the policy cannot be used.
    pub fn new(setup: &Setup, manner: Manner, cache: Arc<Cache>, cluster: Option<Cluster>) -> Result<Self, Stop> {
        let rules = pipeline::rules(&setup.policy).map_err(|faults| Stop::of_fault(Fault::Rules(faults)))?.into_owned();
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let turns = Arc::new(Semaphore::new(cores));
        Ok(Self { question: setup.given(), rules, manner, cache, cluster, turns })
    }

    /// How it answers.
    #[must_use]
    pub const fn manner(&self) -> Manner {
        self.manner
    }

    /// Why the cluster is not read as far as it is needed; nothing where it is.
    #[must_use]
    pub fn lacks(&self) -> Option<String> {
        self.cache.lacks()
    }

    /// How many objects are known.
    #[must_use]
    pub fn known(&self) -> usize {
        self.cache.len()
    }

    /// Answers a review before `until`.
    pub async fn answer(self: &Arc<Self>, request: Request, until: Instant) -> (Response, Said) {
        let said = self.said(request, until).await;
        (said.answer(self.manner), said)
    }

    async fn said(self: &Arc<Self>, request: Request, until: Instant) -> Said {
        if let Some(why) = skipped(&request) {
            return Said::skipped(why);
        }
        if let Some(why) = self.lacks() {
            return Said::not_ready(why);
        }
        let sides = match self.sides(&request) {
            Ok(sides) => sides,
            Err(why) => return Said::unread(why),
        };
        let ends = until - BEFORE.min(until.saturating_duration_since(Instant::now()) / 2);
        let absent = match self.named(&sides, ends.min(Instant::now() + PATIENCE)).await {
            Ok(absent) => absent,
            Err(unread) => return Said::unread(unread),
        };
        let Ok(Ok(turn)) = tokio::time::timeout_at(ends, Arc::clone(&self.turns).acquire_owned()).await else {
            return Said::unread("too many reviews are under way".to_owned());
        };
        if request.bytes <= SMALL && self.cache.near(request.namespace.as_deref()) <= NEAR {
            // It takes less than a millisecond, and to hand it to another thread would take as long again.
            let said = self.judged(&sides, absent);
            drop(turn);
            return said;
        }
        let judge = Arc::clone(self);
        let work = tokio::task::spawn_blocking(move || {
            let said = judge.judged(&sides, absent);
            drop(turn);
            said
        });
        match tokio::time::timeout_at(ends, work).await {
            Ok(Ok(said)) => said,
            Ok(Err(_)) => Said::unread("the judgement broke off; this is a defect, please report it".to_owned()),
            Err(_) => Said::unread("the judgement takes longer than the API server waits".to_owned()),
        }
    }

    /// Both sides as whole objects: what is written to `scale` changes the object that it belongs to.
    fn sides(&self, request: &Request) -> Result<Sides, String> {
        let home = |object: &Object| {
            let mut object = object.clone();
            // An API server may leave out of a side what the request says of it.
            if object.key.namespace.is_none() && request.namespace.is_some() {
                let mut value = object.value().map_err(|error| error.to_string())?.into_owned();
                value["metadata"]["namespace"] = json!(request.namespace);
                object = Object::from_value(value, 0).map_err(|error| error.to_string())?;
            }
            Ok::<_, String>(object)
        };
        let before = request.before.as_ref().map(home).transpose()?;
        let after = request.after.as_ref().map(home).transpose()?;
        match request.part.as_str() {
            "" => Ok(Sides { before, after }),
            "scale" => self.scaled(request),
            part => Err(format!("what a write of {part} does is not known")),
        }
    }

    fn scaled(&self, request: &Request) -> Result<Sides, String> {
        let (Some(before), Some(after)) = (&request.before, &request.after) else {
            return Err("a scale has two sides".to_owned());
        };
        let place = &request.resource;
        let found = self.cache.at(&place.group, &place.resource, request.namespace.as_deref(), &request.name);
        let found = found.ok_or_else(|| format!("{} {} is not known yet", place.resource, request.name))?;
        let with = |scale: &Object| {
            let scale = scale.value().map_err(|error| error.to_string())?;
            // None are none: the API server leaves zero out.
            let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or_default();
            let mut value = found.value().map_err(|error| error.to_string())?.into_owned();
            value["spec"]["replicas"] = json!(replicas);
            Object::from_value(value, 0).map_err(|error| error.to_string())
        };
        Ok(Sides { before: Some(with(before)?), after: Some(with(after)?) })
    }

    /// Sees to it that what a write names is known: what the cache has not heard of is asked for, and what is there after all is waited
    /// for, such as a template that was made a moment ago. What is missing a controller waits for, and that must not be taken for rest.
    /// Gives what is proven not to be there.
    async fn named(&self, sides: &Sides, until: Instant) -> Result<BTreeSet<Key>, String> {
        let Some(after) = &sides.after else { return Ok(BTreeSet::new()) };
        let objects: Inventory = vec![after.clone()].into();
        let mut named = cluster::pointed(&objects);
        named.retain(|read| self.cache.get(&key(read)).is_none());
        if named.is_empty() {
            return Ok(BTreeSet::new());
        }
        let reads: Vec<_> = named.into_iter().collect();
        let Some(cluster) = &self.cluster else { return Ok(reads.iter().map(key).collect()) };
        let left = until.saturating_duration_since(Instant::now());
        let (mut absent, mut late) = (BTreeSet::new(), Vec::new());
        for (read, answer) in reads.iter().zip(cluster.objects(&reads, left).await) {
            match answer {
                cluster::Lookup::Absent | cluster::Lookup::NoKind => drop(absent.insert(key(read))),
                cluster::Lookup::Found(_) => late.push(key(read)),
                cluster::Lookup::Unread(unread) => return Err(format!("{}: {}", unread.what, unread.why)),
            }
        }
        loop {
            late.retain(|key| self.cache.get(key).is_none());
            let Some(first) = late.first() else { return Ok(absent) };
            if Instant::now() >= until {
                return Err(format!("{first} exists and was not heard of yet; try again"));
            }
            self.cache.changes(until.min(Instant::now() + Duration::from_millis(50))).await;
        }
    }

    /// Judges two sides over what is known of the rest. `absent` is proven not to be there.
    fn judged(&self, sides: &Sides, absent: BTreeSet<Key>) -> Said {
        let Some(object) = sides.after.as_ref().or(sides.before.as_ref()) else {
            return Said::skipped("nothing is written");
        };
        let both = [sides.before.as_ref(), sides.after.as_ref()];
        let mut world = self.cache.world(&object.key, both, &self.question.policy, Timestamp::now());
        // The side of the review is the newer one, whatever was heard of it.
        match &sides.before {
            Some(before) => drop(world.live.insert(before.clone())),
            None => drop(world.live.remove(&object.key)),
        }
        absent.into_iter().for_each(|key| world.coverage.note_absent(key));
        world.unread.extend(self.late(sides));
        let given = Given { before: sides.before.as_ref(), after: sides.after.as_ref() };
        match pipeline::judge_given(&self.question, &self.rules, &world, given) {
            Ok(judgement) => self.weighed(judgement, &world, &object.key),
            Err(fault) => Said::unread(fault.to_string()),
        }
    }

    fn weighed(&self, judgement: Judgement, world: &World, key: &Key) -> Said {
        let Judgement { report, approvals, glass, .. } = judgement;
        // Nothing is written down here, so nothing can be used up.
        let once = approvals.iter().any(|(_, approval)| approval.once) || glass.is_some();
        // A kind that is written is there, whatever the last look at the catalogue said.
        let is_lacking = world.coverage.lacks(&GroupKind::new(&key.group, &key.kind));
        let is_seen = world.coverage.shows(key) && !is_lacking || !crate::providers::is_compared(&key.group);
        let said = Said::of(&report);
        match (once, is_seen) {
            (true, _) => said.raised(
                Why::Held,
                "it is approved for one time, which a webhook cannot use up; approve it without --once",
            ),
            (_, false) => {
                self.cache.doubt();
                let what = GroupKind::new(&key.group, &key.kind);
                let why = if is_lacking {
                    "was not served when the kinds of the cluster were looked at last; that is done now, so try again in a few seconds"
                } else {
                    "is not read from the cluster"
                };
                said.raised(Why::Undecided, &format!("{what} {why}"))
            }
            _ => said,
        }
    }

    /// The late values whose placeholders come with a write: nobody fills them in any more.
    fn late(&self, sides: &Sides) -> Vec<Unread> {
        let policy = &self.question.policy;
        let Some(after) = sides.after.as_ref().filter(|_| !policy.late_values.is_empty()) else { return Vec::new() };
        let stands_in = |side: &Object| {
            let text = side.value().map(|value| format!("{value}")).unwrap_or_default();
            late::needed(&text.into_bytes().into(), policy)
        };
        let before = sides.before.as_ref().map(stands_in).unwrap_or_default();
        let fresh = stands_in(after).into_iter().filter(|name| !before.contains(name));
        let unread = |name: String| Unread {
            what: format!("late value {name}"),
            why: format!("{} still holds its placeholder", after.key),
            remedy: "render it with the value: rollgate post-render, rollgate values or rollgate flux render"
                .to_owned(),
            keys: vec![after.key.clone()],
        };
        fresh.map(unread).collect()
    }
}

/// Both sides of a write as whole objects.
#[derive(Debug, Clone)]
struct Sides {
    before: Option<Object>,
    after: Option<Object>,
}

fn key(read: &cluster::plan::ObjectRead) -> Key {
    let cluster::plan::ObjectRead { kind, namespace, name, .. } = read;
    Key::of(&kind.group, &kind.kind, namespace.clone(), name.as_str())
}

/// Why a write needs no judgement; nothing where it does.
fn skipped(request: &Request) -> Option<&'static str> {
    if request.part == "status" {
        return Some("the status is a controller's own word");
    }
    let tree = |object: &Option<Object>| {
        object.as_ref().and_then(|object| object.value().ok().map(|value| value.into_owned()))
    };
    match (request.operation, tree(&request.before), tree(&request.after)) {
        (Operation::Update, Some(before), Some(after)) => {
            compare::changes(&before, &after).is_empty().then_some("nothing changes")
        }
        (Operation::Delete, Some(before), None) => is_deleting(&before).then_some("it is being deleted already"),
        (Operation::Connect, ..) => Some("nothing is written"),
        _ => None,
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
