//! `plan APPLICATION --host argocd` as far as it needs no Helm: what the Applications of a repository render on both sides of a change, and
//! what is undecided by name. Charts are rendered on the page of Argo CD, with a real Helm.

use std::process::Command;

use super::{MACHINE_DEPLOYMENT, Program, Ran, ran};

fn git(program: &Program, args: &[&str]) {
    let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    let mut command = Command::new("git");
    command.args(set).args(args).current_dir(program.home()).env("HOME", program.home());
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An Application with this source, and more in its spec.
fn application(source: &str, more: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: edge, namespace: argocd}}\nspec:\n  source: {{{source}}}\n  \
         destination: {{server: 'https://kubernetes.default.svc', namespace: ns}}\n{more}"
    )
}

const HERE: &str = "repoURL: 'https://git.example.com/telco/fleet.git', targetRevision: HEAD, path: manifests";

/// A repository whose `main` has an Application of a folder of manifests, with `change` checked out.
fn repository(source: &str) -> Program {
    repository_with(source, "")
}

/// A repository whose Application says more in its spec.
fn repository_with(source: &str, more: &str) -> Program {
    let program = Program::new();
    git(&program, &["init", "--quiet", "--initial-branch", "main"]);
    git(&program, &["remote", "add", "origin", "git@git.example.com:telco/fleet.git"]);
    for folder in ["apps", "manifests", "manifests/below"] {
        std::fs::create_dir_all(program.home().join(folder)).expect("a folder");
    }
    program.file("apps/edge.yaml", &application(source, more));
    program.file("manifests/md.yaml", MACHINE_DEPLOYMENT);
    // What is below is not read unless the Application says so.
    program.file("manifests/below/other.yaml", &MACHINE_DEPLOYMENT.replace("name: md", "name: below"));
    git(&program, &["add", "."]);
    git(&program, &["commit", "--quiet", "--message", "base"]);
    git(&program, &["checkout", "--quiet", "-b", "change"]);
    program
}

/// Commits a file on the change, and plans.
fn changed(program: &Program, file: &str, text: &str, more: &[&str]) -> Ran {
    program.file(file, text);
    git(program, &["add", "."]);
    git(program, &["commit", "--quiet", "--allow-empty", "--message", "change"]);
    let mut command = program.command();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(["plan", "apps", "--base-ref", "main", "--host", "argocd", "--policy", "none"]).args(more);
    ran(command, b"")
}

#[test]
fn what_an_application_renders_is_judged_as_a_release_of_its_own() {
    let program = repository(HERE);
    let newer = MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0");
    let held = changed(&program, "manifests/md.yaml", &newer, &["-o", "json"]);
    assert_eq!(held.code, Some(3), "{}{}", held.stdout, held.stderr);
    assert!(held.stdout.contains("\"release\": \"edge\"") && held.stdout.contains("v1.32.0"), "{}", held.stdout);
    assert!(!held.stdout.contains("below"), "{}", held.stdout);
}

#[test]
fn what_renders_the_same_is_allowed_and_what_is_below_counts_where_it_is_read() {
    let program = repository(HERE);
    let below = MACHINE_DEPLOYMENT.replace("name: md", "name: below").replace("v1.31.0", "v1.32.0");
    let same = changed(&program, "manifests/below/other.yaml", &below, &[]);
    assert_eq!(same.code, Some(0), "{}{}", same.stdout, same.stderr);
    assert!(same.stdout.contains("1 of the Applications render the same"), "{}", same.stdout);
    let program = repository(&format!("{HERE}, directory: {{recurse: true}}"));
    assert_eq!(changed(&program, "manifests/below/other.yaml", &below, &[]).code, Some(3));
}

