//! Mirror of the MachineDeployment controller: which MachineSets are old, and why.
//! Read beside `core/reconcilers/machinedeployment/mdutil/util.go` (MachineTemplateUpToDate, FindNewAndOldMachineSets)
//! of Cluster API 1.14; up to 1.13 it is `internal/controllers/machinedeployment/mdutil/util.go`.

use std::cmp::Reverse;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::judge::Scene;
use crate::kinds::diff;
use crate::kinds::diff::Style;
use crate::kinds::machines;
use crate::kinds::machines::{number, text};
use crate::model::cause::Cause;
use crate::object::{Key, Object, Path};
use crate::providers::kubeadm::mirror::{derived_creation, with_v};
use crate::rules::Versions;

/// What the Go types of a Machine template keep apart.
const STYLE: Style = Style { keep_empty: &[], drop_zero: &[], keep_blank: &["dataSecretName"] };

/// The same for v1beta1 up to 1.10, where a reference and a failure domain are pointers.
const OLD_STYLE: Style =
    Style { keep_empty: &["configRef"], drop_zero: &[], keep_blank: &["dataSecretName", "failureDomain"] };

/// Template fields that are carried to Machines in place, so that they never make a MachineSet old.
const IN_PLACE: &[&str] = &["clusterName", "providerID", "minReadySeconds", "readinessGates", "deletion", "taints"];

/// A MachineSet with its Machines.
#[derive(Clone)]
pub struct Set {
    /// Its name; empty where it is derived.
    pub name: String,
    /// The MachineSet in the superset form.
    pub value: Value,
    /// Names of its Machines that are not being deleted, where they could be read.
    pub machines: Vec<String>,
    /// How many Machines it has.
    pub count: u64,
}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, machines, count, .. } = self;
        let mut shown = f.debug_struct("Set");
        shown.field("name", name).field("machines", machines).field("count", count).finish_non_exhaustive()
    }
}

/// The reasons why a MachineSet does not match its MachineDeployment (MachineTemplateUpToDate).
#[must_use]
pub fn template_differs(set: &Value, owner: &Value, versions: &Versions) -> Vec<Cause> {
    let rollout_fields = |object: &Value| {
        let mut spec = object.pointer("/spec/template/spec").cloned().unwrap_or_else(|| json!({}));
        if let Some(map) = spec.as_object_mut() {
            IN_PLACE.iter().for_each(|key| drop(map.remove(*key)));
            // 1.9 stopped to compare the namespace of references, 1.11 knows nothing but group, kind and name.
            let gone: &[&str] = match versions.get("cluster-api").minor {
                ..9 => &[],
                9 | 10 => &["namespace"],
                _ => &["namespace", "uid", "resourceVersion", "fieldPath"],
            };
            for pointer in ["/bootstrap/configRef", "/infrastructureRef"] {
                if let Some(reference) = spec.pointer_mut(pointer).and_then(Value::as_object_mut) {
                    gone.iter().for_each(|key| drop(reference.remove(*key)));
                }
            }
        }
        let style = if versions.capi(11) { STYLE } else { OLD_STYLE };
        diff::prune(&mut spec, style);
        spec
    };
    let (have, want) = (rollout_fields(set), rollout_fields(owner));
    let at = Path::root().key("spec").key("template").key("spec");
    diff::places(Some(&have), Some(&want), &at)
        .into_iter()
        .filter_map(|path| {
            let below = path.to_string();
            let rule = match below.strip_prefix("spec.template.spec.")?.split('.').next()? {
                "version" => "md/version",
                "bootstrap" => "md/bootstrap",
                "infrastructureRef" => "md/infrastructure-template",
                "failureDomain" => "md/failure-domain",
                _ if versions.capi(9) => return None,
                _ => "md/template",
            };
            let word = |value: &Value| path_text(value, &path);
            Some(Cause { rule, detail: format!("{} to {}", word(set), word(owner)), path })
        })
        .collect()
}

/// The text at a path, or a dash.
fn path_text(value: &Value, path: &Path) -> String {
    match path.get(value) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "nothing".to_owned(),
    }
}

