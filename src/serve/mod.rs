//! What runs in the cluster. The admission webhook: an API server shows it a write with both of its sides, and hears whether it may go on. It
//! judges as `plan` does, under the same policy, from a cache that watches keep current; it writes nothing but its own certificate.
//! Beside it, where that is wanted,
//! the gate of HelmReleases (`releases`), and their values that come late (`values`).

mod api;
pub(crate) mod cache;
mod event;
mod http;
pub(crate) mod judge;
mod keep;
mod lease;
mod log;
mod metrics;
mod own;
pub(crate) mod releases;
pub(crate) mod review;
mod said;
mod tls;
mod values;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use self::cache::Cache;
use self::http::Desk;
use self::judge::{Judge, Manner};
use self::log::Log;
use self::metrics::Metrics;
use self::releases::Gate;
use self::tls::Certificate;
use self::values::Publisher;
use crate::cluster::Cluster;
use crate::session::{Setup, Stop, process, runtime};
use crate::tree::json;
use crate::world::World;

pub(crate) use own::Told as Own;

pub(crate) use tls::Files;

/// Where the certificate comes from.
#[derive(Debug, Clone)]
pub(crate) enum Tls {
    /// Files, which somebody else renews.
    Files(Files),
    /// A Secret, in which it is made and renewed here.
    Own(Own),
}

/// What a server is told.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where the certificate comes from.
    pub tls: Tls,
    /// How it answers.
    pub manner: Manner,
    /// Most connections at one time.
    pub connections: usize,
    /// How long answers under way may take when it ends.
    pub drain: Duration,
    /// The gate of HelmReleases, where it is wanted.
    pub gate: Option<releases::Options>,
    /// Namespace of the Lease by which one of several replicas publishes values, where that is wanted.
    pub publish: Option<String>,
}

/// Where the cache comes from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A cluster, which is watched.
    Cluster(Box<Cluster>),
    /// What was read at one time.
    World(Box<World>),
}

/// Serves until a signal ends it; `Ok(false)` where answers under way did not end in time.
///
/// # Errors
/// When the certificate cannot be used, the address cannot be listened at, or a rule of the policy is wrong.
pub(crate) fn run(options: &Options, setup: &Setup, source: Source) -> Result<bool, Stop> {
    let certificate = match &options.tls {
        Tls::Files(files) => files.read().and_then(|pem| Certificate::of(pem, true)),
        Tls::Own(told) => own::begin(told),
    };
    let certificate = certificate.map_err(Stop::usage)?;
    let tls = TlsAcceptor::from(certificate.config().map_err(Stop::internal)?);
    let metrics = Arc::new(Metrics::default());
    let log = Log::stderr(Arc::clone(&metrics));
    let (cache, cluster) = match source {
        Source::Cluster(cluster) => (Arc::new(Cache::of(cluster.name())), Some(*cluster)),
        Source::World(world) => (Arc::new(Cache::of_world(*world)), None),
    };
    let gate = match (&options.gate, &cluster) {
        (None, _) => None,
        (Some(wanted), Some(cluster)) => Some(Arc::new(Gate::new(wanted, setup, cluster.clone(), log.clone()))),
        (Some(_), None) => return Err(Stop::usage(anyhow!("--gate-releases needs a cluster, and --live names none"))),
    };
    let publisher = match (&options.publish, &cluster) {
        (None, _) => None,
        (Some(namespace), Some(cluster)) => Some(Publisher::new(setup, cluster, namespace, log.clone())),
        (Some(_), None) => return Err(Stop::usage(anyhow!("--publish-values needs a cluster, and --live names none"))),
    };
    let judge = Arc::new(Judge::new(setup, options.manner, Arc::clone(&cache), cluster.clone())?);
    let desk = Arc::new(Desk::new(judge, Arc::clone(&certificate), Arc::clone(&metrics), log.clone()));
    let ended = runtime()?.block_on(async {
        let listener = TcpListener::bind(options.listen).await;
        let listener = listener.with_context(|| format!("cannot listen at {}", options.listen)).map_err(Stop::usage)?;
        let address = listener.local_addr().map_err(Stop::internal)?;
        let stop = stops().map_err(Stop::internal)?;
        log.line("info", "serving", json!({"address": address.to_string(), "policy": setup.policy_report.source, "policyDigest": setup.policy_report.digest}));
        let renewed = |came: anyhow::Result<()>| match came {
            Ok(()) => {
                metrics.certificates.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                log.line("info", "another certificate is in use", json!({}));
            }
            Err(error) => log.line("error", "the certificate cannot be renewed; the old one stays", json!({"why": format!("{error:#}")})),
        };
        let client = cluster.as_ref().map(|cluster| cluster.client().clone());
        let renewing = async {
            match (&options.tls, client) {
                (Tls::Files(files), _) => files.watch(&certificate, renewed).await,
                (Tls::Own(told), Some(client)) => own::keep(client, told, &certificate, renewed).await,
                (Tls::Own(_), None) => std::future::pending().await,
            }
        };
        let beside = [
            gate.map(|gate| tokio::spawn(gate.run(stop.clone()))),
            publisher.map(|publisher| tokio::spawn(publisher.run(stop.clone()))),
        ];
        let serving = http::serve(listener, tls, desk, options.connections, stop, options.drain);
        let keeping = async {
            match cluster {
                Some(cluster) => keep::keep(cluster, cache, &setup.policy).await,
                None => std::future::pending().await,
            }
        };
        let whole = tokio::select! {
            whole = serving => whole,
            () = renewing => false,
            () = keeping => false,
        };
        let mut writes = false;
        for task in beside.into_iter().flatten() {
            // It hears of the same signal, and gives up what another replica waits for.
            drop(tokio::time::timeout(Duration::from_secs(5), task).await);
            writes = true;
        }
        if writes {
            process::end_all();
        }
        Ok(whole)
    });
    if let Ok(whole) = &ended {
        log.line("info", "ended", json!({"whole": whole}));
    }
    log.flush();
    ended
}

/// Says when a signal wants an end.
fn stops() -> std::io::Result<watch::Receiver<bool>> {
    let (tell, told) = watch::channel(false);
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        // Nobody hears it where the server has ended already.
        tell.send(true).ok();
        std::future::pending::<()>().await;
    });
    Ok(told)
}
