//! Every command of the README and of the pages is run, and every output below one is what it prints: those in `sh` blocks here,
//! those in `sh helm` and `sh archive` blocks by the end-to-end tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Program, ran, root};

/// A block of a page: what stands behind its three ticks, and its lines.
pub(super) struct Block {
    pub(super) info: String,
    pub(super) text: String,
}

pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(info) => {
                blocks.push(Block { info: info.to_owned(), text: String::new() });
                inside = true;
            }
            None if inside => {
                let block = blocks.last_mut().expect("a block");
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    blocks
}

/// The commands of a block, continuation lines joined, each with the exit code that stands behind it.
pub(super) fn commands(block: &Block) -> Vec<(String, i32)> {
    let joined = block.text.replace("\\\n", " ");
    let lines = joined.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| {
            let (words, comment) = line.split_once(" # ").unwrap_or((line, "exit 0"));
            let code = comment.trim().strip_prefix("exit ").and_then(|code| code.parse().ok());
            (words.trim().to_owned(), code.unwrap_or_else(|| panic!("`# exit N` behind {line}")))
        })
        .collect()
}

/// The pages for people, without the one whose commands follow each other.
fn pages() -> Vec<PathBuf> {
    let of = |folder: &str| {
        std::fs::read_dir(root().join(folder)).expect("the pages").map(|entry| entry.expect("an entry").path())
    };
    let pages = of("docs").chain(of("docs/hosts"));
    let is_page = |page: &PathBuf| page.extension().is_some_and(|end| end == "md") && !page.ends_with("approvals.md");
    let mut pages: Vec<PathBuf> = pages.filter(is_page).collect();
    pages.sort();
    pages
}

/// Runs the commands of a page in the root of the repository, and compares what they print with the `output` below them.
/// `ROLLGATE_BLESS=1` writes it down.
fn run(page: &Path) -> usize {
    let program = Program::new();
    let binary = Path::new(env!("CARGO_BIN_EXE_rollgate"));
    let path =
        format!("{}:{}", binary.parent().expect("a folder").display(), std::env::var("PATH").unwrap_or_default());
    let text = std::fs::read_to_string(page).expect("a page");
    let (mut count, mut printed, mut fresh) = (0, String::new(), text.clone());
    for block in blocks(&text) {
        if block.info == "output" {
            if plain(&block.text) != plain(&printed) {
                let bless = std::env::var_os("ROLLGATE_BLESS").is_some();
                assert!(bless, "{}: this is printed instead:\n{printed}", page.display());
                let (old, new) =
                    (format!("```output\n{}```", block.text), format!("```output\n{}```", plain(&printed)));
                fresh = fresh.replacen(&old, &new, 1);
            }
            continue;
        }
        if block.info != "sh" {
            continue;
        }
        for (words, expected) in commands(&block) {
            count += 1;
            // These two build this very program and run this very test.
            if words == "cargo test" || words.starts_with("cargo install") {
                continue;
            }
            let words = words.replace("cargo run --", "rollgate");
            let mut shell = Command::new("sh");
            shell.env_clear().env("PATH", &path).env("HOME", program.home()).env("TZ", "UTC").current_dir(root());
            shell.args(["-c", &words]);
            let ran = ran(shell, b"");
            assert_eq!(ran.code, Some(expected), "{}: {words}\n{}{}", page.display(), ran.stdout, ran.stderr);
            printed = format!("{}{}", ran.stdout, ran.stderr);
        }
    }
    if fresh != text {
        std::fs::write(page, fresh).expect("the page can be written");
    }
    count
}

