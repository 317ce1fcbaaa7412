//! Replays the controllers' own answers (`testdata/oracle/*.jsonl.gz`, made by `make oracle`) against the classifier.
//! How many answers differ is written down in `testdata/oracle/differences.json`, and those numbers may only fall.

mod oracle {
    pub(crate) mod patch;
    pub(crate) mod replay;
    pub(crate) mod upgrade;
}

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use oracle::replay::{Answered, Recording, Tally};
use oracle::upgrade::Way;
use sha2::Digest as _;

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
    let only = std::env::var("ROLLGATE_ORACLE_FILE").unwrap_or_default();
    files.retain(|file| file.to_string_lossy().contains(&only));
    let mut table = String::new();
    let mut rows = Vec::new();
    let mut found = BTreeMap::new();
    let mut dump = String::new();
    for (name, answers) in replay_all(files) {
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
        found.insert(name, all);
    }
    if let Ok(path) = std::env::var("ROLLGATE_ORACLE_DUMP") {
        std::fs::write(path, format!("{dump}{table}")).expect("the dump can be written");
    }
    accuracy(&rows, std::env::var("ROLLGATE_WRITE").is_ok(), only.is_empty());
    println!("{table}");
    let now = serde_json::to_string_pretty(&found).expect("numbers are JSON");
    if std::env::var("ROLLGATE_WRITE").is_ok() {
        std::fs::write(folder.join("differences.json"), format!("{now}\n")).expect("the numbers can be written");
        return;
    }
    let mut written: BTreeMap<String, Tally> = serde_json::from_slice(
        &std::fs::read(folder.join("differences.json")).expect("the numbers are in the repository"),
    )
    .expect("the numbers are JSON");
    written.retain(|name, _| name.contains(&only));
    assert!(found == written, "the numbers differ from differences.json; where they fell, write these down:\n{now}");
}

/// The recordings of a provider, from the oldest version to the newest.
fn recordings(provider: &str) -> Vec<Recording> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/oracle");
    let files = std::fs::read_dir(folder).expect("the recordings are in the repository");
    let files = files.map(|entry| entry.expect("a readable folder").path());
    let is_its = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&format!("{provider}@")) && name.ends_with(".jsonl.gz")
    };
    let mut all: Vec<Recording> = files.filter(is_its).map(|file| Recording::read(&file)).collect();
    all.sort_by_key(|one| rollgate::facade::kinds::versions::parse(&one.version));
    all
}

#[test]
fn an_upgrade_says_the_difference_of_two_recordings() {
    let mut all_faults: Vec<String> = Vec::new();
    for provider in ["cluster-api", "caprke2"] {
        let all = recordings(provider);
        let ways: Vec<Way<'_>> = all.windows(2).map(|two| Way { old: &two[0], new: &two[1] }).collect();
        let next = AtomicUsize::new(0);
        let faults = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some(way) = ways.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let found = way.compare(|_| true);
                        println!(
                            "{} -> {}: {} questions, {} newly out of date, {} no more",
                            way.old.name, way.new.name, found.cases, found.newly, found.no_more
                        );
                        assert!(found.cases > 500, "{} questions of {}", found.cases, way.old.name);
                        faults.lock().expect("no thread panics here").extend(found.faults);
                    }
                });
            }
        });
        let faults = faults.into_inner().expect("no thread panics here");
        if let Ok(path) = std::env::var("ROLLGATE_ORACLE_DUMP") {
            std::fs::write(format!("{path}.{provider}"), faults.join("\n")).expect("the dump can be written");
        }
        all_faults.extend(faults);
    }
    let few = all_faults.len().min(5);
    assert!(all_faults.is_empty(), "{} differ, such as\n{}", all_faults.len(), all_faults[..few].join("\n"));
}

#[test]
fn an_upgrade_names_each_field_whose_next_change_replaces_machines() {
    for provider in ["cluster-api", "caprke2"] {
        for two in recordings(provider).windows(2) {
            let unnamed = Way { old: &two[0], new: &two[1] }.unnamed();
            assert!(unnamed.is_empty(), "{} -> {}: {unnamed:#?}", two[0].name, two[1].name);
        }
    }
}

