//! The README's commands with Helm, run as they stand there: `helm3`, `helm4` and `rollgate` are on the search path.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::bench::{Space, bench};
use crate::helm::rollgate;

#[test]
fn every_helm_command_of_the_readme_runs() {
    let Some(bench) = bench() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let space = Space::new(bench, "demo");
    let text = fs::read_to_string(root.join("README.md")).expect("a README");
    let blocks: Vec<&str> = text.split("```sh helm\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 3, "the README lost its Helm commands");
    for (number, block) in blocks.into_iter().enumerate() {
        run_block(&space, &space.dir.join(number.to_string()), block);
    }
}

/// Runs a block as a user who has the Helms that it names, and no others.
fn run_block(space: &Space, folder: &Path, block: &str) {
    let (bench, root) = (space.bench, Path::new(env!("CARGO_MANIFEST_DIR")));
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).expect("the folder can be made");
    for helm in ["helm3", "helm4"].into_iter().filter(|helm| block.contains(helm)) {
        symlink(bench.bin.join(helm), bin.join(helm)).expect("Helm can be linked");
    }
    symlink(rollgate(), bin.join("rollgate")).expect("rollgate can be linked");
    symlink(root.join("tests/e2e/charts/kubeadm"), folder.join("chart")).expect("the chart can be linked");
    for file in ["rollgate.yaml", "rollgate.pins.yaml", "values.yaml.j2"] {
        fs::copy(root.join("examples/late").join(file), folder.join(file)).expect("the example can be copied");
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    for command in block.replace("\\\n", " ").lines().filter(|line| !line.trim().is_empty()) {
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(folder)
            .env_clear()
            .env("PATH", &path)
            .env("HOME", folder)
            .env("KUBECONFIG", &bench.kubeconfig)
            .env("CLUSTER_VIP", "10.0.3.7")
            .output()
            .expect("a shell runs");
        assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
