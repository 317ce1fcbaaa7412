//! What came of forecasts, told as cases: each is a cluster as it is now, and what was kept of it before.

use super::*;
use crate::model::{Decision, Effect};
use crate::object::{Inventory, Object};
use crate::score::Front;
use crate::tree::{Value, json};
use crate::world::history::{History, Recorded};
use crate::world::{HostKind, LiveKind, LiveSource, ReleaseStatus};

const BEFORE: &str = "2026-11-20T12:00:00Z";
const NOW: &str = "2026-11-20T14:00:00Z";

fn key() -> Key {
    Key::new("cluster.x-k8s.io/v1beta2", "MachineDeployment", Some("n"), "md")
}

fn object(kind: &str, name: &str, owner: Option<(&str, &str)>, made: &str) -> Value {
    let mut value = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind,
        "metadata": {"name": name, "namespace": "n", "uid": name, "creationTimestamp": made}});
    if let Some((kind, owner)) = owner {
        value["metadata"]["ownerReferences"] = json!([{"kind": kind, "name": owner, "controller": true}]);
    }
    value
}

/// A group with these Machines, those of the old set and those of one that was made after the forecast.
fn group(old: &[&str], new: &[&str]) -> Vec<Value> {
    let mut group = object("MachineDeployment", "md", None, "2026-01-01T00:00:00Z");
    group["spec"] = json!({"clusterName": "demo", "replicas": old.len() + new.len()});
    let own = Some(("MachineDeployment", "md"));
    let mut all = vec![
        group,
        object("MachineSet", "old", own, "2026-01-01T00:00:00Z"),
        object("MachineSet", "new", own, "2026-11-20T12:00:05Z"),
    ];
    all.extend(old.iter().map(|name| object("Machine", name, Some(("MachineSet", "old")), "2026-01-01T00:00:00Z")));
    all.extend(new.iter().map(|name| object("Machine", name, Some(("MachineSet", "new")), "2026-11-20T12:01:00Z")));
    all
}

fn world(live: Vec<Value>) -> World {
    let objects: Vec<Object> = live.into_iter().map(|value| Object::from_value(value, 1).expect("an object")).collect();
    World::new(LiveSource::new(LiveKind::Cluster, "test"), Inventory::from(objects), NOW.parse().expect("a time"))
}

fn forecast(fate: Fate, time: &str, present: &[&str]) -> Forecast {
    let present = Some(present.iter().map(|name| (*name).to_owned()).collect());
    let own = Foretold {
        owner: key(),
        uid: Some("md".to_owned()),
        cluster: Some("demo".to_owned()),
        fate,
        machines: Some(2),
        present,
    };
    Forecast {
        id: format!("{time}{}", fate.word()),
        time: time.parse().expect("a time"),
        by: Front::PostRender,
        decision: Decision::Allow,
        effect: Effect::None,
        digest: "d".to_owned(),
        release: Some("n/demo".to_owned()),
        writer: Some(HostKind::Helm3),
        owners: vec![own],
        more: 0,
        world: None,
    }
}

fn scored(forecasts: &[Forecast], world: &World) -> ScoreReport {
    let asked = ScoreScope { since: Timestamp::UNIX_EPOCH, settle: SignedDuration::from_mins(15) };
    score(forecasts, world, &asked, "here")
}

/// What is in the matrix: foretold, column, how often.
fn cells(report: &ScoreReport) -> Vec<(Fate, &'static str, u64)> {
    let row = |(fate, row): (&Fate, &ScoreRow)| {
        let all = [
            ("none", row.none),
            ("rollout", row.rollout),
            ("delete", row.delete),
            ("rejected", row.rejected),
            ("not settled", row.not_settled),
            ("not told", row.cannot_be_told),
            ("not let out", row.not_let_out),
        ];
        all.map(|(column, count)| (*fate, column, count))
    };
    report.matrix.iter().flat_map(row).filter(|(_, _, count)| *count > 0).collect()
}

