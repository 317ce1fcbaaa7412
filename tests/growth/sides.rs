//! Both sides of a write in which one thing grows.

use std::fmt::Write as _;

fn text(count: usize, mut one: impl FnMut(&mut String, usize)) -> String {
    let mut out = String::new();
    (0..count).for_each(|place| one(&mut out, place));
    out
}

fn add(out: &mut String, document: std::fmt::Arguments<'_>) {
    out.write_fmt(document).expect("a String takes it");
}

fn machine_deployment(out: &mut String, cluster: &str, name: &str, version: &str) {
    add(
        out,
        format_args!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {{name: {name}, namespace: n}}\nspec:\n  \
             clusterName: {cluster}\n  replicas: 2\n  selector: {{matchLabels: {{deployment: {name}}}}}\n  template:\n    \
             metadata: {{labels: {{deployment: {name}}}}}\n    spec:\n      clusterName: {cluster}\n      version: {version}\n      \
             bootstrap: {{dataSecretName: x}}\n      infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: t}}\n"
        ),
    );
}

pub(crate) fn workers(count: usize) -> (String, String) {
    let side = |version: &str| text(count, |out, place| machine_deployment(out, "c", &format!("md-{place}"), version));
    let mut old = side("v1.31.0");
    for place in 0..count * 2 {
        let name = format!("md-{}", place / 2);
        add(
            &mut old,
            format_args!(
                "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Machine\nmetadata:\n  name: m-{place}\n  namespace: n\n  uid: u-{place}\n  \
                 labels: {{cluster.x-k8s.io/cluster-name: c, cluster.x-k8s.io/deployment-name: {name}}}\nspec: {{clusterName: c, version: v1.31.0, bootstrap: {{dataSecretName: x}}}}\n\
                 status: {{nodeRef: {{name: m-{place}}}}}\n"
            ),
        );
    }
    (old, side("v1.32.0"))
}

/// The head of a control plane, up to its configuration.
fn control_plane(out: &mut String, metadata: &str, version: &str) {
    add(
        out,
        format_args!(
            "---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: cp\n  namespace: n\n{metadata}spec:\n  \
             replicas: 3\n  version: {version}\n  machineTemplate:\n    infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: t, namespace: n}}\n  \
             kubeadmConfigSpec:\n"
        ),
    );
}

/// The label that says which Cluster a control plane belongs to, and what follows its head.
const OF_CLUSTER: &str = "  labels: {cluster.x-k8s.io/cluster-name: c}\n";
const CONFIG: &str = "    format: cloud-config\n";

/// Control planes that all belong to one Cluster.
pub(crate) fn planes(count: usize) -> (String, String) {
    let side = |version: &str| {
        text(count, |out, place| {
            let mut one = String::new();
            control_plane(&mut one, OF_CLUSTER, version);
            out.push_str(&one.replace("name: cp\n", &format!("name: cp-{place}\n")));
            out.push_str(CONFIG);
        })
    };
    (side("v1.31.0"), side("v1.32.0"))
}

/// Clusters of one name, each in a namespace of its own.
pub(crate) fn namesakes(count: usize) -> (String, String) {
    const PLANE: &str =
        "controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: cp}";
    let side = |version: &str| {
        text(count, |out, place| {
            let mut one = String::new();
            cluster(&mut one, "c", PLANE);
            control_plane(&mut one, "", version);
            one.push_str(CONFIG);
            machine_deployment(&mut one, "c", "md", version);
            out.push_str(&one.replace("namespace: n", &format!("namespace: n-{place}")));
        })
    };
    (side("v1.31.0"), side("v1.32.0"))
}

pub(crate) fn files(count: usize) -> (String, String) {
    let side = |last: &str| {
        let mut out = String::new();
        control_plane(&mut out, "", "v1.31.0");
        out.push_str("    files:\n");
        for place in 0..count {
            let content = if place + 1 == count { last } else { "same" };
            add(&mut out, format_args!("    - {{path: /etc/f-{place}, content: {content}}}\n"));
        }
        out
    };
    (side("old"), side("new"))
}

