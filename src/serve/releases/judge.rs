//! One HelmRelease judged as it would be written now: rendered as helm-controller renders it, compared with the cluster under the policy
//! in force, as `flux render` and `plan` do it. What cannot be rendered or read is undecided, never allowed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, ensure};
use bytes::Bytes;
use jiff::Timestamp;

use super::super::api::{Api, ApiFault};
use super::look::{self, Name, Seen};
use super::marks;
use super::state::{Made, Ruling, Verdict};
use crate::cluster::Cluster;
use crate::exit::Exit;
use crate::flux::release::Release;
use crate::gate::approval::is_approvable;
use crate::host::{HostKind, ToldHost};
use crate::kinds::fields::{list, text};
use crate::model::quoted;
use crate::object::Object;
use crate::pipeline::{Apart, Judgement};
use crate::report::{self, Report};
use crate::session::flux::{Charts, Given, Live, Run, Scratch, Tools, artifact};
use crate::session::{Commit, Commitment, Input, Ready, Session, Setup, Stop, Tree, Unobserved, runtime};
use crate::tree::Value;
use crate::verdict;
use crate::world::{BaseKind, Unread};

/// How long what the API server serves is taken for known.
const KNOWN: Duration = Duration::from_secs(300);

/// Judges HelmReleases.
pub(super) struct Judge {
    /// What every question is asked with.
    pub(super) setup: Setup,
    /// The cluster.
    pub(super) cluster: Cluster,
    /// The Helm that renders charts.
    pub(super) helm: PathBuf,
    /// What runs post-renderers.
    pub(super) kustomize: Option<PathBuf>,
    served: Mutex<Option<(Instant, Vec<String>)>>,
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge").field("helm", &self.helm).finish_non_exhaustive()
    }
}

/// What was decided, with what is used up by going on.
pub(super) struct Judged {
    /// The verdict.
    pub(super) verdict: Verdict,
    /// What is written down before it goes on, where it may.
    pub(super) cleared: Option<Box<Cleared>>,
    /// The report, where it was judged.
    pub(super) report: Option<Box<Report>>,
}

/// An allowed outcome, not yet used.
pub(super) struct Cleared {
    setup: Setup,
    ready: Ready,
    judgement: Judgement,
}

impl Cleared {
    /// Uses up what lets it through: approvals for one time, what is left of a day.
    ///
    /// # Errors
    /// When that is gone, or cannot be written down.
    pub(super) fn commit(mut self: Box<Self>) -> Result<(), String> {
        let commitment = Commitment {
            setup: &self.setup,
            ready: &self.ready,
            wish: Commit::Always,
            approvals: "rollgate approve --list".to_owned(),
        };
        let told = |stop: Stop| format!("{:#}", stop.error);
        commitment.before(&mut self.judgement).map_err(told)?;
        let may = |judgement: &Judgement| verdict::exit(judgement.report.decision) == Exit::Allow;
        let goes = may(&self.judgement) && commitment.last(&mut self.judgement, &mut |_| {}).map_err(told)?;
        let first = || self.judgement.report.reasons.first().map(|reason| reason.message.clone()).unwrap_or_default();
        if goes { Ok(()) } else { Err(first()) }
    }
}

impl Judge {
    pub(super) fn new(setup: Setup, cluster: Cluster, helm: PathBuf, kustomize: Option<PathBuf>) -> Self {
        Self { setup, cluster, helm, kustomize, served: Mutex::default() }
    }

    /// Judges what was seen. It blocks, and takes as long as Helm and the cluster take.
    pub(super) fn judge(&self, name: &Name, seen: &Seen, removal: bool) -> Judged {
        let nothing = || Made { spec: String::new(), chart: String::new(), values: String::new() };
        let made = seen.observed.made.clone().unwrap_or_else(|_| nothing());
        match self.judged(name, seen, removal) {
            Ok((setup, ready, judgement)) => {
                let answer = match verdict::exit(judgement.report.decision) {
                    Exit::Allow => Ruling::Allow,
                    Exit::Hold => Ruling::Hold,
                    _ => Ruling::Undecided,
                };
                let digest = judgement.report.digest.clone();
                let line = if answer == Ruling::Allow { String::new() } else { line(&judgement.report, &setup, name) };
                let report = Some(Box::new(judgement.report.clone()));
                let cleared = (answer == Ruling::Allow).then(|| Box::new(Cleared { setup, ready, judgement }));
                Judged { verdict: Verdict { made, removal, answer, digest, line }, cleared, report }
            }
            Err(error) => {
                let line = format!("undecided: {}", report::escape::line(&format!("{error:#}")));
                let (answer, digest) = (Ruling::Undecided, String::new());
                Judged { verdict: Verdict { made, removal, answer, digest, line }, cleared: None, report: None }
            }
        }
    }

