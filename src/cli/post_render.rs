//! `rollgate post-render`: nothing on standard output unless the install is allowed, and then the whole stream at once.

use anyhow::anyhow;

use super::args::{Colour, Commit, PostRenderArgs};
use super::input::Input;
use super::run::{self, Look, Seen};
use super::setup::{self, Setup, Untold};
use super::{Outside, Stop, approve, bound, fault, plan};
use crate::approval::{self, Ledger, LedgerError, Use};
use crate::exit::Exit;
use crate::gate::{budget, glass};
use crate::history::{self, History, HistoryError, Spent};
use crate::host::say;
use crate::model::{Decision, Reason};
use crate::object::Stream;
use crate::pin::{self, Pin};
use crate::pipeline::{self, Judgement};
use crate::policy::{HistoryPlace, StoreKind};
use crate::report::{self, Report, human};
use crate::store::{ClusterError, FileError};
use crate::verdict;

pub(super) fn run(args: &PostRenderArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    fault::of_post_renderer(run::told(&args.common));
    let setup = Setup::new(&args.common, Untold::Refuse)?;
    let input = Input::of_stdin()?;
    refuse_empty(&input)?;
    let look = Look { setup: &setup, args: &args.common, input: &input, piped: true };
    let mut seen = look.read(outside)?;
    seen.question.goes_out = true;
    seen.question.break_glass = wish(args, &setup, writes(args.commit, &seen))?;
    let bound = bound::deadline("judging", setup.deadline);
    let mut judgement = pipeline::judge(&seen.question, &seen.world).map_err(plan::fault_stop)?;
    drop(bound);
    judgement.report.warnings.extend(seen.warnings.iter().cloned());
    // A report that says allow is the last word: what is used is kept before it is said.
    if verdict::exit(judgement.report.decision) == Exit::Allow
        && let Err(stop) = commit(args.commit, &setup, &seen, &judgement)
    {
        if stop.exit != Exit::Undecided {
            return Err(stop);
        }
        judgement.report.decision = Decision::Undecided;
        glass::shut(&mut judgement.report, "something else cannot be written down");
        judgement.report.reasons.insert(0, Reason::new("pin", Decision::Undecided, format!("{:#}", stop.error)));
    }
    if verdict::exit(judgement.report.decision) == Exit::Allow
        && let Some(reason) = break_glass(args, &setup, &seen, &judgement)?
    {
        judgement.report.decision = Decision::Hold;
        glass::shut(&mut judgement.report, &reason.message);
        judgement.report.reasons.insert(0, reason);
    }
    let called = setup.called(&args.common, &seen.world.host);
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
    say(&setup, &judgement.report, &seen, page, outside)?;
    let exit = verdict::exit(judgement.report.decision);
    if exit == Exit::Allow {
        // The last thing: whoever comes second finds it used up, and whatever failed before has not used it.
        let held = match spend(args, &setup, &seen, &judgement, outside)? {
            Some(reason) => Some(reason),
            // Who comes second with one approval repeats the same change of the same release, which counts once.
            None => use_up(args, &setup, &seen, &judgement, outside)?,
        };
        if let Some(reason) = held {
            judgement.report.decision = Decision::Hold;
            glass::shut(&mut judgement.report, &reason.message);
            judgement.report.reasons.insert(0, reason);
            report::escape::report(&mut judgement.report);
            say(&setup, &judgement.report, &seen, page, outside)?;
            return Ok(Exit::Hold);
        }
        outside
            .out
            .write_all(&judgement.stream)
            .and_then(|()| outside.out.flush())
            .map_err(|error| Stop::internal(anyhow!(error).context("cannot write the stream to standard output")))?;
    }
    Ok(exit)
}

