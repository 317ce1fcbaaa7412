//! What goes away: objects that the last manifest has and the stream lacks, and what goes with them. What could go away unseen is
//! doubt.

use super::hook::{self, Role};
use super::last_applied::LAST_APPLIED;
use super::locate::Located;
use super::pairs::{blank, trimmed};
use super::predict::Run;
use super::{kinds, owned, stream};
use crate::compare::{Action, Pair};
use crate::hashed::{HashMap, HashSet};
use crate::host::HostKind;
use crate::model::Effect;
use crate::model::Finding;
use crate::model::{RuleId, first_and_more};
use crate::object::{Identity, Inventory, Key, LoadError, Object};
use crate::providers::{self, carriers, kind};
use crate::tree::Value;
use crate::world::{BaseKind, LiveKind, Unread, World, WriteMethod, files};

const NAMESPACE: &str = "Namespace";
const DEFINITION: &str = "CustomResourceDefinition";
const PART_OF: &str = "applyset.kubernetes.io/part-of";

impl<'a> Run<'a> {
    /// Adds what the last manifest has and the stream lacks.
    pub(super) fn removals(&mut self) -> Result<(), LoadError> {
        let old = self.last_written();
        if self.world.source.kind == LiveKind::None {
            return Ok(());
        }
        if self.way.is_some() && self.world.base.kind == BaseKind::Unknown {
            match self.world.host.kind {
                Some(HostKind::Kubectl) => self.pruned(),
                Some(HostKind::Argocd) => self.untracked()?,
                _ => self.unseen_removals(),
            }
            return Ok(());
        }
        for gone in old.objects() {
            let takes_others = kinds::may_take_others(&gone.key);
            if !kinds::is_compared(&gone.key) && !takes_others || self.is_written(&gone.key) {
                continue;
            }
            // Of two renders, what a chart rendered itself goes, whatever its kind is usually made by.
            let is_made = || gone.value().is_ok_and(|value| files::bears_marks(&value));
            if self.way.is_none() && kinds::is_made_by_controllers(&gone.key) && is_made() {
                continue;
            }
            if takes_others {
                self.remove_with_others(gone);
            } else {
                self.remove(gone)?;
            }
        }
        self.pruned();
        Ok(())
    }

    /// Says what `kubectl apply --prune` may delete beside what the last manifest had: it goes by labels, or by a set of which the cluster
    /// keeps the members, and takes what kubectl applied, whoever did so (kubectl `pkg/cmd/apply/prune.go`, `applyset_pruner.go`).
    fn pruned(&mut self) {
        let host = &self.world.host;
        let is_apply = matches!(self.way, Some(WriteMethod::LastApplied | WriteMethod::ServerSideApply));
        if host.kind != Some(HostKind::Kubectl) || !is_apply && !host.prune || self.way.is_none() {
            return;
        }
        let keys = self.applied_by_others();
        if !host.prune {
            // Where the stream has nothing that is compared, nobody looked for what is there.
            if self.out.compared == 0 || !keys.is_empty() {
                let such = keys.first().map(|first| format!(", such as {first}")).unwrap_or_default();
                self.out.warnings.push(format!(
                    "not looked at: what kubectl apply --prune would delete{such} (--prune tells that you use it)"
                ));
            }
            return;
        }
        let is_known = self.world.base.kind != BaseKind::Unknown;
        if is_known && keys.is_empty() {
            return;
        }
        let why = match is_known {
            true => "kubectl applied it, and --base does not have it: whether --prune takes it depends on its labels",
            false => "it is not known what kubectl applied last",
        };
        let what = match (is_known, keys.as_slice()) {
            (true, [first]) => format!("whether --prune deletes {first}"),
            (true, [first, rest @ ..]) => format!("whether --prune deletes {first} or {} more", rest.len()),
            _ => "what --prune deletes".to_owned(),
        };
        let remedy = "pass --base FILE with all that --prune selects, or leave --prune out".to_owned();
        self.out.doubts.push(Unread { what, why: why.to_owned(), remedy, keys });
    }

