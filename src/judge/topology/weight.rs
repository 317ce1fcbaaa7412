//! How many Machines a change of a topology replaces, per control plane and group of workers, over all clusters.

use crate::hashed::{HashMap, HashSet};
use crate::impact;
use crate::judge::replicas;
use crate::judge::stage::Stage;
use crate::judge::topology::blueprint::class_of;
use crate::judge::topology::domain;
use crate::judge::topology::forecast::Fate;
use crate::judge::topology::held::{self, Holds};
use crate::judge::topology::plan;
use crate::judge::topology::queue;
use crate::judge::topology::strategy;
use crate::judge::topology::values::list;
use crate::judge::topology::{Member, classes_of, cluster_fates, members};
use crate::judge::verdict::Answer;
use crate::judge::waiting::side::Side;
use crate::kinds::Role;
use crate::kinds::contract::{CONTROL_PLANE, MACHINE_DEPLOYMENT, MACHINE_POOL, REPLICAS_MANAGED_BY, made_by};
use crate::kinds::fields;
use crate::kinds::fields::number;
use crate::kinds::fields::target;
use crate::kinds::fields::text;
use crate::model::Rollout;
use crate::model::RuleId;
use crate::model::{Act, Effect};
use crate::object::{Key, Path, Segment};
use crate::parallel;
use crate::providers::{kind, machines, typed};
use crate::tree::{Value, json};

/// The entries of a changed Cluster, class or template of a class.
#[must_use]
pub(crate) fn rollouts(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value) -> Vec<Rollout> {
    if kind(key).role != Role::Cluster {
        let all = members(stage, &classes_of(stage, key));
        let weight = |Member { key, old, fates }: &Member| of_fates(stage, key, (old, old), fates);
        return parallel::map(&all, weight).into_iter().flatten().collect();
    }
    if class_of(key, old).is_none() {
        return Vec::new();
    }
    let version = |side: &Value| text(side, "/spec/topology/version").map(str::to_owned);
    let (old_groups, new_groups) = (Groups::of(old), Groups::of(new));
    let holds = Holds::of(stage, key, (old, new));
    let free = |word: &'static str, name: &str, act| holds.hold((word, name), act).is_none();
    let mut out = if version(old) == version(new) {
        of_fates(stage, key, (old, new), &cluster_fates(stage, key, old, new))
    } else {
        let every = new_groups.order.iter();
        let deferred = queue::all_deferred(new);
        let stuck = plan::stuck(stage, key, old, new).is_some();
        every
            .filter(|_| !stuck)
            // A group that is new is made in the new version.
            .filter(|(word, name)| old_groups.get(word, name).is_some())
            .filter(|(word, name)| !deferred.contains(&(*word, *name)))
            .filter(|(word, name)| free(word, name, Act::Replace))
            .map(|(word, name)| {
                let at = At { word, name, before: old_groups.get(word, name), after: new_groups.get(word, name) };
                let rollout = entry(stage, key, old, &at, Effect::Rollout, "spec.topology.version");
                in_rounds(rollout, queue::rounds(word, (version(old), version(new))))
            })
            .collect()
    };
    let mut owners: HashSet<Key> = out.iter().map(|rollout| rollout.owner.clone()).collect();
    let class = |side: Side<'_>, cluster: &Value| class_of(key, cluster).and_then(|class| side.get(&class));
    let [before_class, after_class] = Side::both(stage);
    let (old_class, new_class) = (class(before_class, old), class(after_class, new));
    for (word, name) in &new_groups.order {
        let Some(before) = old_groups.get(word, name) else { continue };
        let Some(after) = new_groups.get(word, name) else { continue };
        let (was, is) = (with_domain(old_class.as_deref(), before), with_domain(new_class.as_deref(), after));
        let cause = own_cause(stage, key, old, (&was, &is), word, name);
        let is_new = || !owners.contains(&owner(stage, key, old, word, name)) && free(word, name, Act::Replace);
        let Some(cause) = cause.filter(|_| is_new()) else { continue };
        let at = At { word, name, before: Some(before), after: Some(after) };
        let rollout = entry(stage, key, old, &at, Effect::Rollout, &cause);
        owners.insert(rollout.owner.clone());
        out.push(rollout);
    }
    for (word, name) in &new_groups.order {
        let (Some(before), Some(after)) = (old_groups.get(word, name), new_groups.get(word, name)) else { continue };
        let wanted = wanted(stage, key, new, (before, after), word);
        let wanted = wanted.filter(|wanted| Some(*wanted) != number(before, "/replicas"));
        let is_refused = || *word == "controlPlane" && super::replicas_refused(stage, key, old, new).is_some();
        if let Some(wanted) = wanted.filter(|_| free(word, name, Act::Fewer) && !is_refused()) {
            let at = At { word, name, before: Some(before), after: Some(after) };
            out.extend(fewer(stage, key, old, &at, wanted));
        }
    }
    for (word, name) in old_groups.order.iter().filter(|(word, name)| new_groups.get(word, name).is_none()) {
        if machines(stage, key, old, (word, name)) != Some(0) && free(word, name, Act::Delete) {
            let at = At { word, name, before: old_groups.get(word, name), after: None };
            out.push(entry(stage, key, old, &at, Effect::Delete, "spec.topology.workers"));
        }
    }
    out
}

