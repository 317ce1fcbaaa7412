//! Objects that carry others inside: releases and applications that somebody else renders, and manifests kept as data.
//! What they hold is not in the stream, so a changed one is named and never passed over.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::inside::{self, Remotes, Sources};
use super::predict::Run;
use super::{kinds, reprint, stream};
use crate::apiserver::merge;
use crate::hashed::HashSet;
use crate::kinds::contract::{CONFIG_MAP, SECRET};
use crate::kinds::fields::annotation;
use crate::model::first_and_more;
use crate::object::{Inventory, Key, LoadError, Object};
use crate::parallel;
use crate::providers::carriers;
use crate::tree::{Map, Value};
use crate::world::remote::Leads;
use crate::world::{BaseKind, LiveKind, Unread, World};

/// Fields of a `spec` that say when something is done, and not what.
const WHEN: [&str; 4] = ["interval", "retryInterval", "timeout", "suspend"];

/// How an object of the stream differs from what was there.
enum Differs {
    No,
    /// It is new: what it carries is new too, or taken over by somebody who asks again.
    New,
    Yes,
    /// What was there is not known.
    MayBe,
}

/// What is said of objects that carry others.
#[derive(Default)]
struct Said {
    /// New ones.
    fresh: Vec<String>,
    /// Those that write into other clusters.
    remote: Vec<String>,
    /// Whether that is proven of all of them.
    is_proven: bool,
    /// Those of which it matters what they carry, and why.
    changed: Vec<(Key, String)>,
}

impl Said {
    /// Notes an object by where its others go, or keeps it where that is this cluster or not known.
    fn goes(&mut self, key: &Key, leads: Leads, why: &str) {
        match leads {
            Leads::Elsewhere => self.remote.push(key.to_string()),
            Leads::Likely => {
                self.is_proven = false;
                self.remote.push(key.to_string());
            }
            Leads::Here => self.changed.push((key.clone(), why.to_owned())),
            Leads::Unknown(doubt) => self.changed.push((key.clone(), format!("{why} ({doubt})"))),
        }
    }
}

/// Adds what is said of changed, new and removed objects that carry others.
pub(super) fn add(run: &mut Run<'_>) -> Result<(), LoadError> {
    let remotes = Remotes::new(run.world, run.locator.home());
    let values = named_values(run.rendered, &remotes)?;
    let old = run.last_written();
    let values_before = named_values(old, &remotes)?;
    let sources = Sources::of(&[run.rendered, old], &remotes)?;
    let mut said = Said { is_proven: true, ..Said::default() };
    let objects = run.rendered.objects();
    for (object, carries) in objects.iter().zip(parallel::map(objects, |object| carries(object, &values))) {
        if !carries? && !carried_before(run, object)? {
            continue;
        }
        let differs = differs(run, object)?;
        if matches!(differs, Differs::No) {
            continue;
        }
        let mut leads = remotes.leads(&object.key, object.value()?.as_ref());
        if sources.are_only_remote(&object.key) {
            leads = Leads::Elsewhere;
        } else if let Some(was) = before(run, object) {
            leads = leads.worse(was.value().map_or(Leads::Here, |value| remotes.leads(&was.key, &value)));
        }
        let is_awaited = |key: &Key| {
            let named = (key.kind.clone(), key.name.clone());
            values.contains(&named) && values_before.contains(&named)
        };
        match differs {
            // The release is there, and was made without them.
            Differs::New if is_awaited(&object.key) => {
                said.goes(&object.key, leads, "it is new, and what takes values from it is there");
            }
            Differs::New if !matches!(leads, Leads::Elsewhere | Leads::Likely) && !may_take_over(run) => {
                said.fresh.push(object.key.to_string());
            }
            Differs::New => said.goes(&object.key, leads, "it is new and may take over what is there"),
            Differs::MayBe => said.goes(&object.key, leads, "it is not known what it was before"),
            Differs::Yes | Differs::No => said.goes(&object.key, leads, "it changes"),
        }
    }
    for gone in old.objects() {
        // What goes with a release of Flux is read from the cluster, where there is one.
        let seen = kinds::may_take_others(&gone.key) && run.world.source.kind == LiveKind::Cluster;
        let takes_nothing = seen || carriers::is_source(&gone.key.group);
        if !takes_nothing
            && !run.is_written(&gone.key)
            && run.was_written(gone)
            && carries(gone, &values)?
            && !is_kept_data(run, gone)
        {
            let leads = match sources.are_only_remote(&gone.key) {
                true => Leads::Elsewhere,
                false => remotes.leads(&gone.key, gone.value()?.as_ref()),
            };
            said.goes(&gone.key, leads, "it goes away");
        }
    }
    tell(run, said);
    Ok(())
}

