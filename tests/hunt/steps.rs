//! What a walk can do next: writes of a release, which are forecast and compared, and what happens to a cluster beside them.
//! The situations in which forecasts have gone wrong are drawn most often, and what is special about a cluster is soon undone.

mod edits;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::objects::{Edit, Objects, Shape, machine_template, text};
use crate::seed::Seed;
use crate::situations;
use crate::stage::Writer;

/// How the writer writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// As it does when nothing is said.
    Plain,
    /// Each object put in the place of the old one: `helm upgrade --force`, `kubectl replace`.
    Replace,
}

/// One write of the whole release.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Write {
    /// Which kind of situation it stands for.
    pub(crate) class: String,
    pub(crate) edits: Vec<Edit>,
    pub(crate) way: Way,
    /// Whether it is written while an earlier one is still being carried out.
    pub(crate) hurried: bool,
}

/// Something that happens beside the release.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Act {
    /// A Machine gets the condition that health checks look for, or loses it.
    Sick(usize, bool),
    /// Somebody patches an object: `group/version`, resource, name, merge patch.
    Patch(String, String, String, Value),
    /// Somebody patches a Machine.
    PatchMachine(usize, Value),
    /// Somebody deletes an object.
    Delete(String, String, String),
    /// A MachineDeployment goes and leaves its MachineSets without an owner.
    Orphan(String),
    /// Somebody deletes a Machine.
    DeleteMachine(usize),
    /// Somebody patches a MachineSet.
    PatchSet(usize, Value),
    /// Somebody makes an object, past the release or of another one: list path below the namespace, object.
    Make(String, Value),
    /// Objects of the same names stand in another namespace.
    Twin,
    /// The namespace is deleted: it stays, and nothing new is made in it.
    End,
    /// The record of the release is lost, and its objects stay: the next write is an install over them.
    Forget,
    /// Another program writes the release from now on.
    TakenOver(Writer),
}

/// One step of a walk.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Step {
    Write(Write),
    Act(Act),
}

const CAPI: &str = "cluster.x-k8s.io/v1beta2";
const PAUSED: &str = "/metadata/annotations/cluster.x-k8s.io~1paused";

/// What the next step is drawn from.
#[derive(Debug)]
pub(crate) struct Draw<'a> {
    pub(crate) shape: Shape,
    /// The objects as they were written last.
    pub(crate) objects: &'a Objects,
    /// Earlier renders.
    pub(crate) past: &'a [Objects],
    /// How many Machines there are.
    pub(crate) machines: usize,
    /// Whether the last write is still being carried out.
    pub(crate) under_way: bool,
}

