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

const THREADS: &str = "cannot start a thread: the memory or the processes that it may have are used up (ulimit -a)";
const FILES: &str = "cannot listen to signals: the files that it may have open are used up (ulimit -n)";
const TOKEN: &str = "the token for the cluster holds a line break or another character that no header may hold; fix it where the kubeconfig takes it from";

/// What is lacking outside of this program where a library panics, and offers no other way: how its message begins, and what it means.
const LACKS: [(&str, &str); 4] = [
    // tokio 1.x, src/runtime/blocking/pool.rs
    ("OS can't spawn worker thread", THREADS),
    // rayon-core 1.13, src/registry.rs, global_registry
    ("The global thread pool has not been initialized", THREADS),
    // tokio 1.x, src/signal/unix.rs
    ("failed to create UnixStream", FILES),
    // tower-http 0.7, src/auth/add_authorization.rs, AddAuthorizationLayer::bearer
    ("token is not valid header", TOKEN),
];

/// Ends the program at a defect with a code of the table, whichever thread has it. What the defect says may hold what was read, secrets
/// too, so that only its place is shown. What is lacking outside is no defect: nothing was decided then.
#[expect(clippy::exit, reason = "a thread that has a defect cannot return an exit code.")]
fn defect(info: &PanicHookInfo<'_>) {
    let said = info.payload_as_str().unwrap_or_default();
    let (exit, text) = if let Some((_, lack)) = LACKS.iter().find(|(begin, _)| said.starts_with(begin)) {
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