    /// Live objects that kubectl has applied, are not rendered, and are not in the last manifest either. A set has them in any namespace; else
    /// kubectl looks only where it writes (kubectl `pkg/cmd/apply/prune.go`, `pruneAll`).
    fn applied_by_others(&self) -> Vec<Key> {
        let home = self.locator.home();
        let written = |object: &'a Object| object.key.namespace.as_deref().or(home);
        let visited: HashSet<Option<&str>> =
            self.rendered.objects().iter().map(written).chain(home.map(Some)).collect();
        let is_visited = |key: &Key| {
            let namespace = key.namespace.as_deref();
            namespace.is_none() || visited.contains(&namespace) || home.is_none() && visited.contains(&None)
        };
        let is_applied = |key: &Key, value: &Value| {
            let labels = value.pointer("/metadata/labels");
            labels.and_then(|labels| labels.get(PART_OF)).is_some()
                || is_visited(key) && stream::annotation(value, LAST_APPLIED).is_some()
        };
        let others = self.world.live.objects().iter().filter(|object| {
            kinds::is_compared(&object.key)
                && !self.is_written(&object.key)
                && self.locator.anywhere(&self.world.base.objects, &object.key).is_none()
                && object.value().is_ok_and(|value| is_applied(&object.key, &value))
        });
        let mut keys: Vec<Key> = others.map(|object| object.key.clone()).collect();
        keys.sort();
        keys
    }

    /// Adds live objects that Argo CD keeps track of for this application and the stream lacks: it needs no last manifest.
    fn untracked(&mut self) -> Result<(), LoadError> {
        let Some(application) = self.world.host.release.as_deref() else {
            self.unseen_removals();
            return Ok(());
        };
        let live: &Inventory = &self.world.live;
        for object in live.objects() {
            let known = kinds::is_compared(&object.key) && !self.is_written(&object.key);
            if !known || !object.value().is_ok_and(|value| stream::is_tracked(&value, application)) {
                continue;
            }
            self.remove(object)?;
        }
        Ok(())
    }

    /// Notes live objects that the release made and the stream lacks, where the last manifest is not known: Helm will
    /// delete those that it has in its record.
    fn unseen_removals(&mut self) {
        let release = self.world.host.release.as_deref();
        let gone: Vec<Key> = self
            .world
            .live
            .objects()
            .iter()
            .filter(|object| kinds::owns_machines(&object.key) && kinds::is_compared(&object.key))
            .filter(|object| !self.is_written(&object.key))
            .filter(|object| {
                let value = object.value().ok();
                let owner = value.as_ref().and_then(|value| stream::annotation(value, "meta.helm.sh/release-name"));
                owner.is_some_and(|owner| release.is_none_or(|release| release == owner))
            })
            .map(|object| object.key.clone())
            .collect();
        self.blind.extend(gone);
    }

    /// Whether the host writes an object with this key as part of the release, which a hook of that name is not.
    pub(super) fn is_written(&self, key: &Key) -> bool {
        self.sorted.written.contains(key)
            || self.locator.other_spelling(key).is_some_and(|key| self.sorted.written.contains(&key))
    }

