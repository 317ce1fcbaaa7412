//! What hostile or broken surroundings may not do: make the program hang, end it without a code of the table, or let a closed output pass
//! for one that was written.

use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{MACHINE_DEPLOYMENT, Program, Ran, ran};

/// The memory that every run here gets, in kibibytes: 256 MiB of addresses.
const MEMORY: u64 = 256 * 1024;
/// The longest that any of these runs may take on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs a line of `sh` in which `$P` is the program.
fn shell(program: &Program, line: &str, stdin: &[u8]) -> Ran {
    let mut command = Command::new("sh");
    command
        .env_clear()
        .env("HOME", program.home())
        .env("TZ", "UTC")
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("P", env!("CARGO_BIN_EXE_rollgate")).current_dir(program.home()).args(["-c", line]);
    ran(command, stdin)
}

/// Runs the program with little memory, and fails where it ends without a code of the table or takes too long.
fn bounded(program: &Program, what: &str, line: &str, stdin: &[u8]) -> Ran {
    let started = Instant::now();
    let ran = shell(program, &format!("ulimit -v {MEMORY}; {line}"), stdin);
    assert!(matches!(ran.code, Some(0..=4)), "{what}: {:?} {}", ran.code, ran.stderr);
    assert!(
        !ran.stderr.contains("panicked") && started.elapsed() < LONGEST,
        "{what}: {:?} {}",
        started.elapsed(),
        ran.stderr
    );
    ran
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Whether Helm refuses a text as values: what cannot be read, or is no map. Nothing at all is taken for no values.
fn is_no_map(text: &str) -> bool {
    let read = rollgate::facade::yaml::read_strict(text.as_bytes());
    !text.is_empty() && read.map_or(true, |value| Value::from(value).is_string())
}

#[test]
fn an_output_that_was_not_written_is_never_an_allow() {
    let program = Program::new();
    program.file("old.yaml", MACHINE_DEPLOYMENT);
    for command in [
        "plan old.yaml --live old.yaml",
        "post-render --policy none --live old.yaml --host helm3 <old.yaml",
        "snapshot old.yaml --live old.yaml",
        "explain kcp/version",
        "schema policy",
        "--version",
    ] {
        let open = shell(&program, &format!("\"$P\" {command}"), b"");
        assert_eq!(open.code, Some(0), "{command}: {}", open.stderr);
        for output in [">&-", ">/dev/full", "1<old.yaml"] {
            let ran = shell(&program, &format!("\"$P\" {command} {output}"), b"");
            assert_eq!(ran.code, Some(1), "{command} {output}: {}", ran.stderr);
        }
        let thrown_away = shell(&program, &format!("\"$P\" {command} >/dev/null"), b"");
        assert_eq!(thrown_away.code, Some(0), "{command}: {}", thrown_away.stderr);
    }
}

#[test]
fn a_stream_of_nothing_is_refused_in_all_its_forms() {
    let program = Program::new();
    for stream in [
        "",
        "\n",
        "# words\n",
        "---\n---\n",
        "null\n",
        "~\n",
        "---\nnull\n---\n~\n",
        "apiVersion: v1\nkind: List\nitems: []\n",
        "{apiVersion: v1, kind: List, items: []}\n",
    ] {
        let ran = program.run(&["post-render", "--policy", "none", "--live", "none"], stream.as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{stream:?}: {}", ran.stderr);
    }
}

#[test]
fn layers_that_unpack_to_very_much_end_with_a_code() {
    let program = Program::new();
    let zeros = gzip(&vec![b'0'; 12 * 1024 * 1024]);
    let inner: String = (0..40).map(|_| format!("{} ", BASE64_STANDARD.encode(&zeros))).collect();
    let layers = BASE64_STANDARD.encode(gzip(inner.as_bytes()));
    let deep = (0..30)
        .fold("x: 1\n".to_owned(), |text, _| format!("k: {}\nl: 1\n", BASE64_STANDARD.encode(gzip(text.as_bytes()))));
    let stream = |tail: &str| {
        let files: Vec<_> = [&layers, &inner, &deep]
            .iter()
            .map(|content| json!({"path": "/etc/x", "content": format!("{content}{tail}")}))
            .collect();
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane", "metadata": {"name": "cp", "namespace": "n"},
            "spec": {"replicas": 1, "version": "v1.31.0+rke2r1", "files": files}}).to_string()
    };
    program.file("old.yaml", &stream(""));
    program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n- name: vip\n  placeholders: [\"55.55.55.55\"]\n  from: [{env: VIP}]\n");
    for policy in ["none", "rollgate.yaml"] {
        let ran = bounded(
            &program,
            "layers",
            &format!("\"$P\" plan - --live old.yaml --policy {policy}"),
            stream(" ").as_bytes(),
        );
        assert_ne!(ran.code, Some(0), "{}", ran.stdout);
    }
}

