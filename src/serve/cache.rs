//! What the cluster holds, kept current by watches and cut by namespace, so that a review reads its own part of it and no more.
//! What was not heard of is unread, and a part that nobody listens to any more makes all of it so.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::cluster::{Installed, Lookup, News, Watched, is_unserved};
use crate::host::HostKind;
use crate::kinds::Role;
use crate::kinds::fields::text;
use crate::object::{GroupKind, Inventory, Key, Object};
use crate::policy::Policy;
use crate::providers::{PROVIDERS, kind, known};
use crate::session::{approvals_of, history_of};
use crate::world::{Asked, Coverage, Host, LiveKind, LiveSource, Unread, World, WriteMethod};

/// How long a kind may go unheard before what is known of it is no longer taken for what is there.
const STALE: Duration = Duration::from_secs(30);

/// For how many sets of namespaces what was read is kept made: a quiet cluster may have thousands.
const MOST_TOLD: usize = 64;

/// What the cluster holds, as far as it was heard of.
#[derive(Debug, Default)]
pub struct Cache {
    state: RwLock<State>,
    /// Rings when something was heard.
    news: Notify,
    /// Rings when something looks as if there were other kinds by now.
    doubts: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Objects by their namespace; those that have none under none.
    spaces: HashMap<Option<String>, Inventory>,
    /// How each kind stands.
    kinds: BTreeMap<GroupKind, Standing>,
    /// How the ConfigMaps of each name stand.
    maps: BTreeMap<String, Standing>,
    /// The ConfigMaps that the policy names, which are no part of what is judged.
    kept: BTreeMap<Key, Object>,
    /// Kinds that the API server is proven not to have, as each review is told of them.
    absent: Asked,
    /// Clusters whose class is in another namespace, with that.
    classes: HashMap<Key, String>,
    installed: Option<Installed>,
    /// Why the kinds are not known, where they are not.
    unknown: Option<Unread>,
    name: String,
    /// What reviews of some namespaces are told was read, until something is heard.
    told: Mutex<HashMap<BTreeSet<String>, Arc<Asked>>>,
}

/// How one kind stands.
#[derive(Debug, Default)]
struct Standing {
    namespaced: bool,
    listed: bool,
    /// Whether it may not be read.
    forbidden: bool,
    /// Since when nothing is heard of it, and why.
    lost: Option<(Instant, Unread)>,
}

impl Standing {
    fn why(&self, what: impl std::fmt::Display) -> Option<String> {
        match &self.lost {
            Some((_, unread)) if !self.listed => Some(format!("{}: {}; {}", unread.what, unread.why, unread.remedy)),
            Some((since, unread)) if since.elapsed() > STALE && is_unserved(unread) => Some(format!(
                "{}: {}; its definition is gone or serves another version, which is looked at now; try again in a few seconds",
                unread.what, unread.why
            )),
            Some((since, unread)) if since.elapsed() > STALE => Some(format!("{}: {}", unread.what, unread.why)),
            None if !self.listed => Some(format!("the list of {what} is not read yet")),
            _ => None,
        }
    }
}