#[test]
fn what_came_is_told_by_which_machines_are_there() {
    let two = ["a", "b"];
    for (fate, old, new, column, came_true) in [
        (Fate::None, &two[..], &[][..], "none", 1),
        (Fate::Rollout, &[], &["c", "d"], "rollout", 1),
        (Fate::None, &[], &["c", "d"], "rollout", 0),
        (Fate::Rollout, &two, &[], "none", 0),
        (Fate::Delete, &["a"], &[], "delete", 1),
        (Fate::None, &["a"], &[], "delete", 0),
        // A group that grows loses none.
        (Fate::None, &two, &["c"], "none", 1),
    ] {
        let report = scored(&[forecast(fate, BEFORE, &two)], &world(group(old, new)));
        assert_eq!(cells(&report), [(fate, column, 1)], "{fate:?} {old:?} {new:?} {report:?}");
        assert_eq!((report.told, report.came_true, report.misses.len()), (1, came_true, usize::from(came_true == 0)));
    }
}

#[test]
fn what_is_under_way_is_no_agreement() {
    let fresh = forecast(Fate::None, "2026-11-20T13:50:00Z", &["a", "b"]);
    let report = scored(&[fresh], &world(group(&["a", "b"], &[])));
    assert_eq!((cells(&report), report.told), (vec![(Fate::None, "not settled", 1)], 0));
    // A Machine that is out of date, that goes, or that is missing: it is not over, however old it is.
    let mut outdated = group(&["a", "b"], &[]);
    outdated[3]["status"] = json!({"conditions": [{"type": "UpToDate", "status": "False"}]});
    let mut going = group(&["a", "b"], &[]);
    going[3]["metadata"]["deletionTimestamp"] = NOW.into();
    let mut missing = group(&["a"], &[]);
    missing[0]["spec"]["replicas"] = 2.into();
    for live in [outdated, going, missing] {
        let report = scored(&[forecast(Fate::Rollout, BEFORE, &["a", "b"])], &world(live));
        assert_eq!((cells(&report), report.told), (vec![(Fate::Rollout, "not settled", 1)], 0), "{report:?}");
    }
}

#[test]
fn what_somebody_else_did_is_unforeseen_and_no_miss_of_a_forecast() {
    let wrote = |manager: &str, time: &str| {
        let mut live = group(&[], &["c", "d"]);
        live[0]["metadata"]["managedFields"] = json!([{"manager": manager, "operation": "Update", "time": time,
            "fieldsV1": {"f:spec": {"f:template": {}}}}]);
        cells(&scored(&[forecast(Fate::None, BEFORE, &["a", "b"])], &world(live)))
    };
    let unforeseen = vec![(Fate::None, "not told", 1), (Fate::Unforeseen, "rollout", 1)];
    let miss = vec![(Fate::None, "rollout", 1)];
    assert_eq!(wrote("kubectl-edit", "2026-11-20T13:00:00Z"), unforeseen);
    assert_eq!(wrote("kubectl-edit", "2026-11-20T11:00:00Z"), miss, "before the forecast, which saw it");
    assert_eq!(wrote("helm", "2026-11-20T12:00:30Z"), miss, "what was let out");
    assert_eq!(wrote("helm", "2026-11-20T13:30:00Z"), unforeseen, "another one, past rollgate");
    assert_eq!(wrote("manager", "2026-11-20T13:00:00Z"), miss, "a controller");
    // The same MachineSet makes new ones for those that a health check or somebody deleted.
    let mut replaced = group(&["c", "d"], &[]);
    replaced[3]["metadata"]["creationTimestamp"] = "2026-11-20T13:00:00Z".into();
    assert_eq!(cells(&scored(&[forecast(Fate::None, BEFORE, &["a", "b"])], &world(replaced))), unforeseen);
}

#[test]
fn the_next_forecast_ends_the_time_of_the_one_before() {
    let first = forecast(Fate::Rollout, "2026-11-20T10:00:00Z", &["x", "y"]);
    let second = forecast(Fate::None, BEFORE, &["a", "b"]);
    let report = scored(&[first.clone(), second], &world(group(&["a", "b"], &[])));
    assert_eq!(cells(&report), [(Fate::None, "none", 1), (Fate::Rollout, "rollout", 1)]);
    // Too soon after it nobody can say whose it is.
    let soon = forecast(Fate::None, "2026-11-20T10:01:00Z", &["x", "y"]);
    let report = scored(&[first, soon], &world(group(&["x", "y"], &[])));
    assert_eq!(cells(&report), [(Fate::None, "none", 1), (Fate::Rollout, "not told", 1)]);
}

