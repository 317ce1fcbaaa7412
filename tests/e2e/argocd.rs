//! The examples of Argo CD, run as Argo CD runs them: the command that a plugin generates with, and the command of the hook's container,
//! each with the environment that it is given. The cluster is a file, so that a hold and an allowed run follow from it alone. Of helmfile and
//! the Helm provider of Terraform, neither of which runs here, what they hand on is handed on to a real Helm.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::bench::say;
use crate::helm::{Run, rollgate};
use crate::starter;

/// A folder with the programs of the image, the chart, and the cluster as it stands.
struct Sidecar(TempDir);

impl Sidecar {
    /// `None`, after one line, where there is no Helm.
    fn new() -> Option<Self> {
        let programs = match starter::find(&["helm3"]) {
            Ok(programs) => programs,
            Err(missing) => {
                assert!(std::env::var("CI").as_deref() != Ok("true"), "{missing}; in CI that is a failure");
                say(&format!("skipped: {missing}"));
                return None;
            }
        };
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("bin")).expect("a folder");
        symlink(programs.join("helm3"), folder.path().join("bin/helm")).expect("a link");
        symlink(rollgate(), folder.path().join("bin/rollgate")).expect("a link");
        let one = Self(folder);
        let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts/kubeadm");
        assert!(Command::new("cp").arg("-r").arg(chart).arg(one.path("chart")).status().expect("cp runs").success());
        one.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
        one.file("values.yaml", "vip: 10.0.3.7\n");
        let live =
            one.run("helm", &["template", "edge-1", "chart", "-n", "telco", "-f", "values.yaml"], &[], ".").succeeded();
        one.file("live.yaml", &live.stdout);
        Some(one)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    /// Runs a command with nothing in its environment but what is told.
    fn run(&self, program: &str, args: &[&str], environment: &[(&str, &str)], folder: &str) -> Run {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path(folder)).env_clear().env("HOME", self.0.path());
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        let output = command.envs(environment.iter().copied()).output();
        Run::of(output.unwrap_or_else(|error| panic!("{program} runs: {error}")))
    }
}

/// An example as a tree.
fn example(name: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/argocd").join(name);
    let read = Command::new(rollgate()).args(["debug", "yaml"]).arg(file).output().expect("rollgate runs");
    serde_json::from_str(&Run::of(read).succeeded().stdout).expect("one document")
}

/// The words of a command and its arguments.
fn words<'v>(value: &'v Value, pointer: &str) -> Vec<&'v str> {
    let list = |field: &str| value.pointer(pointer).and_then(|part| part[field].as_array()).into_iter().flatten();
    list("command").chain(list("args")).map(|word| word.as_str().expect("text")).collect()
}

#[test]
fn the_plugin_generates_what_the_gate_lets_through_and_ends_with_reasons_where_it_holds() {
    let Some(sidecar) = Sidecar::new() else { return };
    let plugin = example("plugin/plugin.yaml");
    assert_eq!(
        (&plugin["kind"], &plugin["apiVersion"]),
        (&"ConfigManagementPlugin".into(), &"argoproj.io/v1alpha1".into())
    );
    let generate = words(&plugin, "/spec/generate");
    let live = sidecar.path("live.yaml").display().to_string();
    let (policy, values) = (sidecar.path("rollgate.yaml"), sidecar.path("values.yaml"));
    let (policy, values) = (policy.display().to_string(), values.display().to_string());
    // Argo CD runs it in the folder of the Application, with these of its own and those of spec.source.plugin.env.
    let environment = [
        ("ARGOCD_APP_NAME", "edge-1"),
        ("ARGOCD_APP_NAMESPACE", "telco"),
        ("ARGOCD_ENV_VALUES", values.as_str()),
        ("ARGOCD_ENV_ROLLGATE_POLICY", policy.as_str()),
        ("ARGOCD_ENV_ROLLGATE_LIVE", live.as_str()),
    ];
    let generated = |environment: &[(&str, &str)]| sidecar.run(generate[0], &generate[1..], environment, "chart");
    let same = generated(&environment).succeeded();
    assert_eq!(same.stdout, fs::read_to_string(&live).expect("what Helm renders"), "not a byte is another");
    sidecar.file("values.yaml", "vip: 10.0.3.8\n");
    let held = generated(&environment).refused("10.0.3.8");
    assert_eq!(
        (held.code, held.stdout.as_str()),
        (Some(3), ""),
        "nothing is generated that Argo CD could take for the whole"
    );
    // Without a policy nothing is generated either.
    generated(&environment[..3]).refused("spec.source.plugin.env");
}

