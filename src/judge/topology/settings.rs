//! What a class says of its parts beside templates and failure domains, where a Cluster or a group of workers takes another class: it
//! counts as an edit of the class would.
//! Read beside `exp/topology/desiredstate/desired_state.go` (computeControlPlane, computeMachineDeployment, computeMachinePool) of Cluster
//! API 1.14: what the topology says of a group goes before what its class says.

use super::forecast::{Fate, Side};
use super::metadata::says_of_rollout;
use super::values::list;
use crate::judge::stage::Stage;
use crate::judge::verdict::Answer;
use crate::kinds::diff;
use crate::kinds::fields::{says_something, text};
use crate::model::Effect;
use crate::object::{Key, Path, Segment};
use crate::rules::ChangedLeaf;
use crate::tree::Value;

/// What other parts of this mirror judge, or what only names a part.
const ELSEWHERE: [&str; 8] = [
    "class",
    "templateRef",
    "ref",
    "machineInfrastructure",
    "bootstrap",
    "infrastructure",
    "failureDomain",
    "failureDomains",
];

/// A part of a class that somebody takes for another one.
struct Part<'v> {
    /// Where the packs know its fields.
    at: Path,
    class_key: &'v Key,
    /// Whole classes before and after the write.
    classes: (&'v Value, &'v Value),
    /// The part of each.
    own: (&'v Value, &'v Value),
    /// What the topology says of the group, before and after.
    said: [Option<&'v Value>; 2],
}

/// The parts of a cluster for which another class than before says something that its topology does not say itself.
pub(super) fn fates(stage: &Stage<'_>, before: Side<'_>, after: Side<'_>) -> Vec<Fate> {
    let (Some(old), Some(new)) = (stage.before(before.class_key), stage.after(after.class_key)) else {
        return Vec::new();
    };
    let is_other = before.class_key != after.class_key;
    let classes = (&*old, &*new);
    let mut out = Vec::new();
    if is_other && let (Some(had), Some(has)) = (old.pointer("/spec/controlPlane"), new.pointer("/spec/controlPlane")) {
        let at = Path::root().key("spec").key("controlPlane");
        let said = [before, after].map(|side| side.cluster.pointer("/spec/topology/controlPlane"));
        let part = Part { at, class_key: after.class_key, classes, own: (had, has), said };
        out.extend(part.fate(stage, "controlPlane", ""));
    }
    for (lists, word) in [("machineDeployments", "machineDeployment"), ("machinePools", "machinePool")] {
        let pointer = format!("/spec/topology/workers/{lists}");
        for group in list(after.cluster, &pointer) {
            let name = text(group, "/name").unwrap_or_default();
            let Some(had) = list(before.cluster, &pointer).find(|had| text(had, "/name") == Some(name)) else {
                continue;
            };
            if !is_other && text(had, "/class") == text(group, "/class") {
                continue;
            }
            let Some(own) = worker(classes.0, lists, had).zip(worker(classes.1, lists, group)) else { continue };
            let at = Path::root().key("spec").key("workers").key(lists).index(0);
            let part = Part { at, class_key: after.class_key, classes, own, said: [Some(had), Some(group)] };
            out.extend(part.fate(stage, word, name));
        }
    }
    out
}

/// The class of workers that a group names.
fn worker<'v>(class: &'v Value, lists: &str, group: &Value) -> Option<&'v Value> {
    let name = text(group, "/class")?;
    list(class, &format!("/spec/workers/{lists}")).find(|own| text(own, "/class") == Some(name))
}

impl Part<'_> {
    /// The worst of what differs; `None` where nothing that does anything differs.
    fn fate(&self, stage: &Stage<'_>, word: &'static str, name: &str) -> Option<Fate> {
        let mut worst: Option<Answer> = None;
        for leaf in diff::differing_leaves(self.own.0, self.own.1) {
            if is_elsewhere(&leaf) || self.said.into_iter().flatten().any(|group| says(group, &leaf)) {
                continue;
            }
            let answer = self.answer(stage, &leaf);
            if answer.effect > Effect::None && worst.as_ref().is_none_or(|worst| answer.outweighs(worst)) {
                worst = Some(answer);
            }
        }
        Some(Fate::new(word, name, worst?))
    }

    /// What an edit of the class at a place would do.
    fn answer(&self, stage: &Stage<'_>, leaf: &Path) -> Answer {
        let mut path = self.at.clone();
        leaf.segments().iter().for_each(|segment| path.push(segment.clone()));
        let hit = stage.rules.find(&ChangedLeaf {
            key: self.class_key,
            path: &path,
            before: leaf.get(self.own.0),
            after: leaf.get(self.own.1),
            old: self.classes.0,
            new: self.classes.1,
            used_by: &[],
            versions: &stage.versions,
            live: !stage.is_of_renders(),
            gates: stage,
        });
        let answer = hit.map_or_else(|| Answer::unknown(&self.class_key.kind), Answer::from);
        let because = format!("its new class says another {leaf}: {}", answer.because);
        answer.saying(because)
    }
}

/// Whether a place of a part of a class is judged elsewhere.
fn is_elsewhere(leaf: &Path) -> bool {
    let is = |segment: &Segment| matches!(segment, Segment::Key(key) if ELSEWHERE.contains(&key.as_str()));
    let holder = |segment: &Segment| matches!(segment, Segment::Key(key) if key == "template");
    leaf.segments().iter().find(|segment| !holder(segment)).is_some_and(is)
}

/// Whether a group says itself what a class would say at a place.
fn says(group: &Value, leaf: &Path) -> bool {
    // A group that says anything of its rollout says all of it.
    let is_rollout = leaf.starts_with(&["rollout"]) || leaf.starts_with(&["strategy"]);
    if is_rollout && says_of_rollout(Some(group)) {
        return true;
    }
    // v1beta1 has the metadata of workers in a template.
    let own = match leaf.segments() {
        [Segment::Key(template), rest @ ..] if template == "template" => Path::from(rest.to_vec()),
        _ => leaf.clone(),
    };
    says_something(own.get(group))
}