impl Draw<'_> {
    /// The next step.
    pub(crate) fn step(&self, seed: &mut Seed) -> Step {
        if seed.chance(24)
            && let Some(act) = self.act(seed)
        {
            return Step::Act(act);
        }
        let mut edits = Vec::new();
        let mut class = "";
        if self.under_way && seed.chance(50) {
            // Back, or more and fewer Machines, while the last change is still being carried out.
            let back = seed.chance(50);
            edits = if back { self.back() } else { self.replicas(seed) };
            class = if back { "reverted" } else { "scaled under way" };
        }
        let release = if edits.is_empty() { self.releases() } else { Vec::new() };
        if !release.is_empty() && seed.chance(40) {
            edits.push(seed.pick(&release).clone());
            class = "released";
        }
        let wanted = if edits.is_empty() {
            1 + usize::from(seed.chance(30)) + usize::from(seed.chance(10))
        } else {
            usize::from(seed.chance(25) && !self.under_way)
        };
        for _ in 0..wanted {
            let (own, more) = self.edits(seed);
            class = if class.is_empty() { own } else { class };
            edits.extend(more);
        }
        let way = if seed.chance(5) { Way::Replace } else { Way::Plain };
        let class = if way == Way::Replace { "replaced" } else { class };
        Step::Write(Write { class: class.to_owned(), edits, way, hurried: seed.chance(18) })
    }

    /// Edits that let go what waits.
    fn releases(&self) -> Vec<Edit> {
        let mut edits = Vec::new();
        for (name, object) in self.objects {
            if object.pointer("/spec/paused").is_some_and(|paused| paused == true) {
                edits.push(Edit::Unset(name.clone(), "/spec/paused".to_owned()));
            }
            let waits = ["paused", "skip-remediation", "remediate-machine"];
            for (place, marks) in [
                ("/metadata/annotations", object.pointer("/metadata/annotations")),
                ("/spec/template/metadata/annotations", object.pointer("/spec/template/metadata/annotations")),
            ] {
                for wait in waits {
                    let key = format!("cluster.x-k8s.io/{wait}");
                    if marks.is_some_and(|marks| marks.get(&key).is_some()) {
                        edits.push(Edit::Unset(name.clone(), format!("{place}/{}", key.replace('/', "~1"))));
                    }
                }
            }
            for pointer in [
                "/spec/template/spec/infrastructureRef/name",
                "/spec/template/spec/bootstrap/configRef/name",
                "/spec/machineTemplate/spec/infrastructureRef/name",
            ] {
                let template = object.pointer(pointer).map(text).unwrap_or_default();
                let is_config = pointer.contains("configRef");
                let kind = if is_config { self.shape.config_kind() } else { "DevMachineTemplate" };
                if !template.is_empty() && !self.objects.contains_key(&format!("{kind}/{template}")) {
                    let made = if kind == "DevMachineTemplate" {
                        machine_template(&template)
                    } else {
                        self.shape.config_template(&template)
                    };
                    edits.push(Edit::Put(made));
                }
            }
        }
        // What the first render had and this one lacks.
        let first = self.shape.objects();
        edits.extend(
            first
                .iter()
                .filter(|(name, _)| !self.objects.contains_key(*name))
                .map(|(_, object)| Edit::Put(object.clone())),
        );
        edits
    }

    fn of_kind(&self, kind: &str) -> Vec<String> {
        self.objects.keys().filter(|name| name.starts_with(&format!("{kind}/"))).cloned().collect()
    }

    /// The edits of one change, with its class.
    fn edits(&self, seed: &mut Seed) -> (&'static str, Vec<Edit>) {
        // The classes of a topology have nothing to do elsewhere.
        let has_class = matches!(self.shape, Shape::Topology(_));
        match seed.below(100) {
            0..=7 if has_class => ("topology", situations::topology(self, seed)),
            8..=14 if has_class => ("class", situations::class(self, seed)),
            0..=12 => ("field", self.field(seed)),
            13..=20 => ("limits", situations::limits(self, seed)),
            21..=27 => ("version", self.version(seed)),
            28..=34 => ("replicas", self.replicas(seed)),
            35..=43 => ("paused", self.pause(seed)),
            44..=50 => ("template", self.template(seed)),
            51..=58 => ("health check", self.health(seed)),
            59..=64 => ("removed", self.remove(seed)),
            65..=70 => ("refused", self.refused(seed)),
            71..=75 => ("labels", self.labels(seed)),
            76..=78 => ("rollback", self.rollback(seed)),
            79..=82 => ("strategy", self.strategy(seed)),
            83..=84 => ("order", self.order(seed)),
            85..=89 => ("other version", situations::version(self.objects, seed)),
            90..=92 => ("hook", situations::hook(self.objects, seed)),
            93..=95 => ("marks", situations::marks(self, seed)),
            96..=97 => ("names", situations::names(self, seed)),
            _ => ("nothing", self.nothing(seed)),
        }
    }

    /// Something beside the release.
    fn act(&self, seed: &mut Seed) -> Option<Act> {
        if self.machines == 0 {
            return None;
        }
        if seed.chance(20) {
            return Some(situations::around(self, seed));
        }
        if seed.chance(35) {
            return situations::others(self, seed);
        }
        if seed.chance(35) {
            return situations::act(self, seed);
        }
        let machine = seed.below(self.machines);
        let groups = self.of_kind("MachineDeployment");
        let group =
            (!groups.is_empty()).then(|| seed.pick(&groups).trim_start_matches("MachineDeployment/").to_owned());
        let mark = |mark: &str, value: Value| json!({"metadata": {"annotations": {format!("cluster.x-k8s.io/{mark}"): value}}});
        match (seed.below(10), group) {
            (0..=2, _) => Some(Act::Sick(machine, true)),
            (3, _) => Some(Act::Sick(machine, false)),
            (4, _) => Some(Act::PatchMachine(machine, mark("paused", seed.pick(&[json!(""), Value::Null]).clone()))),
            (5, _) => Some(Act::PatchMachine(machine, mark("skip-remediation", json!("")))),
            (6, Some(group)) => Some(Act::Orphan(group)),
            (7, Some(group)) => Some(Act::Patch(
                CAPI.to_owned(),
                "machinedeployments".to_owned(),
                group,
                json!({"spec": {"replicas": 1 + seed.below(3)}}),
            )),
            (8, Some(group)) => {
                Some(Act::Patch(CAPI.to_owned(), "machinedeployments".to_owned(), group, mark("paused", json!(""))))
            }
            (9, _) if !self.shape.is_rke2() => Some(Act::Delete(
                "bootstrap.cluster.x-k8s.io/v1beta2".to_owned(),
                "kubeadmconfigtemplates".to_owned(),
                "workers".to_owned(),
            )),
            _ => None,
        }
    }
}
