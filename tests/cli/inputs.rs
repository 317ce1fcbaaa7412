//! What a plan is asked about: folders, charts and kustomizations, on one side and on both, and several releases in one run. Helm and
//! kustomize are stand-ins here that do as the real ones where it matters; the end-to-end tests ask the real ones.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;

use super::formats::readers;
use super::{MACHINE_DEPLOYMENT, Program, Ran, ran};

/// Prints the chart's only template with the version of the last values file, as an upgrade or as an install.
const HELM: &str = r#"#!/bin/sh
echo "$@" >> "$HOME/calls"
chart="$3" values=/dev/null mode=install
test -f "$chart/Chart.yaml" || { echo "coalesce.go: warning: password: geheim" >&2; echo "Error: $chart: no such chart" >&2; exit 1; }
while test $# -gt 0; do
  case "$1" in
    --values) values="$2"; test -f "$2" || { echo "Error: open $2: no such file or directory" >&2; exit 1; } ;;
    --is-upgrade) mode=upgrade ;;
  esac
  shift
done
version=$(sed -n 's/^version: //p' "$values")
sed "s/v1.31.0/${version:-v1.31.0}/" "$chart/template.yaml"
test "$mode" = upgrade || test ! -f "$chart/install.yaml" || cat "$chart/install.yaml"
"#;

/// Prints what lies in the folder.
const KUSTOMIZE: &str = "#!/bin/sh\ntest \"$1\" = build || exit 9\ncat \"$2\"/base.yaml || { echo 'Error: accumulating resources: no base' >&2; exit 1; }\n";

/// A home with a chart, the stand-ins on the path, and Git.
struct Home(Program);

impl Home {
    fn new() -> Self {
        let home = Self(Program::new());
        for (name, text) in [("bin/helm", HELM), ("bin/kustomize", KUSTOMIZE)] {
            home.file(name, text);
            let file = home.0.home().join(name);
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("a script");
        }
        home.file("chart/Chart.yaml", "name: demo\n");
        home.file("chart/template.yaml", MACHINE_DEPLOYMENT);
        home.file("old.yaml", MACHINE_DEPLOYMENT);
        home
    }

    fn file(&self, name: &str, text: &str) {
        let file = self.0.home().join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        std::fs::write(file, text).expect("written");
    }

    fn run(&self, args: &[&str]) -> Ran {
        let bin = self.0.home().join("bin").display().to_string();
        let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
        let mut command = self.0.command();
        command.env("PATH", path).args(args);
        ran(command, b"")
    }

