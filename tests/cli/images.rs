//! Whether the images of new Machines are still there: a server of this machine answers, and what nobody answered is never *allow*.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::{Program, Ran};

/// What was asked, one line a request.
type Asked = Arc<Mutex<Vec<String>>>;

/// Answers by the name of the file, and writes down what it was asked.
fn server() -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                let mut line = String::new();
                let mut reader = BufReader::new(connection.try_clone().expect("a socket"));
                reader.read_line(&mut line).expect("a request");
                seen.lock().expect("no panic").push(line.trim().to_owned());
                let status = match line.split(' ').nth(1).unwrap_or_default() {
                    path if path.contains("gone") => "410 Gone",
                    path if path.contains("missing") => "404 Not Found",
                    path if path.contains("signed") && line.starts_with("HEAD") => "403 Forbidden",
                    path if path.contains("signed") => "206 Partial Content",
                    path if path.contains("moved") => "302 Found",
                    path if path.contains("broken") => "500 Internal Server Error",
                    path if path.contains("silent") => {
                        drop(reader.read_to_end(&mut Vec::new()));
                        return;
                    }
                    _ => "200 OK",
                };
                drop(write!(connection, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"));
            });
        }
    });
    (format!("http://{address}"), asked)
}

/// A control plane of one Machine on bare metal whose template has an image.
fn cluster(template: &str, image: &str, checksum: &str) -> String {
    format!(
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: metal, namespace: metal}}\nspec:\n  \
         controlPlaneRef: {{apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: cp, namespace: metal}}\n---\n\
         apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata: {{name: cp, namespace: metal}}\nspec:\n  \
         replicas: 1\n  version: v1.33.4\n  machineTemplate:\n    infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, \
         kind: Metal3MachineTemplate, name: {template}, namespace: metal}}\n  kubeadmConfigSpec: {{}}\n---\n\
         apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: Metal3MachineTemplate\nmetadata: {{name: {template}, namespace: metal}}\n\
         spec:\n  template:\n    spec:\n      image: {{url: \"{image}\", checksum: \"{checksum}\", format: qcow2, checksumType: sha256}}\n"
    )
}

struct Home {
    program: Program,
    url: String,
    asked: Asked,
}

impl Home {
    fn new() -> Self {
        let (url, asked) = server();
        let home = Self { program: Program::new(), url, asked };
        home.program.file("old.yaml", &cluster("cp-a", &format!("{}/old-missing.qcow2", home.url), "00ff"));
        home.policy("");
        home
    }

    /// A policy that lets rollouts pass, so that only images are left to hold them.
    fn policy(&self, more: &str) {
        let text = format!(
            "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\ngates: {{rollout: allow, latent: allow, delete: allow{more}}}\n\
             images: {{servers: [\"{}/\"], timeout: 2s}}\n",
            self.url
        );
        self.program.file("policy.yaml", &text);
    }

    fn render(&self, image: &str, checksum: &str) {
        self.program.file("new.yaml", &cluster("cp-b", image, checksum));
    }

    fn run(&self, args: &[&str], allowed: &str) -> (Ran, Value) {
        let told = ["--policy", "policy.yaml", "--now", "2026-01-01T00:00:00Z"];
        let env = [("ROLLGATE_ALLOW_SOURCES", allowed)];
        let ran = self.program.run_with(&[args, &told].concat(), b"", &env);
        let report = serde_json::from_str(&ran.stdout).unwrap_or_default();
        (ran, report)
    }

    fn plan(&self, image: &str, checksum: &str) -> (Ran, Value) {
        self.render(image, checksum);
        self.run(&["plan", "new.yaml", "--live", "old.yaml", "-o", "json"], "http")
    }
}

/// The answers of the gate: decision and message.
fn said(report: &Value) -> Vec<(String, String)> {
    let reasons = report["reasons"].as_array().expect("reasons").iter();
    let own = reasons.filter(|reason| reason["gate"] == "health.images");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    own.map(|reason| (text(&reason["decision"]), text(&reason["message"]))).collect()
}

#[test]
fn an_image_that_its_server_does_not_have_holds_and_one_that_it_has_does_not() {
    let home = Home::new();
    let url = &home.url;
    let plan = |name: &str| home.plan(&format!("{url}/{name}"), "00ff");
    for name in ["there.qcow2", "signed.qcow2"] {
        let (ran, report) = plan(name);
        assert_eq!((ran.code, said(&report)), (Some(0), Vec::new()), "{name}: {}{}", ran.stdout, ran.stderr);
    }
    for name in ["gone.qcow2", "missing.qcow2"] {
        let (ran, report) = plan(name);
        let wanted = format!(
            "KubeadmControlPlane metal/cp: new Machines boot from {url}/{name}, which its server does not have; the rollout would stand still"
        );
        assert_eq!((ran.code, said(&report)), (Some(3), vec![("hold".to_owned(), wanted)]), "{}", ran.stderr);
    }
    // Of the old image, which no new Machine boots from, nobody asks.
    assert!(!home.asked.lock().expect("no panic").iter().any(|line| line.contains("old-missing")));
    let checksum = home.plan(&format!("{url}/there.qcow2"), &format!("{url}/missing.sha256"));
    assert_eq!(checksum.0.code, Some(3), "its checksum has an address too: {}", checksum.0.stdout);
}