/// Whether a ConfigMap or Secret that leaves the stream stays where it is.
fn is_kept_data(run: &Run<'_>, gone: &Object) -> bool {
    let host = run.world.host.kind;
    kinds::is_compared_when_referred(&gone.key)
        && (run.world.host.leaves_removed() || stream::is_kept(gone, host).unwrap_or(false))
}

/// Whether an object that carries nothing any more did so before: what leaves a bundle is deleted in the cluster that it was written into
/// (Open Cluster Management's agent, `appliedmanifestwork_reconciler.go`, v1.0; and all that prune).
fn carried_before(run: &Run<'_>, object: &Object) -> Result<bool, LoadError> {
    if !kinds::is_foreign(&object.key) && !kinds::is_compared_when_referred(&object.key) {
        return Ok(false);
    }
    match before(run, object) {
        Some(was) if !stream::same_text(object, was) => carries(was, &HashSet::default()),
        _ => Ok(false),
    }
}

/// Whether the cluster has objects of Cluster API that what is new could take over: Flux and Argo CD do so without asking.
fn may_take_over(run: &Run<'_>) -> bool {
    run.way.is_some() && has_compared(run)
}

/// Whether the cluster has objects of Cluster API.
pub(super) fn has_compared(run: &Run<'_>) -> bool {
    run.world.live.objects().iter().any(|object| kinds::is_compared(&object.key))
}

/// Turns it into warnings and doubts.
fn tell(run: &mut Run<'_>, said: Said) {
    if !said.remote.is_empty() {
        let how = if said.is_proven { "" } else { ", as far as the names of their kubeconfigs tell" };
        let who = first_and_more(&said.remote);
        run.out.warnings.push(format!("not looked at: the changes of {who}, which land in other clusters{how}"));
    }
    if !said.fresh.is_empty() {
        let who = first_and_more(&said.fresh);
        run.out.warnings.push(format!("not looked at: what the new {who} would bring, which is not in this stream"));
    }
    for (key, why) in said.changed {
        run.out.carried.push(Unread {
            what: format!("what {key} carries"),
            why: format!("{why}, and the objects inside it are not in this stream"),
            remedy: "plan those objects separately, or set `unseen: {inside: warn}` in the policy".to_owned(),
            keys: vec![key],
        });
    }
}

/// Whether an object carries others: by its kind, by a release that takes values from it, or by what its data holds.
fn carries(object: &Object, values: &HashSet<(String, String)>) -> Result<bool, LoadError> {
    let key = &object.key;
    if inside::is_carrier(object) {
        return Ok(true);
    }
    if !kinds::is_compared_when_referred(key) {
        return Ok(false);
    }
    if !values.is_empty() && values.contains(&(key.kind.clone(), key.name.clone())) {
        return Ok(true);
    }
    // Its own apiVersion is the only one of most.
    if key.kind == CONFIG_MAP && !object.may_say_again("apiVersion") {
        return Ok(false);
    }
    let value = object.value()?;
    let texts = ["data", "stringData", "binaryData"]
        .into_iter()
        .filter_map(|field| Some((field, value.get(field)?.as_object()?)));
    Ok({ texts }.any(|(field, data)| {
        let encoded = field == "binaryData" || (field == "data" && key.kind == SECRET);
        data.values().filter_map(Value::as_str).any(|text| match encoded {
            true => BASE64_STANDARD
                .decode(text.trim())
                .is_ok_and(|bytes| inside::holds_compared(&String::from_utf8_lossy(&bytes))),
            false => inside::holds_compared(text),
        })
    }))
}

