//! What every judgement of one run shares: versions, rules, clock, pauses, and who refers to what.
//! What parses every owner is collected only when something asks for it.

mod forms;
mod relations;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use self::forms::Forms;
pub(crate) use self::relations::Reference;
use self::relations::{Groups, Keys, Lists};
use crate::alike::{self, Cases, Kept};
use crate::compare::Pair;
use crate::hashed::{HashMap, HashSet};
use crate::host::HostKind;
use crate::judge::Scene;
use crate::judge::topology::Member;
use crate::judge::verdict::Answer;
use crate::kinds::Versions;
use crate::kinds::gates::State;
use crate::kinds::mirror::Compared;
use crate::object::{Key, Object};
use crate::parallel;
use crate::providers::core::in_place::Updaters;
use crate::providers::gates::{is_usually_on, may_need, needs};
use crate::providers::kind;
use crate::rules::{Gates, Rules};
use crate::tree::Value;
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
    /// What all sets of versions share.
    shared: Arc<Shared<'a>>,
    /// Clusters by kind and name of the control plane that they name.
    clusters: Keys<(String, String)>,
    /// Owners of Machines by the name of their Cluster.
    owners: Keys<String>,
    /// Clusters by the name of their class.
    members: Keys<String>,
    /// Answers about whole objects that many leaves ask for.
    remembered: Mutex<HashMap<(Key, &'static str), Remembered>>,
}

/// Why the turn of other workers does not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stall {
    /// They are paused.
    Paused,
    /// Their Machines go only when somebody deletes them.
    ByHand,
    /// They are on their way, which ends by itself.
    OnTheWay,
}

/// Workers of a topology for which others wait.
#[derive(Debug)]
pub(crate) struct Stalled {
    /// Their name in the topology.
    pub(crate) name: String,
    /// Why.
    pub(crate) why: Stall,
    /// The version that their owner has.
    pub(crate) version: Option<String>,
    /// The versions of their Machines that are not being deleted.
    pub(crate) of_machines: Vec<Option<String>>,
}

/// An answer with the sets of versions that it holds for.
type Remembered = (Cases, Option<Answer>);

/// Kinds and names.
type Named = Arc<Vec<(String, Option<String>, String)>>;

/// What is found out once for all sets of versions that may be the one, as far as they do not differ.
#[derive(Default)]
struct Shared<'a> {
    /// Places of the pairs by key; the first one where a key stands twice.
    places: HashMap<&'a Key, usize>,
    /// Places of the pairs by the kind of their objects.
    kinds: OnceLock<HashMap<String, Vec<usize>>>,
    references: OnceLock<HashMap<(String, String), Vec<Reference>>>,
    /// Clusters whose class was not read, with that class.
    unread_classes: OnceLock<Vec<(Key, Key)>>,
    /// Kind and name of what the bootstrap configs of pools name.
    fed: OnceLock<HashSet<(String, String)>>,
    /// Objects by every name that stands alone in their spec.
    mentions: OnceLock<HashMap<String, Vec<Reference>>>,
    clusters: Kept<(), Lists<(String, String)>>,
    owners: Kept<(), Lists<String>>,
    members: Kept<(), Lists<String>>,
    /// Whether an object that is there shows that a feature gate is on, by the name of the gate.
    shown: Kept<String, bool>,
    /// Owners of the workers of a Cluster by kind and name in its topology.
    groups: Kept<Key, Arc<Groups>>,
    /// The workers of a Cluster for which others wait, before and after the write.
    stalled: Kept<(Key, bool), Arc<Vec<Stalled>>>,
    /// The clusters of some classes, with what becomes of their parts.
    of_classes: Kept<Vec<Key>, Arc<Vec<Member>>>,
    /// Objects that install something into the Clusters that they select.
    installers: OnceLock<Vec<Key>>,
    /// Who may update Machines in place.
    updaters: OnceLock<Updaters>,
    /// Objects before and after the write in the superset form, read once; not Machines, which are many and asked for once.
    forms: [Forms; 2],
    /// Sides of pairs in the superset form, by the memory of each and its kind, with the side itself.
    moved: Kept<(usize, &'static str), (Value, Value)>,
    /// What parts of objects name, by the memory of each, with the part itself.
    named: Kept<usize, (Value, Named)>,
    /// Owners after the write with what their topology hands to them, in the superset form.
    handed: Forms,
    /// Configs of Machines that were compared with what their owners say.
    compared: Compared,
    /// Whether the API server takes what classes make, by all that is asked of it.
    taken: Kept<String, bool>,
}

impl<'a> Stage<'a> {
    /// The stage of a run.
    #[must_use]
    pub(crate) fn new(scene: Scene<'a>, pairs: &'a [Pair], rules: &'a Rules, versions: Versions) -> Self {
        let mut places = HashMap::with_capacity_and_hasher(pairs.len(), Default::default());
        for (place, pair) in pairs.iter().enumerate() {
            places.entry(&pair.key).or_insert(place);
        }
        Self::over(Arc::new(Shared { places, ..Shared::default() }), (scene, pairs, rules), versions)
    }

    /// The stage of another set of versions that may be the one as well, which shares what does not differ; `None` where the
    /// two sets are not of the same ones.
    #[must_use]
    pub(crate) fn with(&self, versions: &Versions) -> Option<Self> {
        let same = (self.scene, self.pairs, self.rules);
        versions.is_beside(&self.versions).then(|| Self::over(Arc::clone(&self.shared), same, versions.clone()))
    }

