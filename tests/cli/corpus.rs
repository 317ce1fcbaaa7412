//! Secrets in every form that people gave them, in every place that can hold one; and every output of the program searched for
//! them. Beside it the lines that must stay readable: a report that hides all says nothing.

use std::io::{Read as _, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{Program, Ran};

/// Every format, and two of them into files.
pub(super) const FORMATS: [&str; 10] =
    ["human", "json", "markdown", "sarif", "junit", "gitlab", "github", "html", "json=report.json", "human=report.txt"];

/// Contents of files, as they are written for machines. `{}` is the secret; no name says that it is one unless people call it so.
const FILES: &[&str] = &[
    "{}",
    "{}\n",
    "line one\n{}\nline three\n",
    "a: {}\nb: 1\n",
    "installation:\n  value: {}\n",
    "apiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\nspec:\n  valuesContent: |-\n    backend:\n      ref: {}\n      mtu: 1\n",
    "{\"a\": {\"b\": \"{}\"}, \"c\": 1}",
    "[Global]\nregion = one\nvalue = {}\n",
    "[plugins.\"io.containerd\"]\n  x = \"{}\"\n",
    "<config><value>{}</value></config>\n",
    "#!/bin/sh\nset -e\nexport FOO={}\n",
    "#!/bin/bash\ncat <<END > /etc/x\n{}\nEND\n",
    "key1=value1,{},key3\n",
    "user:{}\n",
    "machine example.org login robot password {}\n",
    "robot:$apr1${}\n",
    "Authorization: Basic {}\n",
    "server 10.0.0.1 key {}\n",
    "psk=\"{}\"\n",
    "wpa_passphrase={}\n",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
    "PrivateKey = {}\nEndpoint = 10.0.0.1:51820\n",
    "#cloud-config\nusers:\n- name: ops\n  plain_text_passwd: {}\n",
    "#cloud-config\nchpasswd:\n  list: |\n    ops:{}\n",
    "#cloud-config\nchpasswd:\n  users:\n  - {name: ops, type: text, note: \"{}\"}\n",
    "#cloud-config\nwrite_files:\n- path: /etc/x\n  content: {}\n",
    "#cloud-config\nruncmd:\n- [sh, -c, \"join {}\"]\n",
    "#cloud-config\nphone_home:\n  url: https://10.0.0.1/{}\n  post: all\n",
    "#cloud-config\nwireguard:\n  interfaces:\n  - name: wg0\n    config_path: /etc/wg0.conf\n    content: \"{}\"\n",
    "{\"ignition\":{\"version\":\"3.4.0\"},\"passwd\":{\"users\":[{\"name\":\"core\",\"passwordHash\":\"{}\"}]}}",
    "{\"ignition\":{\"version\":\"3.4.0\"},\"storage\":{\"files\":[{\"path\":\"/etc/x\",\"contents\":{\"source\":\"data:,{}\"}}]}}",
    "{\"ignition\":{\"version\":\"3.4.0\"},\"systemd\":{\"units\":[{\"name\":\"x.service\",\"contents\":\"[Service]\\nEnvironment=V={}\\n\"}]}}",
    "apiVersion: v1\nkind: Secret\nmetadata: {name: inner}\nstringData: {field: \"{}\"}\n",
    "apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user: {client-key-data: {}}\n",
    "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- providers:\n  - aescbc: {keys: [{name: k, secret: {}}]}\n",
    "mirrors: {}\nconfigs:\n  \"r.example.org\": {auth: {username: u, x: \"{}\"}}\n",
    "https://robot:{}@example.org/\n",
    "s3://bucket?x={}\n",
    "note: the word is {} for all\n",
    "- {}\n- b\n",
    "? {}\n: x\n",
];

/// Commands.
const COMMANDS: &[&str] = &[
    "{}",
    "echo {}",
    "echo {} | passwd --stdin ops",
    "echo 'ops:{}' | chpasswd",
    "printf '%s' {} > /etc/x",
    "curl -u robot:{} https://10.0.0.1/x",
    "curl -H 'X-Auth: {}' https://10.0.0.1/x",
    "curl https://10.0.0.1/join?x={}",
    "wget --header=\"X: {}\" https://10.0.0.1",
    "mysql -p{} -e 'select 1'",
    "sshpass -p {} ssh ops@10.0.0.1",
    "export A=1 B={} C=2",
    "B={} /usr/local/bin/run",
    "run --with={}",
    "run --with {}",
    "run -x{}",
    "openssl enc -k {} -in /etc/x",
    "htpasswd -b /etc/x ops {}",
    "kubectl create secret generic x --from-literal=a={}",
    "vault kv put x a={}",
    "sed -i 's/PLACE/{}/' /etc/x",
    "sh -c \"login \\\"{}\\\"\"",
    "snmpd -c {} udp:161",
    "nmcli dev wifi connect x password {}",
    "rke2 agent --with {} --server https://10.0.3.7:9345",
    "aws configure set x {}",
    "docker login -u robot -p {} r.example.org",
    "cryptsetup open /dev/sda1 x <<< {}",
    "mount -t cifs -o username=ops,pw={} //10.0.0.1/x /mnt/x",
    "true # {}",
];

/// Ways to write a secret that another place of the stream has in plain text.
fn encodings(secret: &str) -> Vec<(&'static str, String)> {
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    };
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let wrapped = |text: &str, mark: &str| {
        text.as_bytes().chunks(11).map(|line| String::from_utf8_lossy(line)).collect::<Vec<_>>().join(mark)
    };
    let escaped = |text: &str| Value::from(text).to_string().trim_matches('"').to_owned();
    let standard = BASE64_STANDARD.encode(secret);
    vec![
        ("plain", secret.to_owned()),
        ("base64", standard.clone()),
        ("base64, no padding", BASE64_STANDARD_NO_PAD.encode(secret)),
        ("base64 of URLs", BASE64_URL_SAFE.encode(secret)),
        ("base64 of URLs, no padding", BASE64_URL_SAFE_NO_PAD.encode(secret)),
        ("base64 twice", BASE64_STANDARD.encode(&standard)),
        ("base64 in a text", BASE64_STANDARD.encode(format!("it is {secret} now"))),
        ("base64 with a line break in it", BASE64_STANDARD.encode(format!("{secret}\n"))),
        ("gzip", BASE64_STANDARD.encode(gzip(secret))),
        ("hexadecimal", hex(secret)),
        ("hexadecimal in capitals", hex(secret).to_uppercase()),
        ("escaped once", escaped(secret)),
        ("escaped twice", escaped(&escaped(secret))),
        ("base64 on several lines", wrapped(&standard, "\n  ")),
        ("base64 on lines with a backslash", wrapped(&standard, "\\\n")),
        ("base64 on escaped lines", wrapped(&standard, "\\n")),
        ("of an address", secret.replace('"', "%22").replace('+', "%2B").replace('\\', "%5C")),
        ("quoted for YAML", format!("'{}'", secret.replace('\'', "''"))),
    ]
}