#[test]
fn what_is_held_or_planned_counts_only_once_it_is_let_out() {
    let held = Forecast { decision: Decision::Hold, ..forecast(Fate::Rollout, "2026-11-20T10:00:00Z", &["a", "b"]) };
    let planned = Forecast { by: Front::Plan, ..held.clone() };
    let live = world(group(&[], &["c", "d"]));
    let report = scored(&[held.clone(), planned.clone()], &live);
    assert_eq!((cells(&report), report.told), (vec![(Fate::Rollout, "not let out", 2)], 0));
    let approved = forecast(Fate::Rollout, BEFORE, &["a", "b"]);
    let report = scored(&[held, planned, approved], &live);
    assert_eq!((cells(&report), report.came_true), (vec![(Fate::Rollout, "rollout", 1)], 1));
}

#[test]
fn a_refusal_is_told_by_what_helm_says_of_its_revision() {
    let live = |status, description: &str| {
        let mut world = world(group(&["a", "b"], &[]));
        let written = Some("2026-11-20T12:00:01Z".parse().expect("a time"));
        let revision = Recorded {
            number: 2,
            status,
            written,
            description: description.to_owned(),
            chart: String::new(),
            objects: Inventory::default(),
            gone: Vec::new(),
        };
        world.histories = vec![History {
            name: "demo".to_owned(),
            namespace: "n".to_owned(),
            revisions: vec![revision],
            ..History::default()
        }];
        world
    };
    let refused =
        live(ReleaseStatus::Failed, "Upgrade \"demo\" failed: cannot patch \"cp\": admission webhook denied it");
    let told = |fate, world: &World| cells(&scored(&[forecast(fate, BEFORE, &["a", "b"])], world));
    assert_eq!(told(Fate::Rejected, &refused), [(Fate::Rejected, "rejected", 1)]);
    assert_eq!(told(Fate::None, &refused), [(Fate::None, "rejected", 1)]);
    assert_eq!(told(Fate::Rollout, &refused), [(Fate::Rollout, "rejected", 1)]);
    let waited = live(ReleaseStatus::Failed, "Upgrade \"demo\" failed: context deadline exceeded");
    assert_eq!(told(Fate::None, &waited), [(Fate::None, "not told", 1)]);
    assert_eq!(told(Fate::Rejected, &live(ReleaseStatus::Deployed, "Upgrade complete")), [(Fate::Rejected, "none", 1)]);
}

#[test]
fn what_was_not_read_is_not_told() {
    use crate::world::Asked as Read;
    let mut unread = world(Vec::new());
    unread.coverage = Read::default().into();
    let told = |forecast: Forecast, world: &World| cells(&scored(&[forecast], world));
    let not_told = vec![(Fate::None, "not told", 1)];
    assert_eq!(told(forecast(Fate::None, BEFORE, &["a"]), &unread), not_told);
    let mut many = forecast(Fate::None, BEFORE, &["a"]);
    many.owners[0].present = None;
    assert_eq!(told(many, &world(group(&["a"], &[]))), not_told);
    let mut anew = forecast(Fate::None, BEFORE, &["a"]);
    anew.owners[0].uid = Some("another".to_owned());
    assert_eq!(told(anew, &world(group(&["a"], &[]))), not_told);
    // What is proven to be gone is gone.
    assert_eq!(told(forecast(Fate::Delete, BEFORE, &["a"]), &world(Vec::new())), [(Fate::Delete, "delete", 1)]);
}

#[test]
fn forecasts_survive_a_file_and_an_object_and_the_oldest_make_room() {
    use crate::score::Forecasts;
    use crate::store::Kept as _;
    let mut kept = Forecasts::default();
    for minute in 0..520 {
        let time = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute);
        kept.keep(forecast(Fate::None, &time.to_string(), &["a"]));
    }
    assert_eq!(kept.entries().len(), 500);
    let text = kept.render("f", b"").expect("a text");
    assert_eq!(Forecasts::parse("f", text.as_bytes()).expect("forecasts"), kept);
    assert_eq!(Forecasts::of_data("f", &kept.data()).expect("forecasts"), kept);
    assert!(Forecasts::parse("f", b"apiVersion: v1\nkind: Other\n").is_err());
}