/// A text without spaces at the ends of its lines.
fn plain(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn every_plain_command_runs_and_ends_as_the_readme_says() {
    assert!(run(&root().join("README.md")) >= 4, "the README lost its commands");
}

#[test]
fn every_plain_command_of_the_pages_runs_and_prints_what_they_say() {
    let count: usize = pages().iter().map(|page| run(page)).sum();
    assert!(count >= 15, "the pages lost their commands: {count}");
}

#[test]
fn the_script_of_the_page_of_exit_codes_does_what_it_says() {
    let text = std::fs::read_to_string(root().join("docs/exit-codes.md")).expect("a page");
    let script = blocks(&text).into_iter().find(|block| block.info == "sh script").expect("the script").text;
    let program = Program::new();
    let binary = Path::new(env!("CARGO_BIN_EXE_rollgate")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    program.file("nightly.json", super::MACHINE_DEPLOYMENT);
    for (rendered, code) in [
        (super::MACHINE_DEPLOYMENT.to_owned(), 0),
        (super::MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0"), 1),
        ("kind: [\n".to_owned(), 2),
    ] {
        program.file("rendered.yaml", &rendered);
        let mut shell = Command::new("sh");
        shell.env_clear().env("PATH", &path).env("HOME", program.home()).current_dir(program.home());
        shell.args(["-ec", &script]);
        let ran = ran(shell, b"");
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn every_yaml_of_the_pages_that_is_a_policy_is_one() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        for block in text.split("```yaml\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default();
            if block.starts_with("apiVersion: rollgate.dev/") {
                rollgate::facade::policy::parse("block", block.as_bytes())
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
        let name = page.strip_prefix(root().join("docs")).expect("a page").display().to_string();
        assert!(name == "README.md" || index.contains(&format!("({name})")), "docs/README.md does not name {name}");
    }
}

#[test]
fn no_command_stands_outside_of_a_tested_block() {
    let mut all = pages();
    all.extend([root().join("README.md"), root().join("docs/approvals.md")]);
    // `sh` runs here, `sh helm`, `sh story` and `sh archive` with real Helms in the end-to-end tests, `sh script` above, `sh git`
    // in a repository of its own (trailers).
    let known = ["sh", "sh git", "sh helm", "sh story", "sh archive", "sh script", "yaml", "output", "text"];
    let programs = ["rollgate ", "helm ", "helm3 ", "helm4 ", "kubectl ", "cargo ", "git ", "sh ", "bash "];
    for page in all {
        let text = std::fs::read_to_string(&page).expect("a page");
        for block in blocks(&text) {
            assert!(known.contains(&block.info.as_str()), "{}: {:?}", page.display(), block.info);
            let command = block.text.lines().find(|line| programs.iter().any(|program| line.starts_with(program)));
            assert!(block.info != "text" || command.is_none(), "{}: nobody runs {command:?}", page.display());
        }
    }
}

/// The accuracy that is read first: a line a provider of the long table, over all of its versions.
#[test]
fn the_short_table_of_the_accuracy_is_that_of_the_long_one() {
    let long = std::fs::read_to_string(root().join("docs/accuracy.md")).expect("the long table");
    let mut rows: std::collections::BTreeMap<String, ([u64; 7], usize)> = std::collections::BTreeMap::new();
    for line in long.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [recording, "all", cases, _, same, accepted, differ, safe, hold, unknown, apart @ ..] = cells.as_slice()
        else {
            continue;
        };
        let number = |cell: &&str| cell.parse::<u64>().expect("a number");
        let [same, apart] = [number(same) + number(accepted), apart.iter().map(number).sum()];
        let provider = recording.split('@').next().unwrap_or_default();
        let (sum, versions) = rows.entry(provider.to_owned()).or_default();
        let (safe, hold) = (number(safe), number(hold));
        let row = [number(cases), same, safe, hold, number(differ) - safe - hold, number(unknown), apart];
        sum.iter_mut().zip(row).for_each(|(sum, own)| *sum += own);
        *versions += 1;
    }
    let mut table = String::from(
        "| provider | versions | changes of one field | answered as the controller does | false safe | false hold | another effect | not known | counted apart |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    let line = |name: &str, versions: &str, [cases, same, safe, hold, other, unknown, apart]: [u64; 7]| {
        let per = 100.0 * same as f64 / cases as f64;
        format!("| {name} | {versions} | {cases} | {per:.2} % | {safe} | {hold} | {other} | {unknown} | {apart} |\n")
    };
    let mut all = [0; 7];
    for (provider, (row, versions)) in &rows {
        table.push_str(&line(provider, &versions.to_string(), *row));
        all.iter_mut().zip(row).for_each(|(sum, own)| *sum += own);
    }
    table.push_str(&line("**all**", "", all).replace("|  |", "| |"));
    let page = root().join("docs/how-accurate.md");
    let text = std::fs::read_to_string(&page).expect("the short table");
    let (head, rest) = text.split_once("<!-- table -->\n").expect("a mark before the table");
    let (old, tail) = rest.split_once("<!-- end -->").expect("a mark behind it");
    if old != table {
        assert!(std::env::var_os("ROLLGATE_BLESS").is_some(), "docs/how-accurate.md is stale; it has to say:\n{table}");
        std::fs::write(&page, format!("{head}<!-- table -->\n{table}<!-- end -->{tail}")).expect("written");
    }
}
