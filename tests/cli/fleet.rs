//! A change of many clusters fits on a page, and what is odd in it stands out.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Program, Ran};

/// A hash that a chart puts behind a name.
fn hash(of: &str) -> String {
    let number = of.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    format!("{number:08x}")
}

fn object(out: &mut String, api: &str, kind: &str, cluster: &str, name: &str, spec: &str) {
    let version = if api.is_empty() { String::new() } else { format!("{api}.") };
    writeln!(
        out,
        "---\napiVersion: {version}cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: {name}, namespace: {cluster}}}\nspec: {spec}"
    )
    .expect("memory");
}

/// Clusters as a chart renders them: a control plane and three groups of workers, whose templates have a hash in their names.
fn fleet(clusters: usize, version: &str, vip: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for number in 0..clusters {
        let name = format!("telco-{number:03}");
        let image = format!("{{flavor: m1.large, image: {{filter: {{name: ubuntu-{version}}}}}}}");
        let reference = |api: &str, kind: &str, name: &str| {
            format!("{{apiVersion: {api}.cluster.x-k8s.io/v1beta1, kind: {kind}, name: {name}}}")
        };
        let template = |pool: &str| format!("{name}-{pool}-{}", hash(&format!("{name}{pool}{version}")));
        let infra = |pool: &str| reference("infrastructure", "OpenStackMachineTemplate", &template(pool));
        let cp = format!("{name}-cp");
        let control_plane = reference("controlplane", "KubeadmControlPlane", &cp);
        object(&mut out, "", "Cluster", &name, &name, &format!("{{controlPlaneRef: {control_plane}}}"));
        let spec = format!("{{template: {{spec: {image}}}}}");
        object(&mut out, "infrastructure", "OpenStackMachineTemplate", &name, &template("cp"), &spec);
        let spec = format!(
            "{{replicas: 3, version: {version}, machineTemplate: {{infrastructureRef: {}}}, kubeadmConfigSpec: {{files: \
             [{{path: /etc/calico.yaml, content: \"canReach: {}\"}}]}}}}",
            infra("cp"),
            vip(number)
        );
        object(&mut out, "controlplane", "KubeadmControlPlane", &name, &cp, &spec);
        for (pool, replicas) in [("md-0", 5), ("md-1", 2), ("gpu", 1)] {
            let md = format!("{name}-{pool}");
            let spec = format!("{{template: {{spec: {image}}}}}");
            object(&mut out, "infrastructure", "OpenStackMachineTemplate", &name, &template(pool), &spec);
            let config = reference("bootstrap", "KubeadmConfigTemplate", &md);
            object(&mut out, "bootstrap", "KubeadmConfigTemplate", &name, &md, "{template: {spec: {verbosity: 2}}}");
            let spec = format!(
                "{{clusterName: {name}, replicas: {replicas}, template: {{spec: {{clusterName: {name}, version: {version}, \
                 bootstrap: {{configRef: {config}}}, infrastructureRef: {}}}}}}}",
                infra(pool)
            );
            object(&mut out, "", "MachineDeployment", &name, &md, &spec);
        }
    }
    out
}

fn plan(old: &str, new: &str, options: &[&str]) -> Ran {
    let program = Program::new();
    program.file("old.yaml", old);
    program.file("new.yaml", new);
    let ran = program.run(&[&["plan", "new.yaml", "--live", "old.yaml", "--policy", "none"], options].concat(), b"");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    ran
}

fn same(_: usize) -> String {
    "10.0.3.7".to_owned()
}

#[test]
fn one_version_of_many_clusters_fits_on_a_page() {
    for (clusters, most) in [(1, 69), (8, 66), (100, 120), (300, 120)] {
        let ran = plan(&fleet(clusters, "v1.31.5", same), &fleet(clusters, "v1.32.1", same), &[]);
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert!(lines.len() <= most, "{clusters} clusters take {} lines:\n{}", lines.len(), ran.stdout);
        let head = format!("rollgate: hold  {} Machines would be replaced", clusters * 11);
        assert!(lines[0].starts_with(&head), "{}", lines[0]);
        let end = &lines[lines.len() - 3..];
        let is_led =
            end[1].starts_with("  do: take the change back") && end[2].starts_with("  next: rollgate explain ");
        assert!(end == &lines[..3] && is_led, "{}", ran.stdout);
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "{}", ran.stdout);
        if clusters > 1 {
            let last = format!("<cluster>: telco-000 to telco-{:03}", clusters - 1);
            assert!(ran.stdout.contains(&last), "{}", ran.stdout);
            let said = super::sentence(&ran.stdout, "hold rollout  KubeadmControlPlane");
            let wanted = format!(
                "KubeadmControlPlane <cluster>-cp in {clusters} clusters: spec.version v1.31.5 -> v1.32.1 and 1 other change replace {} Machines",
                clusters * 3
            );
            assert!(said.contains(&wanted), "{said}");
        }
    }
}

