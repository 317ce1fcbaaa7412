//! What `serve manifests` prints.

use std::process::{Command, Output};

use serde_json::Value;

use crate::server::beside;

fn rollgate(args: &[&str], stdin: Option<&[u8]>) -> Output {
    use std::io::Write as _;
    let mut child = Command::new(env!("CARGO_BIN_EXE_rollgate"))
        .args(args)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    child.stdin.take().expect("a pipe").write_all(stdin.unwrap_or_default()).expect("it is sent");
    child.wait_with_output().expect("it ends")
}

/// Every object that is printed.
fn printed(args: &[&str]) -> Vec<Value> {
    let all: Vec<&str> =
        ["serve", "manifests", "--image", "r.example.org/rollgate:v1"].iter().chain(args).copied().collect();
    let output = rollgate(&all, None);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!String::from_utf8_lossy(&output.stdout).contains('@'), "every word is filled in");
    let read = rollgate(&["debug", "yaml"], Some(&output.stdout));
    String::from_utf8_lossy(&read.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn one<'o>(objects: &'o [Value], kind: &str) -> &'o Value {
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

#[test]
fn everything_is_there_and_bound_together() {
    let objects = printed(&["--skip", "anna", "--failure-policy", "fail", "--timeout", "7"]);
    for kind in [
        "Namespace",
        "ServiceAccount",
        "ClusterRole",
        "Deployment",
        "Service",
        "PodDisruptionBudget",
        "NetworkPolicy",
        "Secret",
    ] {
        one(&objects, kind);
    }
    let hooks = one(&objects, "ValidatingWebhookConfiguration");
    assert!(hooks["metadata"].get("annotations").is_none());
    for hook in hooks["webhooks"].as_array().expect("webhooks") {
        assert_eq!(hook["failurePolicy"], "Fail");
        assert_eq!((hook["timeoutSeconds"].as_u64(), &hook["sideEffects"]), (Some(7), &Value::from("None")));
        assert_eq!(hook["matchPolicy"], "Equivalent");
        let conditions = hook["matchConditions"].to_string();
        assert!(
            conditions.contains("'anna'") && conditions.contains("system:serviceaccount:capi-system:capi-manager"),
            "{conditions}"
        );
    }
    let first = &hooks["webhooks"][0]["rules"][0];
    assert!(first["resources"].to_string().contains("*/scale"), "{first}");
    assert!(first["apiGroups"].to_string().contains("controlplane.cluster.x-k8s.io"), "{first}");
    // Whatever is asked about can be read.
    let roles = objects.iter().filter(|object| object["kind"] == "ClusterRole");
    let groups: Vec<String> = roles.map(|role| role["rules"][0]["apiGroups"].to_string()).collect();
    assert!(groups.contains(&first["apiGroups"].to_string()), "{groups:?}");
}

/// The accounts that the installers of a few providers make, as `kustomize build` of their releases gives them (`serviceAccountName` of the
/// Deployment): newer releases call them otherwise, and those of older ones run on.
#[test]
fn the_controllers_of_every_release_are_skipped_and_nobody_who_is_called_alike() {
    let objects = printed(&[]);
    let hooks = one(&objects, "ValidatingWebhookConfiguration");
    let conditions = hooks["webhooks"][0]["matchConditions"].to_string();
    let is_skipped = |account: &str| conditions.contains(&format!("'system:serviceaccount:{account}'"));
    for account in [
        // k0smotron of install.yaml, and v1.4.0 to v2.1.0 in three parts.
        "k0smotron:k0smotron-controller-manager",
        "k0smotron:k0smotron-controller-manager-bootstrap",
        "k0smotron:k0smotron-controller-manager-control-plane",
        "k0smotron:k0smotron-controller-manager-infrastructure",
        // CAPOA.
        "capoa-bootstrap-system:capoa-bootstrap-controller-manager",
        "capoa-controlplane-system:capoa-controlplane-controller-manager",
        // In-cluster addresses v0.1.0 to v1.0.3; Metal3's up to v1.9 and from v1.11.
        "capi-ipam-in-cluster-system:capi-ipam-in-cluster-controller-manager",
        "capm3-system:ipam-manager",
        "metal3-ipam-system:ipam-manager",
        // Hetzner v1.0.0 to v1.1.8.
        "caph-system:caph-controller-manager",
        // Canonical Kubernetes v0.1.1 and v0.6.1.
        "cabpck-system:default",
        "cabpck-system:cabpck-bootstrap-manager",
        // Add-ons by Helm v0.6.4.
        "caaph-system:caaph-controller-manager",
    ] {
        assert!(is_skipped(account), "{account}");
    }
    for account in ["k0smotron:default", "capoa-bootstrap-system:default", "caph-system:default", "default:default"] {
        assert!(!is_skipped(account), "{account}");
    }
}

