//! What went out counts for a day, once for each install, and of two at once only one takes what is left.

use super::*;
use crate::store::FileStore;

const FOUR: Limits = Limits { per_day: Some(4), per_cluster: None };

fn time(hour: i64) -> Timestamp {
    "2026-11-21T00:00:00Z".parse::<Timestamp>().expect("a time") + SignedDuration::from_hours(hour)
}

fn spent(release: &str, digest: &str, hour: i64, machines: impl Into<Option<u64>>) -> Spent {
    of(release, digest, hour, &[("c", machines.into())])
}

fn of(release: &str, digest: &str, hour: i64, clusters: &[(&str, Option<u64>)]) -> Spent {
    let clusters = clusters.iter().map(|(name, machines)| OfCluster {
        namespace: Some("ns".to_owned()),
        name: (*name).to_owned(),
        machines: *machines,
    });
    Spent {
        id: String::new(),
        time: time(hour),
        digest: digest.to_owned(),
        release: (!release.is_empty()).then(|| format!("ns/{release}")),
        by: Some("ci".to_owned()),
        clusters: clusters.collect(),
    }
    .named()
}

fn history(entries: &[Spent]) -> History {
    let mut history = History::default();
    for one in entries {
        history.spend(one, Limits::default(), None).expect("noted");
    }
    history
}

fn sums(over: &[Over]) -> Vec<(Option<&str>, u64, Option<u64>)> {
    over.iter().map(|one| (one.cluster.as_deref(), one.spent, one.now)).collect()
}

#[test]
fn what_went_out_counts_for_a_day_and_not_for_longer() {
    let before = history(&[spent("a", "1", 0, 2), spent("b", "2", 10, 1)]);
    assert_eq!(before.over(&spent("x", "9", 12, 1), FOUR), []);
    let over = before.over(&spent("x", "9", 12, 2), FOUR);
    assert_eq!(sums(&over), [(None, 3, Some(2))]);
    // The first two are a day old at midnight.
    assert_eq!(over[0].until, Some(time(24)));
    assert_eq!(before.over(&spent("x", "9", 23, 2), FOUR).len(), 1);
    assert_eq!(before.over(&spent("x", "9", 24, 2), FOUR), []);
    // What never fits says no time, and nothing at all always fits.
    assert_eq!(before.over(&spent("x", "9", 12, 5), FOUR)[0].until, None);
    assert_eq!(before.over(&spent("x", "9", 12, 0), Limits { per_day: Some(0), per_cluster: Some(0) }), []);
    // The clock of another machine is ahead.
    assert_eq!(history(&[spent("a", "1", 20, 4)]).over(&spent("x", "9", 12, 1), FOUR).len(), 1);
}

#[test]
fn what_nobody_could_count_is_too_many() {
    assert_eq!(sums(&History::default().over(&spent("x", "9", 0, None), FOUR)), [(None, 0, None)]);
    let before = history(&[spent("a", "1", 0, None)]);
    let over = before.over(&spent("x", "9", 1, 1), FOUR);
    assert_eq!((over[0].unknown, over[0].until), (1, Some(time(24))));
    assert!(over[0].to_string().contains("0 Machines went out, and 1 of unknown size; the policy allows 4 a day"));
}

#[test]
fn each_cluster_has_its_own_day() {
    let limits = Limits { per_day: None, per_cluster: Some(2) };
    let before = history(&[of("a", "1", 0, &[("c", Some(2)), ("d", Some(1))])]);
    let over = before.over(&of("x", "9", 1, &[("c", Some(1)), ("d", Some(1)), ("e", Some(3))]), limits);
    assert_eq!(sums(&over), [(Some("ns/c"), 2, Some(1)), (Some("ns/e"), 0, Some(3))]);
    assert!(over[0].to_string().starts_with("1 Machine of ns/c would be"), "{}", over[0]);
}

