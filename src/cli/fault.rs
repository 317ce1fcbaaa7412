//! What ended a post-renderer before it could judge, said where its user can read it: a host may swallow standard error, and the
//! report of an earlier run must not stand for this one.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::exit::Exit;
use crate::host::{Detected, ToldHost, say};
use crate::model::{Decision, Effect, Reason};
use crate::report::{HostReport, LiveReport, PolicyReport, Report};
use crate::session::{detect, environment};

/// The post-renderer that runs, by what it was told of its host.
static RUNS: Mutex<Option<ToldHost>> = Mutex::new(None);

/// From now on whatever ends the run is a fault of a post-renderer.
pub(super) fn of_post_renderer(told: ToldHost) {
    *RUNS.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
}

/// Says a message past the host and in the place of the last report, where a post-renderer runs. Standard error has it already.
pub(super) fn tell(message: &str, exit: Exit) {
    let Some(told) = RUNS.lock().unwrap_or_else(PoisonError::into_inner).clone() else { return };
    let env = environment();
    // The stream may be what is wrong; who writes is told by the rest.
    let detected = detect(&told, Some(&[]), &env);
    if let Ok(bytes) = serde_json::to_vec_pretty(&report(message, exit, &detected)) {
        for path in say::report_paths(&env) {
            // It is a service, and standard error has said why the run ended.
            drop(say::write_report(&path, &bytes));
        }
    }
    let places = say::Channels { helm_pid: detected.helm_pid, ..say::Channels::default() };
    let _: say::Spoken = say::past_host(&format!("rollgate: {message}"), detected.host.kind, &places);
}

/// The gate of a run that ended by something that it was given and cannot read.
pub(super) const USAGE: &str = "usage";

/// The report of a run that found out nothing.
fn report(message: &str, exit: Exit, detected: &Detected) -> Report {
    let gate = if exit == Exit::Usage { USAGE } else { "fault" };
    Report {
        upgrade: None,
        api_version: "rollgate.dev/v1alpha1".to_owned(),
        kind: "Report".to_owned(),
        decision: Decision::Undecided,
        effect: Effect::default(),
        digest: String::new(),
        digest_key: None,
        clusters: Vec::new(),
        reasons: vec![Reason::new(gate, Decision::Undecided, message)],
        approvals: Vec::new(),
        break_glass: None,
        findings: Vec::new(),
        warnings: Vec::new(),
        objects: Vec::new(),
        ignored: Vec::new(),
        rollouts: Vec::new(),
        together: Vec::new(),
        server_dry_run: None,
        late_values: Vec::new(),
        policy: PolicyReport::default(),
        host: HostReport {
            kind: detected.host.kind,
            release: detected.host.release.clone(),
            namespace: detected.host.namespace.clone(),
            context: None,
        },
        live: LiveReport { source: "none".to_owned(), ..LiveReport::default() },
        providers: BTreeMap::new(),
    }
}
