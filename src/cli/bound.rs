//! The bounds of a run that no limit of its own keeps: a step that takes longer than `--deadline`, and memory that runs out. Both end
//! the program with a sentence and a code of the table, before the system ends it without.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{fault, leave};
use crate::exit::Exit;
use crate::memory;

/// How often is looked.
const TICK: Duration = Duration::from_millis(4);
/// How often is looked while something runs that may grow without end.
const SHORT_TICK: Duration = Duration::from_millis(1);
/// How many hundredths of a limit may be in use; what is asked for at once must fit into the rest.
const PART: u64 = 85;
/// How many hundredths of a limit of addresses may be in use: allocators reserve more of them than they use.
const PART_OF_ADDRESSES: u64 = 60;
/// How much memory a values template may take.
const TEMPLATE: u64 = 64 * 1024 * 1024;
/// Which part of the addresses that are left it may take: a text that grows is there twice, and asks for as much again.
const PART_OF_ROOM: u64 = 8;

/// The steps that run now: releases are judged beside each other.
static STEPS: Mutex<Vec<(u64, Step)>> = Mutex::new(Vec::new());
/// What tells them apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A step with bounds of its own.
#[derive(Debug, Clone, Copy)]
struct Step {
    what: &'static str,
    ends: Option<Instant>,
    /// Most memory that may be in use.
    most: Option<u64>,
    exit: Exit,
}

/// Ends the bounds of a step when it goes.
#[must_use]
pub(super) struct Bound(u64);

impl Drop for Bound {
    fn drop(&mut self) {
        STEPS.lock().unwrap_or_else(PoisonError::into_inner).retain(|(number, _)| *number != self.0);
    }
}

/// Bounds a step by the deadline: nothing that it could not find out is known.
pub(super) fn deadline(what: &'static str, limit: Duration) -> Bound {
    set(Step { what, ends: Instant::now().checked_add(limit), most: None, exit: Exit::Undecided })
}

/// Bounds the rendering of values, which a template of a few bytes can make grow without end.
pub(super) fn template(limit: Duration) -> Bound {
    let most = memory::room().map_or(TEMPLATE, |room| TEMPLATE.min(room / PART_OF_ROOM));
    let most = memory::used().map(|resident| resident + most);
    set(Step { what: "rendering the values", ends: Instant::now().checked_add(limit), most, exit: Exit::Usage })
}

fn set(step: Step) -> Bound {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    STEPS.lock().unwrap_or_else(PoisonError::into_inner).push((number, step));
    Bound(number)
}

fn steps() -> Vec<(u64, Step)> {
    STEPS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Watches over the whole run from now on.
pub(super) fn watch() {
    let part = |limit: Option<u64>, part: u64| limit.map_or(u64::MAX, |limit| limit / 100 * part);
    let most = part(memory::limit(), PART).min(part(memory::address_space(), PART_OF_ADDRESSES));
    let watcher = std::thread::Builder::new().name("bounds".to_owned()).stack_size(128 * 1024);
    // Without the watcher the program only ends less politely.
    drop(watcher.spawn(move || {
        loop {
            let may_grow = steps().iter().any(|(_, step)| step.most.is_some());
            std::thread::sleep(if may_grow { SHORT_TICK } else { TICK });
            let steps = steps();
            let resident = memory::used().unwrap_or_default();
            let first = |is: &dyn Fn(&Step) -> bool| steps.iter().map(|(_, step)| *step).find(is);
            let late = first(&|step| step.ends.is_some_and(|ends| Instant::now() > ends));
            let grown = first(&|step| step.most.is_some_and(|most| resident > most));
            if let Some(step) = late {
                end(
                    &format!("{} takes longer than --deadline; give more time, or judge less at once", step.what),
                    step.exit,
                );
            } else if let Some(step) = grown {
                end(&format!("{} takes more memory than any values need", step.what), step.exit);
            } else if resident > most {
                let limit = memory::limit().unwrap_or_default() / (1024 * 1024);
                end(
                    &format!("{limit} MiB of memory are not enough; give more, or judge less at once"),
                    Exit::Undecided,
                );
            }
        }
    }));
}

fn end(message: &str, exit: Exit) {
    // A closed standard error leaves nothing to say it with.
    drop(writeln!(std::io::stderr(), "rollgate: {message}"));
    fault::tell(message, exit);
    leave::leave(exit);
}
