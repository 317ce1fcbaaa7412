//! What the API server, or the host's own reader, refuses of any object of the stream, compared or not: the release stops
//! there, and what stands before it is written.

use super::HostKind;
use super::kinds;
use super::last_applied::annotations_with_last_applied;
use super::locate::Located;
use super::pairs::{blank, filled_by_webhook};
use super::predict::Run;
use super::stream;
use crate::apiserver::place::Place;
use crate::apiserver::versions::goes_through_another;
use crate::apiserver::{self, Reach, Refusal, Way, is_in_no_part};
use crate::compare::{Action, Pair};
use crate::hashed::HashMap;
use crate::model::Effect;
use crate::model::RuleId;
use crate::object::ApiVersion;
use crate::object::GroupKind;
use crate::object::{Key, Object, Path};
use crate::parallel;
use crate::schema;
use crate::tree::Value;
use crate::world::{BaseKind, Coverage, WriteMethod};

/// Whether a refusal under a rule is one after which the host writes nothing of the release.
pub(crate) fn stops_before_writes(rule: &str, host: Option<HostKind>) -> bool {
    let is = |id: &RuleId| id.as_str() == rule;
    // Helm 4 makes something of an object without a name, or asks for it as late as its turn comes.
    BEFORE_WRITES.iter().any(is) || (is(&RuleId::of("host/nameless")) && host != Some(HostKind::Helm4))
}

/// The rules of such refusals, whatever the host.
const BEFORE_WRITES: [RuleId; 5] = [
    RuleId::of("host/unreadable"),
    RuleId::of("host/ownership"),
    RuleId::of("host/last-unserved"),
    RuleId::of("host/namespace-ends"),
    RuleId::of("host/replace-with-apply"),
];

/// Fields beside those of every custom resource, which a server-side apply may not hold (`k8s.io/apimachinery` v0.36
/// `pkg/util/managedfields/internal/typeconverter.go` ObjectToTyped); other writes lose them.
fn undeclared(sent: &Value) -> Option<Refusal> {
    let mut fields = sent.as_object()?.keys().map(|field| Path::root().key(field.as_str()));
    let path = fields.find(is_in_no_part)?;
    Some(Refusal { path, because: "its kind has no such field".to_owned(), reach: Reach::Object })
}

