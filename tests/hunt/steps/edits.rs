//! The edits of one change, class by class, as people make them.

use serde_json::{Value, json};

use super::{Draw, PAUSED};
use crate::objects::{Edit, Objects, Shape, config_template, health_check, machine_template, text, workers};
use crate::seed::Seed;
use crate::tables::tables;

impl Draw<'_> {
    /// Any field of the tables.
    pub(super) fn field(&self, seed: &mut Seed) -> Vec<Edit> {
        let bases = [
            ("KubeadmControlPlane", "KubeadmControlPlane/v1beta2/small"),
            ("KubeadmControlPlane", "KubeadmControlPlane/v1beta2/full"),
            ("RKE2ControlPlane", "RKE2ControlPlane/v1beta1/small"),
            ("RKE2ControlPlane", "RKE2ControlPlane/v1beta1/full"),
            ("MachineDeployment", "MachineDeployment/v1beta2/small"),
            ("MachineDeployment", "MachineDeployment/v1beta2/full"),
            ("MachineHealthCheck", "MachineHealthCheck/v1beta2/full"),
            ("KubeadmConfigTemplate", "KubeadmConfigTemplate/v1beta2/small"),
            ("RKE2ConfigTemplate", "RKE2ConfigTemplate/v1beta1/full"),
            ("KubeadmControlPlaneTemplate", "KubeadmControlPlaneTemplate/v1beta2/small"),
            ("DevMachineTemplate", "DevMachineTemplate/v1beta2/full"),
            ("Cluster", "Cluster/v1beta2/small"),
        ];
        // These have classes of their own, or leave nothing to look at.
        let others = [
            "/replicas",
            "/version",
            "Ref",
            "clusterName",
            "/paused",
            "/metadata/name",
            "controlPlaneEndpoint",
            "/topology",
            "/selector",
        ];
        for _ in 0..20 {
            let (kind, base) = *seed.pick(&bases);
            let Some(name) = self.of_kind(kind).first().cloned() else { continue };
            let (_, patch) = seed.pick(&tables()[base].patches);
            let edit = |operation: &Value| {
                let path = text(&operation["path"]);
                if others.iter().any(|other| path.contains(other)) {
                    return None;
                }
                Some(match operation.get("value") {
                    Some(value) => Edit::Set(name.clone(), path, value.clone()),
                    None => Edit::Unset(name.clone(), path),
                })
            };
            if let Some(edits) = patch.iter().map(edit).collect::<Option<Vec<_>>>() {
                return edits;
            }
        }
        Vec::new()
    }

    /// The owners of Machines: name and where their version stands.
    fn owners(&self) -> Vec<(String, &'static str)> {
        let mut owners = Vec::new();
        for (kind, pointer) in [
            ("KubeadmControlPlane", "/spec/version"),
            ("RKE2ControlPlane", "/spec/version"),
            ("MachineDeployment", "/spec/template/spec/version"),
        ] {
            owners.extend(self.of_kind(kind).into_iter().map(|name| (name, pointer)));
        }
        if let Shape::Topology(_) = self.shape {
            owners.push(("Cluster/demo".to_owned(), "/spec/topology/version"));
        }
        owners.retain(|(name, _)| self.objects.contains_key(name));
        owners
    }

    pub(super) fn version(&self, seed: &mut Seed) -> Vec<Edit> {
        let owners = self.owners();
        if owners.is_empty() {
            return Vec::new();
        }
        let now = |(name, pointer): &(String, &str)| self.objects[name].pointer(pointer).map(text).unwrap_or_default();
        let next = |version: &str| match version {
            "v1.34.0" => "v1.34.1",
            "v1.34.1" => "v1.34.2",
            "v1.34.1+rke2r1" => "v1.34.2+rke2r1",
            "v1.34.2+rke2r1" => "v1.34.1+rke2r1",
            _ => "v1.35.0",
        };
        let one = seed.pick(&owners).clone();
        let version = next(&now(&one));
        let all = seed.chance(40);
        let moved = owners.iter().filter(|owner| all || **owner == one);
        moved.map(|(name, pointer)| Edit::Set(name.clone(), (*pointer).to_owned(), json!(version))).collect()
    }

    pub(super) fn replicas(&self, seed: &mut Seed) -> Vec<Edit> {
        if let Shape::Topology(_) = self.shape {
            let (pointer, count) = match seed.below(4) {
                0 => ("/spec/topology/controlPlane/replicas", *seed.pick(&[1, 3])),
                1 => ("/spec/topology/workers/machineDeployments/1/replicas", seed.below(3)),
                _ => ("/spec/topology/workers/machineDeployments/0/replicas", seed.below(4)),
            };
            return vec![Edit::Set("Cluster/demo".to_owned(), pointer.to_owned(), json!(count))];
        }
        let groups = self.of_kind("MachineDeployment");
        let planes = match self.shape {
            Shape::Rke2 => Vec::new(),
            Shape::Rke2Servers(_) => self.of_kind("RKE2ControlPlane"),
            _ => self.of_kind("KubeadmControlPlane"),
        };
        if groups.is_empty() || (seed.chance(20) && !planes.is_empty()) {
            let count = *seed.pick(&[1, 3, 3, 2, 0]);
            return planes
                .first()
                .map(|name| Edit::Set(name.clone(), "/spec/replicas".to_owned(), json!(count)))
                .into_iter()
                .collect();
        }
        let name = seed.pick(&groups).clone();
        vec![Edit::Set(name, "/spec/replicas".to_owned(), json!(seed.below(4)))]
    }

    pub(super) fn pause(&self, seed: &mut Seed) -> Vec<Edit> {
        let kinds = [
            "Cluster",
            "KubeadmControlPlane",
            "RKE2ControlPlane",
            "MachineDeployment",
            "MachineHealthCheck",
            "ClusterClass",
        ];
        let names: Vec<String> = kinds.iter().flat_map(|kind| self.of_kind(kind)).collect();
        if names.is_empty() {
            return Vec::new();
        }
        if let Shape::Topology(_) = self.shape
            && seed.chance(25)
        {
            let mark = *seed.pick(&["paused", "machineset.cluster.x-k8s.io/skip-preflight-checks"]);
            let mark = if mark == "paused" { "cluster.x-k8s.io~1paused".to_owned() } else { mark.replace('/', "~1") };
            let pointer = format!("/spec/topology/workers/machineDeployments/0/metadata/annotations/{mark}");
            return vec![Edit::Set("Cluster/demo".to_owned(), pointer, json!("All"))];
        }
        let name = seed.pick(&names).clone();
        let has_field = name.starts_with("Cluster/") || name.starts_with("MachineDeployment/");
        if has_field && seed.chance(60) {
            return vec![Edit::Set(name, "/spec/paused".to_owned(), json!(true))];
        }
        vec![Edit::Set(name, PAUSED.to_owned(), json!(*seed.pick(&["", "true", "false"])))]
    }

    /// A template under another name, with or without its content, there or missing; or edited in place.
    pub(super) fn template(&self, seed: &mut Seed) -> Vec<Edit> {
        let suffix = *seed.pick(&["b", "c"]);
        if let Shape::Topology(_) = self.shape {
            let (kind, pointer) = *seed.pick(&[
                ("KubeadmConfigTemplate", "/spec/workers/machineDeployments/0/bootstrap/templateRef/name"),
                ("DevMachineTemplate", "/spec/workers/machineDeployments/0/infrastructure/templateRef/name"),
                ("DevMachineTemplate", "/spec/controlPlane/machineInfrastructure/templateRef/name"),
            ]);
            let name = format!("new-{suffix}");
            let mut made = if kind == "DevMachineTemplate" { machine_template(&name) } else { config_template(&name) };
            if seed.chance(50) && kind == "KubeadmConfigTemplate" {
                made["spec"]["template"]["spec"]["verbosity"] = json!(4);
            }
            let mut edits = vec![Edit::Set("ClusterClass/class".to_owned(), pointer.to_owned(), json!(name))];
            if seed.chance(85) {
                edits.push(Edit::Put(made));
            }
            return edits;
        }
        let users = [
            ("MachineDeployment", "/spec/template/spec/infrastructureRef/name", "DevMachineTemplate"),
            ("MachineDeployment", "/spec/template/spec/bootstrap/configRef/name", self.shape.config_kind()),
            ("KubeadmControlPlane", "/spec/machineTemplate/spec/infrastructureRef/name", "DevMachineTemplate"),
            ("RKE2ControlPlane", "/spec/machineTemplate/infrastructureRef/name", "DevMachineTemplate"),
        ];
        let (kind, pointer, template) = *seed.pick(&users);
        let names = self.of_kind(kind);
        if names.is_empty() {
            return Vec::new();
        }
        let name = format!("new-{suffix}");
        let is_machine = template == "DevMachineTemplate";
        let mut made = if is_machine { machine_template(&name) } else { self.shape.config_template(&name) };
        if self.shape.is_rke2() && is_machine {
            made["apiVersion"] = json!("infrastructure.cluster.x-k8s.io/v1beta1");
        }
        let mut edits = vec![Edit::Set(seed.pick(&names).clone(), pointer.to_owned(), json!(name))];
        if seed.chance(65) {
            edits.push(Edit::Put(made));
        }
        edits
    }

    pub(super) fn health(&self, seed: &mut Seed) -> Vec<Edit> {
        let labels = match seed.below(4) {
            0 => json!({"cluster.x-k8s.io/control-plane": ""}),
            1 => json!({"pool": "md-b"}),
            2 => json!({"cluster.x-k8s.io/cluster-name": "demo"}),
            _ => json!({"pool": "md-a"}),
        };
        let groups = self.of_kind("MachineDeployment");
        let checks = self.of_kind("MachineHealthCheck");
        let group = (!groups.is_empty()).then(|| seed.pick(&groups).clone());
        let mark = |mark: &str| format!("/spec/template/metadata/annotations/cluster.x-k8s.io~1{mark}");
        match (seed.below(8), group, checks.first().cloned()) {
            (0, Some(group), _) => vec![Edit::Set(group, mark("skip-remediation"), json!(""))],
            (1, Some(group), _) => {
                vec![Edit::Set(group, "/spec/remediation/maxInFlight".to_owned(), json!(*seed.pick(&[0, 1])))]
            }
            (2, Some(group), _) => {
                vec![Edit::Set(group, "/spec/template/metadata/labels/watched".to_owned(), json!("yes"))]
            }
            (3, _, Some(check)) => vec![Edit::Set(check, "/spec/selector/matchLabels".to_owned(), labels)],
            (4, _, Some(check)) => {
                let limit = json!({"triggerIf": {"unhealthyLessThanOrEqualTo": *seed.pick(&["0%", "40%", "100%"])}});
                vec![Edit::Set(check, "/spec/remediation".to_owned(), limit)]
            }
            (5, _, Some(check)) => {
                let conditions =
                    json!([{"type": *seed.pick(&["Sick", "Tired"]), "status": "True", "timeoutSeconds": 0}]);
                vec![Edit::Set(check, "/spec/checks/unhealthyMachineConditions".to_owned(), conditions)]
            }
            _ => vec![Edit::Put(health_check(seed.pick::<&str>(&["check-a", "check-b"]), &labels))],
        }
    }

    pub(super) fn remove(&self, seed: &mut Seed) -> Vec<Edit> {
        if let Shape::Topology(_) = self.shape
            && seed.chance(60)
        {
            return vec![Edit::Unset(
                "Cluster/demo".to_owned(),
                "/spec/topology/workers/machineDeployments/1".to_owned(),
            )];
        }
        let config = self.shape.config_kind();
        let kinds = ["MachineDeployment", "MachineHealthCheck", config, "DevMachineTemplate", "ConfigMap"];
        let mut names: Vec<String> = kinds.iter().flat_map(|kind| self.of_kind(kind)).collect();
        if seed.chance(6) {
            names = self.objects.keys().cloned().collect();
        }
        if names.is_empty() { Vec::new() } else { vec![Edit::Remove(seed.pick(&names).clone())] }
    }

    /// What the API server itself may refuse, on any object.
    pub(super) fn refused(&self, seed: &mut Seed) -> Vec<Edit> {
        let names: Vec<String> = self.objects.keys().cloned().collect();
        let name = seed.pick(&names).clone();
        let set = |pointer: &str, value: Value| vec![Edit::Set(name.clone(), pointer.to_owned(), value)];
        let map = |data: Value| {
            let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
            object.as_object_mut().expect("a map").extend(data.as_object().cloned().unwrap_or_default());
            vec![Edit::Put(object)]
        };
        match seed.below(14) {
            0 => set("/metadata/labels/team", json!(true)),
            1 => set("/metadata/labels/team", json!("x".repeat(64))),
            2 => set("/metadata/labels/team", json!("not allowed")),
            3 => set("/metadata/annotations/note", json!(7)),
            4 => set("/metadata/uid", json!("11111111-2222-3333-4444-555555555555")),
            5 => set("/metadata/ownerReferences", json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}])),
            6 => set("/metadata/labels/bad_key!", json!("x")),
            7 => map(json!({"data": {"a": "1"}})),
            8 => map(json!({"data": {"a": 1}})),
            9 => map(json!({"data": {"a": "1"}, "immutable": true})),
            10 => vec![Edit::Put(
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "app"}, "data": {"k": *seed.pick(&["b2s=", "no base64!"])}}),
            )],
            11 => {
                vec![Edit::Put(json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "thing"}}))]
            }
            12 => set("/metadata/namespace", json!("nowhere")),
            _ => set("/spec/unknownField", json!("x")),
        }
    }

    pub(super) fn labels(&self, seed: &mut Seed) -> Vec<Edit> {
        let names: Vec<String> = self.objects.keys().cloned().collect();
        let any = seed.pick(&names).clone();
        let groups = self.of_kind("MachineDeployment");
        if groups.is_empty() || seed.chance(30) {
            return vec![Edit::Set(any, "/metadata/labels/team".to_owned(), json!(*seed.pick(&["red", "blue"])))];
        }
        let name = seed.pick(&groups).clone();
        let value = json!(*seed.pick(&["gold", "silver"]));
        match seed.below(5) {
            0 => vec![
                Edit::Set(name.clone(), "/spec/selector/matchLabels/tier".to_owned(), value.clone()),
                Edit::Set(name, "/spec/template/metadata/labels/tier".to_owned(), value),
            ],
            1 => vec![Edit::Set(name, "/spec/template/metadata/labels/pool".to_owned(), json!("md-b"))],
            2 => vec![Edit::Set(name, "/spec/template/metadata/annotations/note".to_owned(), value)],
            3 => vec![Edit::Put(workers(seed.pick::<&str>(&["md-c", "md-a"]), 1))],
            _ => vec![Edit::Set(name, "/spec/template/metadata/labels/tier".to_owned(), value)],
        }
    }

    pub(super) fn rollback(&self, seed: &mut Seed) -> Vec<Edit> {
        if self.past.is_empty() {
            return Vec::new();
        }
        self.to(seed.pick(self.past))
    }

    /// To the render before the last one.
    pub(super) fn back(&self) -> Vec<Edit> {
        self.past.iter().rev().nth(1).map(|past| self.to(past)).unwrap_or_default()
    }

    fn to(&self, past: &Objects) -> Vec<Edit> {
        let gone = self.objects.keys().filter(|name| !past.contains_key(*name)).map(|name| Edit::Remove(name.clone()));
        let back = past.iter().filter(|(name, object)| self.objects.get(*name) != Some(object));
        gone.chain(back.map(|(_, object)| Edit::Put(object.clone()))).collect()
    }

    pub(super) fn strategy(&self, seed: &mut Seed) -> Vec<Edit> {
        let groups = self.of_kind("MachineDeployment");
        let planes = [self.of_kind("KubeadmControlPlane"), self.of_kind("RKE2ControlPlane")].concat();
        let both = [groups.clone(), planes].concat();
        if both.is_empty() {
            return Vec::new();
        }
        let after = *seed.pick(&["2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"]);
        let name = seed.pick(&both).clone();
        if name.starts_with("RKE2ControlPlane/") {
            let strategies = [
                json!({"type": "OnDelete"}),
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}),
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}),
                json!({"rollingUpdate": {"maxSurge": 1}}),
                json!({"type": "RollingUpdate"}),
            ];
            let strategy = seed.pick(&strategies);
            let place = "/spec/rolloutStrategy".to_owned();
            return vec![if seed.chance(15) {
                Edit::Unset(name, place)
            } else {
                Edit::Set(name, place, strategy.clone())
            }];
        }
        match seed.below(5) {
            4 if !groups.contains(&name) => {
                let days = *seed.pick(&[7, 60, 360]);
                vec![Edit::Set(name, "/spec/rollout/before/certificatesExpiryDays".to_owned(), json!(days))]
            }
            0 => vec![Edit::Set(name, "/spec/rollout/after".to_owned(), json!(after))],
            1 if groups.contains(&name) => {
                vec![Edit::Set(name, "/spec/rollout/strategy".to_owned(), json!({"type": "OnDelete"}))]
            }
            2 => vec![Edit::Set(
                name,
                "/spec/rollout/strategy".to_owned(),
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": seed.below(3)}}),
            )],
            _ => vec![Edit::Unset(name, "/spec/rollout".to_owned())],
        }
    }

    pub(super) fn order(&self, seed: &mut Seed) -> Vec<Edit> {
        let places = [
            ("KubeadmControlPlane/cp", "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs"),
            ("KubeadmControlPlane/cp", "/spec/kubeadmConfigSpec/files"),
            (
                "KubeadmConfigTemplate/workers",
                "/spec/template/spec/joinConfiguration/nodeRegistration/kubeletExtraArgs",
            ),
            ("RKE2ControlPlane/cp", "/spec/serverConfig/tlsSan"),
            ("RKE2ControlPlane/cp", "/spec/agentConfig/nodeLabels"),
            ("Cluster/demo", "/spec/topology/variables"),
            ("Cluster/demo", "/spec/topology/workers/machineDeployments"),
        ];
        let there: Vec<_> = places
            .iter()
            .filter(|(name, pointer)| self.objects.get(*name).is_some_and(|object| object.pointer(pointer).is_some()))
            .collect();
        if there.is_empty() {
            return Vec::new();
        }
        let (name, pointer) = **seed.pick(&there);
        vec![Edit::Reverse(name.to_owned(), pointer.to_owned())]
    }

    /// No change, or one that topology's own fields hold.
    pub(super) fn nothing(&self, seed: &mut Seed) -> Vec<Edit> {
        if !matches!(self.shape, Shape::Topology(_)) || seed.chance(30) {
            return Vec::new();
        }
        let (pointer, value) = match seed.below(6) {
            0 => ("/spec/topology/variables/0/value", json!(*seed.pick(&["one", "two"]))),
            1 => ("/spec/topology/variables/1/value", json!(*seed.pick(&["two", "three"]))),
            2 => ("/spec/topology/variables/-", json!({"name": *seed.pick(&["unused", "unknown"]), "value": 1})),
            3 => ("/spec/topology/controlPlane/metadata/labels/tier", json!("gold")),
            4 => ("/spec/topology/workers/machineDeployments/0/deletion/nodeDrainTimeoutSeconds", json!(60)),
            _ => ("/spec/topology/classRef/name", json!("other")),
        };
        vec![Edit::Set("Cluster/demo".to_owned(), pointer.to_owned(), value)]
    }
}
