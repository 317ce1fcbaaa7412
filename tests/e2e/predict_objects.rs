//! Random but valid objects for the prediction test: each kind has a skeleton and places with a few values to choose from.

use serde_json::{Value, json};

/// A small generator of pseudo-random numbers (splitmix64), so that a seed always gives the same objects.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides as u64).expect("below sides")
    }
}

/// A kind that is written.
pub(crate) struct Sort {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    skeleton: Value,
    /// Places of the spec and the values that they can have; `null` takes the place away.
    knobs: Vec<(&'static str, Vec<Value>)>,
}

impl Sort {
    /// A whole object.
    pub(crate) fn object(&self, dice: &mut Dice, name: &str) -> Value {
        let mut object = json!({"apiVersion": self.api_version, "kind": self.kind,
            "metadata": {"name": name, "labels": {"app": "x"}}, "spec": self.skeleton});
        for (path, values) in &self.knobs {
            if dice.roll(2) == 0 {
                set(&mut object["spec"], path, &values[dice.roll(values.len())]);
            }
        }
        object
    }

    /// An object with a few of its places turned.
    pub(crate) fn turned(&self, dice: &mut Dice, object: &Value) -> Value {
        let mut object = object.clone();
        for _ in 0..=dice.roll(3) {
            let (path, values) = &self.knobs[dice.roll(self.knobs.len())];
            let value = if dice.roll(3) == 0 { &Value::Null } else { &values[dice.roll(values.len())] };
            set(&mut object["spec"], path, value);
        }
        match dice.roll(5) {
            0 => object["metadata"]["labels"]["extra"] = json!("1"),
            1 => object["metadata"]["labels"] = json!({}),
            2 => object["metadata"]["annotations"] = json!({"note": "a"}),
            _ => {}
        }
        object
    }

