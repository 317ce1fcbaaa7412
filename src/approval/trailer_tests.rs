//! Trailers of commits: what approves, and what lets nothing through.

use super::*;

fn person(name: &str) -> Person {
    Person { name: name.to_owned(), mail: format!("{name}@example.org") }
}

/// A commit that somebody made; what changes nothing carries trailers.
fn commit(hash: &str, who: &str, trailers: &[&str]) -> Commit {
    Commit {
        hash: hash.repeat(20),
        author: person(who),
        committer: person(who),
        others: Vec::new(),
        is_empty: !trailers.is_empty(),
        trailers: trailers.iter().map(|text| (*text).to_owned()).collect(),
        lines: trailers.len(),
        signature: Signature::By(format!("{who}@example.org")),
    }
}

const RULES: &str = r#"{"gitTrailer": "Rollgate-Approve"}"#;
const GOOD: &str = r#"{"id": "a1", "digest": "sha256:00", "gates": [{"gate": "rollout", "says": ["x"]}], "machines": 2, "reason": "CHG1", "time": "2026-11-21T10:00:00Z", "expires": "2026-11-22T10:00:00Z"}"#;

fn look(rules: &str, commits: Vec<Commit>) -> FoundLedger {
    let rules = serde_json::from_str(rules).expect("rules");
    found(&rules, "trailer Rollgate-Approve", Ok(commits))
}

/// The flaw and the sentence of the only thing that is no approval.
fn refused(found: &FoundLedger) -> (Flaw, &str) {
    assert!(found.approvals.is_empty(), "{found:#?}");
    let [one] = &found.malformed[..] else { panic!("{found:#?}") };
    (one.flaw, &one.why)
}

#[test]
fn somebody_else_than_the_author_approves() {
    let found = look(RULES, vec![commit("ab", "anna", &[GOOD]), commit("cd", "mia", &[])]);
    let [one] = &found.approvals[..] else { panic!("{found:#?}") };
    assert_eq!((one.id.as_str(), one.by.as_deref()), ("abababababab.a1", Some("anna@example.org")));
    assert_eq!((found.malformed, one.machines, one.once), (Vec::new(), Some(2), false));
}

#[test]
fn who_wrote_a_part_of_the_change_does_not_approve_it() {
    let also = |edit: fn(&mut Commit)| {
        let mut other = commit("cd", "mia", &[]);
        edit(&mut other);
        look(RULES, vec![commit("ab", "anna", &[GOOD]), other, commit("ef", "mia", &[])])
    };
    for edit in [
        |one: &mut Commit| one.author = person("anna"),
        |one: &mut Commit| one.committer = person("anna"),
        |one: &mut Commit| one.others = vec![person("anna")],
        |one: &mut Commit| one.author = Person { name: "x".to_owned(), mail: "ANNA@example.org".to_owned() },
        |one: &mut Commit| one.author = Person { name: "Anna".to_owned(), mail: "other@example.org".to_owned() },
    ] {
        let found = also(edit);
        let (flaw, why) = refused(&found);
        assert_eq!(flaw, Flaw::OwnChange);
        assert!(
            why.contains("anna@example.org>, who had a hand in commit cdcdcdcdcdcd") && why.contains("somebody else")
        );
    }
    // What changes nothing is no part of the change.
    let idle = also(|one| (one.author, one.is_empty) = (person("anna"), true));
    assert_eq!(idle.approvals.len(), 1);
    // The policy may say that it counts.
    let own = r#"{"gitTrailer": "Rollgate-Approve", "byAuthor": true}"#;
    assert_eq!(look(own, vec![commit("ab", "anna", &[GOOD]), commit("cd", "anna", &[])]).approvals.len(), 1);
    let mut changes = commit("ab", "anna", &[GOOD]);
    changes.is_empty = false;
    let found = look(RULES, vec![changes]);
    assert!(refused(&found).0 == Flaw::OwnChange && refused(&found).1.contains("it changes files itself"));
}

