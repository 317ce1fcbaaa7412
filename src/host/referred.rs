//! Secrets and ConfigMaps that compared objects name: their change is looked at too, because nodes are made from them.

use super::hook::Meeting;
use super::locate::Locator;
use super::predict::Run;
use super::removals::deleted;
use super::stream::{self, same_text};
use super::write::sent;
use super::{HostKind, kinds};
use crate::apiserver;
use crate::compare::{Action, Change, Pair};
use crate::hashed::HashSet;
use crate::kinds::contract::{self, CLUSTER_NAME, SECRET};
use crate::kinds::fields;
use crate::kinds::standing::condition;
use crate::model::Effect;
use crate::model::RuleId;
use crate::object::{Body, Inventory, Key, LoadError, Object, Segment, in_order, is_deleting};
use crate::tree::Value;
use crate::world::LiveKind;

/// What a cluster keeps in Secrets that no object names: their names are made from that of the cluster
/// (cluster-api `util/secret/consts.go`, CAPRKE2 `pkg/secret/certificates.go`, the Talos bootstrap provider's `controllers/secrets.go`).
const OF_CLUSTER: [&str; 10] =
    ["apiserver-etcd-client", "ca", "cca", "etcd", "kubeconfig", "peer", "proxy", "sa", "talos", "token"];

/// Adds the pairs of changed or removed Secrets and ConfigMaps whose name stands in a compared object of either side.
pub(super) fn add(run: &mut Run<'_>) -> Result<(), LoadError> {
    let referable = std::mem::take(&mut run.sorted.referable);
    let mut passed: HashSet<&Key> = referable.iter().map(|object| &object.key).collect();
    let changed: Vec<&Object> = referable.into_iter().filter(|object| !is_as_before(run, object)).collect();
    let old = run.last_written();
    let gone: Vec<&Object> = old
        .objects()
        .iter()
        .filter(|object| kinds::is_compared_when_referred(&object.key) && !run.is_written(&object.key))
        .collect();
    let hooks = std::mem::take(&mut run.sorted.referable_hooks);
    let names: HashSet<&str> =
        changed.iter().chain(&gone).chain(&hooks).map(|object| object.key.name.as_str()).collect();
    let mut compared = 0;
    if !names.is_empty() {
        let mut referred = HashSet::default();
        collect(run.rendered, &names, &mut referred)?;
        if let Err(error) = collect(&run.world.live, &names, &mut referred) {
            run.out
                .warnings
                .push(format!("which Secrets and ConfigMaps the live objects name cannot be seen: {error}"));
        }
        let wanted = |run: &Run<'_>, key: &Key| referred.contains(key.name.as_str()) || of_cluster(run, key);
        for object in changed {
            if wanted(run, &object.key) || is_sealed(run, object) {
                compared += 1;
                passed.remove(&object.key);
                change(run, object)?;
            }
        }
        for object in gone {
            if wanted(run, &object.key) {
                remove(run, object)?;
            }
        }
        for hook in hooks {
            if wanted(run, &hook.key) {
                match run.meeting(hook)? {
                    Meeting::Replaces | Meeting::Changes => made_anew(run, hook)?,
                    Meeting::Removes => remove(run, hook)?,
                    Meeting::None | Meeting::Fails => {}
                }
            }
        }
    }
    run.out.compared += compared;
    run.out.passed.extend(passed.into_iter().cloned());
    run.out.passed = in_order(std::mem::take(&mut run.out.passed));
    Ok(())
}

/// Whether equal texts say that an object stays as it is.
fn is_as_before(run: &Run<'_>, object: &Object) -> bool {
    run.locator.anywhere(&run.world.live, &object.key).is_some_and(|live| same_text(object, live))
}

/// Whether an object is immutable as it is there, or as it was written last, and is rendered otherwise: the API server refuses that, whoever
/// names the object.
fn is_sealed(run: &Run<'_>, object: &Object) -> bool {
    let side = if is_unread(run, &object.key) { &run.world.base.objects } else { &run.world.live };
    let Some(old) = run.locator.anywhere(side, &object.key) else { return false };
    let (Ok(old), Ok(new)) = (old.glance(), object.glance()) else { return false };
    apiserver::is_immutable(&old) && apiserver::FIXED.iter().any(|field| old.get(field) != new.get(field))
}

/// Predicts one rendered Secret or ConfigMap. Online only some of them are read: where live lacks one that was written last
/// time, that stands for it.
pub(super) fn change(run: &mut Run<'_>, object: &Object) -> Result<(), LoadError> {
    let before = run.out.pairs.len();
    let last = run.locator.anywhere(&run.world.base.objects, &object.key);
    match last.filter(|_| is_unread(run, &object.key)) {
        Some(last) if same_text(last, object) => {}
        Some(last) => {
            let key = run.locator.full(&object.key);
            let (old, new) = (last.value()?.into_owned(), object.value()?.into_owned());
            run.update(object, key.clone(), sent(old, &key, run.world.host.kind), sent(new, &key, run.world.host.kind));
        }
        None => run.write(object)?,
    }
    mark(run, before, "changes");
    Ok(())
}

