//! What one read gave, ready to be judged, and the cluster's answers as what a World holds.

use std::collections::BTreeSet;

use super::{Observer, Setup, Stop, runtime};
use crate::approval::{FoundLedger, Ledger};
use crate::cluster::{self, Lookup, SourceObject};
use crate::compare::redact::Redactor;
use crate::history::{self, History};
use crate::host::Detected;
use crate::late;
use crate::object::Key;
use crate::pin::{Book, Pin};
use crate::pipeline::{self, Judgement, Question};
use crate::policy::{Policy, StoreKind};
use crate::store;
use crate::tree::Value;
use crate::world::{SourceReading, Unread, World};

/// What one read gave, ready to be judged.
pub struct Ready {
    /// What is asked.
    pub question: Question,
    /// What was read.
    pub world: World,
    /// Who writes.
    pub detected: Detected,
    /// The cluster, where it answered.
    pub cluster: Option<cluster::Cluster>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// Kinds and requests, one a line.
    pub reads: Vec<String>,
    /// Whether readings and pins were recorded with the World.
    pub(super) recorded: bool,
}

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ready").field("question", &self.question).finish_non_exhaustive()
    }
}

impl Ready {
    /// Asks the API server about the writes of the host, and puts its answers into the World.
    ///
    /// # Errors
    /// When the stream cannot be read.
    pub fn ask(&mut self, setup: &Setup) -> Result<(), Stop> {
        let writes = pipeline::writes(&self.question, &self.world).map_err(Stop::of_fault)?;
        // A cluster that was not reached is a doubt already.
        let Some(cluster) = &self.cluster else { return Ok(()) };
        let policy = &self.question.policy;
        let names = writes.iter().flat_map(|write| [Some(write.key.name.as_str()), write.key.namespace.as_deref()]);
        let redactor = Redactor::new(&self.question.key)
            .with_patterns(policy.redact.iter().map(String::as_str))
            .with_shown(policy.show.iter().map(String::as_str))
            .with_names(names.flatten());
        let hide = |key: &Key, sent: &Value, words: &str| redactor.answer(key, sent, words);
        let (answers, unread) = runtime()?.block_on(cluster.dry_run(writes, setup.deadline, &hide));
        self.world.answers = Some(answers);
        self.world.unread.extend(unread);
        Ok(())
    }

    /// Judges it.
    ///
    /// # Errors
    /// When the stream cannot be read, or a rule of the user.
    pub fn judge(&self, setup: &Setup, observer: &dyn Observer) -> Result<Judgement, Stop> {
        let bound = observer.begins("judging", setup.deadline);
        let mut judgement = pipeline::judge(&self.question, &self.world).map_err(Stop::of_fault)?;
        drop(bound);
        judgement.report.warnings.extend(self.warnings.iter().cloned());
        Ok(judgement)
    }
}

/// The answers of the cluster as readings.
pub(super) fn readings(
    policy: &Policy,
    names: &BTreeSet<String>,
    namespace: Option<&str>,
    sources: &[SourceObject],
) -> Vec<SourceReading> {
    late::wanted(policy, names, namespace)
        .iter()
        .map(|wanted| {
            let source = sources.iter().find(|one| one.value == wanted.value.name && one.place == wanted.place);
            match source.map(|source| &source.answer) {
                Some(Lookup::Found(value)) => late::reading(wanted, Ok(Some(value))),
                Some(Lookup::Absent) => late::reading(wanted, Ok(None)),
                Some(Lookup::NoKind) => late::no_kind(wanted),
                Some(Lookup::Unread(unread)) => {
                    late::reading(wanted, Err(format!("{}; {}", unread.why, unread.remedy)))
                }
                None => late::reading(wanted, Err("it was not read".to_owned())),
            }
        })
        .collect()
}

/// The pins of a store in the cluster; one that could not be read is a doubt.
pub(super) fn pins_of(policy: &Policy, answer: Option<Lookup>, unread: &mut Vec<Unread>) -> Vec<Pin> {
    let Some((kind, _)) = policy.pins.in_cluster() else { return Vec::new() };
    match answer {
        None | Some(Lookup::Absent | Lookup::NoKind) => Vec::new(),
        Some(Lookup::Unread(why)) => {
            unread.push(why);
            Vec::new()
        }
        Some(Lookup::Found(map)) => match crate::pin::cluster::from_object::<Book>(&map, kind) {
            Ok(book) => book.pins().to_vec(),
            Err(error) => {
                unread.push(Unread {
                    what: "the pins".to_owned(),
                    why: error.to_string(),
                    remedy: format!("fix the {}, or take the broken key out", crate::pin::cluster::word(kind)),
                    keys: Vec::new(),
                });
                Vec::new()
            }
        },
    }
}

/// What objects of the cluster approve. One that could not be read approves nothing, and is no doubt of its own: what holds, holds.
#[must_use]
pub(crate) fn approvals_of(policy: &Policy, answers: Vec<(usize, String, Lookup)>) -> Vec<FoundLedger> {
    let found = answers.into_iter().filter_map(|(number, name, answer)| {
        let place = policy.approvals.from.get(number)?.to_string();
        let ledger = match answer {
            Lookup::Absent | Lookup::NoKind => Ok(Ledger::default()),
            Lookup::Unread(unread) => Err(format!("{}; {}", unread.why, unread.remedy)),
            Lookup::Found(map) => {
                store::cluster::from_object::<Ledger>(&map, StoreKind::ConfigMap).map_err(|error| error.to_string())
            }
        };
        Some(FoundLedger::of(&place, &name, false, ledger))
    });
    found.collect()
}

/// What an object of the cluster says went out before. Where there is none yet, nothing did.
#[must_use]
pub(crate) fn history_of(policy: &Policy, answer: Option<Lookup>) -> Option<history::FoundHistory> {
    let (answer, place) = (answer?, policy.gates.budget.history.as_ref()?.to_string());
    let history = match answer {
        Lookup::Absent => Ok(History::default()),
        Lookup::NoKind => Err("the API server knows no ConfigMaps".to_owned()),
        Lookup::Unread(unread) => Err(format!("{}; {}", unread.why, unread.remedy)),
        Lookup::Found(map) => {
            store::cluster::from_object::<History>(&map, StoreKind::ConfigMap).map_err(|error| error.to_string())
        }
    };
    Some(history::FoundHistory::of(&place, false, history))
}