    fn judged(&self, name: &Name, seen: &Seen, removal: bool) -> anyhow::Result<(Setup, Ready, Judgement)> {
        let object = Object::from_value(seen.release.clone(), 0)?;
        let mut release = Release::of(&object, &name.namespace).map_err(|why| anyhow!("{why}"))?;
        refuse(&release, &seen.release)?;
        let history = list(&seen.release, "/status/history").next().is_some();
        if removal {
            return self.asked(&release, Bytes::new(), Apart::default());
        }
        let (source, artifact) = seen.source.as_ref().ok_or_else(|| anyhow!("its chart is not known"))?;
        release.source = look::as_source(source).ok_or_else(|| anyhow!("the source of its chart has no name"))?;
        let tools = self.tools()?;
        let folder = tools.scratch.folder()?;
        let bytes = runtime().map_err(|stop| stop.error)?.block_on(artifact.fetch())?;
        let chart = artifact::unpack(&bytes, folder.path())?;
        if let Some(before) = text(&seen.release, "/status/history/0/chartName") {
            let about = std::fs::read(chart.join("Chart.yaml"))?;
            let about = crate::yaml::read_json(&about, crate::yaml::Span { start: 0, end: about.len() })?;
            ensure!(text(&about, "/name") == Some(before), "{}", reinstalls("the name of its chart"));
        }
        let tools = Tools { charts: Charts { told: vec![(None, chart)], ..Charts::default() }, ..tools };
        let given = Given {
            objects: vec![Object::from_value(source.clone(), 0)?],
            home: name.namespace.clone(),
            cluster: Some(Live::of(self.cluster.clone(), self.setup.deadline)),
            ..Given::default()
        };
        let render = |first: bool| {
            let run = Run { tools: &tools, given: &given, root: folder.path(), tree: Tree::here(), first };
            run.render(&release)
        };
        let judge = |first: bool| {
            let rendered = render(first)?;
            let mut unread: Vec<Unread> = rendered.unseen.map(|one| unseen(one.why)).into_iter().collect();
            if rendered.bytes != render(first)?.bytes {
                unread.push(unseen("its chart renders a different stream each time".to_owned()));
            }
            self.asked(&release, rendered.bytes, Apart { unread, ..Apart::default() })
        };
        let judged = judge(!history)?;
        let is_first = judged.1.world.base.kind == BaseKind::FirstInstall;
        if is_first != history {
            return Ok(judged);
        }
        // The record knows better whether it is an install or an upgrade.
        judge(is_first)
    }

    /// Asks about a stream of a release.
    fn asked(&self, release: &Release, stream: Bytes, apart: Apart) -> anyhow::Result<(Setup, Ready, Judgement)> {
        let told = ToldHost {
            kind: Some(HostKind::Flux),
            release: Some(release.release.clone()),
            namespace: Some(release.target.clone()),
            context: self.setup.told.context.clone(),
            ..ToldHost::default()
        };
        let setup = Setup {
            told,
            storage_namespace: Some(release.storage.clone()),
            now: Timestamp::now(),
            apart: Arc::new(apart),
            ..self.setup.clone()
        };
        let input = Input::unnamed(format!("HelmRelease {}", release.title()), stream.clone());
        let session = Session { setup: &setup, input: &input, is_hosts: false };
        let stopped = |stop: Stop| stop.error;
        let ready = session.read(&mut Unobserved::default()).map_err(stopped)?;
        let judgement = ready.judge(&setup, &Unobserved::default()).map_err(stopped)?;
        if judgement.stream != stream {
            bail!(
                "the chart renders a late value that nothing fills in where Flux writes; publish it with rollgate flux values, or patch \
                 it with rollgate flux post-renderers"
            );
        }
        Ok((setup, ready, judgement))
    }

    fn tools(&self) -> anyhow::Result<Tools> {
        let scratch = Scratch::new(&Unobserved::default()).map_err(|stop| stop.error)?;
        let (helm, kustomize) = (self.helm.clone(), self.kustomize.clone());
        Ok(Tools { charts: Charts::default(), helm, kustomize, helm_args: self.served()?, scratch })
    }

    /// What the API server serves, as arguments of Helm: templates ask for it (`.Capabilities`).
    fn served(&self) -> anyhow::Result<Vec<String>> {
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = served.as_ref().filter(|(at, _)| at.elapsed() < KNOWN) {
            return Ok(known.clone());
        }
        let api = Api::new(self.cluster.client().clone(), marks::WRITER);
        let asked = runtime().map_err(|stop| stop.error)?.block_on(capabilities(&api));
        let known = asked.map_err(|fault| anyhow!("what the API server serves is not known: {fault}"))?;
        *served = Some((Instant::now(), known.clone()));
        Ok(known)
    }
}

