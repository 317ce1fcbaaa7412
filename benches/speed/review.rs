//! What one object of an admission review costs, judged from a warm cache in this process: times of many, and the blocks of
//! memory that one takes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use rollgate::facade::host::Host;
use rollgate::facade::object::Stream;
use rollgate::facade::serve::cache::Cache;
use rollgate::facade::serve::judge::{Doubtful, Judge, Manner, Mode};
use rollgate::facade::serve::review;
use rollgate::facade::session::{InForce, Setup, Untold, Whence};
use rollgate::facade::tree::Value;
use rollgate::facade::world::{Provider, files};
use serde_json::json;
use tokio::time::Duration;

use crate::measure::Median;

/// Counts blocks of memory while a profiler lives; that of the system else. The program itself has another one.
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Reviews that are timed.
const REVIEWS: usize = 3000;

/// Median, best and p99 (as memory has none, `mib` is 0) of one review, and the blocks that it takes.
pub(crate) struct Review {
    pub(crate) median: Median,
    pub(crate) p99: f64,
    pub(crate) blocks: u64,
}

/// A control plane whose drain is given more time: nothing is replaced, and everything is asked.
pub(crate) fn measure() -> Review {
    let live = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/scenarios/expected-elsewhere/live.yaml");
    let mut world = files::open(&live, &Host::default(), Timestamp::now()).expect("a World").world;
    // Who watches a cluster has read which versions it runs; the file does not say.
    let provider = Provider { version: "v1.14.2".to_owned(), evidence: "read".to_owned() };
    world.providers.insert("cluster-api".to_owned(), provider);
    let policy = InForce::of(Some("none"), Untold::Refuse, Whence::default()).expect("no policy");
    let setup = Setup::new(policy, BTreeMap::new()).expect("no key is told");
    let manner = Manner { mode: Mode::Enforce, undecided: Doubtful::Hold, not_ready: Doubtful::Hold };
    let judge = Arc::new(Judge::new(&setup, manner, Arc::new(Cache::of_world(world)), None).expect("a judge"));
    let body = review_of(&live);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let one = || {
        let request = review::parse(&body).expect("a review");
        let until = tokio::time::Instant::now() + Duration::from_secs(10);
        drop(runtime.block_on(judge.answer(request, until)));
    };
    (0..200).for_each(|_| one());
    let blocks = {
        let _profiler = dhat::Profiler::builder().testing().build();
        one();
        dhat::HeapStats::get().total_blocks
    };
    let mut times: Vec<f64> = (0..REVIEWS)
        .map(|_| {
            let start = Instant::now();
            one();
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    let median = Median { ms: times[REVIEWS / 2], best: times[0], mib: 0.0 };
    Review { median, p99: times[REVIEWS * 99 / 100], blocks }
}

/// The body of a review in which the control plane of a file is written with another time for drains.
fn review_of(live: &Path) -> Vec<u8> {
    let bytes = std::fs::read(live).expect("a file");
    let stream = Stream::load(&bytes.into()).expect("manifests");
    let objects = stream.objects.objects().iter();
    let found = { objects }.find(|object| object.key.kind == "KubeadmControlPlane").expect("a control plane");
    let before: Value = found.value().expect("a tree").into_owned();
    let mut after = before.clone();
    after["spec"]["machineTemplate"]["nodeDrainTimeout"] = "7m0s".into();
    let (group, version) = found.api_version.split_once('/').expect("a group");
    let request = json!({
        "uid": "u", "kind": {"group": group, "version": version, "kind": "KubeadmControlPlane"},
        "resource": {"group": group, "version": version, "resource": "kubeadmcontrolplanes"},
        "name": found.key.name, "namespace": found.key.namespace, "operation": "UPDATE",
        "oldObject": before, "object": after
    });
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    review.to_string().into_bytes()
}