/// Only one Secret can be read, and only one configuration be written.
#[test]
fn the_rights_of_its_own_certificate_are_for_one_object_each() {
    let objects = printed(&["-n", "gate"]);
    let rules = objects.iter().flat_map(|object| object["rules"].as_array().cloned().unwrap_or_default());
    let writes: Vec<String> = rules
        .filter(|rule| {
            rule["verbs"]
                .as_array()
                .expect("verbs")
                .iter()
                .any(|verb| !["get", "list", "watch"].contains(&verb.as_str().expect("a verb")))
        })
        .map(|rule| format!("{} {} {}", rule["resources"], rule["resourceNames"], rule["verbs"]))
        .collect();
    assert_eq!(
        writes,
        [
            r#"["secrets"] ["rollgate-tls"] ["get","update"]"#,
            r#"["validatingwebhookconfigurations"] ["rollgate"] ["get","patch"]"#
        ]
    );
    let args = one(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    for word in ["--tls-secret=gate/rollgate-tls", "--tls-configuration=rollgate", "--tls-name=rollgate.gate.svc"] {
        assert!(args.contains(word), "{args}");
    }
}

#[test]
fn cert_manager_takes_the_place_of_its_own_certificate() {
    let objects = printed(&["--certificates", "cert-manager"]);
    assert!(objects.iter().all(|object| object["kind"] != "Secret"));
    one(&objects, "Certificate");
    let hooks = one(&objects, "ValidatingWebhookConfiguration");
    assert_eq!(hooks["metadata"]["annotations"]["cert-manager.io/inject-ca-from"], "rollgate-system/rollgate");
}

/// The chart cannot ask the program which groups it knows.
#[test]
fn the_groups_of_the_chart_are_those_that_are_known() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/rollgate/files/groups.txt");
    let text = std::fs::read_to_string(&file).expect("the groups");
    let head: String = text.lines().filter(|line| line.starts_with('#')).flat_map(|line| [line, "\n"]).collect();
    let known: String = rollgate::facade::providers::known().into_iter().flat_map(|group| [group, "\n"]).collect();
    let wanted = format!("{head}{known}");
    if text != wanted {
        assert!(std::env::var_os("ROLLGATE_BLESS").is_some(), "{} has to hold\n{wanted}", file.display());
        std::fs::write(&file, wanted).expect("written");
    }
}

#[test]
fn the_chart_and_the_program_have_one_version() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/rollgate/Chart.yaml");
    let text = std::fs::read_to_string(file).expect("the chart");
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        text.contains(&format!("\nversion: {version}\n")) && text.contains(&format!("\nappVersion: v{version}\n")),
        "{text}"
    );
}

