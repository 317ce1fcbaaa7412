//! `rollgate post-render`: nothing on standard output unless the install is allowed, and then the whole stream at once.

use anyhow::anyhow;
use bytes::Bytes;

use super::args::{Colour, PostRenderArgs};
use super::output::Output;
use super::{Outside, Stop, approve, fault, setup};
use crate::exit::Exit;
use crate::gate::glass;
use crate::host::say;
use crate::pin;
use crate::pipeline::{self, Judgement};
use crate::report::{self, Report, human};
use crate::score::Front;
use crate::session::{Commit, Commitment, Input, Ready, Session, Setup, Untold, keep_forecast};
use crate::verdict;
use crate::world::widen;

pub(super) fn run(args: &PostRenderArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    fault::of_post_renderer(args.common.told());
    run_for(args, Untold::Refuse, colour, outside, |_, judgement| Ok(judgement.stream.clone()))
}

/// Judges standard input as a post-renderer does, and writes what `out` makes of it where it is allowed.
pub(super) fn run_for(
    args: &PostRenderArgs,
    untold: Untold<'_>,
    colour: Colour,
    outside: &mut Outside<'_>,
    out: impl FnOnce(&Input, &Judgement) -> Result<Bytes, Stop>,
) -> Result<Exit, Stop> {
    let setup = args.common.setup(untold)?;
    let outputs = setup::outputs(&args.common, &[])?;
    let input = Input::of_stdin()?;
    refuse_empty(&input)?;
    let mut ready = Session { setup: &setup, input: &input, is_hosts: true }.read(outside)?;
    let wish = Commit::from(args.commit);
    ready.question.goes_out = true;
    ready.question.break_glass = break_glass(args, &setup, wish.writes(&ready.world.host))?;
    let mut judgement = ready.judge(&setup, outside)?;
    // What cannot be written is said before anything is kept for it.
    let is_allowed = verdict::exit(judgement.report.decision) == Exit::Allow;
    let bytes = is_allowed.then(|| out(&input, &judgement)).transpose()?.unwrap_or_default();
    let called = args.common.called(&setup, &ready.world.host);
    let commitment = Commitment { setup: &setup, ready: &ready, wish, approvals: called.approvals() };
    // A report that says allow is the last word: what is used is kept before it is said.
    commitment.before(&mut judgement)?;
    called.complete(&mut judgement.report);
    report::escape::report(&mut judgement.report);
    approve::offer(&mut judgement.report, &setup.policy, &called, &setup.env);
    if let Some(whole) = &mut judgement.whole {
        called.complete(whole);
        report::escape::report(whole);
        approve::offer(whole, &setup.policy, &called, &setup.env);
        pipeline::point_at(&mut judgement.report, whole);
    }
    let page = setup::page(colour, outside.err_is_terminal, args.common.summary, outside);
    let places = Outlets { setup: &setup, outputs: &outputs, ready: &ready, page };
    places.say(&judgement.report, outside)?;
    let exit = verdict::exit(judgement.report.decision);
    if exit == Exit::Allow {
        let err = &mut *outside.err;
        // Who closed standard error still gets the exit code.
        let mut said = |text: String| drop(writeln!(err, "rollgate: {text}"));
        if !commitment.last(&mut judgement, &mut said)? {
            report::escape::report(&mut judgement.report);
            places.say(&judgement.report, outside)?;
            keep(&commitment, &judgement.report, outside);
            return Ok(Exit::Hold);
        }
    }
    keep(&commitment, &judgement.report, outside);
    if exit == Exit::Allow {
        widen(std::io::stdout(), bytes.len());
        outside
            .out
            .write_all(&bytes)
            .and_then(|()| outside.out.flush())
            .map_err(|error| Stop::internal(anyhow!(error).context("cannot write the stream to standard output")))?;
    }
    Ok(exit)
}

/// Keeps the forecast where the policy says so, and says where that failed.
fn keep(commitment: &Commitment<'_>, report: &Report, outside: &mut Outside<'_>) {
    if commitment.writes()
        && let Err(why) = keep_forecast(commitment.setup, commitment.ready, report, Front::PostRender)
    {
        // Who closed standard error still gets the exit code.
        drop(writeln!(outside.err, "rollgate: the forecast is not kept: {}", report::escape::line(&why)));
    }
}

/// An empty stream with exit code 0 makes Helm delete the whole release, so it never gets one. Documents that are `null` and
/// lists of nothing hold no object either.
fn refuse_empty(input: &Input) -> Result<(), Stop> {
    let loaded = input.text.stream().map_err(|error| Stop::usage(anyhow!("{error}")).about(input))?;
    if !loaded.objects.is_empty() || !loaded.nameless.is_empty() {
        return Ok(());
    }
    Err(Stop::usage(anyhow!(
        "the stream holds no object; handing it on would make Helm delete every object of the release. \
         Helm 3 sends nothing when it runs `template --output-dir`: drop --output-dir, or the post-renderer"
    )))
}

/// Where the report of a post-renderer goes.
struct Outlets<'a> {
    setup: &'a Setup,
    outputs: &'a [Output],
    ready: &'a Ready,
    page: human::Page,
}

impl Outlets<'_> {
    /// Puts the report where the host's user can read it: standard error, the files that were asked for, the well-known
    /// place, and past a host that throws standard error away.
    fn say(&self, report: &Report, outside: &mut Outside<'_>) -> Result<(), Stop> {
        let Self { setup, outputs, ready, page } = *self;
        let mut text = Vec::new();
        human::write_on(report, human::Page { paint: human::Paint(false), ..page }, &mut text)
            .map_err(Stop::internal)?;
        let bytes = serde_json::to_vec_pretty(report).map_err(Stop::internal)?;
        for path in say::report_paths(&setup.env) {
            if let Err(error) = say::write_report(&path, &bytes) {
                // The well-known place is a service; that it is out of reach changes no decision.
                drop(writeln!(outside.err, "rollgate: cannot write {}: {error}", path.display()));
            }
        }
        for output in outputs {
            output.write(std::slice::from_ref(report), page, &setup.env, outside.err).map_err(Stop::internal)?;
        }
        // Helm shows nothing of a post-renderer that succeeds, and a broken glass is to be ready.
        let is_loud = report.break_glass.as_ref().is_some_and(|glass| glass.opened);
        let is_allowed = verdict::exit(report.decision) == Exit::Allow;
        if !is_allowed || is_loud {
            let places = say::Channels { helm_pid: ready.detected.helm_pid, ..say::Channels::default() };
            // Wherever it went, standard error and the report file have it too.
            let text = String::from_utf8_lossy(&text);
            let _: say::Spoken = match is_allowed {
                true => say::past_success(&text, &places),
                false => say::past_host(&text, ready.world.host.kind, &places),
            };
        }
        Ok(())
    }
}

/// What somebody wishes who wants a held install to go through.
fn break_glass(args: &PostRenderArgs, setup: &Setup, writes: bool) -> Result<Option<glass::Wish>, Stop> {
    let Some(reason) = args.break_glass.as_deref().map(str::trim).filter(|reason| !reason.is_empty()) else {
        return Ok(None);
    };
    if reason.chars().any(char::is_control) {
        return Err(Stop::usage(anyhow!(
            "--break-glass: the reason holds characters that cannot be shown; say it in one line"
        )));
    }
    Ok(Some(glass::Wish { reason: reason.to_owned(), by: pin::author(&setup.env), writes }))
}
