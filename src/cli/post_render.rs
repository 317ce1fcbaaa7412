//! `rollgate post-render`: nothing on standard output unless the install is allowed, and then the whole stream at once.

use anyhow::anyhow;

use super::args::{Colour, PostRenderArgs};
use super::output::Output;
use super::{Outside, Stop, plan, run};
use crate::exit::Exit;
use crate::host::say;
use crate::pipeline;
use crate::report::{Report, human};
use crate::session::{Input, Look, Seen, Session, Untold};
use crate::verdict;

pub(super) fn run(args: &PostRenderArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let outputs = run::outputs(&args.common)?;
    let session = Session::open(run::options(&args.common)?, Untold::Refuse)?;
    let input = Input::of_stdin()?;
    refuse_empty(&input)?;
    let look = Look { session: &session, input: &input, piped: true };
    let seen = look.read(&mut outside.screen())?;
    let mut judgement = pipeline::judge(&seen.question, &seen.world).map_err(plan::fault_stop)?;
    judgement.report.warnings.extend(seen.warnings.iter().cloned());
    say(&outputs, &session, &judgement.report, &seen, colour, outside)?;
    let exit = verdict::exit(judgement.report.decision);
    if exit == Exit::Allow {
        seen.commit(&session, args.commit.into(), &judgement.pins)?;
        outside
            .out
            .write_all(&judgement.stream)
            .and_then(|()| outside.out.flush())
            .map_err(|error| Stop::internal(anyhow!(error).context("cannot write the stream to standard output")))?;
    }
    Ok(exit)
}

/// An empty stream with exit code 0 makes Helm delete the whole release, so it never gets one.
fn refuse_empty(input: &Input) -> Result<(), Stop> {
    if !input.is_empty() {
        return Ok(());
    }
    Err(Stop::usage(anyhow!(
        "the stream holds no object; handing it on would make Helm delete every object of the release. \
         Helm 3 sends nothing when it runs `template --output-dir`: drop --output-dir, or the post-renderer"
    )))
}

/// Puts the report where the host's user can read it: standard error, the files that were asked for, the well-known
/// place, and past a host that throws standard error away.
fn say(
    outputs: &[Output],
    session: &Session,
    report: &Report,
    seen: &Seen,
    colour: Colour,
    outside: &mut Outside<'_>,
) -> Result<(), Stop> {
    let outputs: &[Output] = if outputs.is_empty() { &[Output::HUMAN] } else { outputs };
    let paint = run::paint(colour, outside.err_is_terminal);
    let mut text = Vec::new();
    human::write(report, human::Paint(false), &mut text).map_err(Stop::internal)?;
    if let Some(path) = say::report_path(&session.env) {
        let bytes = serde_json::to_vec_pretty(report).map_err(Stop::internal)?;
        if let Err(error) = say::write_report(&path, &bytes) {
            // The well-known place is a service; that it is out of reach changes no decision.
            drop(writeln!(outside.err, "rollgate: cannot write {}: {error}", path.display()));
        }
    }
    for output in outputs {
        output.write(report, paint, outside.err).map_err(Stop::internal)?;
    }
    if verdict::exit(report.decision) != Exit::Allow {
        let places = say::Places { helm_pid: seen.detected.helm_pid, ..say::Places::default() };
        // Wherever it went, standard error and the report file have it too.
        let _: say::Spoken = say::past_host(&String::from_utf8_lossy(&text), seen.world.host.kind, &places);
    }
    Ok(())
}
