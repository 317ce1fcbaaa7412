//! The gate before helm-controller acts. A HelmRelease that asks for it is kept suspended, judged as it would be written now, and resumed
//! for exactly that outcome; then it is suspended again. What was decided stands on the object, so that any replica goes on from there.

mod judge;
mod look;
pub(crate) mod marks;
pub(crate) mod next;
pub(crate) mod state;
mod tell;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::Instant;

use self::judge::{Cleared, Judge, Judged};
use self::look::{Memory, Name, Seen};
use self::marks::Gated;
use self::next::{NextStep, Then, Write};
use self::state::Verdict;
use self::tell::Teller;
use super::api::{Api, ApiFault};
use super::event::Reporter;
use super::lease::{self, Lease};
use super::log::Log;
use crate::cluster::{Cluster, News, Watched};
use crate::flux::{RELEASES, SOURCES, helm_chart};
use crate::kinds::fields::list;
use crate::object::{GroupKind, Key, Object};
use crate::policy::ApprovalPlace;
use crate::session::Setup;
use crate::tree::{Value, json};

/// How many releases are rendered and judged at one time.
const AT_ONCE: usize = 2;
/// How long a release is left alone after something went wrong with it.
const AFTER_FAULT: Duration = Duration::from_secs(5);
/// How often a write is tried again where somebody came between that changed nothing that counts.
const TRIES: usize = 3;

/// What the gate is told.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Namespace of the Lease.
    pub namespace: String,
    /// The Helm that renders charts.
    pub helm: PathBuf,
    /// What runs post-renderers; the first of kustomize and kubectl on the path where nothing is said.
    pub kustomize: Option<PathBuf>,
    /// Address of notification-controller.
    pub notify: Option<String>,
}

/// What is known of one release.
#[derive(Debug, Default)]
struct Entry {
    memory: Memory,
    due: Option<Instant>,
    busy: bool,
    /// The sources that its look depended on.
    source: Option<Key>,
}

/// The gate.
pub(super) struct Gate {
    api: Api,
    cluster: Cluster,
    judge: Arc<Judge>,
    lease: Lease,
    teller: Teller,
    log: Log,
    table: Mutex<BTreeMap<Name, Entry>>,
    wake: Notify,
    turns: Arc<Semaphore>,
    approvals: Vec<String>,
    gated: Gated,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("lease", &self.lease).finish_non_exhaustive()
    }
}

impl Gate {
    pub(super) fn new(options: &Options, setup: &Setup, cluster: Cluster, log: Log) -> Self {
        let api = Api::new(cluster.client().clone(), marks::WRITER);
        let holder = lease::holder();
        let lease = Lease::new(api.clone(), &options.namespace, "rollgate-gate", holder.clone());
        let reporter = Reporter { api: api.clone(), holder };
        let teller = Teller { api: api.clone(), reporter, notify: options.notify.clone() };
        let approvals = setup.policy.approvals.from.iter().filter_map(ApprovalPlace::config_map);
        let approvals = approvals.map(str::to_owned).collect();
        let gated = Gated::of(&setup.policy);
        let judge = Judge::new(setup.clone(), cluster.clone(), options.helm.clone(), options.kustomize.clone());
        let (judge, turns, wake) = (Arc::new(judge), Arc::new(Semaphore::new(AT_ONCE)), Notify::new());
        Self { api, cluster, judge, lease, teller, log, table: Mutex::default(), wake, turns, approvals, gated }
    }

