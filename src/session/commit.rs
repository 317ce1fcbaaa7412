//! What an answer uses is written down, where somebody writes: pins before anything is said, what opens a glass before it is open, what
//! is spent and used up last of all, so that whoever comes second finds it gone.

use anyhow::anyhow;

use super::pins::{self, PinPlace};
use super::{Ready, Setup, Stop, runtime};
use crate::approval::{self, Approval, Ledger, LedgerError, Use};
use crate::exit::Exit;
use crate::gate::{budget, glass};
use crate::history::{self, History, HistoryError, Spent};
use crate::host::Host;
use crate::model::{Decision, Reason};
use crate::pin;
use crate::pipeline::Judgement;
use crate::policy::{HistoryPlace, StoreKind};
use crate::store::{ClusterError, FileError};
use crate::verdict;

/// Whether an allowed run records what it found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// Unless the host is known not to write (`helm template`, a dry run).
    Auto,
    /// In any case.
    Always,
    /// Not at all.
    Never,
}

impl Commit {
    /// Whether what the run found out is recorded.
    #[must_use]
    pub const fn writes(self, host: &Host) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => !host.writes_nothing,
        }
    }
}

/// What came of noting something.
enum Noted {
    Done,
    /// What it is noted on is no longer good.
    Gone(String),
    /// The place cannot be written.
    Failed(String),
}

/// The writing down of one answer.
pub struct Commitment<'a> {
    /// What the question was asked with.
    pub setup: &'a Setup,
    /// What it was judged from.
    pub ready: &'a Ready,
    /// Whether anything is recorded.
    pub wish: Commit,
    /// The command that shows what was approved, for who is held.
    pub approvals: String,
}

impl std::fmt::Debug for Commitment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commitment").field("wish", &self.wish).finish_non_exhaustive()
    }
}

