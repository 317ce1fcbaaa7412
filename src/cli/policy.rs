//! `rollgate policy`: everything that is wrong with a policy, what is in force and why, and whether it answers to a team's own
//! cases as they say.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use serde::Deserialize;

use super::{Outside, Stop};
use crate::exit::Exit;
use crate::model::{Decision, Effect};
use crate::object;
use crate::policy::{self, Profile};
use crate::report::{Report, escape};
use crate::session::{InForce, Untold, Whence};
use crate::tree::Value;
use crate::yaml;

/// Options of `policy`.
#[derive(Debug, Args)]
pub struct PolicyArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PolicyCommand,
}

/// What `policy` can do.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Say everything that is wrong with policies, with line and column.
    Check {
        /// The policies; the one in force where none is named.
        #[arg(value_name = "FILE")]
        files: Vec<String>,
        /// Which policy.
        #[command(flatten)]
        told: Told,
    },
    /// Show what is in force, and from which line of the file or by default.
    Show(Told),
    /// Plan each folder of cases under the policy, and compare with what its case.yaml says.
    Test {
        /// A folder of cases, each a folder with rendered.yaml, case.yaml, and where they matter live.yaml and base.yaml.
        cases: PathBuf,
        /// Which policy.
        #[command(flatten)]
        told: Told,
    },
}

/// Which policy.
#[derive(Debug, Args)]
pub struct Told {
    /// The policy; rollgate.yaml is looked for upward where none is told.
    #[arg(long, env = "ROLLGATE_POLICY", value_name = "FILE|none")]
    pub policy: Option<String>,
}

pub(super) fn run(args: PolicyArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    match args.command {
        PolicyCommand::Check { files, told } => check(&files, &told, outside),
        PolicyCommand::Show(told) => show(&told, outside),
        PolicyCommand::Test { cases, told } => test(&cases, &told, outside),
    }
}

/// The policy in force: its rules are looked through too.
fn load(told: &Told) -> Result<(policy::Policy, crate::report::PolicyReport), Stop> {
    let InForce { policy, report, .. } = InForce::of(told.policy.as_deref(), Untold::look(), Whence::default())?;
    Ok((policy, report))
}

fn check(files: &[String], told: &Told, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let named: Vec<Told> = files.iter().map(|file| Told { policy: Some(file.clone()) }).collect();
    let all = if named.is_empty() { std::slice::from_ref(told) } else { &named };
    let mut faults = Vec::new();
    for told in all {
        match load(told) {
            Ok((_, report)) if report.is_built_in() && told.policy.is_none() => {
                faults.push(format!("there is no {} in this folder or above; name the file", policy::FILE_NAME));
            }
            Ok((_, report)) => say(outside, &format!("{}: nothing is wrong with it", report.source))?,
            Err(stop) => faults.push(format!("{:#}", stop.error)),
        }
    }
    if faults.is_empty() { Ok(Exit::Allow) } else { Err(Stop::usage(anyhow!("{}", faults.join("\n")))) }
}

fn say(outside: &mut Outside<'_>, line: &str) -> Result<(), Stop> {
    let line = escape::line(line);
    writeln!(outside.out, "{line}").context("cannot write to standard output").map_err(Stop::internal)
}

/// Prints each field that decides, with where it comes from.
fn show(told: &Told, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let (policy, report) = load(told)?;
    let bytes = if report.is_built_in() { Vec::new() } else { std::fs::read(&report.source).unwrap_or_default() };
    say(outside, &format!("policy {}  {}", report.source, report.digest))?;
    let tree = crate::tree::to_value(&policy).map_err(Stop::internal)?;
    let mut fields = Vec::new();
    for part in
        ["profile", "gates", "unseen", "pins", "resolve", "approvals", "expect", "releases", "ignore", "redact", "show"]
    {
        if let Some(value) = tree.get(part) {
            leaves(&object::Path::root().key(part), value, &mut fields);
        }
    }
    let rollout = object::Path::root().key("gates").key("rollout");
    if let Some(first) =
        fields.iter().position(|(path, _)| is_gate(path)).filter(|_| rollout.get(&tree).is_none_or(Value::is_null))
    {
        fields.insert(first, (rollout, word(&policy.gates.on_rollout())));
    }
    for (place, value) in tree.get("lateValues").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let at = object::Path::root().key("lateValues").index(place);
        for field in ["name", "type", "placeholders", "pin", "wait"] {
            if let Some(value) = value.get(field) {
                leaves(&at.key(field), value, &mut fields);
            }
        }
    }
    let built_in = crate::tree::to_value(policy::Policy::default()).map_err(Stop::internal)?;
    for (path, value) in &fields {
        let from = match policy::line_of(&bytes, path) {
            Some(line) => format!("line {line}"),
            // What the profile filled in stands in no line and is not what it would be without it.
            None if path.get(&tree) != path.get(&built_in) && is_gate(path) => {
                format!("profile {}", word(&policy.profile))
            }
            None => "default".to_owned(),
        };
        let observed = policy.profile == Profile::Observe && is_gate(path) && value == "hold";
        let from = if observed { format!("{from}; profile observe only says it") } else { from };
        say(outside, &format!("{:<40} {from}", format!("{path}: {value}")))?;
    }
    let rules = policy.rules.len();
    say(outside, &format!("{rules} rules of your own"))?;
    Ok(Exit::Allow)
}

/// Whether a place of the policy is that of a gate.
fn is_gate(path: &object::Path) -> bool {
    object::Path::root().key("gates").covers(path)
}

