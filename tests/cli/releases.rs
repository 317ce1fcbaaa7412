//! Several releases in one run: which are judged, by what, and that each format says all of it.

use serde_json::Value;

use super::MACHINE_DEPLOYMENT;
use super::formats::readers;
use super::inputs::Home;

/// Three releases: a chart twice, and files.
const RELEASES: &str = "apiVersion: rollgate.dev/v1alpha1
kind: Policy
releases:
- {name: one, namespace: ns, chart: chart, values: [one.yaml], live: was.yaml}
- {name: two, namespace: ns, chart: chart, values: [two.yaml], live: was.yaml}
- {name: files, namespace: other, paths: [files], live: none}
";

fn listed() -> Home {
    let home = Home::new();
    home.file("rollgate.yaml", RELEASES);
    home.file("one.yaml", "version: v1.31.0\n");
    home.file("two.yaml", "version: v1.32.0\n");
    home.file("was.yaml", MACHINE_DEPLOYMENT);
    home.file("files/a.yaml", MACHINE_DEPLOYMENT);
    home
}

#[test]
fn several_releases_are_one_run_with_the_worst_exit_code() {
    let home = listed();
    let files: Vec<String> = ["json", "markdown", "sarif", "junit", "gitlab", "github", "html"]
        .iter()
        .map(|format| format!("-o={format}=out.{format}"))
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let ran = home.run(&[&["plan", "--all", "-o", "human"], &files[..]].concat());
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("rollgate: hold  3 releases: 1 hold, 2 allow\n"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("rollgate: hold  3 releases: 1 hold, 2 allow\n"), "{}", ran.stdout);
    for release in ["release ns/one\n", "release ns/two\n", "release other/files\n"] {
        assert!(ran.stdout.contains(release), "{}", ran.stdout);
    }
    let text = |format: &str| std::fs::read_to_string(home.0.home().join(format!("out.{format}"))).expect(format);
    for format in ["markdown", "sarif", "junit", "gitlab", "github", "html"] {
        readers::check(format, &text(format)).unwrap_or_else(|fault| panic!("{format}: {fault}\n{}", text(format)));
        assert!(text(format).contains("ns/two"), "{format}: {}", text(format));
    }
    let list: Value = serde_json::from_str(&text("json")).expect("a list");
    assert_eq!(
        (&list["kind"], &list["decision"], &list["effect"]),
        (&"ReportList".into(), &"hold".into(), &"rollout".into())
    );
    let releases: Vec<&Value> =
        list["items"].as_array().expect("items").iter().map(|one| &one["host"]["release"]).collect();
    assert_eq!(releases, ["one", "two", "files"]);
    let schema = home.run(&["schema", "report-list"]);
    let validator = jsonschema::validator_for(&serde_json::from_str(&schema.stdout).expect("JSON")).expect("a schema");
    let faults: Vec<String> = validator.iter_errors(&list).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    // A place is named from here, wherever the policy was found.
    assert_eq!(list["items"][2]["objects"][0]["location"]["file"], "files/a.yaml");
    // One comment is found again whichever of its releases is judged worse.
    assert!(text("markdown").starts_with("<!-- rollgate:releases -->\n"), "{}", text("markdown"));
}

#[test]
fn a_place_beside_the_policy_is_called_as_a_repository_calls_it() {
    let home = listed();
    let policy = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nreleases:\n- {name: a, paths: [../files/a.yaml], live: ../was.yaml}\n\
                  - {name: b, paths: [../linked/../files/a.yaml], live: none}\n";
    home.file("sub/rollgate.yaml", policy);
    home.file("else/where/x.yaml", MACHINE_DEPLOYMENT);
    home.file("else/files/a.yaml", MACHINE_DEPLOYMENT);
    std::os::unix::fs::symlink("else/where", home.0.home().join("linked")).expect("a link");
    let ran = home.run(&["plan", "--all", "--policy", "sub/rollgate.yaml", "-o", "json"]);
    let list: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    assert_eq!(list["items"][0]["live"]["source"], "was.yaml");
    // Behind a link `..` is another folder: what is read is said.
    assert_eq!(list["items"][1]["objects"][0]["location"]["file"], "sub/../linked/../files/a.yaml");
}