pub(crate) fn commands(count: usize) -> (String, String) {
    let side = |word: &str| {
        let mut out = String::new();
        control_plane(&mut out, "", "v1.31.0");
        out.push_str("    preKubeadmCommands:\n");
        (0..count).for_each(|place| add(&mut out, format_args!("    - {word} {place}\n")));
        out
    };
    (side("old"), side("new"))
}

/// A Cluster whose variables are merged by name: half of those that were applied are not sent any more, and as many are new.
pub(crate) fn applied_items(count: usize) -> (String, String) {
    let side = |metadata: &str, from: usize| {
        let mut out = format!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: c\n  namespace: n\n{metadata}spec:\n  topology:\n    \
             class: k\n    version: v1.31.0\n    variables:\n"
        );
        (from..from + count)
            .for_each(|place| add(&mut out, format_args!("    - {{name: v-{place}, value: {place}}}\n")));
        out
    };
    let mut owned = "  uid: u\n  managedFields:\n  - manager: helm\n    operation: Apply\n    apiVersion: cluster.x-k8s.io/v1beta1\n    \
                     fieldsType: FieldsV1\n    fieldsV1:\n      f:spec:\n        f:topology:\n          f:class: {}\n          f:version: {}\n          f:variables:\n"
        .to_owned();
    for place in 0..count {
        add(
            &mut owned,
            format_args!("            'k:{{\"name\":\"v-{place}\"}}': {{.: {{}}, f:name: {{}}, f:value: {{}}}}\n"),
        );
    }
    (side(&owned, 0), side("", count / 2))
}

/// A late value that stands in many places of one document.
pub(crate) fn late(count: usize) -> (String, String) {
    let side = text(count, |out, place| add(out, format_args!("  key-{place}: http://55.55.55.55:{place}\n")));
    let head = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: n}\ndata:\n";
    (unchanged(1).0, format!("{}{head}{side}", unchanged(1).0))
}

/// A late value that stands in many places of one text.
pub(crate) fn late_text(count: usize) -> (String, String) {
    let side = text(count, |out, place| add(out, format_args!("    server 55.55.55.55 weight {place}\n")));
    let head = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: n}\ndata:\n  text: |\n";
    (unchanged(1).0, format!("{}{head}{side}", unchanged(1).0))
}

/// Many late values, each in many places; every second place is packed.
pub(crate) fn many_late(count: usize) -> (String, String) {
    let side = text(count * 20, |out, place| {
        let value = place % count;
        match place % 2 {
            0 => {
                add(
                    out,
                    format_args!("  key-{place}: http://@@value-{value}@@:{place}/?q=%40%40value-{value}%40%40\n"),
                );
            }
            _ => add(out, format_args!("  key-{place}: |\n    a: 1\n    b: '@@value-{value}@@'\n")),
        }
    });
    let head = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\ndata:\n";
    (unchanged(1).0, format!("{}{head}{side}", unchanged(1).0))
}

/// The policy of so many late values.
pub(crate) fn many_policy(count: usize) -> String {
    let values = text(count, |out, value| {
        add(
            out,
            format_args!("- {{name: value-{value}, placeholders: [\"@@value-{value}@@\"], from: [{{env: SAYS}}]}}\n"),
        );
    });
    format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n{values}")
}

/// Arguments of the API server, all of them changed.
pub(crate) fn arguments(count: usize) -> (String, String) {
    let side = |word: &str| {
        let mut out = String::new();
        control_plane(&mut out, "", "v1.31.0");
        out.push_str("    clusterConfiguration:\n      apiServer:\n        extraArgs:\n");
        (0..count).for_each(|place| add(&mut out, format_args!("          a-{place}: {word}-{place}\n")));
        out
    };
    (side("old"), side("new"))
}

