//! What an abort does: memory that cannot be had, and a stack that is full, end a Rust program by this signal. Nothing was decided then,
//! and of a handler's few means these are enough to say so: an exit code, and one letter.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::SigId;
use signal_hook::consts::SIGABRT;
use signal_hook::low_level::{pipe, unregister};

use crate::exit::Exit;

/// What ends the program.
static EXIT: Mutex<Option<SigId>> = Mutex::new(None);

/// From now on an abort ends the program with the code of what is undecided.
///
/// # Errors
/// When the signal cannot be listened to.
pub fn end_undecided() -> io::Result<()> {
    let exit = i32::from(Exit::Undecided.code());
    let new = signal_hook::flag::register_conditional_shutdown(SIGABRT, exit, Arc::new(AtomicBool::new(true)))?;
    let old = EXIT.lock().unwrap_or_else(PoisonError::into_inner).replace(new);
    old.map(unregister);
    Ok(())
}

/// Ends an abort with the code of undecided, and leaves a letter on standard output before: where values are owed nothing at all would be
/// read as no values, and a letter is read as no map.
///
/// # Errors
/// When the signal cannot be listened to, or standard output cannot be opened once more: a socket, or a closed one.
pub(super) fn leave_a_letter() -> io::Result<()> {
    // Whoever else writes there must not find it non-blocking, so it is not a copy of the descriptor.
    let out = File::options().append(true).open("/proc/self/fd/1")?;
    pipe::register(SIGABRT, out)?;
    // What was registered first runs first.
    end_undecided()
}