impl Cache {
    /// A cache of the cluster that people call so.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let state = State { name: name.to_owned(), ..State::default() };
        Self { state: RwLock::new(state), news: Notify::new(), doubts: Notify::new() }
    }

    /// A cache of a World that was read at one time, and in which nothing changes by itself.
    #[must_use]
    pub fn of_world(world: World) -> Self {
        let mut state = State { name: world.source.name.clone(), ..State::default() };
        for object in Vec::from(world.live) {
            let kind = GroupKind::new(&object.key.group, &object.key.kind);
            let standing = state.kinds.entry(kind).or_default();
            (standing.namespaced, standing.listed) = (object.key.namespace.is_some(), true);
            // A text would be read anew by each review.
            let read = object.value().map(std::borrow::Cow::into_owned);
            let tree = read.and_then(|value| Object::from_value(value, 0));
            state.put(tree.unwrap_or(object));
        }
        let known = PROVIDERS.iter().flat_map(|provider| provider.kinds);
        let absent = known.map(|kind| GroupKind::new(kind.group, kind.name));
        state.absent = Asked::not_served(absent.filter(|kind| !state.kinds.contains_key(kind)));
        let (providers, feature_gates) = (world.providers, world.feature_gates);
        let (unread, warnings) = (world.unread, Vec::new());
        state.installed = Some(Installed { providers, feature_gates, unread, warnings });
        Self { state: RwLock::new(state), news: Notify::new(), doubts: Notify::new() }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.told.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        state
    }

    /// Takes in which kinds there are; what is no longer served is forgotten.
    pub fn serves(&self, watched: &[Watched], absent: BTreeSet<GroupKind>) {
        let mut state = self.write();
        let there: BTreeSet<&GroupKind> = watched.iter().map(|one| &one.kind).collect();
        let gone: Vec<GroupKind> = state.kinds.keys().filter(|kind| !there.contains(kind)).cloned().collect();
        for kind in gone {
            state.kinds.remove(&kind);
            state.forget(&kind, &BTreeSet::new());
        }
        for one in watched {
            state.kinds.entry(one.kind.clone()).or_default().namespaced = one.namespaced;
        }
        state.absent = Asked::not_served(absent);
        state.unknown = None;
    }

    /// Takes in that the kinds of the cluster cannot be read. What was known before goes on to count.
    pub fn serves_unknown(&self, unread: Unread) {
        let mut state = self.write();
        if state.kinds.is_empty() {
            state.unknown = Some(unread);
        }
    }

    /// Takes in that ConfigMaps of a name are wanted.
    pub fn wants(&self, name: &str) {
        self.write().maps.entry(name.to_owned()).or_default();
    }

    /// Takes in what is installed.
    pub fn runs(&self, installed: Installed) {
        self.write().installed = Some(installed);
    }

    /// Takes in what was heard of a kind, or of the ConfigMaps of a name.
    pub fn hear(&self, watched: &Watched, news: News) {
        let mut state = self.write();
        let named = watched.name.as_ref();
        let standing = match named {
            Some(name) => state.maps.entry(name.clone()).or_default(),
            None => state.kinds.entry(watched.kind.clone()).or_default(),
        };
        match &news {
            News::All(_) => (standing.listed, standing.forbidden, standing.lost) = (true, false, None),
            News::Current => standing.lost = None,
            News::Lost(unread) => {
                if is_unserved(unread) {
                    self.doubts.notify_one();
                }
                standing.forbidden = crate::world::rights::is_missing(unread);
                let since = standing.lost.as_ref().map_or_else(Instant::now, |(since, _)| *since);
                standing.lost = Some((since, unread.clone()));
            }
            News::Is(_) | News::Gone(_) => {}
        }
        match (news, named) {
            (News::All(objects), None) => {
                let keys = objects.iter().map(|object| &object.key).cloned().collect();
                state.forget(&watched.kind, &keys);
                objects.into_iter().for_each(|object| state.put(object));
            }
            (News::All(objects), Some(name)) => {
                state.kept.retain(|key, _| key.name != *name);
                state.kept.extend(objects.into_iter().map(|object| (object.key.clone(), object)));
            }
            (News::Is(object), None) => state.put(*object),
            (News::Is(object), Some(_)) => drop(state.kept.insert(object.key.clone(), *object)),
            (News::Gone(key), None) => state.take(&key),
            (News::Gone(key), Some(_)) => drop(state.kept.remove(&key)),
            (News::Current | News::Lost(_), _) => {}
        }
        drop(state);
        self.news.notify_waiters();
    }

    /// Why what is known is not all that is there; nothing where it is.
    #[must_use]
    pub fn lacks(&self) -> Option<String> {
        let state = self.read();
        if let Some(unread) = &state.unknown {
            return Some(format!("{}: {}; {}", unread.what, unread.why, unread.remedy));
        }
        if state.kinds.is_empty() || state.installed.is_none() {
            return Some("the cluster is not read yet".to_owned());
        }
        // Of a group that nobody knows here, what may not be read is only that: unread.
        let is_needed =
            |kind: &GroupKind, standing: &Standing| !standing.forbidden || known().contains(kind.group.as_str());
        let kinds = state.kinds.iter().filter(|(kind, standing)| is_needed(kind, standing));
        let kinds = kinds.into_iter().find_map(|(kind, standing)| standing.why(kind));
        kinds.or_else(|| state.maps.iter().find_map(|(name, standing)| standing.why(format_args!("ConfigMap {name}"))))
    }

    /// How many objects are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().spaces.values().map(Inventory::len).sum()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object with a key, as it was heard of last.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Object> {
        self.read().spaces.get(&key.namespace)?.get(key).cloned()
    }

    /// The object that a path of the API names: its group, the plural of its kind, its namespace and name.
    #[must_use]
    pub fn at(&self, group: &str, plural: &str, namespace: Option<&str>, name: &str) -> Option<Object> {
        let state = self.read();
        let is_it = |object: &&Object| {
            let key = &object.key;
            key.group == group && key.name == name && format!("{}s", key.kind.to_ascii_lowercase()) == plural
        };
        state.spaces.get(&namespace.map(str::to_owned))?.objects().iter().find(is_it).cloned()
    }

    /// How many objects a review in a namespace may have to do with.
    #[must_use]
    pub fn near(&self, namespace: Option<&str>) -> usize {
        let state = self.read();
        let spaces = state.around(namespace).into_iter().map(Some).chain([None]);
        spaces.filter_map(|space| state.spaces.get(&space)).map(Inventory::len).sum()
    }

    /// Waits until something is heard, or the time is over.
    pub async fn changes(&self, until: tokio::time::Instant) {
        let news = self.news.notified();
        drop(tokio::time::timeout_at(until, news).await);
    }

    /// Asks for a look at which kinds there are.
    pub fn doubt(&self) {
        self.doubts.notify_one();
    }

    /// Waits until somebody doubts which kinds there are, or the time is over.
    pub async fn is_doubted(&self, at_most: Duration) {
        drop(tokio::time::timeout(at_most, self.doubts.notified()).await);
    }

    /// What a review of an object may know: its namespace, what lives outside namespaces, and the namespaces that share classes with it, also
    /// by what only the `sides` of the review say.
    #[must_use]
    pub fn world(&self, key: &Key, sides: [Option<&Object>; 2], policy: &Policy, now: Timestamp) -> World {
        let state = self.read();
        let mut spaces = state.around(key.namespace.as_deref());
        spaces.extend(sides.into_iter().flatten().filter_map(class_space));
        let mut live = match &key.namespace {
            Some(own) => state.spaces.get(&Some(own.clone())).cloned().unwrap_or_default(),
            None => Inventory::default(),
        };
        let others =
            spaces.iter().filter(|space| Some(*space) != key.namespace.as_ref()).map(|space| Some(space.clone()));
        for space in others.chain([None]) {
            let objects = state.spaces.get(&space).into_iter().flat_map(Inventory::objects);
            objects.for_each(|object| live.push(object.clone()));
        }
        let coverage = state.coverage(spaces);
        let installed = state.installed.clone().unwrap_or_default();
        World {
            host: Host {
                kind: Some(HostKind::Kubectl),
                method: Some(WriteMethod::Replace),
                namespace: key.namespace.clone(),
                ..Host::default()
            },
            approvals: state.approvals(key.namespace.as_deref(), policy),
            history: state.history(key.namespace.as_deref(), policy),
            providers: installed.providers,
            feature_gates: installed.feature_gates,
            unread: installed.unread,
            coverage,
            ..World::new(LiveSource::new(LiveKind::Cluster, state.name.clone()), live, now)
        }
    }
}