#[test]
fn an_authority_of_ones_own_takes_the_place_of_its_own_certificate() {
    let objects = printed(&["--ca-bundle", beside("serve/authority.pem").to_str().expect("text")]);
    assert!(objects.iter().all(|object| object["apiVersion"] != "cert-manager.io/v1" && object["kind"] != "Secret"));
    let hooks = one(&objects, "ValidatingWebhookConfiguration");
    assert!(hooks["metadata"].get("annotations").is_none());
    assert!(
        hooks["webhooks"][1]["clientConfig"]["caBundle"]
            .as_str()
            .is_some_and(|text| text.starts_with("LS0tLS1CRUdJTi"))
    );
}

#[test]
fn a_word_that_would_change_an_expression_is_refused() {
    for args in
        [["--skip", "a'] || true || ['"], ["--namespace", "a b"], ["--policy", "configmap/a"], ["--image", "a b"]]
    {
        let all: Vec<&str> = ["serve", "manifests", "--image", "x"].iter().copied().chain(args).collect();
        let output =
            rollgate(if args[0] == "--image" { &["serve", "manifests", "--image", "a b"] } else { &all }, None);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn the_publisher_has_rights_of_its_own() {
    let policy = ["--policy", "configmap/fleet/policy"];
    let objects = printed(&[&["--publish-values"], policy.as_slice()].concat());
    let role = objects.iter().find(|one| one["kind"] == "ClusterRole" && one["metadata"]["name"] == "rollgate-values");
    let rights = role.expect("its rights")["rules"].to_string();
    assert!(rights.contains("update") && !rights.contains("delete") && !rights.contains("helmreleases"), "{rights}");
    let args = one(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    assert!(args.contains("--publish-values") && !args.contains("--gate-releases"), "{args}");
    let without: String = printed(&policy).iter().map(ToString::to_string).collect();
    assert!(!without.contains("rollgate-values"), "nothing is published where nobody says so");
    let all = ["serve", "manifests", "--image", "r.example.org/r:1", "--publish-values"];
    assert_eq!(rollgate(&all, None).status.code(), Some(2), "no policy says what");
}

#[test]
fn the_gate_has_rights_of_its_own_and_only_where_it_is_wanted() {
    let text = |objects: &[Value]| objects.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let without = text(&printed(&[]));
    for word in ["rollgate-gate", "helmreleases", "--gate-releases", "leases", "/tmp"] {
        assert!(!without.contains(word), "{word} is there without the gate");
    }
    let everywhere: Vec<Value> = printed(&[]).into_iter().filter(|one| one["kind"] == "ClusterRole").collect();
    assert!(!everywhere.is_empty() && !text(&everywhere).contains("\"secrets\""), "no Secret is read without the gate");
    let objects =
        printed(&["--gate-releases", "--notify", "http://notification-controller.flux-system.svc.cluster.local./"]);
    let rights = objects.iter().find(|one| one["kind"] == "ClusterRole" && one["metadata"]["name"] == "rollgate-gate");
    let rights = rights.expect("its rights")["rules"].as_array().expect("rules").clone();
    let on = |resource: &str| {
        let rules = rights.iter().filter(|rule| rule["resources"].to_string().contains(&format!("\"{resource}\"")));
        rules.flat_map(|rule| rule["verbs"].as_array().expect("verbs")).filter_map(Value::as_str).collect::<Vec<_>>()
    };
    // It never makes or deletes a release, and never writes a Secret.
    assert_eq!(on("helmreleases"), ["get", "list", "watch", "patch"]);
    assert_eq!(on("secrets"), ["get", "list"]);
    assert!(rights.iter().all(|rule| !rule["verbs"].to_string().contains("delete")));
    let container = &one(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    let args = container["args"].to_string();
    assert!(args.contains("--gate-releases") && args.contains("--lease-namespace=rollgate-system"), "{args}");
    assert!(args.contains("--notify=http://notification-controller"), "{args}");
    assert!(one(&objects, "NetworkPolicy")["spec"]["egress"].to_string().contains("9090"), "charts are fetched");
    assert!(container["volumeMounts"].to_string().contains("/tmp"), "charts are unpacked there");
}