    /// A merge patch for one place of the spec.
    pub(crate) fn edit(&self, dice: &mut Dice) -> Value {
        let (path, values) = &self.knobs[dice.roll(self.knobs.len())];
        let value = if dice.roll(4) == 0 { Value::Null } else { values[dice.roll(values.len())].clone() };
        let mut patch = value;
        for key in path.rsplit('.') {
            patch = json!({key: patch});
        }
        json!({"spec": patch})
    }
}

/// Sets a dotted place; `null` takes it away and leaves no empty map behind.
fn set(spec: &mut Value, path: &str, value: &Value) {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    if !rest.is_empty() {
        if spec.get(key).is_none() {
            if value.is_null() {
                return;
            }
            spec[key] = json!({});
        }
        set(&mut spec[key], rest, value);
        if spec[key].as_object().is_some_and(serde_json::Map::is_empty) {
            spec.as_object_mut().expect("a map").shift_remove(key);
        }
    } else if value.is_null() {
        spec.as_object_mut().expect("a map").shift_remove(key);
    } else {
        spec[key] = value.clone();
    }
}

/// Knobs of a kubeadm configuration in v1beta2, below a prefix.
fn kubeadm() -> Vec<(&'static str, Vec<Value>)> {
    let args = |names: &[(&str, &str)]| {
        Value::from(names.iter().map(|(name, value)| json!({"name": name, "value": value})).collect::<Vec<_>>())
    };
    let lists = vec![
        args(&[("a", "1")]),
        args(&[("a", "1"), ("b", "2")]),
        args(&[("b", "2"), ("a", "1")]),
        args(&[("b", "3"), ("c", "1")]),
    ];
    let file = |path: &str, content: &str| json!({"path": path, "content": content});
    vec![
        ("clusterConfiguration.apiServer.extraArgs", lists.clone()),
        ("clusterConfiguration.controllerManager.extraArgs", lists.clone()),
        ("joinConfiguration.nodeRegistration.kubeletExtraArgs", lists),
        ("clusterConfiguration.featureGates", vec![json!({"A": true}), json!({"A": false, "B": true})]),
        ("clusterConfiguration.certificatesDir", vec![json!("/etc/a"), json!("/etc/b")]),
        ("files", vec![json!([file("/a", "1")]), json!([file("/a", "2"), file("/b", "1")]), json!([file("/b", "1")])]),
        ("preKubeadmCommands", vec![json!(["a"]), json!(["a", "b"]), json!(["b", "a"])]),
        ("users", vec![json!([{"name": "u"}]), json!([{"name": "u", "shell": "/bin/sh"}, {"name": "v"}])]),
        ("ntp.servers", vec![json!(["1.1.1.1"]), json!(["2.2.2.2", "1.1.1.1"])]),
        ("verbosity", vec![json!(1), json!(2)]),
    ]
}

/// Every kind that is written.
pub(crate) fn sorts() -> Vec<Sort> {
    let prefixed = |prefix: &str, knobs: Vec<(&'static str, Vec<Value>)>| -> Vec<(&'static str, Vec<Value>)> {
        knobs.into_iter().map(|(path, values)| (&*format!("{prefix}.{path}").leak(), values)).collect()
    };
    let reference =
        |name: &str| json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": name});
    let labels = vec![json!({"a": "1"}), json!({"a": "2", "b": "1"}), json!({"b": "1"})];
    let versions = vec![json!("v1.30.0"), json!("v1.31.0"), json!("v1.31.1")];
    let mut control_plane = vec![
        ("replicas", vec![json!(1), json!(3), json!(5)]),
        ("version", versions.clone()),
        ("machineTemplate.spec.infrastructureRef", vec![reference("a"), reference("b")]),
        ("machineTemplate.metadata.labels", labels.clone()),
        ("machineTemplate.spec.deletion.nodeDrainTimeoutSeconds", vec![json!(10), json!(20)]),
        (
            "machineTemplate.spec.readinessGates",
            vec![json!([{"conditionType": "A"}]), json!([{"conditionType": "B"}, {"conditionType": "A"}])],
        ),
        (
            "rollout.strategy",
            vec![
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}),
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}),
            ],
        ),
    ];
    control_plane.extend(prefixed("kubeadmConfigSpec", kubeadm()));
    let rke2 = || {
        vec![
            (
                "files",
                vec![
                    json!([{"path": "/a", "content": "1"}]),
                    json!([{"path": "/b", "content": "1"}, {"path": "/a", "content": "2"}]),
                ],
            ),
            ("preRKE2Commands", vec![json!(["a"]), json!(["a", "b"])]),
            ("agentConfig.nodeLabels", vec![json!(["a=1"]), json!(["b=1", "a=1"])]),
            ("agentConfig.kubelet.extraArgs", vec![json!(["x=1"]), json!(["x=2", "y=1"])]),
            ("agentConfig.format", vec![json!("cloud-config"), json!("ignition")]),
            (
                "privateRegistriesConfig.mirrors",
                vec![json!({"a": {"endpoint": ["x"]}}), json!({"a": {"endpoint": ["y"]}, "b": {"endpoint": ["x"]}})],
            ),
        ]
    };
    let mut rke2_control_plane = vec![
        ("replicas", vec![json!(1), json!(3)]),
        ("version", vec![json!("v1.30.0+rke2r1"), json!("v1.31.0+rke2r1")]),
        ("registrationMethod", vec![json!("internal-first"), json!("control-plane-endpoint")]),
        ("serverConfig.tlsSan", vec![json!(["a"]), json!(["b", "a"])]),
        ("serverConfig.kubeAPIServer.extraArgs", vec![json!(["a=1"]), json!(["b=1"])]),
        ("serverConfig.cni", vec![json!("calico"), json!("cilium")]),
        ("rolloutStrategy", vec![json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}})]),
        ("machineTemplate.nodeDrainTimeout", vec![json!("1m"), json!("2m0s")]),
    ];
    rke2_control_plane.extend(rke2());
    let infrastructure =
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevMachineTemplate", "name": "a"});
    vec![
        Sort {
            api_version: "controlplane.cluster.x-k8s.io/v1beta2",
            kind: "KubeadmControlPlane",
            plural: "kubeadmcontrolplanes",
            skeleton: json!({"version": "v1.30.0", "machineTemplate": {"spec": {"infrastructureRef": reference("a")}},
                "kubeadmConfigSpec": {"format": "cloud-config"}}),
            knobs: control_plane,
        },
        Sort {
            api_version: "bootstrap.cluster.x-k8s.io/v1beta2",
            kind: "KubeadmConfigTemplate",
            plural: "kubeadmconfigtemplates",
            skeleton: json!({"template": {"spec": {"format": "cloud-config"}}}),
            knobs: prefixed("template.spec", kubeadm()),
        },
        Sort {
            api_version: "cluster.x-k8s.io/v1beta2",
            kind: "MachineDeployment",
            plural: "machinedeployments",
            skeleton: json!({"clusterName": "c", "selector": {"matchLabels": {"x": "y"}}, "template": {"spec": {"clusterName": "c",
                "bootstrap": {"dataSecretName": "s"}, "infrastructureRef": reference("a")}}}),
            knobs: vec![
                ("replicas", vec![json!(0), json!(1), json!(3)]),
                ("template.spec.version", versions.clone()),
                ("template.spec.infrastructureRef", vec![reference("a"), reference("b")]),
                ("template.spec.failureDomain", vec![json!("a"), json!("b")]),
                ("template.spec.minReadySeconds", vec![json!(1), json!(2)]),
                ("template.spec.deletion.nodeDrainTimeoutSeconds", vec![json!(10), json!(20)]),
                (
                    "template.spec.readinessGates",
                    vec![json!([{"conditionType": "A"}]), json!([{"conditionType": "B"}])],
                ),
                ("template.metadata.labels", labels.clone()),
                ("template.metadata.annotations", labels.clone()),
                ("paused", vec![json!(true), json!(false)]),
                (
                    "rollout.strategy",
                    vec![
                        json!({"type": "OnDelete"}),
                        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2}}),
                    ],
                ),
                ("deletion.order", vec![json!("Random"), json!("Newest")]),
            ],
        },
        Sort {
            api_version: "cluster.x-k8s.io/v1beta2",
            kind: "Cluster",
            plural: "clusters",
            skeleton: json!({"topology": {"classRef": {"name": "c"}, "version": "v1.30.0"}}),
            knobs: vec![
                ("paused", vec![json!(true), json!(false)]),
                ("clusterNetwork.pods.cidrBlocks", vec![json!(["10.0.0.0/16"]), json!(["10.1.0.0/16", "10.0.0.0/16"])]),
                ("topology.version", versions),
                ("topology.controlPlane.replicas", vec![json!(1), json!(3)]),
                ("topology.controlPlane.metadata.labels", labels),
                (
                    "topology.variables",
                    vec![
                        json!([{"name": "a", "value": 1}]),
                        json!([{"name": "a", "value": {"x": 1}}, {"name": "b", "value": "y"}]),
                        json!([{"name": "b", "value": [1, 2]}, {"name": "a", "value": {"y": 2}}]),
                    ],
                ),
                (
                    "topology.workers.machineDeployments",
                    vec![
                        json!([{"class": "w", "name": "a", "replicas": 1}]),
                        json!([{"class": "w", "name": "b"}, {"class": "w", "name": "a", "replicas": 2}]),
                        json!([{"class": "x", "name": "b", "metadata": {"labels": {"l": "1"}}}]),
                    ],
                ),
                (
                    "availabilityGates",
                    vec![json!([{"conditionType": "A"}]), json!([{"conditionType": "B"}, {"conditionType": "A"}])],
                ),
            ],
        },
        Sort {
            api_version: "controlplane.cluster.x-k8s.io/v1beta1",
            kind: "RKE2ControlPlane",
            plural: "rke2controlplanes",
            skeleton: json!({"version": "v1.30.0+rke2r1", "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
                "machineTemplate": {"infrastructureRef": infrastructure}}),
            knobs: rke2_control_plane,
        },
        Sort {
            api_version: "bootstrap.cluster.x-k8s.io/v1beta1",
            kind: "RKE2ConfigTemplate",
            plural: "rke2configtemplates",
            skeleton: json!({"template": {"spec": {"agentConfig": {"format": "cloud-config"}}}}),
            knobs: prefixed("template.spec", rke2()),
        },
    ]
}