/// The entry of a group whose number of Machines falls; `None` where it does not.
fn fewer(stage: &Stage<'_>, key: &Key, cluster: &Value, at: &At<'_>, wanted: u64) -> Option<Rollout> {
    let all = entry(stage, key, cluster, at, Effect::Delete, "replicas");
    let count = all.machines.filter(|count| wanted < *count)?;
    Some(if wanted == 0 { all } else { impact::fewer(Rollout { replicas: Some(wanted), ..all }, count, wanted) })
}

/// The entry of a group, found by its name on both sides of a Cluster, whose number of Machines falls; `None` where it does not.
pub(super) fn fewer_of(
    stage: &Stage<'_>,
    key: &Key,
    old: &Value,
    new: &Value,
    (word, name): (&'static str, &str),
) -> Option<Rollout> {
    let at = At::of((old, new), word, name);
    let wanted = wanted(stage, key, new, (at.before.unwrap_or(&Value::Null), at.after?), word)?;
    fewer(stage, key, old, &at, wanted)
}

/// How many Machines a group has after the write. Where the topology stops to say it, the field of the owner goes with it, and the
/// owner's webhook fills it in (`exp/topology/desiredstate/desired_state.go`, `core/webhooks/admission/machinedeployment.go`
/// of Cluster API 1.14); `None` where neither side says a number.
fn wanted(stage: &Stage<'_>, key: &Key, new: &Value, (before, after): (&Value, &Value), word: &str) -> Option<u64> {
    number(after, "/replicas").or_else(|| {
        let [old, new] = as_owners(stage, key, new, (before, after), word)?;
        Some(fields::wanted(&new, Some(&old)))
    })
}

/// The owner of a group as its number of Machines is decided, before and after the write; `None` where it was not told before, or
/// is told still.
fn as_owners(
    stage: &Stage<'_>,
    key: &Key,
    cluster: &Value,
    (before, after): (&Value, &Value),
    word: &str,
) -> Option<[Value; 2]> {
    let told = number(before, "/replicas").filter(|_| number(after, "/replicas").is_none())?;
    let class = class_of(key, cluster).and_then(|class| stage.after(&class)).unwrap_or_default();
    let own = text(after, "/class");
    let mut of_workers = list(&class, &format!("/spec/workers/{word}s")).filter(|item| text(item, "/class") == own);
    let of_class = of_workers.next().filter(|_| word != "controlPlane");
    let holders = [of_class.and_then(|class| class.pointer("/template")), of_class, Some(after)];
    let mut annotations = crate::tree::Map::new();
    for told in holders.into_iter().flatten().filter_map(|holder| holder.pointer("/metadata/annotations")?.as_object())
    {
        annotations.extend(told.clone());
    }
    let metadata = json!({"annotations": annotations});
    Some([json!({"metadata": metadata, "spec": {"replicas": told}}), json!({"metadata": metadata, "spec": {}})])
}

/// The answer about a number of Machines that the topology stops to say; `None` for everything else.
pub(super) fn replicas_go(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value, path: &Path) -> Option<Answer> {
    let (word, name) = match path.segments() {
        [_, _, Segment::Key(one), Segment::Key(last)] if one == "controlPlane" && last == "replicas" => {
            ("controlPlane", "")
        }
        [_, _, Segment::Key(workers), Segment::Key(lists), Segment::Index(place), Segment::Key(last)]
            if workers == "workers" && last == "replicas" =>
        {
            let word = if lists == "machinePools" { "machinePool" } else { "machineDeployment" };
            (word, text(new.pointer(&format!("/spec/topology/workers/{lists}/{place}"))?, "/name")?)
        }
        _ => return None,
    };
    let (before, after) = (Groups::of(old).get(word, name)?, Groups::of(new).get(word, name)?);
    let [was, is] = as_owners(stage, key, new, (before, after), word)?;
    let answer = replicas::answer(stage.rules, RuleId::of("topology/replicas"), 0, (&was, &is));
    Some(held::held(stage, key, (old, new), path, answer))
}

/// The answer about the annotation of a pool of a topology by which something else chose its number, where it goes and the topology's own
/// number is not what runs (`exp/topology/desiredstate/desired_state.go` computeMachinePool hands on both); `None` for everything else.
pub(super) fn handed_back(stage: &Stage<'_>, key: &Key, old: &Value, new: &Value, path: &Path) -> Option<Answer> {
    let [_, _, _, Segment::Key(lists), Segment::Index(place), _, _, Segment::Key(last)] = path.segments() else {
        return None;
    };
    if lists != "machinePools" || last != REPLICAS_MANAGED_BY {
        return None;
    }
    let name = text(new.pointer(&format!("/spec/topology/workers/machinePools/{place}"))?, "/name")?;
    let at = At::of((old, new), "machinePool", name);
    let (before, after) = (at.before?, at.after?);
    let says = number(after, "/replicas").filter(|_| replicas::is_managed(before) && !replicas::is_managed(after))?;
    let runs = machines(stage, key, old, ("machinePool", name));
    if runs.is_some_and(|runs| runs <= says) {
        return None;
    }
    let now = runs.map_or_else(
        || "how many run was not read; compare with the cluster (--live cluster)".to_owned(),
        |runs| format!("{runs} run now"),
    );
    let because = format!(
        "something else chose the number until now, and from now on the topology does, which says {says}; {now}"
    );
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("topology/replicas")).saying(because))
}

