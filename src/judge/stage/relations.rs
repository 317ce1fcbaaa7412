//! Who belongs to whom and who refers to what, collected once a run when something asks.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use super::Stage;
use crate::alike::{self, Cases, Kept};
use crate::compare::{Action, Pair};
use crate::hashed::{HashMap, HashSet};
use crate::judge::topology::class_of;
use crate::kinds::contract::{MACHINE_DEPLOYMENT, MACHINE_POOL, TOPOLOGY_DEPLOYMENT, TOPOLOGY_POOL};
use crate::kinds::fields::{cluster_name, label, target, text};
use crate::kinds::{Role, contract, references};
use crate::object::{Key, may_be_equal};
use crate::providers::{is_compared, kind};
use crate::tree::Value;
use crate::world::LiveKind;

/// One object that refers to another one after the write.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    /// Who refers.
    pub(crate) from: Key,
    /// The namespace of what is referred to, where the reference says it.
    namespace: Option<String>,
}

impl Reference {
    /// Whether it may mean an object of its kind and name.
    fn may_mean(&self, key: &Key) -> bool {
        may_be_equal(self.namespace.as_ref().or(self.from.namespace.as_ref()), key.namespace.as_ref())
    }
}

/// Keys by what they are looked up under.
pub(super) type Lists<K> = Arc<HashMap<K, Vec<Key>>>;

/// Keys by what they are looked up under, collected once for a set of versions or taken from another one.
pub(super) struct Keys<K>(OnceLock<(Cases, Lists<K>)>);

impl<K> Default for Keys<K> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<K: Eq + Hash> Keys<K> {
    fn get(
        &self,
        case: usize,
        kept: &Kept<(), Lists<K>>,
        collect: impl FnOnce() -> HashMap<K, Vec<Key>>,
    ) -> &HashMap<K, Vec<Key>> {
        let (cases, keys) = self.0.get_or_init(|| alike::scope(|| kept.get(case, &(), || Arc::new(collect()))));
        alike::note(*cases);
        keys
    }
}

/// The owners of the workers of one Cluster, by their kind and their name in its topology.
pub(crate) type Groups = HashMap<(String, String), Key>;