impl State {
    fn put(&mut self, object: Object) {
        self.note_class(&object);
        // A list in which nothing is looked up by kind or name keeps no index of them.
        let space = self.spaces.entry(object.key.namespace.clone()).or_default();
        let before = space.get(&object.key);
        let object = object.kept(before);
        space.insert(object);
    }

    fn take(&mut self, key: &Key) {
        self.classes.remove(key);
        let Some(space) = self.spaces.get_mut(&key.namespace) else { return };
        space.remove(key);
        if space.is_empty() {
            self.spaces.remove(&key.namespace);
        }
    }

    /// Forgets the objects of a kind but these.
    fn forget(&mut self, kind: &GroupKind, but: &BTreeSet<Key>) {
        let keys = self.spaces.values().flat_map(Inventory::objects).map(|object| &object.key);
        let is_gone = |key: &&Key| key.group == kind.group && key.kind == kind.kind && !but.contains(key);
        let gone: Vec<Key> = keys.filter(is_gone).cloned().collect();
        gone.iter().for_each(|key| self.take(key));
    }

    fn note_class(&mut self, object: &Object) {
        if kind(&object.key).role != Role::Cluster {
            return;
        }
        self.classes.remove(&object.key);
        if let Some(told) = class_space(object) {
            self.classes.insert(object.key.clone(), told);
        }
    }