    fn git(&self, args: &[&str]) {
        let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let mut command = Command::new("git");
        command.args(set).args(args).current_dir(self.0.home()).env("HOME", self.0.home());
        let output = command.output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Everything as `main`, and from there a branch.
    fn branch(&self) {
        self.file(".gitignore", "bin\ncalls\n.local\n");
        self.git(&["init", "--quiet", "--initial-branch", "main"]);
        self.commit();
        self.git(&["checkout", "--quiet", "-b", "change"]);
    }

    fn commit(&self) {
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--message", "step"]);
    }

    fn calls(&self) -> String {
        std::fs::read_to_string(self.0.home().join("calls")).unwrap_or_default()
    }
}

fn named(name: &str, version: &str) -> String {
    MACHINE_DEPLOYMENT.replace("name: md,", &format!("name: {name},")).replace("v1.31.0", version)
}

#[test]
fn a_folder_is_read_with_those_below_it_and_each_place_names_its_file() {
    let home = Home::new();
    home.file("old/a.yaml", &named("a", "v1.31.0"));
    home.file("old/below/b.yml", &named("b", "v1.31.0"));
    home.file("new/a.yaml", &named("a", "v1.31.0"));
    home.file("new/below/b.yml", &named("b", "v1.32.0"));
    home.file("new/README.md", "no manifest\n");
    let ran = home.run(&["plan", "new", "--live", "old", "-o", "json"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("a report");
    assert_eq!(report["live"]["objects"], 2);
    assert_eq!(report["objects"][0]["name"], "b");
    assert_eq!(report["objects"][0]["location"]["file"], "new/below/b.yml");
    assert_eq!(report["objects"][0]["location"]["line"], 1);
}

#[test]
fn a_folder_that_is_something_else_or_holds_it_is_refused_by_name() {
    let home = Home::new();
    home.file("empty/README.md", "nothing\n");
    home.file("mixed/a.yaml", MACHINE_DEPLOYMENT);
    home.file("mixed/demo/Chart.yaml", "name: demo\n");
    home.file("mixed/demo/values.yaml", "{}\n");
    home.file("kept/a.yaml", MACHINE_DEPLOYMENT);
    home.file("kept/over/kustomization.yaml", "resources: []\n");
    for (folder, words) in [
        ("chart", "chart is a chart; say --chart chart --release NAME"),
        ("empty", "empty holds no .yaml, .yml or .json file"),
        ("mixed", "mixed/demo is a chart in mixed"),
        ("kept", "kept/over is a kustomization in kept"),
        ("gone", "cannot read gone"),
    ] {
        let ran = home.run(&["plan", folder, "--live", "none"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{folder}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{folder}: {}", ran.stderr);
    }
}

#[test]
fn a_chart_is_rendered_as_the_release_that_it_is() {
    let home = Home::new();
    home.file("values.yaml", "version: v1.32.0\n");
    let chart =
        ["plan", "--chart", "chart", "-f", "values.yaml", "--release", "demo", "-n", "ns", "--live", "old.yaml"];
    let ran = home.run(&chart);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("spec.template.spec.version v1.31.0 -> v1.32.0"), "{}", ran.stdout);
    let call = "template demo chart --namespace ns --values values.yaml --is-upgrade\n";
    assert_eq!(home.calls(), call, "an old render is upgraded");
    let ran = home.run(&[&chart[..9], &["--live", "none", "--set", "a=b", "--helm-arg=--api-versions=x/v1"]].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let call = "template demo chart --namespace ns --values values.yaml --set a=b --api-versions=x/v1\n";
    assert!(home.calls().ends_with(call), "what is compared with nothing is installed: {}", home.calls());
}

#[test]
fn a_chart_that_prints_another_stream_at_first_is_said_to() {
    let home = Home::new();
    let plan = ["plan", "--chart", "chart", "--release", "demo", "-n", "ns", "--policy", "none"];
    let silent = home.run(&plan);
    assert!(!silent.stdout.contains("first install"), "{}", silent.stdout);
    home.file("chart/install.yaml", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: once}\n");
    let ran = home.run(&plan);
    assert_eq!(ran.code, Some(4), "no cluster is reached: {}{}", ran.stdout, ran.stderr);
    let said = super::sentence(&ran.stdout, "prints another stream for a first install");
    assert!(said.contains("--first-install"), "{}", ran.stdout);
    let told = home.run(&[&plan[..], &["--first-install"]].concat());
    assert!(!told.stdout.contains("prints another stream"), "{}", told.stdout);
}

#[test]
fn a_render_that_fails_or_gives_nothing_is_an_error_with_the_words_of_the_tool() {
    let home = Home::new();
    home.file("empty/Chart.yaml", "name: empty\n");
    home.file("empty/template.yaml", "# nothing\n");
    home.file("over/kustomization.yaml", "resources: [base.yaml]\n");
    for (args, words) in [
        (&["--chart", "gone", "--release", "demo"][..], "Error: gone: no such chart"),
        (&["--chart", "chart", "-f", "gone.yaml", "--release", "demo"], "Error: open gone.yaml"),
        (&["--chart", "empty", "--release", "demo"], "helm template demo empty prints no object"),
        (&["--chart", "chart", "--release", "demo", "--helm", "no-helm"], "install Helm, or give --helm PROGRAM"),
        (&["over"], "Error: accumulating resources: no base"),
        (&["over", "--kustomize", "no-kustomize"], "no-kustomize build over cannot be run"),
    ] {
        for command in ["plan", "snapshot"] {
            let ran = home.run(&[&[command], args, &["--live", "old.yaml"]].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{command} {args:?}: {}", ran.stderr);
            assert!(ran.stderr.contains(words), "{command} {args:?}: {}", ran.stderr);
            assert!(!ran.stderr.contains("geheim"), "warnings of Helm quote values: {}", ran.stderr);
        }
    }
    let ran = home.run(&["plan", "--chart", "chart", "--live", "old.yaml"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("--release"), "{}", ran.stderr);
}

#[test]
fn a_kustomization_is_built_beside_files_by_what_is_there() {
    let home = Home::new();
    home.file("over/kustomization.yaml", "resources: [base.yaml]\n");
    home.file("over/base.yaml", &named("k", "v1.32.0"));
    home.file("was.yaml", &format!("{}---\n{}", named("k", "v1.31.0"), MACHINE_DEPLOYMENT));
    let ran = home.run(&["plan", "over", "old.yaml", "--live", "was.yaml", "-o", "json"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("a report");
    assert_eq!(report["objects"][0]["name"], "k");
    assert_eq!(report["objects"][0]["location"].get("file"), None, "what a tool prints stands in no file");
}

#[test]
fn both_revisions_are_rendered_from_their_own_tree() {
    let home = Home::new();
    home.file("values.yaml", "version: v1.31.0\n");
    home.file("over/kustomization.yaml", "resources: [base.yaml]\n");
    home.file("over/base.yaml", MACHINE_DEPLOYMENT);
    home.branch();
    home.file("values.yaml", "version: v1.32.0\n");
    home.file("over/base.yaml", &named("md", "v1.33.0"));
    home.file("old.yaml", &named("md", "v1.34.0"));
    home.file("new.yaml", &named("new", "v1.34.0"));
    home.commit();
    let absolute = home.0.home().join("values.yaml").display().to_string();
    for (args, version) in [
        (&["--chart", "chart", "-f", "values.yaml", "--release", "demo"][..], "v1.32.0"),
        (&["--chart", "./chart", "-f", &absolute, "--release", "demo"], "v1.32.0"),
        (&["over"], "v1.33.0"),
        (&["old.yaml"], "v1.34.0"),
    ] {
        let ran = home.run(&[&["plan", "--base-ref", "main"], args].concat());
        assert_eq!(ran.code, Some(3), "{args:?}: {}{}", ran.stdout, ran.stderr);
        let change = format!("v1.31.0 -> {version} replaces 2 Machines");
        assert!(super::sentence(&ran.stdout, "hold rollout").contains(&change), "{args:?}: {}", ran.stdout);
        assert!(ran.stdout.contains("with main;"), "{}", ran.stdout);
    }
    // What is partly new is compared as far as it was there.
    let ran = home.run(&["plan", "--base-ref", "main", "old.yaml", "new.yaml"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("in main: cannot read new.yaml"), "{}", ran.stderr);
    let ran = home.run(&["plan", "--base-ref", "main", "--new-chart", "old.yaml", "new.yaml"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("v1.31.0 -> v1.34.0"), "{}", ran.stdout);
    let ran = home.run(&["plan", "--base-ref", "main"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("say what by --render COMMAND"), "{}", ran.stderr);
    let ran = home.run(&["plan", "--base-ref", "main", "--chart", "gone", "--release", "demo"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("in main: helm template demo gone failed"), "{}", ran.stderr);
}

/// Three releases: a chart twice, and files.
const RELEASES: &str = "apiVersion: rollgate.dev/v1alpha1
kind: Policy
releases:
- {name: one, namespace: ns, chart: chart, values: [one.yaml], live: was.yaml}
- {name: two, namespace: ns, chart: chart, values: [two.yaml], live: was.yaml}
- {name: files, namespace: other, paths: [files], live: none}
";

fn listed() -> Home {
    let home = Home::new();
    home.file("rollgate.yaml", RELEASES);
    home.file("one.yaml", "version: v1.31.0\n");
    home.file("two.yaml", "version: v1.32.0\n");
    home.file("was.yaml", MACHINE_DEPLOYMENT);
    home.file("files/a.yaml", MACHINE_DEPLOYMENT);
    home
}

#[test]
fn several_releases_are_one_run_with_the_worst_exit_code() {
    let home = listed();
    let files: Vec<String> = ["json", "markdown", "sarif", "junit", "gitlab", "github", "html"]
        .iter()
        .map(|format| format!("-o={format}=out.{format}"))
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let ran = home.run(&[&["plan", "--all", "-o", "human"], &files[..]].concat());
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("rollgate: hold  3 releases: 1 hold, 2 allow\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("rollgate: hold  3 releases: 1 hold, 2 allow\n"), "{}", ran.stdout);
    for release in ["release ns/one\n", "release ns/two\n", "release other/files\n"] {
        assert!(ran.stdout.contains(release), "{}", ran.stdout);
    }
    let text = |format: &str| std::fs::read_to_string(home.0.home().join(format!("out.{format}"))).expect(format);
    for format in ["markdown", "sarif", "junit", "gitlab", "github", "html"] {
        readers::check(format, &text(format)).unwrap_or_else(|fault| panic!("{format}: {fault}\n{}", text(format)));
        assert!(text(format).contains("ns/two"), "{format}: {}", text(format));
    }
    let list: Value = serde_json::from_str(&text("json")).expect("a list");
    assert_eq!(
        (&list["kind"], &list["decision"], &list["effect"]),
        (&"ReportList".into(), &"hold".into(), &"rollout".into())
    );
    let releases: Vec<&Value> =
        list["items"].as_array().expect("items").iter().map(|one| &one["host"]["release"]).collect();
    assert_eq!(releases, ["one", "two", "files"]);
    let schema = home.run(&["schema", "report-list"]);
    let validator = jsonschema::validator_for(&serde_json::from_str(&schema.stdout).expect("JSON")).expect("a schema");
    let faults: Vec<String> = validator.iter_errors(&list).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    // A place is named from here, wherever the policy was found.
    assert_eq!(list["items"][2]["objects"][0]["location"]["file"], "files/a.yaml");
    // One comment is found again whichever of its releases is judged worse.
    assert!(text("markdown").starts_with("<!-- rollgate:releases -->\n"), "{}", text("markdown"));
}

#[test]
fn two_releases_with_one_name_are_told_apart_in_every_finding() {
    let home = listed();
    let both = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nreleases:\n- {name: one, namespace: ns, chart: chart, values: [two.yaml], live: was.yaml}\n- {name: one, namespace: ns, chart: chart, values: [two.yaml], live: old.yaml}\n";
    home.file("rollgate.yaml", both);
    let ran = home.run(&["plan", "--all", "-o", "gitlab"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let list: Vec<Value> = serde_json::from_str(&ran.stdout).expect("a list");
    let prints: std::collections::BTreeSet<&str> = list.iter().filter_map(|one| one["fingerprint"].as_str()).collect();
    assert_eq!(prints.len(), list.len(), "{list:#?}");
    assert!(ran.stdout.contains("was.yaml)") && ran.stdout.contains("old.yaml)"), "{}", ran.stdout);
}

#[test]
fn one_of_several_releases_is_chosen_by_its_name() {
    let home = listed();
    let ran = home.run(&["plan", "--all", "--release", "one", "-n", "ns"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let ran = home.run(&["plan", "--all", "--release", "three"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("no release to judge"), "{}", ran.stderr);
}

#[test]
fn a_release_that_cannot_be_judged_ends_the_run_without_a_report() {
    let home = listed();
    std::fs::remove_file(home.0.home().join("one.yaml")).expect("removed");
    let ran = home.run(&["plan", "--all", "-o", "json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("release ns/one: ") && ran.stderr.contains("one.yaml: no such file"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("release ns/two"), "{}", ran.stderr);
}

#[test]
fn what_a_list_of_releases_may_not_say_is_said_with_its_line() {
    let home = Home::new();
    let head = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nreleases:\n";
    for (list, words) in [
        ("- {name: a}\n", "4:3: releases[0]: nothing says what it is rendered from"),
        ("- {name: a, chart: c, paths: [p]}\n", "releases[0].paths: it has a chart already"),
        ("- {name: a, paths: [p], values: [v]}\n", "releases[0].values: only a chart takes values"),
        ("- {name: a, chart: c}\n- {name: a, chart: d}\n", "5:3: releases[1]: release a is listed twice"),
        ("- {name: '', chart: c}\n", "releases[0].name: a release has a name"),
    ] {
        home.file("rollgate.yaml", &format!("{head}{list}"));
        let ran = home.run(&["policy", "check"]);
        assert!(ran.code == Some(2) && ran.stderr.contains(words), "{list}: {}", ran.stderr);
    }
}

#[test]
fn the_releases_of_a_change_are_judged_as_the_base_says() {
    let home = listed();
    home.branch();
    // A release more with a file of its own, another version of an old one, and a policy that would let everything through.
    let more = format!(
        "{}- {{name: three, namespace: ns, chart: chart, values: [three.yaml]}}\ngates: {{rollout: allow}}\n",
        RELEASES
    );
    home.file("rollgate.yaml", &more);
    home.file("one.yaml", "version: v1.33.0\n");
    home.file("three.yaml", "version: v1.34.0\n");
    home.commit();
    let ran = home.run(&["plan", "--all", "--base-ref", "main", "-o", "json"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    let list: Value = serde_json::from_str(&ran.stdout).expect("a list");
    let said: Vec<(&str, &str)> = list["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|one| (one["host"]["release"].as_str().unwrap_or_default(), one["decision"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(said, [("one", "hold"), ("two", "allow"), ("files", "allow"), ("three", "allow")]);
    assert_eq!(list["items"][3]["objects"][0]["action"], "create");
    assert_eq!(list["items"][0]["policy"]["source"], "main:rollgate.yaml");
    assert!(!ran.stdout.contains("/head/") && !ran.stdout.contains("/rendered-"), "{}", ran.stdout);
}

#[test]
fn a_release_that_is_listed_for_the_first_time_is_compared_with_what_its_chart_was() {
    let home = listed();
    home.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    home.branch();
    home.file("rollgate.yaml", RELEASES);
    home.file("one.yaml", "version: v1.33.0\n");
    home.commit();
    let ran = home.run(&["plan", "--all", "--base-ref", "main"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("v1.31.0 -> v1.33.0"), "{}", ran.stdout);
}

#[test]
fn a_release_that_a_change_takes_from_the_list_is_undecided_unless_the_base_lets_it() {
    for (unseen, code) in [("undecided", 4), ("warn", 0), ("allow", 0)] {
        let home = listed();
        let policy = |list: &str| format!("{list}unseen: {{release: {unseen}}}\n");
        home.file("rollgate.yaml", &policy(RELEASES));
        home.branch();
        let fewer: String =
            RELEASES.lines().filter(|line| !line.contains("name: two")).map(|line| format!("{line}\n")).collect();
        home.file("rollgate.yaml", &policy(&fewer));
        home.commit();
        let ran = home.run(&["plan", "--all", "--base-ref", "main"]);
        assert_eq!(ran.code, Some(code), "{unseen}: {}{}", ran.stdout, ran.stderr);
        let said = "release ns/two is listed in main and no longer in the change";
        let told = format!("{}{}", ran.stdout, ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(told.contains(said), unseen != "allow", "{unseen}: {told}");
    }
}

#[test]
fn what_leads_out_of_the_repository_is_not_read() {
    let home = listed();
    let outside = tempfile::tempdir().expect("a folder");
    let secret = outside.path().join("secret.yaml");
    std::fs::write(&secret, MACHINE_DEPLOYMENT).expect("written");
    let secret = secret.display().to_string();
    home.file("files/a.yaml", MACHINE_DEPLOYMENT);
    home.branch();
    std::os::unix::fs::symlink(&secret, home.0.home().join("files/link.yaml")).expect("a link");
    home.commit();
    let ran = home.run(&["plan", "--base-ref", "main", "files"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("in HEAD: files/link.yaml leads out of the repository"), "{}", ran.stderr);
    home.git(&["rm", "--quiet", "files/link.yaml"]);
    for entry in
        [format!("paths: [{secret}]"), format!("chart: chart, values: [{secret}]"), "paths: [../../../etc]".to_owned()]
    {
        home.file("rollgate.yaml", &format!("{RELEASES}- {{name: more, {entry}}}\n"));
        home.commit();
        let ran = home.run(&["plan", "--all", "--base-ref", "main"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{entry}: {}", ran.stderr);
        assert!(ran.stderr.contains("release more") && ran.stderr.contains("out"), "{entry}: {}", ran.stderr);
    }
}

#[test]
fn a_change_of_one_of_several_releases_is_approved_from_their_report() {
    let home = listed();
    home.file("rollgate.yaml", &format!("{RELEASES}approvals: {{from: [{{file: yes.yaml}}]}}\n"));
    let ran = home.run(&["plan", "--all", "-o", "json=all.json"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let text = std::fs::read_to_string(home.0.home().join("all.json")).expect("a list");
    let list: Value = serde_json::from_str(&text).expect("JSON");
    let digest = list["items"][1]["digest"].as_str().expect("a digest");
    std::fs::remove_dir_all(home.0.home().join(".local")).expect("the reports of this machine");
    let given = home.run(&["approve", digest, "--report", "all.json", "--reason", "x"]);
    assert_eq!(given.code, Some(0), "{}", given.stderr);
    let ran = home.run(&["plan", "--all"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn what_is_not_compared_is_listed() {
    let home = Home::new();
    let more = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: words}\n";
    home.file("new.yaml", &format!("{MACHINE_DEPLOYMENT}{more}"));
    let ran = home.run(&["plan", "new.yaml", "--live", "new.yaml", "-o", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).expect("a report");
    assert_eq!(report["live"]["notCompared"], 2, "{}", ran.stdout);
    let listed = serde_json::json!([
        {"kind": "ConfigMap", "name": "words"},
        {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"},
    ]);
    assert_eq!(report["live"]["notComparedObjects"], listed);
}

#[test]
fn the_age_of_a_snapshot_stands_in_every_report_and_may_be_too_much() {
    let home = Home::new();
    let uid = MACHINE_DEPLOYMENT.replace("namespace: ns", "namespace: ns, uid: u-1");
    home.file("dump.yaml", &uid);
    let at = "2026-01-02T03:00:00Z";
    let saved = home.run(&["snapshot", "old.yaml", "--live", "dump.yaml", "--now", at, "-o", "nightly.json"]);
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    let plan = |more: &[&str]| {
        home.run(
            &[
                &["plan", "old.yaml", "--live", "nightly.json", "--now", "2026-01-02T17:30:00Z", "--base", "old.yaml"],
                more,
            ]
            .concat(),
        )
    };
    let json: Value = serde_json::from_str(&plan(&["-o", "json"]).stdout).expect("a report");
    assert_eq!((&json["live"]["taken"], &json["live"]["ageSeconds"]), (&at.into(), &52_200.into()));
    for format in ["human", "markdown", "html"] {
        let text = plan(&["-o", format]).stdout;
        assert!(text.contains("taken 14 hours 30 minutes ago"), "{format}: {text}");
    }
    assert!(super::sentence(&plan(&[]).stdout, "warn").contains("what changed in the cluster since is not known"));
    let fresh = plan(&["--max-age", "15h"]);
    assert_eq!(fresh.code, Some(0), "{}{}", fresh.stdout, fresh.stderr);
    assert!(!fresh.stdout.contains("warn"), "{}", fresh.stdout);
    let dump = home.run(&["plan", "old.yaml", "--live", "dump.yaml", "--base", "old.yaml", "--max-age", "12h"]);
    assert_eq!(dump.code, Some(4), "{}{}", dump.stdout, dump.stderr);
    assert!(dump.stdout.contains("nothing in it says when it was taken"), "{}", dump.stdout);
    let old = plan(&["--max-age", "12h"]);
    assert_eq!(old.code, Some(4), "{}{}", old.stdout, old.stderr);
    let said = super::sentence(&old.stdout, "undecided read");
    assert!(said.contains("14 hours 30 minutes ago, and may be 12 hours old (--max-age)"), "{}", old.stdout);
    assert!(
        old.stdout
            .contains("next: take it anew where the cluster is reached: rollgate snapshot RENDERED -o nightly.json"),
        "{}",
        old.stdout
    );
}

#[test]
fn a_snapshot_that_was_taken_for_other_objects_is_no_answer() {
    let home = Home::new();
    home.file("dump.yaml", &MACHINE_DEPLOYMENT.replace("namespace: ns", "namespace: ns, uid: u-1"));
    let saved = home.run(&["snapshot", "old.yaml", "--live", "dump.yaml", "-o", "nightly.json"]);
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    home.file("more.yaml", &format!("{MACHINE_DEPLOYMENT}---\n{}", named("another", "v1.31.0")));
    let ran = home.run(&["plan", "more.yaml", "--live", "nightly.json", "--base", "old.yaml", "-o", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).expect("a report");
    assert_ne!(report["objects"][0]["rule"], "create", "{}", ran.stdout);
}
