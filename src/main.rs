//! The program: arguments in, exit code out.

/// Most of the time of a large `plan` goes into small pieces of trees, which this allocator hands out faster than glibc or musl.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // Two TLS providers in one process would panic at first use; this names the one.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return rollgate::exit::Exit::Internal.into();
    }
    rollgate::cli::main(std::env::args_os()).into()
}