/// Version and kinds of the API server, as Helm has them (helm `pkg/action/action.go`, `GetVersionSet`).
async fn capabilities(api: &Api) -> Result<Vec<String>, ApiFault> {
    let version = api.get("/version").await?;
    let mut out = vec![format!("--kube-version={}", text(&version, "/gitVersion").unwrap_or_default())];
    let groups = api.get("/apis").await?;
    let versions = list(&groups, "/groups").flat_map(|group| list(group, "/versions"));
    let versions = versions.filter_map(|version| text(version, "/groupVersion").map(str::to_owned));
    for version in std::iter::once("v1".to_owned()).chain(versions) {
        let path = if version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{version}") };
        let resources = match api.get(&path).await {
            Ok(resources) => resources,
            // A group that went meanwhile is served no more.
            Err(ApiFault::Absent) => continue,
            Err(fault) => return Err(fault),
        };
        let mut kinds: Vec<&str> = list(&resources, "/resources").filter_map(|one| text(one, "/kind")).collect();
        kinds.sort_unstable();
        kinds.dedup();
        out.push(format!("--api-versions={version}"));
        out.extend(kinds.iter().map(|kind| format!("--api-versions={version}/{kind}")));
    }
    Ok(out)
}

/// Refuses what Flux does beside writing what is rendered.
fn refuse(release: &Release, value: &Value) -> anyhow::Result<()> {
    ensure!(!release.replaces(), "spec.upgrade.force may replace objects whole, which is not predicted");
    ensure!(
        !uninstalls(value),
        "spec.upgrade.remediation.strategy uninstall deletes all that the release has once an upgrade fails; say rollback, or take the strategy \
         RetryOnFailure"
    );
    let was = |field: &str| text(value, &format!("/status/{field}")).filter(|text| !text.is_empty());
    let pairs = [
        ("its release name", was("history/0/name"), &release.release),
        ("its target namespace", was("history/0/namespace"), &release.target),
        ("its storage namespace", was("storageNamespace"), &release.storage),
    ];
    for (what, before, now) in pairs {
        ensure!(before.is_none_or(|before| before == now), "{}", reinstalls(what));
    }
    Ok(())
}

/// Whether helm-controller deletes the whole release where an upgrade fails (helm-controller `api/v2/helmrelease_types.go`,
/// `UpgradeRemediation`: the last failure is remediated where retries are told).
fn uninstalls(release: &Value) -> bool {
    let told = |field: &str| release.pointer(&format!("/spec/upgrade/remediation/{field}"));
    let retries = told("retries").and_then(Value::as_i64).unwrap_or_default() != 0;
    let is_last = told("remediateLastFailure").and_then(Value::as_bool).unwrap_or(retries);
    let strategy = told("strategy").and_then(Value::as_str);
    strategy == Some("uninstall") && (retries || is_last)
}

fn reinstalls(what: &str) -> String {
    format!("{what} changes, so Flux would uninstall the release before it installs the new one")
}

fn unseen(why: String) -> Unread {
    let remedy = "set `unseen: {inside: warn}` in the policy where that reaches no object of Cluster API".to_owned();
    Unread { what: "all that the chart renders".to_owned(), why, remedy, keys: Vec::new() }
}

/// Why it waits, in one line that names the field and the next command.
fn line(report: &Report, setup: &Setup, name: &Name) -> String {
    let Some(reason) = report.reasons.iter().find(|reason| reason.decision == report.decision) else {
        return format!("{} without a reason; this is a defect, please report it", report.decision.word());
    };
    let more = report.reasons.iter().filter(|other| other.decision == report.decision).count() - 1;
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    let next = match is_approvable(report, &setup.policy) {
        true => approve(report, setup, name),
        false => reason.next.clone().unwrap_or_else(|| shown(name)),
    };
    format!("{}: {}{more}; next: {next}", report.decision.word(), reason.message)
}

/// The command that approves it: the report is taken from where the gate keeps it.
fn approve(report: &Report, setup: &Setup, name: &Name) -> String {
    let policy = Some(setup.policy_report.source.as_str()).filter(|source| source.starts_with("configmap/"));
    let policy = policy.map(|policy| format!(" --policy {}", quoted(policy))).unwrap_or_default();
    let target = report.host.namespace.as_deref().unwrap_or(&name.namespace);
    let shown = shown(name);
    format!(
        "{shown} | rollgate approve {} --report /dev/stdin -n {}{policy} --reason TEXT",
        report.digest,
        quoted(target)
    )
}

/// The command that shows its report.
fn shown(name: &Name) -> String {
    let (object, namespace) = (marks::report(&name.name), quoted(&name.namespace));
    format!("kubectl get configmap {object} -n {namespace} -o jsonpath='{{.data.report\\.json}}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    #[test]
    fn a_failure_that_deletes_everything_is_seen_before_it() {
        let release = |remediation: Value| json!({"spec": {"upgrade": {"remediation": remediation}}});
        assert!(uninstalls(&release(json!({"strategy": "uninstall", "retries": 3}))));
        assert!(uninstalls(&release(json!({"strategy": "uninstall", "remediateLastFailure": true}))));
        // Nothing is remediated there, or by a rollback.
        assert!(!uninstalls(&release(json!({"strategy": "uninstall"}))));
        assert!(!uninstalls(&release(json!({"strategy": "uninstall", "retries": 0, "remediateLastFailure": false}))));
        assert!(
            !uninstalls(&release(json!({"strategy": "rollback", "retries": 3}))) && !uninstalls(&json!({"spec": {}}))
        );
    }
}
