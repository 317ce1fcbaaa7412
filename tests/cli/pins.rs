//! `rollgate pin`: pins move only by hand, only with a reason, and the file keeps what happened.

use super::{Program, Ran};

const POLICY: &str = r#"
apiVersion: rollgate.dev/v1alpha1
kind: Policy
lateValues:
  - {name: vip, placeholders: ["55.55.55.55"], type: ip, from: [{file: vip.txt}]}
  - {name: other, from: [{env: NOT_SET}], pin: follow}
pins: {file: pins/rollgate.pins.yaml}
"#;

fn program() -> Program {
    let program = Program::new();
    program.file("rollgate.yaml", POLICY);
    std::fs::create_dir(program.home().join("pins")).expect("a folder");
    program
}

fn pin(program: &Program, args: &[&str]) -> Ran {
    program.run(&[&["pin"], args, &["--now", "2026-11-21T12:00:00Z"]].concat(), b"")
}

fn file(program: &Program) -> String {
    std::fs::read_to_string(program.home().join("pins/rollgate.pins.yaml")).unwrap_or_default()
}

#[test]
fn a_pin_is_set_moved_and_taken_away_with_reasons() {
    let program = program();
    let ran = pin(&program, &["list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "nothing is pinned yet\n"), "{}", ran.stderr);
    for (args, said) in [
        (&["set", "vip", "10.0.3.7", "--reason", "agreed with the network team"][..], "vip: nothing to 10.0.3.7\n"),
        (&["set", "vip", "10.0.3.8", "--reason", "ticket 4"], "vip: 10.0.3.7 to 10.0.3.8\n"),
    ] {
        let ran = pin(&program, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), said), "{}", ran.stderr);
    }
    let ran = pin(&program, &["list"]);
    assert_eq!(
        ran.stdout,
        "NAME  VALUE     SINCE                 SOURCE\nvip   10.0.3.8  2026-11-21T12:00:00Z  set by hand\n"
    );
    let ran = pin(&program, &["show", "vip"]);
    assert!(ran.stdout.contains("set  10.0.3.7 to 10.0.3.8: ticket 4"), "{}", ran.stdout);
    let ran = pin(&program, &["unset", "vip", "--reason", "cluster is gone"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "vip: 10.0.3.8 to nothing\n"), "{}", ran.stderr);
    let text = file(&program);
    assert!(text.contains("pins: []") && text.contains("reason: \"agreed with the network team\""), "{text}");
    assert_eq!(pin(&program, &["unset", "vip", "--reason", "again"]).code, Some(2));
    assert_eq!(file(&program), text);
}

#[test]
fn a_comment_at_the_top_stays() {
    let program = program();
    let head = "# Owned by team edge.\n# Ask before you change it.\n";
    program.file("pins/rollgate.pins.yaml", head);
    assert_eq!(pin(&program, &["set", "vip", "10.0.3.7", "--reason", "x"]).code, Some(0));
    assert!(file(&program).starts_with(&format!("{head}apiVersion:")), "{}", file(&program));
}

#[test]
fn what_cannot_be_a_pin_is_refused() {
    let program = program();
    for (args, message) in [
        (&["set", "vip", "55.55.55.55", "--reason", "x"][..], "only says \"not known yet\""),
        (&["set", "vip", "10.0.3", "--reason", "x"], "is not of type ip"),
        (&["set", "vipp", "10.0.3.7", "--reason", "x"], "did you mean vip?"),
        (&["set", "vip", "10.0.3.7", "--reason", " "], "--reason is empty"),
        (&["set", "vip", "10.0.3.7"], "--reason"),
        (&["set", "other", "x", "--reason", "x"], "other follows its source"),
        (&["show", "vip"], "was never pinned"),
    ] {
        let ran = pin(&program, args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.stderr.contains(message), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(file(&program), "");
}

#[test]
fn a_policy_without_a_place_for_pins_says_what_to_write() {
    let program = Program::new();
    let ran = pin(&program, &["list"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no policy says where pins are"), "{}", ran.stderr);
    program.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    let ran = pin(&program, &["list"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("write pins: {file: rollgate.pins.yaml}"), "{}", ran.stderr);
}

#[test]
fn verify_compares_pins_with_their_sources() {
    let program = program();
    let verify = |names: &[&str]| pin(&program, &[&["verify"], names].concat());
    assert_eq!(verify(&[]).stdout, "vip: is not pinned\nother: is not pinned\n");
    assert_eq!(pin(&program, &["set", "vip", "10.0.3.7", "--reason", "x"]).code, Some(0));
    let ran = verify(&["vip"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stdout);
    assert!(ran.stdout.contains("file vip.txt is not there"), "{}", ran.stdout);
    program.file("vip.txt", "10.0.3.7\n");
    let ran = verify(&["vip"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "vip: is what file vip.txt says\n"), "{}", ran.stderr);
    program.file("vip.txt", "10.0.9.9\n");
    let ran = verify(&[]);
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.stdout.contains("pinned to 10.0.3.7 since 2026-11-21 and file vip.txt now says 10.0.9.9"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_pin_file_that_is_broken_is_named_and_never_taken_for_empty() {
    let program = program();
    program.file(
        "pins/rollgate.pins.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Pins\npins:\n  - {name: vip, valu: x}\n",
    );
    let before = file(&program);
    for args in [&["list"][..], &["set", "vip", "10.0.3.7", "--reason", "x"]] {
        let ran = pin(&program, args);
        assert_eq!(ran.code, Some(4), "{}", ran.stderr);
        assert!(ran.stderr.contains("pins[0].valu"), "{}", ran.stderr);
    }
    assert_eq!(file(&program), before);
}

#[test]
fn two_runs_at_once_keep_both_pins() {
    let program = program();
    program.file("rollgate.yaml", &POLICY.replace("{name: other,", "{name: p0, from: [{env: A}]}\n  - {name: p1, from: [{env: A}]}\n  - {name: p2, from: [{env: A}]}\n  - {name: p3, from: [{env: A}]}\n  - {name: other,"));
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|place| {
                let program = &program;
                scope.spawn(move || pin(program, &["set", &format!("p{place}"), "x", "--reason", "r"]).code)
            })
            .collect();
        for run in runs {
            assert_eq!(run.join().expect("no panic"), Some(0));
        }
    });
    assert_eq!(file(&program).matches("- name: \"p").count(), 4, "{}", file(&program));
    assert!(!program.home().join("pins/rollgate.pins.yaml.lock").exists());
}