#[test]
fn what_only_one_cluster_has_stands_out_by_name() {
    let odd = |number: usize| if number == 57 { "10.0.9.9".to_owned() } else { same(number) };
    let ran = plan(&fleet(100, "v1.31.5", same), &fleet(100, "v1.32.1", odd), &[]);
    assert!(ran.stdout.lines().count() <= 120, "{}", ran.stdout);
    let place = ran.stdout.find("KubeadmControlPlane telco-057/telco-057-cp  rollout").expect("the odd one");
    assert!(ran.stdout[place..].contains("canReach: 10.0.9.9"), "{}", ran.stdout);
    let others = super::sentence(&ran.stdout, "hold rollout  KubeadmControlPlane <cluster>-cp");
    assert!(others.contains("in 99 clusters (telco-000 to telco-056, telco-058 to telco-099)"), "{others}");
    assert!(others.ends_with("replace 297 Machines"), "{others}");
}

#[test]
fn values_of_its_own_are_listed_for_each_cluster() {
    let own = |vip: u8| move |number: usize| format!("10.{vip}.0.{number}");
    let ran = plan(&fleet(9, "v1.31.5", own(3)), &fleet(9, "v1.31.5", own(9)), &[]);
    for number in 0..9 {
        let line =
            format!("telco-00{number}/telco-00{number}-cp: canReach: 10.3.0.{number} -> canReach: 10.9.0.{number}");
        let said = ran.stdout.contains(&line)
            || ran
                .stdout
                .contains(&format!("telco-00{number}/telco-00{number}-cp: 10.3.0.{number} -> 10.9.0.{number}"));
        assert!(said, "{line} is not in\n{}", ran.stdout);
    }
    assert!(ran.stdout.lines().count() <= 60, "{}", ran.stdout);
}

