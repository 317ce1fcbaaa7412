//! The command line: one file a command. Writers and the environment come in; an exit code goes out.

mod aborts;
mod approve;
mod argocd;
mod args;
mod bound;
mod called;
mod complete;
mod debug;
mod examples;
mod explain;
mod fault;
mod flux;
mod helm;
mod installed;
mod known;
mod leave;
mod output;
mod pin;
mod plan;
mod policy;
mod post_render;
mod releases;
mod revisions;
mod schema;
mod score;
#[cfg(feature = "serve")]
mod serve;
#[cfg(not(feature = "serve"))]
#[path = "unserved.rs"]
mod serve;
mod setup;
mod signals;
mod snapshot;
mod source;
mod upgrade;
mod values;
mod why;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::time::Duration;

use clap::{CommandFactory as _, FromArgMatches as _};

pub use aborts::end_undecided;
pub use args::{Cli, Colour, Command};

use crate::exit::Exit;
use crate::host::ToldHost;
use crate::late::wait::Screen;
use crate::report::escape;
use crate::session::{Guard, Observer, Stop};

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
    /// Columns of the terminal that a person reads; `None` where there is none.
    pub columns: Option<usize>,
}

/// Runs the program: reads the arguments, runs one command, and says what went wrong in one line.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Exit {
    bound::watch();
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    // A dumb terminal neither paints nor moves its cursor.
    let is_smart = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let (out_is_terminal, err_is_terminal) = (stdout.is_terminal() && is_smart, stderr.is_terminal() && is_smart);
    let columns = columns(&stdout, &stderr);
    let (mut lock, mut closed, mut err) = (stdout.lock(), output::Closed, stderr);
    let out: &mut dyn Write = if output::is_closed() { &mut closed } else { &mut lock };
    with(args, &mut Outside { out, err: &mut err, out_is_terminal, err_is_terminal, columns })
}

/// Says on standard output that there are no values, where somebody waits for them: for who ends the program from outside of it.
pub fn refuse_values() {
    values::refuse();
}

/// How many columns a report may have: COLUMNS where it is set, as for other programs, else those of the terminal.
fn columns(stdout: &std::io::Stdout, stderr: &std::io::Stderr) -> Option<usize> {
    let told = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok()).filter(|columns| *columns > 0);
    let size = || terminal_size::terminal_size_of(stdout).or_else(|| terminal_size::terminal_size_of(stderr));
    told.or_else(|| size().map(|(width, _)| usize::from(width.0)).filter(|columns| *columns > 0))
}

/// Runs one command line with the given writers.
pub fn with(args: impl IntoIterator<Item = OsString>, outside: &mut Outside<'_>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(exit) = complete::answer(&args, outside) {
        return exit;
    }
    let command = Cli::command().bin_name(called(args.first()));
    match command.try_get_matches_from(&args).and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => dispatch(cli, outside),
        Err(error) => {
            if error.use_stderr() && args.iter().skip(1).any(|word| word == "post-render") {
                fault::of_post_renderer(ToldHost::default());
                let text = error.render().to_string();
                fault::tell(text.trim_start_matches("error: ").lines().next().unwrap_or_default(), Exit::Usage);
            }
            usage(&error, outside)
        }
    }
}

/// How the program is called in its own help: kubectl runs a plugin by the name of its file.
fn called(program: Option<&OsString>) -> &'static str {
    let name = program.map(Path::new).and_then(Path::file_stem).and_then(|name| name.to_str());
    if name.is_some_and(|name| name.starts_with("kubectl-")) { "kubectl rollgate" } else { "rollgate" }
}

fn dispatch(cli: Cli, outside: &mut Outside<'_>) -> Exit {
    let result = match cli.command {
        Command::Plan(args) => plan::run(*args, cli.color, outside),
        Command::PostRender(args) => post_render::run(&args, cli.color, outside),
        Command::Values(args) => values::run(&args, outside),
        Command::RenderValues => values::apart::run(outside),
        Command::Why(args) => why::run(&args, cli.color, outside),
        Command::Score(args) => score::run(&args, cli.color, outside),
        Command::Pin(args) => pin::run(&args, outside),
        Command::Approve(args) => approve::run(&args, outside),
        Command::Explain(args) => explain::run(&args, cli.color, outside),
        Command::Snapshot(args) => snapshot::run(args, outside),
        Command::Helm(args) => helm::run(args, outside),
        Command::Flux(args) => flux::run(args, cli.color, outside),
        Command::Serve(args) => serve::run(&args, outside),
        Command::Schema(args) => schema::run(&args, outside),
        Command::Policy(args) => policy::run(args, outside),
        Command::Completions { shell } => complete::script(shell, outside),
        Command::Man { folder } => installed::man(folder.as_deref(), outside),
        Command::Debug(args) => debug::run(&args, outside),
    };
    // What was not written whole was not said: that is never an allow.
    let result = result.and_then(|exit| match outside.out.flush() {
        Err(error) if exit == Exit::Allow => {
            Err(Stop::internal(anyhow::Error::new(error).context("cannot write to standard output")))
        }
        _ => Ok(exit),
    });
    // What a signal or a bound ends has its own code; what fails because it is taken away says nothing.
    leave::give_way();
    match result {
        Ok(exit) => exit,
        // Whoever closed the pipe, as `| head` does, has read enough; the code still says that not all was said.
        Err(stop) if stop.exit == Exit::Internal && is_closed(&stop.error) => stop.exit,
        Err(stop) => {
            let message = format!("{:#}", stop.error);
            let message = escape::lines(&message);
            // A closed standard error leaves nothing to say it with; the exit code stands.
            drop(writeln!(outside.err, "rollgate: {message}"));
            fault::tell(&message, stop.exit);
            stop.exit
        }
    }
}

/// Whether nobody reads any more.
fn is_closed(error: &anyhow::Error) -> bool {
    let broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(broken))
}

/// Help and version are no faults; everything else is a wrong command line.
fn usage(error: &clap::Error, outside: &mut Outside<'_>) -> Exit {
    let text = error.render();
    let (written, exit) = if error.use_stderr() {
        (write!(outside.err, "{text}"), Exit::Usage)
    } else {
        (write!(outside.out, "{text}"), Exit::Allow)
    };
    let is_bare = error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_bare && !io::stdin().is_terminal() {
        // Helm runs it so where only the program is named.
        let hint = "no command is named; as a post-renderer of Helm 3 it needs --post-renderer-args post-render";
        drop(writeln!(outside.err, "\nrollgate: {hint}"));
    }
    if written.and_then(|()| outside.out.flush()).is_ok() { exit } else { Exit::Internal }
}

impl Observer for Outside<'_> {
    fn begins(&self, step: &'static str, limit: Duration) -> Guard {
        Box::new(bound::deadline(step, limit))
    }

    fn waits(&self) -> Guard {
        Box::new(signals::waiting(self.err_is_terminal))
    }

    fn starts(&self, folder: Option<&Path>) -> io::Result<()> {
        leave::clean_up_on_signals(folder)
    }

    fn progress(&self) -> Option<Box<dyn Write + Send>> {
        self.err_is_terminal.then(|| Box::new(io::stderr()) as Box<dyn Write + Send>)
    }

    fn screen(&mut self) -> Screen<'_> {
        Screen { out: self.err, terminal: self.err_is_terminal }
    }
}
