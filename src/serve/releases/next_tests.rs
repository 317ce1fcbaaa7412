//! The machine against every order of events: people, Flux, sources and values, restarts, and two replicas at once.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::super::marks;
use super::*;
use crate::tree::{Value, json};

/// A HelmRelease with everything around it.
#[derive(Debug, Clone)]
struct World {
    parts: [u8; 3],
    there: bool,
    suspended: bool,
    asked: bool,
    deleting: bool,
    guarded: bool,
    generation: i64,
    marks: Value,
    began: i64,
    done: i64,
    ready: bool,
    stalled: bool,
    installed: bool,
    /// A person has suspended it while it was not.
    hand: bool,
    now: Timestamp,
    approved: BTreeSet<[u8; 3]>,
    removal_approved: bool,
    /// What Flux has written, by what it read.
    written: Vec<[u8; 3]>,
    said: Vec<&'static str>,
}

/// What one replica remembers.
#[derive(Debug, Clone, Default)]
struct Replica {
    verdict: Option<Verdict>,
    judged: Option<Timestamp>,
    stirred: bool,
}

fn made(parts: [u8; 3]) -> Made {
    let [spec, chart, values] = parts.map(|part| format!("sha256:{part}"));
    Made { spec, chart, values }
}

impl World {
    fn new() -> Self {
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

    fn state(&self) -> Option<State> {
        marks::read(&json!({"metadata": {"annotations": self.marks}}))
    }

    fn phase(&self) -> Option<Phase> {
        self.state().map(|state| state.phase)
    }

    fn seen(&self, replica: &Replica) -> Observed {
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

    fn verdict(&self, removal: bool) -> Verdict {
        let may = if removal { self.removal_approved } else { self.approved.contains(&self.parts) };
        let answer = if may { Answer::Allow } else { Answer::Hold };
        let line = if may { String::new() } else { "held; next: rollgate approve".to_owned() };
        Verdict { made: made(self.parts), removal, answer, digest: format!("sha256:{:?}", self.parts), line }
    }

    /// One look of a replica, and its write, which nobody comes between. Gives what comes next.
    fn look(&mut self, replica: &mut Replica) -> Then {
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

    fn write(&mut self, write: &Write) {
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
    fn flux(&mut self, ready: bool, stalled: bool) {
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

    fn passes(&mut self, seconds: i64) {
        self.now += jiff::SignedDuration::from_secs(seconds);
    }

    fn person_suspends(&mut self) {
        if !self.suspended {
            self.hand = self.asked && self.phase().is_none_or(|phase| phase.is_open() || phase == Phase::Theirs);
            self.suspended = true;
            self.generation += 1;
        }
    }

    fn person_resumes(&mut self) {
        if self.suspended {
            self.hand = false;
            self.suspended = false;
            self.generation += 1;
        }
    }

    fn moves(&mut self, part: usize, to: u8) {
        if self.parts[part] != to {
            self.parts[part] = to;
            self.generation += i64::from(part == 0);
        }
    }

    /// Looks until nothing is written any more and nothing is to be judged.
    fn settles(&mut self, replica: &mut Replica) {
        for _ in 0..20 {
            match self.look(replica) {
                Then::Look(Duration::ZERO) | Then::Judge | Then::JudgeRemoval => {}
                Then::Look(_) | Then::Rest => return,
            }
        }
        panic!("it does not come to rest: {self:#?}");
    }
}

fn begun() -> (World, Replica) {
    let (mut world, mut replica) = (World::new(), Replica::default());
    world.settles(&mut replica);
    (world, replica)
}

/// A release that Flux has installed.
fn installed() -> (World, Replica) {
    let (mut world, mut replica) = begun();
    world.flux(true, false);
    world.flux(true, false);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Done), true));
    (world, replica)
}

#[test]
fn a_first_install_is_judged_then_resumed_then_suspended_again() {
    let (world, _) = begun();
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Resumed), false));
    let (world, _) = installed();
    assert_eq!(world.said, ["Gated", "Allowed", "Applied"]);
    assert_eq!(world.written, [[0; 3]]);
}