#[test]
fn the_hook_stops_the_sync_of_a_revision_that_replaces_machines() {
    let Some(sidecar) = Sidecar::new() else { return };
    let job = example("presync.yaml");
    assert_eq!(job["metadata"]["annotations"]["argocd.argoproj.io/hook"], "PreSync");
    let container = "/spec/template/spec/containers/0";
    let words = words(&job, container);
    let git = |args: &[&str]| {
        let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        sidecar.run("git", &[&set[..], args].concat(), &[], ".").succeeded()
    };
    git(&["init", "--quiet"]);
    git(&["add", "chart", "values.yaml", "rollgate.yaml"]);
    git(&["commit", "--quiet", "-m", "one"]);
    git(&["branch", "same"]);
    sidecar.file("values.yaml", "vip: 10.0.3.8\n");
    git(&["commit", "--quiet", "-am", "two"]);
    let runs = |revision: &str| {
        let clone = tempfile::tempdir().expect("a folder");
        // What the Job says, but for where things are on this machine.
        let command =
            words.iter().map(|word| word.replace("/tmp/fleet", &clone.path().join("fleet").display().to_string()));
        let command: Vec<String> = command.collect();
        let args: Vec<&str> = command[1..].iter().map(String::as_str).collect();
        let (repository, live) =
            (sidecar.0.path().display().to_string(), sidecar.path("live.yaml").display().to_string());
        let told = job.pointer(container).expect("a container")["env"].as_array().expect("its environment");
        let told =
            told.iter().map(|one| (one["name"].as_str().expect("a name"), one["value"].as_str().expect("a value")));
        let mut environment: Vec<(&str, &str)> = told.collect();
        environment.extend([
            ("REPOSITORY", repository.as_str()),
            ("REVISION", revision),
            ("LIVE", live.as_str()),
            ("HOME", repository.as_str()),
        ]);
        sidecar.run(&command[0], &args, &environment, ".")
    };
    runs("same").succeeded();
    let held = runs("main");
    assert!(held.code == Some(3) && held.stdout.contains("10.0.3.8"), "{held:#?}");
}

/// Renders the chart through a post-renderer as helmfile and Terraform have Helm do it, with the cluster as a file.
fn post_rendered(sidecar: &Sidecar, program: &str, args: &[String]) -> Run {
    let live = format!("--live={}", sidecar.path("live.yaml").display());
    let mut words = vec!["template", "edge-1", "chart", "-n", "telco", "-f", "values.yaml", "--post-renderer", program];
    for arg in args.iter().chain([&live]) {
        words.extend(["--post-renderer-args", arg]);
    }
    sidecar.run("helm", &words, &[], ".")
}

#[test]
fn helmfile_and_terraform_hand_on_what_holds_a_release() {
    let Some(sidecar) = Sidecar::new() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let read = Command::new(rollgate()).args(["debug", "yaml"]).arg(root.join("helmfile/helmfile.yaml")).output();
    let helmfile: Value =
        serde_json::from_str(&Run::of(read.expect("rollgate runs")).succeeded().stdout).expect("JSON");
    let release = &helmfile["releases"][0];
    let words = |list: &Value| {
        list.as_array().expect("a list").iter().map(|word| word.as_str().expect("text").to_owned()).collect()
    };
    let terraform = fs::read_to_string(root.join("terraform/main.tf")).expect("the example");
    let said = |name: &str| {
        let line = terraform.lines().map(str::trim).find_map(|line| line.strip_prefix(name)).expect(name);
        let value = line.split_once('=').expect("a value").1.trim();
        // What stands there is a literal of HCL, which is one of JSON.
        serde_json::from_str::<Value>(value).expect("a literal")
    };
    let both: [(String, Vec<String>); 2] = [
        (release["postRenderer"].as_str().expect("a program").to_owned(), words(&release["postRendererArgs"])),
        (said("binary_path").as_str().expect("a program").to_owned(), words(&said("args"))),
    ];
    for vip in ["10.0.3.7", "10.0.3.8"] {
        sidecar.file("values.yaml", &format!("vip: {vip}\n"));
        for (program, args) in &both {
            let run = post_rendered(&sidecar, program, args);
            match vip {
                "10.0.3.7" => drop(run.succeeded()),
                _ => drop(run.refused("10.0.3.8")),
            }
        }
    }
}

#[test]
fn an_application_whose_chart_asks_what_is_served_is_undecided_where_it_changes() {
    let Some(sidecar) = Sidecar::new() else { return };
    let git = |args: &[&str]| {
        let set = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        sidecar.run("git", &[&set[..], args].concat(), &[], ".").succeeded()
    };
    sidecar.file(
        "app.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: edge-1, namespace: argocd}\nspec:\n  \
         source: {repoURL: 'https://git.example.com/fleet.git', targetRevision: HEAD, path: chart, helm: {valueFiles: [../values.yaml]}}\n  \
         destination: {server: 'https://kubernetes.default.svc', namespace: telco}\n",
    );
    let asks = "{{- if lookup \"v1\" \"Secret\" \"telco\" \"a\" }}\nkind: Secret\n{{- end }}\n";
    let served = "{{- if .Capabilities.APIVersions.Has \"cluster.x-k8s.io/v1beta1\" }}\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\n{{- end }}\n";
    git(&["init", "--quiet"]);
    git(&["remote", "add", "origin", "https://git.example.com/fleet.git"]);
    // Argo CD finds nothing by `lookup` either, and knows what its cluster serves.
    for (template, values, code) in [(asks, "other: 1", 0), (served, "other: 2", 4), (served, "other: 2", 0)] {
        sidecar.file("chart/templates/asks.yaml", template);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--allow-empty", "-m", "one"]);
        sidecar.file("values.yaml", &format!("vip: 10.0.3.7\n{values}\n"));
        git(&["add", "."]);
        git(&["commit", "--quiet", "--allow-empty", "-m", "two"]);
        let plan = ["plan", "app.yaml", "--base-ref", "HEAD~1", "--host", "argocd", "--policy", "none"];
        let ran = sidecar.run("rollgate", &plan, &[], ".");
        let is_named = ran.stdout.contains("templates/asks.yaml asks what");
        assert_eq!((ran.code, is_named), (Some(code), code == 4), "{template} {values}: {ran:#?}");
    }
}
