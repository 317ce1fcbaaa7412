//! What every judgement of one run shares: versions, rules, clock, pauses, and who refers to what.
//! References are collected only when something asks for them, because that parses every owner.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

use crate::compare::{Action, Pair};
use crate::host::HostKind;
use crate::judge::Scene;
use crate::judge::verdict::Answer;
use crate::kinds::Versions;
use crate::kinds::contract::{MACHINE, MACHINE_DEPLOYMENT, MACHINE_POOL};
use crate::kinds::fields::{cluster_name, label, text};
use crate::kinds::gates::State;
use crate::kinds::{Role, contract, references, superset};
use crate::object::{Key, Object, Presence};
use crate::parallel;
use crate::providers::gates::{is_usually_on, may_need, needs};
use crate::providers::{kind, machines};
use crate::rules::{Gates, Rules};
use crate::world::WriteMethod;

/// The shared part of one run.
pub(crate) struct Stage<'a> {
    /// Both sides of the cluster.
    pub(crate) scene: Scene<'a>,
    /// What differs.
    pub(crate) pairs: &'a [Pair],
    /// The providers' versions.
    pub(crate) versions: Versions,
    /// The rules in force.
    pub(crate) rules: &'a Rules,
    /// Places of the pairs by key; the first one where a key stands twice.
    places: HashMap<&'a Key, usize>,
    /// Places of the pairs by the kind of their objects.
    kinds: OnceLock<HashMap<String, Vec<usize>>>,
    references: OnceLock<HashMap<(String, String), Vec<Reference>>>,
    /// Objects by every name that stands alone in their spec.
    mentions: OnceLock<HashMap<String, Vec<Key>>>,
    /// Clusters by kind and name of the control plane that they name.
    clusters: OnceLock<HashMap<(String, String), Vec<Key>>>,
    /// Owners of Machines by the name of their Cluster.
    owners: OnceLock<HashMap<String, Vec<Key>>>,
    /// Clusters by the name of their class.
    members: OnceLock<HashMap<String, Vec<Key>>>,
    /// Whether an object that is there shows that a feature gate is on, by the name of the gate.
    shown: Mutex<BTreeMap<String, bool>>,
    /// Owners of the workers of a Cluster by kind and name in its topology.
    groups: Mutex<HashMap<Key, Arc<Groups>>>,
    /// Objects before and after the write in the superset form, read once; not Machines, which are many and asked for once.
    forms: [Forms; 2],
    /// Owners after the write with what their topology hands to them, in the superset form.
    handed: Forms,
    /// Answers about whole objects that many leaves ask for.
    remembered: Mutex<HashMap<(Key, &'static str), Option<Answer>>>,
}

/// Objects in the superset form by key; `None` where there is none.
type Forms = Mutex<HashMap<Key, Option<Arc<Value>>>>;

/// One object that refers to another one after the write.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    /// Who refers.
    pub(crate) from: Key,
}

/// The owners of the workers of one Cluster, by their kind and their name in its topology.
pub(crate) type Groups = HashMap<(String, String), Key>;

impl<'a> Stage<'a> {
    /// The stage of a run.
    #[must_use]
    pub(crate) fn new(scene: Scene<'a>, pairs: &'a [Pair], rules: &'a Rules, versions: Versions) -> Self {
        let mut places = HashMap::with_capacity(pairs.len());
        for (place, pair) in pairs.iter().enumerate() {
            places.entry(&pair.key).or_insert(place);
        }
        Self {
            scene,
            pairs,
            versions,
            rules,
            places,
            kinds: OnceLock::new(),
            references: OnceLock::new(),
            mentions: OnceLock::new(),
            clusters: OnceLock::new(),
            owners: OnceLock::new(),
            members: OnceLock::new(),
            shown: Mutex::new(BTreeMap::new()),
            groups: Mutex::new(HashMap::new()),
            forms: [Forms::default(), Forms::default()],
            handed: Forms::default(),
            remembered: Mutex::new(HashMap::new()),
        }
    }

