//! Keeps the cache current: every kind that is judged has a watch of its own, and kinds that come or go are noticed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;

use super::cache::Cache;
use crate::cluster::{Cluster, Watched};
use crate::object::GroupKind;
use crate::policy::{ApprovalPlace, HistoryPlace, Policy};

/// How often is looked for kinds and versions that came or went, where nothing says so.
const ROUND: Duration = Duration::from_secs(60);
/// How long until it is looked again after a look that failed, and at the soonest where something says so.
const AGAIN: Duration = Duration::from_secs(2);
/// How long one look may take.
const LOOK: Duration = Duration::from_secs(20);

/// Keeps the cache current for as long as this is polled.
pub(super) async fn keep(cluster: Cluster, cache: Arc<Cache>, policy: &Policy) {
    let approvals = policy.approvals.from.iter().filter_map(ApprovalPlace::config_map);
    let history = policy.gates.budget.history.as_ref().and_then(HistoryPlace::config_map).map(|(_, name)| name);
    for name in approvals.chain(history) {
        cache.wants(name);
        drop(follow(&cluster, &cache, Watched::config_maps(name)));
    }
    let mut running: BTreeMap<GroupKind, (Watched, AbortHandle)> = BTreeMap::new();
    loop {
        match cluster.kinds(LOOK).await {
            Ok((served, absent)) => {
                cache.serves(&served, absent);
                running.retain(|_, (watched, task)| {
                    let stays = served.contains(watched);
                    if !stays {
                        task.abort();
                    }
                    stays
                });
                for watched in &served {
                    let start = || (watched.clone(), follow(&cluster, &cache, watched.clone()));
                    running.entry(watched.kind.clone()).or_insert_with(start);
                }
                cache.runs(cluster.installed(&served, LOOK).await);
                tokio::time::sleep(AGAIN).await;
                cache.is_doubted(ROUND - AGAIN).await;
            }
            Err(unread) => {
                cache.serves_unknown(unread);
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

/// Keeps hold of one kind.
fn follow(cluster: &Cluster, cache: &Arc<Cache>, watched: Watched) -> AbortHandle {
    let (cluster, cache) = (cluster.clone(), Arc::clone(cache));
    let task = tokio::spawn(async move {
        let tell = |news| cache.hear(&watched, news);
        cluster.reflect(&watched, &tell).await;
    });
    task.abort_handle()
}
