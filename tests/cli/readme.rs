//! Every command of the README is run: those in `sh` blocks here, those in `sh helm` blocks by the end-to-end tests.

use std::process::Command;

use super::{Program, ran, root};

/// The commands of the blocks with this info string, continuation lines joined.
fn commands(info: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("README.md")).expect("a README");
    let mut commands = Vec::new();
    let mut inside = false;
    let mut pending = String::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside && line == format!("```{info}");
            continue;
        }
        if !inside || line.trim().is_empty() {
            continue;
        }
        pending.push_str(line.trim_end_matches('\\'));
        if !line.ends_with('\\') {
            commands.push(std::mem::take(&mut pending));
        }
    }
    commands
}

#[test]
fn every_plain_command_runs_and_ends_as_the_readme_says() {
    let program = Program::new();
    let commands = commands("sh");
    assert!(commands.len() >= 4, "the README lost its commands: {commands:?}");
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_rollgate"));
    let path =
        format!("{}:{}", binary.parent().expect("a folder").display(), std::env::var("PATH").unwrap_or_default());
    for command in commands {
        let (words, comment) = command.split_once(" # ").unwrap_or((&command, "exit 0"));
        // These two build this very program and run this very test.
        if words.trim() == "cargo test" || words.starts_with("cargo install") {
            continue;
        }
        let words = words.replace("cargo run --quiet --", "rollgate");
        let expected: i32 = comment.trim().trim_start_matches("exit ").parse().expect("`# exit N` behind the command");
        let mut shell = Command::new("sh");
        shell.env_clear().env("PATH", &path).env("HOME", program.home()).current_dir(root()).args(["-c", &words]);
        let ran = ran(shell, b"");
        assert_eq!(ran.code, Some(expected), "{words}\n{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn no_command_stands_outside_of_a_tested_block() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("a README");
    let infos = text.lines().filter_map(|line| line.strip_prefix("```")).filter(|info| !info.is_empty());
    let odd: Vec<&str> = infos.filter(|info| !["sh", "sh helm", "yaml", "text"].contains(info)).collect();
    assert!(odd.is_empty(), "{odd:?}");
}