pub(crate) fn topology(count: usize) -> (String, String) {
    let class = "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {name: k, namespace: n}\nspec:\n  workers:\n    machineDeployments:\n    \
                 - class: w\n      template:\n        bootstrap: {ref: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: b}}\n        \
                 infrastructure: {ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: t}}\n";
    let side = |version: &str| {
        let mut out = class.to_owned();
        add(
            &mut out,
            format_args!(
                "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: c, namespace: n}}\nspec:\n  topology:\n    class: k\n    version: {version}\n    \
                 workers:\n      machineDeployments:\n"
            ),
        );
        (0..count)
            .for_each(|place| add(&mut out, format_args!("      - {{class: w, name: g-{place}, replicas: 2}}\n")));
        out
    };
    let (mut old, new) = (side("v1.31.0"), side("v1.32.0"));
    for place in 0..count {
        let name = format!("c-g-{place}");
        machine_deployment(&mut old, "c", &name, "v1.31.0");
        old = old.replacen(
            &format!("metadata: {{name: {name}, namespace: n}}\nspec:"),
            &format!("metadata: {{name: {name}, namespace: n, uid: u-{place}, labels: {{topology.cluster.x-k8s.io/deployment-name: g-{place}, cluster.x-k8s.io/cluster-name: c}}}}\nspec:"),
            1,
        );
    }
    (old, new)
}

pub(crate) fn removed_clusters(count: usize) -> (String, String) {
    let old = text(count, |out, place| {
        add(
            out,
            format_args!(
                "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: c-{place}, namespace: n}}\nspec: {{paused: false}}\n"
            ),
        );
        machine_deployment(out, &format!("c-{place}"), &format!("md-{place}"), "v1.31.0");
    });
    let new = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: n}\n".to_owned();
    (old, new)
}

pub(crate) fn doubled(count: usize) -> (String, String) {
    let (old, new) = changed(count);
    let twice = format!("{old}{new}");
    (old, twice)
}

pub(crate) fn removed_namespaces(count: usize) -> (String, String) {
    let clusters = text(count, |out, place| {
        add(
            out,
            format_args!(
                "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: c-{place}, namespace: n-{place}}}\nspec: {{paused: false}}\n"
            ),
        );
    });
    let namespaces = text(count, |out, place| {
        add(out, format_args!("---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: n-{place}}}\n"));
    });
    (namespaces + &clusters, clusters)
}

pub(crate) fn unchanged(count: usize) -> (String, String) {
    let side = text(count, |out, place| machine_deployment(out, "c", &format!("md-{place}"), "v1.31.0"));
    (side.clone(), side)
}

pub(crate) fn changed(count: usize) -> (String, String) {
    let side = |version: &str| {
        text(count, |out, place| machine_deployment(out, &format!("c-{place}"), &format!("md-{place}"), version))
    };
    (side("v1.31.0"), side("v1.32.0"))
}

pub(crate) fn new(count: usize) -> (String, String) {
    (unchanged(1).0, unchanged(count).0)
}

/// Hooks that do not come any more; each deletes what has its name.
pub(crate) fn hooks(count: usize) -> (String, String) {
    let old = text(count, |out, place| {
        let name = format!("md-{place}");
        machine_deployment(out, "c", &name, "v1.31.0");
        *out = out.replacen(
            &format!("metadata: {{name: {name}, namespace: n}}"),
            &format!("metadata: {{name: {name}, namespace: n, annotations: {{helm.sh/hook: pre-upgrade}}}}"),
            1,
        );
    });
    (old, unchanged(1).0)
}

/// A Cluster without a topology, and the annotations or fields of it.
fn cluster(out: &mut String, name: &str, spec: &str) {
    add(
        out,
        format_args!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: {name}, namespace: n}}\nspec: {{{spec}}}\n"
        ),
    );
}

/// A Machine of a group of workers; an old one is out of date.
fn machine(out: &mut String, cluster: &str, owner: &str, name: &str) {
    add(
        out,
        format_args!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Machine\nmetadata:\n  name: {name}\n  namespace: n\n  uid: u-{name}\n  creationTimestamp: \"2026-10-01T00:00:00Z\"\n  \
             labels: {{cluster.x-k8s.io/cluster-name: {cluster}, cluster.x-k8s.io/deployment-name: {owner}, deployment: {owner}}}\n  \
             ownerReferences: [{{apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineSet, name: {owner}-s, uid: u-{owner}-s, controller: true}}]\n\
             spec: {{clusterName: {cluster}, version: v1.31.0, bootstrap: {{dataSecretName: x}}}}\n\
             status: {{phase: Running, nodeRef: {{name: {name}}}, conditions: [{{type: NodeHealthy, status: 'False', lastTransitionTime: '2026-10-02T00:00:00Z'}}]}}\n"
        ),
    );
}

