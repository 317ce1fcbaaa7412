//! What a plan is asked about: folders, charts and kustomizations, on one side and on both. Helm and kustomize are stand-ins here that
//! do as the real ones where it matters; the end-to-end tests ask the real ones.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::Value;

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
pub(super) struct Home(pub(super) Program);

impl Home {
    pub(super) fn new() -> Self {
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

    pub(super) fn file(&self, name: &str, text: &str) {
        let file = self.0.home().join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        std::fs::write(file, text).expect("written");
    }

    pub(super) fn run(&self, args: &[&str]) -> Ran {
        let bin = self.0.home().join("bin").display().to_string();
        let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
        let mut command = self.0.command();
        command.env("PATH", path).args(args);
        ran(command, b"")
    }

    pub(super) fn git(&self, args: &[&str]) {
        let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let mut command = Command::new("git");
        command.args(set).args(args).current_dir(self.0.home()).env("HOME", self.0.home());
        let output = command.output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Everything as `main`, and from there a branch.
    pub(super) fn branch(&self) {
        self.file(".gitignore", "bin\ncalls\n.local\n");
        self.git(&["init", "--quiet", "--initial-branch", "main"]);
        self.commit();
        self.git(&["checkout", "--quiet", "-b", "change"]);
    }

    pub(super) fn commit(&self) {
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--message", "step"]);
    }

    fn calls(&self) -> String {
        std::fs::read_to_string(self.0.home().join("calls")).unwrap_or_default()
    }
}

pub(super) fn named(name: &str, version: &str) -> String {
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
        ("chart", "chart is a chart; pass --chart chart --release NAME"),
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
    let options = "--namespace ns --values values.yaml --is-upgrade";
    let calls = home.calls();
    let (first, others) = calls.split_once('\n').expect("a call");
    assert_eq!(first, format!("template demo chart {options}"), "an old render is upgraded");
    // A copy that is told of another revision is rendered in the same way.
    let [copy] = others.lines().collect::<Vec<_>>()[..] else { panic!("{calls}") };
    assert!(
        copy.contains("rollgate-chart-") && copy.ends_with(options) && copy.starts_with("template demo "),
        "{copy}"
    );
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
        (&["--chart", "chart", "--release", "demo", "--helm", "no-helm"], "install Helm, or pass --helm PROGRAM"),
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
        assert!(ran.stdout.contains("with main,"), "{}", ran.stdout);
    }
    // What is partly new is compared as far as it was there.
    let ran = home.run(&["plan", "--base-ref", "main", "old.yaml", "new.yaml"]);
    assert!(
        ran.code == Some(2) && ran.stderr.contains("new.yaml is not in main; where it is new, pass --new-chart"),
        "{}",
        ran.stderr
    );
    let ran = home.run(&["plan", "--base-ref", "main", "--new-chart", "old.yaml", "new.yaml"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("v1.31.0 -> v1.34.0"), "{}", ran.stdout);
    let ran = home.run(&["plan", "--base-ref", "main"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("say what by --render COMMAND"), "{}", ran.stderr);
    let ran = home.run(&["plan", "--base-ref", "main", "--chart", "gone", "--release", "demo"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("in main: helm template demo gone failed"), "{}", ran.stderr);
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
