//! What a class is made of, in whichever API version it was written: its templates, and which group of a cluster uses which.
//! Read beside `exp/topology/scope/blueprint.go` of Cluster API 1.14 and the conversion of ClusterClass from v1beta1.

use crate::judge::topology::patches::may_write;
use crate::judge::topology::queue::all_deferred;
use crate::judge::topology::values::list;
use crate::kinds::contract::{CLUSTER_CLASS, CORE};
use crate::kinds::fields::text;
use crate::object::{Key, Path};
use crate::providers::kind;
use crate::tree::Value;

/// A control plane, a MachineDeployment or a pool of a topology.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// `controlPlane`, `machineDeployment` or `machinePool`, as builtin variables call it.
    pub(crate) word: &'static str,
    /// Its name in the topology; empty for the control plane.
    pub(crate) name: String,
    /// Its class of workers; empty for the control plane.
    pub(crate) class: String,
    /// Pointer to it in the Cluster; `{}` stands for its place.
    pub(crate) topology: Option<&'static str>,
    /// Its place in the list of workers.
    pub(crate) place: String,
}

/// What a template is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The infrastructure of the cluster: the object is changed in place.
    Infrastructure,
    /// The control plane: the object is changed in place, and its own controller decides.
    ControlPlane,
    /// Templates behind references: another content makes a template of another name.
    Rotated,
}

/// One template that a cluster of the class is made of.
#[derive(Debug, Clone)]
pub(crate) struct ClassPart {
    /// What it is for.
    pub(crate) role: Role,
    /// Whose it is; the infrastructure of the cluster belongs to the control plane's word without a topology.
    pub(crate) group: Group,
    /// `bootstrap` or `infrastructure`, and empty for the two that are not rotated.
    pub(crate) slot: &'static str,
    /// The reference in the class.
    pub(crate) reference: Value,
}

impl ClassPart {
    /// Key of the template.
    #[must_use]
    pub(crate) fn key(&self, class: &Key) -> Key {
        template(class, &self.reference)
    }

    /// What tells it apart from the others of its cluster.
    #[must_use]
    pub(crate) fn id(&self) -> (&'static str, String, &'static str) {
        let word = if self.role == Role::Infrastructure { "cluster" } else { self.group.word };
        (word, self.group.name.clone(), self.slot)
    }
}

/// The key of the class of a Cluster in the superset form; `None` where it has no topology.
#[must_use]
pub(crate) fn class_of(key: &Key, cluster: &Value) -> Option<Key> {
    let name = text(cluster, "/spec/topology/classRef/name")?;
    let namespace = text(cluster, "/spec/topology/classRef/namespace").map(str::to_owned);
    Some(Key::of(CORE, CLUSTER_CLASS, namespace.or_else(|| key.namespace.clone()), name))
}

/// Whether a place of a class is a list of its classes of workers, and both sides have the same ones in whatever order: a cluster asks
/// for each by its name, and what is in them is judged by itself.
#[must_use]
pub(crate) fn same_workers(old: &Value, new: &Value, path: &Path) -> bool {
    let keys = super::keys(path);
    let [spec, workers, lists] = keys[..] else { return false };
    let names = |class: &Value| {
        let pointer = format!("/{spec}/{workers}/{lists}");
        let mut names: Vec<String> =
            list(class, &pointer).map(|own| text(own, "/class").unwrap_or_default().to_owned()).collect();
        names.sort();
        names
    };
    let is_list = spec == "spec" && workers == "workers" && matches!(lists, "machineDeployments" | "machinePools");
    is_list && names(old) == names(new)
}