#[test]
fn what_nobody_answers_is_undecided() {
    let home = Home::new();
    let url = &home.url;
    for (name, why) in [
        ("broken.qcow2", "it answers 500"),
        ("moved.qcow2", "it answers 302, and redirections are not followed"),
        ("silent.qcow2", "it did not answer within 2 seconds"),
    ] {
        let (ran, report) = home.plan(&format!("{url}/{name}"), "00ff");
        let wanted = format!("KubeadmControlPlane metal/cp: whether {url}/{name} is served is not known: {why}");
        assert_eq!((ran.code, said(&report)), (Some(4), vec![("undecided".to_owned(), wanted)]), "{}", ran.stderr);
    }
    // With `warn` it is a warning.
    home.policy(", health: {images: warn}");
    let (ran, report) = home.plan(&format!("{url}/broken.qcow2"), "00ff");
    assert_eq!((ran.code, said(&report)[0].0.as_str()), (Some(0), "warn"), "{}", ran.stdout);
    let (ran, report) = home.plan(&format!("{url}/gone.qcow2"), "00ff");
    assert_eq!((ran.code, said(&report)[0].0.as_str()), (Some(0), "warn"), "{}", ran.stdout);
}

#[test]
fn nobody_is_asked_whom_the_policy_or_the_environment_does_not_name() {
    let home = Home::new();
    let (ran, report) = home.plan("http://127.0.0.1:1/elsewhere.qcow2", "00ff");
    let why = "its server is none of images.servers of the policy";
    let wanted = format!(
        "KubeadmControlPlane metal/cp: whether http://127.0.0.1:1/elsewhere.qcow2 is served is not known: {why}"
    );
    assert_eq!((ran.code, said(&report)), (Some(0), vec![("warn".to_owned(), wanted)]), "{}", ran.stdout);
    home.render(&format!("{}/there.qcow2", home.url), "00ff");
    let (ran, report) = home.run(&["plan", "new.yaml", "--live", "old.yaml", "-o", "json"], "exec");
    assert_eq!(ran.code, Some(4), "{}", ran.stdout);
    assert!(said(&report)[0].1.contains("set ROLLGATE_ALLOW_SOURCES=http"), "{}", ran.stdout);
    assert!(home.asked.lock().expect("no panic").is_empty());
}

#[test]
fn a_snapshot_keeps_the_answers_and_nobody_is_asked_again() {
    let home = Home::new();
    home.render(&format!("{}/gone.qcow2", home.url), "00ff");
    let (saved, _) = home.run(&["snapshot", "new.yaml", "--live", "old.yaml", "-o", "world.json"], "http");
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    let asked = home.asked.lock().expect("no panic").len();
    assert!(asked > 0, "the server was asked");
    let replay = || home.run(&["plan", "new.yaml", "--live", "world.json", "-o", "json"], "http");
    let (ran, report) = replay();
    assert_eq!((ran.code, said(&report)[0].0.as_str()), (Some(3), "hold"), "{}", ran.stdout);
    // Another image was not asked about then.
    home.render(&format!("{}/there.qcow2", home.url), "00ff");
    let (ran, report) = replay();
    assert_eq!((ran.code, said(&report)[0].0.as_str()), (Some(4), "undecided"), "{}", ran.stdout);
    assert_eq!(home.asked.lock().expect("no panic").len(), asked);
}

#[test]
fn a_policy_that_asks_nobody_or_no_address_is_refused() {
    let home = Home::new();
    let check = |text: &str| {
        let policy = format!("apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n{text}\n");
        home.program.file("wrong.yaml", &policy);
        home.program.run(&["policy", "check", "wrong.yaml"], b"")
    };
    for (text, why) in [
        ("gates: {health: {images: hold}}", "gates.health.images: nobody may be asked"),
        ("images: {servers: [images.example]}", "images.servers[0]: this is no address of a server"),
        ("images: {servers: [\"http://me:secret@images/\"]}", "images.servers[0]: this is no address of a server"),
        ("images: {servers: [\"http://images/\"], timeout: 0s}", "images.timeout: no time at all is too little"),
    ] {
        let ran = check(text);
        assert_eq!(ran.code, Some(2), "{text}: {}", ran.stdout);
        assert!(ran.stderr.contains(why) && !ran.stderr.contains("secret"), "{text}: {}", ran.stderr);
    }
    assert_eq!(check("images: {servers: [\"https://images/os/\"]}\ngates: {health: {images: warn}}").code, Some(0));
}
