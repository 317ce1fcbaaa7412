//! The release record in the cluster: found by name where the host said it, else by what live objects say of themselves.
//! A first install is certain only when the list of records was readable and empty, and no live object speaks against it.

use bytes::Bytes;

use super::call::{CallFault, Caller};
use super::read::{refused, unread};
use super::{Online, WorldRead, list};
use crate::cluster::plan::Keep;
use crate::host::detect::{in_live, is_flux, releases_of};
use crate::host::{Driver, HostKind, ReleaseName, kinds};
use crate::object::Stream;
use crate::policy::Doubt;
use crate::world::release::{self, Entry, Revision};
use crate::world::{BaseKind, ReleaseStatus, Unread, World, WriteMethod};

/// Reads the record and fills in release, base and the host's method.
pub(super) async fn read(caller: &Caller, online: &Online<'_>, outcome: &mut WorldRead) {
    cross_check(online, outcome);
    if let Some(read) = outcome.plan.release.clone() {
        if read.driver == Driver::Elsewhere {
            doubt(
                outcome,
                "HELM_DRIVER names a store that cannot be read from here",
                "pass --base FILE (helm get manifest)",
            );
        } else if let Some(name) = read.known.clone() {
            let namespace = read.storage_namespace.clone().unwrap_or_else(|| name.namespace.clone());
            of_release(caller, online, outcome, &name, &namespace, read.driver).await;
        } else {
            unknown(online, outcome);
        }
    }
    settle(outcome);
}

/// A stream that holds nothing of Cluster API, of a release that nothing names: what that release had and loses cannot be
/// told.
fn unknown(online: &Online<'_>, outcome: &mut WorldRead) {
    let compared = online.rendered.objects().iter().any(|object| kinds::is_compared(&object.key));
    if compared || outcome.world.host.writes_nothing {
        return;
    }
    let why = "the stream holds no Cluster API object, so a release that had some deletes them now, and nothing names the release \
               (Helm's command line, an option, a live object)";
    match online.policy.unseen.release {
        Doubt::Allow => {}
        Doubt::Warn => outcome
            .warnings
            .push(format!("it is unknown which release is written: {why}; pass --release and --namespace")),
        Doubt::Undecided => {
            doubt(outcome, why, "pass --release and --namespace, or set `unseen: {release: allow}` in the policy");
        }
    }
}

/// Compares what the host said with what live objects say, and takes over what the host did not say.
fn cross_check(online: &Online<'_>, outcome: &mut WorldRead) {
    let live = &outcome.world.live;
    let home = outcome.world.host.namespace.as_deref();
    let found = releases_of(live, online.rendered, home);
    let flux = outcome.world.host.kind.is_none()
        && online.rendered.objects().iter().any(|object| {
            in_live(live, &object.key, home).and_then(|live| live.value().ok()).is_some_and(|value| is_flux(&value))
        });
    if flux {
        outcome.world.host.kind = Some(HostKind::Flux);
        outcome.world.host.evidence = "labels of Flux on live objects".to_owned();
    }
    let Some(read) = &mut outcome.plan.release else { return };
    match (&read.known, found.as_slice()) {
        (None, [one]) => {
            let host = &mut outcome.world.host;
            let agrees = host.release.as_ref().is_none_or(|name| *name == one.name)
                && host.namespace.as_ref().is_none_or(|namespace| *namespace == one.namespace);
            if agrees {
                host.release = Some(one.name.clone());
                host.namespace = Some(one.namespace.clone());
                read.known = Some(one.clone());
            } else {
                let why = format!("live objects belong to release {} in namespace {}", one.name, one.namespace);
                doubt(outcome, &why, "pass --release and --namespace of the release that is written");
            }
        }
        (Some(known), others) if others.iter().any(|other| other != known) => {
            let other = others.iter().find(|other| *other != known).map_or("another", |other| other.name.as_str());
            let why = format!("live objects belong to release {other}, and {} is written", known.name);
            doubt(outcome, &why, "check --release and --namespace; Helm refuses objects of another release");
        }
        (None, [_, _, ..]) => {
            let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
            let why = format!("live objects belong to several releases: {}", names.join(", "));
            doubt(outcome, &why, "pass --release and --namespace");
        }
        _ => {}
    }
}

/// Writes down that the release is in doubt.
fn doubt(outcome: &mut WorldRead, why: &str, remedy: &str) {
    outcome.world.unread.push(Unread {
        what: "the release that is written".to_owned(),
        why: why.to_owned(),
        remedy: remedy.to_owned(),
        keys: Vec::new(),
    });
}

