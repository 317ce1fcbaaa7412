//! What a shell completes: commands and options from the one list of them; rules, kinds, releases and late values from what is here.

use std::ffi::{OsStr, OsString};

use anyhow::{Context as _, anyhow};
use clap::{Arg, CommandFactory as _};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::{EnvCompleter, Shells};

use super::{Cli, Outside, Stop};
use crate::exit::Exit;
use crate::policy::Policy;
use crate::providers::gates;
use crate::report::Format;
use crate::rules::{self, Rules};
use crate::session::{InForce, Untold, Whence};

/// The variable by which the script of a shell says which shell asks.
const VARIABLE: &str = "ROLLGATE_COMPLETE";
const PROGRAM: &str = "rollgate";
/// What `--live` takes beside a path.
const LIVE: [&str; 2] = ["cluster", "none"];
/// What `--base` takes beside a path.
const BASE: [&str; 2] = ["release", "none"];

/// Prints the script that a shell reads once; it asks this program for what is typed later.
pub(super) fn script(shell: clap_complete::Shell, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let name = shell.to_string();
    let completer = of(&name).map_err(Stop::usage)?;
    let mut text = Vec::new();
    completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut text).map_err(Stop::internal)?;
    outside.out.write_all(&text).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

/// What comes next on a command line, where such a script asks: `rollgate -- WORDS...` with the variable set. Both are needed, so
/// that a variable alone never makes a post-renderer say something else than the stream.
pub(super) fn answer(args: &[OsString], outside: &mut Outside<'_>) -> Option<Exit> {
    let shell = std::env::var(VARIABLE).ok().filter(|shell| !shell.is_empty())?;
    let words = args.get(2..).filter(|_| args.get(1).is_some_and(|word| word == "--"))?;
    let mut text = Vec::new();
    let here = std::env::current_dir().ok();
    let done = of(&shell).and_then(|completer| {
        completer
            .write_complete(&mut command(words), words.to_vec(), here.as_deref(), &mut text)
            .map_err(anyhow::Error::from)
    });
    let written = done.and_then(|()| Ok(outside.out.write_all(&text).and_then(|()| outside.out.flush())?));
    // A shell has nobody to show a message to: it completes nothing.
    Some(if written.is_ok() { Exit::Allow } else { Exit::Internal })
}

fn of(shell: &str) -> anyhow::Result<&'static dyn EnvCompleter> {
    Shells::builtins()
        .0
        .iter()
        .copied()
        .find(|one| one.is(shell))
        .ok_or_else(|| anyhow!("{shell} is no shell that is known here"))
}

/// The options, with what their values may be.
fn command(words: &[OsString]) -> clap::Command {
    // The policy that the command line names, as far as it is typed, else the one that the command would find.
    let texts: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let behind = texts.iter().position(|word| *word == "--policy").and_then(|at| texts.get(at + 1)).copied();
    let told = behind.or_else(|| texts.iter().find_map(|word| word.strip_prefix("--policy="))).map(str::to_owned);
    let told = told.or_else(|| std::env::var("ROLLGATE_POLICY").ok()).filter(|text| !text.is_empty());
    with_values(Cli::command(), &told)
}

fn with_values(command: clap::Command, told: &Option<String>) -> clap::Command {
    let name = command.get_name().to_owned();
    command.mut_args(|arg| valued(&name, arg, told)).mut_subcommands(|inner| {
        let inner = with_values(inner, told);
        // Names of late values are the plain words of each command about pins.
        if name == "pin" { inner.mut_args(|arg| late_value(arg, told)) } else { inner }
    })
}

fn valued(command: &str, arg: Arg, told: &Option<String>) -> Arg {
    let told = told.clone();
    match (command, arg.get_id().as_str()) {
        ("explain", "what") => arg.add(ArgValueCompleter::new(move |typed: &OsStr| words(typed, &told))),
        (_, "release") => arg.add(ArgValueCandidates::new(move || {
            of_policy(&told, |policy| policy.releases.iter().map(|one| one.name.clone()).collect())
        })),
        (_, "namespace") => arg.add(ArgValueCandidates::new(move || {
            of_policy(&told, |policy| policy.releases.iter().filter_map(|one| one.namespace.clone()).collect())
        })),
        (_, "policy") => arg.add(ArgValueCompleter::new(|typed: &OsStr| path_or(typed, &["none"]))),
        (_, "live") => arg.add(ArgValueCompleter::new(|typed: &OsStr| path_or(typed, &LIVE))),
        (_, "base") => arg.add(ArgValueCompleter::new(|typed: &OsStr| path_or(typed, &BASE))),
        (_, "output") if arg.get_value_parser().possible_values().is_none() => {
            arg.add(ArgValueCandidates::new(|| candidates(Format::ALL.map(|(name, _)| name.to_owned()))))
        }
        (_, "provider" | "upgrade") => {
            arg.add(ArgValueCandidates::new(|| candidates(rules::known().map(|name| format!("{name}=")))))
        }
        (_, "feature_gate") => {
            arg.add(ArgValueCandidates::new(|| candidates(gates::all().map(|gate| format!("{}=", gate.name)))))
        }
        ("approve", "change") => arg.add(ArgValueCandidates::new(|| candidates(["last".to_owned()]))),
        _ => arg,
    }
}

/// Names of late values, where an argument is the name of one.
fn late_value(arg: Arg, told: &Option<String>) -> Arg {
    let told = told.clone();
    match arg.get_id().as_str() {
        "name" | "names" => arg.add(ArgValueCandidates::new(move || {
            of_policy(&told, |policy| policy.late_values.iter().map(|value| value.name.clone()).collect())
        })),
        _ => arg,
    }
}

fn of_policy(told: &Option<String>, names: impl Fn(&Policy) -> Vec<String>) -> Vec<CompletionCandidate> {
    // A policy that cannot be read completes nothing; the command itself says what is wrong with it.
    InForce::of(told.as_deref(), Untold::look(), Whence::default())
        .map_or_else(|_| Vec::new(), |found| candidates(names(&found.policy)))
}

/// What `explain` knows: rules, kinds, words of a report; behind a kind and a dot its fields.
fn words(typed: &OsStr, told: &Option<String>) -> Vec<CompletionCandidate> {
    let typed = typed.to_str().unwrap_or_default();
    let own =
        InForce::of(told.as_deref(), Untold::look(), Whence::default()).ok().and_then(|InForce { policy, .. }| {
            let values: Vec<crate::tree::Value> = policy.rules.iter().map(|rule| rule.0.clone()).collect();
            Rules::with_user(&values).ok()
        });
    let rules = own.as_ref().unwrap_or_else(|| Rules::built_in());
    candidates(rules::completions(rules, typed).into_iter().filter(|word| word.starts_with(typed)))
}

fn path_or(typed: &OsStr, words: &[&str]) -> Vec<CompletionCandidate> {
    let typed_text = typed.to_str().unwrap_or_default();
    let fitting = words.iter().filter(|word| word.starts_with(typed_text)).map(|word| (*word).to_owned());
    let mut out = candidates(fitting);
    out.extend(PathCompleter::any().complete(typed));
    out
}

/// Names that a shell can take as they are: what somebody wrote into a policy is put into a command line here.
fn candidates(names: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let plain = |name: &String| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=[]*\"".contains(c))
            && !name.starts_with('-')
    };
    let mut names: Vec<String> = names.into_iter().filter(plain).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}