#[test]
fn what_is_not_rendered_is_undecided_by_name_where_it_may_have_changed() {
    let newer = MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0");
    for (source, said) in [
        (format!("{HERE}, kustomize: {{images: ['a=b']}}"), "kustomize.images"),
        (format!("{HERE}, directory: {{exclude: 'x*'}}"), "directory.exclude"),
        (format!("{HERE}, plugin: {{name: own}}"), "a config management plugin renders it"),
        (format!("{HERE}, helm: {{fancy: true}}"), "helm.fancy"),
        (format!("{HERE}, helm: {{parameters: [{{name: a, value: '$ARGOCD_APP_NAME'}}]}}"), "holds a variable"),
        (HERE.replace("HEAD", "v1.2.3"), "targetRevision v1.2.3 is no branch"),
        (HERE.replace("manifests", "elsewhere"), "there is no such folder"),
        (HERE.replace("manifests", "../.."), "leads out"),
    ] {
        let program = repository(&source);
        let ran = changed(&program, "manifests/md.yaml", &newer, &[]);
        assert_eq!(ran.code, Some(4), "{source}: {}{}", ran.stdout, ran.stderr);
        let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("argocd/edge") && text.contains(said), "{source}: {}", ran.stdout);
    }
}

#[test]
fn a_source_that_is_elsewhere_counts_where_the_application_changes() {
    let chart = "repoURL: 'https://charts.example.com', chart: fleet, targetRevision: 1.0.0";
    let program = repository(chart);
    let newer = MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0");
    assert_eq!(
        changed(&program, "manifests/md.yaml", &newer, &[]).code,
        Some(0),
        "nothing of it is in this repository"
    );
    let moved = application(&chart.replace("1.0.0", "2.0.0"), "");
    let ran = changed(&program, "apps/edge.yaml", &moved, &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("chart fleet of a registry"), "{}", ran.stdout);
    // Where it is told to be this repository although no remote says so.
    let program = repository(&HERE.replace("git.example.com", "mirror.example.com"));
    assert_eq!(changed(&program, "README", "a", &[]).code, Some(0), "nothing that it may read changes");
    let newest = |more: &[&str]| changed(&program, "manifests/md.yaml", &newer, more);
    let ran = newest(&[]);
    assert_eq!(ran.code, Some(4), "a mirror may be this repository: {}", ran.stdout);
    assert!(ran.stdout.contains("argocd/edge"), "{}", ran.stdout);
    assert_eq!(newest(&["--repo-source", "argocd/edge"]).code, Some(3));
    let program = repository(&HERE.replace("telco/fleet", "telco/other"));
    assert_eq!(changed(&program, "manifests/md.yaml", &newer, &[]).code, Some(0), "it is another one of the same host");
}

