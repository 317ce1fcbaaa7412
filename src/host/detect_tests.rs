//! Table tests of the host's detection.

use std::collections::BTreeMap;

use super::*;

const HELM3: &[u8] = b"---\n# Source: demo/templates/a.yaml\nkind: A\n";
const HELM4: &[u8] =
    b"kind: A\nmetadata:\n  annotations:\n    postrenderer.helm.sh/postrender-filename: 'demo/templates/a.yaml'\n";

fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn above(lines: &[&str]) -> Vec<Process> {
    let words = |line: &&str| line.split_whitespace().map(str::to_owned).collect();
    lines.iter().zip(10..).map(|(line, pid)| Process { pid, words: words(line) }).collect()
}

fn told(stdin: Option<&[u8]>, pairs: &[(&str, &str)], lines: &[&str], told: &ToldHost) -> Detected {
    detect(&Signs { stdin, env: &env(pairs), parents: &above(lines), told })
}

#[test]
fn the_program_is_known_by_its_signs() {
    let plugin = [("HELM_PLUGIN_DIR", "/p")];
    let argo = [("ARGOCD_APP_NAME", "demo")];
    type Case<'a> = (Option<&'a [u8]>, &'a [(&'a str, &'a str)], &'a [&'a str], Option<HostKind>);
    let table: &[Case<'_>] = &[
        (Some(HELM3), &[], &["helm upgrade a b"], Some(HostKind::Helm3)),
        (Some(HELM4), &[], &["helm upgrade a b"], Some(HostKind::Helm4)),
        // A command plugin of Helm 3 leaves its folder in the environment of the Helm that it runs.
        (Some(HELM3), &plugin, &["helm upgrade a b"], Some(HostKind::Helm3)),
        (Some(b"kind: A\n"), &plugin, &["helm upgrade a b"], Some(HostKind::Helm4)),
        (Some(b"kind: A\n"), &plugin, &["sh x.sh"], None),
        (None, &plugin, &["helm upgrade a b"], None),
        (None, &[], &["bash"], None),
        // In `plan` the stream tells nothing, so it is not passed.
        (Some(b"kind: A\n# Source: not at the start\n"), &[], &["helm upgrade a b"], None),
        (Some(b"---\r\n# Source: demo/a.yaml\r\nkind: A\r\n"), &[], &[], Some(HostKind::Helm3)),
        (Some(b"kind: A\n"), &[], &["/x/terraform-provider-helm_v3.1.2"], Some(HostKind::Helm3)),
        (None, &argo, &["sh -c generate"], Some(HostKind::Argocd)),
        (Some(HELM3), &argo, &["sh -c generate"], Some(HostKind::Helm3)),
    ];
    for (place, (stdin, env, parents, kind)) in table.iter().enumerate() {
        assert_eq!(told(*stdin, env, parents, &ToldHost::default()).host.kind, *kind, "case {place}");
    }
}

#[test]
fn what_is_told_wins() {
    let said = ToldHost {
        kind: Some(HostKind::Flux),
        release: Some("demo".to_owned()),
        namespace: Some("other".to_owned()),
        context: Some("ctx".to_owned()),
        method: None,
        prune: false,
        rolls_back: false,
        force: true,
    };
    let found = told(Some(HELM3), &[], &["helm upgrade demo b -n telco --kube-context x"], &said);
    assert_eq!(found.host.kind, Some(HostKind::Flux));
    assert_eq!(found.host.namespace.as_deref(), Some("other"));
    assert_eq!(found.host.context.as_deref(), Some("ctx"));
    assert_eq!(found.reach.context.as_deref(), Some("ctx"));
    // That Helm itself writes to another namespace is doubt.
    assert_eq!(found.doubts.len(), 1);
    assert!(found.doubts[0].why.contains("says other, and Helm writes to telco"), "{}", found.doubts[0].why);
}

#[test]
fn a_namespace_that_helm_does_not_write_to_is_a_doubt() {
    let said = |namespace: &str| ToldHost { namespace: Some(namespace.to_owned()), ..ToldHost::default() };
    let doubts = |env: &[(&str, &str)], line: &str| told(Some(HELM3), env, &[line], &said("telco")).doubts.len();
    assert_eq!(doubts(&[], "helm upgrade demo b -n other"), 1);
    assert_eq!(doubts(&[("HELM_NAMESPACE", "other")], "helm upgrade demo b"), 1);
    assert_eq!(doubts(&[("HELM_NAMESPACE", "other")], "helm upgrade demo b -n telco"), 0);
    assert_eq!(doubts(&[], "helm upgrade demo b -n telco"), 0);
    // What stands in the environment of any other program is no word of Helm.
    assert_eq!(doubts(&[("HELM_NAMESPACE", "other")], "bash"), 0);
    // Helm takes that of the context: only the kubeconfig can tell.
    let found = told(Some(HELM3), &[], &["helm upgrade demo b"], &said("telco"));
    assert_eq!(found.told_over_context.as_deref(), Some("telco"));
}

#[test]
fn a_release_that_helm_does_not_write_is_a_doubt() {
    let said = ToldHost { release: Some("demo".to_owned()), ..ToldHost::default() };
    assert_eq!(told(Some(HELM3), &[], &["helm upgrade other b"], &said).doubts.len(), 1);
}

#[test]
fn release_and_namespace_come_from_a_helm_above_a_wrapper() {
    let found = told(
        Some(HELM3),
        &[],
        &["/bin/sh pr.sh", "helm upgrade demo ./chart -n telco --dry-run"],
        &ToldHost::default(),
    );
    assert_eq!(found.host.release.as_deref(), Some("demo"));
    assert_eq!(found.host.namespace.as_deref(), Some("telco"));
    assert!(found.host.writes_nothing);
    assert_eq!(found.host.method, Some(WriteMethod::MergePatch));
    assert_eq!(found.helm_pid, Some(11));
    assert!(!found.namespace_of_context);
}

#[test]
fn without_a_namespace_helm_takes_that_of_the_context_and_we_say_so() {
    let found = told(Some(HELM3), &[], &["helm upgrade demo ./chart"], &ToldHost::default());
    assert_eq!(found.host.namespace, None);
    assert!(found.namespace_of_context);
    let found = told(Some(HELM3), &[("HELM_NAMESPACE", "env")], &["helm upgrade demo ./chart"], &ToldHost::default());
    assert_eq!(found.host.namespace.as_deref(), Some("env"));
    assert!(!found.namespace_of_context);
    let found = told(None, &[], &["bash"], &ToldHost::default());
    assert!(!found.namespace_of_context);
}

#[test]
fn the_method_follows_major_command_and_flags() {
    let table: &[(&[u8], &str, Option<WriteMethod>)] = &[
        (HELM3, "helm upgrade a b", Some(WriteMethod::MergePatch)),
        (HELM3, "helm install a b", Some(WriteMethod::MergePatch)),
        (HELM4, "helm install a b", Some(WriteMethod::ServerSideApply)),
        (HELM4, "helm install a b --server-side=false", Some(WriteMethod::MergePatch)),
        (HELM4, "helm upgrade a b", None),
        (HELM4, "helm upgrade a b --server-side auto", None),
        (HELM4, "helm upgrade a b --server-side true", Some(WriteMethod::ServerSideApply)),
        (HELM4, "helm upgrade a b --server-side=false", Some(WriteMethod::MergePatch)),
    ];
    for (stdin, line, method) in table {
        assert_eq!(told(Some(stdin), &[], &[line], &ToldHost::default()).host.method, *method, "{line}");
    }
}

#[test]
fn a_token_is_a_doubt_and_replacing_is_a_way_of_writing() {
    let found = |line: &str| told(Some(HELM3), &[], &[line], &ToldHost::default());
    assert_eq!(found("helm upgrade a b --kube-token x").doubts.len(), 1);
    for line in ["helm upgrade a b --force", "helm upgrade a b --force-replace"] {
        assert!(found(line).doubts.is_empty() && found(line).host.replace, "{line}");
    }
    assert!(found("helm upgrade a b --take-ownership").host.take_ownership);
}

#[test]
fn the_driver_is_read_as_helm_reads_it() {
    let table = [
        ("", Driver::Secret),
        ("secrets", Driver::Secret),
        ("configmap", Driver::ConfigMap),
        ("sql", Driver::Elsewhere),
    ];
    for (word, driver) in table {
        assert_eq!(told(None, &[("HELM_DRIVER", word)], &[], &ToldHost::default()).driver, driver, "{word}");
    }
}

#[test]
fn live_objects_name_their_release() {
    let object = |name: &str, release: &str| {
        let value = crate::tree::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n",
            "annotations": {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": "n"}}});
        crate::object::Object::from_value(value, 0).expect("an object")
    };
    let live = Inventory::from(vec![object("a", "demo"), object("b", "demo"), object("c", "other")]);
    let rendered = Inventory::from(vec![object("a", ""), object("b", ""), object("z", "")]);
    let found = releases_of(&live, &rendered, None);
    assert_eq!(found, [ReleaseName { name: "demo".to_owned(), namespace: "n".to_owned() }]);
    let homeless = crate::tree::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let homeless = Inventory::from(vec![crate::object::Object::from_value(homeless, 0).expect("an object")]);
    assert_eq!(releases_of(&live, &homeless, Some("n")), found);
    assert!(releases_of(&live, &homeless, None).is_empty());
}
