//! The command line: one file a command. Writers and the environment come in; an exit code goes out.

mod args;
mod debug;
mod explain;
mod helm;
mod known;
mod output;
mod pin;
mod plan;
mod post_render;
mod revisions;
mod run;
mod schema;
mod snapshot;
mod values;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write};

use clap::Parser as _;

pub use args::{Cli, Colour, Command};

use crate::exit::Exit;
pub use crate::session::Stop;
use crate::session::Screen;

/// Everything that a command may touch of the outside world, besides files and the cluster.
pub struct Outside<'a> {
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// Standard error.
    pub err: &'a mut dyn Write,
    /// Whether standard output is a terminal.
    pub out_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub err_is_terminal: bool,
}

impl Outside<'_> {
    /// Where is said what is waited for.
    fn screen(&mut self) -> Screen<'_> {
        Screen { out: self.err, terminal: self.err_is_terminal }
    }
}

/// Runs the program: reads the arguments, runs one command, and says what went wrong in one line.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Exit {
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let (out_is_terminal, err_is_terminal) = (stdout.is_terminal(), stderr.is_terminal());
    let (mut out, mut err) = (stdout.lock(), stderr);
    with(args, &mut Outside { out: &mut out, err: &mut err, out_is_terminal, err_is_terminal })
}

/// Runs one command line with the given writers.
pub fn with(args: impl IntoIterator<Item = OsString>, outside: &mut Outside<'_>) -> Exit {
    match Cli::try_parse_from(args) {
        Ok(cli) => dispatch(cli, outside),
        Err(error) => usage(&error, outside),
    }
}

fn dispatch(cli: Cli, outside: &mut Outside<'_>) -> Exit {
    let result = match cli.command {
        Command::Plan(args) => plan::run(args, cli.color, outside),
        Command::PostRender(args) => post_render::run(&args, cli.color, outside),
        Command::Values(args) => values::run(&args, outside),
        Command::Pin(args) => pin::run(&args, outside),
        Command::Explain(args) => explain::run(&args, cli.color, outside),
        Command::Snapshot(args) => snapshot::run(args, outside),
        Command::Helm(args) => helm::run(args, outside),
        Command::Schema(args) => schema::run(&args, outside),
        Command::Debug(args) => debug::run(&args, outside),
    };
    match result {
        Ok(exit) => exit,
        Err(stop) => {
            // A closed standard error leaves nothing to say it with; the exit code stands.
            drop(writeln!(outside.err, "rollgate: {:#}", stop.error));
            stop.exit
        }
    }
}

/// Help and version are no faults; everything else is a wrong command line.
fn usage(error: &clap::Error, outside: &mut Outside<'_>) -> Exit {
    let text = error.render();
    let (written, exit) = if error.use_stderr() {
        (write!(outside.err, "{text}"), Exit::Usage)
    } else {
        (write!(outside.out, "{text}"), Exit::Allow)
    };
    if written.is_ok() { exit } else { Exit::Internal }
}
