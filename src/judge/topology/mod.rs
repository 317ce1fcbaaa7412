//! Mirror of the topology controller: what a Cluster with a class, the class itself and its templates do to Machines.
//! Read beside `core/reconcilers/topology/cluster` and `exp/topology/desiredstate/desired_state.go` of Cluster API 1.14;
//! by reading, because no function of the controllers answers for it. What cannot be computed is unknown and says why.

mod admission;
mod blueprint;
mod claimed;
mod clock;
mod domain;
mod forecast;
mod held;
mod in_use;
mod inputs;
mod left_out;
pub(crate) mod made;
mod metadata;
mod patches;
pub(crate) mod pending;
mod plan;
mod plane;
mod queue;
mod referenced;
mod settings;
mod stop;
mod strategy;
mod stuck;
pub(crate) mod unread;
mod values;
mod variables;
mod weight;
pub(crate) mod woken;

use std::sync::Arc;

use crate::hashed::HashSet;
use crate::host::ServerSaid;
use crate::judge::stage::Stage;
pub(crate) use crate::judge::topology::admission::{doubts_of_new, refusals, refusals_of_new, users_of_deleted};
pub(crate) use crate::judge::topology::blueprint::{class_of, same_workers, templates, templates_with_own_image};
use crate::judge::topology::forecast::{Fate, Side, forecast};
pub(crate) use crate::judge::topology::held::held;
use crate::judge::topology::held::{Holds, back};
use crate::judge::topology::inputs::{around, inputs};
pub(crate) use crate::judge::topology::metadata::{change as change_metadata, hand_down};
pub(crate) use crate::judge::topology::stop::is_stopped;
pub(crate) use crate::judge::topology::stuck::of_new;
pub(crate) use crate::judge::topology::weight::rollouts;
use crate::judge::verdict::Answer;
use crate::kinds::Role;
use crate::kinds::fields::{number, text};
use crate::model::RuleId;
use crate::model::{Act, Effect};
use crate::object::{Key, Path, Segment};
use crate::parallel;
use crate::providers::kind;
use crate::tree::{Value, json};

/// The answer about a leaf of a Cluster; `None` where the pack's own rule decides.
#[must_use]
pub(crate) fn of_cluster(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value, path: &Path) -> Option<Answer> {
    class_of(key, old)?;
    if let Some(answer) =
        group_comes_or_goes(stage, key, old, new, path).or_else(|| clock::answer(stage, key, old, new, path))
    {
        return Some(answer);
    }
    if path.is(&["spec", "topology", "version"])
        && let Some(answer) = plan::answer(stage, key, old, new)
    {
        return Some(answer);
    }
    if path.is(&["spec", "topology", "controlPlane", "replicas"])
        && let Some(answer) = replicas_refused(stage, key, old, new)
    {
        return Some(answer);
    }
    if let Some(answer) = weight::replicas_go(stage, key, old, new, path) {
        let read = by_builtins(stage, key, old, new, path);
        return Some(read.filter(|read| read.effect > answer.effect).unwrap_or(answer));
    }
    if let Some(answer) = weight::handed_back(stage, key, old, new, path) {
        return Some(answer);
    }
    let keys: Vec<&str> = keys(path);
    if domain::stays(stage, key, (old, new), path) {
        let because = "the topology says the failure domain that its class says, and nothing is replaced";
        return Some(Answer::known(stage.rules, Effect::None, RuleId::of("topology/same")).saying(because));
    }
    if let ["spec", "topology", "workers", list] = keys.as_slice()
        && same_groups(old, new, list)
    {
        let because = "the groups stand in another order; each is known by its name, and nothing is replaced";
        return Some(Answer::known(stage.rules, Effect::None, RuleId::of("topology/same")).saying(because));
    }
    let is_input = matches!(
        keys.as_slice(),
        ["spec", "topology", "variables" | "classRef", ..]
            | ["spec", "topology", "controlPlane", "variables", ..]
            | ["spec", "topology", "workers", _, "variables" | "class", ..]
    );
    is_input.then_some(())?;
    if keys.contains(&"variables")
        && let Some(answer) = stage.remember(key, "rules", || unruled(stage, key, old, new))
    {
        return Some(answer);
    }
    stage.remember(key, "inputs", || Some(worst(stage, key, &cluster_fates(stage, key, old, &inputs(old, new)))))
}