/// A MachineSet of a group of workers.
fn machine_set(out: &mut String, cluster: &str, owner: &str, name: &str) {
    add(
        out,
        format_args!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineSet\nmetadata:\n  name: {name}\n  namespace: n\n  uid: u-{name}\n  \
             labels: {{cluster.x-k8s.io/cluster-name: {cluster}, cluster.x-k8s.io/deployment-name: {owner}}}\n  \
             ownerReferences: [{{apiVersion: cluster.x-k8s.io/v1beta1, kind: MachineDeployment, name: {owner}, uid: u-{owner}, controller: true}}]\n\
             spec:\n  clusterName: {cluster}\n  replicas: 1\n  selector: {{matchLabels: {{deployment: {owner}}}}}\n  template:\n    metadata: {{labels: {{deployment: {owner}}}}}\n    \
             spec: {{clusterName: {cluster}, version: v1.31.0, bootstrap: {{dataSecretName: x}}}}\n"
        ),
    );
}

fn health_check(out: &mut String, cluster: &str) {
    add(
        out,
        format_args!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineHealthCheck\nmetadata: {{name: {cluster}, namespace: n}}\nspec:\n  clusterName: {cluster}\n  maxUnhealthy: 100%\n  \
             selector: {{matchLabels: {{cluster.x-k8s.io/cluster-name: {cluster}}}}}\n  unhealthyConditions: [{{type: Ready, status: 'False', timeout: 300s}}]\n"
        ),
    );
}

/// One cluster with a group of workers, a set and a Machine for each number, as it is live or as it is rendered.
fn fleet(count: usize, version: &str, is_live: bool) -> String {
    text(count, |out, place| {
        let (own, group) = (format!("c-{place}"), format!("md-{place}"));
        cluster(out, &own, "paused: false");
        machine_deployment(out, &own, &group, version);
        health_check(out, &own);
        if is_live {
            machine_set(out, &own, &group, &format!("{group}-s"));
            machine(out, &own, &group, &format!("{group}-m"));
        }
    })
}

pub(crate) fn watched(count: usize) -> (String, String) {
    (fleet(count, "v1.31.0", true), fleet(count, "v1.32.0", false))
}

pub(crate) fn check_arrives(count: usize) -> (String, String) {
    let (mut old, mut new) = (String::new(), String::new());
    for side in [&mut old, &mut new] {
        cluster(side, "c", "paused: false");
        machine_deployment(side, "c", "md", "v1.31.0");
    }
    machine_set(&mut old, "c", "md", "md-s");
    (0..count).for_each(|place| machine(&mut old, "c", "md", &format!("m-{place}")));
    health_check(&mut new, "c");
    (old, new)
}

pub(crate) fn unpaused(count: usize) -> (String, String) {
    let side = |spec: &str, is_live: bool| {
        let mut out = String::new();
        cluster(&mut out, "c", spec);
        for place in 0..count {
            let group = format!("md-{place}");
            machine_deployment(&mut out, "c", &group, "v1.32.0");
            if is_live {
                machine_set(&mut out, "c", &group, &format!("{group}-s"));
                machine(&mut out, "c", &group, &format!("{group}-m"));
            }
        }
        out
    };
    (side("paused: true", true), side("paused: false", false))
}

pub(crate) fn control_plane_machines(count: usize) -> (String, String) {
    let side = |version: &str| {
        let mut out = String::new();
        cluster(
            &mut out,
            "c",
            "controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: cp}",
        );
        control_plane(&mut out, "  uid: u\n", version);
        out.push_str("    files: []\n");
        out
    };
    let mut old = side("v1.31.0");
    for place in 0..count {
        add(
            &mut old,
            format_args!(
                "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Machine\nmetadata:\n  name: m-{place}\n  namespace: n\n  uid: u-{place}\n  \
                 labels: {{cluster.x-k8s.io/cluster-name: c, cluster.x-k8s.io/control-plane: ''}}\n  \
                 ownerReferences: [{{apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: cp, uid: u, controller: true}}]\n\
                 spec: {{clusterName: c, version: v1.31.0, bootstrap: {{dataSecretName: x}}}}\nstatus: {{nodeRef: {{name: m-{place}}}}}\n"
            ),
        );
    }
    (old, side("v1.32.0"))
}