/// The reasons why each MachineSet is old, in the given order; none for the one that is kept (FindNewAndOldMachineSets).
#[must_use]
pub fn outdated(sets: &[Set], owner: &Value, versions: &Versions, now: Timestamp) -> Vec<Vec<Cause>> {
    let mut causes: Vec<Vec<Cause>> = sets.iter().map(|set| template_differs(&set.value, owner, versions)).collect();
    let mut candidates: Vec<usize> = (0..sets.len()).filter(|place| causes[*place].is_empty()).collect();
    candidates.sort_by_key(|place| (Reverse(number(&sets[*place].value, "/spec/replicas")), sets[*place].name.clone()));
    let after = text(owner, "/spec/rollout/after").and_then(|stamp| stamp.parse::<Timestamp>().ok());
    // Up to 1.7 the time itself is not over yet, and a MachineSet made in the same second is kept.
    let due = after.filter(|after| if versions.capi(8) { now >= *after } else { now > *after });
    let keeps_equal = versions.capi(10) || !versions.capi(8);
    let kept = candidates.iter().copied().find(|place| match due {
        None => true,
        Some(after) => {
            let created = text(&sets[*place].value, "/metadata/creationTimestamp");
            // In 1.8 and 1.9 a MachineSet made in the same second is old, since 1.10 it is kept again.
            created
                .and_then(|stamp| stamp.parse::<Timestamp>().ok())
                .is_none_or(|created| if keeps_equal { created >= after } else { created > after })
        }
    });
    for place in candidates.into_iter().filter(|place| Some(*place) != kept) {
        causes[place].push(match due {
            Some(after) => Cause::at("md/rollout-after", &["spec", "rollout", "after"], format!("{after} is over")),
            None => Cause::at("md/duplicate-set", &["spec", "template"], "another MachineSet matches as well"),
        });
    }
    causes
}

/// The live MachineSets of a MachineDeployment.
#[must_use]
pub fn sets(scene: Scene<'_>, owner: &Key, versions: &Versions) -> Vec<Set> {
    let namespace = owner.namespace.as_deref();
    let own = scene.view.owned_by("MachineDeployment", &owner.name);
    own.filter(|object| object.key.kind == "MachineSet" && machines::is_in(object, namespace))
        .filter_map(|object| Some(set(scene, &object.key, machines::read(object, versions)?)))
        .collect()
}

/// A live MachineSet with its Machines.
#[must_use]
pub fn set(scene: Scene<'_>, key: &Key, value: Value) -> Set {
    let namespace = key.namespace.as_deref();
    let stays = |object: &&Object| {
        let stamp = |machine: &Value| machine.pointer("/metadata/deletionTimestamp").is_none_or(Value::is_null);
        object.value().is_ok_and(|machine| stamp(&machine))
    };
    let own = scene.view.owned_by("MachineSet", &key.name);
    let own = own.filter(|object| object.key.kind == "Machine" && machines::is_in(object, namespace)).filter(stays);
    let names: Vec<String> = own.map(|object| object.key.name.clone()).collect();
    // Where not one Machine was read, the status says how many there are.
    let seen = !names.is_empty()
        || machines::live(scene, "cluster.x-k8s.io", "Machine", namespace).any(|object| stays(&object));
    let told = number(&value, "/status/replicas").or_else(|| number(&value, "/spec/replicas")).unwrap_or(0);
    let count = if seen { u64::try_from(names.len()).unwrap_or(told) } else { told };
    Set { name: key.name.clone(), value, machines: names, count }
}

/// The MachineSet that the owner would have made.
#[must_use]
pub fn derived(owner: &Value, now: Timestamp) -> Vec<Set> {
    let template = owner.pointer("/spec/template").cloned().unwrap_or_default();
    let count = number(owner, "/spec/replicas").unwrap_or(1);
    let value = json!({
        "metadata": {"creationTimestamp": derived_creation(owner, now)},
        "spec": {"replicas": count, "template": template},
    });
    vec![Set { name: String::new(), value, machines: Vec::new(), count }]
}

/// The owner with what the webhook fills in (`machinedeployment.go` Default).
pub fn default(owner: &mut Value) {
    with_v(owner.pointer_mut("/spec/template/spec/version"));
}

/// Whether Machines are only replaced when somebody deletes them.
#[must_use]
pub fn is_on_delete(owner: &Value) -> bool {
    text(owner, "/spec/rollout/strategy/type") == Some("OnDelete")
}
