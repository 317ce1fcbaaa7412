//! Replays the controllers' own answers (`testdata/oracle/*.jsonl.gz`, made by `make oracle`) against the classifier.
//! How many answers differ is written down in `testdata/oracle/differences.json`, and those numbers may only fall.

mod oracle {
    pub(crate) mod replay;
}

use std::collections::BTreeMap;
use std::fmt::Write as _;

use oracle::replay::{Recording, Tally};

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
    let mut written: BTreeMap<String, Tally> = serde_json::from_slice(
        &std::fs::read(folder.join("differences.json")).expect("the numbers are in the repository"),
    )
    .expect("the numbers are JSON");
    let mut table = String::new();
    let mut rows = Vec::new();
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
            if answer.is_notable() {
                writeln!(dump, "{}", answer.line()).expect("a String takes it");
            }
        }
        for (kind, tally) in by_kind.iter().chain([(&"all".to_owned(), &all)]) {
            writeln!(table, "{name:24} {kind:30} {tally}").expect("a String takes it");
            rows.push((name.clone(), kind.clone(), tally.clone()));
        }
        if let Ok(path) = std::env::var("ROLLGATE_ORACLE_DUMP") {
            // Written as it grows, so that a long run can be looked at.
            std::fs::write(path, format!("{dump}{table}")).expect("the dump can be written");
        }
        found.insert(name, all);
    }
    accuracy(&rows, std::env::var("ROLLGATE_WRITE").is_ok(), only.is_empty());
    println!("{table}");
    let now = serde_json::to_string_pretty(&found).expect("numbers are JSON");
    if std::env::var("ROLLGATE_WRITE").is_ok() {
        std::fs::write(folder.join("differences.json"), format!("{now}\n")).expect("the numbers can be written");
        return;
    }
    written.retain(|name, _| name.contains(&only));
    assert!(found == written, "the numbers differ from differences.json; where they fell, write these down:\n{now}");
}

/// Writes or checks `docs/accuracy.md`.
fn accuracy(rows: &[(String, String, Tally)], write: bool, whole: bool) {
    let mut text = String::from(
        "# Accuracy\n\nEach row replays a recording of the controllers' own answers (`testdata/oracle/`, see `tests/oracle/README.md`): one case is one\n\
         change of one field. Made by `ROLLGATE_WRITE=1 cargo test --test oracle`; the test fails when it is stale.\n\n\
         - *differ*: refused, replaced, propagated or not replaced was not answered as the controller did\n\
         - *false safe*: Machines are replaced or the write is refused, and nothing said so\n\
         - *false hold*: nothing happens, and a rollout or a refusal was said\n\
         - *unknown*: the answer was that it is not known, where a pack says so\n\n\
         | provider | kind | cases | differ | agreement | false safe | false hold | unknown |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (name, kind, tally) in rows {
        writeln!(text, "| {name} | {kind} | {} |", tally.cells()).expect("a String takes it");
    }
    text.push_str(
        "\n## By reading\n\nNo function of the controllers answers for these, so their rules were read from the source that each of them names:\n\
         topology and ClusterClass, what MachinePool providers do, what a MachineHealthCheck replaces, Cluster API 1.5 and the versions of\n\
         providers that have no row above, OpenStack, Metal3 and vSphere objects, and what happens when an object is deleted.\n",
    );
    let place = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/accuracy.md");
    if write {
        std::fs::write(place, text).expect("the page can be written");
    } else if whole {
        let have = std::fs::read_to_string(place).unwrap_or_default();
        assert!(have == text, "docs/accuracy.md is stale; run ROLLGATE_WRITE=1 cargo test --test oracle");
    }
}
