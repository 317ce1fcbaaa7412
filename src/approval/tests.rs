//! Ledgers as files and as texts of an object: what is given, used and revoked stands there, and nothing else moves.

use super::*;
use crate::store::FileStore;
use crate::tree::json;

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn given(id: &str, once: bool) -> Approval {
    crate::tree::from_value(
        json!({"id": id, "digest": "sha256:00", "gates": [{"gate": "rollout", "says": ["cp: rolls"]}],
        "clusters": [{"namespace": "demo", "name": "c", "uid": "u1"}], "machines": 3, "reason": "CHG1: \"upgrade\"",
        "by": "anna", "time": "2026-11-21T10:00:00Z", "expires": "2026-11-22T10:00:00Z", "once": once}),
    )
    .expect("an approval")
}

fn used(at: &str) -> Use {
    Use { time: time(at), by: Some("ci".to_owned()) }
}

/// A file that `change` is applied to.
fn after(before: &str, change: impl Fn(&mut Ledger) -> Result<(), LedgerError>) -> Result<String, LedgerError> {
    let mut ledger = Ledger::parse("a.yaml", before.as_bytes())?;
    change(&mut ledger)?;
    ledger.render("a.yaml", before.as_bytes())
}

const HEAD: &str = "apiVersion: rollgate.dev/v1alpha1\nkind: Approvals\n";

#[test]
fn the_first_approval_makes_the_file_and_the_next_one_joins_it() {
    let first = after("", |ledger| ledger.give(given("a1", false), false)).expect("written");
    assert!(first.starts_with("# What people have approved.") && first.contains("\n  - id: \"a1\"\n"), "{first}");
    let second = after(&first, |ledger| ledger.give(given("b2", true), false)).expect("written");
    assert!(second.starts_with(&first), "{second}");
    let ledger = Ledger::parse("a.yaml", second.as_bytes()).expect("approvals");
    assert_eq!(ledger.approvals(), [given("a1", false), given("b2", true)]);
}

#[test]
fn comments_order_and_spelling_stay_whatever_the_file_looks_like() {
    let entry = "id: 'h'   # by hand\n    digest: sha256:11\n    gates: []  # none\n    # why:\n    reason: |\n      two\n      lines\n    time: \"2026-11-21T10:00:00Z\"\n    expires: \"2026-11-22T10:00:00Z\"\n";
    let flow = "{id: h, digest: 'sha256:11', gates: [], reason: x, time: \"2026-11-21T10:00:00Z\", expires: \"2026-11-22T10:00:00Z\"}";
    for before in [
        format!("{HEAD}approvals:\n  # ours\n  - {entry}# the end\n"),
        format!("{HEAD}approvals:\n- {}", entry.replace("\n    ", "\n  ")),
        format!("# top\napprovals: # here\n  - {entry}kind: Approvals # late\napiVersion: rollgate.dev/v1alpha1\n"),
        format!("{HEAD}approvals: [{flow}] # one\n"),
        format!("{HEAD}approvals:\n  - {flow}"),
        format!("{HEAD}approvals: [] # none yet\n"),
        format!("{HEAD}approvals:   # none yet\n"),
        HEAD.to_owned(),
        "# only words\n".to_owned(),
        format!("approvals: []\n{HEAD}"),
    ] {
        let text = after(&before, |ledger| ledger.give(given("n1", true), false)).expect(&before);
        let mut rest = text.as_str();
        for part in before.split_inclusive('\n').flat_map(|line| line.split("[]").next()) {
            let part = part.trim_end();
            let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} went\n{text}"));
            rest = &rest[at + part.len()..];
        }
        assert!(text.matches('#').count() >= before.matches('#').count(), "{text}");
        let taken = after(&text, |ledger| ledger.take(&given("n1", true), &used("2026-11-21T11:00:00Z"))).expect(&text);
        assert!(taken.contains("\"by\": ci") || taken.contains("\"by\":\"ci\""), "{taken}");
        for line in text.lines().filter(|line| line.contains('#')) {
            let words = line.split_once('#').map(|(_, words)| words).unwrap_or_default();
            assert!(taken.contains(words), "{words:?} went\n{taken}");
        }
        let ledger = Ledger::parse("a.yaml", taken.as_bytes()).expect("approvals");
        let last = ledger.approvals().iter().find(|one| one.id == "n1").expect("the new one");
        assert!(
            last.ended(time("2026-11-21T12:00:00Z")).expect("used").contains("used up at 2026-11-21T11:00:00Z by ci")
        );
    }
}

#[test]
fn a_file_that_cannot_be_added_to_is_left_as_it_is() {
    for before in ["{apiVersion: rollgate.dev/v1alpha1, kind: Approvals}\n", "x: 1\n", "- a\n"] {
        let error = after(before, |ledger| ledger.give(given("n1", true), false)).expect_err(before).to_string();
        assert!(error.starts_with("a.yaml"), "{error}");
    }
}