/// Every template that a class names, used by a cluster or not: the topology controller reads them all before it does anything
/// (`core/reconcilers/topology/cluster/blueprint.go` getBlueprint of Cluster API 1.14).
#[must_use]
pub(crate) fn templates(class_key: &Key, class: &Value) -> Vec<Key> {
    let own = ["/spec/infrastructure", "/spec/controlPlane", "/spec/controlPlane/machineInfrastructure"];
    let workers = ["/spec/workers/machineDeployments", "/spec/workers/machinePools"];
    let of_workers = workers
        .into_iter()
        .flat_map(|pointer| list(class, pointer))
        .flat_map(|worker| ["bootstrap", "infrastructure"].into_iter().filter_map(|slot| of_worker(worker, slot)));
    let holders = own.into_iter().filter_map(|pointer| class.pointer(pointer)).chain(of_workers);
    holders.filter_map(reference).map(|reference| template(class_key, reference)).collect()
}

/// The templates that a cluster is made of.
#[must_use]
pub(crate) fn parts(cluster: &Value, class: &Value) -> Vec<ClassPart> {
    let mut out = Vec::new();
    let mut add = |role, group: &Group, slot, holder: Option<&Value>| {
        if let Some(reference) = holder.and_then(reference) {
            out.push(ClassPart { role, group: group.clone(), slot, reference: reference.clone() });
        }
    };
    let control_plane = Group {
        word: "controlPlane",
        name: String::new(),
        class: String::new(),
        topology: Some("/spec/topology/controlPlane"),
        place: String::new(),
    };
    let bare = Group { topology: None, ..control_plane.clone() };
    add(Role::Infrastructure, &bare, "", class.pointer("/spec/infrastructure"));
    add(Role::ControlPlane, &control_plane, "", class.pointer("/spec/controlPlane"));
    add(Role::Rotated, &control_plane, "infrastructure", class.pointer("/spec/controlPlane/machineInfrastructure"));
    for (lists, word, topology) in [
        ("machineDeployments", "machineDeployment", "/spec/topology/workers/machineDeployments/{}"),
        ("machinePools", "machinePool", "/spec/topology/workers/machinePools/{}"),
    ] {
        let pointer = format!("/spec/topology/workers/{lists}");
        for (place, worker) in list(cluster, &pointer).enumerate() {
            let name = text(worker, "/name").unwrap_or_default().to_owned();
            let own = text(worker, "/class").unwrap_or_default().to_owned();
            let pointer = format!("/spec/workers/{lists}");
            let Some(of_class) = list(class, &pointer).find(|item| text(item, "/class") == Some(own.as_str())) else {
                continue;
            };
            let group = Group { word, name, class: own, topology: Some(topology), place: place.to_string() };
            for slot in ["bootstrap", "infrastructure"] {
                add(Role::Rotated, &group, slot, of_worker(of_class, slot));
            }
        }
    }
    out
}

/// The templates of the Machines of a Cluster that get its version and an image that no patch of its class writes.
#[must_use]
pub(crate) fn templates_with_own_image(class_key: &Key, cluster: &Value, class: &Value) -> Vec<Key> {
    let deferred = all_deferred(cluster);
    let of_machines = parts(cluster, class).into_iter().filter(|part| part.slot == "infrastructure");
    let versioned = of_machines.filter(|part| !deferred.contains(&(part.group.word, part.group.name.as_str())));
    let mut out: Vec<Key> = versioned
        .filter_map(|part| {
            let template = part.key(class_key);
            (!may_write(class, &part, kind(&template).images)).then_some(template)
        })
        .collect();
    out.sort();
    out.dedup();
    out
}

/// What holds the reference of a class of workers, under `template` up to v1beta1.
fn of_worker<'c>(class: &'c Value, slot: &str) -> Option<&'c Value> {
    class.get(slot).or_else(|| class.get("template")?.get(slot))
}

/// The key of a template that a class names.
fn template(class: &Key, reference: &Value) -> Key {
    Key::new(
        text(reference, "/apiVersion").unwrap_or_default(),
        text(reference, "/kind").unwrap_or_default(),
        class.namespace.as_deref(),
        text(reference, "/name").unwrap_or_default(),
    )
}

/// The reference to a template: `templateRef`, and `ref` up to v1beta1.
fn reference(holder: &Value) -> Option<&Value> {
    holder.get("templateRef").or_else(|| holder.get("ref")).filter(|reference| reference.is_object())
}
