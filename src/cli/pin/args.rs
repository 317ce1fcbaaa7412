//! What `rollgate pin` takes on its command line.

use clap::{Args, Subcommand};

use super::KnownArgs;

/// Options of `pin`.
#[derive(Debug, Args)]
pub struct PinArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PinCommand,
}

/// What can be done with pins.
#[derive(Debug, Subcommand)]
pub enum PinCommand {
    /// Every pin, one a line.
    List {
        /// Print the pins as a list in JSON.
        #[arg(long)]
        json: bool,
        /// How to print; `json` names the place too.
        #[arg(long, short, value_enum)]
        output: Option<PinOutput>,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// One pin with its origin and history.
    Show {
        /// Name of the late value.
        name: String,
        /// Print the pin and its history as JSON.
        #[arg(long)]
        json: bool,
        /// How to print; `json` names the place too.
        #[arg(long, short, value_enum)]
        output: Option<PinOutput>,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// Pin a value by hand, whatever its source says.
    Set {
        /// Name of the late value.
        name: String,
        /// The value; `-` to read it from standard input.
        value: String,
        /// Keep it readable even if neither the policy nor its type says that it is no secret.
        #[arg(long)]
        plain: bool,
        /// Why; kept in the history.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// Move a pin to what its source says now, or to a value.
    Repin {
        /// Name of the late value.
        name: String,
        /// Take what the source says now.
        #[arg(long, required_unless_present = "value", conflicts_with = "value")]
        from_source: bool,
        /// Take this value.
        #[arg(long, value_name = "VALUE")]
        value: Option<String>,
        /// Keep it readable even if neither the policy nor its type says that it is no secret.
        #[arg(long)]
        plain: bool,
        /// Why; kept in the history.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// What happened to pins, oldest first.
    History {
        /// Name of the late value; all where none is given.
        name: Option<String>,
        /// How to print.
        #[arg(long, short, value_enum)]
        output: Option<PinOutput>,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// Take a pin away: the next run takes what the source says then.
    Unset {
        /// Name of the late value.
        name: String,
        /// Why; kept in the history.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
    /// Compare each pin with its source; exit 3 where one has moved, 4 where one cannot be read.
    Verify {
        /// Names of late values; all of the policy where none is given.
        names: Vec<String>,
        /// How to print.
        #[arg(long, short, value_enum)]
        output: Option<PinOutput>,
        /// Where the pins are.
        #[command(flatten)]
        known: KnownArgs,
    },
}

/// How pins are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PinOutput {
    /// For people.
    Human,
    /// For programs.
    Json,
}
