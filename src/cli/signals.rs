//! What a signal does: a run that waits ends with a sentence and a code of the table, and leaves nothing half said.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::signal::unix::{SignalKind, signal};

use super::{fault, leave};
use crate::exit::Exit;

/// What is waited for now, and whether standard error is a terminal.
static WAITING: Mutex<Option<bool>> = Mutex::new(None);
/// Whether signals are listened to: once they are, nobody else ends the program.
static LISTENING: AtomicBool = AtomicBool::new(false);

/// Ends the wait when it goes.
#[must_use]
pub(super) struct Waiting;

impl Drop for Waiting {
    fn drop(&mut self) {
        *WAITING.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// From now on a signal ends a wait for late values. Runs inside a runtime.
pub(super) fn waiting(terminal: bool) -> Waiting {
    *WAITING.lock().unwrap_or_else(PoisonError::into_inner) = Some(terminal);
    // Where signals cannot be listened to they end the program as they always do.
    drop(listen());
    Waiting
}

/// From now on a signal ends the program through [`leave::leave`]. Runs inside a runtime.
///
/// # Errors
/// When signals cannot be listened to.
pub(super) fn listen() -> io::Result<()> {
    if LISTENING.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    let mut signals = [
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
        signal(SignalKind::quit())?,
    ];
    tokio::spawn(async move {
        let [interrupt, terminate, hangup, quit] = &mut signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        }
        let waiting = *WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        match waiting {
            Some(terminal) => {
                let text = "interrupted while late values were waited for; nothing was written";
                let wipe = if terminal { "\r\x1b[K" } else { "" };
                // A closed standard error leaves nothing to say it with.
                drop(writeln!(io::stderr(), "{wipe}rollgate: {text}"));
                fault::tell(text, Exit::Undecided);
                leave::leave(Exit::Undecided);
            }
            None => leave::leave(Exit::Internal),
        }
    });
    Ok(())
}