    /// Gates until it is told to stop; what is under way is ended first.
    pub(super) async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let watched = |group: &str, kind: &str, version: &str, plural: &str| {
            Watched::of(GroupKind::new(group, kind), version, plural, true)
        };
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(Arc::clone(&self).hears(watched(RELEASES, "HelmRelease", look::VERSION, "helmreleases")));
        tasks.spawn(Arc::clone(&self).hears(watched(SOURCES, "OCIRepository", "v1", "ocirepositories")));
        tasks.spawn(Arc::clone(&self).hears(watched(SOURCES, "HelmChart", "v1", "helmcharts")));
        for name in &self.approvals {
            tasks.spawn(Arc::clone(&self).hears(Watched::config_maps(name)));
        }
        let keeper = Arc::clone(&self);
        tasks.spawn(async move {
            let told = |is: bool| {
                let said = if is { "this replica gates releases now" } else { "this replica no longer gates releases" };
                keeper.log.line("info", said, json!({}));
                keeper.wake.notify_one();
            };
            keeper.lease.keep(told).await;
        });
        let mut under_way = tokio::task::JoinSet::new();
        loop {
            let next = self.start(&mut under_way);
            let at = next.unwrap_or_else(|| Instant::now() + Duration::from_secs(1));
            tokio::select! {
                () = tokio::time::sleep_until(at) => {}
                () = self.wake.notified() => {}
                Some(_) = under_way.join_next() => {}
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        // A judgement under way is thrown away, a write is not: it is one request.
        under_way.shutdown().await;
        self.lease.give_up().await;
        tasks.shutdown().await;
    }

    /// Begins what is due, and says when the next is.
    fn start(self: &Arc<Self>, under_way: &mut tokio::task::JoinSet<()>) -> Option<Instant> {
        if !self.lease.is_ours() {
            return None;
        }
        let now = Instant::now();
        let mut table = self.table();
        for (name, entry) in table.iter_mut().filter(|(_, entry)| !entry.busy) {
            if entry.due.is_some_and(|due| due <= now) {
                (entry.busy, entry.due) = (true, None);
                let (gate, name) = (Arc::clone(self), name.clone());
                under_way.spawn(async move { gate.tends(name).await });
            }
        }
        table.values().filter(|entry| !entry.busy).filter_map(|entry| entry.due).min()
    }

    /// Whether a HelmRelease is gated, or was.
    fn is_ours(&self, object: &Object) -> bool {
        object.value().is_ok_and(|value| {
            let guards = list(&value, "/metadata/finalizers").any(|one| one.as_str() == Some(marks::GUARD));
            guards || self.gated.is_one(&value) || marks::read(&value).is_some()
        })
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<Name, Entry>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps hold of a kind, and looks again at the releases that it has to do with.
    async fn hears(self: Arc<Self>, watched: Watched) {
        let kind = watched.kind.clone();
        let is_release = kind.group == RELEASES;
        let is_source = kind.group == SOURCES;
        let tell = |news: News| {
            match news {
                News::All(objects) if is_release => {
                    let ours = objects.iter().filter(|object| self.is_ours(object));
                    let names: BTreeSet<Name> = ours.filter_map(|object| name(&object.key)).collect();
                    self.table().retain(|name, entry| names.contains(name) || entry.busy);
                    names.into_iter().for_each(|name| self.looks(name));
                }
                News::Is(object) if is_release => {
                    name(&object.key).filter(|_| self.is_ours(&object)).into_iter().for_each(|name| self.looks(name));
                }
                News::Gone(key) if is_release => {
                    name(&key).into_iter().for_each(|name| drop(self.table().remove(&name)));
                }
                News::All(_) if is_source => self.stirs(|_| true, false),
                News::Is(object) if is_source => self.stirs(|entry| entry.source.as_ref() == Some(&object.key), false),
                // Approvals came, went or changed.
                News::All(_) | News::Is(_) | News::Gone(_) => self.stirs(|_| true, !is_source),
                News::Lost(unread) => {
                    let why = json!({"what": unread.what, "why": unread.why, "remedy": unread.remedy});
                    self.log.line("error", "nothing is heard of what the gate watches", why);
                }
                News::Current => {}
            }
            self.wake.notify_one();
        };
        self.cluster.reflect(&watched, &tell).await;
    }

    /// Has a release looked at at once.
    fn looks(&self, name: Name) {
        self.table().entry(name).or_default().due = Some(Instant::now());
    }

    /// Has all that fit looked at at once; `stirred` where something that decides has changed.
    fn stirs(&self, fits: impl Fn(&Entry) -> bool, stirred: bool) {
        for entry in self.table().values_mut().filter(|entry| fits(entry)) {
            entry.due = Some(Instant::now());
            entry.memory.stirred |= stirred;
        }
    }

    /// Looks at a release and takes the steps that follow, until there is one to wait for.
    async fn tends(&self, name: Name) {
        let (mut memory, stirred) = {
            let mut table = self.table();
            let entry = table.entry(name.clone()).or_default();
            let stirred = std::mem::take(&mut entry.memory.stirred);
            (entry.memory.clone(), stirred)
        };
        memory.stirred |= stirred;
        let mut source = None;
        let then = self.steps(&name, &mut memory, &mut source).await;
        let mut table = self.table();
        let Some(entry) = table.get_mut(&name) else { return };
        entry.busy = false;
        // What was stirred meanwhile stays stirred.
        memory.stirred |= entry.memory.stirred;
        entry.memory = memory;
        entry.source = source;
        let due = match then {
            Some(Then::Look(after)) => Some(Instant::now() + after),
            Some(_) => None,
            None => Some(Instant::now() + AFTER_FAULT),
        };
        entry.due = match (entry.due, due) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        drop(table);
        self.wake.notify_one();
    }

    /// Steps until there is one to wait for; `None` where something went wrong.
    async fn steps(&self, name: &Name, memory: &mut Memory, source: &mut Option<Key>) -> Option<Then> {
        let mut judged: Option<Judged> = None;
        loop {
            let release = match self.api.get(&name.path()).await {
                Ok(release) => release,
                Err(ApiFault::Absent) => return Some(Then::Rest),
                Err(fault) => return self.failed(name, &fault),
            };
            let seen = look::at(&self.api, &self.gated, release, memory).await;
            *source = helm_chart::key(&seen.release);
            let state = marks::read(&seen.release);
            let verdict = judged.as_ref().map(|judged| judged.verdict.clone());
            let mut step = next::next(state.as_ref(), &seen.observed, verdict.as_ref());
            if let Some(one) = judged.take() {
                step = self.weighed(step, &seen, state.as_ref(), name, one).await;
            }
            if !self.lease.is_ours() {
                return Some(Then::Look(Duration::ZERO));
            }
            match (&step.write, step.then) {
                (Some(write), then) => {
                    match self.written(name, &seen, write).await {
                        Ok(release) => self.said(name, &release, &step).await,
                        Err(ApiFault::Conflict | ApiFault::Absent) => continue,
                        Err(fault) => return self.failed(name, &fault),
                    }
                    if then != Then::Look(Duration::ZERO) {
                        return Some(then);
                    }
                }
                (None, Then::Judge | Then::JudgeRemoval) => {
                    judged = Some(self.judged(name, seen, step.then == Then::JudgeRemoval).await?);
                    (memory.judged, memory.stirred) = (Some(Timestamp::now()), false);
                }
                (None, then) => return Some(then),
            }
        }
    }

    fn failed(&self, name: &Name, fault: &ApiFault) -> Option<Then> {
        self.log.line(
            "error",
            "a release cannot be read or written",
            json!({"release": name.to_string(), "why": fault.to_string()}),
        );
        None
    }

    /// Judges what was seen.
    async fn judged(&self, name: &Name, seen: Seen, removal: bool) -> Option<Judged> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok()?;
        let (judge, of) = (Arc::clone(&self.judge), name.clone());
        let began = Instant::now();
        let work = tokio::task::spawn_blocking(move || {
            let judged = judge.judge(&of, &seen, removal);
            drop(turn);
            judged
        });
        let Ok(judged) = work.await else {
            self.log.line(
                "error",
                "a judgement broke off; this is a defect, please report it",
                json!({"release": name.to_string()}),
            );
            return None;
        };
        let Verdict { answer, digest, .. } = &judged.verdict;
        let word = match answer {
            state::Ruling::Allow => "allow",
            state::Ruling::Hold => "hold",
            state::Ruling::Undecided => "undecided",
        };
        let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let about = json!({"release": name.to_string(), "decision": word, "digest": digest, "removal": removal, "millis": millis});
        self.log.line("info", "release", about);
        Some(judged)
    }

    /// Uses up what lets it through before it goes on; where that cannot be done, it does not go on. What is held leaves its report.
    async fn weighed(
        &self,
        step: NextStep,
        seen: &Seen,
        state: Option<&state::State>,
        name: &Name,
        judged: Judged,
    ) -> NextStep {
        let opens = step.write.as_ref().is_some_and(|write| write.suspend == Some(false));
        if !opens {
            if let Some(report) = judged.report.filter(|_| step.write.is_some())
                && let Err(why) = self.teller.report(name, &seen.release, &report).await
            {
                self.log.line("error", "a report cannot be kept", json!({"release": name.to_string(), "why": why}));
            }
            return step;
        }
        let used = match judged.cleared {
            // Whoever has lost the Lease uses nothing up.
            Some(_) if !self.lease.is_ours() => Err("another replica gates".to_owned()),
            Some(cleared) => tokio::task::spawn_blocking(move || Cleared::commit(cleared))
                .await
                .unwrap_or_else(|_| Err("writing down what it uses broke off".to_owned())),
            None => Err("nothing was judged".to_owned()),
        };
        match used {
            Ok(()) => step,
            Err(why) => {
                let line = format!("hold: {why}");
                let verdict = Verdict { answer: state::Ruling::Hold, line, ..judged.verdict };
                next::next(state, &seen.observed, Some(&verdict))
            }
        }
    }

    /// Writes a step onto exactly what was seen. Where somebody came between who changed nothing that counts, it is tried again.
    async fn written(&self, name: &Name, seen: &Seen, write: &Write) -> Result<Value, ApiFault> {
        let mut release = seen.release.clone();
        for _ in 0..TRIES {
            match self.api.merge(&name.path(), &body(&release, write)).await {
                Err(ApiFault::Conflict) => {}
                other => return other,
            }
            let now = self.api.get(&name.path()).await?;
            let counts = ["/spec", "/metadata/generation", "/metadata/annotations", "/metadata/deletionTimestamp"];
            if counts.iter().any(|pointer| now.pointer(pointer) != release.pointer(pointer)) {
                return Err(ApiFault::Conflict);
            }
            release = now;
        }
        Err(ApiFault::Conflict)
    }

    /// Tells people what was written.
    async fn said(&self, name: &Name, release: &Value, step: &NextStep) {
        let state = step.write.as_ref().and_then(|write| write.state.as_ref());
        if let Some(state) = state {
            let about = json!({"release": name.to_string(), "phase": state.phase.word(), "digest": state.verdict});
            self.log.line("info", "gate", about);
        }
        if let Some(said) = &step.say {
            if let Some(state) = state.filter(|_| said.waits) {
                // It is only shown: where helm-controller came between, what it says is newer.
                drop(self.teller.condition(name, release, state).await);
            }
            for fault in self.teller.say(release, said).await {
                self.log.line("error", "people cannot be told", json!({"release": name.to_string(), "why": fault}));
            }
        }
    }
}

/// A write as a merge onto a HelmRelease that was read.
fn body(release: &Value, write: &Write) -> Value {
    let guard = Value::from(marks::GUARD);
    let there = release.pointer("/metadata/finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    let deleting = release.pointer("/metadata/deletionTimestamp").is_some();
    let mut finalizers: Vec<Value> = there.iter().filter(|one| **one != guard).cloned().collect();
    // The API server takes no new one where it is being deleted.
    if write.state.is_some() && (!deleting || there.contains(&guard)) {
        finalizers.push(guard);
    }
    let version = release.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
    let mut body = json!({"metadata": {"resourceVersion": version, "finalizers": finalizers,
        "annotations": marks::write(write.state.as_ref())}});
    if let Some(suspend) = write.suspend {
        body["spec"] = json!({"suspend": suspend});
    }
    body
}

fn name(key: &Key) -> Option<Name> {
    Some(Name { namespace: key.namespace.clone()?, name: key.name.clone() })
}
