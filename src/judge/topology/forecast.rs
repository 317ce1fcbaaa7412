//! What the topology controller makes of a cluster before and after a write, part by part.
//! Read beside `core/reconcilers/topology/cluster/reconcile_state.go` (reconcileReferencedTemplate) of Cluster API 1.14:
//! a template that comes out with another `spec` is made anew under another name, which replaces the Machines behind it;
//! the control plane and the infrastructure object are changed in place, and their own controllers decide.

use std::collections::BTreeMap;

use crate::apiserver::admission::Sides;
use crate::impact;
use crate::judge::owner::Assessment;
use crate::judge::stage::Stage;
use crate::judge::subject::Subject;
use crate::judge::topology::blueprint::{ClassPart, Role, parts};
use crate::judge::topology::in_use::is_as_made;
use crate::judge::topology::patches;
use crate::judge::topology::patches::Patched;
use crate::judge::topology::plane;
use crate::judge::topology::referenced;
use crate::judge::topology::stop;
use crate::judge::topology::stuck;
use crate::judge::topology::values;
use crate::judge::topology::weight;
use crate::judge::verdict::Answer;
use crate::judge::waiting::side::Side as Whole;
use crate::kinds::contract::{INFRASTRUCTURE, made_by};
use crate::kinds::fields::{number, text};
use crate::kinds::webhook::{Refusal, Write};
use crate::kinds::{Typed, diff, superset};
use crate::model::{Effect, Rollout, RuleId};
use crate::object::{ApiVersion, Key, Path};
use crate::providers::core::changes::V1BETA2;
use crate::providers::{kind_of, typed};
use crate::rules::Rules;
use crate::tree::{Value, json};

/// Rule of workers whose template is made anew under another name.
const ROTATED: RuleId = RuleId::of("topology/template-rotated");

/// Where a topology says how many Machines its control plane has.
pub(super) const PLANE_REPLICAS: &str = "/spec/topology/controlPlane/replicas";

/// One side of a cluster with a topology.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'v> {
    /// The Cluster in the superset form.
    pub(crate) cluster: &'v Value,
    /// Key of its class.
    pub(crate) class_key: &'v Key,
    /// The class, as written.
    pub(crate) class: &'v Value,
    /// Whether templates are looked up after the write.
    pub(crate) after: bool,
}

/// What becomes of one part of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Fate {
    /// `controlPlane`, `machineDeployment`, `machinePool`, `cluster` for its infrastructure, or `topology` for all of it.
    pub(crate) word: &'static str,
    /// Name of the group in the topology.
    pub(crate) name: String,
    /// What happens, and why.
    pub(crate) answer: Answer,
    /// What that weighs, where the part itself was read with its Machines.
    pub(crate) weight: Option<Box<Rollout>>,
}

impl Fate {
    /// What becomes of a part, as far as its class tells.
    #[must_use]
    pub(crate) fn new(word: &'static str, name: impl Into<String>, answer: Answer) -> Self {
        Self { word, name: name.into(), answer, weight: None }
    }

    /// What a person calls the part.
    #[must_use]
    pub(crate) fn who(&self) -> String {
        match self.word {
            "controlPlane" => "the control plane".to_owned(),
            "cluster" => "the infrastructure of the cluster".to_owned(),
            "topology" => "the whole topology".to_owned(),
            "machinePool" => format!("machine pool {}", self.name),
            _ => format!("worker group {}", self.name),
        }
    }
}

/// What a part comes out as.
pub(super) enum Made {
    /// With patches.
    Known(Patched),
    /// Its template could not be read; with all that its patches may read.
    Unread(Key, Value),
}

