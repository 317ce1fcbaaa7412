//! `rollgate explain`: a rule, a field, a kind, a word of a report, or the last report.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, anyhow};

use super::args::{Colour, ExplainArgs};
use super::{Outside, Stop, setup};
use crate::approval;
use crate::exit::Exit;
use crate::host::say;
use crate::pipeline;
use crate::report::{Report, escape, human};
use crate::rules;
use crate::session::{InForce, Untold, Whence, environment, packs};
use crate::tree::Value;

pub(super) fn run(args: &ExplainArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    if let Some(file) = &args.check_pack {
        return check(file, outside);
    }
    let what = args.what.as_deref().unwrap_or_default();
    if what == "last" {
        return last(colour, outside);
    }
    let InForce { mut policy, mut report, .. } =
        InForce::of(args.policy.as_deref(), Untold::look(), Whence::default())?;
    packs::add(&args.pack, &mut policy, &mut report)?;
    let rules = pipeline::rules(&policy).map_err(|faults| Stop::usage(pipeline::Fault::Rules(faults)))?;
    let text = rules::explain(&rules, what).ok_or_else(|| {
        let near = rules::near(&rules, what);
        let hint = if near.is_empty() { String::new() } else { format!("did you mean {}? Else ", near.join(", ")) };
        Stop::usage(anyhow::anyhow!(
            "nothing is called {what:?}; {hint}give a rule such as kcp/version, a field such as KubeadmControlPlane.spec.version, a kind, a \
             gate, a finding, an exit code, or last"
        ))
    })?;
    outside.out.write_all(text.as_bytes()).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

/// Shows the report of the last run that `post-render` wrote.
fn last(colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let env = environment();
    let path = say::report_path(&env)
        .context("there is no place for reports; set ROLLGATE_REPORT, XDG_STATE_HOME or HOME")
        .map_err(Stop::usage)?;
    let bytes = std::fs::read(&path).map_err(|why| {
        Stop::usage(match why.kind() {
            ErrorKind::NotFound => anyhow!("no report yet in {}; post-render writes one", path.display()),
            _ => anyhow!("{} cannot be read: {why}", path.display()),
        })
    })?;
    let mut report: Report = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is not a report of this version", path.display()))
        .map_err(Stop::usage)?;
    // Whoever can write the file could forge what a terminal shows of it.
    escape::report(&mut report);
    // It may be older than the run that somebody has in mind.
    if let Some(time) =
        std::fs::metadata(&path).and_then(|data| data.modified()).ok().and_then(|time| time.try_into().ok())
    {
        writeln!(
            outside.out,
            "the report of {}, in {}",
            approval::to_the_second(time),
            escape::line(&path.to_string_lossy())
        )
        .context("cannot write to standard output")
        .map_err(Stop::internal)?;
    }
    let page = setup::page(colour, outside.out_is_terminal, false, outside);
    human::write_on(&report, page, outside.out).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

/// Says everything that is wrong with a pack.
fn check(file: &Path, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let (value, _) = packs::read(file).map_err(Stop::usage)?;
    let faults = packs::faults(&value);
    if !faults.is_empty() {
        let lines: Vec<String> = faults.iter().map(|fault| format!("{}: {fault}", file.display())).collect();
        return Err(Stop::usage(anyhow!("{}", lines.join("\n"))));
    }
    let count = value.get("rules").and_then(Value::as_array).map_or(1, Vec::len);
    writeln!(outside.out, "{}: {count} rules, nothing is wrong with them", file.display())
        .context("cannot write to standard output")
        .map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