/// A secret that no form gives away. The number tells which place shows it.
fn canary(number: usize, side: &str) -> String {
    format!("canary{number:03}{side}Zq7")
}

/// The stream of one side, and how many secrets are in it.
fn stream(side: &str, vip: &str) -> (String, usize) {
    let mut count = 0;
    let mut next = || {
        count += 1;
        canary(count, side)
    };
    let fill = |texts: &[&str], next: &mut dyn FnMut() -> String| -> Vec<String> {
        texts.iter().map(|text| text.replacen("{}", &next(), usize::from(text.contains("{}")))).collect()
    };
    let files = |texts: Vec<String>| -> Vec<Value> {
        let file = |(at, text): (usize, String)| json!({"path": format!("/opt/f{at}"), "content": text});
        texts.into_iter().enumerate().map(file).collect()
    };
    let infra = |kind: &str, name: &str| json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind, "name": name});
    let object = |group: &str, kind: &str, name: &str, spec: Value| json!({"apiVersion": group, "kind": kind, "metadata": {"name": name, "namespace": "telco"}, "spec": spec});
    let mut objects = Vec::new();
    let seen = format!("p\"{}\\+s'1", next());
    objects.push(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "lone", "namespace": "telco"},
        "stringData": {"one": seen}, "data": {"two": BASE64_STANDARD.encode(next())}}));
    // Typed fields that nothing guards: only what was learned from the Secret is known there.
    let notes: serde_json::Map<String, Value> = encodings(&seen)
        .into_iter()
        .enumerate()
        .map(|(at, (_, text))| (format!("example.org/n{at}"), Value::from(format!("see {text}"))))
        .collect();
    let mut cluster = object(
        "cluster.x-k8s.io/v1beta1",
        "Cluster",
        "demo",
        json!({
        "controlPlaneRef": {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane", "name": "cp"},
        "topology": {"class": "c", "version": "v1.30.0", "variables": [
            {"name": "one", "value": next()}, {"name": "two", "value": {"deep": [next()]}}, {"name": "apiPassword", "value": next()},
            {"name": "three", "value": format!("https://robot:{}@10.0.0.1", next())}, {"name": "four", "value": format!("with {} in it", next())}]}}),
    );
    cluster["metadata"]["annotations"] = Value::Object(notes);
    objects.push(cluster);
    let encoded: Vec<String> = encodings(&next()).into_iter().map(|(_, text)| format!("v: |\n  {text}\n")).collect();
    let packed = encodings(&next()).into_iter().map(|(_, text)| text).filter(|text| !text.contains('\n'));
    let mut commands = fill(COMMANDS, &mut next);
    commands.extend(packed.map(|text| format!("echo {text} | base64 -d")));
    let mut contents = fill(FILES, &mut next);
    contents.extend(encoded);
    let kubeadm = json!({
        "clusterConfiguration": {
            "apiServer": {"extraArgs": {"oidc-x": next(), "profiling": "false"}, "extraEnvs": [{"name": "A", "value": next()}]},
            "controllerManager": {"extraArgs": {"x": next()}}, "scheduler": {"extraArgs": {"x": next()}},
            "etcd": {"local": {"extraArgs": {"x": next()}}}, "imageRepository": format!("robot:{}@r.example.org/k8s", next())},
        "initConfiguration": {"bootstrapTokens": [{"token": format!("abcdef.{}", &format!("{}000000", next().to_lowercase())[..16])}],
            "certificateKey": next(), "nodeRegistration": {"kubeletExtraArgs": {"x": next(), "node-ip": vip}}},
        "joinConfiguration": {"discovery": {"tlsBootstrapToken": next()}, "nodeRegistration": {"kubeletExtraArgs": {"x": next()}}},
        "users": [{"name": "ops", "passwd": next(), "gecos": next()}],
        "mounts": [["//10.0.0.1/x", "/mnt/x", "cifs", format!("username=ops,pw={}", next())]],
        "ntp": {"servers": [next()]},
        "format": "ignition",
        "ignition": {"containerLinuxConfig": {"additionalConfig": format!("passwd: {{users: [{{name: core, note: {}}}]}}\n", next())}},
        "preKubeadmCommands": commands, "postKubeadmCommands": [format!("late {}", next())], "files": files(contents)});
    objects.push(object("controlplane.cluster.x-k8s.io/v1beta1", "KubeadmControlPlane", "cp", json!({
        "replicas": 3, "version": "v1.30.0", "machineTemplate": {"infrastructureRef": infra("DockerMachineTemplate", "t")}, "kubeadmConfigSpec": kubeadm})));
    objects.push(object("controlplane.cluster.x-k8s.io/v1beta1", "RKE2ControlPlane", "rke2", json!({
        "replicas": 3, "version": "v1.30.4+rke2r1", "machineTemplate": {"infrastructureRef": infra("DockerMachineTemplate", "t")},
        "serverConfig": {"kubeAPIServer": {"extraArgs": [format!("--x={}", next())], "extraEnv": {"A": next()}}, "tlsSan": [vip],
            "etcd": {"customConfig": {"extraArgs": [format!("x={}", next())]}}, "cloudProviderConfigMap": {"name": "cloud"}},
        "agentConfig": {"nodeAnnotations": {"a": next()}, "kubelet": {"extraArgs": [format!("--y={}", next())], "extraEnv": {"B": next()}},
            "additionalUserData": {"config": format!("#cloud-config\nruncmd: [join {}]\nfinal_message: {}\n", next(), next())}},
        "preRKE2Commands": fill(&COMMANDS[..12], &mut next), "postRKE2Commands": fill(&COMMANDS[12..16], &mut next),
        "files": files(fill(&FILES[..24], &mut next))})));
    objects.push(object(
        "bootstrap.cluster.x-k8s.io/v1beta1",
        "KubeadmConfigTemplate",
        "kct",
        json!({"template": {"spec": {
        "files": files(fill(&FILES[4..12], &mut next)), "bootCommands": fill(&COMMANDS[..4], &mut next)}}}),
    ));
    objects.push(object("cluster.x-k8s.io/v1beta1", "MachineDeployment", "md", json!({"clusterName": "demo", "replicas": 1, "template": {
        "metadata": {"annotations": {"a": format!("robot {}", next())}},
        "spec": {"clusterName": "demo", "version": "v1.30.0", "infrastructureRef": infra("OpenStackMachineTemplate", "os"),
            "bootstrap": {"configRef": {"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "KubeadmConfigTemplate", "name": "kct"}}}}})));
    objects.push(object("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackMachineTemplate", "os", json!({"template": {"spec": {
        "flavor": "m1.large", "image": {"filter": {"name": "ubuntu"}}, "serverMetadata": [{"key": "a", "value": next()}]}}})));
    objects.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cloud", "namespace": "telco"},
        "data": {"cloud.conf": format!("region=one\nx={}", next()), "name": next(), "nested.json": json!({"a": {"b": next()}}).to_string()}}));
    let text = objects.iter().map(|object| format!("{object}\n---\n")).collect();
    (text, count)
}

/// The places of a text where a canary shows, also joined, unescaped and behind encodings.
fn leaks(text: &str, depth: usize) -> Vec<String> {
    let around = |(at, _): (usize, &str)| -> String {
        let from = text[..at].char_indices().rev().take(60).last().map_or(0, |(at, _)| at);
        text[from..].chars().take(90).collect()
    };
    let mut found: Vec<String> = text.to_ascii_lowercase().match_indices("canary").map(around).collect();
    if depth == 0 {
        return found;
    }
    let joined = text.replace("\\n", "").replace(['\n', ' ', '\\'], "");
    for text in [text, joined.as_str()] {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '/' | '-' | '_'));
        for word in words.filter(|word| word.len() >= 10) {
            let inner = plain(word).into_iter().flat_map(|inner| leaks(&inner, depth - 1));
            found.extend(inner.map(|leak| format!("{word}: {leak}")));
        }
    }
    found
}

/// What may be behind a word.
fn plain(word: &str) -> Vec<String> {
    let hex: Option<Vec<u8>> = word
        .is_ascii()
        .then(|| {
            (0..word.len() / 2)
                .map(|at| u8::from_str_radix(&word[at * 2..at * 2 + 2], 16).ok())
                .collect::<Option<Vec<u8>>>()
        })
        .flatten();
    let standard = word.replace('-', "+").replace('_', "/");
    let base64 = BASE64_STANDARD_NO_PAD.decode(&standard[..standard.len() - usize::from(standard.len() % 4 == 1)]).ok();
    [hex, base64]
        .into_iter()
        .flatten()
        .map(|bytes| {
            let mut unzipped = String::new();
            match flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut unzipped) {
                Ok(_) => unzipped,
                Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
            }
        })
        .collect()
}

/// Everything that a run says, and every file below its home but those of the test.
fn said(program: &Program, ran: &Ran) -> Vec<(String, String)> {
    fn below(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).expect("a folder").filter_map(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_none_or(|ending| ending != "yaml") {
                let bytes = std::fs::read(&path).expect("a file");
                found.push((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
    }
    let mut places =
        vec![("standard output".to_owned(), ran.stdout.clone()), ("standard error".to_owned(), ran.stderr.clone())];
    below(program.home(), &mut places);
    places
}

/// Fails where anything shows a canary.
fn searched(program: &Program, what: &str, ran: &Ran) {
    let leaks: Vec<String> = said(program, ran)
        .iter()
        .flat_map(|(place, text)| leaks(text, 3).into_iter().map(move |found| format!("{what}: {place}: {found}")))
        .collect();
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}

#[test]
fn no_output_shows_any_of_the_planted_secrets() {
    let (old, count) = stream("a", "10.0.3.6");
    let (new, _) = stream("b", "10.0.3.7");
    assert!(count >= 150, "{count} secrets are planted");
    let program = Program::new();
    program.file("old.yaml", &old);
    program.file("new.yaml", &new);
    program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    let with = |args: &[&str]| program.run(&[args, &["--live", "old.yaml", "-n", "telco"]].concat(), new.as_bytes());
    for format in FORMATS {
        let ran = with(&["plan", "-", "-o", format]);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        searched(&program, &format!("plan -o {format}"), &ran);
    }
    let report = std::fs::read_to_string(program.home().join("report.txt")).expect("a report");
    for useful in ["10.0.3.6", "10.0.3.7", "RKE2ControlPlane telco/rke2", "spec.preRKE2Commands"] {
        assert!(report.contains(useful), "{useful} is not in\n{report}");
    }
    let held = with(&["post-render", "--policy", "rollgate.yaml"]);
    assert_eq!((held.code, held.stdout.as_str()), (Some(3), ""), "{}", held.stderr);
    searched(&program, "post-render", &held);
    searched(&program, "explain last", &program.run(&["explain", "last"], b""));
    searched(&program, "pin list", &program.run(&["pin", "list", "--live", "none"], b""));
    let saved = with(&["snapshot", "new.yaml", "-o", "world.json"]);
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    searched(&program, "snapshot", &saved);
    let again = program.run(&["plan", "new.yaml", "--live", "world.json", "-n", "telco"], b"");
    searched(&program, "plan from a snapshot", &again);
    let same = program.run(&["plan", "old.yaml", "--live", "world.json", "-n", "telco"], b"");
    assert_eq!(same.code, Some(0), "what is the same shows as the same, hidden or not: {}", same.stdout);
}

#[test]
fn no_output_shows_a_late_value_that_is_secret() {
    let values = |side: &str| [canary(1, side), canary(2, side), canary(3, side)];
    let render = |password: &str, token: &str, site: &str| {
        let file = format!("[db]\npassword = {password}\n");
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "telco"}, "stringData": {"t": token}});
        let owner = json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane",
            "metadata": {"name": "cp", "namespace": "telco", "annotations": {"note": format!("with {password} and {token}")}},
            "spec": {"replicas": 3, "version": "v1.31.0",
                "machineTemplate": {"infrastructureRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DockerMachineTemplate", "name": "t"}},
                "kubeadmConfigSpec": {"preKubeadmCommands": [format!("login {password} --at {site}"), format!("join --at=a,{token}")],
                    "clusterConfiguration": {"apiServer": {"extraArgs": {"tenant": password}}},
                    "files": [{"path": "/etc/db.ini", "encoding": "base64", "content": BASE64_STANDARD.encode(&file)}, {"path": "/etc/db", "content": file}]}}});
        format!("{secret}\n---\n{owner}\n")
    };
    let [password, token, seal] = values("b");
    let env = [("DB", password.as_str()), ("TOKEN", token.as_str()), ("SEAL", seal.as_str())];
    let policy = |kind: &str| {
        format!(
            "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\npins: {{file: kept.pins}}\nlateValues:\n\
            - {{name: password, placeholders: [PASSWORD-HERE], secret: true, type: {kind}, from: [{{env: DB}}], pin: once}}\n\
            - {{name: token, placeholders: [TOKEN-HERE], from: [{{env: TOKEN}}], pin: once}}\n\
            - {{name: seal, placeholders: [SEAL-HERE], secret: true, from: [{{env: SEAL}}], optional: true}}\n"
        )
    };
    let program = Program::new();
    program.file("rollgate.yaml", &policy("string"));
    let [old_password, old_token, _] = values("a");
    program.file("old.yaml", &render(&old_password, &old_token, "10.0.0.1"));
    program.file("same.yaml", &render(&password, &token, "10.0.0.1"));
    program.file("new.yaml", &render("PASSWORD-HERE", "TOKEN-HERE", "10.0.0.1"));
    let stream = std::fs::read(program.home().join("new.yaml")).expect("written before");
    let with = |args: &[&str]| {
        program.run_with(&[args, &["-n", "telco", "--policy", "rollgate.yaml"]].concat(), &stream, &env)
    };
    for format in FORMATS {
        let ran = with(&["plan", "new.yaml", "--live", "old.yaml", "-o", format]);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        searched(&program, &format!("plan -o {format}"), &ran);
    }
    let held = with(&["post-render", "--live", "old.yaml", "--host", "helm3"]);
    assert_eq!((held.code, held.stdout.as_str()), (Some(3), ""), "{}", held.stderr);
    searched(&program, "post-render", &held);
    searched(&program, "explain last", &program.run(&["explain", "last"], b""));
    let saved = with(&["snapshot", "new.yaml", "--live", "same.yaml", "-o", "world.json"]);
    assert_eq!(saved.code, Some(0), "{}", saved.stderr);
    searched(&program, "snapshot", &saved);
    // Whoever has the snapshot has the answers of its sources, and needs no environment.
    let again = program.run(&["plan", "new.yaml", "--live", "world.json", "-n", "telco"], b"");
    assert_eq!(again.code, Some(0), "what is filled in is what the cluster holds: {}{}", again.stdout, again.stderr);
    searched(&program, "plan from a snapshot", &again);
    let mut allowed = with(&["post-render", "--live", "same.yaml", "--host", "helm3", "--commit", "always"]);
    assert_eq!(allowed.code, Some(0), "{}", allowed.stderr);
    assert!(allowed.stdout.contains(&password) && allowed.stdout.contains(&token), "Helm gets the values");
    allowed.stdout.clear();
    searched(&program, "post-render that allows", &allowed);
    for args in [
        &["pin", "list"] as &[&str],
        &["pin", "list", "-o", "json"],
        &["pin", "show", "password"],
        &["pin", "show", "token"],
        &["pin", "verify"],
    ] {
        let ran = program.run_with(args, b"", &env);
        assert_ne!(ran.stdout, "", "{args:?}: {}", ran.stderr);
        searched(&program, &format!("{args:?}"), &ran);
    }
    // A value that cannot be used is not shown to say why, nor is one that differs from its pin.
    program.file("rollgate.yaml", &policy("ip"));
    searched(&program, "a value of another type", &with(&["plan", "new.yaml", "--live", "old.yaml"]));
    program.file("rollgate.yaml", &policy("string"));
    let [password, token, _] = values("c");
    let moved = [("DB", password.as_str()), ("TOKEN", token.as_str())];
    let ran = program.run_with(&["plan", "new.yaml", "--live", "old.yaml", "-n", "telco"], b"", &moved);
    assert_eq!(ran.code, Some(3), "{}", ran.stdout);
    searched(&program, "a value that moved", &ran);
    program.file("values.j2", "a: {{ late.password }}\nb: {{ late.unknown }}\n");
    let mut ran = with(&["values", "-f", "values.j2"]);
    ran.stdout.clear();
    searched(&program, "values", &ran);
}