/// A word of the policy as it is written there.
fn word(word: &impl serde::Serialize) -> String {
    crate::tree::to_value(word).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Every value that says something, by its place.
fn leaves(path: &object::Path, value: &Value, out: &mut Vec<(object::Path, String)>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| leaves(&path.key(key.as_str()), value, out)),
        Value::Array(list) => list.iter().enumerate().for_each(|(at, value)| leaves(&path.index(at), value, out)),
        Value::Null => {}
        Value::String(text) => out.push((path.clone(), text.to_string())),
        other => out.push((path.clone(), other.to_string())),
    }
}

/// What a case says: the decision, and whatever else matters to it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PolicyCase {
    /// What it shows, for people.
    #[serde(default)]
    #[expect(dead_code, reason = "it is for those who read the case; the field lets it be written.")]
    shows: String,
    /// The decision.
    decision: Decision,
    /// The worst effect.
    effect: Option<Effect>,
    /// Gates that answer with more than allow; these and no others.
    gates: Option<Vec<String>>,
    /// Findings that there are, among others.
    #[serde(default)]
    findings: Vec<String>,
    /// Machines that are replaced or destroyed.
    machines: Option<u64>,
    /// Options of `plan`.
    #[serde(default)]
    options: Vec<String>,
}

/// Plans each case and compares.
fn test(folder: &Path, told: &Told, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let (_, report) = load(told)?;
    let policy = if report.is_built_in() { "none".to_owned() } else { report.source };
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()));
    let entries = entries.map_err(Stop::usage)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut cases: Vec<PathBuf> = entries.filter(|path| path.join("case.yaml").is_file()).collect();
    cases.sort();
    if cases.is_empty() {
        return Err(Stop::usage(anyhow!(
            "{} has no case: a folder with case.yaml and rendered.yaml",
            folder.display()
        )));
    }
    let mut failed = 0;
    for case in &cases {
        let name = case.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let faults = faults(case, &policy)?;
        failed += usize::from(!faults.is_empty());
        let line =
            if faults.is_empty() { format!("ok    {name}") } else { format!("FAIL  {name}: {}", faults.join("; ")) };
        say(outside, &line)?;
    }
    if failed > 0 {
        return Err(Stop::usage(anyhow!("{failed} of {} cases did not come out as expected", cases.len())));
    }
    say(outside, &format!("{0} of {0} cases came out as expected", cases.len()))?;
    Ok(Exit::Allow)
}

/// In what a report is not as its case says.
fn faults(folder: &Path, policy: &str) -> Result<Vec<String>, Stop> {
    let file = folder.join("case.yaml");
    let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display())).map_err(Stop::usage)?;
    let tree = yaml::read_strict(&bytes).map_err(|error| Stop::usage(anyhow!("{}:{error}", file.display())))?;
    let case: PolicyCase = serde_path_to_error::deserialize(serde_json::Value::from(tree)).map_err(|error| {
        let (path, message) = (error.path().to_string(), yaml::plain(&error.inner().to_string()));
        Stop::usage(anyhow!("{}: {path}: {message}", file.display()))
    })?;
    let report = match plan(folder, policy, &case) {
        Ok(report) => report,
        Err(fault) => return Ok(vec![fault]),
    };
    let mut faults = Vec::new();
    let mut compare = |what: &str, found: String, wanted: String| {
        if found != wanted {
            faults.push(format!("{what} is {found}, expected {wanted}"));
        }
    };
    compare("the decision", report.decision.to_string(), case.decision.to_string());
    if let Some(effect) = case.effect {
        compare("the effect", report.effect.to_string(), effect.to_string());
    }
    if let Some(machines) = case.machines {
        let found = report.rollouts.iter().filter_map(|rollout| rollout.machines).sum::<u64>();
        compare("the number of Machines", found.to_string(), machines.to_string());
    }
    if let Some(mut gates) = case.gates {
        let mut found: Vec<String> = report.reasons.iter().map(|reason| reason.gate.clone()).collect();
        for list in [&mut found, &mut gates] {
            list.sort();
            list.dedup();
        }
        compare("the list of gates", found.join(", "), gates.join(", "));
    }
    for wanted in case.findings.iter().filter(|wanted| !report.findings.iter().any(|finding| finding.id == **wanted)) {
        faults.push(format!("there is no finding {wanted}"));
    }
    Ok(faults)
}

/// Plans a case as the command line does.
fn plan(folder: &Path, policy: &str, case: &PolicyCase) -> Result<Report, String> {
    let file = |name: &str| folder.join(name).display().to_string();
    let there = |name: &str| folder.join(name).exists();
    let live = if there("live.yaml") { file("live.yaml") } else { "none".to_owned() };
    let mut args =
        vec!["rollgate".to_owned(), "plan".to_owned(), file("rendered.yaml"), "-o".to_owned(), "json".to_owned()];
    args.extend(["--policy".to_owned(), policy.to_owned(), "--live".to_owned(), live]);
    if there("base.yaml") {
        args.extend(["--base".to_owned(), file("base.yaml")]);
    }
    args.extend(case.options.iter().cloned());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let outside =
        &mut Outside { out: &mut out, err: &mut err, out_is_terminal: false, err_is_terminal: false, columns: None };
    super::with(args.into_iter().map(Into::into), outside);
    serde_json::from_slice(&out).map_err(|_| String::from_utf8_lossy(&err).trim().to_owned())
}
