//! `rollgate plan`: the whole pipeline, the report on standard output, nothing committed.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};

use super::args::{AlsoShown, Colour, CommonArgs, PlanArgs};
use super::called::Called;
use super::{Outside, Stop, approve, argocd, flux, releases, setup, upgrade};
use crate::exit::Exit;
use crate::judge::upgrade::Wanted;
use crate::model::{Decision, Reason};
use crate::parallel;
use crate::pipeline::Apart;
use crate::report::{self, Report};
use crate::score::Front;
use crate::session::{Chart, Input, Ready, Revisions, Session, Setup, Source, Tree, Trees, Untold, keep_forecast};
use crate::verdict;
use crate::world::{BaseKind, LiveKind};

pub(super) fn run(mut args: PlanArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let wanted = upgrade::of_plan(&args)?;
    if args.all {
        return releases::run(&args, colour, outside);
    }
    if !args.flux.is_empty() {
        return flux::plan::run(&args, colour, outside);
    }
    if let Some(exit) = argocd::run(&args, colour, outside)? {
        return Ok(exit);
    }
    let outputs = setup::outputs(&args.common, &args.source.read())?;
    let case =
        if wanted.is_empty() { rendered(&mut args, outside)? } else { PlanCase::of_upgrade(args.common, wanted) };
    let Judged { report, setup } = match case.judge(&args.asked, outside)? {
        CaseSaid::Report(judged) => *judged,
        CaseSaid::Reads(lines, exit) => {
            outside
                .out
                .write_all(lines.as_bytes())
                .context("cannot write to standard output")
                .map_err(Stop::internal)?;
            return Ok(exit);
        }
    };
    let page = setup::page(colour, outside.out_is_terminal, case.common.summary, outside);
    for output in &outputs {
        output.write(std::slice::from_ref(&report), page, &setup.env, outside.out).map_err(Stop::internal)?;
    }
    let documents = case.input.text.stream().map_or(0, |stream| stream.documents);
    parallel::discard(case.input, documents);
    Ok(verdict::exit(report.decision))
}

/// What is rendered, and where two revisions are compared, on both sides.
fn rendered(args: &mut PlanArgs, outside: &Outside<'_>) -> Result<PlanCase, Stop> {
    let source = match args.revisions.render.clone() {
        Some(command) => Source::Command(command),
        None => args.source.source(&args.common),
    };
    match args.revisions.base_ref.clone() {
        None => PlanCase::of(&source, args.common.clone(), outside),
        Some(_) if matches!(&source, Source::Paths { paths, .. } if paths.is_empty()) => Err(Stop::usage(anyhow!(
            "--base-ref renders both revisions: say what by --render COMMAND, --chart CHART, or paths"
        ))),
        Some(base) => {
            let trees = Trees::open(args.revisions.asked(&base), outside)?;
            let may_be_new = args.revisions.new_chart;
            let revisions = Revisions::render(&trees, 0, Some(&source), &source, may_be_new, outside)?;
            args.common.under(&trees)?;
            Ok(PlanCase::of_revisions(revisions, args.common.clone()))
        }
    }
}

/// One stream that is judged.
pub(super) struct PlanCase {
    pub(super) common: CommonArgs,
    pub(super) input: Input,
    /// Both sides, where two revisions are compared.
    pub(super) revisions: Option<Revisions>,
    /// What a person should know of how it was rendered.
    warnings: Vec<String>,
    /// What is judged beside it.
    pub(super) apart: Arc<Apart>,
    /// Versions of providers that come; then there is no stream.
    upgrade: Wanted,
}

/// What is judged beside a stream that was rendered here.
fn beside(input: &Input, name: &str) -> Arc<Apart> {
    let unseen = input.unseen.iter().map(|unseen| unseen.unread(format!("what chart {name} renders"), Vec::new()));
    Arc::new(Apart { unread: unseen.collect(), ..Apart::default() })
}

/// What came of one case.
pub(super) enum CaseSaid {
    /// Its report.
    Report(Box<Judged>),
    /// What is read for it, where only that was asked; and whether all of it could be.
    Reads(String, Exit),
}

/// A report and what it was made with.
pub(super) struct Judged {
    pub(super) report: Report,
    pub(super) setup: Setup,
}

impl CommonArgs {
    /// What decides stands in the base.
    pub(super) fn under(&mut self, trees: &Trees) -> Result<(), Stop> {
        self.told_policy.clone_from(&self.policy);
        self.policy = Some(trees.policy(self.policy.as_deref())?);
        for pack in &mut self.pack {
            *pack = trees.of_base(pack);
        }
        Ok(())
    }
}

impl PlanCase {
    /// Renders what is compared with what is live.
    pub(super) fn of(source: &Source, common: CommonArgs, outside: &Outside<'_>) -> Result<Self, Stop> {
        let first = common.live == "none";
        let input = source.render(Tree::here(), first, outside).map_err(Stop::usage)?;
        let mut warnings = Vec::new();
        if let Source::Chart(chart @ Chart { first: false, .. }) = source
            && common.live == "cluster"
        {
            // Whether the release is there is not known yet; most charts print the same in both cases.
            let install = source.render(Tree::here(), true, outside).map_err(Stop::usage)?;
            if install.text != input.text {
                warnings.push(format!(
                    "chart {} prints another stream for a first install, or each time it is rendered; judged is an upgrade \
                     (--first-install)",
                    chart.named()
                ));
            }
        }
        let apart = beside(&input, &input.name);
        Ok(Self { common, input, revisions: None, warnings, apart, upgrade: Wanted::new() })
    }