#[test]
fn of_several_sources_those_that_are_here_count() {
    let newer = MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0");
    let program = repository(HERE);
    git(&program, &["checkout", "--quiet", "main"]);
    let chart = "{repoURL: 'https://charts.example.com', chart: x, targetRevision: 1.0.0}";
    let several = |sources: &str| format!("  sources: [{sources}]\n");
    program.file("apps/edge.yaml", &application("path: gone", &several(&format!("{{{HERE}}}, {chart}"))));
    git(&program, &["commit", "--quiet", "--all", "--message", "several"]);
    git(&program, &["checkout", "--quiet", "-B", "change"]);
    assert_eq!(changed(&program, "README", "a", &[]).code, Some(0));
    let ran = changed(&program, "manifests/md.yaml", &newer, &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    // Beside several the single one is ignored, so what it rendered is rendered no more; its owner keeps it in the cluster.
    let program = repository(HERE);
    program.file("manifests/below/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
    let several = several(&format!("{{{}}}", HERE.replace("path: manifests", "path: manifests/below")));
    let ran = changed(&program, "apps/edge.yaml", &application(HERE, &several), &[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("MachineDeployment ns/md is not rendered any more"), "{}", ran.stdout);
}

#[test]
fn an_application_that_moves_to_another_tree_is_undecided_and_its_labels_change_nothing() {
    let newer = MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0");
    let program = repository(HERE);
    git(&program, &["branch", "stable", "main"]);
    for (source, code) in [
        (HERE.replace("HEAD", "stable"), 4),
        (HERE.replace("HEAD", "main"), 0),
        (HERE.replace("https://git.example.com/telco/fleet.git", "ssh://git@git.example.com/telco/fleet"), 0),
    ] {
        let ran = changed(&program, "apps/edge.yaml", &application(&source, ""), &[]);
        assert_eq!(ran.code, Some(code), "{source}: {}{}", ran.stdout, ran.stderr);
        assert!(code == 0 || ran.stdout.contains("it moves from"), "{}", ran.stdout);
    }
    for metadata in ["labels: {a: b}", "annotations: {argocd.argoproj.io/sync-wave: '1'}", "finalizers: [a.b/c]"] {
        let program = repository(HERE);
        let labelled = application(HERE, "").replace("namespace: argocd", &format!("namespace: argocd, {metadata}"));
        assert_eq!(changed(&program, "apps/edge.yaml", &labelled, &[]).code, Some(0), "{metadata}");
        assert_eq!(changed(&program, "manifests/md.yaml", &newer, &[]).code, Some(3), "{metadata}");
    }
}

#[test]
fn what_an_application_renders_is_followed_where_it_renders_again() {
    let newer = MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0");
    let program = repository(HERE);
    git(&program, &["checkout", "--quiet", "main"]);
    std::fs::create_dir_all(program.home().join("children")).expect("a folder");
    std::fs::rename(program.home().join("apps/edge.yaml"), program.home().join("children/edge.yaml")).expect("a file");
    let root = application(&HERE.replace("path: manifests", "path: children"), "").replace("name: edge", "name: root");
    program.file("apps/root.yaml", &root);
    git(&program, &["add", "--all"]);
    git(&program, &["commit", "--quiet", "--message", "an app of apps"]);
    git(&program, &["checkout", "--quiet", "-B", "change"]);
    let ran = changed(&program, "README", "a", &[]);
    assert!(ran.code == Some(0) && ran.stdout.contains("2 of the Applications render the same"), "{}", ran.stdout);
    assert_eq!(changed(&program, "manifests/md.yaml", &newer, &[]).code, Some(3));
    // A set is not expanded: it is undecided where a path that it names changes.
    let program = repository(HERE);
    git(&program, &["checkout", "--quiet", "main"]);
    let set = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: set, namespace: argocd}}\nspec:\n  generators: \
         [{{list: {{elements: [{{n: a}}]}}}}]\n  template: {{metadata: {{name: '{{{{n}}}}'}}, spec: {{source: {{{HERE}}}}}}}\n"
    );
    program.file("apps/edge.yaml", &set);
    git(&program, &["commit", "--quiet", "--all", "--message", "a set"]);
    git(&program, &["checkout", "--quiet", "-B", "change"]);
    assert_eq!(changed(&program, "README", "a", &[]).code, Some(0));
    let ran = changed(&program, "manifests/md.yaml", &newer, &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("ApplicationSet argocd/set"), "{}", ran.stdout);
}