/// The answer about a number of Machines of the control plane that its webhook does not take from the topology controller.
fn replicas_refused(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value) -> Option<Answer> {
    let replicas = |side| number(side, "/spec/topology/controlPlane/replicas");
    let counts = (replicas(old)?, replicas(new)?);
    let class_key = class_of(key, new)?;
    let class = stage.written_after(&class_key)?;
    let side = Side { cluster: new, class_key: &class_key, class: &class, after: true };
    let refusal = forecast::replicas_refused(stage, key, side, counts)?;
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("topology/stuck")).saying(refusal.message))
}

/// The answer about a field that patches may read through builtin variables; its own rule counts beside it, and alone where none does.
#[must_use]
pub(crate) fn by_builtins(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value, path: &Path) -> Option<Answer> {
    class_of(key, old)?;
    match keys(path).as_slice() {
        ["spec", "topology", "version"] => return None,
        ["metadata", "labels" | "annotations", ..] | ["spec", "clusterNetwork", ..] | ["spec", "topology", ..] => {}
        _ => return None,
    }
    stage.remember(key, "around", || {
        let fates = cluster_fates(stage, key, old, &around(old, new));
        (!fates.is_empty()).then(|| worst(stage, key, &fates))
    })
}

/// The answer about variables that the class checks with rules that are not computed; `None` where there are none, or where
/// the API server was asked itself.
fn unruled(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value) -> Option<Answer> {
    let asked = stage
        .scene
        .world
        .answers
        .iter()
        .flatten()
        .any(|answer| answer.key == *key && !matches!(answer.said, ServerSaid::NotAsked(_)));
    let class = stage.written_after(&class_of(key, new)?).filter(|_| !asked)?;
    let name = variables::uncomputed(old, new, &class)?;
    let answer = Answer::known(stage.rules, Effect::Unknown, RuleId::of("topology/variable-rule"));
    let because = format!("{name}: {}", answer.because);
    Some(answer.saying(because))
}

/// The answer about a class, or about a template that classes are made of; `None` where no class is.
#[must_use]
pub(crate) fn of_class(stage: &Stage<'_>, key: &Key) -> Option<Answer> {
    stage.remember(key, "class", || {
        let classes = classes_of(stage, key);
        (!classes.is_empty()).then(|| of_all(stage, key, &classes, &members(stage, &classes)))
    })
}

/// The class itself, or the classes that a template belongs to after the write.
fn classes_of(stage: &Stage<'_>, key: &Key) -> Vec<Key> {
    if kind(key).role == Role::Class {
        return vec![key.clone()];
    }
    let mut out: Vec<Key> = stage.referrers(key).into_iter().map(|reference| reference.from.clone()).collect();
    out.retain(|class| kind(class).role == Role::Class);
    out.dedup();
    out
}

/// A Cluster of a class as it was, and what becomes of its parts.
#[derive(Debug)]
pub(crate) struct Member {
    key: Key,
    old: Arc<Value>,
    fates: Vec<Fate>,
}

/// The clusters of some classes, looked at once: each leaf of a class asks, and so does its weight.
fn members(stage: &Stage<'_>, classes: &[Key]) -> Arc<Vec<Member>> {
    stage.members_of(classes, || {
        let clusters: Vec<Key> = classes.iter().flat_map(|class| stage.clusters_of_class(class)).collect();
        Arc::new(parallel::map(&clusters, |cluster| member(stage, cluster)).into_iter().flatten().collect())
    })
}

/// A cluster of a class that is there before and after the write.
fn member(stage: &Stage<'_>, cluster: &Key) -> Option<Member> {
    let (old, new) = (stage.before(cluster)?, stage.after(cluster)?);
    let of = |old: &Value, new: &Value| cluster_fates(stage, cluster, old, &inputs(old, new));
    let mut fates = of(&old, &new);
    let [old, new] = [old, new].map(|side| stored(stage, cluster, side));
    if let Some(name) = old.1.as_deref().or(new.1.as_deref()) {
        let with_defaults = of(&old.0, &new.0);
        fates = if heaviest(&fates) == heaviest(&with_defaults) {
            with_defaults
        } else {
            vec![maybe_stored(stage, cluster, name)]
        };
    }
    let stop = stop::comes(stage, cluster, (&old.0, &new.0));
    fates.extend(stop.map(|answer| Fate::new("topology", "", answer)));
    Some(Member { key: cluster.clone(), old: old.0, fates })
}

/// The weightiest effect of some fates.
fn heaviest(fates: &[Fate]) -> Option<Effect> {
    fates.iter().map(|fate| fate.answer.effect).max()
}