/// What becomes of every part that does not stay the same.
#[must_use]
pub(crate) fn forecast(stage: &Stage<'_>, cluster: &Key, before: Side<'_>, after: Side<'_>) -> Vec<Fate> {
    let (old, new) = (make(stage, before), make(stage, after));
    let mut out = Vec::new();
    for (id, (part, made)) in &new {
        let Some((old_part, old_made)) = old.get(id) else { continue };
        let found = fate(stage, (cluster, before.cluster, after.cluster), (old_part, old_made), (part, made));
        let stays =
            |answer: &Answer| answer.rule == ROTATED.as_str() && is_in_use(stage, (cluster, before), after, part, made);
        if let Some((answer, weight)) = found.filter(|(answer, _)| !stays(answer)) {
            let reaches_none = answer.rule == ROTATED.as_str() && has_none(stage, cluster, before.cluster, id);
            let answer = if reaches_none { for_the_next(stage.rules, &answer) } else { answer };
            out.push(Fate { weight, ..Fate::new(id.0, id.1.as_str(), answer) });
        }
    }
    out
}

/// Whether a group of workers has no Machine and its owner wants none. That it wants none does not yet say that none is left.
fn has_none(
    stage: &Stage<'_>,
    key: &Key,
    cluster: &Value,
    (word, name, _): &(&'static str, String, &'static str),
) -> bool {
    let owner = || stage.before(&weight::owner(stage, key, cluster, word, name));
    *word == "machineDeployment"
        && weight::machines(stage, key, cluster, (word, name)) == Some(0)
        && owner().is_some_and(|owner| {
            ["/spec/replicas", "/status/replicas"].iter().all(|replicas| number(&owner, replicas) == Some(0))
        })
}

/// What a rollout of a group without Machines is.
fn for_the_next(rules: &Rules, answer: &Answer) -> Answer {
    let because = format!("{}; it has no Machines, and the next ones are made with it", answer.because);
    Answer::known(rules, Effect::Latent, ROTATED).saying(because)
}

