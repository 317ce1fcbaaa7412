//! Tokens, however they come: in the kubeconfig, in a file, from an OIDC login, or as the service account of a pod. They count
//! while they are good, and are never said.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::bench::{Bench, NAMESPACE, RELEASE, bench};
use crate::login::{kubeconfig, write};
use crate::matrix::post_render;
use crate::rights::rules;

/// A service account with the rights of a plan, and a token of it.
fn reader(bench: &Bench) -> String {
    let name = "reader";
    let meta = json!({"name": name, "namespace": NAMESPACE});
    let rbac = "rbac.authorization.k8s.io";
    let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}]);
    let all: Vec<Value> = [rules("rollgate-read"), rules("rollgate-versions")].concat();
    bench.create(
        name,
        &[
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}),
            json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": "pod-reader"}, "rules": all}),
            json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "pod-reader"},
                "subjects": subjects, "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "pod-reader"}}),
        ],
    );
    bench.run("kubectl", &["create", "token", name, "-n", NAMESPACE]).trim().to_owned()
}

/// The administrator's kubeconfig with another user.
fn with_user(bench: &Bench, name: &str, user: Value) -> PathBuf {
    let mut config = kubeconfig(bench);
    config["users"][0]["user"] = user;
    write(bench, &format!("token-{name}"), &config)
}

fn file(bench: &Bench, name: &str, text: &str) -> PathBuf {
    let path = bench.out.join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

/// A token that the API server does not know, which ends at this time.
fn foreign(end: i64) -> String {
    let part = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.canary", part(json!({"alg": "RS256"})), part(json!({"exp": end})))
}

#[test]
fn a_token_counts_while_it_is_good_wherever_it_comes_from() {
    let Some(bench) = bench() else { return };
    let stream = bench.rendered();
    let good = reader(bench);
    let oidc = |token: &str| {
        json!({"auth-provider": {"name": "oidc", "config": {"id-token": token, "client-id": "kube",
            "idp-issuer-url": "https://127.0.0.1:1", "refresh-token": "canary"}}})
    };
    let inside = |name: &str, token: &str| json!({"tokenFile": file(bench, name, token)});
    for (name, user) in [("plain", json!({"token": good})), ("file", inside("good", &good)), ("oidc", oidc(&good))] {
        let (code, out, err) = post_render(bench, &with_user(bench, name, user), &stream);
        assert_eq!((code, out.as_str()), (Some(0), stream.as_str()), "{name}: {err}");
    }
    let refused = "the API server does not accept the credentials (401)";
    let (future, past) = (foreign(4_102_444_800), foreign(1_577_836_800));
    for (name, user, why) in [
        ("plain-bad", json!({"token": future}), refused),
        ("file-bad", inside("bad", &future), refused),
        ("file-missing", json!({"tokenFile": bench.out.join("nowhere")}), "cannot be read"),
        ("oidc-bad", oidc(&future), refused),
        ("oidc-ended", oidc(&past), "the OIDC login of the kubeconfig ended at 2020-01-01T00:00:00Z"),
    ] {
        let (code, out, err) = post_render(bench, &with_user(bench, name, user), &stream);
        assert_eq!((code, out.as_str()), (Some(4), ""), "{name}: {err}");
        assert!(err.contains(why), "{name}: {err}");
        assert!(!err.contains("canary") && !err.contains(&future) && !err.contains(&past), "{name}: {err}");
    }
    in_a_pod(bench, &stream, &good);
}

/// What a pod sees: the address in the environment, and the service account at its fixed place, which only a mount namespace
/// of our own can hold here.
fn in_a_pod(bench: &Bench, stream: &str, token: &str) {
    let admin = kubeconfig(bench);
    let cluster = &admin["clusters"][0]["cluster"];
    let server: http::Uri = cluster["server"].as_str().expect("an address").parse().expect("an address");
    let authority = cluster["certificate-authority-data"].as_str().expect("a certificate");
    let account = bench.out.join("serviceaccount");
    std::fs::create_dir_all(&account).expect("a folder");
    std::fs::write(account.join("ca.crt"), BASE64_STANDARD.decode(authority).expect("base64")).expect("written");
    std::fs::write(account.join("namespace"), NAMESPACE).expect("written");
    let run = |token: Option<&str>| {
        let place = account.join("token");
        match token {
            Some(token) => std::fs::write(place, token).expect("written"),
            None => std::fs::remove_file(place).expect("removed"),
        }
        pod(&account, &file(bench, "stream.yaml", stream), &server)
    };
    let Some((code, out, err)) = run(Some(token)) else { return };
    assert_eq!((code, out.as_str()), (Some(0), stream), "{err}");
    let (code, out, err) = run(Some(&foreign(4_102_444_800))).expect("it ran before");
    assert_eq!((code, out.as_str()), (Some(4), ""), "{err}");
    assert!(err.contains("(401)") && !err.contains("canary"), "{err}");
    let (code, out, err) = run(None).expect("it ran before");
    assert_eq!((code, out.as_str()), (Some(4), ""), "{err}");
    assert!(err.contains("serviceaccount/token cannot be read") && err.contains("let its service account"), "{err}");
}

/// Runs the program as in a pod; `None`, after one line, where this machine gives nobody a mount namespace.
fn pod(account: &Path, stream: &Path, server: &http::Uri) -> Option<(Option<i32>, String, String)> {
    let apart = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command
    };
    let can = apart("mount -t tmpfs none /run").stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this machine gives no mount namespace, so a pod cannot be shown");
        return None;
    }
    let script = format!(
        "cp -r {0} /tmp/account.$$ && mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io && \
         mv /tmp/account.$$ /run/secrets/kubernetes.io/serviceaccount && \
         exec {1} post-render --policy none --host helm3 --deadline 6s --namespace {NAMESPACE} --release {RELEASE} <{2}",
        account.display(),
        env!("CARGO_BIN_EXE_rollgate"),
        stream.display(),
    );
    let output = apart(&script)
        .env_remove("KUBECONFIG")
        .env("HOME", "/nowhere")
        .env("COLUMNS", "1000")
        .env("KUBERNETES_SERVICE_HOST", server.host().expect("a host"))
        .env("KUBERNETES_SERVICE_PORT", server.port().expect("a port").to_string())
        .env("ROLLGATE_REPORT", account.with_file_name("report-pod.json"))
        .output()
        .expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((output.status.code(), text(&output.stdout), text(&output.stderr)))
}