/// What becomes of a cluster that was rendered and not read, where it decides whether it stores a default of its class.
fn maybe_stored(stage: &Stage<'_>, cluster: &Key, name: &str) -> Fate {
    let answer = Answer::known(stage.rules, Effect::Unknown, RuleId::of("topology/default-unread"));
    let because = format!("{cluster} was not read, so nobody knows whether it stores its own value of {name}");
    Fate::new("controlPlane", "", answer.saying(because))
}

/// A Cluster as the API server has it if it was written since the class has its variables: a render does not show the defaults
/// that its webhook stored (`core/webhooks/admission/cluster.go` DefaultAndValidateVariables of Cluster API 1.14), one that was
/// read does. With the name of a variable that it would store: one whose default changes, where there is one.
fn stored(stage: &Stage<'_>, key: &Key, mut cluster: Arc<Value>) -> (Arc<Value>, Option<String>) {
    let named = class_of(key, &cluster).filter(|_| cluster.pointer("/metadata/uid").is_none());
    let Some(class) = named.as_ref().and_then(|class| stage.written_before(class)) else { return (cluster, None) };
    let told: HashSet<&str> =
        values::list(&cluster, "/spec/topology/variables").filter_map(|variable| text(variable, "/name")).collect();
    let defaults: Vec<Value> = values::list(&class, "/spec/variables")
        .filter_map(|variable| {
            let name = text(variable, "/name").filter(|name| !told.contains(name))?;
            let default = variable.pointer("/schema/openAPIV3Schema/default")?;
            Some(json!({"name": name, "value": default}))
        })
        .collect();
    let after = named.and_then(|class| stage.written_after(&class));
    let changes = |variable: &&Value| {
        let name = text(variable, "/name");
        let mut own = after.iter().flat_map(|class| values::list(class, "/spec/variables"));
        let own = own.find(|own| text(own, "/name") == name);
        own.and_then(|own| own.pointer("/schema/openAPIV3Schema/default")) != variable.get("value")
    };
    let first = defaults.iter().find(changes).or(defaults.first());
    let first = first.and_then(|variable| text(variable, "/name")).map(str::to_owned);
    if first.is_some()
        && let Some(topology) = Arc::make_mut(&mut cluster).pointer_mut("/spec/topology").and_then(Value::as_object_mut)
        && let Some(variables) = topology.entry("variables").or_insert_with(|| json!([])).as_array_mut()
    {
        variables.extend(defaults);
    }
    (cluster, first)
}

/// One answer for all clusters of some classes.
fn of_all(stage: &Stage<'_>, key: &Key, classes: &[Key], all: &[Member]) -> Answer {
    let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
    if all.is_empty() {
        if let Some(answer) = unread::clusters(stage, key, classes) {
            return answer;
        }
        let because =
            format!("no cluster of the class {} was read, so nothing is replaced by it now", names.join(", "));
        return Answer::known(stage.rules, Effect::None, RuleId::of("class/no-clusters")).saying(because);
    }
    let touched: Vec<String> = all.iter().filter(|one| !one.fates.is_empty()).map(|one| one.key.name.clone()).collect();
    let first = all.iter().max_by_key(|one| heaviest(&one.fates));
    let Some(Member { key, fates, .. }) = first.filter(|one| !one.fates.is_empty()) else {
        let because =
            format!("the class gives {} the same objects as before, so nothing is replaced", counted(all.len()));
        return Answer::known(stage.rules, Effect::None, RuleId::of("topology/same")).saying(because);
    };
    let answer = worst(stage, key, fates);
    let because = format!(
        "the class changes {} of {} ({}): {}",
        touched.len(),
        counted(all.len()),
        touched.join(", "),
        answer.because
    );
    answer.saying(because)
}

/// So many clusters.
fn counted(count: usize) -> String {
    if count == 1 { "1 cluster".to_owned() } else { format!("{count} clusters") }
}

/// The worst of what becomes of the parts of a cluster, with all of them in its sentence.
fn worst(stage: &Stage<'_>, key: &Key, fates: &[Fate]) -> Answer {
    let Some(first) = fates.iter().max_by_key(|fate| (fate.answer.effect, fate.answer.touches)) else {
        let because = format!("every template of {} comes out the same, so nothing is replaced", key.name);
        return Answer::known(stage.rules, Effect::None, RuleId::of("topology/same")).saying(because);
    };
    let same = fates.iter().filter(|fate| fate.answer.effect == first.answer.effect);
    let parts = same.map(|fate| format!("{}: {}", fate.who(), fate.answer.because.trim_end_matches('.')));
    let mut seen = HashSet::default();
    let parts: Vec<String> = parts.filter(|part| seen.insert(part.clone())).collect();
    let answer = first.answer.clone().saying(parts.join("; "));
    let cluster = stage.after(key).unwrap_or_default();
    if answer.effect > Effect::Latent && answer.effect < Effect::Unknown {
        let before = stage.before(key).unwrap_or_else(|| cluster.clone());
        if let Some(hold) = stop::hold(stage, key, (&before, &cluster)) {
            return back(answer, &hold);
        }
    }
    if answer.effect == Effect::Rejected {
        // What is refused here is a write of the topology controller, not of the host.
        return Answer { effect: Effect::Unknown, rule: RuleId::of("topology/stuck").into(), ..answer };
    }
    answer
}

