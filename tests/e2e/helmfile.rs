//! helmfile as it is, with the example as it stands: what rollgate holds, helmfile does not write.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::bench::{Space, bench};
use crate::helm::{Run, rollgate};

/// `helmfile sync` of the example, in the folder of the test.
fn sync(space: &Space, values: &str) -> Run {
    space.file("values.yaml", values);
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(space.bench.bin.join("helmfile"));
    command.args(["--file", "helmfile.yaml", "sync"]).current_dir(&space.dir);
    command
        .env("PATH", format!("{}:{path}", space.dir.join("bin").display()))
        .env("KUBECONFIG", &space.bench.kubeconfig);
    for (variable, folder) in [("HELM_CACHE_HOME", "cache"), ("HELM_CONFIG_HOME", "config"), ("HELM_DATA_HOME", "data")]
    {
        command.env(variable, space.dir.join(folder));
    }
    Run::of(command.output().expect("helmfile is built with the bench"))
}

#[test]
fn helmfile_writes_nothing_that_is_held() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "helmfile");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = fs::read_to_string(root.join("examples/helmfile/helmfile.yaml")).expect("the example");
    assert!(example.contains("namespace: telco"), "the test puts a namespace of its own there");
    space.file("helmfile.yaml", &example.replace("namespace: telco", "namespace: helmfile"));
    space.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    symlink(root.join("tests/e2e/charts/kubeadm"), space.dir.join("chart")).expect("a link");
    fs::create_dir_all(space.dir.join("bin")).expect("a folder");
    for (name, program) in [("rollgate", rollgate().into()), ("helm", bench.bin.join("helm3"))] {
        symlink::<std::path::PathBuf, _>(program, space.dir.join("bin").join(name)).expect("a link");
    }
    let control_plane = || {
        let owners = space.list("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes");
        owners.first().map(|owner| owner["spec"].to_string()).unwrap_or_default()
    };
    let base = "controlPlane: {replicas: 1}\nworkers: {replicas: 0}\n";
    sync(&space, &format!("{base}vip: 10.0.3.7\n")).succeeded();
    assert!(control_plane().contains("10.0.3.7"));
    let held = sync(&space, &format!("{base}vip: 10.0.9.9\n")).refused("KubeadmControlPlane");
    assert!(held.stderr.contains("hold") && control_plane().contains("10.0.3.7"), "{held:#?}");
    let gentle = base.replace("replicas: 1", "replicas: 1, drainTimeout: 120");
    sync(&space, &format!("{gentle}vip: 10.0.3.7\n")).succeeded();
    assert!(control_plane().contains("120"));
}
