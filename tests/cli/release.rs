//! `.ci/release` packs what Helm, krew and people install: the same bytes each time, with checksums that are right.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::{Program, root};

fn release(args: &[&str]) -> Output {
    let mut command = Command::new(root().join(".ci/release"));
    command.args(args).env("SKIP_SBOM", "1").env("SOURCE_DATE_EPOCH", "1700000000");
    let output = command.output().expect("bash runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn said(folder: &Path, program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).current_dir(folder).output().expect("it runs");
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn an_archive_has_all_that_is_installed_and_its_checksum_is_right() {
    let program = Program::new();
    // A binary of a debug build is large; what is packed only has to answer as the program does.
    let script = format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_rollgate"));
    let binary = program.file("rollgate", &script);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&binary, mode).expect("a script");
    let binary = binary.to_str().expect("text");
    let (out, again) = (program.home().join("out"), program.home().join("again"));
    let (out_text, again_text) = (out.display().to_string(), again.display().to_string());
    for (target, folder) in [
        ("x86_64-unknown-linux-musl", &out_text),
        ("aarch64-unknown-linux-musl", &out_text),
        ("x86_64-unknown-linux-musl", &again_text),
    ] {
        release(&["pack", target, binary, folder]);
    }
    release(&["finish", &out_text]);
    let version = env!("CARGO_PKG_VERSION");
    let archive = format!("rollgate-v{version}-linux-amd64.tar.gz");
    assert_eq!(
        std::fs::read(out.join(&archive)).expect("it"),
        std::fs::read(again.join(&archive)).expect("it"),
        "twice the same"
    );
    let files = said(&out, "tar", &["-tzf", &archive]);
    for file in [
        "plugin.yaml",
        "bin/rollgate",
        "LICENSE",
        "docs/rbac.yaml",
        "completions/_rollgate",
        "man/rollgate.1",
        "man/rollgate-plan.1",
        "schemas/policy.json",
        "plugins/getter/plugin.yaml",
        "examples/ci/comment.py",
    ] {
        assert!(
            files.lines().any(|line| line == format!("rollgate-v{version}-linux-amd64/{file}")),
            "{file} is not in {files}"
        );
    }
    assert_eq!(said(&out, "sha256sum", &["--check", "SHA256SUMS"]).matches(": OK").count(), 3);
    // What krew reads (krew `pkg/index/types.go`).
    let bytes = std::fs::read(out.join("rollgate.yaml")).expect("a manifest");
    let manifest = Value::from(rollgate::facade::yaml::read_strict(&bytes).expect("YAML"));
    assert_eq!((&manifest["kind"], &manifest["metadata"]["name"]), (&"Plugin".into(), &"rollgate".into()));
    assert_eq!(manifest["spec"]["version"], format!("v{version}"));
    let platforms = manifest["spec"]["platforms"].as_array().expect("platforms");
    let arches: Vec<&str> =
        platforms.iter().filter_map(|one| one["selector"]["matchLabels"]["arch"].as_str()).collect();
    assert_eq!(arches, ["amd64", "arm64"]);
    for (platform, arch) in platforms.iter().zip(arches) {
        let archive = format!("rollgate-v{version}-linux-{arch}.tar.gz");
        let sum = said(&out, "sha256sum", &[&archive]);
        assert_eq!(platform["sha256"].as_str(), sum.split_whitespace().next());
        assert_eq!(platform["uri"], format!("{}/releases/download/v{version}/{archive}", env!("CARGO_PKG_REPOSITORY")));
        assert_eq!(platform["bin"], "rollgate");
    }
    // The image copies what is there.
    let image = std::fs::read_to_string(root().join("examples/ci/Dockerfile")).expect("a Dockerfile");
    let copied: Vec<&str> = image.lines().filter_map(|line| line.strip_prefix("COPY ")?.split(' ').next()).collect();
    assert!(copied.len() == 2 && copied.iter().all(|file| files.lines().any(|line| line == *file)), "{copied:?}");
    the_workflow_installs(&program, &out);
    // What comes out of the archive runs.
    said(&out, "tar", &["-xzf", &archive]);
    assert_eq!(
        said(&out, &format!("./rollgate-v{version}-linux-amd64/bin/rollgate"), &["--version"]).trim(),
        format!("rollgate {version}")
    );
}

/// The step of the example for GitHub that installs a release, where `gh` finds it in a folder.
fn the_workflow_installs(program: &Program, out: &Path) {
    let bytes = std::fs::read(root().join("examples/ci/github-workflow.yml")).expect("a workflow");
    let workflow = Value::from(rollgate::facade::yaml::read_strict(&bytes).expect("YAML"));
    let steps = workflow["jobs"]["plan"]["steps"].as_array().expect("steps");
    let install = steps.iter().find(|step| step["name"] == "Install rollgate").expect("the step");
    let temp = program.home().join("runner");
    std::fs::create_dir(&temp).expect("a folder");
    let gh = format!("#!/bin/sh\ncp {0}/*-linux-amd64.tar.gz {0}/SHA256SUMS .\n", out.display());
    let gh = program.file("gh", &gh);
    std::fs::set_permissions(&gh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a script");
    let path = format!("{}:{}", program.home().display(), std::env::var("PATH").unwrap_or_default());
    let ran = |archive: Option<&[u8]>| {
        let told = program.file("github-path", "");
        if let Some(bytes) = archive {
            std::fs::write(out.join(format!("rollgate-v{}-linux-amd64.tar.gz", env!("CARGO_PKG_VERSION"))), bytes)
                .expect("written");
        }
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", install["run"].as_str().expect("a script")]);
        bash.env("PATH", &path).env("RUNNER_TEMP", &temp).env("GITHUB_PATH", &told).current_dir(program.home());
        let output = bash.output().expect("bash runs");
        (output.status.success(), std::fs::read_to_string(&told).expect("a path"))
    };
    let (done, folder) = ran(None);
    assert!(done && Path::new(folder.trim()).join("rollgate").exists(), "{folder}");
    let name = format!("rollgate-v{}-linux-amd64.tar.gz", env!("CARGO_PKG_VERSION"));
    let whole = std::fs::read(out.join(&name)).expect("the archive");
    let (done, folder) = ran(Some(b"another one"));
    assert!(!done && folder.is_empty(), "an archive with another checksum is not installed");
    std::fs::write(out.join(name), whole).expect("as it was");
}

#[test]
fn the_workflow_only_calls_steps_that_there_are() {
    let text = std::fs::read_to_string(root().join(".github/workflows/release.yml")).expect("a workflow");
    rollgate::facade::yaml::read_strict(text.as_bytes()).expect("YAML");
    let calls: Vec<&str> =
        text.split(".ci/release ").skip(1).filter_map(|call| call.split_whitespace().next()).collect();
    assert!(calls.len() >= 3);
    let steps = ["build", "image", "pack", "finish", "does"];
    assert!(calls.iter().all(|call| steps.contains(call)), "{calls:?}");
}
