//! `plan --flux` as far as it needs neither Helm nor kustomize: what is found, what counts of it, and what is undecided by name. Scripts stand
//! for both programs, which print what they are given.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::{MACHINE_DEPLOYMENT, Program, Ran, ran};

const HELM: &str = "#!/bin/sh\nfor file in \"$3\"/templates/*.yaml; do echo ---; cat \"$file\"; done\n";
const KUSTOMIZE: &str = "#!/bin/sh\nfor file in \"$2\"/part-*.yaml \"$2\"/helm-output.yaml; do test -f \"$file\" && { echo ---; cat \"$file\"; }; done\nexit 0\n";
const CHART: &str = "apiVersion: v2\nname: demo\nversion: 0.1.0\n";
const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: ns}\ndata: {a: b}\n";

fn git(program: &Program, args: &[&str]) {
    let set =
        ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"];
    let mut command = Command::new("git");
    command.args(set).args(args).current_dir(program.home()).env("HOME", program.home());
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn source(more: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: fleet, namespace: flux-system}}\nspec: {{url: \
         'https://git.example.com/telco/fleet.git', interval: 1m{more}}}\n"
    )
}

fn kustomization(name: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\nspec:\n  \
         path: ./{name}\n  prune: true\n  sourceRef: {{kind: GitRepository, name: fleet}}\n{more}"
    )
}

fn release(name: &str, more: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: telco}}\nspec:\n  interval: 1m\n  \
         chart: {{spec: {{chart: ./chart, sourceRef: {{kind: GitRepository, name: fleet, namespace: flux-system}}{more}}}}}\n"
    )
}

fn annotated(annotation: &str) -> String {
    MACHINE_DEPLOYMENT.replace("namespace: ns", &format!("namespace: ns, annotations: {{{annotation}}}"))
}

fn newer(text: &str) -> String {
    text.replace("v1.31.0", "v1.32.0")
}

fn write(program: &Program, files: &[(&str, String)]) {
    for (file, text) in files {
        let path = program.home().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        match text.strip_prefix("-> ") {
            Some(target) => {
                drop(std::fs::remove_file(&path));
                std::os::unix::fs::symlink(target, path).expect("a link");
            }
            None if text.is_empty() => std::fs::remove_file(path).expect("a file"),
            None => drop(program.file(file, text)),
        }
    }
}

fn committed(program: &Program) {
    git(program, &["add", "--all"]);
    git(program, &["commit", "--quiet", "--allow-empty", "--message", "more"]);
}

/// A repository with a Kustomization of `apps` and some files more, with `change` checked out.
fn repository(files: &[(&str, String)]) -> Program {
    let program = Program::new();
    git(&program, &["init", "--quiet", "--initial-branch", "main"]);
    git(&program, &["remote", "add", "origin", "git@git.example.com:telco/fleet.git"]);
    for (name, text) in [("helm", HELM), ("kustomize", KUSTOMIZE)] {
        write(&program, &[(&format!("bin/{name}"), text.to_owned())]);
        let tool = program.home().join("bin").join(name);
        std::fs::set_permissions(tool, std::fs::Permissions::from_mode(0o755)).expect("a script");
    }
    let own = [
        ("clusters/git.yaml", source("")),
        ("clusters/apps.yaml", kustomization("apps", "")),
        ("apps/c.yaml", MAP.to_owned()),
        ("chart/Chart.yaml", CHART.to_owned()),
        ("chart/templates/md.yaml", MACHINE_DEPLOYMENT.to_owned()),
    ];
    write(&program, &own);
    write(&program, files);
    committed(&program);
    git(&program, &["checkout", "--quiet", "-b", "change"]);
    program
}

fn planned(program: &Program, more: &[&str]) -> Ran {
    let mut command = program.command();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    for tool in ["helm", "kustomize"] {
        command.arg(if tool == "helm" { "plan" } else { "--kustomize" });
        if tool == "helm" {
            command.arg("--helm");
        }
        command.arg(program.home().join("bin").join(tool));
    }
    command.args(["--base-ref", "main", "--flux", "clusters"]).args(more);
    if !more.contains(&"--policy") {
        command.args(["--policy", "none"]);
    }
    ran(command, b"")
}

/// What a change of some files comes to; an empty text takes a file away, `-> PATH` makes a link.
fn judged(base: &[(&str, String)], change: &[(&str, String)], more: &[&str]) -> Ran {
    let program = repository(base);
    write(&program, change);
    committed(&program);
    planned(&program, more)
}

fn assert_code(ran: &Ran, code: i32, said: &str) {
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(ran.code, Some(code), "{said}: {}{}", ran.stdout, ran.stderr);
    assert!(text.contains(said), "{said}: {}", ran.stdout);
}

