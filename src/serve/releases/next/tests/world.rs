//! A HelmRelease with everything around it: people, helm-controller, sources and values, and replicas that look at it.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use super::super::*;
use crate::serve::releases::marks;
use crate::serve::releases::state::*;
use crate::tree::{Value, json};

/// A HelmRelease with everything around it.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) parts: [u8; 3],
    pub(super) there: bool,
    pub(super) suspended: bool,
    pub(super) asked: bool,
    pub(super) deleting: bool,
    pub(super) guarded: bool,
    pub(super) generation: i64,
    pub(super) marks: Value,
    pub(super) began: i64,
    pub(super) done: i64,
    pub(super) ready: bool,
    pub(super) stalled: bool,
    pub(super) installed: bool,
    /// A person has suspended it while it was not.
    pub(super) hand: bool,
    pub(super) now: Timestamp,
    pub(super) approved: BTreeSet<[u8; 3]>,
    pub(super) removal_approved: bool,
    /// What Flux has written, by what it read.
    pub(super) written: Vec<[u8; 3]>,
    pub(super) said: Vec<&'static str>,
}

/// What one replica remembers.
#[derive(Debug, Clone, Default)]
pub(super) struct Replica {
    pub(super) verdict: Option<Verdict>,
    pub(super) judged: Option<Timestamp>,
    pub(super) stirred: bool,
}

pub(super) fn made(parts: [u8; 3]) -> Made {
    let [spec, chart, values] = parts.map(|part| format!("sha256:{part}"));
    Made { spec, chart, values }
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            parts: [0; 3],
            there: true,
            suspended: false,
            asked: true,
            deleting: false,
            guarded: false,
            generation: 1,
            marks: json!({}),
            began: 0,
            done: 0,
            ready: false,
            stalled: false,
            installed: false,
            hand: false,
            now: "2026-01-01T00:00:00Z".parse().expect("a time"),
            approved: BTreeSet::from([[0; 3]]),
            removal_approved: false,
            written: Vec::new(),
            said: Vec::new(),
        }
    }

    pub(super) fn state(&self) -> Option<State> {
        marks::read(&json!({"metadata": {"annotations": self.marks}}))
    }

    pub(super) fn phase(&self) -> Option<Phase> {
        self.state().map(|state| state.phase)
    }

    pub(super) fn seen(&self, replica: &Replica) -> Observed {
        Observed {
            asked: self.asked,
            deleting: self.deleting,
            guarded: self.guarded,
            suspended: self.suspended,
            generation: self.generation,
            made: if self.there { Ok(made(self.parts)) } else { Err("its chart is not there".to_owned()) },
            flux: Flux {
                began: self.began == self.generation,
                done: self.done == self.generation,
                ready: self.ready,
                stalled: self.stalled,
                installed: self.installed,
                said: "said".to_owned(),
            },
            interval: Duration::from_secs(600),
            timeout: Duration::from_secs(300),
            now: self.now,
            judged: replica.judged,
            stirred: replica.stirred,
        }
    }

    pub(super) fn verdict(&self, removal: bool) -> Verdict {
        let may = if removal { self.removal_approved } else { self.approved.contains(&self.parts) };
        let answer = if may { Ruling::Allow } else { Ruling::Hold };
        let line = if may { String::new() } else { "held; next: rollgate approve".to_owned() };
        Verdict { made: made(self.parts), removal, answer, digest: format!("sha256:{:?}", self.parts), line }
    }

    /// One look of a replica, and its write, which nobody comes between. Gives what comes next.
    pub(super) fn look(&mut self, replica: &mut Replica) -> Then {
        let verdict = replica.verdict.take();
        let step = next(self.state().as_ref(), &self.seen(replica), verdict.as_ref());
        match step.then {
            Then::Judge | Then::JudgeRemoval if self.there || step.then == Then::JudgeRemoval => {
                replica.verdict = Some(self.verdict(step.then == Then::JudgeRemoval));
                (replica.judged, replica.stirred) = (Some(self.now), false);
            }
            _ => {}
        }
        if let Some(write) = step.write {
            self.write(&write);
        }
        self.said.extend(step.say.map(|said| said.reason));
        step.then
    }

    pub(super) fn write(&mut self, write: &Write) {
        if write.suspend == Some(false) {
            assert!(!self.hand, "what a person has suspended is resumed: {self:#?}");
            let phase = write.state.as_ref().expect("it says what it did").phase;
            let may =
                if phase == Phase::Removing { self.removal_approved } else { self.approved.contains(&self.parts) };
            assert!(may && (self.there || phase == Phase::Removing), "resumed for what nobody allowed: {self:#?}");
        }
        if let Some(suspend) = write.suspend {
            self.generation += i64::from(suspend != self.suspended);
            self.suspended = suspend;
        }
        self.guarded = write.state.is_some();
        let merged = marks::write(write.state.as_ref());
        let all = merged.as_object().expect("a map").iter().filter(|(_, value)| !value.is_null());
        self.marks = Value::Object(all.map(|(name, value)| (name.clone(), value.clone())).collect());
        // What is written is read as it was.
        assert_eq!(self.state(), write.state);
    }

    /// helm-controller takes one step, as far as it may.
    pub(super) fn flux(&mut self, ready: bool, stalled: bool) {
        if self.suspended {
            return;
        }
        if self.deleting {
            self.installed = false;
        } else if self.began != self.generation {
            self.began = self.generation;
            self.installed = true;
            self.written.push(self.parts);
        } else {
            (self.done, self.ready, self.stalled) = (self.generation, ready, stalled && !ready);
        }
    }

    pub(super) fn passes(&mut self, seconds: i64) {
        self.now += jiff::SignedDuration::from_secs(seconds);
    }

    pub(super) fn person_suspends(&mut self) {
        if !self.suspended {
            self.hand = self.asked && self.phase().is_none_or(|phase| phase.is_open() || phase == Phase::Theirs);
            self.suspended = true;
            self.generation += 1;
        }
    }

    pub(super) fn person_resumes(&mut self) {
        if self.suspended {
            self.hand = false;
            self.suspended = false;
            self.generation += 1;
        }
    }

    pub(super) fn moves(&mut self, part: usize, to: u8) {
        if self.parts[part] != to {
            self.parts[part] = to;
            self.generation += i64::from(part == 0);
        }
    }

    /// Looks until nothing is written any more and nothing is to be judged.
    pub(super) fn settles(&mut self, replica: &mut Replica) {
        for _ in 0..20 {
            match self.look(replica) {
                Then::Look(Duration::ZERO) | Then::Judge | Then::JudgeRemoval => {}
                Then::Look(_) | Then::Rest => return,
            }
        }
        panic!("it does not come to rest: {self:#?}");
    }
}