#[test]
fn what_a_sync_deletes_and_makes_anew_counts_beside_what_changes() {
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: ns}\ndata: {a: b}\n";
    for (annotation, more, code) in [
        ("helm.sh/hook: pre-install", "", 3),
        ("helm.sh/hook: pre-delete", "", 0),
        ("argocd.argoproj.io/sync-options: 'Replace=true,Force=true'", "", 4),
        ("argocd.argoproj.io/sync-options: 'Force=true'", "", 0),
        (
            "argocd.argoproj.io/sync-options: 'Replace=true,Force=true'",
            "  syncPolicy: {syncOptions: [ApplyOutOfSyncOnly=true]}\n",
            0,
        ),
    ] {
        let program = repository(HERE);
        git(&program, &["checkout", "--quiet", "main"]);
        program.file("apps/edge.yaml", &application(HERE, more));
        let md = MACHINE_DEPLOYMENT.replace("namespace: ns", &format!("namespace: ns, annotations: {{{annotation}}}"));
        program.file("manifests/md.yaml", &md);
        program.file("manifests/c.yaml", other);
        git(&program, &["add", "--all"]);
        git(&program, &["commit", "--quiet", "--message", "annotated"]);
        git(&program, &["checkout", "--quiet", "-B", "change"]);
        let ran = changed(&program, "manifests/c.yaml", &other.replace("a: b", "a: c"), &[]);
        assert_eq!(ran.code, Some(code), "{annotation}{more}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(changed(&program, "manifests/c.yaml", other, &[]).code, Some(0), "no sync: {annotation}");
    }
    // What is skipped stays as it is, and what is no longer skipped is written whole.
    let skipped =
        MACHINE_DEPLOYMENT.replace("namespace: ns", "namespace: ns, annotations: {argocd.argoproj.io/hook: Skip}");
    let program = repository(HERE);
    assert_eq!(changed(&program, "manifests/md.yaml", &skipped, &[]).code, Some(0));
    git(&program, &["branch", "--force", "main", "change"]);
    let ran = changed(&program, "manifests/md.yaml", MACHINE_DEPLOYMENT, &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn an_application_that_says_more_than_another_source_is_not_let_through() {
    for more in [
        "  syncPolicy: {syncOptions: [Replace=true]}\n",
        "  syncPolicy: {automated: {prune: true}}\n",
        "  project: other\n",
    ] {
        let program = repository(HERE);
        let ran = changed(&program, "apps/edge.yaml", &application(HERE, more), &[]);
        assert_eq!(ran.code, Some(4), "{more}: {}{}", ran.stdout, ran.stderr);
    }
    // What may replace objects whole is not predicted.
    let program = repository(HERE);
    let forced = application(HERE, "  syncPolicy: {syncOptions: [Replace=true]}\n");
    git(&program, &["checkout", "--quiet", "main"]);
    program.file("apps/edge.yaml", &forced);
    git(&program, &["commit", "--quiet", "--all", "--message", "forced"]);
    git(&program, &["checkout", "--quiet", "-B", "change"]);
    let labelled = MACHINE_DEPLOYMENT.replace("namespace: ns", "namespace: ns, labels: {team: a}");
    let ran = changed(&program, "manifests/md.yaml", &labelled, &[]);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("may replace objects whole"), "{}", ran.stdout);
}

/// Argo CD marks what it writes; what it renders has no such marks, and they are no change.
#[test]
fn marks_by_which_argo_cd_finds_its_objects_hold_nothing() {
    let program = repository(HERE);
    let marks = "namespace: ns, labels: {app.kubernetes.io/instance: edge}, annotations: \
                 {argocd.argoproj.io/tracking-id: 'edge:cluster.x-k8s.io/MachineDeployment:ns/md'}";
    program.file("live.yaml", &MACHINE_DEPLOYMENT.replace("namespace: ns", marks));
    let mut command = program.command();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(["plan", "apps/edge.yaml", "--live", "live.yaml", "--host", "argocd", "--policy", "none"]);
    let ran = ran(command, b"");
    assert!(!ran.stdout.contains("replaces") && ran.code == Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_helm_that_cannot_be_started_ends_the_run() {
    let program = repository("repoURL: 'https://git.example.com/telco/fleet.git', targetRevision: HEAD, path: chart");
    std::fs::create_dir_all(program.home().join("chart/templates")).expect("a folder");
    program.file("chart/Chart.yaml", "apiVersion: v2\nname: demo\nversion: 0.1.0\n");
    let ran = changed(&program, "chart/templates/md.yaml", MACHINE_DEPLOYMENT, &["--helm", "/nowhere/helm"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot be run; install Helm, or pass --helm PROGRAM"), "{}", ran.stderr);
}

#[test]
fn what_an_application_leaves_alone_reaches_nobody_where_it_respects_that() {
    let ignored = "  ignoreDifferences: [{group: cluster.x-k8s.io, kind: MachineDeployment, jsonPointers: [/spec/template/spec/version]}]\n";
    let respected = format!("{ignored}  syncPolicy: {{syncOptions: [RespectIgnoreDifferences=true]}}\n");
    let newer = MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0");
    let moved = newer.replace("name: t}", "name: u}");
    for (more, text, code) in [
        (respected.as_str(), &newer, 0),
        // Another field counts beside it, and without the option the version in Git is written all the same.
        (&respected, &moved, 3),
        (ignored, &newer, 3),
    ] {
        let ran = changed(&repository_with(HERE, more), "manifests/md.yaml", text, &[]);
        assert_eq!(ran.code, Some(code), "{more}{}{}", ran.stdout, ran.stderr);
    }
}