#[test]
fn texts_that_are_documents_many_times_over_end_with_a_code() {
    let program = Program::new();
    let deep = |word: &str| {
        (0..400).fold(format!("a: {word}\nb: 1\n"), |text, _| {
            let lines: String = text.lines().map(|line| format!(" {line}\n")).collect();
            format!("a: |\n{lines}b: 1\n")
        })
    };
    let stream = |word: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}, "data": {"x": deep(word)}});
    let owner = json!({"apiVersion": "addons.cluster.x-k8s.io/v1beta1", "kind": "ClusterResourceSet", "metadata": {"name": "s", "namespace": "n"},
        "spec": {"clusterSelector": {"matchLabels": {"a": "b"}}, "resources": [{"kind": "ConfigMap", "name": "c"}]}});
    program.file("old.yaml", &format!("{owner}\n---\n{}\n", stream("one")));
    bounded(
        &program,
        "nested documents",
        "\"$P\" plan - --live old.yaml",
        format!("{owner}\n---\n{}\n", stream("two")).as_bytes(),
    );
    for text in [
        format!("a: {}{}\n", "[".repeat(9_990), "]".repeat(9_990)),
        format!("{}a\n", "- ".repeat(9_990)),
        "[".repeat(3_000_000),
        "{a: ".repeat(200_000),
    ] {
        let object = format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: a}}\nspec:\n  x: {}",
            text.replace('\n', " ")
        );
        bounded(&program, "nested values", "\"$P\" plan - --live old.yaml", object.as_bytes());
        bounded(
            &program,
            "nested values in a pack",
            "cat > pack.yaml; \"$P\" explain --check-pack pack.yaml",
            text.as_bytes(),
        );
    }
}

#[test]
fn values_templates_that_grow_without_end_are_stopped() {
    let program = Program::new();
    program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    for template in [
        "{% set x = 'a' * 9999999 %}{% set x = x ~ x ~ x ~ x %}{% set x = x ~ x ~ x ~ x %}{% set x = x ~ x ~ x ~ x %}{% set x = x ~ x ~ x %}{{ x }}".to_owned(),
        "{% set x = 'aaaaaaaa' %}".to_owned() + &"{% set x = x ~ x %}".repeat(60) + "{{ x }}",
        "{{ 'a' | indent(99999999999) }}".to_owned(),
        "{{ ('a' * 100000) | replace('a', 'b' * 100000) }}".to_owned(),
        "{% set ns = namespace(x='a' * 1000) %}{% for i in range(10000) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}".to_owned(),
        "{{ '%099999999999d' | format(1) }}".to_owned(),
        "{{ [1] | batch(99999999999, 'x') | list }}".to_owned(),
        "{{ [1] | slice(99999999999) | list }}".to_owned(),
        "{{ range(9999999999) | list | length }}".to_owned(),
        "{{ [1] * 9999999999 | list }}".to_owned(),
        "{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m('aaaa') }}".to_owned(),
        format!("{{{{ {}1{} }}}}", "(".repeat(20_000), ")".repeat(20_000)),
        format!("{{{{ {} }}}}", "[".repeat(100_000)),
    ] {
        program.file("values.yaml.j2", &template);
        let ran = bounded(&program, &template[..template.len().min(60)], "\"$P\" values -f values.yaml.j2", b"");
        assert_ne!(ran.code, Some(0), "{template:.60}");
        assert!(is_no_map(&ran.stdout), "Helm would take it for values: {:?}", ran.stdout);
    }
}

