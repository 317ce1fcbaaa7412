//! What the API server, or the host's own reader, refuses of any object of the stream, compared or not: the release stops
//! there, and what stands before it is written.

use std::collections::HashMap;

use super::HostKind;
use super::locate::Located;
use super::pairs::blank;
use super::predict::Run;
use super::stream;
use crate::apiserver::{self, Reach, Refusal, Way};
use crate::compare::{Action, Pair};
use crate::model::Effect;
use crate::model::RuleId;
use crate::object::{Key, Object, Path};
use crate::parallel;
use crate::world::plan::GroupKind;
use crate::world::{BaseKind, WriteMethod};

impl Run<'_> {
    /// Adds what is refused of each object that is not as it was written last time.
    pub(super) fn refusals(&mut self) {
        let mut places: HashMap<Key, usize> = HashMap::new();
        for (place, pair) in self.out.pairs.iter().enumerate().filter(|(_, pair)| pair.action != Action::Delete) {
            places.insert(pair.key.clone(), place);
        }
        let place_of =
            |object: &Object| places.get(&self.locator.full(&object.key)).or_else(|| places.get(&object.key)).copied();
        let objects = self.rendered.objects();
        let found = parallel::map(objects, |object| {
            let place = place_of(object);
            let refusal = self.refusal(object, place.and_then(|place| self.out.pairs.get(place)))?;
            Some((place, refusal))
        });
        for (object, (place, refusal)) in objects.iter().zip(found).filter_map(|(object, found)| Some((object, found?)))
        {
            self.refuse_whole(object, place, &refusal);
        }
    }

    /// The first thing that is refused of an object.
    fn refusal(&self, object: &Object, pair: Option<&Pair>) -> Option<Refusal> {
        if self.is_unserved(object) {
            let because = format!("the API server has no {} of {}", object.key.kind, object.api_version);
            return Some(Refusal { path: Path::root().key("kind"), because, reach: Reach::Release });
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
        let sent = object.value().ok()?;
        let live = live.and_then(|live| live.value().ok());
        let last = last.and_then(|last| last.value().ok());
        let applied = self.way == Some(WriteMethod::ServerSideApply);
        let whole = applied || matches!(self.way, Some(WriteMethod::Replace | WriteMethod::Recreate));
        // Without a cluster the other side is a render: what only the server sets does not stand there.
        let side = if self.way.is_some() { live.as_deref() } else { None };
        let mut found = match self.way {
            Some(_) => apiserver::of_metadata(&object.key, &sent, side, last.as_deref(), Way { applied, whole }),
            None => apiserver::of_metadata(&object.key, &sent, Some(&sent), None, Way { applied, whole }),
        };
        found.extend(apiserver::of_data(&object.key, &sent, live.as_deref()));
        if let (Some(pair), Some(live)) = (pair, &live) {
            let changed: Vec<Path> = pair.changes.iter().map(|change| change.path.clone()).collect();
            found.extend(apiserver::of_immutable(live, &changed));
        }
        found.into_iter().max_by_key(|refusal| refusal.reach)
    }

    /// Whether the API server has no such kind. Before a first install nobody knows which definitions the chart brings along.
    fn is_unserved(&self, object: &Object) -> bool {
        let kind = GroupKind::new(&object.key.group, &object.key.kind);
        let is_upgrade = matches!(self.world.base.kind, BaseKind::Release | BaseKind::File);
        is_upgrade && self.world.coverage.lacks(&kind) && self.world.base.objects.of_kind(&kind.kind).next().is_none()
    }

    /// Marks the pair of a refused object; one that is not compared gets a pair of its own.
    fn refuse_whole(&mut self, object: &Object, place: Option<usize>, refusal: &Refusal) {
        let host = match self.world.host.kind {
            Some(HostKind::Kubectl) => "kubectl",
            Some(HostKind::Argocd) => "Argo CD",
            _ => "Helm",
        };
        let (rule, because) = match refusal.reach {
            Reach::Release => (
                RuleId::of("host/unreadable"),
                format!(
                    "{}: {}; {host} cannot read the object and stops before it writes anything",
                    refusal.path, refusal.because
                ),
            ),
            Reach::Object => (
                RuleId::of("host/server-refuses"),
                format!(
                    "{}: {}, so the API server refuses the write, and the release stops half-way",
                    refusal.path, refusal.because
                ),
            ),
        };
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
