use super::*;
use crate::report::Report;
use crate::tree::{Value, json};

const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";

/// A report of these objects, rollouts and reasons.
fn report(objects: Value, rollouts: Value, reasons: Value) -> Report {
    crate::tree::from_value(json!({
        "apiVersion": "rollgate.dev/v1alpha1", "kind": "Report", "decision": "hold", "effect": "rollout", "digest": "",
        "reasons": reasons, "findings": [], "warnings": [], "objects": objects, "rollouts": rollouts, "lateValues": [],
        "policy": {"source": "none", "digest": ""}, "host": {}, "providers": {},
        "live": {"source": "none", "objects": 0, "notCompared": 0}
    }))
    .expect("a report")
}

/// A control plane of a cluster that changes at one place.
fn control_plane(cluster: &str, before: &str, after: &str) -> Value {
    json!({"apiVersion": format!("{CONTROL_PLANE}/v1beta1"), "kind": "KubeadmControlPlane", "namespace": "fleet",
        "name": format!("{cluster}-cp"), "action": "update", "effect": "rollout", "changes": [{"path": "spec.version",
        "before": before, "after": after, "effect": "rollout", "rule": "kcp/version", "because": format!("{cluster}-cp rolls")}]})
}

fn rollout(cluster: &str, machines: u64, away: u64) -> Value {
    json!({"owner": {"group": CONTROL_PLANE, "kind": "KubeadmControlPlane", "namespace": "fleet", "name": format!("{cluster}-cp")},
        "cluster": cluster, "effect": "rollout", "replicas": machines, "machines": machines, "machineNames": [],
        "maxSurge": 1, "maxUnavailable": away, "steps": [], "causes": ["spec.version"]})
}

fn held(message: &str) -> Value {
    json!({"gate": "rollout", "decision": "hold", "message": message, "next": "rollgate explain kcp/version"})
}

#[test]
fn equal_changes_of_several_clusters_are_one_and_another_value_is_another() {
    let objects = json!([
        control_plane("a", "v1", "v2"),
        control_plane("b", "v1", "v2"),
        control_plane("c", "v1", "v3"),
        control_plane("d", "v1", "v2"),
    ]);
    let rollouts = json!([rollout("a", 3, 0), rollout("b", 3, 0), rollout("c", 3, 0), rollout("d", 5, 1)]);
    let report = report(objects, rollouts, json!([]));
    let folded = fold(&report);
    let groups: Vec<(usize, Vec<String>)> =
        folded.objects.iter().map(|group| (group.crowd.count, group.crowd.names.clone())).collect();
    assert_eq!(groups, [(3, vec!["<cluster>-cp".to_owned()]), (1, vec!["c-cp".to_owned()])]);
    assert_eq!(folded.objects[0].changes[0].because, ["<name> rolls"]);
    let rows: Vec<(usize, u64, String)> =
        folded.rows.iter().map(|row| (row.owners.count, row.total, row.lowest.expect("known").to_string())).collect();
    assert_eq!(rows, [(2, 6, "3".to_owned()), (1, 3, "3".to_owned()), (1, 5, "4".to_owned())]);
    assert_eq!(folded.rows[1].cause, "spec.version v1 -> v3");
}

#[test]
fn a_name_that_is_not_the_objects_own_keeps_them_apart() {
    let with = |cluster: &str, value: &str| {
        let mut object = control_plane(cluster, "x", value);
        object["changes"][0]["because"] = json!("");
        object
    };
    let report = report(
        json!([with("one", "host.one"), with("two", "host.two"), with("three", "host.one")]),
        json!([rollout("one", 3, 0), rollout("two", 3, 0), rollout("three", 3, 0)]),
        json!([]),
    );
    let folded = fold(&report);
    let Sides::Same { after, .. } = &folded.objects[0].changes[0].sides else { panic!("one value") };
    assert_eq!((folded.objects.len(), after), (2, &Some(json!("host.<cluster>"))));
    let Sides::Same { after, .. } = &folded.objects[1].changes[0].sides else { panic!("one value") };
    assert_eq!(after, &Some(json!("host.one")), "the name of another cluster is shown as it is");
}

#[test]
fn a_text_that_says_a_mark_itself_is_never_folded() {
    let report = report(
        json!([control_plane("one", "x", "<cluster>-y"), control_plane("two", "x", "<cluster>-y")]),
        json!([rollout("one", 3, 0), rollout("two", 3, 0)]),
        json!([]),
    );
    let folded = fold(&report);
    assert_eq!(folded.objects.len(), 2);
    let Sides::Same { after, .. } = &folded.objects[0].changes[0].sides else { panic!("one value") };
    assert_eq!(after, &Some(json!("<cluster>-y")));
}