#[test]
fn memory_that_is_not_there_ends_with_a_code_and_owes_nothing() {
    let program = Program::new();
    program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    let huge = "('x' * 100000000)";
    for template in [
        format!("a: {{{{ {huge} }}}}"),
        format!("a: {{{{ {huge} ~ {huge} }}}}"),
        format!("a: {{{{ {huge} ~ {huge} ~ {huge} }}}}"),
    ] {
        program.file("values.yaml.j2", &template);
        for memory in [MEMORY / 4 * 3, MEMORY, MEMORY / 2 * 3] {
            let ran = shell(&program, &format!("ulimit -v {memory}; \"$P\" values -f values.yaml.j2"), b"");
            assert!(matches!(ran.code, Some(2 | 4)), "{template} in {memory}: {:?} {}", ran.code, ran.stderr);
            assert!(ran.stderr.starts_with("rollgate: "), "{template} in {memory}: {}", ran.stderr);
            assert!(is_no_map(&ran.stdout), "Helm would take it for values: {:?}", ran.stdout);
        }
    }
}

#[test]
fn plain_values_that_do_not_fit_into_memory_owe_nothing_either() {
    let program = Program::new();
    program.file("one.yaml", &format!("a: {}\n", "x".repeat(24 << 20)));
    program.file("two.yaml", &format!("b: {}\n", "y".repeat(4 << 20)));
    program.file("small.yaml", "a: b\n");
    for memory in [MEMORY / 2, MEMORY, MEMORY / 2 * 3, MEMORY * 2] {
        for files in ["-f one.yaml", "-f two.yaml", "-f two.yaml -f two.yaml -f two.yaml", "-f one.yaml -f small.yaml"]
        {
            let ran = shell(&program, &format!("ulimit -v {memory}; \"$P\" values {files}"), b"");
            let is_whole = ran.code == Some(0) && ran.stdout.len() > 4 << 20;
            let is_refused = matches!(ran.code, Some(2 | 4)) && is_no_map(&ran.stdout);
            assert!(is_whole || is_refused, "{files} in {memory}: {:?} {}", ran.code, ran.stderr);
        }
    }
    let small = bounded(&program, "small values", "\"$P\" values -f small.yaml", b"");
    assert_eq!((small.code, small.stdout.as_str()), (Some(0), "a: b\n"), "{}", small.stderr);
}

