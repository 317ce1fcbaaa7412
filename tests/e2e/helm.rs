//! Installs and upgrades the test charts with a real Helm, through the gate or without it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{fs, io::Write as _};

use serde_json::Value;

use crate::bench::Space;

/// The binary under test: the one of this build, unless `ROLLGATE_BIN` names another.
pub(crate) fn rollgate() -> String {
    std::env::var("ROLLGATE_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_rollgate").to_owned())
}

/// Which Helm writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helm {
    V3,
    V4,
}

impl Helm {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::V3 => "helm3",
            Self::V4 => "helm4",
        }
    }
}

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// From what a program left.
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Fails the test, with all that was said, unless the program succeeded.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// Fails the test unless the program failed and said why.
    #[track_caller]
    pub(crate) fn refused(self, words: &str) -> Self {
        assert!(
            self.code != Some(0) && self.stderr.contains(words),
            "expected a failure that says {words:?}: {self:#?}"
        );
        self
    }
}

/// A release of one of the charts beside this file.
pub(crate) struct Release<'a> {
    pub(crate) space: &'a Space,
    pub(crate) helm: Helm,
    pub(crate) name: &'a str,
    pub(crate) chart: &'a str,
    /// Values of every install and upgrade, before those of the call.
    pub(crate) values: Vec<String>,
    /// The policy of the gate.
    pub(crate) policy: PathBuf,
}