/// Kind and name of the ConfigMaps and Secrets that releases of the stream take values from, where they write into this cluster.
fn named_values(rendered: &Inventory, remotes: &Remotes<'_>) -> Result<HashSet<(String, String)>, LoadError> {
    let mut found = HashSet::default();
    for object in rendered.objects().iter().filter(|object| inside::is_carrier(object)) {
        let value = object.value()?;
        if !matches!(remotes.leads(&object.key, &value), Leads::Elsewhere | Leads::Likely) {
            inside::values_of(&value, &mut |kind, name| {
                found.insert((kind.to_owned(), name.to_owned()));
            });
        }
    }
    Ok(found)
}

/// The object as it was written last, or as it is there.
pub(super) fn before<'a>(run: &Run<'a>, object: &Object) -> Option<&'a Object> {
    let world: &'a World = run.world;
    let base = run.way.is_some().then(|| run.locator.anywhere(&world.base.objects, &object.key)).flatten();
    base.or_else(|| run.locator.anywhere(&world.live, &object.key))
}

/// How an object differs from what was written last, or from what is there.
fn differs(run: &Run<'_>, object: &Object) -> Result<Differs, LoadError> {
    let world = run.world;
    let rendered = reprint::value(object, None)?;
    let compared = |before: &Object, overlaid: bool| {
        // What cannot be read differs for all that is known.
        let Ok(before) = before.value() else { return Differs::MayBe };
        let after = if overlaid { merge::overlay(&before, &rendered) } else { rendered.as_ref().clone() };
        let is_same = content(&before) == content(&after) && !wakes(&before, &after);
        if is_same { Differs::No } else { Differs::Yes }
    };
    let live = run.locator.anywhere(&world.live, &object.key);
    if run.way.is_none() {
        return Ok(live.map_or(Differs::New, |live| compared(live, false)));
    }
    if let Some(base) = run.locator.anywhere(&world.base.objects, &object.key) {
        return Ok(compared(base, false));
    }
    if let Some(live) = live {
        return Ok(compared(live, true));
    }
    Ok(if is_proven_new(run, &object.key) { Differs::New } else { Differs::MayBe })
}

/// Whether an object that is neither in what was written last nor among what is live was not there before.
pub(super) fn is_proven_new(run: &Run<'_>, key: &Key) -> bool {
    run.way.is_none()
        || matches!(run.world.base.kind, BaseKind::Release | BaseKind::FirstInstall)
        || run.world.coverage.shows(&run.locator.full(key))
}

/// Whether a write lets go what waited: the object is no longer suspended or skipped, or is told to write everything anew
/// (helm-controller `internal/controller/helmrelease_controller.go` and `api/v2/annotations.go`, v1.4; kustomize-controller
/// `internal/controller/kustomization_controller.go`, v1.7; Argo CD `common/common.go`, v3.1).
fn wakes(before: &Value, after: &Value) -> bool {
    let rests = |side: &Value| side.pointer("/spec/suspend") == Some(&Value::Bool(true));
    let skips = |side: &Value| annotation(side, "argocd.argoproj.io/skip-reconcile") == Some("true");
    let is_forced = |name: &str| annotation(after, name).is_some_and(|now| annotation(before, name) != Some(now));
    (rests(before) && !rests(after))
        || (skips(before) && !skips(after))
        || ["reconcile.fluxcd.io/forceAt", "reconcile.fluxcd.io/resetAt"].into_iter().any(is_forced)
}

/// What an object says beside its metadata and its clockwork.
fn content(value: &Value) -> Map {
    let mut map = value.as_object().cloned().unwrap_or_default();
    for field in ["metadata", "status", "apiVersion"] {
        map.shift_remove(field);
    }
    if let Some(spec) = map.get_mut("spec").and_then(Value::as_object_mut) {
        WHEN.iter().for_each(|field| drop(spec.shift_remove(field)));
    }
    map
}

#[cfg(test)]
#[path = "carried_tests.rs"]
mod tests;