/// An empty stream with exit code 0 makes Helm delete the whole release, so it never gets one. Documents that are `null` and
/// lists of nothing hold no object either.
fn refuse_empty(input: &Input) -> Result<(), Stop> {
    let loaded = Stream::load(&input.bytes).map_err(|error| Stop::usage(anyhow!("{error}")).about(input))?;
    if !loaded.objects.is_empty() || loaded.nameless > 0 {
        return Ok(());
    }
    Err(Stop::usage(anyhow!(
        "the stream holds no object; handing it on would make Helm delete every object of the release. \
         Helm 3 sends nothing when it runs `template --output-dir`: drop --output-dir, or the post-renderer"
    )))
}

/// Puts the report where the host's user can read it: standard error, the files that were asked for, the well-known
/// place, and past a host that throws standard error away.
fn say(setup: &Setup, report: &Report, seen: &Seen, page: human::Page, outside: &mut Outside<'_>) -> Result<(), Stop> {
    let mut text = Vec::new();
    human::write_on(report, human::Page { paint: human::Paint(false), ..page }, &mut text).map_err(Stop::internal)?;
    if let Some(path) = say::report_path(&setup.env) {
        let bytes = serde_json::to_vec_pretty(report).map_err(Stop::internal)?;
        if let Err(error) = say::write_report(&path, &bytes) {
            // The well-known place is a service; that it is out of reach changes no decision.
            drop(writeln!(outside.err, "rollgate: cannot write {}: {error}", path.display()));
        }
    }
    for output in setup.outputs() {
        output.write(std::slice::from_ref(report), page, &setup.env, outside.err).map_err(Stop::internal)?;
    }
    // Helm shows nothing of a post-renderer that succeeds, and a broken glass is to be seen.
    let is_loud = report.break_glass.as_ref().is_some_and(|glass| glass.opened);
    let is_allowed = verdict::exit(report.decision) == Exit::Allow;
    if !is_allowed || is_loud {
        let places = say::Places { helm_pid: seen.detected.helm_pid, ..say::Places::default() };
        // Wherever it went, standard error and the report file have it too.
        let text = String::from_utf8_lossy(&text);
        let _: say::Spoken = match is_allowed {
            true => say::past_success(&text, &places),
            false => say::past_host(&text, seen.world.host.kind, &places),
        };
    }
    Ok(())
}

/// Records the pins of an allowed run, before anything goes out: a value that is used is a value that is kept.
fn commit(wish: Commit, setup: &Setup, seen: &Seen, judgement: &Judgement) -> Result<(), Stop> {
    if !writes(wish, seen) || judgement.pins.is_empty() {
        return Ok(());
    }
    let sign = |pin: Pin| {
        pin.signed(pin::author(&setup.env), &setup.policy_report.digest).encrypted_to(&setup.policy.pins.encrypt_to)
    };
    let pins: Vec<Pin> =
        judgement.pins.iter().cloned().map(sign).collect::<Result<_, _>>().map_err(|why| Stop::usage(anyhow!(why)))?;
    if let Some(store) = setup.pin_file() {
        store.update(|book| book.record(&pins)).map_err(Stop::undecided)?;
    } else if let Some(store) = &setup.policy.pins.store {
        let cluster = seen.cluster.as_ref().ok_or_else(|| {
            Stop::undecided(anyhow!(
                "pins cannot be recorded in {store} without a cluster; use pins.file, or --live cluster"
            ))
        })?;
        let named = seen.world.host.namespace.as_deref().or_else(|| cluster.named_namespace());
        let namespace = named.ok_or_else(|| {
            Stop::undecided(anyhow!("no namespace is known for the pins in {store}; give --namespace"))
        })?;
        let client = cluster.client().clone();
        let store = crate::pin::cluster::store(&setup.policy.pins, client, namespace)
            .ok_or_else(|| Stop::usage(anyhow!("{store} is no store for pins")))?;
        run::runtime()?.block_on(store.update(|book| book.record(&pins))).map_err(Stop::undecided)?;
    }
    Ok(())
}