/// What becomes of the parts of a cluster.
fn cluster_fates(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value) -> Vec<Fate> {
    let (Some(old_class), Some(new_class)) = (class_of(key, old), class_of(key, new)) else { return Vec::new() };
    let unread = |class: &Key| {
        let answer = Answer::known(stage.rules, Effect::Unknown, RuleId::of("topology/template-unread"));
        let because = format!("{class} could not be read, so what comes of it is not known; add it to --live");
        Fate::new("controlPlane", "", answer.saying(because))
    };
    let Some(before) = stage.written_before(&old_class) else {
        // A class that is as unknown as before and that nobody writes changes nothing by itself.
        return if old_class == new_class && old == new { Vec::new() } else { vec![unread(&old_class)] };
    };
    let Some(after) = stage.written_after(&new_class) else { return vec![unread(&new_class)] };
    let was = Side { cluster: old, class_key: &old_class, class: &before, after: false };
    let is = Side { cluster: new, class_key: &new_class, class: &after, after: true };
    let mut fates = forecast(stage, key, was, is);
    fates.extend(domain::fates(stage.rules, was, is));
    fates.extend(settings::fates(stage, was, is));
    let after = stage.after(key);
    let cluster = after.as_deref().unwrap_or(new);
    let holds = Holds::of(stage, key, (old, cluster));
    for fate in fates.iter_mut().filter(|fate| fate.answer.effect == Effect::Rollout) {
        if let Some(hold) = holds.hold((fate.word, &fate.name), Act::Replace) {
            fate.answer = back(fate.answer.clone(), &hold);
        }
    }
    fates
}

/// Whether a Cluster has the same groups of workers on both sides, in whatever order; what is in them is judged by itself.
fn same_groups(old: &Value, new: &Value, list: &str) -> bool {
    let names = |side: &Value| {
        let groups = values::list(side, &format!("/spec/topology/workers/{list}"));
        let mut names: Vec<String> = groups.map(|group| text(group, "/name").unwrap_or_default().to_owned()).collect();
        names.sort();
        names
    };
    names(old) == names(new)
}

/// The answer about a group of workers that is new or goes.
fn group_comes_or_goes(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value, path: &Path) -> Option<Answer> {
    let [Segment::Key(_), Segment::Key(topology), Segment::Key(workers), Segment::Key(list), Segment::Index(place), ..] =
        path.segments()
    else {
        return None;
    };
    if topology != "topology" || workers != "workers" {
        return None;
    }
    let pointer = format!("/spec/topology/workers/{list}");
    let name = |side: &Value| text(side.pointer(&pointer)?.get(*place)?, "/name").map(str::to_owned);
    let has = |side: &Value, name: &str| values::list(side, &pointer).any(|group| text(group, "/name") == Some(name));
    if let Some(gone) = name(old).filter(|name| !has(new, name)) {
        let word = if list == "machinePools" { "machinePool" } else { "machineDeployment" };
        let known = |effect| Answer::known(stage.rules, effect, RuleId::of("topology/group-removed"));
        if weight::machines(stage, key, old, (word, &gone)) == Some(0) {
            let because = format!("worker group {gone} leaves the topology; it has no Machines");
            return Some(known(Effect::None).saying(because));
        }
        let because = format!("worker group {gone} leaves the topology and is deleted with all its Machines");
        let answer = known(Effect::Delete).saying(because);
        let hold = Holds::of(stage, key, (old, new)).hold((word, &gone), Act::Delete);
        return Some(match hold {
            Some(hold) => back(answer, &hold),
            None => answer,
        });
    }
    let added = name(new).filter(|name| !has(old, name))?;
    let because = format!("worker group {added} is new; no Machine that exists is touched");
    Some(Answer::known(stage.rules, Effect::None, RuleId::of("topology/group-added")).saying(because))
}

/// The keys of a path, without places in lists.
fn keys(path: &Path) -> Vec<&str> {
    path.segments()
        .iter()
        .filter_map(|segment| if let Segment::Key(key) = segment { Some(key.as_str()) } else { None })
        .collect()
}