#[test]
fn a_name_that_nothing_proves_is_nobodys() {
    let with = |signature| {
        let mut one = commit("ab", "anna", &[GOOD]);
        one.signature = signature;
        one
    };
    for (signature, says) in [
        (Signature::NotAsked, "nobody looked at its signature"),
        (Signature::Nothing("it has no signature".to_owned()), "it has no signature"),
        (Signature::By("Mia <mia@example.org>".to_owned()), "signed by Mia <mia@example.org> and committed by anna"),
    ] {
        let found = look(RULES, vec![with(signature.clone())]);
        let (flaw, why) = refused(&found);
        assert!(flaw == Flaw::Unproven && why.contains(says), "{why}");
        // Where the policy wants no signature there is nothing to prove.
        let loose = r#"{"gitTrailer": "Rollgate-Approve", "signed": false}"#;
        assert_eq!(look(loose, vec![with(signature)]).approvals.len(), 1);
    }
    assert_eq!(look(RULES, vec![with(Signature::By("Anna A <Anna@example.org>".to_owned()))]).approvals.len(), 1);
    let mut rebased = commit("ab", "anna", &[GOOD]);
    rebased.committer = person("mia");
    let found = look(RULES, vec![rebased]);
    assert!(refused(&found).1.contains("written by anna <anna@example.org> and committed by mia"), "{found:#?}");
    let mut nameless = commit("ab", "anna", &[GOOD]);
    nameless.committer.mail = "anna\u{202e}@example.org".to_owned();
    assert_eq!(refused(&look(RULES, vec![nameless])).0, Flaw::Unproven);
}

#[test]
fn what_is_no_approval_lets_nothing_through_and_names_its_commit() {
    let huge = GOOD.replace("CHG1", &"x".repeat(MOST_BYTES));
    let many = vec![GOOD; MOST_IN_ONE + 1];
    let with = |from: &str, to: &str| GOOD.replace(from, to);
    for (texts, says) in [
        (vec!["yes please".to_owned()], "it is not written as {\"id\": ...}"),
        (vec![GOOD.get(..60).unwrap_or_default().to_owned()], "the trailer: "),
        (vec![with("CHG1", "\u{1b}[2Jx")], "characters that cannot be shown"),
        (vec![with("CHG1", "\\u001b[2Jx")], "characters that cannot be shown"),
        (vec![with("CHG1", "\\u202etxt")], "characters that cannot be shown"),
        (vec![huge], "65536 are the most"),
        (vec![with("\"id\"", "\"by\": \"berta\", \"id\"")], "by: an approval in a commit cannot say that"),
        (vec![with("\"id\"", "\"once\": true, \"id\"")], "once: an approval in a commit cannot say that"),
        (vec![with("\"id\"", "\"uses\": [], \"id\"")], "uses: an approval in a commit cannot say that"),
        (vec![with("\"id\"", "\"also\": 1, \"id\"")], "also: there is no such field here"),
        (vec![with("\"machines\": 2", "\"machines\": 2, \"machines\": 200")], "again"),
        (vec![with("\"CHG1\"", "\" \"")], "reason: say why"),
        (vec![with("2026-11-22", "2026-11-20")], "it would end before it was given"),
        (many.iter().map(|text| (*text).to_owned()).collect(), "it has 51 trailers"),
    ] {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = look(RULES, vec![commit("ab", "anna", &texts), commit("cd", "mia", &[])]);
        let (flaw, why) = refused(&found);
        assert!(flaw == Flaw::Form && why.contains(says), "{says}: {why}");
        assert_eq!(found.malformed[0].at, "commit abababababab");
    }
    // One that is good does not suffer from another, but two of one name are none.
    let found = look(RULES, vec![commit("ab", "anna", &[GOOD, "x"])]);
    assert_eq!((found.approvals.len(), found.malformed.len()), (1, 1));
    let twice = look(RULES, vec![commit("ab", "anna", &[GOOD]), commit("cd", "berta", &[GOOD])]);
    assert!(twice.approvals.is_empty() && twice.malformed.len() == 2, "{twice:#?}");
    let mut misplaced = commit("ab", "anna", &[]);
    misplaced.lines = 1;
    assert!(refused(&look(RULES, vec![misplaced])).1.contains("outside of the last paragraph"));
    let rules: ApprovalTrailer = serde_json::from_str(RULES).expect("rules");
    assert_eq!(found_unread(&rules).as_deref(), Some("shallow"));
}

fn found_unread(rules: &ApprovalTrailer) -> Option<String> {
    found(rules, "trailer X", Err("shallow".to_owned())).unread
}

#[test]
fn what_is_printed_is_read_again() {
    let mut approval = read(GOOD).expect("an approval");
    approval.by = Some("anna".to_owned());
    approval.reason = "CHG1: \"words\"".to_owned();
    let text = message("Rollgate-Approve", &approval).expect("a message");
    assert!(text.starts_with("Approve: CHG1: \"words\"\n\n") && text.contains("\nrollout x\n"), "{text}");
    let (_, trailer) = text.split_once("\n\nRollgate-Approve: ").expect("a trailer");
    assert_eq!(read(trailer.trim()).expect("readable"), Approval { by: None, ..approval.clone() });
    approval.reason = "one\nRollgate-Approve: two".to_owned();
    assert!(message("Rollgate-Approve", &approval).is_err());
    approval.reason = "once".to_owned();
    approval.once = true;
    assert!(message("Rollgate-Approve", &approval).is_err());
}