    /// The live object that another side says goes away; where nobody can tell whether it is there, that is doubt.
    pub(super) fn live_of(&mut self, gone: &Object) -> Option<&'a Object> {
        let world: &'a World = self.world;
        match self.locator.in_live(&world.live, &gone.key) {
            Located::Found(live) => return Some(live),
            Located::Absent => {}
            Located::Unread => self.unasked.push(self.locator.full(&gone.key)),
            Located::NoNamespace => self.homeless.push(gone.key.clone()),
        }
        None
    }

    /// Adds the pair of a deleted object, unless Helm leaves it in place.
    pub(super) fn remove(&mut self, gone: &Object) -> Result<(), LoadError> {
        let Some(live) = self.live_of(gone) else { return Ok(()) };
        if self.world.host.leaves_removed() {
            self.out.warnings.push(format!("{} is not rendered any more; kubectl apply leaves it in place", live.key));
            return Ok(());
        }
        let host = self.world.host.kind;
        let flag = |check: Result<bool, LoadError>| check.unwrap_or(false);
        let is_kept = host != Some(HostKind::Kubectl) && flag(stream::is_kept(live, host));
        if !self.was_written(gone) {
            return Ok(());
        }
        if is_kept || owned::gets_an_owner(self, live) {
            // Old templates that a chart keeps are many, and nobody misses them.
            if kind(&live.key).role != crate::kinds::Role::Template {
                let why = match host {
                    Some(HostKind::Argocd) if !live.value().is_ok_and(|live| stream::says_no_prune(&live)) => {
                        "it has an owner, and Argo CD prunes nothing that has one: it stays as long as its owner does, and no Application \
                         owns it from then on; to remove it, delete it with kubectl"
                    }
                    _ => "an annotation keeps it in place, and no release owns it from then on",
                };
                self.out.warnings.push(format!("{} is not rendered any more; {why}", live.key));
            }
            return Ok(());
        }
        let Some(value) = self.live_value(live) else { return Ok(()) };
        self.out.pairs.push(deleted(live, value));
        Ok(())
    }

    /// Adds the pair of a removed object that takes compared objects with it. It is itself none, so that it may not have
    /// been read: then what was written last stands for it.
    fn remove_with_others(&mut self, gone: &Object) {
        let host = self.world.host.kind;
        let live = self.locator.anywhere(&self.world.live, &gone.key);
        let flag = |check: Result<bool, LoadError>| check.unwrap_or(false);
        let is_kept = host != Some(HostKind::Kubectl) && flag(stream::is_kept(live.unwrap_or(gone), host));
        if self.world.host.leaves_removed() || !self.was_written(gone) || is_kept {
            return;
        }
        self.take_others(live.unwrap_or(gone), RuleId::of("host/takes-others"), "it is removed");
    }

    /// Adds the pair of an object whose deletion takes compared objects with it; nothing where it takes none.
    pub(super) fn take_others(&mut self, gone: &Object, rule: RuleId, why: &str) {
        self.doubt_carriers(gone, why);
        let taken = self.taken_by(gone);
        let because = match taken.first() {
            Some(only) if taken.len() == 1 => format!("{why}, and {only} goes with it"),
            Some(_) => format!("{why}, and {} go with it", first_and_more(&taken)),
            None if self.way.is_some() => return,
            None => match defined_by(gone) {
                Some(kind) => {
                    format!("{why}, and every {kind} of the cluster goes with it; an old render shows none of them")
                }
                None => return self.doubt_namespace(gone, why),
            },
        };
        let value = gone.value().map(std::borrow::Cow::into_owned).unwrap_or_default();
        let mut pair = deleted(gone, value);
        pair.effect = Effect::Delete;
        pair.rule = rule.into();
        pair.because.clone_from(&because);
        let message = format!("{}: {because}", gone.key);
        self.out.findings.push(Finding::new("removal-takes-others", gone.key.clone(), message));
        self.out.pairs.push(pair);
    }

    /// Releases and bundles go with their Namespace or with the definition of their kind, and what they wrote goes with them (helm-controller
    /// `internal/controller/helmrelease_controller.go`, reconcileDelete, v1.5; of others the finalizers that clean up).
    fn doubt_carriers(&mut self, gone: &Object, why: &str) {
        let takers = self.takers.get_or_init(|| Takers::of(self.world.live.objects()));
        let who = match gone.key.kind.as_str() {
            DEFINITION => defined(gone)
                .filter(|(group, kind)| carriers::is_carrier(group, kind) && !carriers::is_source(group))
                .map(|(_, kind)| format!("every {kind} of the cluster")),
            NAMESPACE => takers.carriers.get(gone.key.name.as_str()).map(|all| first_and_more(all)),
            _ => None,
        };
        self.out.carried.extend(who.map(|who| Unread {
            what: format!("what {who} wrote"),
            why: format!("{why}: {}, and {who} with it; what they have written goes too, also clusters", gone.key),
            remedy: "keep it, or set `unseen: {inside: warn}` in the policy for this write".to_owned(),
            keys: vec![gone.key.clone()],
        }));
    }

    /// A Namespace goes, and an old render does not show what others keep in it.
    fn doubt_namespace(&mut self, gone: &Object, why: &str) {
        if gone.key.kind != NAMESPACE {
            return;
        }
        self.out.carried.push(Unread {
            what: format!("what {} holds", gone.key),
            why: format!("{why}, and everything in it goes with it; an old render shows nothing of other releases"),
            remedy: "compare with the cluster (--live cluster), or set `unseen: {inside: warn}` in the policy"
                .to_owned(),
            keys: vec![gone.key.clone()],
        });
    }

    /// Live objects that are compared and go with another one.
    fn taken_by(&self, gone: &Object) -> Vec<&'a Key> {
        let takers = self.takers.get_or_init(|| Takers::of(self.world.live.objects()));
        takers.taken_by(gone)
    }

    /// Whether an object of an earlier manifest was part of the release, which a hook is not.
    pub(super) fn was_written(&self, object: &Object) -> bool {
        let base = if self.way.is_none() { BaseKind::Live } else { self.world.base.kind };
        hook::role_before(object, &self.world.host, base)
            .is_ok_and(|role| matches!(role, Role::Written | Role::Unclear))
    }
}

