//! A report of any size fits where it is shown, and says what it leaves out.

use serde_json::{Value, json};

use super::super::Program;
use super::{readers, report, reports, written, written_all};

/// A report of so many objects, each with a reason, an owner that rolls and a finding.
fn large(count: usize) -> Value {
    let (_, mut tree) = reports().into_iter().find(|(name, _)| name == "kcp-vip-moved").expect("the scenario");
    for list in ["objects", "reasons", "rollouts"] {
        let one = tree[list][0].clone();
        let many = (0..count).map(|at| {
            let mut one = one.clone();
            for place in ["/name", "/object/name", "/owner/name"] {
                if let Some(name) = one.pointer_mut(place) {
                    *name = format!("edge-{at}").into();
                }
            }
            one
        });
        tree[list] = many.collect();
    }
    let finding = |at: usize| json!({"id": "pending-rollout", "object": {"kind": "A", "name": format!("edge-{at}")}, "message": "m"});
    tree["findings"] = (0..count).map(finding).collect();
    tree["warnings"] = (0..count).map(|at| json!(format!("warning {at}"))).collect();
    tree
}

#[test]
fn a_comment_fits_and_counts_what_it_leaves_out() {
    let text = written("markdown", &report(&large(2000)));
    readers::check("markdown", &text).expect("Markdown");
    assert!(text.len() <= 65_536 && text.len() > 50_000, "{} bytes", text.len());
    let left = text.lines().find(|line| line.contains("Left out")).expect("what is left out");
    for noun in ["reasons", "owners", "objects", "findings", "warnings"] {
        assert!(left.contains(noun), "{left}");
    }
    // What is shown and what is counted is all there is.
    let shown = text.matches("<details>").count();
    let count = regex::Regex::new("([0-9]+) objects").expect("a regular expression");
    let counted: usize = count.captures(left).and_then(|found| found[1].parse().ok()).expect("a count");
    assert_eq!(shown + counted, 2000, "{left}");
}

#[test]
fn a_small_report_leaves_nothing_out() {
    for (name, tree) in reports() {
        let text = written("markdown", &report(&tree));
        assert!(!text.contains("Left out, as a comment"), "{name}: {text}");
    }
}

#[test]
fn a_step_has_no_more_than_ten_annotations_of_a_type_and_counts_the_others() {
    let commands = readers::github(&written("github", &report(&large(2000)))).expect("commands");
    let errors: Vec<_> = commands.iter().filter(|command| command.name == "error").collect();
    assert_eq!(errors.len(), 10);
    // The verdict, eight of them, and the count of the rest.
    assert!(errors[9].message.starts_with("1992 more"), "{:?}", errors[9]);
    let warnings: Vec<_> = commands.iter().filter(|command| command.name == "warning").collect();
    assert_eq!(warnings.len(), 10);
    assert!(warnings[9].message.starts_with("3991 more"), "{:?}", warnings[9]);
}

#[test]
fn more_results_than_code_scanning_takes_are_left_out_and_told() {
    let log: Value = serde_json::from_str(&written("sarif", &report(&large(26_000)))).expect("JSON");
    let run = &log["runs"][0];
    assert_eq!(run["results"].as_array().map(Vec::len), Some(25_000));
    let notes = run["invocations"][0]["toolExecutionNotifications"].to_string();
    assert!(notes.contains("27000 results are left out"), "{}", &notes[notes.len() - 300..]);
}

#[test]
fn a_summary_of_a_step_takes_the_room_that_is_left() {
    let program = Program::new();
    program.file("old.yaml", super::super::MACHINE_DEPLOYMENT);
    program.file("new.yaml", &super::super::MACHINE_DEPLOYMENT.replace("v1.31.0", "v1.32.0"));
    let args = ["plan", "new.yaml", "--live", "old.yaml", "--policy", "none", "-o", "github"];
    let file = program.file("summary.md", "before\n");
    let env = [("GITHUB_STEP_SUMMARY", file.to_str().expect("text"))];
    let ran = program.run_with(&args, b"", &env);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let text = std::fs::read_to_string(&file).expect("the summary");
    assert!(text.starts_with("before\n<!-- rollgate:") && text.contains("rollgate: hold"), "{text}");
    let errors = readers::github(&ran.stdout).expect("commands");
    assert_eq!(
        errors[1].properties[..2],
        [("file".to_owned(), "new.yaml".to_owned()), ("line".to_owned(), "10".to_owned())]
    );
    // One that is full stays as it is: GitHub shows nothing of a summary that is too long.
    std::fs::write(&file, "x".repeat(1_048_576)).expect("written");
    assert_eq!(program.run_with(&args, b"", &env).code, Some(3));
    assert_eq!(std::fs::metadata(&file).expect("the summary").len(), 1_048_576);
    // A link is not followed, and what cannot be written is an error.
    let link = program.home().join("link.md");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    let ran = program.run_with(&args, b"", &[("GITHUB_STEP_SUMMARY", link.to_str().expect("text"))]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("links are not followed"), "{}", ran.stderr);
}

#[test]
fn a_comment_about_many_releases_fits_names_each_and_counts_what_it_leaves_out() {
    let reports: Vec<_> = (0..40)
        .map(|at| {
            let mut tree = large(if at == 20 { 500 } else { 1 });
            tree["host"]["release"] = format!("edge-{at}").into();
            report(&tree)
        })
        .collect();
    let text = written_all("markdown", &reports);
    readers::check("markdown", &text).expect("Markdown");
    assert!(text.len() <= 65_536 && text.len() > 20_000, "{} bytes", text.len());
    assert!((0..40).all(|at| text.contains(&format!("/edge-{at}</code>"))), "{text}");
    assert!(text.contains("Left out, as a comment may not be longer"), "{text}");
    let errors = readers::github(&written_all("github", &reports)).expect("commands");
    assert!(errors.iter().filter(|command| command.name == "error").count() <= 10);
}
