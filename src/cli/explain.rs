//! `rollgate explain`: a rule, a field, or the last report.

use anyhow::Context as _;

use super::args::{Colour, ExplainArgs};
use super::{Outside, Stop, run};
use crate::exit::Exit;
use crate::host::say;
use crate::report::{Report, human};
use crate::rules;

pub(super) fn run(args: &ExplainArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    if args.what == "last" {
        return last(colour, outside);
    }
    let text = rules::explain(&args.what).ok_or_else(|| {
        Stop::usage(anyhow::anyhow!(
            "nothing is called {:?}; give a rule such as kcp/version, a field such as KubeadmControlPlane.spec.version, or last",
            args.what
        ))
    })?;
    outside.out.write_all(text.as_bytes()).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

/// Shows the report of the last run that `post-render` wrote.
fn last(colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let env = run::environment();
    let path = say::report_path(&env)
        .context("there is no place for reports; set ROLLGATE_REPORT, XDG_STATE_HOME or HOME")
        .map_err(Stop::usage)?;
    let bytes = std::fs::read(&path)
        .with_context(|| format!("no report in {}; post-render writes one", path.display()))
        .map_err(Stop::usage)?;
    let report: Report = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is not a report of this version", path.display()))
        .map_err(Stop::usage)?;
    let paint = run::paint(colour, outside.out_is_terminal);
    human::write(&report, paint, outside.out).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