/// Compared live objects by what takes them along when it is deleted; made when the first such object goes.
#[derive(Debug, Clone, Default)]
pub(super) struct Takers<'a> {
    namespaces: HashMap<&'a str, Vec<&'a Key>>,
    groups: HashMap<&'a str, Vec<&'a Key>>,
    /// By the toolkit of Flux and the name of its object, with the namespace of that.
    flux: HashMap<(&'static str, String), Vec<Made<'a>>>,
    /// By the namespace of the object of Flux.
    of_flux_in: HashMap<String, Vec<&'a Key>>,
    /// Releases and bundles, by their namespace.
    carriers: HashMap<&'a str, Vec<&'a Key>>,
}

/// An object that one of Flux made, by its labels.
#[derive(Debug, Clone)]
struct Made<'a> {
    /// Namespace of the object of Flux.
    namespace: Option<String>,
    key: &'a Key,
}

/// The toolkits of Flux whose objects prune what they made.
const TOOLKITS: [&str; 2] = ["helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io"];

impl<'a> Takers<'a> {
    fn of(live: &'a [Object]) -> Self {
        let mut takers = Self::default();
        for object in live {
            let key = &object.key;
            if !kinds::is_compared(key) {
                let is_one = carriers::is_carrier(&key.group, &key.kind) && !carriers::is_source(&key.group);
                if let Some(namespace) = key.namespace.as_deref().filter(|_| is_one) {
                    takers.carriers.entry(namespace).or_default().push(key);
                }
                continue;
            }
            if let Some(namespace) = &key.namespace {
                takers.namespaces.entry(namespace).or_default().push(key);
            }
            takers.groups.entry(&key.group).or_default().push(key);
            if !TOOLKITS.iter().any(|toolkit| object.may_say(toolkit)) {
                continue;
            }
            let Ok(value) = object.value() else { continue };
            let Some(labels) = value.pointer("/metadata/labels") else { continue };
            for toolkit in TOOLKITS {
                let label = |end: &str| labels.get(format!("{toolkit}/{end}"))?.as_str().map(str::to_owned);
                if let Some(name) = label("name") {
                    let made = Made { namespace: label("namespace"), key };
                    if let Some(namespace) = &made.namespace {
                        takers.of_flux_in.entry(namespace.clone()).or_default().push(key);
                    }
                    takers.flux.entry((toolkit, name)).or_default().push(made);
                }
            }
        }
        takers
    }

    fn taken_by(&self, gone: &Object) -> Vec<&'a Key> {
        let Identity { kind, namespace, name, .. } = &*gone.key;
        let toolkit = match kind.as_str() {
            NAMESPACE => {
                let own = self.namespaces.get(name.as_str()).into_iter().flatten().copied();
                let made = self.of_flux_in.get(name).into_iter().flatten().copied();
                let is_own = |key: &&Key| key.namespace.as_ref() == Some(name);
                return own.chain(made.filter(|key| !is_own(key))).collect();
            }
            DEFINITION => {
                let value = gone.value().ok();
                let kind = value.as_ref().and_then(|value| value.pointer("/spec/names/kind")?.as_str());
                let group = name.split_once('.').map_or("", |(_, group)| group);
                let of_group = self.groups.get(group).into_iter().flatten().copied();
                return of_group.filter(|key| kind.is_none_or(|kind| kind == key.kind)).collect();
            }
            "HelmRelease" => TOOLKITS[0],
            _ => TOOLKITS[1],
        };
        let made = self.flux.get(&(toolkit, name.clone())).into_iter().flatten();
        made.filter(|made| namespace.is_none() || made.namespace == *namespace).map(|made| made.key).collect()
    }
}

/// The kind that a definition defines, where its objects are compared.
fn defined_by(gone: &Object) -> Option<String> {
    defined(gone).filter(|(group, _)| providers::is_compared(group)).map(|(_, kind)| kind)
}

/// Group and kind of what a definition defines.
fn defined(gone: &Object) -> Option<(&str, String)> {
    let (plural, group) = gone.key.name.split_once('.').filter(|_| gone.key.kind == DEFINITION)?;
    let value = gone.value().ok();
    let kind = value.as_ref().and_then(|value| value.pointer("/spec/names/kind")?.as_str());
    Some((group, kind.unwrap_or(plural).to_owned()))
}

/// The pair of an object that goes away.
pub(super) fn deleted(live: &Object, value: Value) -> Pair {
    let mut pair = blank(live.key.clone(), live.api_version.clone(), Action::Delete, 0);
    pair.live = Some(trimmed(value));
    pair
}
