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
    // A wrong path may lead to any file, also to one with a password.
    program.file("pins/rollgate.pins.yaml", "hunter2\n");
    let ran = pin(&program, &["list"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("expected a map of fields, found text") && !ran.stderr.contains("hunter2"),
        "{}",
        ran.stderr
    );
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

#[test]
fn a_pin_is_moved_to_what_its_source_says_and_the_hold_names_the_whole_command() {
    let program = program();
    program.file("vip.txt", "10.0.3.7\n");
    let ran = pin(&program, &["repin", "vip", "--from-source", "--reason", "first"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "vip: nothing to 10.0.3.7\n"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("rollgate: pins in file ") && ran.stderr.contains("rollgate.pins.yaml"),
        "{}",
        ran.stderr
    );
    program.file("vip.txt", "10.0.9.9\n");
    assert_eq!(pin(&program, &["verify"]).code, Some(3));
    // Whoever sets the old value knows what the source says: that is no news any more, and the next value is.
    assert_eq!(pin(&program, &["set", "vip", "10.0.3.7", "--reason", "the new one is a mistake"]).code, Some(0));
    let ran = pin(&program, &["verify"]);
    assert!(
        ran.stdout.contains("late value vip keeps what was set by hand; file vip.txt says 10.0.9.9"),
        "{}",
        ran.stdout
    );
    assert_ne!(ran.code, Some(3));
    program.file("vip.txt", "10.0.9.10\n");
    assert_eq!(pin(&program, &["verify"]).code, Some(3));
    let ran = pin(&program, &["repin", "vip", "--value", "10.0.9.10", "--reason", "moved, ticket 4"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "vip: 10.0.3.7 to 10.0.9.10\n"), "{}", ran.stderr);
    let ran = pin(&program, &["history", "vip", "-o", "json"]);
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let steps: Vec<_> =
        told["history"].as_array().expect("a list").iter().map(|event| event["after"].clone()).collect();
    assert_eq!(steps, ["10.0.3.7", "10.0.3.7", "10.0.9.10"]);
    assert!(told["place"].as_str().expect("a place").ends_with("pins/rollgate.pins.yaml"));
    for args in
        [&["repin", "vip", "--reason", "x"][..], &["repin", "vip", "--from-source", "--value", "1", "--reason", "x"]]
    {
        assert_eq!(pin(&program, args).code, Some(2), "{args:?}");
    }
}

#[test]
fn a_secret_late_value_stands_in_no_output_and_in_no_file() {
    let program = Program::new();
    program.file(
        "rollgate.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n  - {name: password, secret: true, from: [{file: p.txt}]}\npins: {file: rollgate.pins.yaml}\n",
    );
    program.file("p.txt", "hunter2hunter2\n");
    let mut said = String::new();
    let mut run = |args: &[&str], code: i32| {
        let ran = pin(&program, args);
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.stderr);
        said.push_str(&ran.stdout);
        said.push_str(&ran.stderr);
    };
    run(&["repin", "password", "--from-source", "--reason", "first"], 0);
    run(&["verify"], 0);
    program.file("p.txt", "correcthorse\n");
    run(&["verify"], 3);
    run(&["set", "password", "batterystaple", "--reason", "by hand"], 0);
    for args in [
        &["list"][..],
        &["list", "-o", "json"],
        &["list", "--json"],
        &["show", "password"],
        &["show", "password", "-o", "json"],
        &["history"],
        &["history", "-o", "json"],
    ] {
        run(args, 0);
    }
    said.push_str(&std::fs::read_to_string(program.home().join("rollgate.pins.yaml")).expect("pins"));
    for secret in ["hunter2", "correcthorse", "batterystaple"] {
        assert!(!said.contains(secret), "{secret} in {said}");
    }
}

/// A run that is killed at any moment leaves the old pins or the new ones, and the next run needs nobody's help.
#[cfg(unix)]
#[test]
fn a_killed_run_leaves_no_lock_and_no_half_of_a_file() {
    let program = program();
    assert_eq!(pin(&program, &["set", "vip", "10.0.3.1", "--reason", "first"]).code, Some(0));
    let mut kills = 0;
    for round in 0..60_u64 {
        let value = format!("10.0.4.{round}");
        let mut child = program
            .command()
            .args(["pin", "set", "vip", &value, "--reason", "killed"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the program runs");
        std::thread::sleep(std::time::Duration::from_micros(round * 250));
        kills += u32::from(child.try_wait().expect("a child").is_none());
        drop(child.kill());
        child.wait().expect("it ends");
        let ran = pin(&program, &["show", "vip"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let ran = pin(&program, &["set", "vip", "10.0.3.9", "--reason", "last"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let left: Vec<_> = std::fs::read_dir(program.home().join("pins")).expect("readable").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(kills > 0, "no run was under way when it was killed");
}

#[test]
fn a_value_that_was_sealed_once_stays_sealed() {
    let program = program();
    program.file(
        "pins/rollgate.pins.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Pins\npins:\n  - {name: vip, value: \"sealed:1:AA:AA\", secret: true, source: x, time: \"2026-11-21T10:00:00Z\"}\n",
    );
    let ran = pin(&program, &["set", "vip", "10.0.3.7", "--reason", "moved"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "vip: (secret) to (secret)\n"), "{}", ran.stderr);
    assert!(!file(&program).contains("10.0.3.7"), "{}", file(&program));
}

/// A program in the folder of a scenario.
fn scenario(name: &str) -> Program {
    let program = Program::new();
    for entry in std::fs::read_dir(super::root().join("testdata/scenarios").join(name)).expect("a scenario") {
        let entry = entry.expect("an entry");
        std::fs::copy(entry.path(), program.home().join(entry.file_name())).expect("copied");
    }
    program
}

/// The steps of the first reason, as JSON has them.
fn steps(report: &serde_json::Value) -> Vec<String> {
    let reason = &report["reasons"][0];
    let or = reason["or"].as_array().into_iter().flatten();
    std::iter::once(&reason["next"]).chain(or).filter_map(|step| step.as_str().map(str::to_owned)).collect()
}

fn rendered(program: &Program, more: &[&str]) -> (Ran, serde_json::Value) {
    let stream = std::fs::read(program.home().join("rendered.yaml")).expect("a stream");
    let report = program.home().join("out.json");
    let output = format!("json={}", report.display());
    let base = [
        "post-render",
        "--policy",
        "policy.yaml",
        "--live",
        "live.yaml",
        "--base",
        "base.yaml",
        "-o",
        "human",
        "-o",
        &output,
    ];
    let ran = program.run(&[&base, more].concat(), &stream);
    let report = std::fs::read(report).expect("a report");
    (ran, serde_json::from_slice(&report).expect("JSON"))
}

#[test]
fn each_step_of_a_hold_runs_as_it_is_printed_and_ends_it() {
    for (place, wanted) in [(0, "10.0.3.7"), (1, "10.0.3.42")] {
        let program = scenario("pin-source-moved");
        let more = ["--release", "cluster", "-n", "sylva-system", "--host", "helm3", "--commit", "never"];
        let (ran, report) = rendered(&program, &more);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        let steps = steps(&report);
        let options = "--policy policy.yaml --live live.yaml -n sylva-system --reason TEXT";
        assert_eq!(steps[place], format!("rollgate pin set cluster_virtual_ip {wanted} {options}"));
        assert!(ran.stderr.contains(&format!("  next: {}\n  or: {}\n", steps[0], steps[1])), "{}", ran.stderr);
        let words: Vec<&str> = steps[place].split(' ').skip(1).collect();
        let set = program.run(&words, b"");
        assert_eq!(
            (set.code, set.stdout),
            (Some(0), format!("cluster_virtual_ip: 10.0.3.7 to {wanted}\n")),
            "{}",
            set.stderr
        );
        let (ran, report) = rendered(&program, &more);
        let held: Vec<_> = report["reasons"].as_array().expect("reasons").iter().map(|one| &one["gate"]).collect();
        assert!(!held.contains(&&"pin".into()), "{held:?}: {}", ran.stderr);
    }
}

#[test]
fn to_keep_a_pin_against_a_source_that_was_not_asked_is_no_success() {
    let program = scenario("pin-source-moved");
    let before = std::fs::read_to_string(program.home().join("rollgate.pins.yaml")).expect("pins");
    let set = |value: &str, more: &[&str]| {
        let args = ["set", "cluster_virtual_ip", value, "--reason", "x", "--policy", "policy.yaml"];
        pin(&program, &[&args[..], more].concat())
    };
    let ran = set("10.0.3.7", &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("its source was not asked (") && ran.stderr.contains("--live none"), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(program.home().join("rollgate.pins.yaml")).expect("pins"), before);
    // Another value is what a person wants, whatever the source says.
    let ran = set("10.0.3.9", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("so the next run may report what it says"), "{}", ran.stderr);
    let ran = set("10.0.3.9", &["--live", "none"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stderr.contains("was not asked"), "{}", ran.stderr);
}

#[test]
fn what_may_be_a_secret_is_sealed_unless_a_person_says_that_it_is_none() {
    let program = program();
    let policy = |more: &str| {
        let value = format!("  - {{name: word, from: [{{env: WORD}}]{more}}}\n");
        program.file("rollgate.yaml", &POLICY.replace("  - {name: other,", &format!("{value}  - {{name: other,")));
    };
    policy("");
    let ran = pin(&program, &["set", "word", "hunter2", "--reason", "first"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "word: nothing to (secret)\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("its source has to give it; --plain keeps it readable"), "{}", ran.stderr);
    for args in [&["list"][..], &["list", "-o", "json"], &["history"], &["show", "word", "--json"]] {
        assert!(!pin(&program, args).stdout.contains("hunter2"), "{args:?}");
    }
    assert!(!file(&program).contains("hunter2"), "{}", file(&program));
    assert_eq!(pin(&program, &["set", "word", "x", "--plain", "--reason", "r"]).code, Some(2));
    assert_eq!(pin(&program, &["unset", "word", "--reason", "r"]).code, Some(0));
    policy(", pin: manual");
    let ran = pin(&program, &["set", "word", "blue", "--reason", "r"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("pass --plain, or secret: true or secret: false"), "{}", ran.stderr);
    let ran = pin(&program, &["set", "word", "blue", "--plain", "--reason", "r"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "word: nothing to blue\n"), "{}", ran.stderr);
    // It was said once.
    let ran = pin(&program, &["set", "word", "green", "--reason", "r"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "word: blue to green\n"), "{}", ran.stderr);
}

#[test]
fn a_plain_pin_that_goes_into_a_secret_is_sealed_by_the_next_run() {
    let program = program();
    program.file(
        "rollgate.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n  - {name: word, placeholders: [WORD_HERE], from: [{file: w.txt}]}\npins: {file: p.yaml}\n",
    );
    assert_eq!(pin(&program, &["set", "word", "hunter2", "--plain", "--reason", "r"]).code, Some(0));
    let pins = || std::fs::read_to_string(program.home().join("p.yaml")).expect("pins");
    assert!(pins().contains("hunter2"));
    let stream = b"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {word: WORD_HERE}\n";
    let args = ["post-render", "--policy", "rollgate.yaml", "--live", "none", "--commit", "always"];
    let ran = program.run(&args, stream);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("holds it in plain text"), "{}", ran.stderr);
    program.file("w.txt", "hunter2");
    let ran = program.run(&args, stream);
    assert_eq!((ran.code, ran.stdout.contains("word: hunter2")), (Some(0), true), "{}", ran.stderr);
    assert!(!pins().contains("hunter2") && pins().contains("sealed:1:"), "{}", pins());
}

/// Two first installs that have both read that nothing is pinned: the one that comes second is not allowed with another value.
#[cfg(unix)]
#[test]
fn of_two_runs_at_once_with_different_secrets_one_goes_through() {
    let program = program();
    program.file(
        "rollgate.yaml",
        "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n  - {name: word, secret: true, placeholders: [WORD_HERE], from: [{exec: [sh, -c, 'touch seen-$WHO; echo value-$WHO']}]}\npins: {file: pins/rollgate.pins.yaml}\n",
    );
    let folder = std::fs::File::open(program.home().join("pins")).expect("a folder");
    folder.lock().expect("locked");
    let run = |who: &str| {
        let env = [("WHO", who), ("ROLLGATE_ALLOW_SOURCES", "exec"), ("PATH", "/usr/bin:/bin")];
        let args = ["post-render", "--policy", "rollgate.yaml", "--live", "none", "--commit", "always"];
        let stream = b"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {word: WORD_HERE}\n";
        program.run_with(&args, stream, &env)
    };
    let rans = std::thread::scope(|scope| {
        let runs = ["a", "b"].map(|who| scope.spawn(move || run(who)));
        for who in ["a", "b"] {
            let seen = program.home().join(format!("seen-{who}"));
            while !seen.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
        // Both read the pins right after their source, and then wait for the lock.
        std::thread::sleep(std::time::Duration::from_secs(1));
        drop(folder);
        runs.map(|run| run.join().expect("no panic"))
    });
    let mut codes = rans.each_ref().map(|ran| ran.code);
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(4)], "{} {}", rans[0].stderr, rans[1].stderr);
    for ran in &rans {
        assert_eq!(ran.stdout.contains("value-"), ran.code == Some(0));
        assert_eq!(ran.stderr.contains("word was pinned to another value in the meantime"), ran.code == Some(4));
    }
}

#[test]
fn times_are_whole_seconds() {
    let program = program();
    let args = ["pin", "set", "vip", "10.0.3.7", "--reason", "x", "--now", "2026-11-21T12:00:00.831501951Z"];
    assert_eq!(program.run(&args, b"").code, Some(0));
    let ran = pin(&program, &["history"]);
    assert!(ran.stdout.starts_with("  2026-11-21T12:00:00Z  vip"), "{}", ran.stdout);
    assert!(!file(&program).contains("831501951"), "{}", file(&program));
}

/// A limit on the size of files ends a write where a full disk would.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_keeps_the_pins_and_is_said() {
    let program = program();
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$P\" \"$@\"";
    let full = |value: &str| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script, "sh", "pin", "set", "vip", value, "--reason", "full"]);
        command
            .env_clear()
            .env("HOME", program.home())
            .env("P", env!("CARGO_BIN_EXE_rollgate"))
            .current_dir(program.home());
        super::ran(command, b"")
    };
    for before in [false, true] {
        if before {
            assert_eq!(pin(&program, &["set", "vip", "10.0.3.1", "--reason", "first"]).code, Some(0));
        }
        let text = file(&program);
        let ran = full("10.0.3.8");
        assert_eq!(ran.code, Some(4), "{}", ran.stderr);
        assert!(ran.stderr.contains("rollgate.pins.yaml: cannot write it"), "{}", ran.stderr);
        assert_eq!(file(&program), text);
        let left = std::fs::read_dir(program.home().join("pins")).expect("readable").count();
        assert_eq!(left, usize::from(before), "nothing half is left");
    }
}

/// The life of a secret that only the pin still has: encrypted for two, given back to one, and to nobody without a key.
#[test]
fn an_encrypted_pin_gives_a_secret_back_when_its_source_is_gone() {
    use age::secrecy::ExposeSecret as _;

    let [ours, second, stranger] = [(); 3].map(|()| age::x25519::Identity::generate());
    let program = program();
    let policy = |to: &str| {
        format!(
            "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nlateValues:\n  - {{name: word, secret: true, placeholders: [WORD_HERE], from: [{{file: w.txt}}]}}\n\
             pins: {{file: p.yaml, encryptTo: [{to}]}}\n"
        )
    };
    let text = |key: &age::x25519::Identity| key.to_string().expose_secret().to_owned();
    for (name, key) in [("ours.key", &ours), ("second.key", &second), ("stranger.key", &stranger)] {
        program.file(name, &format!("# created by a test\n{}\n", text(key)));
    }
    program.file("broken.key", "hunter2hunter2\n");
    let pins = || std::fs::read_to_string(program.home().join("p.yaml")).expect("pins");
    let stream = b"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {word: WORD_HERE}\n";
    let render = |env: &[(&str, &str)]| {
        let args = ["post-render", "--policy", "rollgate.yaml", "--live", "none", "--commit", "always"];
        let ran = program.run_with(&args, stream, env);
        for secret in ["hunter2hunter2", "correcthorse"] {
            assert!(!ran.stderr.contains(secret), "{}", ran.stderr);
        }
        assert!(!ran.stderr.contains("AGE-SECRET-KEY"), "{}", ran.stderr);
        ran
    };
    program.file("w.txt", "hunter2hunter2\n");
    // A seal alone, as all pins had it before, is made better by the next run.
    program.file("rollgate.yaml", &policy(""));
    assert_eq!(render(&[]).code, Some(0));
    assert!(!pins().contains("encrypted:"), "{}", pins());
    program.file("rollgate.yaml", &policy(&format!("{}, {}", ours.to_public(), second.to_public())));
    assert_eq!(render(&[]).code, Some(0));
    assert!(pins().contains("encrypted:") && pins().contains("sealed:1:") && !pins().contains("hunter2"), "{}", pins());
    let once = pins();
    assert_eq!((render(&[]).code, pins()), (Some(0), once), "encrypted once");

    std::fs::remove_file(program.home().join("w.txt")).expect("the source goes");
    for (variable, file) in [("ROLLGATE_AGE_KEY_FILE", "ours.key"), ("SOPS_AGE_KEY_FILE", "second.key")] {
        let path = program.home().join(file).display().to_string();
        let ran = render(&[(variable, &path)]);
        assert_eq!((ran.code, ran.stdout.contains("word: hunter2hunter2")), (Some(0), true), "{}", ran.stderr);
        assert!(ran.stderr.contains("a secret from pin"), "{}", ran.stderr);
    }
    let given = render(&[("SOPS_AGE_KEY", &text(&ours))]);
    assert_eq!(given.code, Some(0), "{}", given.stderr);
    let stranger = program.home().join("stranger.key").display().to_string();
    for env in [&[][..], &[("ROLLGATE_AGE_KEY_FILE", stranger.as_str())]] {
        let ran = render(env);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{}", ran.stderr);
    }
    for (file, said) in [("broken.key", "line 1 of"), ("none.key", "cannot read")] {
        let path = program.home().join(file).display().to_string();
        let ran = render(&[("ROLLGATE_AGE_KEY_FILE", &path)]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(said) && !ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
    // Another value under the seal of the first one is nobody's value.
    let keys = [("SOPS_AGE_KEY", text(&ours))];
    let keys: Vec<(&str, &str)> = keys.iter().map(|(name, key)| (*name, key.as_str())).collect();
    let of_before = pins();
    let ran = program.run_with(&["pin", "set", "word", "correcthorse", "--reason", "moved"], b"", &keys);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(render(&keys).stdout.contains("word: correcthorse"));
    let line =
        |text: &str, key: &str| text.lines().find(|line| line.trim().starts_with(key)).expect("a line").to_owned();
    let swapped = pins().replace(&line(&pins(), "encrypted:"), &line(&of_before, "encrypted:"));
    program.file("p.yaml", &swapped);
    let ran = render(&keys);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{}", ran.stderr);
    // Whom it is encrypted to is looked at before anything else.
    program.file("rollgate.yaml", &policy("age1nobody"));
    let ran = render(&keys);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("encryptTo") && ran.stderr.contains("age1nobody"), "{}", ran.stderr);
}
