//! YAML against what Go recorded: every case of `testdata/yaml/*.jsonl`, with no difference allowed.

#[path = "yaml/hostile.rs"]
mod hostile;
#[path = "yaml/property.rs"]
mod property;
#[path = "yaml/splice.rs"]
mod splice;
#[path = "yaml/streams.rs"]
mod streams;
#[path = "yaml/tree.rs"]
mod tree;

use base64::Engine as _;
use rollgate::facade::yaml;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

#[derive(Deserialize)]
struct Case {
    #[serde(rename = "in")]
    text: Option<String>,
    base64: Option<String>,
    out: Option<String>,
    error: Option<String>,
}

impl Case {
    fn bytes(&self) -> Vec<u8> {
        match (&self.text, &self.base64) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(base64)) => base64::engine::general_purpose::STANDARD.decode(base64).expect("recorded base64"),
            (None, None) => panic!("a case has a text"),
        }
    }
}

fn document(bytes: &[u8]) -> Result<String, String> {
    let tree = yaml::read_first(bytes, 0, 1).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    tree.write_json(&mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).expect("JSON is text"))
}

fn stream(bytes: &[u8]) -> Result<String, String> {
    let lines = yaml::debug::lines(bytes).map_err(|error| error.to_string())?;
    Ok(lines.split_inclusive('\n').filter(|line| *line != "null\n").collect())
}

/// Compares a file of cases; gives how many there were and what differs.
fn compare(text: &str, read: fn(&[u8]) -> Result<String, String>) -> (usize, Vec<String>) {
    let mut count = 0;
    let mut different = Vec::new();
    for line in text.lines() {
        let case: Case = serde_json::from_str(line).expect("a recorded line");
        count += 1;
        let bytes = case.bytes();
        let ours = read(&bytes);
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        match (&ours, &case.out, &case.error) {
            (Ok(ours), Some(go), None) if ours == go => {}
            (Err(_), None, Some(_)) => {}
            (ours, out, error) => different.push(format!("{shown:?}\n  ours: {ours:?}\n  go:   {out:?} {error:?}")),
        }
    }
    (count, different)
}

fn recordings() -> impl Iterator<Item = (String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/yaml");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.into_iter().filter(|file| file.extension().is_some_and(|extension| extension == "jsonl")).map(|file| {
        let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(file).expect("a recording"))
    })
}

#[test]
fn every_recorded_case_reads_as_in_go() {
    let mut total = 0;
    let mut different = Vec::new();
    for (name, text) in recordings() {
        let (_, cases) = text.split_once('\n').expect("a header");
        let (count, found) = compare(cases, if name == "streams" { stream } else { document });
        total += count;
        different.extend(found.into_iter().map(|difference| format!("{name}: {difference}")));
    }
    assert!(different.is_empty(), "{} of {total} differ:\n{}", different.len(), different.join("\n"));
    assert!(total >= 6000, "only {total} cases");
}

/// A recording names the program that made it; when the program changes, it has to be recorded anew (`make oracle`).
#[test]
fn recordings_fit_their_program() {
    let program = program_of(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/yaml"));
    for (name, text) in recordings() {
        let header: serde_json::Value = serde_json::from_str(text.lines().next().expect("a header")).expect("JSON");
        assert_eq!(header["program"], program.as_str(), "{name} was recorded by another version of tests/oracle/yaml");
    }
}

/// The hash by which a recording names the Go program in a folder.
fn program_of(folder: &str) -> String {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "go") || file.ends_with("go.mod"));
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(format!("{}\n", file.file_name().expect("a name").to_string_lossy()));
        hash.update(std::fs::read(file).expect("a source"));
    }
    hash.finalize().iter().fold(String::from("sha256:"), |text, byte| format!("{text}{byte:02x}"))
}

/// Compares a file outside of the repository, for bulk runs: `ROLLGATE_YAML_CASES=/tmp/x.jsonl cargo test --test yaml -- --ignored bulk`.
#[test]
#[ignore = "needs a recording named by ROLLGATE_YAML_CASES"]
fn bulk() {
    let path = std::env::var("ROLLGATE_YAML_CASES").expect("ROLLGATE_YAML_CASES names a recording");
    let text = std::fs::read_to_string(path).expect("the recording can be read");
    let read = if std::env::var("ROLLGATE_YAML_MODE").is_ok_and(|mode| mode == "stream") { stream } else { document };
    let (count, different) = compare(&text, read);
    for difference in different.iter().take(40) {
        println!("{difference}");
    }
    assert!(different.is_empty(), "{} of {count} cases differ", different.len());
    println!("{count} cases, no difference");
}