    /// Another version of providers, and no stream.
    fn of_upgrade(common: CommonArgs, upgrade: Wanted) -> Self {
        let input = Input::unnamed("", Vec::new());
        Self { common, input, revisions: None, warnings: Vec::new(), apart: Arc::default(), upgrade }
    }

    /// A change between two revisions; what the options say is that of the base already.
    pub(super) fn of_revisions(revisions: Revisions, mut common: CommonArgs) -> Self {
        common.live = revisions.live.display().to_string();
        let warnings = revisions.trees.warnings.clone();
        let (input, upgrade) = (revisions.input.clone(), Wanted::new());
        let apart = beside(&input, &revisions.trees.named(&input.name));
        Self { common, input, revisions: Some(revisions), warnings, apart, upgrade }
    }

    /// Judges the stream.
    pub(super) fn judge(&self, asked: &AlsoShown, outside: &mut Outside<'_>) -> Result<CaseSaid, Stop> {
        self.judged(asked, outside).map_err(|stop| match &self.revisions {
            Some(revisions) => stop.respelt(|text| revisions.trees.named(text)),
            None => stop,
        })
    }

    fn judged(&self, asked: &AlsoShown, outside: &mut Outside<'_>) -> Result<CaseSaid, Stop> {
        let Self { common, input, .. } = self;
        if asked.dry_run_server && common.live != "cluster" {
            return Err(Stop::usage(anyhow!(
                "--dry-run-server asks the API server; leave --live out, or pass --live cluster"
            )));
        }
        let mut setup = common.setup(Untold::look())?;
        setup.apart = Arc::clone(&self.apart);
        let trees = self.revisions.as_ref().map(|revisions| &revisions.trees);
        if let Some(trees) = trees {
            setup.policy_report.source = trees.named(&setup.policy_report.source);
            setup.change_folder = Some(trees.in_change(&setup.policy_folder));
            setup.commits = Some(trees.range.clone());
        }
        setup.upgrade.clone_from(&self.upgrade);
        if self.upgrade.is_empty() {
            input.refuse_empty()?;
        }
        let session = Session { setup: &setup, input, is_hosts: false };
        let mut ready = session.read(outside).map_err(|stop| stop.about(input))?;
        if let Some(revisions) = &self.revisions {
            if revisions.write_pinned(&ready)? {
                ready = session.read(outside).map_err(|stop| stop.about(input))?;
            }
            session.pins_of_change(&mut ready.world)?;
        }
        ready.warnings.extend(self.warnings.iter().cloned());
        if let Some(trees) = trees {
            ready.world.source.name = trees.named(&ready.world.source.name);
            if ready.world.source.kind == LiveKind::None {
                // A base that renders to nothing was looked at: everything is new.
                ready.world.source.kind = LiveKind::OldRender;
                ready.world.base.kind = BaseKind::Live;
            }
        }
        if asked.explain_reads {
            return Ok(self.explain_reads(&ready));
        }
        if asked.dry_run_server {
            ready.ask(&setup).map_err(|stop| stop.about(input))?;
        }
        let mut judgement = ready.judge(&setup, outside).map_err(|stop| stop.about(input))?;
        // A policy of another revision has no path here: the one of this folder is found.
        let called = match trees {
            None => common.called(&setup, &ready.world.host),
            Some(_) => Called { policy: None, live: None, ..common.called(&setup, &ready.world.host) },
        };
        if let Some(said) = trees.and_then(|trees| trees.own_policy(common.told_policy.as_deref(), &setup.policy)) {
            judgement.report.reasons.push(Reason::new("policy", Decision::Warn, said));
        }
        called.complete(&mut judgement.report);
        for (place, approval) in judgement.approvals.iter().filter(|(_, approval)| approval.once) {
            let text = format!("approval {} in {place} is for one install; a plan does not use it up", approval.id);
            judgement.report.warnings.push(text);
        }
        if let Err(why) = keep_forecast(&setup, &ready, &judgement.report, Front::Plan) {
            judgement.report.warnings.push(format!("the forecast is not kept: {why}"));
        }
        report::escape::report(&mut judgement.report);
        approve::offer(&mut judgement.report, &setup.policy, &called, &setup.env);
        let objects = ready.world.live.objects().len() + ready.world.base.objects.objects().len();
        parallel::discard(ready.world, objects);
        Ok(CaseSaid::Report(Box::new(Judged { report: judgement.report, setup })))
    }

    /// What was read from the cluster, and what could not be.
    fn explain_reads(&self, ready: &Ready) -> CaseSaid {
        let unread = &ready.world.unread;
        let not_read = unread.iter().map(|one| format!("not read: {}: {}; {}", one.what, one.why, one.remedy));
        let mut lines: Vec<String> = not_read.chain(ready.reads.iter().cloned()).collect();
        if self.common.live != "cluster" {
            lines.push(format!("nothing is read from a cluster: --live is {}", self.common.live));
        } else if lines.is_empty() {
            lines.push("nothing is read from a cluster: nothing in this stream needs it".to_owned());
        }
        let text = lines.iter().map(|line| format!("{}\n", report::escape::line(line))).collect();
        CaseSaid::Reads(text, if unread.is_empty() { Exit::Allow } else { Exit::Undecided })
    }
}