/// Old and new lines of a file, and what must be readable of them.
const USEFUL: &[(&str, &str)] = &[
    ("canReach: 55.55.55.55", "canReach: 10.0.3.7"),
    ("version: v1.30.4+rke2r1", "version: v1.31.1+rke2r1"),
    ("timeout: 5m0s", "timeout: 10m0s"),
    ("image: registry.k8s.io/pause:3.9", "image: registry.k8s.io/pause:3.10"),
    ("enabled: false", "enabled: true"),
    ("mtu: 1450", "mtu: 9000"),
    ("path: /etc/kubernetes/a.conf", "path: /etc/kubernetes/manifests/b.conf"),
    ("policy: Always", "policy: IfNotPresent"),
    ("cidr: 10.42.0.0/16", "cidr: 10.43.0.0/16"),
    ("server: https://10.0.3.6:9345", "server: https://10.0.3.7:9345"),
    ("memory: 100Mi", "memory: 2Gi"),
    ("mode: \"0600\"", "mode: \"0644\""),
];

#[test]
fn what_cannot_be_secret_stays_readable() {
    let render = |side: usize| {
        let lines: String = USEFUL.iter().map(|pair| format!("  {}\n", [pair.0, pair.1][side])).collect();
        let command = ["systemctl restart containerd --timeout=5m", "systemctl restart kubelet --timeout=10m"][side];
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane", "metadata": {"name": "cp", "namespace": "n"},
            "spec": {"replicas": 3, "version": "v1.31.0+rke2r1", "preRKE2Commands": [command],
                "files": [{"path": "/etc/x.yaml", "content": format!("spec:\n{lines}")}]}}).to_string()
    };
    let program = Program::new();
    program.file("old.yaml", &render(0));
    for format in ["human", "json"] {
        let ran = program.run(&["plan", "-", "--live", "old.yaml", "-o", format], render(1).as_bytes());
        for (old, new) in USEFUL {
            for side in [old, new] {
                let value = side.split_once(": ").map_or("", |(_, value)| value).trim_matches('"');
                assert!(ran.stdout.contains(value), "{value} is not in\n{}", ran.stdout);
            }
        }
        assert!(ran.stdout.contains("systemctl restart kubelet --timeout=10m"), "{}", ran.stdout);
    }
}