/// How many Machines a group has, where its owner was read.
#[must_use]
pub(super) fn machines(stage: &Stage<'_>, key: &Key, cluster: &Value, (word, name): (&str, &str)) -> Option<u64> {
    let owner = owner(stage, key, cluster, word, name);
    let live = stage.before(&owner)?;
    held::count(&live, machines::names(stage.scene.view, &typed(&owner), &key.name, &stage.versions).len())
}

/// The control plane or a group of workers, as its Cluster has it before and after the write.
struct At<'v> {
    word: &'v str,
    name: &'v str,
    before: Option<&'v Value>,
    after: Option<&'v Value>,
}

impl<'v> At<'v> {
    fn of((old, new): (&'v Value, &'v Value), word: &'v str, name: &'v str) -> Self {
        let find = |cluster: &'v Value| {
            if word == "controlPlane" {
                return cluster.pointer("/spec/topology/controlPlane");
            }
            list(cluster, &format!("/spec/topology/workers/{word}s")).find(|group| text(group, "/name") == Some(name))
        };
        Self { word, name, before: find(old), after: find(new) }
    }
}

/// The groups of a Cluster, the control plane first, and each by its word and name.
struct Groups<'v> {
    order: Vec<(&'static str, &'v str)>,
    by_name: HashMap<(&'static str, &'v str), &'v Value>,
}