    /// The namespaces that a write in one may have to do with: itself, those of Clusters with a class in it, and those of their classes.
    fn around(&self, namespace: Option<&str>) -> BTreeSet<String> {
        let Some(own) = namespace else { return self.spaces.keys().flatten().cloned().collect() };
        let mut spaces = BTreeSet::from([own.to_owned()]);
        let users = self.classes.iter().filter(|(_, class)| *class == own);
        spaces.extend(users.filter_map(|(cluster, _)| cluster.namespace.clone()));
        let classes = self
            .classes
            .iter()
            .filter(|(cluster, _)| cluster.namespace.as_ref().is_some_and(|namespace| spaces.contains(namespace)));
        let classes: Vec<String> = classes.map(|(_, class)| class.clone()).collect();
        spaces.extend(classes);
        spaces
    }

    /// What was read of some namespaces: many reviews ask between two things that are heard.
    fn coverage(&self, spaces: BTreeSet<String>) -> Coverage {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(asked) = told.get(&spaces) {
            return Coverage::Asked(asked.clone());
        }
        let mut coverage = Coverage::from(self.absent.clone());
        for (kind, standing) in self.kinds.iter().filter(|(_, standing)| standing.listed && !standing.forbidden) {
            match standing.namespaced {
                true => spaces.iter().for_each(|space| coverage.note_list(kind, Some(space))),
                false => coverage.note_list(kind, None),
            }
        }
        if let Coverage::Asked(asked) = &coverage {
            if told.len() == MOST_TOLD {
                told.clear();
            }
            told.insert(spaces, asked.clone());
        }
        coverage
    }

    fn map(&self, namespace: Option<&str>, name: &str) -> Lookup {
        let key = Key::new("v1", crate::contract::CONFIG_MAP, namespace, name);
        match self.kept.get(&key).and_then(|object| object.value().ok()) {
            Some(value) => Lookup::Found(Box::new(value.into_owned())),
            None => Lookup::Absent,
        }
    }

    fn approvals(&self, namespace: Option<&str>, policy: &Policy) -> Vec<crate::approval::FoundLedger> {
        let places = policy.approvals.from.iter().enumerate();
        let answers = places.filter_map(|(place, from)| {
            let name = from.config_map()?;
            Some((place, format!("ConfigMap {}/{name}", namespace.unwrap_or_default()), self.map(namespace, name)))
        });
        approvals_of(policy, answers.collect())
    }

    fn history(&self, namespace: Option<&str>, policy: &Policy) -> Option<crate::history::FoundHistory> {
        let (told, name) = policy.gates.budget.history.as_ref()?.config_map()?;
        history_of(policy, Some(self.map(told.or(namespace), name)))
    }
}

/// The namespace of the class that a Cluster takes from another one than its own.
fn class_space(object: &Object) -> Option<String> {
    if kind(&object.key).role != Role::Cluster {
        return None;
    }
    let value = object.value().ok()?;
    let told =
        text(&value, "/spec/topology/classRef/namespace").or_else(|| text(&value, "/spec/topology/classNamespace"));
    told.filter(|told| object.key.namespace.as_deref() != Some(*told)).map(str::to_owned)
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
