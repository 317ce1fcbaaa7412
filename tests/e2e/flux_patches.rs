//! `rollgate flux post-renderers` against kustomize and helm-controller: the patches make of a chart what post-render makes of it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rollgate::facade::object::Stream;
use serde_json::{Value, json};

use crate::bench::{Space, bench};
use crate::flux::publish;
use crate::flux_render::{objects, recorded, wait};
use crate::helm::rollgate;

const RELEASES: &str = "helm.toolkit.fluxcd.io/v2";
const ADDRESS: &str = "10.0.3.7";
const PLACEHOLDER: &str = "55.55.55.55";

/// Runs a program over a stream.
fn piped(command: &mut Command, stream: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a program");
    child.stdin.take().expect("a pipe").write_all(stream).expect("it reads");
    child.wait_with_output().expect("it ends")
}

fn text(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn patches_do_what_the_post_renderer_does() {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, "flux-patches");
    publish(&space, "kubeadm");
    let values = json!({"controlPlane": {"replicas": 1}, "workers": {"replicas": 0}});
    let file = space.file("values.json", &values.to_string());
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/charts/kubeadm");
    let mut template = Command::new(bench.bin.join("helm4"));
    template.args(["template", "demo"]).arg(&chart).args(["-n", &space.namespace, "-f"]).arg(&file);
    let rendered = text(template.env("HOME", &space.dir).output().expect("helm runs")).into_bytes();
    let policy = space.file(
        "rollgate.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- {name: vip, placeholders: [\"55.55.55.55\"], type: ip, \
         from: [{env: CLUSTER_VIP}]}\n",
    );
    let ask = |words: &[&str], address: Option<&str>| {
        let mut command = Command::new(rollgate());
        command.args(words).args(["-n", &space.namespace, "--release", "demo", "--policy"]).arg(&policy);
        command.env("KUBECONFIG", &space.bench.kubeconfig).env_remove("CLUSTER_VIP");
        command.envs(address.map(|address| ("CLUSTER_VIP", address)));
        piped(&mut command, &rendered)
    };
    let held = ask(&["flux", "post-renderers"], None);
    assert!(held.status.code() == Some(4) && held.stdout.is_empty(), "a value that is not known is in no patch");
    let filled = text(ask(&["post-render"], Some(ADDRESS)));
    let patches = text(ask(&["flux", "post-renderers"], Some(ADDRESS)));
    assert!(filled.contains(ADDRESS) && !filled.contains(PLACEHOLDER));
    let stream = Stream::load(&bytes::Bytes::from(
        format!("apiVersion: v1\nkind: X\nmetadata: {{name: x}}\n{patches}").into_bytes(),
    ));
    let carried: Value = stream.expect("YAML").objects.objects()[0].value().expect("a map").into_owned().into();
    let expected = objects(&filled);

    // kustomize itself.
    let mut kustomization = carried["postRenderers"][0]["kustomize"].clone();
    kustomization["resources"] = json!(["all.yaml"]);
    std::fs::write(space.dir.join("all.yaml"), &rendered).expect("a file");
    space.file("kustomization.yaml", &kustomization.to_string());
    let mut kustomize = Command::new(bench.bin.join("kustomize"));
    assert_eq!(objects(&text(kustomize.arg("build").arg(&space.dir).output().expect("kustomize runs"))), expected);

    // helm-controller.
    let release = json!({"apiVersion": RELEASES, "kind": "HelmRelease", "metadata": {"name": "demo"},
        "spec": {"interval": "1h", "chartRef": {"kind": "OCIRepository", "name": "kubeadm"}, "values": values,
            "install": {"disableWait": true}, "postRenderers": carried["postRenderers"]}});
    let folder = format!("/apis/{RELEASES}/namespaces/{}/helmreleases", space.namespace);
    bench.api.create(&folder, &release);
    wait(bench, &format!("{folder}/demo"), 1);
    let mut stored = recorded(bench, &space.namespace, "demo", 1);
    // Flux labels what it installs with its origin.
    for object in stored.values_mut() {
        let metadata = object["metadata"].as_object_mut().expect("metadata");
        let labels = metadata.get_mut("labels").and_then(Value::as_object_mut).expect("labels");
        labels.retain(|name, _| !name.starts_with("helm.toolkit.fluxcd.io/"));
        if labels.is_empty() {
            metadata.remove("labels");
        }
    }
    assert_eq!(stored, expected);
}