/// Whether the cluster was not asked for an object: there are many, and most are nobody's business.
fn is_unread(run: &Run<'_>, key: &Key) -> bool {
    run.world.source.kind == LiveKind::Cluster && run.locator.anywhere(&run.world.live, key).is_none()
}

/// Adds the pair of a removed one; where it was not read, what was written last stands for it.
pub(super) fn remove(run: &mut Run<'_>, gone: &Object) -> Result<(), LoadError> {
    let before = run.out.pairs.len();
    let host = run.world.host.kind;
    if !is_unread(run, &gone.key) {
        run.remove(gone)?;
    } else if !run.world.host.leaves_removed()
        && (host == Some(HostKind::Kubectl) || !stream::is_kept(gone, host).unwrap_or(false))
        && run.was_written(gone)
    {
        let mut pair = deleted(gone, gone.value()?.into_owned());
        pair.key = run.locator.full(&gone.key);
        run.out.pairs.push(pair);
    }
    mark(run, before, "goes away");
    Ok(())
}

/// Adds the pair of one that a hook deletes and makes anew.
fn made_anew(run: &mut Run<'_>, hook: &Object) -> Result<(), LoadError> {
    let Some(live) = run.locator.anywhere(&run.world.live, &hook.key) else { return Ok(()) };
    let before = run.out.pairs.len();
    let Some(value) = run.live_value(live) else { return Ok(()) };
    let new = sent(hook.value()?.into_owned(), &live.key, run.world.host.kind);
    run.update(hook, live.key.clone(), value, new);
    mark(run, before, "changes");
    Ok(())
}

/// Marks the pairs since `from` that are what a cluster keeps for itself: nothing is known about what that does.
fn mark(run: &mut Run<'_>, from: usize, what: &str) {
    let places = from..run.out.pairs.len();
    for place in places {
        let pair = &run.out.pairs[place];
        let is_kept = of_cluster(run, &pair.key) && !is_of_going(&run.world.live, &run.locator, &pair.key);
        if is_kept && reaches_keys(pair) {
            mark_keys(&mut run.out.pairs[place], what);
        } else if is_kept && overwrites(run, pair) {
            mark_keys(&mut run.out.pairs[place], "is written over, as a cluster that runs has it, seen or not");
        }
    }
}

/// Whether a Secret that seems to be new is there, because the Cluster runs and its control plane has made it before the first Machine
/// (cluster-api `util/secret/certificates.go` LookupOrGenerateCached, v1.14): an old render does not show it, nor does a dump without Secrets.
/// Helm refuses to write onto it, others put their keys in place of those of the cluster.
fn overwrites(run: &Run<'_>, pair: &Pair) -> bool {
    let world = run.world;
    let Some(cluster) = cluster_of(&pair.key).and_then(|cluster| run.locator.anywhere(&world.live, &cluster)) else {
        return false;
    };
    let told = pair.predicted.as_ref();
    let says = |pointer: &str| told.and_then(|secret| secret.pointer(pointer)).and_then(Value::as_str);
    // Other things than those of a cluster end so, too.
    let is_common = ["-token", "-peer"].iter().any(|end| pair.key.name.ends_with(end));
    let is_named = says("/type") == Some("cluster.x-k8s.io/secret")
        || says("/metadata/labels/cluster.x-k8s.io~1cluster-name").is_some();
    let has_machines = || {
        let mut all = world.live.machines_of_cluster(&cluster.key.name);
        all.any(|machine| machine.key.namespace == cluster.key.namespace)
    };
    pair.action == Action::Create
        && (!is_common || is_named)
        && !world.coverage.is_absent(&pair.key)
        && (world.source.kind == LiveKind::OldRender || has_machines() && !lacks_certificates(run, cluster))
}

/// Whether the control plane of a Cluster says that its certificates are gone: then those that come are new.
fn lacks_certificates(run: &Run<'_>, cluster: &Object) -> bool {
    let Ok(value) = cluster.value() else { return false };
    let reference = value.pointer("/spec/controlPlaneRef");
    let owner = reference.and_then(|reference| fields::target(reference, cluster.key.namespace.as_deref()));
    let owner = owner.and_then(|owner| run.locator.anywhere(&run.world.live, &owner));
    let owner = owner.and_then(|owner| owner.value().ok());
    owner.is_some_and(|owner| condition(&owner, "CertificatesAvailable") == Some("False"))
}

