//! `rollgate plan`: the whole pipeline, the report on standard output, nothing committed.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};

use super::args::{Colour, PlanArgs};
use super::called::Called;
use super::input::Input;
use super::output::Output;
use super::revisions::{RevisionArgs, Revisions};
use super::run::{Look, Seen};
use super::setup::{self, Setup, Untold};
use super::{Outside, Stop, approve, bound};
use crate::exit::Exit;
use crate::pipeline::{self, Fault};
use crate::report;
use crate::verdict;
use crate::world::{BaseKind, LiveKind};

pub(super) fn run(mut args: PlanArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let RevisionArgs { base_ref, head_ref, render, .. } = args.revisions.clone();
    let Some((base, render)) = base_ref.zip(render) else {
        return judge(&args, colour, outside, &Input::read(&args.files)?, None);
    };
    let revisions = Revisions::render(&args.revisions, &base, &render)?;
    args.common.policy = Some(revisions.policy(args.common.policy.as_deref())?);
    for pack in &mut args.common.pack {
        *pack = revisions.of_base(pack);
    }
    args.common.live = revisions.live.display().to_string();
    let input = Input::unnamed(head_ref, Arc::clone(&revisions.stream));
    judge(&args, colour, outside, &input, Some(&revisions)).map_err(|stop| stop.respelt(|text| revisions.named(text)))
}

/// Judges a stream, and writes the reports.
fn judge(
    args: &PlanArgs,
    colour: Colour,
    outside: &mut Outside<'_>,
    input: &Input,
    revisions: Option<&Revisions>,
) -> Result<Exit, Stop> {
    if args.dry_run_server && args.common.live != "cluster" {
        return Err(Stop::usage(anyhow!(
            "--dry-run-server asks the API server; leave --live out, or say --live cluster"
        )));
    }
    let mut setup = Setup::new(&args.common, Untold::Look)?;
    if let Some(revisions) = revisions {
        setup.policy_report.source = revisions.named(&setup.policy_report.source);
        setup.change_folder = Some(revisions.in_change(&setup.policy_folder));
    }
    if setup.outputs.is_empty() {
        setup.outputs.push(Output::HUMAN);
    }
    input.refuse_empty()?;
    let look = Look { setup: &setup, args: &args.common, input, piped: false };
    let mut seen = look.read(outside).map_err(|stop| stop.about(input))?;
    if let Some(revisions) = revisions {
        seen.world.source.name = revisions.named(&seen.world.source.name);
        seen.warnings.extend(revisions.warnings.iter().cloned());
        if seen.world.source.kind == LiveKind::None {
            // A base that renders to nothing was looked at: everything is new.
            seen.world.source.kind = LiveKind::OldRender;
            seen.world.base.kind = BaseKind::Live;
        }
    }
    if args.explain_reads {
        return explain_reads(args, &seen, outside);
    }
    if args.dry_run_server {
        let writes = pipeline::writes(&seen.question, &seen.world).map_err(|fault| fault_stop(fault).about(input))?;
        seen.ask(writes, &setup)?;
    }
    let bound = bound::deadline("judging", setup.deadline);
    let mut judgement = pipeline::judge(&seen.question, &seen.world).map_err(|fault| fault_stop(fault).about(input))?;
    drop(bound);
    judgement.report.warnings.extend(seen.warnings);
    // A policy of another revision has no path here: the one of this folder is found.
    let called = match revisions {
        None => setup.called(&args.common, &seen.world.host),
        Some(_) => Called { policy: None, live: None, ..setup.called(&args.common, &seen.world.host) },
    };
    called.complete(&mut judgement.report);
    for (place, approval) in judgement.approvals.iter().filter(|(_, approval)| approval.once) {
        let text = format!("approval {} in {place} is for one install; a plan does not use it up", approval.id);
        judgement.report.warnings.push(text);
    }
    report::escape::report(&mut judgement.report);
    approve::offer(&mut judgement.report, &setup.policy, &called, &setup.env);
    for output in &setup.outputs {
        let page = setup::page(colour, outside.out_is_terminal, args.common.summary, outside);
        output.write(&judgement.report, page, &setup.env, outside.out).map_err(Stop::internal)?;
    }
    Ok(verdict::exit(judgement.report.decision))
}

/// Says what was read from the cluster, and what could not be.
fn explain_reads(args: &PlanArgs, seen: &Seen, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let unread = &seen.world.unread;
    let not_read = unread.iter().map(|one| format!("not read: {}: {}; {}", one.what, one.why, one.remedy));
    let mut lines: Vec<String> = not_read.chain(seen.reads.iter().cloned()).collect();
    if args.common.live != "cluster" {
        lines.push(format!("nothing is read from a cluster: --live is {}", args.common.live));
    } else if lines.is_empty() {
        lines.push("nothing is read from a cluster: nothing in this stream needs it".to_owned());
    }
    let text: String = lines.iter().map(|line| format!("{}\n", report::escape::line(line))).collect();
    outside.out.write_all(text.as_bytes()).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(if unread.is_empty() { Exit::Allow } else { Exit::Undecided })
}

/// A stream that cannot be read is the user's; lost documents are our defect.
pub(super) fn fault_stop(fault: Fault) -> Stop {
    match fault {
        Fault::Stream(_) | Fault::Name { .. } | Fault::Rules(_) => Stop::usage(fault),
        Fault::Lost { .. } => Stop::internal(fault),
    }
}