#[test]
fn a_key_that_stands_twice_is_an_error_and_what_is_no_approval_is_named() {
    let twice = format!("{HEAD}approvals: []\napprovals: []\n");
    let error = Ledger::parse("a.yaml", twice.as_bytes()).expect_err("twice").to_string();
    assert!(error.starts_with("a.yaml:4:1: the key \"approvals\" stands here again"), "{error}");
    let odd = format!("{HEAD}approved: []\n");
    assert!(
        Ledger::parse("a.yaml", odd.as_bytes())
            .expect_err("odd")
            .to_string()
            .contains("approved: there is no such field")
    );

    let text = after("", |ledger| ledger.give(given("a1", false), false)).expect("written");
    let text = format!("{text}  - id: b2\n    reason: x\n  - just words\n");
    let ledger = Ledger::parse("a.yaml", text.as_bytes()).expect("approvals");
    assert_eq!(ledger.approvals().len(), 1);
    let said: Vec<String> = ledger.malformed().iter().map(|one| format!("{}: {}", one.at, one.why)).collect();
    assert!(said[0].starts_with("a.yaml:14: ") && said[0].contains("digest"), "{said:?}");
    assert!(said[1].starts_with("a.yaml:16: "), "{said:?}");
    // They stay where they are when one is added.
    let more = after(&text, |ledger| ledger.give(given("c3", false), false)).expect("written");
    assert!(more.starts_with(&text), "{more}");
}

#[test]
fn two_approvals_of_one_name_let_nothing_through() {
    let mut text = after("", |ledger| ledger.give(given("a1", false), false)).expect("written");
    let entry = text[text.find("  - id").expect("an entry")..].to_owned();
    text.push_str(&entry);
    let ledger = Ledger::parse("a.yaml", text.as_bytes()).expect("approvals");
    assert!(ledger.approvals().is_empty() && ledger.malformed()[0].why.contains("more than once"));
}

#[test]
fn what_ended_says_so_and_cannot_be_used() {
    let now = "2026-11-21T12:00:00Z";
    let revoked = Revoked { time: time("2026-11-21T11:00:00Z"), by: None, reason: "the window moved".to_owned() };
    let mut ledger = Ledger::default();
    ["a1", "b2", "c3"].into_iter().for_each(|id| ledger.give(given(id, id == "b2"), true).expect("room"));
    ledger.revoke("a1", &revoked).expect("there");
    ledger.take(&given("b2", true), &used(now)).expect("good");
    for (id, once, at, why) in [
        ("a1", false, now, "it was revoked at 2026-11-21T11:00:00Z: the window moved"),
        ("b2", true, now, "it was for one install, and was used up"),
        ("c3", false, "2026-11-22T10:00:00Z", "it ended at 2026-11-22T10:00:00Z"),
        ("d4", false, now, "there is no approval d4"),
    ] {
        let error = ledger.take(&given(id, once), &used(at)).expect_err(id).to_string();
        assert!(error.contains(why), "{error}");
    }
    let other = Approval { digest: "sha256:11".to_owned(), ..given("c3", false) };
    assert!(ledger.take(&other, &used(now)).expect_err("another").to_string().contains("not the one that was judged"));
    assert!(ledger.revoke("a1", &revoked).is_err());
    ledger.take(&given("c3", false), &used(now)).expect("good for many");
    ledger.take(&given("c3", false), &used(now)).expect("good for many, judged before the first use");
}

#[test]
fn an_object_keeps_what_is_no_approval_and_forgets_what_ended_first() {
    let mut data = BTreeMap::from([("x".to_owned(), "words".to_owned()), ("y".to_owned(), json(&given("z9", false)))]);
    let mut ledger = Ledger::of_data("ConfigMap demo/a", &data).expect("readable");
    let said: Vec<&str> = ledger.malformed().iter().map(|one| one.at.as_str()).collect();
    assert_eq!(said, ["ConfigMap demo/a, key x", "ConfigMap demo/a, key y"]);
    for number in 0..300 {
        let approval = given(&format!("n{number}"), true);
        ledger.give(approval.clone(), true).expect("room");
        if number < 299 {
            ledger.take(&approval, &used("2026-11-21T09:00:00Z")).expect("good");
        }
    }
    assert_eq!(ledger.approvals().len(), MOST);
    assert_eq!(ledger.approvals().last().map(|one| one.id.as_str()), Some("n299"));
    data = ledger.data();
    assert_eq!((data["x"].as_str(), data.len()), ("words", MOST + 2));
    let mut good = Ledger::default();
    let error = (0..=MOST).find_map(|number| good.give(given(&format!("n{number}"), false), true).err());
    assert!(error.expect("full").to_string().contains("200 approvals are still good"));
}

#[test]
fn of_fifty_concurrent_uses_of_a_single_use_one_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let store: FileStore<Ledger> = FileStore::new(folder.path().join("approvals.yaml"));
    store.update(|ledger| ledger.give(given("a1", true), false)).expect("written");
    let answers: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..50)
            .map(|_| {
                let (store, one) = (store.clone(), given("a1", true));
                scope.spawn(move || {
                    let take = |ledger: &mut Ledger| ledger.take(&one, &used("2026-11-21T11:00:00Z"));
                    store.update(take).map_err(|error| error.to_string())
                })
            })
            .collect();
        takers.into_iter().map(|taker| taker.join().expect("no panic")).collect()
    });
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    for error in answers.into_iter().filter_map(Result::err) {
        assert!(error.contains("used up at 2026-11-21T11:00:00Z by ci"), "{error}");
    }
}
