//! No secret gets out. Canaries stand in every place where a secret can stand; then everything that the program prints and
//! every file that it leaves is searched for them, also behind base64 and gzip. They may be in one place only: in the
//! stream that an allowed run hands on.

use std::io::{Read as _, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::{Program, Ran};

/// A word that no place shows. The numbers tell which place it was.
fn canary(number: usize, side: &str) -> String {
    format!("canary{number:02}{side}Zq7Xw")
}

fn base64(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

fn gzip(text: &str) -> String {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory");
    BASE64_STANDARD.encode(encoder.finish().expect("memory"))
}

/// The stream with a canary of one side in every place. `vip` is what a late value stands for.
fn stream(side: &str, version: &str, vip: &str) -> String {
    let c = |number: usize| canary(number, side);
    format!(
        r#"apiVersion: v1
kind: Secret
metadata: {{name: named, namespace: telco}}
data: {{password: {data}}}
stringData: {{plain: {c1}}}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {{name: demo, namespace: telco}}
spec:
  controlPlaneRef: {{apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: cp}}
  topology:
    class: c
    version: {version}
    variables:
    - {{name: registryPassword, value: {c2}}}
    - {{name: registry, value: {{url: r.example.org, password: {c3}}}}}
    - {{name: proxy, value: "http://user:{c4}@proxy:3128"}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata:
  name: cp
  namespace: telco
  annotations: {{note: "the password is {c1} for all"}}
spec:
  replicas: 3
  version: {version}
  machineTemplate:
    infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: t}}
  kubeadmConfigSpec:
    users:
    - {{name: root, passwd: {c5}, sudo: ALL}}
    initConfiguration:
      bootstrapTokens: [{{token: "abcdef.{t6}"}}]
      nodeRegistration: {{kubeletExtraArgs: {{bearer-token: {c7}}}}}
    joinConfiguration:
      discovery: {{bootstrapToken: {{token: "fedcba.{t6}", apiServerEndpoint: "1.2.3.4:6443"}}}}
    preKubeadmCommands:
    - export HTTPS_PROXY=http://user:{c8}@proxy:3128 NO_PROXY=localhost
    - echo 'root:{c9}' | chpasswd
    - curl -H 'Authorization: Bearer {c10}' https://example.org/join
    - echo {encoded_command} | base64 -d | sh
    - snmpd --community {c11}
    - login --with {vip}
    files:
    - path: /etc/kubernetes/pki/ca.key
      content: {c12}
    - path: /root/id.pem
      content: |
        -----BEGIN EC PRIVATE KEY-----
        {c13}
        -----END EC PRIVATE KEY-----
    - path: /etc/kubernetes/cloud.conf
      content: |
        [Global]
        username = demo
        password = {c14}
    - path: /etc/clouds.yaml
      content: |
        clouds: {{demo: {{auth: {{auth_url: "https://keystone:5000", password: {c15}}}}}}}
    - path: /etc/once
      encoding: base64
      content: {once}
    - path: /etc/twice
      content: {twice}
    - path: /etc/zipped
      encoding: gzip+base64
      content: {zipped}
    - path: /etc/inline.yaml
      content: |
        kind: Secret
        data:
          token: {inline}
        note: everyone uses {c1} here
    - path: /etc/snmp.conf
      community: {c16}
      content: "community {c16}"
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: RKE2ControlPlane
metadata: {{name: rke2, namespace: telco}}
spec:
  replicas: 3
  version: {version}+rke2r1
  machineTemplate:
    infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, name: t}}
  serverConfig:
    cloudProviderConfigMap: {{name: cloud}}
    tlsSan: ["{vip}"]
    kubeAPIServer: {{extraArgs: ["--webhook-password={c17}"]}}
  privateRegistriesConfig: {{configs: {{"r.example.org": {{authSecret: {{name: named}}}}}}}}
  preRKE2Commands:
  - export K10token={c18}
  files:
  - path: /etc/rancher/rke2/config.yaml
    content: |
      token: {c19}
      agent-token: "{c20}"
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: cloud, namespace: telco}}
data:
  cloud.conf: "secret-key={c21}\nregion=one"
  nested.json: '{{"auths":{{"r":{{"auth":"{auth}"}}}}}}'
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {{name: host, namespace: telco}}
spec:
  online: true
  bmc: {{address: "ipmi://admin:{c22}@10.0.0.1", credentialsName: named}}