impl Release<'_> {
    /// `helm install` through the gate.
    pub(crate) fn install(&self, values: &[&str]) -> Run {
        self.helm("install", values, true)
    }

    /// `helm upgrade` through the gate.
    pub(crate) fn upgrade(&self, values: &[&str]) -> Run {
        self.helm("upgrade", values, true)
    }

    /// `helm upgrade` with nothing between Helm and the cluster.
    pub(crate) fn upgrade_ungated(&self, values: &[&str]) -> Run {
        self.helm("upgrade", values, false)
    }

    /// `helm install` with nothing between Helm and the cluster.
    pub(crate) fn install_ungated(&self, values: &[&str]) -> Run {
        self.helm("install", values, false)
    }

    /// Helm through the gate, under another name where one is given, with more in its environment.
    pub(crate) fn gated_as(&self, name: Option<&str>, verb: &str, values: &[&str], env: &[(&str, &str)]) -> Run {
        let mut command = self.command(verb, values);
        if let Some(name) = name {
            let program = self.own_folder().join("bin").join(name);
            if !program.exists() {
                fs::copy(self.space.bench.bin.join(self.helm.name()), &program).expect("Helm can be copied");
            }
            command = self.command_of(&program, verb, values);
        }
        self.add_gate(&mut command);
        Run::of(command.envs(env.iter().copied()).output().expect("helm runs"))
    }

    /// Helm with nothing between it and the cluster, and with options of its own.
    pub(crate) fn run_with(&self, verb: &str, values: &[&str], options: &[&str]) -> Run {
        Run::of(self.command(verb, values).args(options).output().expect("helm runs"))
    }

    /// What rollgate and the API server expect of an upgrade, asked with the rights of a kubeconfig, and the exit code.
    pub(crate) fn dry_run(&self, values: &[&str], kubeconfig: Option<&str>) -> (Option<i32>, Value) {
        let stream = self.template(values).succeeded().stdout;
        let own = self.space.bench.kubeconfig.to_string_lossy();
        let env = ("KUBECONFIG", kubeconfig.unwrap_or(&own));
        let run = self.rollgate_as("plan", &["--dry-run-server", "-o", "json"], &stream, env);
        (run.code, report(&run))
    }

    /// `helm template` with nothing behind it.
    pub(crate) fn template(&self, values: &[&str]) -> Run {
        self.helm("template", values, false)
    }

    /// `helm template` through the gate, judged against a file.
    pub(crate) fn template_against(&self, live: &Path, values: &[&str]) -> Run {
        let mut command = self.command("template", values);
        self.add_gate(&mut command);
        command.args(["--post-renderer-args", "--live", "--post-renderer-args"]).arg(live);
        Run::of(command.output().expect("helm runs"))
    }

    /// `helm template` with a values file that a getter plugin serves.
    pub(crate) fn template_with_values(&self, file: &str, env: &[(&str, &str)]) -> Run {
        self.install_plugins();
        let mut command = self.command("template", &[]);
        command.args(["-f", file]).env("ROLLGATE_POLICY", &self.policy).envs(env.iter().copied());
        Run::of(command.output().expect("helm runs"))
    }

    /// What Helm says of itself.
    pub(crate) fn version(&self) -> String {
        let output = Command::new(self.program()).args(["version", "--short"]).output().expect("helm runs");
        Run::of(output).succeeded().stdout.trim().to_owned()
    }

    /// What rollgate expects of an upgrade, and its exit code. The same must come out of a snapshot.
    pub(crate) fn forecast(&self, values: &[&str]) -> (Option<i32>, Value) {
        let stream = Run::of(self.command("template", values).output().expect("helm runs")).succeeded().stdout;
        let file = self.space.dir.join(format!("{}-world.json", self.name));
        let world = file.to_str().expect("a path");
        // Controllers write all the time: only what two looks agree on is what the snapshot between them holds.
        for _ in 0..20 {
            let before = self.rollgate("plan", &["--live", "cluster", "--base", "release", "-o", "json"], &stream);
            let saved = self.rollgate("snapshot", &["--live", "cluster", "--base", "release", "-o", world], &stream);
            assert!(matches!(saved.code, Some(0 | 4)), "{saved:#?}");
            let replayed = self.rollgate("plan", &["--live", world, "-o", "json"], &stream);
            let after = self.rollgate("plan", &["--live", "cluster", "--base", "release", "-o", "json"], &stream);
            let [before_report, replayed_report, after_report] = [&before, &replayed, &after].map(without_source);
            if (before.code, &before_report) == (after.code, &after_report) {
                assert_eq!(replayed_report, after_report, "the snapshot gives another report than the cluster");
                assert_eq!(replayed.code, after.code);
                return (after.code, report(&after));
            }
        }
        panic!("{}: twenty pairs of looks, and no two gave the same report", self.space.namespace);
    }

    /// What rollgate expects of an upgrade at this moment, and its exit code: one look, however much moves meanwhile.
    pub(crate) fn look(&self, values: &[&str]) -> (Option<i32>, Value) {
        let stream = Run::of(self.command("template", values).output().expect("helm runs")).succeeded().stdout;
        let run = self.rollgate("plan", &["--live", "cluster", "--base", "release", "-o", "json"], &stream);
        (run.code, report(&run))
    }

    /// Runs rollgate on a stream.
    fn rollgate(&self, command: &str, more: &[&str], stream: &str) -> Run {
        let own = self.space.bench.kubeconfig.to_string_lossy();
        self.rollgate_as(command, more, stream, ("KUBECONFIG", &own))
    }

    /// Runs rollgate on a stream with one more variable.
    fn rollgate_as(&self, command: &str, more: &[&str], stream: &str, (variable, text): (&str, &str)) -> Run {
        let mut child = Command::new(rollgate())
            .args([command, "-"])
            .args(more)
            .args([
                "--host",
                self.helm.name(),
                "--release",
                self.name,
                "--namespace",
                &self.space.namespace,
                "--policy",
            ])
            .arg(&self.policy)
            // One key, so that the marks of hidden values and the digest over them are the same in every look.
            .env("ROLLGATE_KEY", "the key of the end-to-end tests, no secret")
            .env(variable, text)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("rollgate runs");
        child.stdin.take().expect("stdin is a pipe").write_all(stream.as_bytes()).expect("the stream can be sent");
        Run::of(child.wait_with_output().expect("rollgate ends"))
    }

    fn helm(&self, verb: &str, values: &[&str], gated: bool) -> Run {
        let mut command = self.command(verb, values);
        if gated {
            self.add_gate(&mut command);
        }
        Run::of(command.output().expect("helm runs"))
    }

    /// Helm with this release, chart and values, and with nothing of the user's own configuration.
    fn command(&self, verb: &str, values: &[&str]) -> Command {
        self.command_of(&self.program(), verb, values)
    }

    fn command_of(&self, program: &Path, verb: &str, values: &[&str]) -> Command {
        let charts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts");
        let mut command = Command::new(program);
        self.own_configuration(&mut command);
        command.arg(verb).arg(self.name).arg(charts.join(self.chart)).args(["--namespace", &self.space.namespace]);
        for value in self.values.iter().map(String::as_str).chain(values.iter().copied()) {
            command.args(["--set", value]);
        }
        command
    }

    /// Helm under the name that users know it by: programs that it starts look for that.
    fn program(&self) -> PathBuf {
        let program = self.own_folder().join("bin/helm");
        if !program.exists() {
            fs::create_dir_all(self.own_folder().join("bin")).expect("the folder can be made");
            match symlink(self.space.bench.bin.join(self.helm.name()), &program) {
                // Two releases of one Helm may begin at once.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                done => done.expect("Helm can be linked"),
            }
        }
        program
    }

    /// Where rollgate leaves its reports.
    pub(crate) fn state(&self) -> PathBuf {
        self.own_folder().join("state")
    }

    fn own_folder(&self) -> PathBuf {
        self.space.dir.join(self.helm.name())
    }

    /// Nothing of the user's own Helm.
    fn own_configuration(&self, command: &mut Command) {
        let own = self.own_folder();
        for (variable, _) in std::env::vars().filter(|(name, _)| name.starts_with("HELM_")) {
            command.env_remove(variable);
        }
        command
            .env("KUBECONFIG", &self.space.bench.kubeconfig)
            .env("HELM_CACHE_HOME", own.join("cache"))
            .env("HELM_CONFIG_HOME", own.join("config"))
            .env("HELM_DATA_HOME", own.join("data"))
            .env("HELM_PLUGINS", own.join("plugins"))
            .env("XDG_STATE_HOME", self.state())
            .current_dir(&self.space.dir);
    }

    /// Helm 3 takes a path, Helm 4 the name of an installed plugin.
    fn add_gate(&self, command: &mut Command) {
        match self.helm {
            Helm::V3 => command.args(["--post-renderer", &rollgate(), "--post-renderer-args", "post-render"]),
            Helm::V4 => {
                self.install_plugins();
                command.args(["--post-renderer", "rollgate-post-render"])
            }
        };
        command.args(["--post-renderer-args", "--policy", "--post-renderer-args"]).arg(&self.policy);
    }

    /// `rollgate helm setup`, as a user does it.
    fn install_plugins(&self) {
        let mut setup = Command::new(rollgate());
        self.own_configuration(&mut setup);
        let output = setup.args(["helm", "setup", "--helm"]).arg(self.program()).output().expect("rollgate runs");
        Run::of(output).succeeded();
    }
}

/// The report that a run printed.
fn report(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("no report ({error}): {run:#?}"))
}

/// The bytes of a report without where the World came from and which state of the cluster each list showed.
fn without_source(run: &Run) -> String {
    let mut report = report(run);
    let live = report["live"].as_object_mut().expect("a map");
    for told in ["source", "resourceVersions", "taken", "ageSeconds"] {
        live.shift_remove(told);
    }
    let text = report.to_string();
    if !text.contains("<redacted:") {
        return text;
    }
    // What a snapshot hides has another mark when it is replayed, and the digest is taken over marks.
    report["digest"] = Value::Null;
    let mark = regex::Regex::new("<redacted:[0-9a-f]{32}>").expect("a regular expression");
    mark.replace_all(&report.to_string(), "<redacted>").into_owned()
}
