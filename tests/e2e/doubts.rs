//! What a post-renderer cannot know of the Helm that runs it: a chart without Cluster API objects then may still delete some, so nothing
//! is written.

use crate::bench::{Space, bench};
use crate::helm::{Helm, Release};

fn play(helm: Helm) {
    let Some(bench) = bench() else { return };
    let space = Space::new(bench, &format!("doubts-{}", helm.name()));
    let head = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n";
    let careful = space.file("rollgate.yaml", head);
    let careless = space.file("careless.yaml", &format!("{head}unseen: {{release: allow}}\n"));
    let release = |name: &'static str, policy: &std::path::Path| Release {
        space: &space,
        helm,
        name,
        chart: "emptied",
        values: Vec::new(),
        policy: policy.to_owned(),
    };
    // A namespace of the environment that Helm does not write to, and one that it does.
    let demo = release("demo", &careful);
    demo.gated_as(None, "install", &[], &[("ROLLGATE_NAMESPACE", "elsewhere")]).refused("elsewhere");
    demo.gated_as(None, "install", &[], &[("ROLLGATE_RELEASE", "other")]).refused("other");
    demo.gated_as(None, "install", &[], &[("ROLLGATE_NAMESPACE", &space.namespace)]).succeeded();

    // Helm under another name, as in a wrapper or an image of one's own: nobody says which release this is. Helm 4 keeps what a
    // post-renderer says to itself, and nobody knows that it is Helm.
    let other = release("second", &careful);
    other.gated_as(Some("deploy"), "install", &["deployment=true"], &[]).refused("post");
    let told = [("ROLLGATE_RELEASE", "second"), ("ROLLGATE_NAMESPACE", space.namespace.as_str())];
    other.gated_as(Some("deploy"), "install", &["deployment=true"], &told).succeeded();
    release("third", &careless).gated_as(Some("deploy"), "install", &["deployment=true"], &[]).succeeded();
}

#[test]
fn helm3() {
    play(Helm::V3);
}

#[test]
fn helm4() {
    play(Helm::V4);
}