/// Replays recordings on all processors, the largest first, and gives their answers by file name.
fn replay_all(mut files: Vec<PathBuf>) -> impl Iterator<Item = (String, Vec<Answered>)> {
    let size = |file: &PathBuf| std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    files.sort_by_key(|file| std::cmp::Reverse(size(file)));
    let next = AtomicUsize::new(0);
    let answered = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(files.len()) {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let recording = Recording::read(file);
                    let answers = recording.replay();
                    answered.lock().expect("no thread panics here").insert(file.clone(), (recording.name, answers));
                }
            });
        }
    });
    answered.into_inner().expect("no thread panics here").into_values()
}

/// Providers whose control planes no recording compares: what of them was run, and what was read.
const PROVIDERS: &[(&str, &str, &str)] = &[
    (
        "Azure (CAPZ)",
        "webhooks and schemas of v1.26.0, AzureMachine not",
        "what reaches Azure and scale sets; AzureMachine; new machine templates",
    ),
    (
        "GCP (CAPG)",
        "webhooks and schemas of v1.13.1",
        "what reaches GCP; new objects; the machine template up to v1.12",
    ),
    ("CloudStack (CAPC)", "webhooks and schemas of v0.6.1, v1beta3", "failure domains that go; other API versions"),
    ("Talos", "webhooks and schemas of the bootstrap provider v0.6.7", "the control plane provider v0.5.12, mirrored"),
    (
        "Tinkerbell (CAPT)",
        "webhooks and schemas of v0.7.0, by a recorder outside of this tree",
        "what reaches the hardware; new objects; v0.6",
    ),
    (
        "Nutanix (CAPX)",
        "schemas of v1.10.3 and its one webhook, by a recorder outside of this tree",
        "what reaches Nutanix; new objects; v1.7 to v1.9, of which only the schemas are asked",
    ),
    (
        "IONOS Cloud (CAPIC)",
        "schemas of v0.6.3, which has no webhook, by a recorder outside of this tree",
        "what reaches IONOS Cloud; new objects",
    ),
    (
        "Outscale (CAPOSC)",
        "webhooks and schemas of v1.5.0, by a recorder outside of this tree",
        "what reaches Outscale; new objects",
    ),
    (
        "Proxmox (CAPMOX)",
        "webhooks and schemas of v1alpha2 in v0.9.0, ProxmoxMachine not, by a recorder outside of this tree; what the webhook of clusters v0.9 says of endpoints and pools, on pairs kept in `testdata/webhooks`",
        "what reaches Proxmox; v1alpha1; v0.7 and v0.8",
    ),
    (
        "the in-cluster address manager",
        "webhooks of v1.1, on pairs kept in `testdata/webhooks`",
        "what its controllers do; how an address or a network goes",
    ),
    (
        "k0smotron",
        "webhooks, schemas and the comparison of Machines of v2.1.0, by a recorder outside of this tree",
        "autopilot, remediation, how a rollout goes, what reaches Pods",
    ),
    (
        "Canonical Kubernetes",
        "webhooks, schemas and the comparison of Machines of v0.6.1, by a recorder outside of this tree",
        "upgrades in place, remediation, how a rollout goes",
    ),
    (
        "Kamaji, MicroK8s",
        "schemas of v0.20.0 and v0.6.11, which have no webhooks, by a recorder outside of this tree",
        "what reaches Pods and Machines",
    ),
    (
        "OpenShift, by the assisted installer",
        "webhook, schemas and the reconciliation of control planes of v0.4.0, by a recorder outside of this tree",
        "how an upgrade goes, what an AgentClusterInstall does, what came after v0.4.0",
    ),
    (
        "Hetzner (CAPH)",
        "webhooks and schemas of v1.1.8, by a recorder outside of this tree",
        "what reaches Hetzner; new objects; v1.0",
    ),
    (
        "Metal3, without recordings above",
        "webhooks of the operator of hosts v0.10 to v0.14, of addresses v1.14 and of v1beta2 in v1.14, on pairs kept in `testdata/webhooks`; schemas of the operator v0.10 to v0.14",
        "what the operator does to a host; v1.11 to v1.13; what a change of the other kinds of metal3.io does, which is unknown",
    ),
];