impl<'v> Groups<'v> {
    fn of(cluster: &'v Value) -> Self {
        let mut groups = Self { order: Vec::new(), by_name: HashMap::default() };
        // A Cluster has a control plane, whatever its topology says of it.
        groups.add("controlPlane", "", cluster.pointer("/spec/topology/controlPlane").unwrap_or(&Value::Null));
        for (lists, word) in [("machineDeployments", "machineDeployment"), ("machinePools", "machinePool")] {
            for group in list(cluster, &format!("/spec/topology/workers/{lists}")) {
                groups.add(word, text(group, "/name").unwrap_or_default(), group);
            }
        }
        groups
    }

    fn add(&mut self, word: &'static str, name: &'v str, group: &'v Value) {
        self.order.push((word, name));
        self.by_name.entry((word, name)).or_insert(group);
    }

    fn get(&self, word: &'static str, name: &str) -> Option<&'v Value> {
        self.by_name.get(&(word, name)).copied()
    }
}

/// A group of workers with the failure domain that it gets.
fn with_domain(class: Option<&Value>, group: &Value) -> Value {
    let mut out = group.clone();
    if let Some(domain) = class.and_then(|class| domain::of(class, "machineDeployments", group)).cloned()
        && let Some(map) = out.as_object_mut()
    {
        map.insert("failureDomain".to_owned(), domain);
    }
    out
}

/// The field of a group that replaces its Machines by itself: a time, or a failure domain of workers.
pub(super) fn own_cause(
    stage: &Stage<'_>,
    key: &Key,
    cluster: &Value,
    (old, new): (&Value, &Value),
    word: &str,
    name: &str,
) -> Option<String> {
    let after = text(new, "/rollout/after").filter(|after| Some(*after) != text(old, "/rollout/after"));
    if after.is_some_and(|after| crate::judge::topology::clock::is_due(stage, key, cluster, (word, name), after)) {
        return Some(format!("rollout.after of {}", if name.is_empty() { "the control plane" } else { name }));
    }
    let moves = word == "machineDeployment" && text(old, "/failureDomain") != text(new, "/failureDomain");
    moves.then(|| format!("failureDomain of {name}"))
}

/// The entries of the parts that replace Machines, one for each group: all of its Machines, unless each was compared.
fn of_fates(stage: &Stage<'_>, key: &Key, (old, new): (&Value, &Value), fates: &[Fate]) -> Vec<Rollout> {
    let (before, after) = (Groups::of(old), Groups::of(new));
    let mut seen: HashSet<(&str, &str)> = HashSet::default();
    let rolling = || fates.iter().filter(|fate| fate.answer.effect == Effect::Rollout);
    let takes_all =
        |one: &Fate| rolling().any(|fate| fate.weight.is_none() && (fate.word, &fate.name) == (one.word, &one.name));
    rolling()
        .filter(|fate| fate.weight.is_none() || !takes_all(fate))
        .filter(|fate| seen.insert((fate.word, fate.name.as_str())))
        .map(|fate| {
            let (word, name) = (fate.word, fate.name.as_str());
            if let Some(weight) = &fate.weight {
                return Rollout::clone(weight);
            }
            let at = At { word, name, before: before.get(word, name), after: after.get(word, name) };
            entry(stage, key, old, &at, Effect::Rollout, &fate.answer.because)
        })
        .collect()
}

/// The entry of one group of a Cluster.
pub(crate) fn entry_of(
    stage: &Stage<'_>,
    key: &Key,
    (old, new): (&Value, &Value),
    (word, name): (&'static str, &str),
    effect: Effect,
    cause: &str,
) -> Rollout {
    entry(stage, key, old, &At::of((old, new), word, name), effect, cause)
}

/// The entry of one group of a Cluster, with what the topology says of it on both sides.
fn entry(stage: &Stage<'_>, key: &Key, cluster: &Value, at: &At<'_>, effect: Effect, cause: &str) -> Rollout {
    let At { word, name, .. } = *at;
    let owner = owner(stage, key, cluster, word, name);
    let live = stage.before(&owner);
    let told =
        live.as_ref().and_then(|owner| number(owner, "/status/replicas").or_else(|| number(owner, "/spec/replicas")));
    let names = if live.is_some() {
        machines::names(stage.scene.view, &typed(&owner), &key.name, &stage.versions)
    } else {
        Vec::new()
    };
    let counted = u64::try_from(names.len()).ok().filter(|count| *count > 0);
    let machines = counted.or(told).or_else(|| number(at.before.or(at.after)?, "/replicas"));
    let stay = at.after.and_then(|after| wanted(stage, key, cluster, (at.before.unwrap_or(after), after), word));
    let who = if name.is_empty() { "the control plane".to_owned() } else { format!("worker group {name}") };
    let count = machines.map_or("all".to_owned(), |machines| machines.to_string());
    let noun = if machines == Some(1) { "Machine" } else { "Machines" };
    let step = match effect {
        Effect::Delete => format!("drains and deletes {count} {noun} of {who}, without replacement"),
        _ => format!("replaces {count} {noun} of {who}"),
    };
    let room = (effect == Effect::Rollout)
        .then(|| strategy::room(stage, key, (&owner, live.as_deref()), (word, [at.before, at.after]), machines))
        .flatten();
    Rollout {
        owner,
        cluster: key.name.clone(),
        effect,
        replicas: if effect == Effect::Delete { Some(0) } else { stay.or(machines) },
        present: None,
        machines,
        machine_names: names,
        max_surge: room.map(|(surge, _)| surge),
        max_unavailable: room.map(|(_, unavailable)| unavailable),
        steps: vec![step],
        course: None,
        causes: vec![cause.to_owned()],
    }
}

/// A rollout that comes again for each further step of an upgrade. Machines are counted as they stand, so each counts once.
fn in_rounds(rollout: Rollout, rounds: Vec<String>) -> Rollout {
    if rounds.len() < 2 {
        return rollout;
    }
    let all = rollout.steps.iter().map(|step| format!("{step} for each of {}", rounds.join(", "))).collect();
    Rollout { steps: all, ..rollout }
}

/// The object that owns the Machines of a group, as far as it can be found.
pub(crate) fn owner(stage: &Stage<'_>, key: &Key, cluster: &Value, word: &str, name: &str) -> Key {
    let namespace = key.namespace.as_deref();
    if word == "controlPlane" || word == "cluster" {
        let found = cluster.pointer("/spec/controlPlaneRef").and_then(|reference| target(reference, namespace));
        return found.unwrap_or_else(|| {
            // Nobody knows its name yet, but what it is.
            let class = class_of(key, cluster).and_then(|class| stage.before(&class));
            let places = ["/spec/controlPlane/templateRef/kind", "/spec/controlPlane/ref/kind"];
            let template = class.as_ref().and_then(|class| places.iter().find_map(|place| text(class, place)));
            let kind = made_by(template.unwrap_or("ControlPlane")).to_owned();
            let name = format!("{} (control plane)", key.name);
            Key::of(CONTROL_PLANE, kind, key.namespace.clone(), name)
        });
    }
    let kind = if word == "machinePool" { MACHINE_POOL } else { MACHINE_DEPLOYMENT };
    let owners = stage.owners_by_group(key);
    let found = owners.get(&(kind.to_owned(), name.to_owned())).cloned();
    found.unwrap_or_else(|| key.sibling(kind, format!("{}-{name}", key.name)))
}
