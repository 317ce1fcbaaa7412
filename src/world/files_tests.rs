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

#[cfg(unix)]
#[test]
fn nothing_of_a_dump_is_passed_over_in_silence() {
    let root = tempfile::tempdir().expect("a folder");
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    for name in ["live/a.json", "live/B.YAML", "beside/c.json", "live/d.json.1", "live/machines"] {
        write(root.path(), name, &map("m"));
    }
    let live = root.path().join("live");
    std::fs::write(live.join("README.md"), "apiVersion: v1\n").expect("a file");
    std::fs::write(live.join(".gitkeep"), "").expect("a file");
    std::fs::write(live.join("notes.txt"), "not a manifest").expect("a file");
    std::os::unix::fs::symlink(root.path().join("beside"), live.join("linked")).expect("a link");
    std::os::unix::fs::symlink(&live, root.path().join("beside/back")).expect("a link");
    let opened = open(&live, &Host::default(), Timestamp::UNIX_EPOCH).expect("a World");
    assert_eq!(opened.world.live.len(), 3);
    let said = not_read(&opened.passed_over).expect("a sentence");
    assert!(said.contains("d.json.1") && said.contains("live/machines seem to hold objects"), "{said}");
    assert!(!said.contains("README") && !said.contains("notes"), "{said}");
    // A stream is what kubectl reads of a folder, and no more.
    assert_eq!(manifests(&live).expect("files").len(), 1);
}