impl Commitment<'_> {
    /// Whether anything is recorded.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.wish.writes(&self.ready.world.host)
    }

    /// Keeps what an allowed judgement uses, before it is said that it is allowed. Where that cannot be done, it no longer is.
    ///
    /// # Errors
    /// When what is wrong is the caller's doing.
    pub fn before(&self, judgement: &mut Judgement) -> Result<(), Stop> {
        if is_allowed(judgement)
            && let Err(stop) = self.pins(judgement)
        {
            if stop.exit != Exit::Undecided {
                return Err(stop);
            }
            judgement.report.decision = Decision::Undecided;
            glass::shut(&mut judgement.report, "something else cannot be written down");
            let reason = Reason::new("pin", Decision::Undecided, format!("{:#}", stop.error));
            judgement.report.reasons.insert(0, reason);
        }
        if is_allowed(judgement)
            && let Some(reason) = self.broken_glass(judgement)?
        {
            hold(judgement, reason);
        }
        Ok(())
    }

    /// Uses up what lets a judgement through, after its report was said and before its stream goes out; `false` where somebody else was
    /// first, and then it is held. Whoever comes second finds it used up, and whatever failed before has not used it. `said` is told
    /// what a person should know meanwhile.
    ///
    /// # Errors
    /// When there is no runtime to write with.
    pub fn last(&self, judgement: &mut Judgement, said: &mut dyn FnMut(String)) -> Result<bool, Stop> {
        let held = match self.spending(judgement, said)? {
            Some(reason) => Some(reason),
            // Who comes second with one approval repeats the same change of the same release, which counts once.
            None => self.approvals(judgement, said)?,
        };
        let goes_out = held.is_none();
        held.into_iter().for_each(|reason| hold(judgement, reason));
        Ok(goes_out)
    }

    /// Records the pins of an allowed run: a value that is used is a value that is kept.
    fn pins(&self, judgement: &Judgement) -> Result<(), Stop> {
        let Self { setup, ready, .. } = self;
        if !self.writes() || judgement.pins.is_empty() {
            return Ok(());
        }
        let by = pin::author(&setup.env);
        let encrypt_to = &setup.policy.pins.encrypt_to;
        let pins = pins::signed(judgement.pins.iter().cloned(), by, &setup.policy_report.digest, encrypt_to)?;
        let place = match (setup.pin_file(), &setup.policy.pins.store) {
            (Some(file), _) => PinPlace::File(file),
            (None, None) => return Ok(()),
            (None, Some(store)) => {
                let cluster = ready.cluster.as_ref().ok_or_else(|| {
                    Stop::undecided(anyhow!(
                        "pins cannot be recorded in {store} without a cluster; use pins.file, or --live cluster"
                    ))
                })?;
                let named = ready.world.host.namespace.as_deref().or_else(|| cluster.named_namespace());
                let namespace = named.ok_or_else(|| {
                    Stop::undecided(anyhow!("no namespace is known for the pins in {store}; pass --namespace"))
                })?;
                let object = pin::cluster::store(&setup.policy.pins, cluster.client().clone(), namespace);
                PinPlace::Object(object.ok_or_else(|| Stop::usage(anyhow!("{store} is no store for pins")))?)
            }
        };
        place.update(|book| book.record(&pins)).map(drop)
    }

    /// Writes down that a hold was broken through, before anything says so: what is written down and then held after all does less harm
    /// than what nobody wrote down. The reason of the hold where that cannot be done.
    fn broken_glass(&self, judgement: &Judgement) -> Result<Option<Reason>, Stop> {
        let Some((place, entry)) = &judgement.glass else { return Ok(None) };
        let longest = glass::longest(&self.setup.policy.approvals.break_glass);
        let noted = match (self.writes(), self.ready.world.host.writes_nothing) {
            (true, _) => self.keep(place, |ledger, makes_room| ledger.broke(entry, longest, makes_room))?,
            // Nothing is written, so nothing was let through.
            (false, true) => return Ok(None),
            (false, false) => Noted::Failed("--commit never records nothing".to_owned()),
        };
        let why = match noted {
            Noted::Done => return Ok(None),
            Noted::Gone(why) | Noted::Failed(why) => why,
        };
        let text = format!("break-glass refused, because its use cannot be recorded: {why}");
        Ok(Some(Reason::new(glass::GATE, Decision::Hold, text).with_next(self.approvals.clone())))
    }

    /// Notes on each approval that it let this install through; the reason of the hold where one of them is no longer good, or is for
    /// one install and that cannot be noted.
    fn approvals(&self, judgement: &Judgement, said: &mut dyn FnMut(String)) -> Result<Option<Reason>, Stop> {
        let Self { setup, ready, .. } = self;
        let used = Use { time: approval::to_the_second(setup.now), by: pin::author(&setup.env) };
        for (place, approval) in &judgement.approvals {
            let noted = match (self.writes(), approval.once && !ready.world.host.writes_nothing) {
                (true, _) => self.keep(place, |ledger, _| ledger.take(approval, &used))?,
                (false, true) => Noted::Failed("--commit never would not use it up".to_owned()),
                (false, false) => continue,
            };
            if let Some(text) = refused(approval, noted, said) {
                return Ok(Some(Reason::new("approval", Decision::Hold, text).with_next(self.approvals.clone())));
            }
        }
        Ok(None)
    }

    /// Changes the approvals of a place of the policy; told is whether what ended there makes room.
    fn keep(&self, place: &str, change: impl Fn(&mut Ledger, bool) -> Result<(), LedgerError>) -> Result<Noted, Stop> {
        let Self { setup, ready, .. } = self;
        let from = setup.policy.approvals.from.iter().find(|from| from.to_string() == place);
        let Some(from) = from else { return Ok(Noted::Failed(format!("the policy names no {place}"))) };
        if let Some(file) = setup.approval_file(from) {
            return Ok(match file.update(|ledger| change(ledger, false)) {
                Ok(()) => Noted::Done,
                Err(FileError::Kept(why)) if is_gone(&why) => Noted::Gone(why.to_string()),
                Err(other) => Noted::Failed(other.to_string()),
            });
        }
        let (Some(cluster), Some(name)) = (&ready.cluster, from.config_map()) else {
            return Ok(Noted::Failed(format!("{place} cannot be written without the cluster")));
        };
        let namespace = ready.world.host.namespace.as_deref().unwrap_or_else(|| cluster.namespace());
        let object = approval::Object::new(cluster.client().clone(), StoreKind::ConfigMap, namespace, name);
        let taken = object.update(|ledger| change(ledger, true));
        let bounded = runtime()?.block_on(async { tokio::time::timeout(setup.deadline, taken).await });
        Ok(match bounded {
            Ok(Ok(())) => Noted::Done,
            Ok(Err(ClusterError::Kept(why))) if is_gone(&why) => Noted::Gone(why.to_string()),
            Ok(Err(other)) => Noted::Failed(other.to_string()),
            Err(_) => Noted::Failed("the cluster did not answer in time".to_owned()),
        })
    }

    /// Notes the Machines that go; the reason of the hold where that cannot be done, or another install has taken what was left.
    fn spending(&self, judgement: &Judgement, said: &mut dyn FnMut(String)) -> Result<Option<Reason>, Stop> {
        let Some(spending) = &judgement.spending else { return Ok(None) };
        let limits = budget::limits(&self.setup.policy);
        let by = pin::author(&self.setup.env);
        let entry = Spent { by, ..spending.entry.clone() };
        let change = |history: &mut History| history.spend(&entry, limits, spending.judged.as_deref());
        let noted = match (self.writes(), self.ready.world.host.writes_nothing) {
            (true, _) => self.in_history(change)?,
            (false, true) => return Ok(None),
            (false, false) => Noted::Failed("--commit never would not note what goes out".to_owned()),
        };
        let why = match noted {
            Noted::Done => return Ok(None),
            Noted::Gone(why) => why,
            Noted::Failed(why) if spending.judged.is_some() => format!("what goes out cannot be noted: {why}"),
            Noted::Failed(why) => {
                said(format!("what goes out is not noted: {why}"));
                return Ok(None);
            }
        };
        Ok(Some(Reason::new("budget.history", Decision::Hold, why)))
    }

    /// Changes the history where the policy keeps it.
    fn in_history(&self, change: impl Fn(&mut History) -> Result<(), HistoryError>) -> Result<Noted, Stop> {
        let Self { setup, ready, .. } = self;
        if let Some(file) = setup.history_file() {
            return Ok(match file.update(change) {
                Ok(()) => Noted::Done,
                Err(FileError::Kept(why @ HistoryError::Gone(_))) => Noted::Gone(why.to_string()),
                Err(other) => Noted::Failed(other.to_string()),
            });
        }
        let place = setup.policy.gates.budget.history.as_ref().and_then(HistoryPlace::config_map);
        let (Some(cluster), Some((told, name))) = (&ready.cluster, place) else {
            return Ok(Noted::Failed("it cannot be written without the cluster".to_owned()));
        };
        let namespace = told.or(ready.world.host.namespace.as_deref()).unwrap_or_else(|| cluster.namespace());
        let object = history::Object::new(cluster.client().clone(), StoreKind::ConfigMap, namespace, name);
        let changed = object.update(change);
        let bounded = runtime()?.block_on(async { tokio::time::timeout(setup.deadline, changed).await });
        Ok(match bounded {
            Ok(Ok(())) => Noted::Done,
            Ok(Err(ClusterError::Kept(why @ HistoryError::Gone(_)))) => Noted::Gone(why.to_string()),
            Ok(Err(other)) => Noted::Failed(other.to_string()),
            Err(_) => Noted::Failed("the cluster did not answer in time".to_owned()),
        })
    }
}

fn is_allowed(judgement: &Judgement) -> bool {
    verdict::exit(judgement.report.decision) == Exit::Allow
}

/// Holds what was allowed.
fn hold(judgement: &mut Judgement, reason: Reason) {
    judgement.report.decision = Decision::Hold;
    glass::shut(&mut judgement.report, &reason.message);
    judgement.report.reasons.insert(0, reason);
}

/// Why an approval does not let this install through after all.
fn refused(approval: &Approval, noted: Noted, said: &mut dyn FnMut(String)) -> Option<String> {
    match noted {
        Noted::Done => {
            if approval.once {
                said(format!("approval {} is used up", approval.id));
            }
            None
        }
        Noted::Gone(why) => Some(why),
        Noted::Failed(why) if approval.once => Some(format!("approval {} is for one install, and {why}", approval.id)),
        Noted::Failed(why) => {
            said(format!("the use of approval {} is not noted: {why}", approval.id));
            None
        }
    }
}

/// Whether an approval is no longer what it was.
const fn is_gone(why: &LedgerError) -> bool {
    matches!(why, LedgerError::NotThere { .. } | LedgerError::Ended { .. })
}