impl Stage<'_> {
    /// The owners of the workers of a Cluster by kind and name in its topology; the first where two claim one.
    pub(crate) fn owners_by_group(&self, cluster: &Key) -> Arc<Groups> {
        self.shared.groups.get(self.versions.case(), cluster, || Arc::new(self.grouped(cluster)))
    }

    fn grouped(&self, cluster: &Key) -> Groups {
        let mut groups = Groups::default();
        for owner in self.owners_of(cluster) {
            let own = match owner.kind.as_str() {
                MACHINE_DEPLOYMENT => TOPOLOGY_DEPLOYMENT,
                MACHINE_POOL => TOPOLOGY_POOL,
                _ => continue,
            };
            let Some(value) = self.before(owner) else { continue };
            if let Some(name) = label(&value, own) {
                groups.entry((owner.kind.clone(), name.to_owned())).or_insert_with(|| owner.clone());
            }
        }
        groups
    }

    /// The key of the Cluster that an owner belongs to. A control plane is that of the Cluster that refers to it, whatever it says itself:
    /// its controller goes by the owner that the Cluster's controller writes into it (`controlplane/kubeadm/controllers/controller.go`
    /// Reconcile, `core/reconcilers/cluster/cluster_controller_phases.go` reconcileExternal of Cluster API 1.14).
    #[must_use]
    pub(crate) fn cluster_of(&self, key: &Key, owner: &Value) -> Option<Key> {
        let told = || cluster_name(owner).map(|name| contract::cluster(key.namespace.as_deref(), name));
        if kind(key).role == Role::ControlPlane { self.cluster_referring_to(key).or_else(told) } else { told() }
    }

    /// The Cluster that refers to a control plane.
    fn cluster_referring_to(&self, key: &Key) -> Option<Key> {
        let clusters =
            self.clusters.get(self.versions.case(), &self.shared.clusters, || self.clusters_by_control_plane());
        let mut naming = clusters.get(&(key.kind.clone(), key.name.clone()))?.iter();
        naming.find(|cluster| may_be_equal(cluster.namespace.as_ref(), key.namespace.as_ref())).cloned()
    }

    /// The keys of the owners of Machines that belong to a Cluster, before or after the write.
    pub(crate) fn owners_of(&self, cluster: &Key) -> Vec<&Key> {
        let owners = self.owners.get(self.versions.case(), &self.shared.owners, || {
            let mut owners: HashMap<String, Vec<Key>> = HashMap::default();
            for key in self.keys(|key| kind(key).role.is_part_of_cluster()) {
                let Some(value) = self.before(&key).or_else(|| self.after(&key)) else { continue };
                if let Some(cluster) = self.cluster_of(&key, &value) {
                    owners.entry(cluster.name.clone()).or_default().push(key);
                }
            }
            owners
        });
        let named = owners.get(&cluster.name).into_iter().flatten();
        named.filter(|owner| may_be_equal(owner.namespace.as_ref(), cluster.namespace.as_ref())).collect()
    }

    /// The Clusters that have a class after the write and are there before it.
    pub(crate) fn clusters_of_class(&self, class: &Key) -> Vec<Key> {
        let members = self.members.get(self.versions.case(), &self.shared.members, || {
            let mut members: HashMap<String, Vec<Key>> = HashMap::default();
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

    /// Whether all that was read is an old render, which shows its own release alone.
    pub(crate) fn is_of_renders(&self) -> bool {
        self.scene.world.source.kind == LiveKind::OldRender
    }

    /// Clusters, each with its class, where that class is not in an old render that is all that was read.
    pub(crate) fn unread_classes(&self) -> &[(Key, Key)] {
        self.shared.unread_classes.get_or_init(|| {
            let clusters = self.keys(|key| kind(key).role == Role::Cluster && self.is_of_renders());
            let with_class = clusters.into_iter().filter_map(|cluster| {
                let class = class_of(&cluster, &*self.after(&cluster)?)?;
                Some((cluster, class))
            });
            with_class
                .filter(|(_, class)| self.written_before(class).is_none() && self.written_after(class).is_none())
                .collect()
        })
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
        let mut clusters: HashMap<(String, String), Vec<Key>> = HashMap::default();
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
    pub(crate) fn keys(&self, wanted: impl Fn(&Key) -> bool) -> Vec<Key> {
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
        let is_there = |key: &Key| self.shared.places.contains_key(key) || self.scene.view.get(key).object().is_some();
        let Some(home) = self.scene.world.host.namespace.as_ref().filter(|_| !is_there(key)) else {
            return Cow::Borrowed(key);
        };
        let namespace = match &key.namespace {
            None => Some(home.clone()),
            Some(own) if own == home => None,
            Some(_) => return Cow::Borrowed(key),
        };
        let other = key.in_namespace(namespace);
        if is_there(&other) { Cow::Owned(other) } else { Cow::Borrowed(key) }
    }

    /// Who refers to an object after the write.
    pub(crate) fn referrers(&self, key: &Key) -> Vec<&Reference> {
        let all = self.shared.references.get_or_init(|| self.collect());
        let named = all.get(&(key.kind.clone(), key.name.clone())).into_iter().flatten();
        named.filter(|reference| reference.may_mean(key)).collect()
    }

    /// Who has the name of an object in its spec after the write, in a field that does not say of which kind: providers refer to
    /// Secrets and pools by their name alone, each in a field of its own.
    pub(crate) fn mentioned_by(&self, key: &Key) -> Option<&Key> {
        let all = self.shared.mentions.get_or_init(|| {
            let mut out: HashMap<String, Vec<Reference>> = HashMap::default();
            for from in self.referring() {
                let Some(value) = self.written_after(&from) else { continue };
                let mut names = BTreeSet::new();
                if let Some(spec) = value.get("spec") {
                    references::mentioned(spec, &mut |namespace, name| {
                        names.insert((name.to_owned(), namespace.map(str::to_owned)));
                    });
                }
                for (name, namespace) in names {
                    out.entry(name).or_default().push(Reference { from: from.clone(), namespace });
                }
            }
            out
        });
        let mut named = all.get(&key.name).into_iter().flatten();
        named.find(|reference| reference.from != *key && reference.may_mean(key)).map(|reference| &reference.from)
    }

    /// The control plane of the cluster that an object belongs to, after the write.
    pub(crate) fn control_plane_of(&self, key: &Key, object: &Value) -> Option<Arc<Value>> {
        let cluster = self.cluster_of(key, object)?;
        let reference = self.after(&cluster)?;
        self.after(&target(reference.pointer("/spec/controlPlaneRef")?, cluster.namespace.as_deref())?)
    }

    /// Whether the bootstrap config of a pool names an object after the write. Configs of Machines are not asked: they were read
    /// when the Machine was made.
    pub(crate) fn feeds_pool(&self, key: &Key) -> bool {
        let fed = self.shared.fed.get_or_init(|| {
            let mut out: HashSet<(String, String)> = HashSet::default();
            for pool in self.keys(|key| kind(key).role == Role::Pool) {
                let Some(value) = self.written_after(&pool) else { continue };
                for reference in references::references(&value) {
                    let group = reference.group.unwrap_or_else(|| contract::BOOTSTRAP.to_owned());
                    let namespace = pool.namespace.clone();
                    let config = Key::of(group, reference.kind, namespace, reference.name);
                    if kind(&config).role == Role::Config
                        && let Some(value) = self.written_after(&config)
                    {
                        references::named(&value, &mut |named| {
                            out.insert((named.kind.to_owned(), named.name.to_owned()));
                        });
                    }
                }
            }
            out
        });
        fed.contains(&(key.kind.clone(), key.name.clone()))
    }

    /// The objects after the write that can refer to something.
    fn referring(&self) -> Vec<Key> {
        let deleted = self.pairs.iter().filter(|pair| pair.action == Action::Delete).map(|pair| pair.key.clone());
        let replaced = self.pairs.iter().filter(|pair| pair.takes_over).filter_map(Pair::predecessor);
        let gone: BTreeSet<Key> = deleted.chain(replaced).collect();
        // What others feel through references alone refers to nothing itself, but for infrastructure.
        let may_refer = |key: &Key| {
            let known = kind(key);
            known.refers(&key.group) || known.role == Role::Other && !known.by_reference && is_compared(&key.group)
        };
        self.keys(|key| may_refer(key) && !gone.contains(key))
    }

    /// Reads the references of every object that can refer to something, by kind and name of what is referred to.
    fn collect(&self) -> HashMap<(String, String), Vec<Reference>> {
        let mut out: HashMap<(String, String), Vec<Reference>> = HashMap::default();
        for key in self.referring() {
            if let Some(value) = self.written_after(&key) {
                references::named(&value, &mut |named| {
                    let namespace = named.namespace.map(str::to_owned);
                    let at = (named.kind.to_owned(), named.name.to_owned());
                    out.entry(at).or_default().push(Reference { from: key.clone(), namespace });
                });
            }
        }
        out
    }
}