impl Run<'_> {
    /// Adds what is refused of each object that is not as it was written last time.
    pub(super) fn refusals(&mut self) {
        let mut places: HashMap<Key, usize> = HashMap::default();
        for (place, pair) in self.out.pairs.iter().enumerate().filter(|(_, pair)| pair.action != Action::Delete) {
            places.insert(pair.key.clone(), place);
        }
        let place_of =
            |object: &Object| places.get(&self.locator.full(&object.key)).or_else(|| places.get(&object.key)).copied();
        let objects = self.rendered.objects();
        let found = parallel::map(objects, |object| {
            let place = place_of(object);
            let pair = place.and_then(|place| self.out.pairs.get(place));
            let refused = self.of_ownership(object);
            let (rule, because) = refused.or_else(|| self.refusal(object, pair).map(|refusal| self.told(&refusal)))?;
            Some((place, rule, because))
        });
        let found = objects.iter().zip(found).filter_map(|(object, found)| Some((object, found?)));
        let found: Vec<_> = found.collect();
        if let (Some((rule, because)), Some(first)) = (self.of_record(), objects.first()) {
            self.refuse_whole(first, place_of(first), rule, because);
        }
        for (object, (place, rule, because)) in found {
            self.refuse_whole(object, place, rule, because);
        }
    }

    /// The first thing that is refused of an object.
    fn refusal(&self, object: &Object, pair: Option<&Pair>) -> Option<Refusal> {
        if self.is_unserved(object) {
            let because = format!("the API server has no {} of {}", object.key.kind, object.api_version);
            return Some(Refusal { path: Path::root().key("kind"), because, reach: self.of_unreadable() });
        }
        if !ApiVersion::is_usual(&object.api_version) && schema::has(&object.key.group, &object.key.kind) {
            let because = format!("no release of its provider has {} of {}", object.key.kind, object.api_version);
            return Some(Refusal { path: Path::root().key("apiVersion"), because, reach: self.of_unreadable() });
        }
        let kind = || GroupKind::new(&object.key.group, &object.key.kind);
        if pair.is_some_and(|pair| pair.action == Action::Create) && self.world.coverage.is_closed(&kind()) {
            let because = "its CustomResourceDefinition is being deleted, so no new object of it is made".to_owned();
            return Some(Refusal { path: Path::root().key("kind"), because, reach: Reach::Object });
        }
        if let Some(refusal) = self.of_namespace(object).or_else(|| self.of_ending(object, pair)) {
            return Some(refusal);
        }
        let last = self.locator.anywhere(&self.world.base.objects, &object.key);
        let live = match self.locator.in_live(&self.world.live, &object.key) {
            Located::Found(live) => Some(live),
            _ => None,
        };
        // What was written once in these very words was not refused.
        let is_same = |other: Option<&Object>| other.is_some_and(|other| stream::same_text(object, other));
        if is_same(last) || (self.way.is_none() && is_same(live)) {
            return None;
        }
        // Between two renders nothing is written, but who writes may be told.
        let applied = self.way.or(self.world.host.method) == Some(WriteMethod::ServerSideApply);
        let whole = applied || matches!(self.way, Some(WriteMethod::Replace | WriteMethod::Recreate));
        let way = Way { applied, whole };
        // Every object of the stream is looked at, and most are nobody's business afterwards.
        let may_be_long = self.may_be_remembered(object);
        if pair.is_none() && !may_be_long && is_harmless(object, way) {
            return None;
        }
        let sent = object.glance().ok()?;
        let live = live.and_then(|live| live.glance().ok());
        let last = last.and_then(|last| last.glance().ok());
        let side = if self.way.is_some() { live.as_deref() } else { None };
        // Without a cluster the other side is a render: what only the server sets is right where both say it.
        let held = if self.way.is_some() { side } else { Some(live.as_deref().unwrap_or(&sent)) };
        let mut found = apiserver::of_metadata(&object.key, &sent, held, last.as_deref(), way);
        found.extend(apiserver::of_data(&object.key, &sent, live.as_deref()));
        if applied && schema::has(&object.key.group, &object.key.kind) {
            found.extend(undeclared(&sent));
        }
        if applied {
            let is_lost = || side.is_some_and(|live| goes_through_another(live, &sent, self.applier(Some(live))));
            found.extend(self.refused_null(object, &sent).filter(|_| !is_lost()));
        }
        if may_be_long {
            found.extend(self.remembered(&sent));
        }
        // What was not read is as it was written last.
        if let Some((pair, old)) = pair.zip(live.as_deref().or(last.as_deref())) {
            let changed: Vec<Path> = pair.changes.iter().map(|change| change.path.clone()).collect();
            found.extend(apiserver::of_immutable(old, &changed));
        }
        found.into_iter().max_by_key(|refusal| refusal.reach)
    }

    /// Whether the API server has no such kind, or not in this version. Before a first install nobody knows which definitions
    /// the chart brings along.
    fn is_unserved(&self, object: &Object) -> bool {
        let (world, kind) = (self.world, GroupKind::new(&object.key.group, &object.key.kind));
        if world.coverage.lacks_version(&kind, &object.api_version) {
            return true;
        }
        let is_upgrade = matches!(world.base.kind, BaseKind::Release | BaseKind::File);
        let brings_none = is_upgrade || world.host.kind == Some(HostKind::Kubectl);
        brings_none && world.coverage.lacks(&kind) && world.base.objects.of_kind(&kind.kind).next().is_none()
    }

    /// How much is not written where the host cannot make anything of an object: kubectl goes on with the others.
    fn of_unreadable(&self) -> Reach {
        if self.world.host.kind == Some(HostKind::Kubectl) { Reach::Object } else { Reach::Release }
    }

    /// What is refused because of the namespace of an object: kubectl writes to the one that it was told and to no other, and
    /// nothing is written to one that is not there.
    fn of_namespace(&self, object: &Object) -> Option<Refusal> {
        let host = &self.world.host;
        let home = host.namespace.as_deref().filter(|_| host.kind == Some(HostKind::Kubectl));
        let own = object.key.namespace.as_deref().or(home)?;
        let at = |because: String, reach| {
            (!kinds::is_cluster_wide(&object.key)).then(|| Refusal {
                path: Path::root().key("metadata").key("namespace"),
                because,
                reach,
            })
        };
        if host.kind == Some(HostKind::Kubectl)
            && let Some(told) = host.namespace.as_deref().filter(|told| host.in_one_namespace && *told != own)
        {
            return at(format!("it is {own}, and kubectl is told to write to {told} only"), Reach::Object);
        }
        if self.world.coverage == Coverage::Whole {
            return None;
        }
        let namespace = Key::new("v1", "Namespace", None, own);
        let is_made = self.rendered.get(&namespace).is_some();
        (!is_made && self.world.coverage.is_absent(&namespace))
            .then(|| at(format!("the namespace {own} is not there"), Reach::Object))
            .flatten()
    }

    /// The rule and the sentence of a refusal.
    fn told(&self, refusal: &Refusal) -> (RuleId, String) {
        let host = match self.world.host.kind {
            Some(HostKind::Kubectl) => "kubectl",
            Some(HostKind::Argocd) => "Argo CD",
            _ => "Helm",
        };
        match refusal.reach {
            Reach::Release => (
                RuleId::of("host/unreadable"),
                format!(
                    "{}: {}; {host} cannot read the object and stops before it writes anything",
                    refusal.path, refusal.because
                ),
            ),
            Reach::Object if self.world.host.kind == Some(HostKind::Kubectl) => (
                RuleId::of("host/server-refuses"),
                format!(
                    "{}: {}, so it is not written; kubectl writes the others and fails",
                    refusal.path, refusal.because
                ),
            ),
            Reach::Object => (
                RuleId::of("host/server-refuses"),
                format!("{}: {}, so the API server refuses the write", refusal.path, refusal.because),
            ),
        }
    }

    /// Whether the host may keep what it applies of an object in an annotation, and the object is so long that it may not fit.
    fn may_be_remembered(&self, object: &Object) -> bool {
        // A mark that Go writes as a number takes six times its length.
        self.way.is_some_and(|way| way == WriteMethod::LastApplied || self.argo.is_some())
            && object.text_length().is_none_or(|length| length > apiserver::ANNOTATIONS / 6)
    }

    /// What is refused because of the annotation in which kubectl, and Argo CD with its code, keep what they apply (kubectl
    /// `pkg/util/apply.go`, `GetModifiedConfiguration`; apimachinery `pkg/api/validation/objectmeta.go`, `ValidateAnnotationsSize`).
    fn remembered(&self, sent: &Value) -> Option<Refusal> {
        let usual = self.way?;
        let way = self.argo.as_ref().map_or(usual, |argo| argo.way(sent, None, usual));
        let size = annotations_with_last_applied(sent);
        (way == WriteMethod::LastApplied && size > apiserver::ANNOTATIONS).then(|| Refusal {
            path: Path::root().key("metadata").key("annotations"),
            because: format!(
                "a client-side apply keeps the whole object in one of them, which makes them {size} bytes long, more than {}; \
                 apply it on the server's side (kubectl --server-side, Argo CD ServerSideApply=true)",
                apiserver::ANNOTATIONS
            ),
            reach: Reach::Object,
        })
    }

    /// The first `null` that an apply sends and the schema refuses. A patch takes a field away by it; an apply keeps it as a value,
    /// unless a webhook that fills in defaults puts something in its place before the schema is asked.
    fn refused_null(&self, object: &Object, sent: &Value) -> Option<Refusal> {
        let (key, api_version) = (&object.key, object.api_version.as_str());
        let node = schema::builtin(api_version, &key.kind)?;
        let refused = |sent: &Value| {
            Place::Root(Some(node)).field("spec").refused_null(sent.get("spec")?, &Path::root().key("spec"))
        };
        let path = refused(sent)?;
        let versions = self.versions();
        let filled = filled_by_webhook(key, api_version, sent, &versions);
        let path = filled.map_or(Some(path), |filled| refused(&filled))?;
        let because = "it is null, which its schema does not allow and an apply does not take away".to_owned();
        Some(Refusal { path, because, reach: Reach::Object })
    }

    /// Marks the pair of a refused object; one that is not compared gets a pair of its own.
    fn refuse_whole(&mut self, object: &Object, place: Option<usize>, rule: RuleId, because: String) {
        let known = place.and_then(|place| self.out.pairs.get(place).cloned().map(|pair| (place, pair)));
        if known.as_ref().is_some_and(|(_, pair)| pair.effect == Effect::Rejected) {
            return;
        }
        let Some((place, mut pair)) = known else {
            let is_known = self.locator.anywhere(&self.world.base.objects, &object.key).is_some();
            let action = if is_known { Action::Update } else { Action::Create };
            let mut pair = blank(self.locator.full(&object.key), object.api_version.clone(), action, object.line);
            self.reject(&mut pair, rule, because);
            self.out.pairs.push(pair);
            return;
        };
        self.reject(&mut pair, rule, because);
        self.out.pairs[place] = pair;
    }
}

/// Whether nothing is refused of an object whatever is there, as its text tells without a tree; false where only the tree can tell.
fn is_harmless(object: &Object, way: Way) -> bool {
    let has_schema = || schema::builtin(&object.api_version, &object.key.kind).is_some();
    !(way.applied && has_schema())
        && apiserver::has_harmless_data(object)
        && apiserver::has_harmless_metadata(object, way)
}

#[cfg(test)]
#[path = "refusals_tests.rs"]
mod tests;
