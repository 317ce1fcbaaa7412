//! What a review is told was read, as more of it is heard.

use super::*;

const CLUSTER: (&str, &str) = ("cluster.x-k8s.io", "Cluster");

fn key(namespace: &str) -> Key {
    Key::new("cluster.x-k8s.io/v1beta2", CLUSTER.1, Some(namespace), "demo")
}

/// Whether a review in a namespace would see that a Cluster is not there.
fn shows(cache: &Cache, at: &str, of: &str) -> bool {
    cache.world(&key(at), [None, None], &Policy::default(), Timestamp::UNIX_EPOCH).coverage.shows(&key(of))
}

#[test]
fn a_review_is_told_what_was_read_when_it_asks() {
    let cache = Cache::of("demo");
    let clusters = Watched::of(GroupKind::new(CLUSTER.0, CLUSTER.1), "v1beta2", "clusters", true);
    let pool = GroupKind::new(CLUSTER.0, "MachinePool");
    cache.serves(std::slice::from_ref(&clusters), BTreeSet::from([pool.clone()]));
    assert!(!shows(&cache, "a", "a"), "its list is not read yet");
    cache.hear(&clusters, News::All(Vec::new()));
    for _ in 0..2 {
        assert!(shows(&cache, "a", "a") && shows(&cache, "b", "b") && !shows(&cache, "a", "b"));
    }
    let told = || cache.world(&key("a"), [None, None], &Policy::default(), Timestamp::UNIX_EPOCH).coverage;
    assert!(told().lacks(&pool));
    cache.serves(&[clusters, Watched::of(pool.clone(), "v1beta2", "machinepools", true)], BTreeSet::new());
    assert!(!told().lacks(&pool) && !told().has_list(&pool, "a"), "it is served now, and not read");
    cache.serves(&[], BTreeSet::from([pool.clone()]));
    assert!(told().lacks(&pool) && !shows(&cache, "a", "a"), "nobody reads it any more");
}

#[test]
fn what_one_review_notes_is_not_told_to_the_next() {
    let cache = Cache::of("demo");
    let mut world = cache.world(&key("a"), [None, None], &Policy::default(), Timestamp::UNIX_EPOCH);
    world.coverage.note_absent(key("a"));
    assert!(world.coverage.is_absent(&key("a")) && !shows(&cache, "a", "a"));
}

#[test]
fn what_is_told_to_many_namespaces_takes_little_room() {
    let cache = Cache::of("demo");
    (0..3 * MOST_TOLD).for_each(|at| assert!(!shows(&cache, &at.to_string(), "a")));
    let told = cache.read().told.lock().map(|told| told.len()).expect("no test panicked");
    assert!((1..=MOST_TOLD).contains(&told), "{told}");
}

/// A path that is not there any more is asked about at once, and anything else at the next round.
#[test]
fn a_kind_that_is_not_served_any_more_asks_for_a_look() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let looks = |why: &str| {
        let cache = Cache::of("demo");
        let clusters = Watched::of(GroupKind::new(CLUSTER.0, CLUSTER.1), "v1beta2", "clusters", true);
        cache.serves(std::slice::from_ref(&clusters), BTreeSet::new());
        let (what, remedy) = ("watch of Cluster".to_owned(), String::new());
        cache.hear(&clusters, News::Lost(Unread { what, why: why.to_owned(), remedy, keys: Vec::new() }));
        let since = Instant::now();
        runtime.block_on(cache.is_doubted(Duration::from_millis(300)));
        since.elapsed() < Duration::from_millis(200)
    };
    assert!(looks("not found (404), though the API server says that it has it"));
    assert!(!looks("no connection") && !looks("forbidden: the watch"));
}