/// Says of the pair of a Secret that nothing is known about what its keys being others does.
pub(super) fn mark_keys(pair: &mut Pair, what: &str) {
    pair.effect = Effect::Unknown;
    pair.rule = RuleId::of("host/cluster-secret").into();
    pair.because = format!(
        "what the cluster keeps its keys in {what}: nodes that run keep the old ones, and no new one can join them"
    );
}

/// Whether a write to a Secret of a cluster reaches more than what only people and tools read: its keys are looked up by the name of the Secret
/// and taken from its data (cluster-api `util/secret/certificates.go` Lookup, `util/kubeconfig/kubeconfig.go`, v1.14). The label with the
/// name of the cluster is what caches and moves find it by, and owners and finalizers decide whether it stays.
pub(super) fn reaches_keys(pair: &Pair) -> bool {
    let is_beside = |change: &Change| match change.path.segments() {
        [Segment::Key(metadata), Segment::Key(part), rest @ ..] if metadata == "metadata" => match part.as_str() {
            "annotations" => true,
            "labels" => match rest {
                [] => [&change.before, &change.after]
                    .iter()
                    .all(|side| side.as_ref().is_none_or(|labels| labels.get(CLUSTER_NAME).is_none())),
                [name, ..] => *name != Segment::Key(CLUSTER_NAME.to_owned()),
            },
            _ => false,
        },
        _ => false,
    };
    pair.action != Action::Create && !(pair.action == Action::Update && pair.changes.iter().all(is_beside))
}

/// Whether the Cluster that keeps its keys in a Secret is being deleted: it makes no node any more, and its Machines are deleted without a
/// drain (cluster-api `core/reconcilers/machine/machine_controller.go` isDeleteNodeAllowed, v1.14).
pub(super) fn is_of_going(live: &Inventory, locator: &Locator<'_>, key: &Key) -> bool {
    let cluster = cluster_of(key).and_then(|cluster| locator.anywhere(live, &cluster));
    cluster.and_then(|cluster| cluster.value().ok()).is_some_and(|value| is_deleting(&value))
}

/// Whether a key is that of a Secret in which a cluster of either side keeps its certificates, its token or its access.
pub(super) fn of_cluster(run: &Run<'_>, key: &Key) -> bool {
    let Some(cluster) = cluster_of(key) else { return false };
    run.locator.anywhere(&run.world.live, &cluster).or_else(|| run.locator.anywhere(run.rendered, &cluster)).is_some()
}

/// The Cluster that keeps its keys in a Secret, by the name of that; there may be none.
pub(crate) fn cluster_of(key: &Key) -> Option<Key> {
    let mut ends = OF_CLUSTER.iter().filter(|_| key.kind == SECRET);
    let name = ends.find_map(|end| key.name.strip_suffix(end)?.strip_suffix('-'))?;
    Some(contract::cluster(key.namespace.as_deref(), name))
}

/// Those of `names` that stand in the `spec` of a compared object.
pub(crate) fn named<'n>(objects: &Inventory, names: &HashSet<&'n str>) -> Result<HashSet<&'n str>, LoadError> {
    let mut found = HashSet::default();
    collect(objects, names, &mut found)?;
    Ok(found)
}

/// Collects those of `names` that are a whole string inside the `spec` of a compared object.
fn collect<'n>(objects: &Inventory, names: &HashSet<&'n str>, found: &mut HashSet<&'n str>) -> Result<(), LoadError> {
    for object in objects.objects().iter().filter(|object| kinds::is_compared(&object.key)) {
        if found.len() == names.len() {
            break;
        }
        if !may_name(object, names) {
            continue;
        }
        if let Some(spec) = object.value()?.get("spec") {
            strings(spec, names, found);
        }
    }
    Ok(())
}

/// Whether the text of an object holds one of the names as a whole word; trees always may.
pub(super) fn may_name(object: &Object, names: &HashSet<&str>) -> bool {
    match &object.body {
        Body::Text(bytes, span) => holds_a_name(&bytes[span.start..span.end], names),
        Body::Value(_) => true,
    }
}

/// Whether a text holds one of the names as a whole word.
fn holds_a_name(text: &[u8], names: &HashSet<&str>) -> bool {
    let of_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    text.split(|byte| !of_name(byte))
        .filter(|word| !word.is_empty())
        .any(|word| std::str::from_utf8(word).is_ok_and(|word| names.contains(word)))
}

/// Collects those of `names` that are a whole string below a value.
fn strings<'n>(value: &Value, names: &HashSet<&'n str>, found: &mut HashSet<&'n str>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text.as_str()) {
                found.insert(name);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| strings(item, names, found)),
        // The name of the cluster is the commonest name of all and refers to no Secret.
        Value::Object(map) => {
            map.iter().filter(|(key, _)| *key != "clusterName").for_each(|(_, value)| strings(value, names, found));
        }
        _ => {}
    }
}