"#,
        data = base64(&c(0)),
        c1 = c(1),
        c2 = c(2),
        c3 = c(3),
        c4 = c(4),
        c5 = c(5),
        t6 = format!("canary06{side}0123456789")[..16].to_ascii_lowercase(),
        c7 = c(7),
        c8 = c(8),
        c9 = c(9),
        c10 = c(10),
        c11 = c(16),
        c12 = c(12),
        c13 = c(13),
        c14 = c(14),
        c15 = c(15),
        c16 = c(16),
        c17 = c(17),
        c18 = c(18),
        c19 = c(19),
        c20 = c(20),
        c21 = c(21),
        c22 = c(22),
        encoded_command = base64(&format!("export TOKEN={}", c(23))),
        once = base64(&format!("password: {}\nuser: x\n", c(24))),
        twice = base64(&base64(&format!("token: {}\n", c(25)))),
        zipped = gzip(&format!("secret-key: {}\n", c(26))),
        inline = base64(&c(27)),
        auth = base64(&format!("user:{}", c(28))),
    )
}

/// What late values come from, and what a policy names as secret.
const POLICY: &str = r#"apiVersion: rollgate.dev/v1alpha1
kind: Policy
lateValues:
- name: vip
  placeholders: ["55.55.55.55"]
  from:
  - object: {apiVersion: v1, kind: Secret, namespace: telco, name: late, path: "$.data.vip"}
pins: {file: rollgate.pins.yaml}
redact: ["spec.**.community"]
"#;

fn late_secret(value: &str) -> String {
    let value = base64(value);
    format!("---\napiVersion: v1\nkind: Secret\nmetadata: {{name: late, namespace: telco}}\ndata: {{vip: {value}}}\n")
}

/// The first place of a text where a canary shows, also behind encodings.
fn leak(text: &str) -> Option<String> {
    if let Some(at) = text.to_ascii_lowercase().find("canary") {
        let from = text[..at].rfind('\n').map_or(0, |line| line + 1);
        return Some(text[from..].lines().next().unwrap_or_default().to_owned());
    }
    let of_base64 = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    text.split(|c| !of_base64(c)).filter(|word| word.len() >= 12).find_map(|word| {
        let bytes = BASE64_STANDARD.decode(word).ok()?;
        let mut plain = String::new();
        let unzipped = flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut plain).is_ok();
        let inner = if unzipped { plain } else { String::from_utf8(bytes).ok()? };
        leak(&inner).map(|found| format!("{word} is {found}"))
    })
}

/// Every file below a folder but those that the test wrote itself.
fn files(folder: &Path, known: &[&str], found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("a folder").filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            files(&path, known, found);
        } else if !known.contains(&path.file_name().and_then(|name| name.to_str()).unwrap_or_default()) {
            let bytes = std::fs::read(&path).expect("a file");
            found.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
}

/// What the test writes itself.
const OURS: [&str; 6] = ["rollgate.yaml", "live.yaml", "new.yaml", "broken.yaml", "typed.yaml", "values.yaml"];

/// A program whose live side has the canaries of the old side.
fn program() -> Program {
    let program = Program::new();
    program.file("rollgate.yaml", POLICY);
    program.file("live.yaml", &(stream("old", "v1.30.0", "10.0.0.1") + &late_secret(&canary(30, "late"))));
    program
}

/// Fails where a run, or a file that it left, shows a canary.
fn searched(program: &Program, what: &str, ran: &Ran, stream_goes_out: bool) {
    let mut places = vec![(format!("{what}: standard error"), ran.stderr.clone())];
    if !stream_goes_out {
        places.push((format!("{what}: standard output"), ran.stdout.clone()));
    }
    files(program.home(), &OURS, &mut places);
    let leaks: Vec<String> =
        places.iter().filter_map(|(place, text)| leak(text).map(|line| format!("{place}: {line}"))).collect();
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}

#[test]
fn the_search_finds_what_it_looks_for() {
    for text in [canary(1, "x"), base64(&canary(1, "x")), base64(&base64(&canary(1, "x"))), gzip(&canary(1, "x"))] {
        assert!(leak(&format!("a: {text}\n")).is_some(), "{text}");
    }
    assert_eq!(leak("nothing here"), None);
}

#[test]
fn no_report_shows_a_secret() {
    let program = program();
    let new = stream("new", "v1.31.0", "55.55.55.55");
    let with = |args: &[&str]| program.run(&[args, &["--live", "live.yaml", "-n", "telco"]].concat(), new.as_bytes());
    for format in super::corpus::FORMATS {
        let ran = with(&["plan", "-", "--policy", "rollgate.yaml", "-o", format]);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        searched(&program, &format!("plan -o {format}"), &ran, false);
    }
    let held = with(&["post-render", "--policy", "rollgate.yaml"]);
    assert_eq!((held.code, held.stdout.as_str()), (Some(3), ""), "{}", held.stderr);
    searched(&program, "post-render, held", &held, false);
    for args in [&["explain", "last"][..], &["pin", "list"], &["pin", "list", "--json"]] {
        searched(&program, &args.join(" "), &program.run(args, b""), false);
    }
}