#[test]
fn what_is_held_waits_for_its_approval() {
    for part in 0..3 {
        let (mut world, mut replica) = installed();
        world.moves(part, 1);
        world.settles(&mut replica);
        assert_eq!((world.phase(), world.suspended), (Some(Phase::Held), true));
        // Time alone changes nothing, and nothing is said twice.
        for _ in 0..10 {
            world.passes(61);
            world.settles(&mut replica);
        }
        assert_eq!(world.said.iter().filter(|said| **said == "Held").count(), 1);
        world.approved.insert(world.parts);
        replica.stirred = true;
        world.settles(&mut replica);
        assert_eq!(world.phase(), Some(Phase::Resumed));
        world.flux(true, false);
        world.flux(true, false);
        world.settles(&mut replica);
        assert_eq!(world.phase(), Some(Phase::Done));
        assert_eq!(world.written.last(), Some(&world.parts));
    }
}

#[test]
fn what_moves_while_it_is_resumed_is_suspended_at_once() {
    for part in 0..3 {
        let (mut world, mut replica) = begun();
        world.moves(part, 1);
        world.settles(&mut replica);
        assert_eq!((world.phase(), world.suspended), (Some(Phase::Held), true), "part {part}");
        assert!(world.said.contains(&"ChangedWhileResumed"));
        world.flux(true, false);
        assert!(world.written.is_empty());
    }
    let (mut world, mut replica) = begun();
    world.there = false;
    world.look(&mut replica);
    assert!(world.suspended, "what cannot be read is no longer what was judged");
}

#[test]
fn an_unchanged_release_is_resumed_at_its_interval_and_nobody_hears_of_it() {
    let (mut world, mut replica) = installed();
    let said = world.said.len();
    world.passes(500);
    world.settles(&mut replica);
    assert_eq!(world.phase(), Some(Phase::Done));
    world.passes(200);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Resumed), false));
    world.flux(true, false);
    world.flux(true, false);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended, world.said.len()), (Some(Phase::Done), true, said));
    // What drifted and would be written over is judged like everything else.
    world.approved.clear();
    world.passes(700);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Held), true));
}

#[test]
fn a_person_who_suspends_is_obeyed_and_one_who_resumes_is_judged() {
    // While it is resumed, and before it was ever looked at.
    for early in [true, false] {
        let (mut world, mut replica) = if early { (World::new(), Replica::default()) } else { begun() };
        world.person_suspends();
        for _ in 0..5 {
            world.settles(&mut replica);
            world.passes(3600);
            replica.stirred = true;
        }
        assert_eq!((world.phase(), world.suspended), (Some(Phase::Theirs), true));
        world.moves(0, 1);
        world.person_resumes();
        world.settles(&mut replica);
        assert_eq!((world.phase(), world.suspended), (Some(Phase::Held), true));
    }
    let (mut world, mut replica) = installed();
    world.moves(0, 1);
    world.settles(&mut replica);
    world.person_resumes();
    world.look(&mut replica);
    assert!(world.suspended && world.said.contains(&"SuspendedAgain"));
}

#[test]
fn who_no_longer_asks_is_left_as_it_is() {
    let (mut world, mut replica) = installed();
    world.asked = false;
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended, world.guarded), (None, true, false));
}

#[test]
fn flux_that_fails_waits_or_does_not_begin() {
    let (mut world, mut replica) = begun();
    world.flux(false, false);
    world.flux(false, true);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Failed), true));
    world.passes(100_000);
    world.settles(&mut replica);
    assert_eq!(world.phase(), Some(Phase::Failed), "it failed as it is");
    replica.stirred = true;
    world.settles(&mut replica);
    assert_eq!(world.phase(), Some(Phase::Resumed));
    world.passes(59);
    world.look(&mut replica);
    assert!(!world.suspended);
    world.passes(2);
    world.look(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Waiting), true));
    // It begins and never ends.
    world.settles(&mut replica);
    world.flux(false, false);
    world.passes(361);
    world.look(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Done), true));
}