/// Reads the record of one release.
async fn of_release(
    caller: &Caller,
    online: &Online<'_>,
    outcome: &mut WorldRead,
    name: &ReleaseName,
    namespace: &str,
    driver: Driver,
) {
    let plural = if driver == Driver::ConfigMap { "configmaps" } else { "secrets" };
    let path = format!("/api/v1/namespaces/{namespace}/{plural}");
    let what = format!("release record of {} in namespace {namespace}", name.name);
    let fail = |outcome: &mut WorldRead, fault: &CallFault| {
        let remedy = refused(fault, "", plural, &["get", "list"]);
        outcome.world.unread.push(unread(&what, fault, &remedy, Vec::new()));
    };
    let selector = format!("owner=helm,name={}", name.name);
    let listed = match list::labels(caller, &path, &selector).await {
        Ok(listed) => listed,
        Err(fault) => return fail(outcome, &fault),
    };
    let mut entries = Vec::new();
    for (object, labels) in &listed {
        match release::entry(object, labels) {
            Some(entry) => entries.push(entry),
            None => return fail(outcome, &CallFault::Other(format!("{object} has no label with its revision"))),
        }
    }
    let Some((newest, base)) = release::choose(&entries) else {
        nothing_installed(online, outcome, name, namespace);
        return;
    };
    let behind: Vec<&Entry> =
        entries.iter().filter(|entry| entry.number > base.number && entry.number < newest.number).collect();
    let (newest, base) = match both(caller, &path, newest, base).await {
        Ok(both) => both,
        Err(fault) => return fail(outcome, &fault),
    };
    let unfinished = match unfinished(caller, &path, behind, &base, &newest).await {
        Ok(unfinished) => unfinished,
        Err(fault) => return fail(outcome, &fault),
    };
    let deployed =
        entries.iter().filter(|entry| entry.status == ReleaseStatus::Deployed).map(|entry| entry.number).max();
    outcome.world.release = Some(release::summary(&newest, deployed));
    if newest.status == ReleaseStatus::Uninstalled {
        outcome.world.base.kind = BaseKind::FirstInstall;
        return;
    }
    for what in take(&mut outcome.world, base.manifest, unfinished, newest.hooks) {
        fail(outcome, &CallFault::Other(format!("{what} is not what Kubernetes reads")));
    }
}

/// Takes over what a release wrote: its last manifest, those of writes that failed, and its hooks. Gives what of it cannot be read.
fn take(world: &mut World, manifest: String, unfinished: Vec<String>, hooks: Vec<String>) -> Vec<&'static str> {
    let load = |text: String| Stream::load(&Bytes::from(text)).map(|stream| stream.objects);
    let mut unread = Vec::new();
    match load(manifest) {
        Ok(objects) => {
            world.base.kind = BaseKind::Release;
            world.base.objects = objects;
        }
        Err(_) => unread.push("its manifest"),
    }
    for text in unfinished {
        match load(text) {
            Ok(objects) => Vec::from(objects).into_iter().for_each(|object| world.base.unfinished.push(object)),
            Err(_) => unread.push("a manifest that failed"),
        }
    }
    // The stream of a post-renderer of Helm 3 lacks the hooks; those of last time are most likely still there.
    for hook in hooks {
        match load(hook) {
            Ok(objects) => Vec::from(objects).into_iter().for_each(|object| world.base.hooks.push(object)),
            Err(_) if !world.host.hides_hooks() => {}
            Err(_) => unread.push("a hook of it"),
        }
    }
    unread
}

/// One revision.
async fn one(caller: &Caller, path: &str, entry: &Entry) -> Result<Revision, CallFault> {
    let value = list::get(caller, &format!("{path}/{}", entry.object), Keep::default()).await?;
    let revision = release::decode(&value).map_err(|error| CallFault::Other(error.to_string()))?;
    if revision.number != entry.number {
        return Err(CallFault::Other(format!("{} changed while it was read", entry.object)));
    }
    Ok(revision)
}

/// The newest revision and the one to start from; one read where they are the same.
async fn both(caller: &Caller, path: &str, newest: &Entry, base: &Entry) -> Result<(Revision, Revision), CallFault> {
    let first = one(caller, path, newest).await?;
    let second = if base == newest { first.clone() } else { one(caller, path, base).await? };
    Ok((first, second))
}

/// The manifests of the revisions behind the one to start from, which did not come to their end, the oldest first: what they applied
/// belongs to the host, which takes it away where it is applied no more.
async fn unfinished(
    caller: &Caller,
    path: &str,
    mut behind: Vec<&Entry>,
    base: &Revision,
    newest: &Revision,
) -> Result<Vec<String>, CallFault> {
    behind.sort_unstable_by_key(|entry| entry.number);
    let mut out = Vec::new();
    for entry in behind {
        out.push(one(caller, path, entry).await?.manifest);
    }
    out.extend((newest.number > base.number).then(|| newest.manifest.clone()));
    Ok(out)
}

/// No record: a first install, unless live objects say that they belong to this very release.
fn nothing_installed(online: &Online<'_>, outcome: &mut WorldRead, name: &ReleaseName, namespace: &str) {
    let home = outcome.world.host.namespace.as_deref();
    if releases_of(&outcome.world.live, online.rendered, home).contains(name) {
        let why = format!("live objects belong to it, but namespace {namespace} has no record of it");
        doubt(outcome, &why, "check HELM_DRIVER, or pass --storage-namespace (Flux) or --base FILE");
    } else {
        outcome.world.base.kind = BaseKind::FirstInstall;
    }
}

/// How the host writes, now that the record is known.
///
/// Helm 4 and Flux follow the newest record on an upgrade and apply on a first install (helm `pkg/action/upgrade.go`
/// `getUpgradeServerSideValue`, v4.3.1); a record without a method was patched.
fn settle(outcome: &mut WorldRead) {
    let world = &mut outcome.world;
    let fresh = world.base.kind == BaseKind::FirstInstall;
    world.host.method = world.host.method.or(match (world.host.kind, &world.release) {
        (Some(HostKind::Helm3), _) => Some(WriteMethod::MergePatch),
        (Some(HostKind::Helm4 | HostKind::Flux), Some(release)) if !fresh => Some(release.method),
        (Some(HostKind::Helm4 | HostKind::Flux), _) if fresh => Some(WriteMethod::ServerSideApply),
        (Some(HostKind::Kubectl), _) => Some(WriteMethod::LastApplied),
        _ => None,
    });
    // Flux always forces (helm-controller `internal/action`, since 1.5.0).
    world.host.force |=
        world.host.kind == Some(HostKind::Flux) && world.host.method == Some(WriteMethod::ServerSideApply);
}