/// What somebody wishes who wants a held install to go through.
fn wish(args: &PostRenderArgs, setup: &Setup, writes: bool) -> Result<Option<glass::Wish>, Stop> {
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

/// Writes down that a hold was broken through, before anything says so: what is written down and then held after all does less harm
/// than what nobody wrote down. The reason of the hold where that cannot be done.
fn break_glass(
    args: &PostRenderArgs,
    setup: &Setup,
    seen: &Seen,
    judgement: &Judgement,
) -> Result<Option<Reason>, Stop> {
    let Some((place, entry)) = &judgement.glass else { return Ok(None) };
    let longest = glass::longest(&setup.policy.approvals.break_glass);
    let noted = match (writes(args.commit, seen), seen.world.host.writes_nothing) {
        (true, _) => keep(setup, seen, place, |ledger, makes_room| ledger.broke(entry, longest, makes_room))?,
        // Nothing is written, so nothing was let through.
        (false, true) => return Ok(None),
        (false, false) => Noted::Failed("--commit never would not write it down".to_owned()),
    };
    let why = match noted {
        Noted::Done => return Ok(None),
        Noted::Gone(why) | Noted::Failed(why) => why,
    };
    let next = setup.called(&args.common, &seen.world.host).approvals();
    let text = format!("the glass stays whole, as it cannot be written down: {why}");
    Ok(Some(Reason::new(glass::GATE, Decision::Hold, text).with_next(next)))
}

/// Whether what the run found out is recorded.
const fn writes(wish: Commit, seen: &Seen) -> bool {
    match wish {
        Commit::Always => true,
        Commit::Never => false,
        Commit::Auto => !seen.world.host.writes_nothing,
    }
}

/// Notes on each approval that it let this install through; the reason of the hold where one of them is no longer good, or is for
/// one install and that cannot be noted.
fn use_up(
    PostRenderArgs { common: args, commit: wish, .. }: &PostRenderArgs,
    setup: &Setup,
    seen: &Seen,
    judgement: &Judgement,
    outside: &mut Outside<'_>,
) -> Result<Option<Reason>, Stop> {
    let used = Use { time: approval::to_the_second(setup.now), by: pin::author(&setup.env) };
    let writes = writes(*wish, seen);
    for (place, approval) in &judgement.approvals {
        let noted = match (writes, approval.once && !seen.world.host.writes_nothing) {
            (true, _) => keep(setup, seen, place, |ledger, _| ledger.take(approval, &used))?,
            (false, true) => Noted::Failed("--commit never would not use it up".to_owned()),
            (false, false) => continue,
        };
        let text = match noted {
            Noted::Done => {
                if approval.once {
                    drop(writeln!(outside.err, "rollgate: approval {} is used up", approval.id));
                }
                continue;
            }
            Noted::Gone(why) => why,
            Noted::Failed(why) if approval.once => format!("approval {} is for one install, and {why}", approval.id),
            Noted::Failed(why) => {
                drop(writeln!(outside.err, "rollgate: the use of approval {} is not noted: {why}", approval.id));
                continue;
            }
        };
        let next = setup.called(args, &seen.world.host).approvals();
        return Ok(Some(Reason::new("approval", Decision::Hold, text).with_next(next)));
    }
    Ok(None)
}

/// What came of noting a use.
enum Noted {
    Done,
    /// The approval is no longer good.
    Gone(String),
    /// The place cannot be written.
    Failed(String),
}

/// Changes the approvals of a place of the policy; told is whether what ended there makes room.
fn keep(
    setup: &Setup,
    seen: &Seen,
    place: &str,
    change: impl Fn(&mut Ledger, bool) -> Result<(), LedgerError>,
) -> Result<Noted, Stop> {
    let from = setup.policy.approvals.from.iter().find(|from| from.to_string() == place);
    let Some(from) = from else { return Ok(Noted::Failed(format!("the policy names no {place}"))) };
    if let Some(file) = setup.approval_file(from) {
        return Ok(match file.update(|ledger| change(ledger, false)) {
            Ok(()) => Noted::Done,
            Err(FileError::Kept(why)) if is_gone(&why) => Noted::Gone(why.to_string()),
            Err(other) => Noted::Failed(other.to_string()),
        });
    }
    let (Some(cluster), Some(name)) = (&seen.cluster, from.config_map()) else {
        return Ok(Noted::Failed(format!("{place} cannot be written without the cluster")));
    };
    let namespace = seen.world.host.namespace.as_deref().unwrap_or_else(|| cluster.namespace());
    let object = approval::Object::new(cluster.client().clone(), StoreKind::ConfigMap, namespace, name);
    let taken = object.update(|ledger| change(ledger, true));
    let bounded = run::runtime()?.block_on(async { tokio::time::timeout(setup.deadline, taken).await });
    Ok(match bounded {
        Ok(Ok(())) => Noted::Done,
        Ok(Err(ClusterError::Kept(why))) if is_gone(&why) => Noted::Gone(why.to_string()),
        Ok(Err(other)) => Noted::Failed(other.to_string()),
        Err(_) => Noted::Failed("the cluster did not answer in time".to_owned()),
    })
}

/// Notes the Machines that go; the reason of the hold where that cannot be done, or another install has taken what was left.
fn spend(
    args: &PostRenderArgs,
    setup: &Setup,
    seen: &Seen,
    judgement: &Judgement,
    outside: &mut Outside<'_>,
) -> Result<Option<Reason>, Stop> {
    let Some(spending) = &judgement.spending else { return Ok(None) };
    let limits = budget::limits(&setup.policy);
    let by = pin::author(&setup.env);
    let entry = Spent { by, ..spending.entry.clone() };
    let change = |history: &mut History| history.spend(&entry, limits, spending.judged.as_deref());
    let noted = match (writes(args.commit, seen), seen.world.host.writes_nothing) {
        (true, _) => in_history(setup, seen, change)?,
        (false, true) => return Ok(None),
        (false, false) => Noted::Failed("--commit never would not note what goes out".to_owned()),
    };
    let why = match noted {
        Noted::Done => return Ok(None),
        Noted::Gone(why) => why,
        Noted::Failed(why) if spending.judged.is_some() => format!("what goes out cannot be noted: {why}"),
        Noted::Failed(why) => {
            drop(writeln!(outside.err, "rollgate: what goes out is not noted: {why}"));
            return Ok(None);
        }
    };
    Ok(Some(Reason::new("budget.history", Decision::Hold, why)))
}

/// Changes the history where the policy keeps it.
fn in_history(
    setup: &Setup,
    seen: &Seen,
    change: impl Fn(&mut History) -> Result<(), HistoryError>,
) -> Result<Noted, Stop> {
    if let Some(file) = setup.history_file() {
        return Ok(match file.update(change) {
            Ok(()) => Noted::Done,
            Err(FileError::Kept(why @ HistoryError::Gone(_))) => Noted::Gone(why.to_string()),
            Err(other) => Noted::Failed(other.to_string()),
        });
    }
    let place = setup.policy.gates.budget.history.as_ref().and_then(HistoryPlace::config_map);
    let (Some(cluster), Some((told, name))) = (&seen.cluster, place) else {
        return Ok(Noted::Failed("it cannot be written without the cluster".to_owned()));
    };
    let namespace = told.or(seen.world.host.namespace.as_deref()).unwrap_or_else(|| cluster.namespace());
    let object = history::Object::new(cluster.client().clone(), StoreKind::ConfigMap, namespace, name);
    let changed = object.update(change);
    let bounded = run::runtime()?.block_on(async { tokio::time::timeout(setup.deadline, changed).await });
    Ok(match bounded {
        Ok(Ok(())) => Noted::Done,
        Ok(Err(ClusterError::Kept(why @ HistoryError::Gone(_)))) => Noted::Gone(why.to_string()),
        Ok(Err(other)) => Noted::Failed(other.to_string()),
        Err(_) => Noted::Failed("the cluster did not answer in time".to_owned()),
    })
}

/// Whether an approval is no longer what it was.
const fn is_gone(why: &LedgerError) -> bool {
    matches!(why, LedgerError::NotThere { .. } | LedgerError::Ended { .. })
}