fn md(text: &str) -> [(&'static str, String); 1] {
    [("apps/md.yaml", text.to_owned())]
}

fn readme() -> [(&'static str, String); 1] {
    [("README", "a".to_owned())]
}

#[test]
fn a_source_that_may_be_this_repository_is_undecided_where_what_it_reads_changes() {
    let gone = ("clusters/git.yaml", MAP.replace("name: c", "name: g"));
    let md = MACHINE_DEPLOYMENT;
    let base = [gone.clone(), ("apps/md.yaml", md.to_owned())];
    let change = [("apps/md.yaml", newer(md))];
    assert_code(&judged(&base, &change, &[]), 4, "pass --repo-source flux-system/fleet where it is");
    assert_code(&judged(&base, &readme(), &[]), 0, "");
    assert_code(&judged(&base, &change, &["--repo-source", "fleet"]), 3, "replaces 2 Machines");
    // A chart beside the folder belongs to what is read.
    let base = [gone.clone(), ("apps/r.yaml", release("edge", ""))];
    assert_code(
        &judged(&base, &[("chart/values.yaml", "a: b\n".to_owned())], &[]),
        4,
        "Kustomization flux-system/apps",
    );
    let base = [gone, ("clusters/r.yaml", release("edge", ""))];
    assert_code(&judged(&base, &[("chart/values.yaml", "a: b\n".to_owned())], &[]), 4, "HelmRelease telco/edge");
    let pushed = kustomization("apps", "").replace("GitRepository", "OCIRepository");
    let base = [("clusters/apps.yaml", pushed), ("apps/md.yaml", md.to_owned())];
    assert_code(&judged(&base, &change, &[]), 4, "its source is OCIRepository fleet");
    assert_code(&judged(&base, &readme(), &[]), 0, "");
    // Another repository of the same host is known to be one.
    let base =
        [("clusters/git.yaml", source("").replace("telco/fleet", "telco/other")), ("apps/md.yaml", md.to_owned())];
    assert_code(&judged(&base, &change, &[]), 0, "");
}

#[test]
fn what_a_release_renders_and_reads_counts() {
    let inner = release("inner", "").replace("./chart", "./below");
    let base = [
        ("apps/r.yaml", release("edge", "")),
        ("chart/templates/r.yaml", inner),
        ("below/Chart.yaml", CHART.to_owned()),
        ("below/templates/md.yaml", MACHINE_DEPLOYMENT.replace("name: md", "name: below")),
    ];
    let change = [("below/templates/md.yaml", newer(&base[3].1))];
    assert_code(&judged(&base, &change, &[]), 4, "it renders HelmRelease telco/inner, whose chart or folder changes");
    assert_code(&judged(&base, &readme(), &[]), 0, "");
    // What cannot be rendered on both sides is the same only if nothing changes that it is made of.
    let missing = "  valuesFrom: [{kind: Secret, name: s}]\n";
    let dependent = format!("{CHART}dependencies: [{{name: lib, version: 0.1.0, repository: 'file://../lib'}}]\n");
    let base = [
        ("apps/r.yaml", release("edge", ", valuesFiles: [v.yaml], reconcileStrategy: Revision") + missing),
        ("v.yaml", "a: b\n".to_owned()),
        ("chart/Chart.yaml", dependent),
        ("lib/Chart.yaml", CHART.to_owned()),
    ];
    for (file, code) in [("v.yaml", 4), ("lib/values.yaml", 4), ("chart/values.yaml", 4), ("README", 0)] {
        let ran = judged(&base, &[(file, "a: c\n".to_owned())], &[]);
        assert_code(&ran, code, if code == 4 { "HelmRelease telco/edge" } else { "" });
    }
}

#[test]
fn a_chart_is_taken_up_with_its_version() {
    let program = repository(&[("apps/r.yaml", release("edge", ""))]);
    git(&program, &["checkout", "--quiet", "main"]);
    write(&program, &[("chart/templates/md.yaml", newer(MACHINE_DEPLOYMENT))]);
    committed(&program);
    git(&program, &["checkout", "--quiet", "-B", "change"]);
    write(&program, &[("chart/Chart.yaml", CHART.replace("0.1.0", "0.2.0"))]);
    committed(&program);
    assert_code(&planned(&program, &[]), 4, "without another version than 0.1.0, and only now Flux takes that up");
    // Where both came together that is what runs.
    git(&program, &["branch", "--force", "main", "change"]);
    write(&program, &[("chart/Chart.yaml", CHART.replace("0.1.0", "0.3.0"))]);
    committed(&program);
    // What this Helm makes of a chart that asks for the revision is none.
    let ran = planned(&program, &[]);
    assert!(!ran.stdout.contains("only now Flux takes"), "{}", ran.stdout);
    let ran =
        judged(&[("apps/r.yaml", release("edge", ""))], &[("chart/templates/md.yaml", newer(MACHINE_DEPLOYMENT))], &[]);
    assert_code(&ran, 3, "its chart changes and its version 0.1.0 does not");
    let revision = [("apps/r.yaml", release("edge", ", reconcileStrategy: Revision"))];
    let ran = judged(&revision, &[("chart/templates/md.yaml", newer(MACHINE_DEPLOYMENT))], &[]);
    assert!(ran.code == Some(3) && !ran.stdout.contains("its version"), "{}", ran.stdout);
    // One path cannot be two versions.
    let of_registry =
        |version: &str| release("edge", &format!(", version: {version}")).replace("GitRepository", "HelmRepository");
    let [one, two] = ["1.0.0", "2.0.0"].map(|version| [("apps/r.yaml", of_registry(version))]);
    let told = ["--flux-chart", "telco/edge=chart"];
    assert_code(&judged(&one, &two, &told), 4, "one chart was told for both");
    assert_code(&judged(&one, &readme(), &told), 0, "render the same");
}

#[test]
fn the_artifact_has_no_links_and_nothing_that_is_ignored() {
    let base = md(MACHINE_DEPLOYMENT);
    let linked = [("apps/md.yaml", "-> ../real/md.yaml".to_owned()), ("real/md.yaml", MACHINE_DEPLOYMENT.to_owned())];
    assert_code(&judged(&base, &linked, &[]), 3, "is removed");
    let ignored = |line: &str| [(".sourceignore", format!("{line}\n"))];
    assert_code(&judged(&base, &ignored("/apps/md.yaml"), &[]), 3, "is removed");
    assert_code(&judged(&base, &ignored("/docs/"), &[]), 0, "");
    let base = [(".sourceignore", "/apps/md.yaml\n".to_owned()), ("apps/md.yaml", MACHINE_DEPLOYMENT.to_owned())];
    assert_code(&judged(&base, &md(&newer(MACHINE_DEPLOYMENT)), &[]), 0, "");
    assert_code(&judged(&[("clusters/.sops.yaml", "creation_rules: []\n".to_owned())], &readme(), &[]), 0, "");
}

#[test]
fn what_goes_from_one_kustomization_to_another_may_be_deleted() {
    let base = |md: &str| {
        [
            ("apps/md.yaml", md.to_owned()),
            ("clusters/other.yaml", kustomization("other", "")),
            ("other/d.yaml", MAP.replace("name: c", "name: d")),
        ]
    };
    let to = |place: &'static str, md: &str| [("apps/md.yaml", String::new()), (place, md.to_owned())];
    let ran = judged(&base(MACHINE_DEPLOYMENT), &to("other/md.yaml", MACHINE_DEPLOYMENT), &[]);
    assert_code(&ran, 4, "it goes from Kustomization flux-system/apps to Kustomization flux-system/other");
    let ran = judged(&base(MACHINE_DEPLOYMENT), &to("apps/below/md.yaml", MACHINE_DEPLOYMENT), &[]);
    assert_code(&ran, 0, "");
    let kept = annotated("kustomize.toolkit.fluxcd.io/prune: disabled");
    assert_code(&judged(&base(&kept), &to("other/md.yaml", &kept), &[]), 0, "");
}

#[test]
fn kustomize_controller_knows_its_own_annotations_and_none_of_helm() {
    let gone = md("");
    for (annotation, code) in [("helm.sh/resource-policy: keep", 3), ("kustomize.toolkit.fluxcd.io/prune: disabled", 0)]
    {
        assert_code(&judged(&md(&annotated(annotation)), &gone, &[]), code, "");
    }
    let hook = annotated("helm.sh/hook: pre-delete");
    assert_code(&judged(&md(&hook), &md(&newer(&hook)), &[]), 3, "replaces 2 Machines");
    let hook = annotated("helm.sh/hook: post-upgrade");
    assert_code(&judged(&md(&hook), &[("apps/c.yaml", MAP.replace("a: b", "a: c"))], &[]), 0, "");
    for annotation in ["reconcile: disabled", "ssa: Ignore", "ssa: IfNotPresent"] {
        let left = annotated(&format!("kustomize.toolkit.fluxcd.io/{annotation}"));
        assert_code(&judged(&md(&left), &md(&newer(&left)), &[]), 0, "");
        assert_code(
            &judged(&md(&left), &md(MACHINE_DEPLOYMENT), &[]),
            4,
            "all that its manifest said meanwhile comes at once",
        );
        assert_code(&judged(&md(MACHINE_DEPLOYMENT), &md(&newer(&left)), &[]), 0, "");
    }
    let merged = annotated("kustomize.toolkit.fluxcd.io/ssa: Merge");
    assert_code(&judged(&md(&merged), &md(&newer(&merged)), &[]), 3, "replaces 2 Machines");
    let kept = [
        ("clusters/apps.yaml", kustomization("apps", "").replace("prune: true", "prune: false")),
        ("apps/md.yaml", MACHINE_DEPLOYMENT.to_owned()),
    ];
    assert_code(&judged(&kept, &gone, &[]), 0, "stays in the cluster although its manifest goes");
}

#[test]
fn what_is_refused_goes_where_its_kustomization_is_told_to_force() {
    let other = MACHINE_DEPLOYMENT.replace("clusterName: c", "clusterName: d");
    let told = |more: &str| {
        [("clusters/apps.yaml", kustomization("apps", more)), ("apps/md.yaml", MACHINE_DEPLOYMENT.to_owned())]
    };
    let forced = judged(&told("  force: true\n"), &md(&other), &[]);
    assert_code(&forced, 3, "destroys 2 Machines");
    assert_code(&forced, 3, "Flux is told to force (spec.force of its Kustomization)");
    assert_code(&judged(&told("  force: false\n"), &md(&other), &[]), 3, "will be refused by the API server");
    // What is taken is forced in vain.
    assert_code(&judged(&told("  force: true\n"), &md(&newer(MACHINE_DEPLOYMENT)), &[]), 3, "replaces 2 Machines");
}

#[test]
fn variables_that_another_kustomization_brings_are_waited_for() {
    let from = "  postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}\n";
    let vars =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata: {version: v1.31.0}\n";
    let md = MACHINE_DEPLOYMENT.replace("v1.31.0", "${version}");
    let base = [
        ("clusters/apps.yaml", kustomization("apps", from)),
        ("clusters/vars.yaml", kustomization("vars", "")),
        ("vars/vars.yaml", vars.to_owned()),
        ("apps/md.yaml", md.clone()),
    ];
    assert_code(&judged(&base, &readme(), &[]), 0, "");
    assert_code(&judged(&base, &[("vars/vars.yaml", newer(vars))], &[]), 3, "replaces 2 Machines");
    assert_code(&judged(&base, &[("vars/vars.yaml", format!("{vars}  # more\n"))], &[]), 0, "");
    // Those that are only in the cluster leave it undecided where something below it changes.
    let base = [("clusters/apps.yaml", kustomization("apps", from)), ("apps/md.yaml", md.clone())];
    assert_code(&judged(&base, &readme(), &[]), 0, "");
    assert_code(&judged(&base, &[("apps/md.yaml", format!("{md}# more\n"))], &[]), 4, "ConfigMap vars");
}

#[test]
fn submodules_count_where_the_source_has_them() {
    let modules = Program::new();
    git(&modules, &["init", "--quiet", "--initial-branch", "main"]);
    write(&modules, &md(MACHINE_DEPLOYMENT));
    committed(&modules);
    for (more, code) in [(", recurseSubmodules: true", 3), ("", 0)] {
        let program = repository(&[
            ("clusters/git.yaml", source(more)),
            ("clusters/sub.yaml", kustomization("sub", "")),
            ("sub/c.yaml", MAP.replace("name: c", "name: s")),
        ]);
        git(&program, &["checkout", "--quiet", "main"]);
        let from = modules.home().display().to_string();
        git(&program, &["submodule", "--quiet", "add", &from, "sub/module"]);
        committed(&program);
        git(&program, &["checkout", "--quiet", "-B", "change"]);
        write(&program, &[("sub/module/apps/md.yaml", newer(MACHINE_DEPLOYMENT))]);
        let inside = program.home().join("sub/module").display().to_string();
        git(&program, &["-C", &inside, "commit", "--quiet", "--all", "--message", "newer"]);
        committed(&program);
        assert_code(&planned(&program, &[]), code, "");
    }
}

#[test]
fn a_tool_that_cannot_be_started_ends_the_run_whatever_the_policy_says_of_what_is_unseen() {
    let base = [("apps/release.yaml", release("edge", ""))];
    let values = release("edge", "") + "  values: {a: b}\n";
    for (tool, said) in [("helm", "cannot be run; install Helm"), ("kustomize", "cannot be run; install kustomize")] {
        let program = repository(&base);
        write(&program, &[("apps/release.yaml", values.clone())]);
        committed(&program);
        write(&program, &[(&format!("bin/{tool}"), String::new())]);
        program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nunseen: {inside: warn}\n");
        let policy = program.home().join("rollgate.yaml").display().to_string();
        let ran = planned(&program, &["--policy", &policy]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{tool}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{tool}: {}", ran.stderr);
    }
    // One that runs and fails is doubt, by name.
    let program = repository(&base);
    write(&program, &[("apps/release.yaml", values), ("bin/helm", "#!/bin/sh\nexit 1\n".to_owned())]);
    committed(&program);
    assert_code(&planned(&program, &[]), 4, "what HelmRelease telco/edge renders");
}
