//! What files are taken for.

use super::*;
use crate::tree::json;

fn write(folder: &Path, name: &str, value: &Value) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, value.to_string()).expect("a file");
}

fn load_it(path: &Path) -> World {
    load(path, &Host::default(), Timestamp::UNIX_EPOCH).expect("a World")
}

#[test]
fn marks_of_a_cluster_decide() {
    let cluster =
        |metadata: Value| json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": metadata});
    let machine = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "m"}});
    let rendered = |metadata: Value| {
        json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": metadata,
            "spec": {"infrastructureRef": {"name": "m"}}})
    };
    let table = [
        (cluster(json!({"name": "a"})), LiveKind::OldRender),
        (cluster(json!({"name": "a", "uid": ""})), LiveKind::OldRender),
        (cluster(json!({"name": "a", "managedFields": []})), LiveKind::OldRender),
        (cluster(json!({"name": "a", "uid": "1"})), LiveKind::Cluster),
        (cluster(json!({"name": "a", "managedFields": [{"manager": "helm"}]})), LiveKind::Cluster),
        (machine, LiveKind::Cluster),
        (rendered(json!({"name": "m"})), LiveKind::OldRender),
        (rendered(json!({"name": "m", "labels": {"cluster.x-k8s.io/set-name": "s"}})), LiveKind::Cluster),
        (rendered(json!({"name": "m", "ownerReferences": []})), LiveKind::Cluster),
    ];
    let root = tempfile::tempdir().expect("a folder");
    for (value, kind) in table {
        write(root.path(), "live.json", &value);
        let world = load_it(&root.path().join("live.json"));
        assert_eq!(world.source.kind, kind, "{value}");
        let base = if kind == LiveKind::OldRender { BaseKind::Live } else { BaseKind::Unknown };
        assert_eq!(world.base.kind, base);
    }
}

#[test]
fn a_tree_of_files_is_read_in_order_and_lists_are_taken_apart() {
    let root = tempfile::tempdir().expect("a folder");
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    write(root.path(), "b/two.json", &json!({"apiVersion": "v1", "kind": "List", "items": [map("b"), map("c")]}));
    write(root.path(), "a.json", &map("a"));
    std::fs::write(root.path().join("notes.txt"), "not a manifest").expect("a file");
    let world = load_it(root.path());
    let names: Vec<&str> = world.live.objects().iter().map(|object| object.key.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn nothing_is_skipped_for_being_broken() {
    let root = tempfile::tempdir().expect("a folder");
    assert!(matches!(load(root.path(), &Host::default(), Timestamp::UNIX_EPOCH), Err(FileError::Empty { .. })));
    write(root.path(), "a.json", &json!({"kind": "Cluster"}));
    assert!(matches!(load(root.path(), &Host::default(), Timestamp::UNIX_EPOCH), Err(FileError::Load { .. })));
    assert!(matches!(
        load(&root.path().join("no"), &Host::default(), Timestamp::UNIX_EPOCH),
        Err(FileError::Read { .. })
    ));
}