#[test]
fn two_releases_with_one_name_are_told_apart_in_every_finding() {
    let home = listed();
    let both = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nreleases:\n- {name: one, namespace: ns, chart: chart, values: [two.yaml], live: was.yaml}\n- {name: one, namespace: ns, chart: chart, values: [two.yaml], live: old.yaml}\n";
    home.file("rollgate.yaml", both);
    let ran = home.run(&["plan", "--all", "-o", "gitlab"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let list: Vec<Value> = serde_json::from_str(&ran.stdout).expect("a list");
    let prints: std::collections::BTreeSet<&str> = list.iter().filter_map(|one| one["fingerprint"].as_str()).collect();
    assert_eq!(prints.len(), list.len(), "{list:#?}");
    assert!(ran.stdout.contains("was.yaml)") && ran.stdout.contains("old.yaml)"), "{}", ran.stdout);
}

#[test]
fn one_of_several_releases_is_chosen_by_its_name() {
    let home = listed();
    let ran = home.run(&["plan", "--all", "--release", "one", "-n", "ns"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let ran = home.run(&["plan", "--all", "--release", "three"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("no release to judge"), "{}", ran.stderr);
}

#[test]
fn a_release_that_cannot_be_judged_ends_the_run_without_a_report() {
    let home = listed();
    std::fs::remove_file(home.0.home().join("one.yaml")).expect("removed");
    let ran = home.run(&["plan", "--all", "-o", "json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("release ns/one: ") && ran.stderr.contains("one.yaml: no such file"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("release ns/two"), "{}", ran.stderr);
}

#[test]
fn what_a_list_of_releases_may_not_say_is_said_with_its_line() {
    let home = Home::new();
    let head = "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\nreleases:\n";
    for (list, words) in [
        ("- {name: a}\n", "4:3: releases[0]: nothing says what it is rendered from"),
        ("- {name: a, chart: c, paths: [p]}\n", "releases[0].paths: it has a chart already"),
        ("- {name: a, paths: [p], values: [v]}\n", "releases[0].values: only a chart takes values"),
        ("- {name: a, chart: c}\n- {name: a, chart: d}\n", "5:3: releases[1]: release a is listed twice"),
        ("- {name: '', chart: c}\n", "releases[0].name: a release has a name"),
    ] {
        home.file("rollgate.yaml", &format!("{head}{list}"));
        let ran = home.run(&["policy", "check"]);
        assert!(ran.code == Some(2) && ran.stderr.contains(words), "{list}: {}", ran.stderr);
    }
}

#[test]
fn the_releases_of_a_change_are_judged_as_the_base_says() {
    let home = listed();
    home.branch();
    // A release more with a file of its own, another version of an old one, and a policy that would let everything through.
    let more = format!(
        "{}- {{name: three, namespace: ns, chart: chart, values: [three.yaml]}}\ngates: {{rollout: allow}}\n",
        RELEASES
    );
    home.file("rollgate.yaml", &more);
    home.file("one.yaml", "version: v1.33.0\n");
    home.file("three.yaml", "version: v1.34.0\n");
    home.commit();
    let ran = home.run(&["plan", "--all", "--base-ref", "main", "-o", "json"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    let list: Value = serde_json::from_str(&ran.stdout).expect("a list");
    let said: Vec<(&str, &str)> = list["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|one| (one["host"]["release"].as_str().unwrap_or_default(), one["decision"].as_str().unwrap_or_default()))
        .collect();
    // Each says that the change opens a gate of its own policy.
    assert_eq!(said, [("one", "hold"), ("two", "allow"), ("files", "allow"), ("three", "allow")]);
    assert_eq!(list["items"][1]["reasons"][0]["gate"], "policy");
    assert_eq!(list["items"][3]["objects"][0]["action"], "create");
    assert_eq!(list["items"][0]["policy"]["source"], "main:rollgate.yaml");
    assert!(!ran.stdout.contains("/head/") && !ran.stdout.contains("/rendered-"), "{}", ran.stdout);
}

#[test]
fn a_release_that_is_listed_for_the_first_time_is_compared_with_what_its_chart_was() {
    let home = listed();
    home.file("rollgate.yaml", "apiVersion: rollgate.dev/v1alpha1\nkind: Policy\n");
    home.branch();
    home.file("rollgate.yaml", RELEASES);
    home.file("one.yaml", "version: v1.33.0\n");
    home.commit();
    let ran = home.run(&["plan", "--all", "--base-ref", "main"]);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("v1.31.0 -> v1.33.0"), "{}", ran.stdout);
}

#[test]
fn a_release_that_a_change_takes_from_the_list_is_undecided_unless_the_base_lets_it() {
    for (unseen, code) in [("undecided", 4), ("warn", 0), ("allow", 0)] {
        let home = listed();
        let policy = |list: &str| format!("{list}unseen: {{release: {unseen}}}\n");
        home.file("rollgate.yaml", &policy(RELEASES));
        home.branch();
        let fewer: String =
            RELEASES.lines().filter(|line| !line.contains("name: two")).map(|line| format!("{line}\n")).collect();
        home.file("rollgate.yaml", &policy(&fewer));
        home.commit();
        let ran = home.run(&["plan", "--all", "--base-ref", "main"]);
        assert_eq!(ran.code, Some(code), "{unseen}: {}{}", ran.stdout, ran.stderr);
        let said = "release ns/two is listed in main and no longer in the change";
        let told = format!("{}{}", ran.stdout, ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(told.contains(said), unseen != "allow", "{unseen}: {told}");
    }
}

#[test]
fn what_leads_out_of_the_repository_is_not_read() {
    let home = listed();
    let outside = tempfile::tempdir().expect("a folder");
    let secret = outside.path().join("secret.yaml");
    std::fs::write(&secret, MACHINE_DEPLOYMENT).expect("written");
    let secret = secret.display().to_string();
    home.file("files/a.yaml", MACHINE_DEPLOYMENT);
    home.branch();
    std::os::unix::fs::symlink(&secret, home.0.home().join("files/link.yaml")).expect("a link");
    home.commit();
    let ran = home.run(&["plan", "--base-ref", "main", "files"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("in HEAD: files/link.yaml leads out of the repository"), "{}", ran.stderr);
    home.git(&["rm", "--quiet", "files/link.yaml"]);
    for entry in
        [format!("paths: [{secret}]"), format!("chart: chart, values: [{secret}]"), "paths: [../../../etc]".to_owned()]
    {
        home.file("rollgate.yaml", &format!("{RELEASES}- {{name: more, {entry}}}\n"));
        home.commit();
        let ran = home.run(&["plan", "--all", "--base-ref", "main"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{entry}: {}", ran.stderr);
        assert!(ran.stderr.contains("release more") && ran.stderr.contains("out"), "{entry}: {}", ran.stderr);
    }
}

#[test]
fn a_change_of_one_of_several_releases_is_approved_from_their_report() {
    let home = listed();
    home.file("rollgate.yaml", &format!("{RELEASES}approvals: {{from: [{{file: yes.yaml}}]}}\n"));
    let ran = home.run(&["plan", "--all", "-o", "json=all.json"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let text = std::fs::read_to_string(home.0.home().join("all.json")).expect("a list");
    let list: Value = serde_json::from_str(&text).expect("JSON");
    let digest = list["items"][1]["digest"].as_str().expect("a digest");
    std::fs::remove_dir_all(home.0.home().join(".local")).expect("the reports of this machine");
    let given = home.run(&["approve", digest, "--report", "all.json", "--reason", "x"]);
    assert_eq!(given.code, Some(0), "{}", given.stderr);
    let ran = home.run(&["plan", "--all"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}