#[test]
fn a_removal_is_judged_before_flux_uninstalls() {
    let (mut world, mut replica) = installed();
    (world.deleting, world.generation) = (true, world.generation + 1);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended, world.guarded), (Some(Phase::Held), true, true));
    world.removal_approved = true;
    replica.stirred = true;
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Removing), false));
    world.flux(true, false);
    world.settles(&mut replica);
    assert!(!world.guarded && !world.installed);

    // What was never installed goes at once, and what a person suspended goes as Flux has it.
    let (mut world, mut replica) = begun();
    (world.deleting, world.generation) = (true, world.generation + 1);
    world.settles(&mut replica);
    assert!(!world.guarded);
    let (mut world, mut replica) = installed();
    world.passes(700);
    world.settles(&mut replica);
    world.person_suspends();
    world.settles(&mut replica);
    world.deleting = true;
    world.settles(&mut replica);
    assert!(!world.guarded && world.installed && world.said.contains(&"NotUninstalled"));
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Look(usize),
    Restart(usize),
    Flux(bool, bool),
    Moves(usize, u8),
    There(bool),
    Suspends,
    Resumes,
    Approves,
    Withdraws,
    Stirs,
    Passes(i64),
    Asks(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0..2usize).prop_map(Event::Look),
        1 => (0..2usize).prop_map(Event::Restart),
        4 => (any::<bool>(), any::<bool>()).prop_map(|(ready, stalled)| Event::Flux(ready, stalled)),
        2 => (0..3usize, 0..3u8).prop_map(|(part, to)| Event::Moves(part, to)),
        1 => any::<bool>().prop_map(Event::There),
        1 => Just(Event::Suspends),
        1 => Just(Event::Resumes),
        1 => Just(Event::Approves),
        1 => Just(Event::Withdraws),
        1 => Just(Event::Stirs),
        2 => prop_oneof![Just(1i64), Just(61), Just(400), Just(700), Just(-30)].prop_map(Event::Passes),
        1 => any::<bool>().prop_map(Event::Asks),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens in whatever order to two replicas that both act: nothing is resumed that was not allowed as it is at that moment,
    /// nothing that a person has suspended is resumed, and once all is quiet and allowed Flux has what there is.
    #[test]
    fn nothing_is_resumed_that_was_not_allowed(events in prop::collection::vec(event(), 1..120)) {
        let mut world = World::new();
        let mut replicas = [Replica::default(), Replica::default()];
        for event in events {
            match event {
                // A verdict of one replica comes after whatever the other did: it is from an earlier look.
                Event::Look(which) => drop(world.look(&mut replicas[which])),
                Event::Restart(which) => replicas[which] = Replica::default(),
                Event::Flux(ready, stalled) => world.flux(ready, stalled),
                Event::Moves(part, to) => world.moves(part, to),
                Event::There(there) => world.there = there,
                Event::Suspends => world.person_suspends(),
                Event::Resumes => world.person_resumes(),
                Event::Approves => drop(world.approved.insert(world.parts)),
                Event::Withdraws => {
                    // A verdict is as old as its look; what is withdrawn between is the window that is written down.
                    world.approved.remove(&world.parts);
                    replicas.iter_mut().for_each(|replica| replica.verdict = None);
                }
                Event::Stirs => replicas.iter_mut().for_each(|replica| replica.stirred = true),
                Event::Passes(seconds) => world.passes(seconds),
                Event::Asks(asked) => world.asked = asked,
            }
        }
        (world.asked, world.there) = (true, true);
        world.approved.insert(world.parts);
        let mut replica = Replica { stirred: true, ..Replica::default() };
        for _ in 0..40 {
            world.settles(&mut replica);
            if world.phase() == Some(Phase::Theirs) {
                prop_assert!(world.suspended);
                return Ok(());
            }
            world.flux(true, false);
            world.passes(700);
            replica.stirred = true;
        }
        prop_assert_eq!(world.written.last(), Some(&world.parts));
    }
}
