//! The command line as a user meets it: one binary, a scrubbed environment, real files.

mod approvals;
mod argocd;
mod budget;
mod canary;
mod carried;
mod comment;
mod complete;
mod corpus;
mod display;
mod emptied;
mod fleet;
mod flux;
mod flux_plan;
mod formats;
mod glass;
mod helm_setup;
mod image;
mod images;
mod inputs;
mod late_cluster;
mod limits;
mod locations;
mod online;
mod pieces;
mod pins;
mod policy;
mod post_render;
mod readme;
mod reads;
mod release;
mod releases;
mod revisions;
mod rules;
mod schemas;
mod score;
mod server;
mod snapshots;
mod trailers;
mod upgrade;
mod usage;
mod values;
mod why;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A MachineDeployment that a chart may render.
const MACHINE_DEPLOYMENT: &str = include_str!("../../testdata/machine-deployment.yaml");

/// The program with nothing of this machine in its environment, and a home of its own.
struct Program {
    home: tempfile::TempDir,
}

/// What a run gave.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Program {
    fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a temporary folder") }
    }

    fn home(&self) -> &Path {
        self.home.path()
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.home().join(name);
        std::fs::write(&file, text).expect("the temporary folder can be written");
        file
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rollgate"));
        command.env_clear().env("HOME", self.home()).env("TZ", "UTC").current_dir(self.home());
        command
    }

    fn run(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let mut command = self.command();
        command.args(args);
        ran(command, stdin)
    }

    /// Runs the program with more in its environment.
    fn run_with(&self, args: &[&str], stdin: &[u8], env: &[(&str, &str)]) -> Ran {
        let mut command = self.command();
        command.args(args).envs(env.iter().copied());
        ran(command, stdin)
    }
}

fn ran(mut command: Command, stdin: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // A program that refuses before it reads closes its end; that is not a fault of the test.
    drop(child.stdin.take().expect("a pipe").write_all(stdin));
    let Output { status, stdout, stderr } = child.wait_with_output().expect("the program ends");
    Ran {
        code: status.code(),
        stdout: String::from_utf8(stdout).expect("text"),
        stderr: String::from_utf8(stderr).expect("text"),
    }
}

/// The sentence of a report that holds these words, with the lines that it goes on in; empty where none does.
fn sentence(report: &str, words: &str) -> String {
    let mut sentences: Vec<String> = Vec::new();
    for line in report.lines() {
        match sentences.last_mut().filter(|_| line.starts_with("    ")) {
            Some(sentence) => *sentence = format!("{sentence} {}", line.trim()),
            None => sentences.push(line.to_owned()),
        }
    }
    sentences.into_iter().find(|sentence| sentence.contains(words)).unwrap_or_default()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