    fn over(
        shared: Arc<Shared<'a>>,
        (scene, pairs, rules): (Scene<'a>, &'a [Pair], &'a Rules),
        versions: Versions,
    ) -> Self {
        Self {
            scene,
            pairs,
            versions,
            rules,
            shared,
            clusters: Keys::default(),
            owners: Keys::default(),
            members: Keys::default(),
            remembered: Mutex::new(HashMap::default()),
        }
    }

    /// Lets go of all that was made, which is much of many objects, while the caller goes on.
    pub(crate) fn discard(self) {
        if let Some(Shared { forms, handed, moved, named, .. }) = Arc::into_inner(self.shared) {
            parallel::discard((forms, handed, moved, named), self.pairs.len());
        }
    }

    /// The workers of a Cluster for which others wait, looked for once a side.
    pub(crate) fn stalled(
        &self,
        cluster: &Key,
        is_after: bool,
        make: impl FnOnce() -> Arc<Vec<Stalled>>,
    ) -> Arc<Vec<Stalled>> {
        self.shared.stalled.get(self.versions.case(), &(cluster.clone(), is_after), make)
    }

    /// The clusters of some classes, with what becomes of their parts, made once.
    pub(crate) fn members_of(&self, classes: &[Key], make: impl FnOnce() -> Arc<Vec<Member>>) -> Arc<Vec<Member>> {
        self.shared.of_classes.get(self.versions.case(), classes, make)
    }

    /// Who may update Machines in place, looked for once.
    #[must_use]
    pub(crate) fn updaters(&self) -> &Updaters {
        self.shared.updaters.get_or_init(|| Updaters::among(self.scene.view))
    }

    /// The objects that install something into the Clusters that they select, looked for once.
    pub(crate) fn installers(&self) -> &[Key] {
        self.shared.installers.get_or_init(|| self.keys(|key| kind(key).installs_into.is_some()))
    }

    /// What was compared for other owners.
    #[must_use]
    pub(crate) fn compared(&self) -> &Compared {
        &self.shared.compared
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
        self.is_shown(name).then_some(true)
    }

    /// Whether an object that is there shows that a feature gate is on.
    fn is_shown(&self, name: &str) -> bool {
        self.shared.shown.get(self.versions.case(), name, || self.is_used(name))
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
        for gate in untold {
            self.is_shown(gate);
        }
    }

    /// Whether a write with a field that its kind does not have is refused: kubectl and Argo CD ask the API server to be strict
    /// (`--validate`, since kubectl 1.25), and so does Helm 4 where it applies or replaces.
    #[must_use]
    pub(crate) fn is_strict(&self) -> bool {
        refuses_unknown(&self.scene)
    }

    /// Whether nobody said who writes, nor how. Flux applies on the server, and patches where a HelmRelease or its version says so: that it
    /// is Flux does not say how.
    #[must_use]
    pub(crate) fn is_of_nobody(&self) -> bool {
        let host = &self.scene.world.host;
        let is_flux = host.kind == Some(HostKind::Flux) && self.scene.way.is_none() && host.release.is_some();
        host.method.is_none() && (host.kind.is_none() || is_flux)
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

    /// What differs about an object.
    pub(crate) fn pair(&self, key: &Key) -> Option<&'a Pair> {
        self.place(key).and_then(|place| self.pairs.get(place))
    }

    /// What differs about the objects of a kind.
    pub(crate) fn pairs_of_kind(&self, kind: &str) -> impl Iterator<Item = &'a Pair> + use<'_, 'a> {
        let pairs = self.pairs;
        let kinds = self.shared.kinds.get_or_init(|| {
            let mut kinds: HashMap<String, Vec<usize>> = HashMap::default();
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
        self.shared.places.get(key).copied()
    }

    /// Whether the API server takes something that a class makes, found once for all clusters for which the same comes out.
    pub(crate) fn takes(&self, written: &str, is_taken: impl FnOnce() -> bool) -> bool {
        self.shared.taken.get(self.versions.case(), written, is_taken)
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
        let known = remembered().get(&place).cloned();
        if let Some((cases, known)) = known {
            alike::note(cases);
            return known;
        }
        // It may be made of what was admitted before.
        let (cases, made) = alike::inherited(make);
        remembered().insert(place, (cases, made.clone()));
        made
    }
}

impl Gates for Stage<'_> {
    fn is_on(&self, gate: &str) -> Option<bool> {
        self.told_gate(gate)
    }
}

/// Whether a write of this way by this host is refused where it has a field that its kind does not have. Helm 4 asks to be strict where
/// it applies or replaces, and not where it patches; Helm 3 never does (helm `pkg/kube/client.go`, `patchResourceServerSide`,
/// `replaceResource`, `patchResourceClientSide`, v4.3). Flux applies what is of no release (kustomize-controller).
pub(crate) fn refuses_unknown(scene: &Scene<'_>) -> bool {
    let host = &scene.world.host;
    match (host.kind, scene.way.or(host.method)) {
        (Some(HostKind::Kubectl | HostKind::Argocd), _) | (_, Some(WriteMethod::ServerSideApply)) => true,
        (kind, Some(WriteMethod::Replace)) => kind != Some(HostKind::Helm3),
        (kind, None) => kind == Some(HostKind::Helm4) || kind == Some(HostKind::Flux) && host.release.is_none(),
        (_, Some(_)) => false,
    }
}
