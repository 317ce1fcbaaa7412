//! `rollgate values`: values templates in, plain values out, before the chart renders. They go out at once, when every late
//! value is known and agrees with its pin; else what goes out is a text that Helm refuses to read.

pub(super) mod apart;
mod input;
mod merge;

use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, anyhow};
use clap::Args;

use super::args::Commit;
use super::called::{self, Called};
use super::known::{KnownArgs, duration};
use super::{Outside, Stop, aborts, signals};
use crate::exit::Exit;
use crate::late::Settled;
use crate::memory;
use crate::policy::{self, Policy};
use crate::report::escape;
use crate::session::late::LateValues;
use crate::session::late::fill::{Filled, Input, whole};
use crate::session::runtime;
use input::{Call, read};

/// Options of `values`.
#[derive(Debug, Clone, Args)]
pub struct ValuesArgs {
    /// Values files, later ones win; a template ends in .j2 or calls `{{ late("NAME") }}`. `-` for standard input.
    #[arg(long = "values", short = 'f', value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Be Helm's getter: the arguments are CERT KEY CA URL, as Helm passes them.
    #[arg(long, hide = true)]
    pub getter: bool,
    /// CERT KEY CA URL, as Helm calls a getter; the URL is rollgate://FILE?policy=FILE&namespace=NAME.
    #[arg(hide = true, num_args = 0..=4)]
    pub call: Vec<String>,
    /// Where late values come from.
    #[command(flatten)]
    pub known: KnownArgs,
    /// Longest time to wait for late values; overrides the policy's.
    #[arg(long, value_name = "DURATION")]
    pub wait: Option<String>,
    /// Whether pins are recorded: auto = yes, unless the parent is known not to write.
    #[arg(long, value_enum, default_value_t = Commit::Auto)]
    pub commit: Commit,
}

/// What goes out in the place of values that cannot be had: no reader of YAML takes it. Helm reads an empty standard input as
/// no values at all, and in a pipe nobody looks at our exit code: the chart's defaults would be installed.
const NO_VALUES: &str = "\"rollgate gives no values: the reason is on standard error\n";

/// Whether this process owes values or that text to whoever reads its standard output.
static OWED: AtomicBool = AtomicBool::new(false);

/// Says that there are no values, from any thread, where they are owed still: a signal, a bound or a defect ends the program anywhere.
pub(super) fn refuse() {
    if OWED.swap(false, Ordering::SeqCst) {
        // The main thread may hold the lock of standard output; whoever closed it reads no values from it either.
        let _: rustix::io::Result<usize> = rustix::io::write(io::stdout().as_fd(), NO_VALUES.as_bytes());
    }
}

pub(super) fn run(args: &ValuesArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    OWED.store(true, Ordering::SeqCst);
    // Where standard output is no file and no pipe, an abort ends without the letter.
    drop(aborts::leave_a_letter());
    runtime()?.block_on(async { signals::listen() }).map_err(Stop::internal)?;
    let result = values(args, outside);
    // From here on they are paid, by hand or here.
    let owed = OWED.swap(false, Ordering::SeqCst);
    if owed && !matches!(result, Ok(Exit::Allow)) {
        // Who closed standard output reads no values from it either.
        drop(outside.out.write_all(NO_VALUES.as_bytes()).and_then(|()| outside.out.flush()));
    }
    result
}

fn values(args: &ValuesArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    with_values(args, outside, |text, known, settled, outside| {
        // What is used is kept: the pins are durable before anybody can read the values.
        known.commit(args.commit.into(), settled.iter())?;
        let written = outside.out.write_all(text.as_bytes()).and_then(|()| outside.out.flush());
        written.context("cannot write to standard output").map_err(Stop::internal)?;
        Ok(Exit::Allow)
    })
}

/// Hands on the values as one text, with the late values in it, once all of these are known and agree with their pins.
pub(super) fn with_values<'o>(
    args: &ValuesArgs,
    outside: &mut Outside<'o>,
    done: impl FnOnce(&str, &mut LateValues<'_>, &[Settled], &mut Outside<'o>) -> Result<Exit, Stop>,
) -> Result<Exit, Stop> {
    let mut args = args.clone();
    if let Some(call) = Call::of(&args).map_err(Stop::usage)? {
        call.into_args(&mut args).map_err(Stop::usage)?;
    }
    if args.files.is_empty() {
        return Err(Stop::usage(anyhow!("no values file; give one with -f FILE, or - for standard input")));
    }
    let most = memory::largest_now();
    let too_large = || Stop::undecided(anyhow!("the values files together: {}", memory::too_large(most)));
    // Weighed before they are read: a program that runs out of memory gives nothing, and Helm takes nothing for no values.
    let length =
        |file: &PathBuf| std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file).map(|data| data.len());
    if args.files.iter().filter_map(length).sum::<u64>() > most {
        return Err(too_large());
    }
    let inputs: Vec<Input> = args.files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    if inputs.iter().map(|input| memory::weight(input.text.as_bytes())).sum::<u64>() > most {
        return Err(too_large());
    }
    let needs_policy = inputs.iter().any(|input| input.template);
    let (policy, policy_file, folder) = policy(&args, needs_policy)?;
    let wait = args.wait.as_deref().map(|text| duration(text, "--wait")).transpose()?;
    let mut known = args.known.late_values(&policy, &folder, "", wait)?;
    let called = |known: &LateValues<'_>, found: &mut [Settled], outside: &mut Outside<'_>| {
        say(found, &args.known.called(known, policy_file.as_deref()), outside);
    };
    let (texts, settled) = match known.fill(&inputs, outside, called)? {
        Filled::Waits(exit) => return Ok(exit),
        Filled::Texts(texts, settled) => (texts, settled),
    };
    let text = match texts.as_slice() {
        [one] => one.clone(),
        _ => merge::merge(&inputs, &texts).map_err(Stop::usage)?,
    };
    whole(&text, &policy)?;
    done(&text, &mut known, &settled, outside)
}

/// Says why values cannot be had, and what a person should know.
fn say(found: &mut [Settled], called: &Called<'_>, outside: &mut Outside<'_>) {
    for one in found {
        if let Some(reason) = &mut one.reason {
            reason.complete(|call| called.pin(call));
            // Who closed standard error still gets the exit code.
            let text = format!("{}: {}{}", reason.decision, escape::line(&reason.message), called::steps(reason));
            drop(writeln!(outside.err, "rollgate: {}", escape::lines(&text)));
        }
        if let Some(warning) = &one.warning {
            drop(writeln!(outside.err, "rollgate: warning: {}", escape::line(warning)));
        }
    }
}

/// The policy, and the folder that its files start from.
fn policy(args: &ValuesArgs, needed: bool) -> Result<(Policy, Option<String>, PathBuf), Stop> {
    // A getter runs wherever Helm was started: the policy stands by the values.
    let near = if args.getter { args.files.first().and_then(|file| file.parent()) } else { None };
    match args.known.policy(near)? {
        Some(loaded) => {
            let folder = loaded.folder.clone();
            Ok((loaded.policy, Some(loaded.file.display().to_string()), folder))
        }
        None if needed => Err(Stop::usage(anyhow!(
            "a values template asks for late values, and no policy says where they come from; \
             pass --policy FILE, or write a {} above the values",
            policy::FILE_NAME
        ))),
        None => Ok((Policy::default(), None, PathBuf::from("."))),
    }
}