/// One group with many Machines, all of which are to be replaced.
pub(crate) fn group_machines(count: usize) -> (String, String) {
    let side = |version: &str| {
        let mut out = String::new();
        cluster(&mut out, "c", "");
        add(
            &mut out,
            format_args!(
                "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {{name: w, namespace: n, uid: u-w}}\nspec:\n  \
                 clusterName: c\n  replicas: {count}\n  selector: {{matchLabels: {{deployment: w}}}}\n  template:\n    metadata: {{labels: {{deployment: w}}}}\n    \
                 spec: {{clusterName: c, version: {version}, bootstrap: {{dataSecretName: x}}, \
                 infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: t}}}}\n"
            ),
        );
        out
    };
    let mut old = side("v1.31.0");
    machine_set(&mut old, "c", "w", "w-s");
    (0..count).for_each(|place| machine(&mut old, "c", "w", &format!("m-{place}")));
    (old, side("v1.32.0"))
}

/// One group whose rollouts left many sets behind.
pub(crate) fn machine_sets(count: usize) -> (String, String) {
    let side = |version: &str| {
        let mut out = String::new();
        cluster(&mut out, "c", "paused: false");
        machine_deployment(&mut out, "c", "md", version);
        out
    };
    let mut old = side("v1.31.0");
    (0..count).for_each(|place| machine_set(&mut old, "c", "md", &format!("md-{place}")));
    machine(&mut old, "c", "md", "m");
    (old, side("v1.32.0"))
}

/// A class with variables and a patch for each, and its templates.
fn class(out: &mut String, variables: usize, patches: usize, word: &str) {
    out.push_str(
        "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: DockerMachineTemplate\nmetadata: {name: t, namespace: n}\nspec: {template: {spec: {customImage: a}}}\n\
         ---\napiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata: {name: b, namespace: n}\nspec: {template: {spec: {preKubeadmCommands: [a]}}}\n\
         ---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {name: k, namespace: n}\nspec:\n  workers:\n    machineDeployments:\n    \
         - class: w\n      template:\n        bootstrap: {ref: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: b}}\n        \
         infrastructure: {ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: t}}\n  variables:\n",
    );
    for place in 0..variables {
        add(
            out,
            format_args!(
                "  - {{name: v{place}, required: false, schema: {{openAPIV3Schema: {{type: string, default: a}}}}}}\n"
            ),
        );
    }
    out.push_str("  patches:\n");
    for place in 0..patches {
        add(
            out,
            format_args!(
                "  - name: p{place}\n    definitions:\n    - selector: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, matchResources: {{machineDeploymentClass: {{names: [w]}}}}}}\n      \
                 jsonPatches: [{{op: add, path: /spec/template/spec/customImage, value: {word}-{place}}}]\n"
            ),
        );
    }
}

/// A Cluster of the class, with a group of workers that is there where it is live.
fn member(out: &mut String, name: &str, variables: &str, is_live: bool) {
    add(
        out,
        format_args!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: {name}, namespace: n}}\nspec:\n  topology:\n    class: k\n    version: v1.31.0\n{variables}    \
             workers: {{machineDeployments: [{{class: w, name: g, replicas: 2}}]}}\n"
        ),
    );
    if is_live {
        let group = format!("{name}-g");
        machine_deployment(out, name, &group, "v1.31.0");
        *out = out.replacen(
            &format!("metadata: {{name: {group}, namespace: n}}\nspec:"),
            &format!("metadata: {{name: {group}, namespace: n, uid: u-{group}, labels: {{topology.cluster.x-k8s.io/owned: '', topology.cluster.x-k8s.io/deployment-name: g, cluster.x-k8s.io/cluster-name: {name}}}}}\nspec:"),
            1,
        );
    }
}

