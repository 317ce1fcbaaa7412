//! Beside the hosts: the API server, which is asked what it would hold, and a file, which keeps the triples.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use rollgate::facade::cluster;
use rollgate::facade::host::{self, ServerSaid, Signs, ToldHost};
use rollgate::facade::object::{Inventory, Key};
use rollgate::facade::world::World;
use serde_json::{Value, json};

use crate::bench::Bench;

/// Longest time for the answers about one release.
const PATIENCE: Duration = Duration::from_secs(90);

/// What the API server said to the write of each object: what it would hold, or why not; `None` where it was not asked.
pub(crate) type Answers = BTreeMap<Key, Option<Result<Value, String>>>;

/// Asks the API server about every write that a host is about to make.
pub(crate) fn ask(bench: &Bench, rendered: &Inventory, world: &World) -> Answers {
    let writes = host::writes(rendered, world).expect("the writes are known");
    let env = BTreeMap::from([("KUBECONFIG".to_owned(), bench.kubeconfig.to_string_lossy().into_owned())]);
    let told = ToldHost::default();
    let detected = host::detect(&Signs { stdin: None, env: &env, parents: &[], told: &told });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let (answers, unread) = runtime.block_on(async {
        let cluster = cluster::connect(&detected, &env, PATIENCE).await.expect("the bench can be reached");
        cluster.dry_run(writes, PATIENCE, &|_, _, words| words.to_owned()).await
    });
    assert!(unread.is_empty(), "{unread:?}");
    let said = |said| match said {
        ServerSaid::Holds(object) => Some(Ok(Value::from(&*object))),
        ServerSaid::Refuses(words) => Some(Err(words)),
        ServerSaid::NotAsked(_) => None,
    };
    answers.into_iter().map(|answer| (answer.key, said(answer.said))).collect()
}

/// Keeps a release with what came of it, where a file is named for it.
pub(crate) fn record(world: &World, rendered: &[Value], after: &[Value]) {
    let Some(file) = std::env::var_os("ROLLGATE_RECORD_HOSTS") else { return };
    let line = json!({"world": world, "rendered": rendered, "after": after});
    let mut file = OpenOptions::new().create(true).append(true).open(file).expect("the recording can be opened");
    writeln!(file, "{line}").expect("the recording can be written");
}