/// Whether a part that comes out different is what is in use.
fn is_in_use(
    stage: &Stage<'_>,
    (key, before): (&Key, Side<'_>),
    after: Side<'_>,
    part: &ClassPart,
    made: &Made,
) -> bool {
    let Made::Known(made) = made else { return false };
    if !after.after || !made.opaque.is_empty() {
        return false;
    }
    is_as_made(stage, (key, before.cluster), (part, &part.key(after.class_key)), &made.spec)
}

/// The parts of one side.
pub(super) fn make(
    stage: &Stage<'_>,
    side: Side<'_>,
) -> BTreeMap<(&'static str, String, &'static str), (ClassPart, Made)> {
    let global = values::of_cluster(side.cluster, side.class);
    let made = |part: &ClassPart| {
        let key = part.key(side.class_key);
        let template = referenced::template(stage, part, &key, side.after);
        let values = values::of_group(side.cluster, side.class, &global, &part.group);
        match template {
            Some(template) => Made::Known(patches::apply(&template, part, side.class, &values, &stage.versions)),
            None => Made::Unread(key, patches::inputs(part, side.class, &values)),
        }
    };
    parts(side.cluster, side.class).into_iter().map(|part| (part.id(), (part.clone(), made(&part)))).collect()
}

/// What becomes of one part, with what that weighs where the part was read; `None` where it stays the same.
fn fate(
    stage: &Stage<'_>,
    cluster: (&Key, &Value, &Value),
    (old_part, old): (&ClassPart, &Made),
    (part, new): (&ClassPart, &Made),
) -> Option<(Answer, Option<Box<Rollout>>)> {
    let rules = stage.rules;
    let told = |answer: Answer| Some((answer, None));
    let (old, new) = match (old, new) {
        (Made::Known(old), Made::Known(new)) => (old, new),
        // As unknown as before, and nothing that is put into it changed.
        (Made::Unread(old, read), Made::Unread(new, now))
            if old == new && read == now && old_part.reference == part.reference =>
        {
            return None;
        }
        // Where a template was missing, the controller had stopped: what comes of this write is told against what is in use
        // (`pending::lifted`), for every part of the cluster.
        (Made::Unread(key, _), Made::Known(_)) if Whole::before(stage).is_missing(key) => return None,
        (_, Made::Unread(key, _)) if stop::stops_for(stage, cluster.0, key, old_part.reference != part.reference) => {
            let because = format!(
                "{key} is not there, so the topology controller does nothing for the cluster; this waits, and \
                 replaces Machines when {key} is there and what it gives is different"
            );
            let answer = Answer::known(rules, Effect::Rollout, RuleId::of("topology/template-missing"));
            return told(answer.held(because));
        }
        (Made::Unread(key, _), _) | (_, Made::Unread(key, _)) => {
            let because = format!("{key} could not be read, so what comes of it is not known; add it to --live");
            return told(Answer::known(rules, Effect::Unknown, RuleId::of("topology/template-unread")).saying(because));
        }
    };
    if let Some((patch, why)) = &new.broken {
        let because =
            format!("the patch {patch} fails ({why}), and the topology controller stops until the patch is fixed");
        return told(Answer::known(rules, Effect::Unknown, RuleId::of("topology/patch-fails")).saying(because));
    }
    let kind = |part: &ClassPart| text(&part.reference, "/kind").unwrap_or_default().to_owned();
    if old.spec == new.spec && old_part.reference == part.reference {
        // What comes out is the same, and so is what is compared of it.
        return opaque_difference(old, new).and_then(|patch| told(not_computed(rules, patch)));
    }
    let (before, after) = (normal(stage, old_part, &old.spec), normal(stage, part, &new.spec));
    let differs = before != after || kind(old_part) != kind(part);
    if let Some(answer) = stuck::refused_anew(stage, (cluster.0, cluster.2), part, (old, new), differs) {
        return told(answer);
    }
    if differs && part.role == Role::Rotated {
        let at = diff::places(Some(&before), Some(&after), &Path::root());
        let place = at.first().map(ToString::to_string).unwrap_or_default();
        if part.group.word == "machinePool" {
            let because = format!("{} comes out different ({place}) and is changed in place", kind(part));
            return told(Answer::known(rules, Effect::Rollout, RuleId::of("topology/pool")).saying(because));
        }
        if kind(old_part) == kind(part)
            && let Some(place) = refused_dry_run(stage, part, (&before, &after))
        {
            let because = format!(
                "{} comes out different ({place}), and its webhook refuses the dry run of the topology controller: nothing is replaced, and the \
                 topology stands still until the change is taken back or the provider is upgraded",
                kind(part)
            );
            return told(Answer::known(rules, Effect::Unknown, RuleId::of("topology/stuck")).saying(because));
        }
        let because = format!("{} comes out different ({place}), so a new one is made under another name", kind(part));
        return told(Answer::known(rules, Effect::Rollout, ROTATED).saying(because));
    }
    if let Some(patch) = opaque_difference(old, new) {
        return told(not_computed(rules, patch));
    }
    differs.then(|| in_place(stage, cluster, part, (&before, &after)))
}

/// What is said where a patch that is not computed may come out different.
fn not_computed(rules: &Rules, (patch, why, _): &(String, String, Value)) -> Answer {
    let because = format!("the patch {patch} {why}, which is not computed, and what it reads has changed");
    Answer::known(rules, Effect::Unknown, RuleId::of("topology/patch-not-computed")).saying(because)
}

/// The first patch that is not computed and may come out different.
fn opaque_difference<'o>(old: &'o Patched, new: &'o Patched) -> Option<&'o (String, String, Value)> {
    let missing = |one: &'o Patched, other: &'o Patched| one.opaque.iter().find(|print| !other.opaque.contains(print));
    missing(new, old).or_else(|| missing(old, new))
}

/// Where the webhook of a template that comes out different refuses the dry run (`structuredmerge/dryrun.go`, dryRunSSAPatch).
fn refused_dry_run(stage: &Stage<'_>, part: &ClassPart, (before, after): (&Value, &Value)) -> Option<Path> {
    let word = |key: &str| text(&part.reference, key).unwrap_or_default();
    let fixed = kind_of(ApiVersion::parse(word("/apiVersion")).group, word("/kind")).fixed?;
    fixed.refused_dry_run(&json!({"spec": before}), &json!({"spec": after}), &stage.versions)
}

/// The spec of a template as the dry run compares it: in the superset form, with the defaults of old versions.
fn normal(stage: &Stage<'_>, part: &ClassPart, spec: &Value) -> Value {
    let word = |key: &str| text(&part.reference, key).unwrap_or_default();
    normal_spec(stage, (word("/kind"), word("/apiVersion")), part.role, spec)
}

/// The spec of an object of this kind and version as the dry run compares it. A template that is rotated is compared as the API server
/// keeps it, in which an empty map differs from none; what a conversion goes through first, Go's types hold, and so does what an owner's
/// own mirror compares.
pub(crate) fn normal_spec(stage: &Stage<'_>, (kind, api_version): (&str, &str), role: Role, spec: &Value) -> Value {
    let api = ApiVersion::parse(api_version);
    let mut out = superset_of(stage, (kind, api_version), spec);
    kind_of(api.group, kind).fill_config(&mut out);
    let mut spec = out["spec"].take();
    let is_converted = !stage.versions.has(&V1BETA2) || (api.version != "v1beta2" && api.group != INFRASTRUCTURE);
    if role != Role::Rotated || is_converted {
        diff::prune(&mut spec, diff::CLUSTER_API);
    }
    spec
}

/// An object with nothing but such a spec, in the superset form.
pub(super) fn superset_of(stage: &Stage<'_>, (kind, api_version): (&str, &str), spec: &Value) -> Value {
    let kind = kind_of(ApiVersion::parse(api_version).group, kind);
    superset::value(kind, api_version, &json!({"spec": spec}), &stage.versions)
}

/// What an object that is changed in place does: its own mirror, webhook rules and pack decide. A control plane that was read is
/// judged with its Machines.
fn in_place(
    stage: &Stage<'_>,
    (cluster, value, new_value): (&Key, &Value, &Value),
    part: &ClassPart,
    (before, after): (&Value, &Value),
) -> (Answer, Option<Box<Rollout>>) {
    if part.role == Role::ControlPlane
        && let Some((key, sides)) = plane::in_use(stage, (cluster, value, new_value), part, (before, after))
    {
        let (answer, assessment) = judged(stage, &key, (&sides.old, &sides.new));
        let weight = assessment.filter(|_| answer.effect == Effect::Rollout);
        let weight = weight.and_then(|assessment| impact::of(&key, &assessment.weighed()));
        return (answer, weight.map(Box::new));
    }
    let key = made_key(cluster, part);
    let version = text(value, "/spec/topology/version");
    // A control plane without a number was made with the usual one, or is scaled by somebody else.
    let replicas = number(new_value, PLANE_REPLICAS).unwrap_or(3);
    let object = |spec: &Value| made_object(&key, part, spec, version, replicas);
    let (old, new) = (object(before), object(after));
    (judged(stage, &key, (&old, &new)).0, None)
}

/// What stands for the object that the topology controller makes of a part. A name that no object has: the Machines that exist belong to
/// an object with more in it than the template says.
fn made_key(cluster: &Key, part: &ClassPart) -> Key {
    let kind = made_by(text(&part.reference, "/kind").unwrap_or_default()).to_owned();
    let group = ApiVersion::parse(text(&part.reference, "/apiVersion").unwrap_or_default()).group.to_owned();
    Key::of(group, kind, cluster.namespace.clone(), format!("of the topology {}", cluster.name))
}

/// The object that the topology controller makes of the spec of a template.
fn made_object(key: &Key, part: &ClassPart, spec: &Value, version: Option<&str>, replicas: u64) -> Value {
    let mut spec = spec.pointer("/template/spec").cloned().unwrap_or_else(|| json!({}));
    if let Some(map) = spec.as_object_mut().filter(|_| part.role == Role::ControlPlane) {
        map.insert("version".to_owned(), json!(version));
        map.insert("replicas".to_owned(), json!(replicas));
    }
    json!({"metadata": {"name": key.name, "namespace": key.namespace}, "spec": spec})
}

/// What the webhook of the control plane refuses of another number of Machines, which the topology controller writes into it.
#[must_use]
pub(super) fn replicas_refused(
    stage: &Stage<'_>,
    cluster: &Key,
    after: Side<'_>,
    (was, is): (u64, u64),
) -> Option<Refusal> {
    let made = make(stage, after);
    let mut planes = made.values().filter(|(part, _)| part.role == Role::ControlPlane);
    let (part, Made::Known(patched)) = planes.next()? else { return None };
    let (key, spec) = (made_key(cluster, part), normal(stage, part, &patched.spec));
    let of = |replicas: u64| made_object(&key, part, &spec, text(after.cluster, "/spec/topology/version"), replicas);
    refused(stage, &typed(&key), (&of(was), &of(is))).into_iter().next()
}

/// What another content of an object does that the topology controller changes in place, as its own rules have it, and what was found
/// about its Machines.
#[must_use]
pub(crate) fn judged(stage: &Stage<'_>, key: &Key, (old, new): (&Value, &Value)) -> (Answer, Option<Assessment>) {
    let key = &typed(key);
    let sides = || Sides { old: old.clone(), new: new.clone() };
    let assessment = key.known.mirror.map(|mirror| Assessment::of(stage, key, mirror, sides()));
    let (old, new) = assessment.as_ref().map_or((old, new), |assessment| (&assessment.old, &assessment.new));
    let refusals = refused(stage, key, (old, new));
    let subject = Subject {
        stage,
        key,
        api_version: "v1beta2",
        old,
        new,
        used_by: &[],
        assessment: assessment.as_ref(),
        refusals: &refusals,
        open: &[],
        same: false,
        as_go: false,
        dropped: &[],
        is_gone: false,
    };
    (subject.worst(), assessment)
}

/// What webhooks refuse of such a change: the topology controller writes as everyone does. What the object is refused for as it was
/// is nobody's change.
fn refused(stage: &Stage<'_>, key: &Typed<'_>, (old, new): (&Value, &Value)) -> Vec<Refusal> {
    let Some(webhook) = key.known.webhook else { return Vec::new() };
    let (mut old, mut new) = (old.clone(), new.clone());
    webhook.normalise(key, &mut old, &mut new, &stage.versions);
    let of = |new: &Value| {
        let (kind, versions, gate) = (key.known, &stage.versions, &|gate: &str| stage.gate(gate));
        let write =
            Write { key, kind, api_version: "v1beta2", is_new: false, live: None, old: &old, new, versions, gate };
        webhook.refusals(&write)
    };
    let mut found = of(&new);
    if !found.is_empty() {
        let before = of(&old);
        found.retain(|refusal| !before.contains(refusal));
    }
    found
}

/// The spec of a template that is in use, as the dry run compares it.
#[must_use]
pub(crate) fn normal_of(stage: &Stage<'_>, template: &Value) -> Value {
    let word = |key: &str| text(template, key).unwrap_or_default();
    normal_spec(stage, (word("/kind"), word("/apiVersion")), Role::Rotated, &patches::spec_of(template))
}

/// The first place at which something in use is not what the class makes of it now, and all that the class says. What it does
/// not say is left to whoever wrote it, as in a server-side apply; names that only the controller knows are not compared.
#[must_use]
pub(crate) fn drift(stage: &Stage<'_>, part: &ClassPart, made: &Value, have: &Value) -> Option<(String, Value)> {
    let wanted = normal(stage, part, made);
    let places = diff::places(Some(have), Some(&wanted), &Path::root());
    let is_said = |place: &crate::object::Path| {
        place
            .get(&wanted)
            .is_some_and(|value| !value.to_string().contains("builtin:") && !covers(place.get(have), value))
    };
    let first = places.iter().find(|place| is_said(place)).map(ToString::to_string)?;
    Some((first, wanted))
}

/// Whether a value holds everything that another one says.
fn covers(have: Option<&Value>, said: &Value) -> bool {
    match (have, said) {
        (Some(Value::Object(have)), Value::Object(said)) => {
            said.iter().all(|(key, value)| covers(have.get(key), value))
        }
        (Some(have), said) => have == said,
        (None, _) => false,
    }
}
