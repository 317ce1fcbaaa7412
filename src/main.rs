//! The program: arguments in, exit code out.

fn main() -> std::process::ExitCode {
    // Two TLS providers in one process would panic at first use; this names the one.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return rollgate::exit::Exit::Internal.into();
    }
    rollgate::cli::main(std::env::args_os()).into()
}