    /// What is known of a feature gate: as it was told or read, else as the objects that are there show, else as usual.
    #[must_use]
    pub(crate) fn gate(&self, name: &str) -> State {
        if let Some(told) = self.told_gate(name) {
            return if told { State::On } else { State::Off };
        }
        if is_usually_on(name, &self.versions) { State::On } else { State::Open }
    }

    /// Whether a feature gate is on, as it was told or read, or as an object shows that is there and would be refused without.
    #[must_use]
    pub(crate) fn told_gate(&self, name: &str) -> Option<bool> {
        if let Some(told) = self.scene.world.feature_gates.get(name) {
            return Some(*told);
        }
        let shown = || self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let known = shown().get(name).copied();
        let is_shown = known.unwrap_or_else(|| {
            let found = self.is_used(name);
            shown().insert(name.to_owned(), found);
            found
        });
        is_shown.then_some(true)
    }

    /// Looks once for what shows each gate that a pair may need, with all cores, before the pairs are judged side by side.
    pub(crate) fn look_for_gates(&self) {
        let needs = |pair: &Pair| {
            let new = pair.predicted.as_ref();
            new.map(|new| needs(&pair.key, new, true, &self.versions)).unwrap_or_default()
        };
        let wanted: BTreeSet<&str> =
            parallel::map(self.pairs, needs).into_iter().flatten().map(|need| need.gate).collect();
        let untold = wanted.into_iter().filter(|gate| !self.scene.world.feature_gates.contains_key(*gate));
        let shown: Vec<(String, bool)> = untold.map(|gate| (gate.to_owned(), self.is_used(gate))).collect();
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).extend(shown);
    }

    /// Whether a write with a field that its kind does not have is refused: kubectl and Argo CD ask the API server to be strict
    /// (`--validate`, since kubectl 1.25), and so does every apply.
    #[must_use]
    pub(crate) fn is_strict(&self) -> bool {
        let host = &self.scene.world.host;
        matches!(host.kind, Some(HostKind::Helm4 | HostKind::Kubectl | HostKind::Argocd))
            || host.method == Some(WriteMethod::ServerSideApply)
    }

    /// Whether an object that is there uses what its webhook lets through only with the gate. Machines are not asked: they
    /// are many, and they have nothing that their owner has not.
    fn is_used(&self, gate: &str) -> bool {
        let live = self.scene.view.objects();
        let candidates: Vec<&Object> = live.filter(|object| may_need(gate, object)).collect();
        // What needs a gate stands at the same place in every version that has it.
        parallel::any(&candidates, |object| {
            let needs = |value: &Value| needs(&object.key, value, true, &self.versions);
            object.value().is_ok_and(|value| needs(&value).iter().any(|need| need.gate == gate))
        })
    }

    /// The key by which an object is there: a render often leaves the namespace out on one side of a reference.
    fn there<'k>(&self, key: &'k Key) -> Cow<'k, Key> {
        let (live, rendered) = (self.scene.view, self.scene.rendered);
        if self.places.contains_key(key) || live.get(key).object().is_some() || rendered.get(key).is_some() {
            return Cow::Borrowed(key);
        }
        let alike = |other: &&Key| {
            (&other.group, &other.kind) == (&key.group, &key.kind)
                && may_be_equal(other.namespace.as_ref(), key.namespace.as_ref())
        };
        let mut found = live.named(&key.name).chain(rendered.named(&key.name)).map(|object| &object.key).filter(alike);
        match (found.next(), found.next()) {
            (Some(one), None) => Cow::Owned(one.clone()),
            (Some(one), Some(other)) if one == other && found.all(|more| more == one) => Cow::Owned(one.clone()),
            _ => Cow::Borrowed(key),
        }
    }

    /// What differs about an object.
    pub(crate) fn pair(&self, key: &Key) -> Option<&'a Pair> {
        self.place(key).and_then(|place| self.pairs.get(place))
    }

    /// What differs about the objects of a kind.
    pub(crate) fn pairs_of_kind(&self, kind: &str) -> impl Iterator<Item = &'a Pair> + use<'_, 'a> {
        let pairs = self.pairs;
        let kinds = self.kinds.get_or_init(|| {
            let mut kinds: HashMap<String, Vec<usize>> = HashMap::new();
            for (place, pair) in pairs.iter().enumerate() {
                kinds.entry(pair.key.kind.clone()).or_default().push(place);
            }
            kinds
        });
        kinds.get(kind).into_iter().flatten().filter_map(move |place| pairs.get(*place))
    }

    /// The place of an object's pair among all pairs.
    #[must_use]
    pub(crate) fn place(&self, key: &Key) -> Option<usize> {
        self.places.get(key).copied()
    }

    /// The object after the write, in the superset form.
    #[must_use]
    pub(crate) fn after(&self, key: &Key) -> Option<Arc<Value>> {
        let [_, after] = &self.forms;
        once(after, &self.there(key), |key| match self.pair(key) {
            Some(pair) => self.form(pair, pair.predicted.as_ref()),
            None => {
                let object = self.scene.view.get(key).object().or_else(|| self.scene.rendered.get(key))?;
                machines::read(object, &self.versions).map(Arc::new)
            }
        })
    }

    /// The object before the write, in the superset form.
    #[must_use]
    pub(crate) fn before(&self, key: &Key) -> Option<Arc<Value>> {
        let [before, _] = &self.forms;
        once(before, &self.there(key), |key| match self.pair(key) {
            Some(pair) => self.form(pair, pair.live.as_ref()),
            None => machines::read(self.scene.view.get(key).object()?, &self.versions).map(Arc::new),
        })
    }

    /// An object after the write with what its topology hands to it, made once.
    pub(crate) fn handed(&self, key: &Key, make: impl FnOnce() -> Option<Arc<Value>>) -> Option<Arc<Value>> {
        once(&self.handed, key, |_| make())
    }

    /// One side of a pair in the superset form.
    fn form(&self, pair: &Pair, side: Option<&Value>) -> Option<Arc<Value>> {
        side.map(|value| Arc::new(superset::value(kind(&pair.key), &pair.api_version, value, &self.versions)))
    }

    /// The object after the write, as it is written.
    #[must_use]
    pub(crate) fn written_after(&self, key: &Key) -> Option<Cow<'a, Value>> {
        let key = &*self.there(key);
        match self.pair(key) {
            Some(pair) => pair.predicted.as_ref().map(Cow::Borrowed),
            None => self.scene.before(key).or_else(|| self.scene.rendered.get(key)?.value().ok()),
        }
    }

    /// The object before the write, as it is written.
    #[must_use]
    pub(crate) fn written_before(&self, key: &Key) -> Option<Cow<'a, Value>> {
        let key = &*self.there(key);
        match self.pair(key) {
            Some(pair) => pair.live.as_ref().map(Cow::Borrowed),
            None => self.scene.before(key),
        }
    }

    /// Whether the API server holds an object before the write; one that another name stands for does not count.
    #[must_use]
    pub(crate) fn is_live(&self, key: &Key) -> bool {
        self.scene.view.get(&self.there(key)).object().is_some()
    }

    /// Whether an object is known not to be there before the write: somebody asked for it, or its kind was listed.
    #[must_use]
    pub(crate) fn is_absent(&self, key: &Key) -> bool {
        matches!(self.scene.view.get(key), Presence::Absent) && !self.is_live(key)
    }

    /// The owners of the workers of a Cluster by kind and name in its topology; the first where two claim one.
    pub(crate) fn owners_by_group(&self, cluster: &Key) -> Arc<Groups> {
        let known = || self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(groups) = known().get(cluster) {
            return Arc::clone(groups);
        }
        let mut groups = Groups::new();
        for owner in self.owners_of(cluster) {
            let own = match owner.kind.as_str() {
                MACHINE_DEPLOYMENT => "topology.cluster.x-k8s.io/deployment-name",
                MACHINE_POOL => "topology.cluster.x-k8s.io/pool-name",
                _ => continue,
            };
            let Some(value) = self.before(owner) else { continue };
            if let Some(name) = label(&value, own) {
                groups.entry((owner.kind.clone(), name.to_owned())).or_insert_with(|| owner.clone());
            }
        }
        let groups = Arc::new(groups);
        known().insert(cluster.clone(), Arc::clone(&groups));
        groups
    }

    /// The key of the Cluster that an owner belongs to.
    #[must_use]
    pub(crate) fn cluster_of(&self, key: &Key, owner: &Value) -> Option<Key> {
        if let Some(name) = cluster_name(owner) {
            return Some(contract::cluster(key.namespace.as_deref(), name));
        }
        // A chart's control plane names no cluster: the Cluster names it.
        let clusters = self.clusters.get_or_init(|| self.clusters_by_control_plane());
        let mut naming = clusters.get(&(key.kind.clone(), key.name.clone()))?.iter();
        naming.find(|cluster| may_be_equal(cluster.namespace.as_ref(), key.namespace.as_ref())).cloned()
    }

    /// The keys of the owners of Machines that belong to a Cluster, before or after the write.
    pub(crate) fn owners_of(&self, cluster: &Key) -> Vec<&Key> {
        let owners = self.owners.get_or_init(|| {
            let mut owners: HashMap<String, Vec<Key>> = HashMap::new();
            for key in self.keys(|key| kind(key).role.is_part_of_cluster()) {
                let Some(value) = self.before(&key).or_else(|| self.after(&key)) else { continue };
                if let Some(cluster) = self.cluster_of(&key, &value) {
                    owners.entry(cluster.name).or_default().push(key);
                }
            }
            owners
        });
        let named = owners.get(&cluster.name).into_iter().flatten();
        named.filter(|owner| may_be_equal(owner.namespace.as_ref(), cluster.namespace.as_ref())).collect()
    }

    /// The answer about an object under a word, made once.
    pub(crate) fn remember(
        &self,
        key: &Key,
        word: &'static str,
        make: impl FnOnce() -> Option<Answer>,
    ) -> Option<Answer> {
        let place = (key.clone(), word);
        let remembered = || self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = remembered().get(&place) {
            return known.clone();
        }
        let made = make();
        remembered().insert(place, made.clone());
        made
    }

    /// The Clusters that have a class after the write and are there before it.
    pub(crate) fn clusters_of_class(&self, class: &Key) -> Vec<Key> {
        let members = self.members.get_or_init(|| {
            let mut members: HashMap<String, Vec<Key>> = HashMap::new();
            for cluster in self.keys(|key| kind(key).role == Role::Cluster) {
                let Some(value) = self.after(&cluster).filter(|_| self.before(&cluster).is_some()) else { continue };
                if let Some(class) = text(&value, "/spec/topology/classRef/name") {
                    members.entry(class.to_owned()).or_default().push(cluster);
                }
            }
            members
        });
        members.get(&class.name).into_iter().flatten().filter(|key| self.may_have_class(key, class)).cloned().collect()
    }

    /// Whether a Cluster that names a class means this one: the class's namespace is its own unless it says another.
    fn may_have_class(&self, cluster: &Key, class: &Key) -> bool {
        let told = self.after(cluster);
        let told =
            told.as_ref().and_then(|cluster| text(cluster, "/spec/topology/classRef/namespace")).map(str::to_owned);
        may_be_equal(told.or_else(|| cluster.namespace.clone()).as_ref(), class.namespace.as_ref())
    }

    /// Every Cluster under the kind and name of its control plane.
    fn clusters_by_control_plane(&self) -> HashMap<(String, String), Vec<Key>> {
        let mut clusters: HashMap<(String, String), Vec<Key>> = HashMap::new();
        for cluster in self.keys(|key| kind(key).role == Role::Cluster) {
            let Some(value) = self.after(&cluster).or_else(|| self.before(&cluster)) else { continue };
            let text = |pointer: &str| text(&value, pointer).map(str::to_owned);
            if let (Some(kind), Some(name)) = (text("/spec/controlPlaneRef/kind"), text("/spec/controlPlaneRef/name")) {
                clusters.entry((kind, name)).or_default().push(cluster);
            }
        }
        clusters
    }

    /// The keys of all objects that are wanted, before and after the write; each object once, however it is rendered.
    fn keys(&self, wanted: impl Fn(&Key) -> bool) -> Vec<Key> {
        let known = self.pairs.iter().map(|pair| &pair.key).chain(self.scene.view.objects().map(|object| &object.key));
        let mut keys: Vec<Cow<'_, Key>> = known.filter(|key| wanted(key)).map(Cow::Borrowed).collect();
        let rendered = self.scene.rendered.objects().iter().map(|object| &object.key);
        keys.extend(rendered.filter(|key| wanted(key)).map(|key| self.at_home(key)));
        keys.sort();
        keys.dedup();
        keys.into_iter().map(Cow::into_owned).collect()
    }

    /// The key under which a rendered object is there, where the chart leaves its namespace out or says that of the release.
    fn at_home<'k>(&self, key: &'k Key) -> Cow<'k, Key> {
        let is_there = |key: &Key| self.places.contains_key(key) || self.scene.view.get(key).object().is_some();
        let Some(home) = self.scene.world.host.namespace.as_ref().filter(|_| !is_there(key)) else {
            return Cow::Borrowed(key);
        };
        let namespace = match &key.namespace {
            None => Some(home.clone()),
            Some(own) if own == home => None,
            Some(_) => return Cow::Borrowed(key),
        };
        let other = Key { namespace, ..key.clone() };
        if is_there(&other) { Cow::Owned(other) } else { Cow::Borrowed(key) }
    }

    /// Who refers to an object after the write.
    pub(crate) fn referrers(&self, key: &Key) -> Vec<&Reference> {
        let all = self.references.get_or_init(|| self.collect());
        let named = all.get(&(key.kind.clone(), key.name.clone())).into_iter().flatten();
        named.filter(|reference| may_be_equal(reference.from.namespace.as_ref(), key.namespace.as_ref())).collect()
    }

    /// Who has the name of an object in its spec after the write, in a field that does not say of which kind: providers refer to
    /// Secrets and pools by their name alone, each in a field of its own.
    pub(crate) fn mentioned_by(&self, key: &Key) -> Option<&Key> {
        let all = self.mentions.get_or_init(|| {
            let mut out: HashMap<String, Vec<Key>> = HashMap::new();
            for from in self.referring() {
                let Some(value) = self.written_after(&from) else { continue };
                let mut names = BTreeSet::new();
                if let Some(spec) = value.get("spec") {
                    references::mentioned(spec, &mut |name| names.extend([name.to_owned()]));
                }
                names.into_iter().for_each(|name| out.entry(name).or_default().push(from.clone()));
            }
            out
        });
        let mut named = all.get(&key.name).into_iter().flatten();
        named.find(|from| *from != key && may_be_equal(from.namespace.as_ref(), key.namespace.as_ref()))
    }

    /// The objects after the write that can refer to something.
    fn referring(&self) -> Vec<Key> {
        let deleted = self.pairs.iter().filter(|pair| pair.action == Action::Delete);
        let gone: BTreeSet<&Key> = deleted.map(|pair| &pair.key).collect();
        self.keys(|key| kind(key).refers(&key.group) && !gone.contains(key))
    }

    /// Reads the references of every object that can refer to something, by kind and name of what is referred to.
    fn collect(&self) -> HashMap<(String, String), Vec<Reference>> {
        let mut out: HashMap<(String, String), Vec<Reference>> = HashMap::new();
        for key in self.referring() {
            if let Some(value) = self.written_after(&key) {
                references::named(&value, &mut |kind, name| {
                    out.entry((kind.to_owned(), name.to_owned())).or_default().push(Reference { from: key.clone() });
                });
            }
        }
        out
    }
}

impl Gates for Stage<'_> {
    fn is_on(&self, gate: &str) -> Option<bool> {
        self.told_gate(gate)
    }
}

/// What is read of an object, made once and kept, except of Machines.
fn once(forms: &Forms, key: &Key, make: impl FnOnce(&Key) -> Option<Arc<Value>>) -> Option<Arc<Value>> {
    if key.kind == MACHINE {
        return make(key);
    }
    let known = || forms.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known().get(key) {
        return known.clone();
    }
    let made = make(key);
    known().insert(key.clone(), made.clone());
    made
}

/// Whether two namespaces may be the same one: a render often leaves it out.
fn may_be_equal(one: Option<&String>, other: Option<&String>) -> bool {
    one.is_none() || other.is_none() || one == other
}