#[test]
fn an_abort_leaves_nothing_that_helm_takes_for_values() {
    // Who opens a pipe to write waits until the program reads its values from it.
    let ended = |out: &str| {
        format!("rm -f f; mkfifo f; \"$P\" values -f f {out} & p=$!; exec 3>f; kill -ABRT $p; wait $p; code=$?")
    };
    let program = Program::new();
    for line in [
        format!("{}; exit $code", ended("")),
        format!("{}; cat out; exit $code", ended(">out")),
        format!("({}; echo $code >code) | cat; exit $(cat code)", ended("")),
    ] {
        let ran = shell(&program, &line, b"");
        assert!(is_no_map(&ran.stdout), "{line}: {:?} {}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, Some(4), "{line}: {}", ran.stderr);
    }
}

#[test]
fn a_stream_that_does_not_fit_into_memory_is_refused_with_a_reason() {
    let program = Program::new();
    let one = MACHINE_DEPLOYMENT.replace("name: md", "name: md-NUMBER");
    let mut stream = String::new();
    let mut number = 0;
    while stream.len() < 30 * 1024 * 1024 {
        stream.push_str(&one.replace("NUMBER", &number.to_string()));
        stream.push_str("---\n");
        number += 1;
    }
    program.file("big.yaml", &stream);
    let ran = bounded(&program, "a large stream", "\"$P\" plan big.yaml --live none", b"");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("is the most that can be judged"), "{}", ran.stderr);
    // The data alone can be limited too.
    let data = shell(&program, "ulimit -d 262144; \"$P\" plan big.yaml --live none", b"");
    assert_eq!(data.code, Some(2), "{}", data.stderr);
    assert!(data.stderr.contains("with 256 MiB of memory"), "{}", data.stderr);
    let ordinary = bounded(&program, "a small stream", "\"$P\" plan - --live none", MACHINE_DEPLOYMENT.as_bytes());
    assert_eq!(ordinary.code, Some(0), "{}", ordinary.stderr);
}

#[test]
fn a_stream_of_very_many_small_things_ends_with_a_code() {
    let program = Program::new();
    for (limit, what, head, one) in [
        (
            "-v",
            "scalars",
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a}\nspec:\n  x: [",
            "a,",
        ),
        ("-d", "items", "apiVersion: v1\nkind: List\nitems: [", "{apiVersion: v1, kind: A, metadata: {name: a}},"),
        ("-v", "documents", "", "---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n"),
    ] {
        let end = if head.ends_with('[') { "]\n" } else { "" };
        let stream = format!("{head}{}{end}", one.repeat(10 * 1024 * 1024 / one.len()));
        program.file("many.yaml", &stream);
        for memory in [MEMORY, MEMORY / 4 * 5, MEMORY * 2] {
            let line = format!("ulimit {limit} {memory}; \"$P\" plan many.yaml --live none --deadline 20s");
            let ran = shell(&program, &line, b"");
            assert!(matches!(ran.code, Some(0..=4)), "{what} {limit} {memory}: {:?} {}", ran.code, ran.stderr);
        }
    }
}

#[test]
fn names_that_no_api_server_takes_and_texts_that_could_forge_a_report_do_neither() {
    let program = Program::new();
    program.file("old.yaml", MACHINE_DEPLOYMENT);
    let risky = ["\u{1b}[2J", "\u{9b}31m", "\u{202e}", "\u{2028}", "\r", "\u{7}", "\u{feff}"];
    for sign in risky {
        for place in ["name: md", "namespace: ns"] {
            let named = serde_json::Value::from(format!("md{sign}x")).to_string();
            let key = place.split(':').next().unwrap_or_default();
            let stream = MACHINE_DEPLOYMENT.replace(place, &format!("{key}: {named}"));
            let ran = program.run(&["plan", "-", "--live", "old.yaml"], stream.as_bytes());
            assert_eq!(ran.code, Some(2), "{sign:?} {}", ran.stdout);
            assert!(!ran.stderr.contains(sign), "{sign:?}");
        }
        let word = serde_json::Value::from(format!("5m{sign}\nrollgate: allow  x")).to_string();
        let label = format!("labels: {{a: {word}}}, annotations: {{{word}: {word}}}, name: md");
        let stream = MACHINE_DEPLOYMENT.replace("5m0s", &word).replace("name: md", &label);
        for format in ["human", "json"] {
            let ran = program.run(&["plan", "-", "--live", "old.yaml", "-o", format], stream.as_bytes());
            assert!(
                !ran.stdout.contains(sign) && !ran.stderr.contains(sign),
                "{format} {sign:?}: {}{}",
                ran.stdout,
                ran.stderr
            );
            assert!(!ran.stdout.lines().any(|line| line.starts_with("rollgate: allow")), "{}", ran.stdout);
        }
    }
}
