//! YAML against what Go recorded: every case of `testdata/yaml/*.jsonl`, with no difference allowed.

#[path = "yaml/splice.rs"]
mod splice;

use base64::Engine as _;
use rollgate::yaml;
use serde::Deserialize;

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