#[test]
fn a_summary_is_the_verdict_the_reasons_and_the_table() {
    let ran = plan(&fleet(100, "v1.31.5", same), &fleet(100, "v1.32.1", same), &["--summary"]);
    assert!(ran.stdout.lines().count() <= 30, "{}", ran.stdout);
    for said in
        ["hold rollout  KubeadmControlPlane", "CLUSTER", "300 in all, 3 of 3 replaced each", "telco-000 to telco-099"]
    {
        assert!(ran.stdout.contains(said), "{said} is not in\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains("How it goes"), "{}", ran.stdout);
}

#[test]
fn a_page_is_as_wide_as_it_is_told() {
    let program = Program::new();
    program.file("old.yaml", &fleet(2, "v1.31.5", same));
    program.file("new.yaml", &fleet(2, "v1.32.1", same));
    for (told, widest, least) in [("60", 60, 40), ("160", 160, 101)] {
        let args = ["plan", "new.yaml", "--live", "old.yaml", "--policy", "none"];
        let ran = program.run_with(&args, b"", &[("COLUMNS", told)]);
        // A table and a heading are as wide as their names.
        let words = ran.stdout.lines().filter(|line| line.starts_with("hold") || line.starts_with("    "));
        let found = words.map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(found <= widest && found >= least, "{found} columns of {told}:\n{}", ran.stdout);
    }
}

#[test]
fn a_table_fits_a_terminal_of_80_columns() {
    let program = Program::new();
    program.file("old.yaml", &fleet(8, "v1.31.5", same));
    program.file("new.yaml", &fleet(8, "v1.32.1", same));
    let args = ["plan", "new.yaml", "--live", "old.yaml", "--policy", "none"];
    let ran = program.run_with(&args, b"", &[("COLUMNS", "80")]);
    assert!(ran.stdout.contains("KubeadmControlPlane <cluster>-cp  24, 3 of 3 each"), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    assert!(ran.stdout.lines().count() <= 75, "{}", ran.stdout);
}

/// A World in which these reads were refused, and nothing was found.
fn refused(program: &Program, rights: &[(&str, &str, &str)]) -> Ran {
    program.file("new.yaml", &fleet(1, "v1.31.5", same));
    let saved = program.run(&["snapshot", "new.yaml", "--live", "none", "-o", "world.json"], b"");
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    let file = program.home().join("world.json");
    let mut world: Value = serde_json::from_slice(&std::fs::read(&file).expect("a World")).expect("JSON");
    let unread = rights.iter().map(|(kind, group, plural)| {
        json!({"what": kind,
            "why": format!("forbidden: {plural} is forbidden: User \"system:serviceaccount:ci:bot\" cannot list resource"),
            "remedy": format!("add to the role: - {{apiGroups: [\"{group}\"], resources: [\"{plural}\"], verbs: [\"get\", \"list\"]}}")})
    });
    world["world"]["unread"] = unread.collect();
    world["world"]["source"] = json!({"kind": "cluster", "name": "prod"});
    world["world"]["coverage"] = json!({"asked": {"kinds": {}, "absent": []}});
    std::fs::write(&file, world.to_string()).expect("a World");
    let ran = program.run(&["plan", "new.yaml", "--live", "world.json", "--policy", "none"], b"");
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    ran
}

const CLUSTERS: (&str, &str, &str) = ("Cluster", "cluster.x-k8s.io", "clusters");
const MACHINES: (&str, &str, &str) = ("Machine", "cluster.x-k8s.io", "machines");
const CONTROL_PLANES: (&str, &str, &str) =
    ("KubeadmControlPlane", "controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes");

#[test]
fn many_missing_rights_are_one_reason_with_the_one_binding() {
    let ran = refused(&Program::new(), &[CLUSTERS, MACHINES, CONTROL_PLANES]);
    let reasons: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("undecided read")).collect();
    let binding = "kubectl create clusterrolebinding rollgate-read --clusterrole=rollgate-read --serviceaccount=ci:bot";
    let told = ran.stdout.lines().filter(|line| line.starts_with("  next: ") && line.ends_with(binding)).count();
    assert_eq!(told, 3, "first, with the reason, and last:\n{}", ran.stdout);
    let said = super::sentence(&ran.stdout, "Cluster, Machine, KubeadmControlPlane");
    assert!(said.starts_with("undecided read  3 reads that are needed are forbidden"), "{reasons:?}\n{}", ran.stdout);
}

#[test]
fn a_right_that_is_missing_alone_or_in_another_role_is_named_by_its_rule() {
    let other = ("Application", "argoproj.io", "applications");
    let ran = refused(&Program::new(), &[MACHINES, other]);
    for rule in ["resources: [\"machines\"]", "resources: [\"applications\"]"] {
        assert!(ran.stdout.contains("add to the role: - {apiGroups: ") && ran.stdout.contains(rule), "{}", ran.stdout);
    }
    assert!(!ran.stdout.contains("clusterrolebinding"), "{}", ran.stdout);
}

#[test]
fn what_nobody_looked_for_is_not_called_new() {
    let program = Program::new();
    let unseen = refused(&program, &[CLUSTERS, MACHINES]);
    assert!(!unseen.stdout.contains("is new") && !unseen.stdout.contains("would be created"), "{}", unseen.stdout);
    assert!(unseen.stdout.starts_with("rollgate: undecided  no change was found"), "{}", unseen.stdout);
    let none = program.run(&["plan", "new.yaml", "--live", "none", "--policy", "none"], b"");
    let made = super::sentence(&none.stdout, "warn KubeadmControlPlane telco-000/telco-000-cp");
    assert!(made.contains("if it is new, it makes 3 Machines"), "{}", none.stdout);
    assert!(!none.stdout.contains(" is new and"), "{}", none.stdout);
    assert!(none.stdout.starts_with("rollgate: allow  12 objects compared with nothing"), "{}", none.stdout);
    // Somebody looked, and it was not there.
    program.file("old.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n");
    let seen = program.run(&["plan", "new.yaml", "--live", "old.yaml", "--policy", "none"], b"");
    assert!(seen.stdout.starts_with("rollgate: allow  12 objects would be created"), "{}", seen.stdout);
    let made = super::sentence(&seen.stdout, "KubeadmControlPlane telco-000/telco-000-cp is new");
    assert!(made.contains("is new and makes 3 Machines"), "{}", seen.stdout);
    assert!(super::sentence(&seen.stdout, "creates ").contains("3 MachineDeployments"), "{}", seen.stdout);
}
