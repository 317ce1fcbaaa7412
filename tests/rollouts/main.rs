//! Rollouts that were recorded on the real controllers (tests/e2e/rollouts.rs), held against the simulator of their loops.

mod trace;

use std::fs;
use std::path::Path;

use serde_json::Value;

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
