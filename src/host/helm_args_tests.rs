//! Table tests of Helm's command lines.

use super::*;

fn read(line: &str) -> HelmArgs {
    parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

#[test]
fn names_are_found_among_flags() {
    let table = [
        ("upgrade demo ./chart -n telco", "upgrade", Some("demo"), Some("telco")),
        ("-n telco upgrade demo ./chart", "upgrade", Some("demo"), Some("telco")),
        ("--kube-context ctx upgrade -ntelco demo ./chart", "upgrade", Some("demo"), Some("telco")),
        ("upgrade --install -n=telco demo ./chart", "upgrade", Some("demo"), Some("telco")),
        ("upgrade -i demo ./chart --namespace=telco --wait", "upgrade", Some("demo"), Some("telco")),
        ("upgrade --wait demo ./chart", "upgrade", Some("demo"), None),
        ("upgrade --dry-run demo ./chart", "upgrade", Some("demo"), None),
        ("upgrade --server-side true demo ./chart", "upgrade", Some("demo"), None),
        ("install --server-side demo ./chart", "install", Some("demo"), None),
        ("upgrade -f values.yaml -f other.yaml --set a=b,c=d demo ./chart", "upgrade", Some("demo"), None),
        (
            "upgrade --post-renderer rollgate --post-renderer-args post-render demo ./chart",
            "upgrade",
            Some("demo"),
            None,
        ),
        ("install -g ./chart", "install", None, None),
        ("install --generate-name ./chart", "install", None, None),
        ("install --name-template x ./chart", "install", None, None),
        ("template ./chart -n telco", "template", Some("release-name"), Some("telco")),
        ("template demo ./chart", "template", Some("demo"), None),
        ("upgrade -- demo ./chart", "upgrade", Some("demo"), None),
        ("upgrade --flag-of-tomorrow demo ./chart", "upgrade", None, None),
        ("upgrade demo ./chart extra", "upgrade", None, None),
        ("upgrade Demo ./chart", "upgrade", None, None),
        ("list -n telco", "", None, Some("telco")),
    ];
    for (line, command, release, namespace) in table {
        let args = read(line);
        assert_eq!(args.command, command, "{line}");
        assert_eq!(args.release.as_deref(), release, "{line}");
        assert_eq!(args.namespace.as_deref(), namespace, "{line}");
    }
}

#[test]
fn what_writes_nothing_is_told_from_what_writes() {
    let table = [
        ("template demo ./chart", true),
        ("upgrade demo ./chart --dry-run", true),
        ("upgrade demo ./chart --dry-run=client", true),
        ("upgrade demo ./chart --dry-run=server", true),
        ("upgrade demo ./chart --dry-run=true", true),
        ("upgrade demo ./chart --dry-run=none", false),
        ("upgrade demo ./chart --dry-run=false", false),
        ("upgrade demo ./chart", false),
        ("install demo ./chart", false),
    ];
    for (line, dry) in table {
        assert_eq!(read(line).dry_run, dry, "{line}");
    }
}

#[test]
fn flags_that_change_the_write_are_seen() {
    assert_eq!(read("upgrade a b --server-side=false").server_side, Some(Some(false)));
    assert_eq!(read("upgrade a b --server-side auto").server_side, Some(None));
    assert_eq!(read("install a b --server-side").server_side, Some(Some(true)));
    assert_eq!(read("upgrade a b").server_side, None);
    assert!(read("upgrade a b --force-conflicts").force_conflicts);
    assert!(!read("upgrade a b --force-conflicts=false").force_conflicts);
    assert!(read("upgrade a b --force").replace);
    assert!(read("upgrade a b --force-replace").replace);
    assert!(read("upgrade a b --take-ownership").take_ownership);
    assert!(read("template a b --output-dir /tmp/x").output_dir);
    assert_eq!(read("upgrade a b --kubeconfig /tmp/k").kubeconfig.as_deref(), Some("/tmp/k"));
}

#[test]
fn words_keep_what_their_flags_take() {
    let told = |line: &str| -> Vec<String> {
        let texts: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let word = |word: &Word<'_>| match word {
            Word::Plain(text) => (*text).to_owned(),
            Word::Flag(flag, None) => format!("[{flag}]"),
            Word::Flag(flag, Some(value)) => format!("[{flag} {value}]"),
        };
        words(&texts).iter().map(word).collect()
    };
    for (line, expected) in [
        ("upgrade demo ./chart --set --policy=x", "upgrade demo ./chart [--set --policy=x]"),
        ("upgrade -if v.yaml demo --wait ./chart", "upgrade [-if v.yaml] demo [--wait] ./chart"),
        ("upgrade -fv.yaml demo - --set=a=b", "upgrade [-fv.yaml] demo - [--set=a=b]"),
        ("rollback demo 3 --server-side auto --timeout 5m", "rollback demo 3 [--server-side auto] [--timeout 5m]"),
        ("install --server-side demo ./chart", "install [--server-side] demo ./chart"),
        ("rollback --of-tomorrow demo -- --odd", "rollback [--of-tomorrow] demo --odd"),
    ] {
        assert_eq!(told(line).join(" "), expected, "{line}");
    }
    assert!(is_flag("wait") && is_flag("server-side") && !is_flag("policy") && !is_flag("provider"));
}

#[test]
fn a_token_is_seen_and_not_kept() {
    let args = read("upgrade a b --kube-token s3cr3t");
    assert!(args.token);
    assert!(!format!("{args:?}").contains("s3cr3t"));
}