#[test]
fn reasons_are_counted_together_and_a_renamed_template_is_said_with_its_owner() {
    let template = |cluster: &str| {
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DockerMachineTemplate", "namespace": "fleet",
            "name": format!("{cluster}-new"), "renamedFrom": format!("{cluster}-old"), "action": "create", "effect": "rollout",
            "changes": []})
    };
    let owner = |cluster: &str| {
        let mut owner = control_plane(cluster, &format!("{cluster}-old"), &format!("{cluster}-new"));
        owner["changes"][0]["path"] = json!("spec.machineTemplate.infrastructureRef.name");
        owner
    };
    let of_owner = |cluster: &str| {
        held(&format!(
            "KubeadmControlPlane fleet/{cluster}-cp: spec.machineTemplate.infrastructureRef.name {cluster}-old -> {cluster}-new replaces 3 Machines"
        ))
    };
    let of_template = |cluster: &str| {
        held(&format!(
            "DockerMachineTemplate fleet/{cluster}-new: spec.template.spec.customImage a -> b replaces its Machines"
        ))
    };
    let objects = json!([template("one"), owner("one"), template("two"), owner("two")]);
    let rollouts = json!([rollout("one", 3, 0), rollout("two", 3, 0)]);
    let reasons = json!([of_template("one"), of_owner("one"), of_template("two"), of_owner("two")]);
    let told = report(objects.clone(), rollouts.clone(), reasons);
    let folded = fold(&told);
    let said: Vec<String> = folded.reasons.iter().map(|group| group.message(&folded.clusters)).collect();
    assert_eq!(said.len(), 1, "{said:#?}");
    for words in ["<cluster>-cp in one, two", "customImage a -> b", "replaces 6 Machines"] {
        assert!(said[0].contains(words), "{words} is not in {}", said[0]);
    }
    // An owner without a reason of its own says nothing, so the template does.
    let told = report(objects, rollouts, json!([of_template("one"), of_owner("two"), of_template("two")]));
    let folded = fold(&told);
    let said: Vec<String> = folded.reasons.iter().map(|group| group.message(&folded.clusters)).collect();
    assert!(
        said.len() == 2 && said.iter().any(|text| text.starts_with("DockerMachineTemplate fleet/one-new:")),
        "{said:#?}"
    );
}

#[test]
fn what_is_lost_comes_first_and_control_planes_before_workers() {
    let object = |kind: &str, group: &str, action: &str, effect: &str| {
        json!({"apiVersion": format!("{group}/v1beta1"), "kind": kind, "namespace": "fleet", "name": "x", "action": action,
            "effect": effect, "because": "so", "rule": "a/b", "changes": []})
    };
    let core = "cluster.x-k8s.io";
    let report = report(
        json!([
            object("MachineDeployment", core, "update", "rollout"),
            object("KubeadmControlPlane", CONTROL_PLANE, "update", "rollout"),
            object("MachinePool", core, "delete", "delete"),
            object("MachineHealthCheck", core, "update", "latent"),
        ]),
        json!([]),
        json!([held("MachineDeployment fleet/x: one"), held("KubeadmControlPlane fleet/x: two"),
            {"gate": "delete", "decision": "hold", "message": "MachinePool fleet/x: three"},
            {"gate": "read", "decision": "undecided", "message": "four"}]),
    );
    let folded = fold(&report);
    let kinds: Vec<&str> = folded.objects.iter().map(|group| group.first.kind.as_str()).collect();
    assert_eq!(kinds, ["MachinePool", "KubeadmControlPlane", "MachineDeployment", "MachineHealthCheck"]);
    let said: Vec<String> = folded.reasons.iter().map(|group| group.message(&folded.clusters)).collect();
    assert_eq!(
        said,
        ["MachinePool fleet/x: three", "KubeadmControlPlane fleet/x: two", "MachineDeployment fleet/x: one", "four"]
    );
}

#[test]
fn clusters_with_numbers_are_a_range_and_no_other_is() {
    let listed = |names: &[(&str, &str)]| {
        let places: BTreeSet<ClusterName<'_>> =
            names.iter().map(|(namespace, name)| ClusterName { namespace: Some(*namespace), name }).collect();
        super::listed(&places)
    };
    let in_one = |names: &[&'static str]| listed(&names.iter().map(|name| ("n", *name)).collect::<Vec<_>>());
    assert_eq!(in_one(&["c9", "c10", "c11", "c1"]), "c1, c9 to c11");
    assert_eq!(in_one(&["c008", "c009", "c010"]), "c008 to c010");
    assert_eq!(in_one(&["c09", "c10", "c011"]), "c09, c10, c011");
    assert_eq!(in_one(&["prod", "stage", "a-1", "a-2"]), "a-1, a-2, prod, stage");
    assert_eq!(listed(&[("x", "demo"), ("y", "demo")]), "x/demo, y/demo");
    assert_eq!(listed(&[("x", "x"), ("y", "y")]), "x, y");
}

#[test]
fn warnings_about_objects_of_which_nothing_else_is_said_are_one() {
    let mut told = report(json!([]), json!([]), json!([]));
    let of = |kind: &str, name: &str, what: &str| format!("{kind} fleet/{name}, {what}");
    told.warnings = vec![
        of("Secret", "a", "more than once"),
        of("Secret", "b", "more than once"),
        of("ConfigMap", "c", "more than once"),
        of("Secret", "d", "not at all"),
        "the clock, which nobody wound, stands".to_owned(),
        "the clocks, which nobody wound, stand".to_owned(),
    ];
    let folded = fold(&told);
    let said: Vec<String> = folded.warnings.iter().map(|group| group.message(&folded.clusters)).collect();
    assert_eq!(
        said,
        [
            "Secret fleet/a, b, more than once",
            "ConfigMap fleet/c, more than once",
            "Secret fleet/d, not at all",
            "the clock, which nobody wound, stands",
            "the clocks, which nobody wound, stand",
        ]
    );
}
