//! Every command of the README and of the pages is run: those in `sh` blocks here, those in `sh helm` blocks by the end-to-end
//! tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Program, ran, root};

/// The commands of the blocks of a page with this info string, continuation lines joined.
fn commands(page: &Path, info: &str) -> Vec<String> {
    let text = std::fs::read_to_string(page).expect("a page");
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

/// The pages for people, without the one whose commands follow each other.
fn pages() -> Vec<PathBuf> {
    let pages = std::fs::read_dir(root().join("docs")).expect("the pages").map(|entry| entry.expect("an entry").path());
    let is_page = |page: &PathBuf| page.extension().is_some_and(|end| end == "md") && !page.ends_with("approvals.md");
    let mut pages: Vec<PathBuf> = pages.filter(is_page).collect();
    pages.sort();
    pages
}

/// Runs the commands of a page in the root of the repository.
fn run(page: &Path) -> usize {
    let program = Program::new();
    let commands = commands(page, "sh");
    let binary = Path::new(env!("CARGO_BIN_EXE_rollgate"));
    let path =
        format!("{}:{}", binary.parent().expect("a folder").display(), std::env::var("PATH").unwrap_or_default());
    for command in &commands {
        let (words, comment) = command.split_once(" # ").unwrap_or((command, "exit 0"));
        // These two build this very program and run this very test.
        if words.trim() == "cargo test" || words.starts_with("cargo install") {
            continue;
        }
        let words = words.replace("cargo run --", "rollgate");
        let expected: i32 = comment.trim().trim_start_matches("exit ").parse().expect("`# exit N` behind the command");
        let mut shell = Command::new("sh");
        shell.env_clear().env("PATH", &path).env("HOME", program.home()).current_dir(root()).args(["-c", &words]);
        let ran = ran(shell, b"");
        assert_eq!(ran.code, Some(expected), "{}: {words}\n{}{}", page.display(), ran.stdout, ran.stderr);
    }
    commands.len()
}

#[test]
fn every_plain_command_runs_and_ends_as_the_readme_says() {
    assert!(run(&root().join("README.md")) >= 4, "the README lost its commands");
}

#[test]
fn every_plain_command_of_the_pages_runs_and_ends_as_they_say() {
    let count: usize = pages().iter().map(|page| run(page)).sum();
    assert!(count >= 8, "the pages lost their commands: {count}");
}

#[test]
fn every_yaml_of_the_pages_that_is_a_policy_is_one() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        for block in text.split("```yaml\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default();
            if block.starts_with("apiVersion: rollgate.dev/") {
                rollgate::policy::parse("block", block.as_bytes())
                    .unwrap_or_else(|error| panic!("{}: {error}", page.display()));
            }
        }
    }
}

#[test]
fn every_link_of_the_pages_leads_somewhere() {
    let mut pages = pages();
    pages.extend([root().join("README.md"), root().join("docs/approvals.md")]);
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        for part in text.split("](").skip(1) {
            let link = part.split([')', '#']).next().unwrap_or_default();
            if link.is_empty() || link.contains("://") || link.contains(' ') {
                continue;
            }
            assert!(page.with_file_name("").join(link).exists(), "{}: {link} is not there", page.display());
        }
    }
}

#[test]
fn the_index_names_every_page() {
    let index = std::fs::read_to_string(root().join("docs/README.md")).expect("the index");
    for page in pages() {
        let name = page.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        assert!(name == "README.md" || index.contains(&format!("({name})")), "docs/README.md does not name {name}");
    }
}

#[test]
fn no_command_stands_outside_of_a_tested_block() {
    let mut all = pages();
    all.push(root().join("README.md"));
    for page in all {
        let text = std::fs::read_to_string(&page).expect("a page");
        let infos = text.lines().filter_map(|line| line.strip_prefix("```")).filter(|info| !info.is_empty());
        let odd: Vec<&str> = infos.filter(|info| !["sh", "sh helm", "yaml", "text"].contains(info)).collect();
        assert!(odd.is_empty(), "{}: {odd:?}", page.display());
    }
}
