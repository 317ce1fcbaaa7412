//! What a plan costs must grow with what is planned, and no faster: each size that can grow is planned three times, each
//! time twice as large, and the instructions are counted (by `valgrind`, which no noise moves). Cost that grows with size to
//! the power of e grows by two to the power of e from one step to the next.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Exponent above which growth is not linear any more; half of the tenth above it is for hash tables that grow by doubling.
const LIMIT: f64 = 1.15;

/// One size that can grow.
struct Probe {
    name: &'static str,
    /// Smallest size.
    start: usize,
    /// Options of `plan` beside the two files.
    options: &'static [&'static str],
    /// What is live or was rendered before, and what is rendered now.
    sides: fn(usize) -> (String, String),
}

const PROBES: &[Probe] = &[
    Probe { name: "workers of one cluster, with Machines", start: 30, options: &[], sides: workers },
    Probe { name: "items of a list under server-side apply", start: 100, options: APPLY, sides: applied_items },
    Probe { name: "files of a control plane", start: 200, options: &[], sides: files },
    Probe { name: "commands of a control plane", start: 200, options: &[], sides: commands },
    Probe { name: "arguments of the API server", start: 100, options: &[], sides: arguments },
    Probe { name: "places of a late value", start: 300, options: &["--policy", "policy.yaml"], sides: late },
    Probe { name: "late values, twenty places each", start: 25, options: &["--policy", "many.yaml"], sides: many_late },
    Probe { name: "groups of a topology", start: 40, options: &[], sides: topology },
    Probe { name: "clusters removed", start: 60, options: &[], sides: removed_clusters },
    Probe { name: "Namespaces removed", start: 100, options: &[], sides: removed_namespaces },
    Probe { name: "objects that stay", start: 200, options: &[], sides: unchanged },
    Probe { name: "objects that change", start: 60, options: &[], sides: changed },
    Probe { name: "objects that are new", start: 60, options: &[], sides: new },
];

const POLICY: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- {name: vip, placeholders: [\"55.55.55.55\"], type: ip, from: [{env: VIP}]}\n";

const APPLY: &[&str] = &["--host", "helm4", "--method", "server-side-apply"];

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

fn workers(count: usize) -> (String, String) {
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

fn files(count: usize) -> (String, String) {
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

fn commands(count: usize) -> (String, String) {
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
fn applied_items(count: usize) -> (String, String) {
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
fn late(count: usize) -> (String, String) {
    let side = text(count, |out, place| add(out, format_args!("  key-{place}: http://55.55.55.55:{place}\n")));
    let head = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: n}\ndata:\n";
    (unchanged(1).0, format!("{}{head}{side}", unchanged(1).0))
}

/// Many late values, each in many places; every second place is packed.
fn many_late(count: usize) -> (String, String) {
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
fn many_policy(count: usize) -> String {
    let values = text(count, |out, value| {
        add(
            out,
            format_args!("- {{name: value-{value}, placeholders: [\"@@value-{value}@@\"], from: [{{env: SAYS}}]}}\n"),
        );
    });
    format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n{values}")
}

/// Arguments of the API server, all of them changed.
fn arguments(count: usize) -> (String, String) {
    let side = |word: &str| {
        let mut out = String::new();
        control_plane(&mut out, "", "v1.31.0");
        out.push_str("    clusterConfiguration:\n      apiServer:\n        extraArgs:\n");
        (0..count).for_each(|place| add(&mut out, format_args!("          a-{place}: {word}-{place}\n")));
        out
    };
    (side("old"), side("new"))
}

fn topology(count: usize) -> (String, String) {
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

fn removed_clusters(count: usize) -> (String, String) {
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

fn removed_namespaces(count: usize) -> (String, String) {
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

fn unchanged(count: usize) -> (String, String) {
    let side = text(count, |out, place| machine_deployment(out, "c", &format!("md-{place}"), "v1.31.0"));
    (side.clone(), side)
}

fn changed(count: usize) -> (String, String) {
    let side = |version: &str| {
        text(count, |out, place| machine_deployment(out, &format!("c-{place}"), &format!("md-{place}"), version))
    };
    (side("v1.31.0"), side("v1.32.0"))
}

fn new(count: usize) -> (String, String) {
    (unchanged(1).0, unchanged(count).0)
}

/// The instructions that a plan takes.
fn instructions(folder: &Path, probe: &Probe, size: usize) -> u64 {
    let (old, new) = (probe.sides)(size);
    std::fs::write(folder.join("old.yaml"), old).expect("the temporary folder can be written");
    std::fs::write(folder.join("new.yaml"), new).expect("the temporary folder can be written");
    std::fs::write(folder.join("policy.yaml"), POLICY).expect("the temporary folder can be written");
    std::fs::write(folder.join("many.yaml"), many_policy(size)).expect("the temporary folder can be written");
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_rollgate"))
        .args(["plan", "new.yaml", "--live", "old.yaml", "--now", "2026-11-21T12:00:00Z", "-o", "human=/dev/null"])
        // Under valgrind a run takes fifty times as long, and one that is cut off counts too little.
        .args(["--deadline", "1h"])
        .args(probe.options)
        .env("ROLLGATE_POLICY", "none")
        .current_dir(folder)
        .env("VIP", "10.0.3.7")
        .env("SAYS", "it's \"x\": y")
        .output()
        .expect("valgrind runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{}: {said}", probe.name);
    let count = said
        .lines()
        .find(|line| line.contains(" I ") && line.contains("refs:"))
        .and_then(|line| line.split_once("refs:"));
    let count = count.unwrap_or_else(|| panic!("{}: no count in {said}", probe.name)).1;
    count.replace(',', "").trim().parse().expect("a number")
}

#[test]
fn no_cost_grows_faster_than_its_size() {
    let there = Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        assert!(std::env::var_os("CI").is_none(), "valgrind is missing, and without it growth is not looked at");
        eprintln!("valgrind is missing: growth was not looked at");
        return;
    }
    let only = std::env::var("ROLLGATE_PROBE").unwrap_or_default();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut faults = Vec::new();
    for probe in PROBES.iter().filter(|probe| probe.name.contains(&only)) {
        let counts = [1, 2, 4].map(|times| instructions(folder.path(), probe, probe.start * times));
        let steps = (counts[1].saturating_sub(counts[0]), counts[2].saturating_sub(counts[1]));
        let exponent = (steps.1 as f64 / steps.0.max(1) as f64).log2();
        println!(
            "{:45} {:6} {:14} {:14} {:14} {exponent:.2}",
            probe.name, probe.start, counts[0], counts[1], counts[2]
        );
        if exponent > LIMIT {
            faults.push(format!("{}: instructions grow with the power of {exponent:.2} ({counts:?})", probe.name));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
