//! What kustomize-controller makes of the two streams that it would apply: it knows no annotation of Helm, and annotations of its own by
//! which it leaves an object alone, or keeps it where its manifest goes (`internal/controller/kustomization_controller.go`, `apply` and
//! `prune`, v1.9.4; fluxcd/pkg `ssa/manager_apply.go`, `shouldSkipApply`). What it leaves alone is the same in both streams.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::moved;
use super::walk::Side;
use crate::flux::{KUSTOMIZATIONS, release};
use crate::host::kustomized;
use crate::object::{Key, Object, Stream};
use crate::tree::Value;
use crate::world::Unread;
use crate::yaml;

/// What only Helm reads.
const OF_HELM: [&str; 4] =
    ["helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy", "helm.sh/resource-policy"];

/// Both streams as they count.
pub(super) struct Settled {
    pub(super) old: Vec<u8>,
    pub(super) new: Vec<u8>,
    /// What is applied now of what waited.
    pub(super) unread: Vec<Unread>,
    /// What a person should know.
    pub(super) notes: Vec<String>,
    /// What a Kustomization brings that is told to force.
    pub(super) forced: BTreeSet<Key>,
}

/// A document of a side.
struct Document {
    by: Option<Key>,
    /// Its object; none where it holds several.
    object: Option<(Key, Object)>,
    bytes: Vec<u8>,
}

/// Whether an object says one of these of itself.
fn of_itself(object: &Object, says: impl Fn(&Value) -> bool) -> bool {
    object.value().is_ok_and(|value| says(&value))
}

/// Whether it is never written.
fn rests(object: &Object) -> bool {
    of_itself(object, kustomized::rests)
}

/// Whether it is written only where it is not there.
fn is_made_once(object: &Object) -> bool {
    of_itself(object, kustomized::is_made_once)
}

/// Both streams as kustomize-controller writes them.
pub(super) fn both(old: &Side, new: &Side) -> anyhow::Result<Settled> {
    let (before, after) = (documents(old)?, documents(new)?);
    let there: BTreeMap<&Key, &Document> =
        before.iter().filter_map(|one| Some((&one.object.as_ref()?.0, one))).collect();
    let mut out =
        Settled { old: Vec::new(), new: Vec::new(), unread: Vec::new(), notes: Vec::new(), forced: BTreeSet::new() };
    let mut written = BTreeSet::new();
    let forcing = forcing(new);
    for now in &after {
        let Some((key, object)) = &now.object else {
            append(&mut out.new, &now.bytes);
            continue;
        };
        written.insert(key);
        if now.by.as_ref().is_some_and(|by| forcing.contains(by)) {
            out.forced.insert(object.key.clone());
        }
        let was = there.get(key).copied();
        if rests(object) || is_made_once(object) {
            match was {
                Some(was) => append(&mut out.new, &was.bytes),
                None if rests(object) => {}
                None => append(&mut out.new, &now.bytes),
            }
            continue;
        }
        let waited = was.and_then(|was| was.object.as_ref());
        if waited.is_some_and(|(_, was)| rests(was) || is_made_once(was)) && moved::reaches_machines(key) {
            out.unread.push(let_go(key, object));
        }
        append(&mut out.new, &now.bytes);
    }
    for was in &before {
        append(&mut out.old, &was.bytes);
        let Some((key, object)) = was.object.as_ref().filter(|(key, _)| !written.contains(key)) else { continue };
        let why = match &was.by {
            _ if of_itself(object, kustomized::keeps) => "kustomize.toolkit.fluxcd.io/prune: disabled".to_owned(),
            Some(by) if !moved::prunes(by, old, new) => format!("prune: false of {by}"),
            _ => continue,
        };
        append(&mut out.new, &was.bytes);
        if moved::reaches_machines(key) {
            out.notes.push(format!("{key} stays in the cluster although its manifest goes: {why}"));
        }
    }
    Ok(out)
}

/// The Kustomizations of a side that are told to force.
fn forcing(side: &Side) -> BTreeSet<Key> {
    let forces = |value: &Value| value.pointer("/spec/force") == Some(&Value::Bool(true));
    let all = side.given.objects.iter().filter(|object| object.key.group == KUSTOMIZATIONS);
    all.filter(|object| of_itself(object, forces)).map(|object| side.whole(&object.key)).collect()
}

/// Takes over what is left alone of HelmReleases: what counts of one is what it was.
pub(super) fn releases(old: &Side, new: &mut Side) {
    let is_left = |object: &Object| release::is_one(object) && (rests(object) || is_made_once(object));
    let mut objects = Vec::new();
    for object in std::mem::take(&mut new.given.objects) {
        let key = new.whole(&object.key);
        let was = old.given.objects.iter().find(|was| release::is_one(was) && old.whole(&was.key) == key);
        match was.filter(|_| is_left(&object)) {
            Some(was) => objects.push(was.clone()),
            None if is_left(&object) && rests(&object) => {}
            None => objects.push(object),
        }
    }
    new.given.objects = objects;
}

fn let_go(key: &Key, object: &Object) -> Unread {
    Unread {
        what: format!("what {key} becomes"),
        why: "Flux left it alone and writes it from now on, so all that its manifest said meanwhile comes at once, which two renders do \
              not show"
            .to_owned(),
        remedy: "compare its manifest with the cluster (`flux diff kustomization`), or say `unseen: {inside: warn}` in the policy"
            .to_owned(),
        keys: vec![object.key.clone()],
    }
}

fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"---\n");
    out.extend_from_slice(bytes);
    out.push(b'\n');
}

fn documents(side: &Side) -> anyhow::Result<Vec<Document>> {
    let mut out = Vec::new();
    for (by, stream) in &side.streams {
        for section in yaml::split(stream)? {
            if section.is_blank(stream) {
                continue;
            }
            let bytes = plain(section.document.of(stream))?;
            let loaded = Stream::load(&Bytes::from(bytes.clone()))?;
            let object = match loaded.objects.objects() {
                [object] => Some((side.whole(&object.key), object.clone())),
                _ => None,
            };
            out.push(Document { by: by.clone(), object, bytes });
        }
    }
    Ok(out)
}

/// A document without what only Helm reads.
fn plain(document: &[u8]) -> anyhow::Result<Vec<u8>> {
    if memchr::memmem::find(document, b"helm.sh/").is_none() {
        return Ok(document.to_vec());
    }
    let mut value = yaml::read_json(document, yaml::Span { start: 0, end: document.len() })?;
    let annotations = value.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    let Some(annotations) = annotations.filter(|map| OF_HELM.iter().any(|name| map.get(name).is_some())) else {
        return Ok(document.to_vec());
    };
    OF_HELM.iter().for_each(|name| drop(annotations.shift_remove(name)));
    Ok(value.to_string().into_bytes())
}