pub(crate) fn class_members(count: usize) -> (String, String) {
    let side = |word: &str, is_live: bool| {
        let mut out = String::new();
        class(&mut out, 1, 1, word);
        let mut all = String::new();
        for place in 0..count {
            let mut one = String::new();
            member(&mut one, &format!("c-{place}"), "", is_live);
            all.push_str(&one);
        }
        out + &all
    };
    (side("old", true), side("new", false))
}

pub(crate) fn class_variables(count: usize) -> (String, String) {
    let side = |word: &str, is_live: bool| {
        let mut out = String::new();
        class(&mut out, count, 1, "same");
        let values = text(count, |out, place| add(out, format_args!("    - {{name: v{place}, value: {word}}}\n")));
        member(&mut out, "c", &format!("    variables:\n{values}"), is_live);
        out
    };
    (side("old", true), side("new", false))
}

pub(crate) fn class_patches(count: usize) -> (String, String) {
    let side = |word: &str, is_live: bool| {
        let mut out = String::new();
        class(&mut out, 1, count, word);
        member(&mut out, "c", "", is_live);
        out
    };
    (side("old", true), side("new", false))
}

pub(crate) fn labels(count: usize) -> (String, String) {
    let side = |word: &str| {
        let labels = text(count, |out, place| add(out, format_args!("    l-{place}: {word}\n")));
        format!(
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: c\n  namespace: n\n  labels:\n{labels}spec: {{paused: false}}\n"
        )
    };
    (side("old"), side("new"))
}

/// Groups of workers whose templates have another name and another content.
pub(crate) fn renamed(count: usize) -> (String, String) {
    let side = |word: &str| {
        text(count, |out, place| {
            let mut one = String::new();
            machine_deployment(&mut one, "c", &format!("md-{place}"), "v1.31.0");
            out.push_str(&one.replace("name: t}", &format!("name: t-{place}-{word}}}")));
            add(
                out,
                format_args!(
                    "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: DockerMachineTemplate\nmetadata: {{name: t-{place}-{word}, namespace: n}}\nspec: {{template: {{spec: {{customImage: {word}}}}}}}\n"
                ),
            );
        })
    };
    (side("old"), side("new"))
}

/// Secrets that the files of control planes come from.
pub(crate) fn secrets(count: usize) -> (String, String) {
    let side = |word: &str| {
        let mut out = String::new();
        control_plane(&mut out, "", "v1.31.0");
        out.push_str("    files:\n");
        for place in 0..count {
            add(
                &mut out,
                format_args!("    - {{path: /etc/f-{place}, contentFrom: {{secret: {{name: s-{place}, key: a}}}}}}\n"),
            );
        }
        for place in 0..count {
            add(
                &mut out,
                format_args!(
                    "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s-{place}, namespace: n}}\nstringData: {{a: {word}-{place}}}\n"
                ),
            );
        }
        out
    };
    (side("old"), side("new"))
}

pub(crate) fn carriers(count: usize) -> (String, String) {
    let side = |word: &str| {
        text(count, |out, place| {
            add(
                out,
                format_args!(
                    "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: r-{place}, namespace: n}}\nspec: {{chart: {{spec: {{chart: c, version: {word}}}}}, values: {{a: {word}}}}}\n"
                ),
            );
        })
    };
    (side("1.0.0"), side("1.0.1"))
}

pub(crate) fn hosts(count: usize) -> (String, String) {
    let old = text(count, |out, place| {
        add(
            out,
            format_args!(
                "---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: h-{place}, namespace: n}}\n\
                 spec: {{online: true, consumerRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Machine, name: m-{place}, namespace: n}}}}\n\
                 ---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3Machine\nmetadata: {{name: m-{place}, namespace: n, ownerReferences: [{{apiVersion: cluster.x-k8s.io/v1beta1, kind: Machine, name: m-{place}, uid: u-{place}, controller: true}}]}}\nspec: {{}}\n"
            ),
        );
    });
    let kept = text(count, |out, place| {
        add(
            out,
            format_args!(
                "---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3Machine\nmetadata: {{name: m-{place}, namespace: n}}\nspec: {{}}\n"
            ),
        );
    });
    (old, kept)
}
