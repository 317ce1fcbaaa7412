//! The program: arguments in, exit code out.

use std::io::Write as _;
use std::panic::PanicHookInfo;

use rollgate::exit::Exit;

/// Most of the time of a large `plan` goes into small pieces of trees, which this allocator hands out faster than glibc or musl.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    std::panic::set_hook(Box::new(defect));
    if rollgate::cli::end_undecided().is_err() {
        return Exit::Internal.into();
    }
    // Two TLS providers in one process would panic at first use; this names the one.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return Exit::Internal.into();
    }
    rollgate::cli::main(std::env::args_os()).into()
}

/// How tokio says that it got no thread (tokio 1.x, `src/runtime/blocking/pool.rs`): it panics, and offers no other way.
const NO_THREAD: &str = "OS can't spawn worker thread";

/// Ends the program at a defect with a code of the table, whichever thread has it. What the defect says may hold what was read, secrets
/// too, so that only its place is shown. A thread that cannot be had is a lack of this machine, not a defect: nothing was decided then.
#[expect(clippy::exit, reason = "a thread that has a defect cannot return an exit code.")]
fn defect(info: &PanicHookInfo<'_>) {
    let (exit, text) = if info.payload_as_str().is_some_and(|text| text.starts_with(NO_THREAD)) {
        let lack = "cannot start a thread: the memory or the processes that it may have are used up (ulimit -a)";
        (Exit::Undecided, format!("rollgate: {lack}; nothing was decided"))
    } else {
        let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line())).unwrap_or_default();
        (
            Exit::Internal,
            format!("rollgate: internal error{place}: this is a defect, please report it; nothing was decided"),
        )
    };
    rollgate::cli::refuse_values();
    drop(writeln!(std::io::stderr(), "{text}"));
    std::process::exit(i32::from(exit.code()));
}