#[test]
fn marks_are_long_and_no_report_tells_which_guess_is_right() {
    let render = |word: &str| {
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane", "metadata": {"name": "cp", "namespace": "n"},
            "spec": {"replicas": 3, "version": "v1.31.0+rke2r1", "agentConfig": {"extra": word}, "preRKE2Commands": [format!("login {word}")]}}).to_string()
    };
    let program = Program::new();
    program.file("old.yaml", &render("hunter1"));
    let run = |key: Option<&str>| -> Value {
        let args = ["plan", "-", "--live", "old.yaml", "-o", "json"];
        let ran = match key {
            Some(key) => program.run_with(&args, render("hunter2").as_bytes(), &[("ROLLGATE_KEY", key)]),
            None => program.run(&args, render("hunter2").as_bytes()),
        };
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr))
    };
    let marks = |report: &Value| -> Vec<String> {
        report
            .to_string()
            .split("<redacted:")
            .skip(1)
            .map(|rest| rest.split('>').next().unwrap_or_default().to_owned())
            .collect()
    };
    let (one, other) = (run(None), run(None));
    assert!(!marks(&one).is_empty() && marks(&one).iter().all(|mark| mark.len() == 32), "{one}");
    assert_ne!((marks(&one), &one["digest"]), (marks(&other), &other["digest"]), "made again for each run");
    let key = "4f1c0f2f7a5b4f4f9c1d2e3f4a5b6c7d";
    assert_eq!(run(Some(key))["digest"], run(Some(key))["digest"], "the same where the key is kept");
    let short =
        program.run_with(&["plan", "-", "--live", "old.yaml"], render("x").as_bytes(), &[("ROLLGATE_KEY", "telco")]);
    assert_eq!(short.code, Some(2), "{}", short.stderr);
}