/// Writes or checks `docs/accuracy.md`.
fn accuracy(rows: &[(String, String, Tally)], write: bool, whole: bool) {
    let mut text = String::from(
        "# Accuracy\n\nEach row replays a recording of the controllers' own answers (`testdata/oracle/`, see `tests/oracle/README.md`): one case is one\n\
         change of one field, or what a test of the provider's own writes (`-tables`). Made by `ROLLGATE_WRITE=1 cargo test --test oracle`; the test fails when it is stale.\n\n\
         - *agreement*: the share of *same* and *accepted*\n\
         - *same*: refused, replaced, propagated or not replaced, as the controller answered\n\
         - *accepted*: the recording has no Machines and says only that the write is accepted, and so does the program\n\
         - *differ*: the program answered otherwise, and nothing on this page says why\n\
         - *false safe*: Machines are replaced or the write is refused, and nothing said so\n\
         - *false hold*: nothing happens, and a rollout or a refusal was said\n\n\
         The rest is not agreement, and is counted apart:\n\n\
         - *unknown*: the program said that it does not know, where a pack says so\n\
         - *rides*: Machines were out of date before the change, and the program says that they go with it\n\
         - *unseen*: no recorded function looks at what decides, such as the selector of a MachineSet\n\
         - *elsewhere*: the change reaches the workload cluster, which a recording does not see\n\n\
         | provider | kind | cases | agreement | same | accepted | differ | false safe | false hold | unknown | rides | unseen | elsewhere |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, kind, tally) in rows {
        writeln!(text, "| {name} | {kind} | {} |", tally.cells()).expect("a String takes it");
    }
    text.push_str(
        "\n## By reading\n\nNo function of the controllers answers for these, so their rules were read from the source that each of them names:\n\
         topology and what a ClusterClass makes, what MachinePool providers do, what a MachineHealthCheck replaces, Cluster API 1.5, the providers and the\n\
         versions of them that have no row above, and what happens when an object is deleted.\n\n\
         ## What was run of each provider\n\nWhere the webhooks were run, what is refused is theirs; what an accepted change reaches was read all the same.\n\n\
         | provider | run | read |\n|---|---|---|\n",
    );
    for (provider, run, read) in PROVIDERS {
        writeln!(text, "| {provider} | {run} | {read} |").expect("a String takes it");
    }
    let place = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/accuracy.md");
    if write {
        std::fs::write(place, text).expect("the page can be written");
    } else if whole {
        let have = std::fs::read_to_string(place).unwrap_or_default();
        assert!(have == text, "docs/accuracy.md is stale; run ROLLGATE_WRITE=1 cargo test --test oracle");
    }
}

/// A recording is of the recorder whose sources lie here: their hash stands in its header (`tests/oracle/README.md`). One that
/// was made by a recorder outside of this tree names no sources, and what was built instead.
#[test]
fn the_recordings_were_made_by_the_recorders_in_this_tree() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut stale = Vec::new();
    for entry in std::fs::read_dir(root.join("testdata/oracle")).expect("the recordings are in the repository") {
        let path = entry.expect("a readable folder").path();
        if !path.to_string_lossy().ends_with(".jsonl.gz") {
            continue;
        }
        let header = oracle::replay::header(&path);
        let mut files = Vec::new();
        for source in header["sources"].as_array().expect("the header names its sources") {
            let source = source.as_str().expect("a source is a folder's name");
            for file in std::fs::read_dir(root.join("tests/oracle").join(source)).expect("a source is a folder") {
                let name = file.expect("a readable folder").file_name().into_string().expect("a file name is UTF-8");
                if [".go", ".s", ".mod", ".sum"].iter().any(|end| name.ends_with(end)) {
                    files.push(format!("{source}/{name}"));
                }
            }
        }
        files.sort();
        let lies_outside = files.is_empty();
        let mut hash = sha2::Sha256::new();
        for file in files {
            let content = std::fs::read(root.join("tests/oracle").join(&file)).expect("a source can be read");
            hash.update(format!("{file}\0{}\0", content.len()));
            hash.update(content);
        }
        let hash = hash.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        if header["recorder"] != hash || lies_outside != header["commit"].is_string() {
            stale.push(path);
        }
    }
    assert!(stale.is_empty(), "other recorders made these; record them again (make oracle): {stale:#?}");
}
