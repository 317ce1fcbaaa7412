//! The JSON Schemas describe real reports and snapshots, and the program prints what lies in `schemas/`.

use serde_json::Value;

use super::{Program, root};

/// A schema, as the program prints it.
fn printed(name: &str) -> Value {
    let ran = Program::new().run(&["schema", name], b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let file = root().join("schemas").join(format!("{name}.json"));
    let committed = std::fs::read_to_string(&file).expect("a committed schema");
    assert_eq!(committed, ran.stdout, "{}", file.display());
    serde_json::from_str(&committed).expect("a schema is JSON")
}

#[test]
fn real_reports_fit_the_report_schema() {
    let schema = printed("report");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let examples = root().join("examples/vip-moved");
    let (old, new) = (examples.join("before.yaml"), examples.join("after.yaml"));
    let (old, new) = (old.display().to_string(), new.display().to_string());
    for (one, other) in [(&old, &new), (&new, &old), (&old, &old)] {
        let ran = Program::new().run(&["plan", other, "--live", one, "-o", "json"], b"");
        let report: Value = serde_json::from_str(&ran.stdout).expect("the report is JSON");
        let faults: Vec<String> = validator.iter_errors(&report).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({"kind": "Report"})), "the schema asks for nothing");
}

#[test]
fn real_answers_fit_the_why_schema() {
    let validator = jsonschema::validator_for(&printed("why")).expect("a valid schema");
    let (after, before) = (root().join("examples/why/after"), root().join("examples/why/before.yaml"));
    let (after, before) = (after.display().to_string(), before.display().to_string());
    for more in [&[][..], &["--before", &before], &["edge-1"]] {
        let args = [&["why", "--live", &after, "--policy", "none", "-o", "json"], more].concat();
        let ran = Program::new().run(&args, b"");
        let report: Value = serde_json::from_str(&ran.stdout).expect("the answer is JSON");
        let faults: Vec<String> = validator.iter_errors(&report).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({"kind": "Why"})), "the schema asks for nothing");
}

#[test]
fn every_schema_is_one() {
    for name in ["policy", "report", "report-list", "score", "why", "world"] {
        assert!(jsonschema::validator_for(&printed(name)).is_ok(), "{name}");
    }
}

#[test]
fn a_real_snapshot_fits_the_world_schema_and_is_judged_again() {
    let schema = printed("world");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let examples = root().join("examples/vip-moved");
    let (old, new) = (examples.join("before.yaml"), examples.join("after.yaml"));
    let (old, new) = (old.display().to_string(), new.display().to_string());
    // The key of what is hidden stays with whoever took the snapshot.
    let program = Program::new();
    let saved = program.run(&["snapshot", &new, "--live", &old], b"");
    let world: Value = serde_json::from_str(&saved.stdout).expect("the snapshot is JSON");
    let faults: Vec<String> = validator.iter_errors(&world).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert!(!validator.is_valid(&serde_json::json!({"kind": "World"})), "the schema asks for nothing");

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("world.json");
    std::fs::write(&file, &saved.stdout).expect("written");
    let report = |live: &str| {
        let ran = program.run(&["plan", &new, "--live", live, "--now", "2026-01-01T00:00:00Z", "-o", "json"], b"");
        let mut report: Value = serde_json::from_str(&ran.stdout).expect("the report is JSON");
        // A snapshot says how old it is.
        for told in ["taken", "ageSeconds"] {
            report["live"].as_object_mut().expect("what it was compared with").remove(told);
        }
        report["live"]["source"] = Value::Null;
        report
    };
    assert_eq!(report(&old), report(&file.display().to_string()));
}
