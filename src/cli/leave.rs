//! The end of the program from wherever it is ended: what was started and made goes with it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{signals, values};
use crate::exit::Exit;
use crate::session::process;

/// The temporary folder with the worktrees, where there is one.
static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// From now on a signal ends what renders, removes the folder with Git's worktrees in it, and then the program.
///
/// # Errors
/// When signals cannot be listened to.
pub(super) fn clean_up_on_signals(folder: Option<&Path>) -> io::Result<()> {
    if let Some(folder) = folder {
        *FOLDER.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder.to_owned());
    }
    signals::listen()
}

/// Whether [`leave`] ends the program.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Waits for the end of the program, where it has begun.
pub(super) fn give_way() {
    while LEAVING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Ends the program from any thread, and takes away what it has made.
#[expect(clippy::exit, reason = "a signal or a bound ends the program, and the main thread may be anywhere.")]
pub(super) fn leave(exit: Exit) {
    LEAVING.store(true, Ordering::SeqCst);
    values::refuse();
    process::end_all();
    if let Some(folder) = FOLDER.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // What cannot be removed now is a temporary folder; Git forgets the worktrees at its next prune.
        drop(std::fs::remove_dir_all(folder));
        drop(std::process::Command::new("git").args(["worktree", "prune"]).stdin(Stdio::null()).output());
    }
    std::process::exit(i32::from(exit.code()));
}
