//! The streams that are measured.

use std::fmt::Write as _;

/// A chart of 18 objects with a cluster and two groups of workers, rendered `count` times, each time into a namespace of its own.
/// The version of Kubernetes stands in three of the objects: 16 % of the objects change with it.
pub(crate) fn charts(count: usize, version: &str) -> String {
    let mut text = String::new();
    for number in 0..count {
        let name = format!("c{number}");
        let workers: String = ["md-0", "md-1"]
            .map(|pool| include_str!("workers.yaml").replace("@POOL@", pool).replace("@FILES@\n", &files(8, &name)))
            .concat();
        let chart = include_str!("chart.yaml").replace("@WORKERS@\n", &workers).replace("@FILES@\n", &files(4, &name));
        text.push_str(&chart.replace("@NAME@", &name).replace("@VERSION@", version));
    }
    text
}

/// Files as the field writes them: units, configuration, a manifest.
fn files(indent: usize, name: &str) -> String {
    let mut out = String::new();
    let pad = " ".repeat(indent);
    for (path, lines) in [
        ("/etc/containerd/conf.d/mirrors.toml", 18),
        ("/etc/sysctl.d/90-net.conf", 14),
        ("/etc/systemd/system/agent.service", 22),
    ] {
        writeln!(out, "{pad}- path: {path}\n{pad}  owner: root:root\n{pad}  permissions: \"0644\"\n{pad}  content: |")
            .expect("a string can be written");
        for line in 0..lines {
            writeln!(out, "{pad}    setting.{line}.of.{name} = \"https://registry.example.org/v2/{line}\"")
                .expect("a string can be written");
        }
    }
    out
}

/// ConfigMaps, about `size` bytes.
pub(crate) fn plain(size: usize) -> String {
    let mut text = String::with_capacity(size + 4096);
    for number in 0.. {
        if text.len() >= size {
            break;
        }
        write!(text, "---\n# Source: app/templates/{number}.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app-{number}\ndata:\n  run.sh: |\n")
            .expect("a string can be written");
        for line in 0..40 {
            writeln!(text, "    echo \"step {line} of {number}\" >> /var/log/app.log")
                .expect("a string can be written");
        }
    }
    text
}

/// Clusters with a control plane, three worker groups and their templates, about `size` bytes; the address stands once in each.
pub(crate) fn control_planes(size: usize, address: &str) -> String {
    let mut text = String::with_capacity(size + 32_768);
    for number in 0.. {
        if text.len() >= size {
            break;
        }
        cluster(&mut text, number, address);
    }
    text
}

fn cluster(text: &mut String, number: usize, address: &str) {
    let name = format!("c{number}");
    write!(
        text,
        "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: {name}\n  namespace: {name}\nspec:\n  controlPlaneRef:\n    \
         apiVersion: controlplane.cluster.x-k8s.io/v1beta1\n    kind: KubeadmControlPlane\n    name: {name}-cp\n---\napiVersion: \
         controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: {name}-cp\n  namespace: {name}\nspec:\n  replicas: 3\n  \
         version: v1.33.4\n  machineTemplate:\n    infrastructureRef:\n      apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\n      kind: \
         OpenStackMachineTemplate\n      name: {name}-cp\n  kubeadmConfigSpec:\n    files:\n    - path: /etc/calico.conf\n      owner: root:root\n      \
         content: |\n        canReach: {address}\n"
    )
    .expect("a string can be written");
    for line in 0..90 {
        writeln!(text, "        setting-{line} = value of {name} number {line}").expect("a string can be written");
    }
    for pool in 0..3 {
        write!(
            text,
            "---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: {name}-md{pool}\n  namespace: {name}\nspec:\n  \
             clusterName: {name}\n  replicas: 3\n  template:\n    spec:\n      clusterName: {name}\n      version: v1.33.4\n      bootstrap:\n        \
             configRef:\n          apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\n          kind: KubeadmConfigTemplate\n          name: {name}-md{pool}\n      \
             infrastructureRef:\n        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\n        kind: OpenStackMachineTemplate\n        name: \
             {name}-md{pool}\n---\napiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata:\n  name: {name}-md{pool}\n  \
             namespace: {name}\nspec:\n  template:\n    spec:\n      preKubeadmCommands:\n"
        )
        .expect("a string can be written");
        for line in 0..40 {
            writeln!(text, "      - echo step {line} on {name} pool {pool}").expect("a string can be written");
        }
    }
}
