//! Replays the controllers' own answers (`testdata/oracle/*.jsonl.gz`, made by `make oracle`) against the classifier.
//! How many answers differ is written down in `testdata/oracle/differences.json`, and those numbers may only fall.

mod oracle {
    pub(crate) mod replay;
}

use std::collections::BTreeMap;
use std::fmt::Write as _;

use oracle::replay::{Answered, Recording, Tally};

#[test]
fn the_classifier_answers_as_the_controllers_do() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/oracle");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the recordings are in the repository")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.to_string_lossy().ends_with(".jsonl.gz"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no recording in {}", folder.display());
    let written: BTreeMap<String, Tally> = serde_json::from_slice(
        &std::fs::read(folder.join("differences.json")).expect("the numbers are in the repository"),
    )
    .expect("the numbers are JSON");
    let mut table = String::new();
    let mut found = BTreeMap::new();
    let mut dump = String::new();
    let only = std::env::var("ROLLGATE_ORACLE_FILE").unwrap_or_default();
    for file in files.into_iter().filter(|file| file.to_string_lossy().contains(&only)) {
        let recording = Recording::read(&file);
        let answers = recording.replay();
        let name = recording.name.clone();
        let mut by_kind: BTreeMap<String, Tally> = BTreeMap::new();
        let mut all = Tally::default();
        for answer in &answers {
            all.add(answer);
            by_kind.entry(answer.kind.clone()).or_default().add(answer);
            if let Answered { agrees: false, .. } = answer {
                writeln!(dump, "{}", answer.line()).expect("a String takes it");
            }
        }
        for (kind, tally) in by_kind.iter().chain([(&"all".to_owned(), &all)]) {
            writeln!(table, "{name:24} {kind:30} {tally}").expect("a String takes it");
        }
        found.insert(name, all);
    }
    println!("{table}");
    if let Ok(path) = std::env::var("ROLLGATE_ORACLE_DUMP") {
        std::fs::write(path, dump).expect("the dump can be written");
    }
    let now = serde_json::to_string_pretty(&found).expect("numbers are JSON");
    assert!(found == written, "the numbers differ from differences.json; where they fell, write these down:\n{now}");
}