#[test]
fn an_install_that_is_tried_again_counts_once() {
    let mut history = history(&[spent("a", "1", 0, 3)]);
    let again = spent("a", "1", 5, 2);
    assert_eq!(history.over(&again, FOUR), []);
    history.spend(&again, FOUR, Some(&[])).expect("noted");
    assert_eq!(history.entries().len(), 1);
    // It counts from its last try on, with all that it was to take.
    assert_eq!((history.entries()[0].time, history.entries()[0].clusters[0].machines), (time(5), Some(3)));
    // Another release, another change, or the same with another between is another one.
    for other in
        [spent("b", "1", 6, 2), spent("a", "2", 6, 2), spent("", "1", 6, 2), of("a", "1", 6, &[("d", Some(2))])]
    {
        assert_eq!(history.over(&other, FOUR).len(), 1, "{other:?}");
    }
    history.spend(&spent("a", "2", 6, 1), FOUR, None).expect("noted");
    assert_eq!(history.over(&spent("a", "1", 7, 1), FOUR).len(), 1, "there, back, and there again");
    // A release that nobody knows is never known again.
    let nameless = self::history(&[spent("", "1", 0, 3)]);
    assert_eq!(nameless.over(&spent("", "1", 1, 3), FOUR).len(), 1);
}

#[test]
fn what_was_judged_may_be_gone_when_it_is_noted() {
    let mut history = History::default();
    let (one, two) = (spent("a", "1", 1, 3), spent("b", "2", 1, 3));
    history.spend(&one, FOUR, Some(&[])).expect("noted");
    let gone = history.spend(&two, FOUR, Some(&[])).expect_err("nothing is left");
    assert!(gone.to_string().starts_with("another install went out meanwhile: 3 Machines would be"), "{gone}");
    assert_eq!(history.entries(), std::slice::from_ref(&one));
    // What was approved goes out, and no more than that.
    let approved = history.over(&two, FOUR);
    history.spend(&two, FOUR, Some(&approved)).expect("approved");
    assert!(history.spend(&spent("c", "3", 1, 3), FOUR, Some(&approved)).is_err());
    assert_eq!(history.entries(), [one, two]);
}

#[test]
fn a_file_and_an_object_say_what_was_noted() {
    let all = history(&[spent("a", "1", 0, 2), of("b", "2", 1, &[("c", None), ("d", Some(1))])]);
    let text = all.render("h.yaml", b"").expect("text");
    assert_eq!(History::parse("h.yaml", text.as_bytes()).expect("a history"), all);
    assert_eq!(History::of_data("ConfigMap a/b", &all.data()).expect("a history"), all);
    assert_eq!(History::parse("h.yaml", b"").expect("nothing yet"), History::default());
    for (broken, says) in [
        (text.replace("History", "Approvals"), "kind History"),
        (text.replace("\"digest\"", "\"digests\""), "digests: there is no such field"),
        (text.replace("\"machines\":2", "\"machines\":-2"), "machines"),
        ("entries: [".to_owned(), "h.yaml: "),
    ] {
        let error = History::parse("h.yaml", broken.as_bytes()).expect_err(&broken);
        assert!(error.to_string().contains(says), "{says}: {error}");
    }
    let mut data = all.data();
    let text = data.pop_first().expect("an entry").1;
    data.insert("another".to_owned(), text);
    assert!(History::of_data("ConfigMap a/b", &data).is_err());
}

#[test]
fn it_stays_bounded_and_never_forgets_the_last_day() {
    let mut history = History::default();
    let step = SignedDuration::from_secs(3600);
    for number in 0..1_500 {
        let mut one = spent("a", &number.to_string(), 0, 1);
        one.time = time(0) + step * number;
        history.spend(&one.named(), Limits::default(), None).expect("noted");
    }
    assert!(history.entries().len() <= 24 * 30, "{}", history.entries().len());
    let mut busy = History::default();
    let full = (0..2_000).find_map(|number| {
        let one = spent("a", &number.to_string(), 1, 1);
        busy.spend(&one, Limits::default(), None).err()
    });
    assert!(matches!(full, Some(HistoryError::Full { count: MOST })), "{full:?}");
}

#[test]
fn of_fifty_at_once_as_many_go_out_as_the_budget_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let store: FileStore<History> = FileStore::new(folder.path().join("h.yaml"));
    let done: Vec<bool> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..50)
            .map(|number| {
                let store = store.clone();
                scope.spawn(move || {
                    let one = spent(&format!("r{number}"), "1", 1, 2);
                    store.update(|history| history.spend(&one, FOUR, Some(&[]))).is_ok()
                })
            })
            .collect();
        all.into_iter().map(|one| one.join().expect("no panic")).collect()
    });
    assert_eq!(done.iter().filter(|done| **done).count(), 2);
    assert_eq!(store.read().expect("a history").entries().len(), 2);
}
