//! The file of the image, read as a builder reads it: what it copies is there, nobody in it is root, and nothing comes from the network
//! into what is shipped. No image is built here.

use std::path::Path;
use std::process::Command;

use super::{Program, root};

/// One stage: its name, what it stands on, and its instructions.
#[derive(Debug)]
struct Stage {
    name: String,
    from: String,
    steps: Vec<(String, String)>,
}

/// The stages of the file, with continued lines joined and comments left out.
fn stages() -> Vec<Stage> {
    let text = std::fs::read_to_string(root().join("Dockerfile")).expect("the file").replace("\\\n", " ");
    let mut stages: Vec<Stage> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').expect("an instruction");
        if word == "FROM" {
            let words: Vec<&str> = rest.split_whitespace().filter(|word| !word.starts_with("--")).collect();
            let [from, "AS", name] = words[..] else { panic!("every stage has a name: {line}") };
            stages.push(Stage { name: name.to_owned(), from: from.to_owned(), steps: Vec::new() });
        } else {
            stages.last_mut().expect("FROM comes first").steps.push((word.to_owned(), rest.to_owned()));
        }
    }
    stages
}

fn said<'s>(stage: &'s Stage, word: &str) -> Vec<&'s str> {
    stage.steps.iter().filter(|(one, _)| one == word).map(|(_, rest)| rest.as_str()).collect()
}

/// What a COPY takes from outside of the file.
fn sources(rest: &str) -> Vec<String> {
    let mut words: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
    words.pop().expect("where it goes");
    let is_inner = words.iter().any(|word| word.starts_with("--from="));
    words.retain(|word| !word.starts_with("--"));
    if is_inner { Vec::new() } else { words }
}

#[test]
fn everything_that_is_copied_is_there_for_each_architecture() {
    let program = Program::new();
    let context = program.home();
    let binary = program.file("rollgate", "#!/bin/sh\n");
    for target in ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"] {
        let out = context.join("image");
        let mut command = Command::new(root().join(".ci/release"));
        let laid = command.arg("image").arg(target).arg(&out).arg(&binary).output().expect("it runs");
        assert!(laid.status.success(), "{laid:?}");
    }
    let ignored = std::fs::read_to_string(root().join(".dockerignore")).expect("what is left out");
    let mut count = 0;
    for stage in stages() {
        for source in said(&stage, "COPY").into_iter().flat_map(sources) {
            let first = source.split('/').next().expect("a path");
            let sent = ["", "/"].map(|end| format!("!{}{end}", if first == "tests" { source.as_str() } else { first }));
            assert!(ignored.lines().any(|line| sent.iter().any(|sent| sent == line)), "{source} is not sent");
            for platform in ["linux/amd64", "linux/arm64"] {
                let path = source.replace("$TARGETPLATFORM", platform);
                let place = if first == "image" { context } else { Path::new(env!("CARGO_MANIFEST_DIR")) };
                assert!(place.join(&path).is_file(), "{path} is not there");
                count += 1;
            }
        }
    }
    assert!(count >= 12, "{count}");
}

#[test]
fn what_is_shipped_has_no_root_no_shell_and_nothing_from_the_network() {
    let stages = stages();
    let shipped: Vec<&Stage> = stages.iter().filter(|stage| stage.name != "programs").collect();
    assert_eq!(stages.last().expect("stages").name, "serve", "what is built where nothing is said");
    for stage in shipped {
        assert!(said(stage, "ADD").is_empty() && said(stage, "RUN").is_empty(), "{stage:?}");
        let distroless = stage.from.starts_with("gcr.io/distroless/static-") && stage.from.ends_with(":nonroot");
        assert!(distroless || stage.from == "base", "{stage:?}");
        let user = *said(stage, "USER").last().expect("a user");
        assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    }
    let text = std::fs::read_to_string(root().join("charts/rollgate/templates/deployment.yaml")).expect("the chart");
    assert!(text.contains("runAsUser: 65532"), "the user of the image and of the chart are one");
}
