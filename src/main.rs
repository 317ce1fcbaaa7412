//! The program: arguments in, exit code out.

fn main() -> std::process::ExitCode {
    rollgate::exit::Exit::Usage.into()
}
