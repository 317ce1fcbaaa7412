//! Rollouts that were recorded on the real controllers (tests/e2e/rollouts.rs), held against the simulator of their loops.

mod trace;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use rollgate::facade::impact::simulate::End;
use rollgate::facade::tree::Value;

use crate::trace::Record;

fn records() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/rollouts");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("the recordings").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let read = |path| serde_json::from_slice(&fs::read(path).expect("a recording")).expect("JSON");
    files.into_iter().map(read).collect()
}

#[test]
fn every_recorded_rollout_is_as_simulated() {
    let records = records();
    assert!(records.len() >= 20, "only {} rollouts are recorded", records.len());
    let wrong: Vec<String> = records.iter().filter_map(|record| Record(record).differs()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_a_controller_with_a_late_cache_makes_more_than_is_due() {
    let late: Vec<Value> = records().into_iter().filter(|record| Record(record).unseen() > 0).collect();
    assert!(late.len() >= 2, "{} recordings show it", late.len());
    for mut record in late {
        // The same events with a controller that asks the API server are not explained.
        record["owner"]["kind"] = "KubeadmControlPlane".into();
        record["owner"]["apiVersion"] = "controlplane.cluster.x-k8s.io/v1beta1".into();
        assert!(Record(&record).is_explained().is_err(), "{}", Record(&record).name());
    }
}

#[test]
fn with_another_room_no_recording_is_equal() {
    let mut equal = Vec::new();
    let mut tried = 0;
    for record in records().iter().filter(|record| record["newMachinesNeverStart"] == false) {
        let mut other = record.clone();
        let rolling = &mut other["owner"]["spec"]["rollout"]["strategy"]["rollingUpdate"];
        if !rolling.is_object() || record["machines"].as_array().is_none_or(|machines| machines.len() < 2) {
            continue;
        }
        let surge = rolling["maxSurge"].as_u64().unwrap_or(1);
        if record["owner"]["kind"] == "MachineDeployment" {
            let unavailable = rolling["maxUnavailable"].as_u64().unwrap_or(1);
            rolling["maxSurge"] = (surge + 1).into();
            rolling["maxUnavailable"] = (unavailable + 1).into();
        } else {
            rolling["maxSurge"] = (1 - surge).into();
        }
        tried += 1;
        equal.extend(Record(&other).differs().is_none().then(|| Record(&other).name().to_owned()));
    }
    assert!(tried >= 14, "{tried}");
    assert!(equal.is_empty(), "{equal:?}");
}

#[test]
fn a_missing_event_is_missed() {
    for record in records() {
        let count = record["events"].as_array().map_or(0, Vec::len);
        for place in 0..count {
            let mut other = record.clone();
            let gone = other["events"].as_array_mut().expect("a list").remove(place);
            let is_act =
                ["make ", "delete "].iter().any(|word| gone.as_str().is_some_and(|text| text.starts_with(word)));
            let is_hand = Record(&record).by_hand() && place == 0;
            if is_act && !is_hand {
                assert!(Record(&other).is_explained().is_err(), "{} without {gone}", Record(&record).name());
            }
        }
    }
}

/// The table of the recordings in docs/how-accurate.md.
fn table(records: &[Value]) -> String {
    let mut out =
        "| owner | Machines | strategy | made, deleted | events | lowest | peak | comes to its end | equal |\n\
                   |---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for value in records {
        let record = Record(value);
        let (sum, owner) = (record.sum(), &value["owner"]);
        let (from, to) = (value["machines"].as_array().map_or(0, Vec::len), &owner["spec"]["replicas"]);
        let machines = if *to == from { from.to_string() } else { format!("{from} to {to}") };
        let equal = if record.differs().is_none() { "yes" } else { "**no**" };
        let end = match record.played().end {
            _ if record.by_hand() => "by hand",
            End::Settled => "yes",
            _ => "stands still",
        };
        let words = [owner["kind"].as_str().unwrap_or_default(), &machines, &strategy(value)].join(" | ");
        let events = value["events"].as_array().map_or(0, Vec::len);
        let (made, deleted) = (sum.made, sum.deleted.len());
        let (lowest, peak) = (sum.lowest, sum.peak);
        writeln!(out, "| {words} | {made}, {deleted} | {events} | {lowest} | {peak} | {end} | {equal} |")
            .expect("a String takes it");
    }
    out
}

/// A strategy in a few words.
fn strategy(record: &Value) -> String {
    let spec = &record["owner"]["spec"];
    let told = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let strategy = if spec["rollout"].is_null() { &spec["rolloutStrategy"] } else { &spec["rollout"]["strategy"] };
    let mut words = Vec::new();
    if strategy["type"].is_null() {
        words.push("no type".to_owned());
    } else if strategy["type"] == "OnDelete" {
        words.push("OnDelete".to_owned());
    }
    for (key, name) in [("maxSurge", "surge"), ("maxUnavailable", "unavailable")] {
        let value = &strategy["rollingUpdate"][key];
        words.extend((!value.is_null()).then(|| format!("{name} {}", told(value))));
    }
    words.extend(spec["deletion"]["order"].as_str().map(|order| format!("{order} first")));
    words.extend((record["newMachinesNeverStart"] == true).then(|| "new Machines never start".to_owned()));
    words.join(", ")
}

#[test]
fn the_page_shows_the_recordings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-accurate.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (head, rest) = page.split_once("<!-- rollouts -->\n").expect("a place for the table");
    let (_, tail) = rest.split_once("<!-- end -->").expect("the end of the table");
    let text = format!("{head}<!-- rollouts -->\n{}<!-- end -->{tail}", table(&records()));
    if std::env::var_os("ROLLGATE_WRITE").is_some() {
        fs::write(&path, text).expect("the page can be written");
    } else {
        assert!(page == text, "docs/how-accurate.md is stale; run ROLLGATE_WRITE=1 cargo test --test rollouts");
    }
}