#[test]
fn the_stream_of_an_allowed_run_is_the_one_place_for_secrets() {
    let program = program();
    let gates = "gates: {rollout: allow, delete: allow, latent: allow, infrastructure: allow, health: {etcd: allow, machines: allow, remediation: allow, vip: allow, hosts: allow}}\n";
    program.file("rollgate.yaml", &format!("{POLICY}{gates}"));
    let new = stream("old", "v1.30.0", "55.55.55.55");
    let args =
        ["post-render", "--policy", "rollgate.yaml", "--live", "live.yaml", "-n", "telco", "-o", "json=report.json"];
    let ran = program.run(&args, new.as_bytes());
    let report = std::fs::read_to_string(program.home().join("report.json")).unwrap_or_default();
    assert_eq!(ran.code, Some(0), "{} {}", ran.stderr, report.replace(char::is_whitespace, " "));
    assert!(ran.stdout.contains(&canary(30, "late")) && ran.stdout.contains(&canary(5, "old")), "{}", ran.stdout);
    searched(&program, "post-render, allowed", &ran, true);
    let pins = std::fs::read_to_string(program.home().join("rollgate.pins.yaml")).expect("the late value is pinned");
    assert!(pins.contains("vip"), "{pins}");
    for args in [&["pin", "list"][..], &["pin", "show", "vip"], &["pin", "show", "vip", "--json"], &["explain", "last"]]
    {
        searched(&program, &args.join(" "), &program.run(args, b""), false);
    }
    let live = stream("old", "v1.30.0", "10.0.0.1") + &late_secret(&canary(31, "moved"));
    program.file("live.yaml", &live);
    for args in [
        &["pin", "verify", "--live", "live.yaml"][..],
        &["pin", "set", "vip", &canary(32, "hand"), "--reason", "moved", "--live", "live.yaml"],
        &["plan", "-", "--live", "live.yaml", "-n", "telco"],
    ] {
        searched(&program, &args.join(" "), &program.run(args, new.as_bytes()), false);
    }
}

#[test]
fn a_snapshot_holds_no_secret() {
    let program = program();
    program.file("new.yaml", &stream("new", "v1.31.0", "55.55.55.55"));
    let args = ["snapshot", "new.yaml", "--live", "live.yaml", "-n", "telco", "-o", "world.json"];
    let ran = program.run(&args, b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(program.home().join("world.json").exists());
    searched(&program, "snapshot", &ran, false);
    let judged = program.run(&["plan", "new.yaml", "--live", "world.json", "-n", "telco"], b"");
    assert_eq!(judged.code, Some(3), "{}", judged.stderr);
    searched(&program, "plan from a snapshot", &judged, false);
}

#[test]
fn errors_show_no_secret() {
    let program = program();
    let new = stream("new", "v1.31.0", "55.55.55.55");
    let secret = canary(40, "broken");
    let broken = [
        format!(
            "{new}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData: {{password: \"{secret}}}\n"
        ),
        format!(
            "{new}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData:\n  password: {secret}\n password: {secret}\n"
        ),
        format!("{new}---\napiVersion: v1\nkind: Secret\nstringData: {{password: {secret}}}\n"),
        format!("{new}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData: {{password: *{secret}}}\n"),
        format!(
            "{new}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData: {{password: !{secret} x}}\n"
        ),
        format!(
            "{new}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData: {{password: !!int {secret}}}\n"
        ),
        format!(
            "{new}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: x}}\nstringData: {{{secret}: 1, {secret}: 2}}\n"
        ),
        format!("{new}--- {secret}\n"),
    ];
    for (place, text) in broken.iter().enumerate() {
        for command in ["plan", "post-render"] {
            let args = [command, "--policy", "rollgate.yaml", "--live", "live.yaml", "-n", "telco"];
            let ran = program.run(&args, text.as_bytes());
            searched(&program, &format!("{command} of broken stream {place}"), &ran, false);
        }
        program.file("broken.yaml", text);
        let ran = program
            .run(&["plan", "-", "--policy", "rollgate.yaml", "--live", "broken.yaml", "-n", "telco"], new.as_bytes());
        searched(&program, &format!("broken live {place}"), &ran, false);
    }
    for target in ["/nonexistent/report.json", "."] {
        let output = format!("json={target}");
        let args = ["post-render", "--policy", "rollgate.yaml", "--live", "live.yaml", "-n", "telco", "-o", &output];
        let ran = program.run(&args, new.as_bytes());
        assert!(ran.stdout.is_empty());
        searched(&program, &format!("a report to {target}"), &ran, false);
    }
    // A late value that is not what its type says.
    program.file("typed.yaml", &POLICY.replace("  from:", "  type: ip\n  from:"));
    let args = ["post-render", "--policy", "typed.yaml", "--live", "live.yaml", "-n", "telco"];
    let ran = program.run(&args, new.as_bytes());
    assert_ne!(ran.code, Some(0), "{}", ran.stderr);
    searched(&program, "a late value of the wrong type", &ran, false);
}
