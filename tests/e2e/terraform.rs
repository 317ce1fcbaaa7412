//! OpenTofu or Terraform as it is, with the example as it stands: what rollgate holds, the Helm provider does not write. No registry
//! that the tests reach serves the provider, so it is told where both are:
//!
//! - `ROLLGATE_TOFU`: the program, `tofu` or `terraform`
//! - `ROLLGATE_HELM_PROVIDER`: folder with `terraform-provider-helm` in it

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Space, bench, say};
use crate::helm::{Run, rollgate};

/// The program and the folder of the provider, where both are told.
fn told() -> Option<(PathBuf, PathBuf)> {
    let path = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    path("ROLLGATE_TOFU").zip(path("ROLLGATE_HELM_PROVIDER"))
}

/// `tofu apply` of the example, in the folder of the test.
fn apply(space: &Space, program: &Path, values: &str) -> Run {
    space.file("values.yaml", values);
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command.args(["apply", "-auto-approve", "-input=false", "-no-color"]).current_dir(&space.dir);
    command
        .env("PATH", format!("{}:{path}", space.dir.join("bin").display()))
        .env("TF_CLI_CONFIG_FILE", space.dir.join("tofu.rc"))
        .env("TF_VAR_kubeconfig", &space.bench.kubeconfig)
        // The post-renderer reads the same cluster.
        .env("KUBECONFIG", &space.bench.kubeconfig);
    Run::of(command.output().expect("the program runs"))
}

#[test]
fn terraform_writes_nothing_that_is_held() {
    let Some((program, provider)) = told() else {
        say(
            "skipped: the example of Terraform, because ROLLGATE_TOFU and ROLLGATE_HELM_PROVIDER do not name both programs",
        );
        return;
    };
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "terraform");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = fs::read_to_string(root.join("examples/terraform/main.tf")).expect("the example");
    let own = example.replace("\"telco\"", "\"terraform\"").replace("--namespace=telco", "--namespace=terraform");
    assert_ne!(own, example, "the test puts a namespace of its own there");
    space.file("main.tf", &own);
    space.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    // A provider that is named so needs no `init` and no registry.
    let overrides = format!("dev_overrides {{ \"hashicorp/helm\" = \"{}\" }}", provider.display());
    space.file("tofu.rc", &format!("provider_installation {{\n  {overrides}\n  direct {{}}\n}}\n"));
    symlink(root.join("tests/e2e/charts/kubeadm"), space.dir.join("chart")).expect("a link");
    fs::create_dir_all(space.dir.join("bin")).expect("a folder");
    symlink(rollgate(), space.dir.join("bin/rollgate")).expect("a link");
    let control_plane = || {
        let owners = space.list("controlplane.cluster.x-k8s.io/v1beta2", "kubeadmcontrolplanes");
        owners.first().map(|owner| owner["spec"].to_string()).unwrap_or_default()
    };
    let base = "controlPlane: {replicas: 1}\nworkers: {replicas: 0}\n";
    apply(&space, &program, &format!("{base}vip: 10.0.3.7\n")).succeeded();
    assert!(control_plane().contains("10.0.3.7"));
    let held = apply(&space, &program, &format!("{base}vip: 10.0.9.9\n")).refused("KubeadmControlPlane");
    assert!(held.stderr.contains("hold") && control_plane().contains("10.0.3.7"), "{held:#?}");
    let gentle = base.replace("replicas: 1", "replicas: 1, drainTimeout: 120");
    apply(&space, &program, &format!("{gentle}vip: 10.0.3.7\n")).succeeded();
    assert!(control_plane().contains("120"));
}
