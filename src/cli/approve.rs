//! `rollgate approve`: a person's yes to exactly the change of one report, kept where the policy says that it counts; what there is,
//! and taking one back.

mod places;
mod reports;

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use jiff::Timestamp;

use self::places::ApprovalPlaces;
pub(super) use self::reports::offer;
use self::reports::report_of;
use super::known::duration;
use super::{Outside, Stop};
use crate::approval::{self, Approval, FoundLedger, ReleaseId, Revoked, trailer};
use crate::exit::Exit;
use crate::gate::approval as gate;
use crate::model::Decision;
use crate::pin;
use crate::policy::{self, ApprovalTrailer, Policy};
use crate::report::{Report, escape};
use crate::session::{InForce, Untold, Whence, environment, trailers};
use crate::tree::{Value, json};

/// Options of `approve`.
#[derive(Debug, Args)]
#[command(after_help = "docs/approvals.md has the whole way, from a hold to an install that goes through.")]
pub struct ApproveArgs {
    /// The change: the digest that a report names (its first 12 digits are enough), or `last` for the newest report here.
    #[arg(value_name = "DIGEST|last", default_value = "last", conflicts_with_all = ["list", "revoke"])]
    pub change: String,
    /// Why; it stands in every report that the approval counts in.
    #[arg(long, value_name = "TEXT", required_unless_present = "list")]
    pub reason: Option<String>,
    /// How long it is good for.
    #[arg(long, value_name = "DURATION", default_value = "24h")]
    pub expires: String,
    /// One install uses it up.
    #[arg(long)]
    pub once: bool,
    /// Only these gates, of those that hold; by default all of them.
    #[arg(long, value_name = "GATE,...", value_delimiter = ',')]
    pub gates: Vec<String>,
    /// The report with that digest, as `-o json=FILE` wrote it, if it comes from another machine.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// The place, where the policy has several: as it stands there, such as configmap/rollgate-approvals, the path of a file, or
    /// git-trailer. For a trailer the message of the commit is printed: | git commit --allow-empty -S -F -
    #[arg(long, value_name = "PLACE")]
    pub to: Option<String>,
    /// Make the commit with the trailer: empty, on HEAD, and signed if the policy wants that.
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    pub make_commit: bool,
    /// Show what was approved, and what became of it.
    #[arg(long, conflicts_with_all = ["revoke", "reason", "once", "gates", "report"])]
    pub list: bool,
    /// Take an approval back.
    #[arg(long, value_name = "ID", conflicts_with_all = ["once", "gates", "report"])]
    pub revoke: Option<String>,
    /// How a list is printed.
    #[arg(long, short, value_enum, requires = "list")]
    pub output: Option<ListFormat>,
    /// The policy, which says where approvals are kept; by default the nearest rollgate.yaml upward.
    #[arg(long, env = "ROLLGATE_POLICY", value_name = "FILE")]
    pub policy: Option<String>,
    /// Namespace of the release, where the ConfigMap is; by default that of the report.
    #[arg(long, short = 'n', env = "ROLLGATE_NAMESPACE")]
    pub namespace: Option<String>,
    /// Context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    pub kube_context: Option<String>,
    /// The clock, for runs that can be repeated.
    #[arg(long, value_name = "RFC3339")]
    pub now: Option<Timestamp>,
    /// Longest time for reading and writing.
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    pub deadline: String,
}

/// How a list is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// For people.
    Human,
    /// For programs.
    Json,
}

pub(super) fn run(args: &ApproveArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let env = environment();
    let deadline = duration(&args.deadline, "--deadline")?;
    let whence = Whence { context: args.kube_context.as_deref(), namespace: args.namespace.as_deref(), deadline };
    let InForce { policy, folder, .. } = InForce::of(args.policy.as_deref(), Untold::look(), whence)?;
    if policy.approvals.is_nowhere() {
        return Err(Stop::usage(anyhow!(
            "the policy names no place where approvals count; write approvals: {{from: [configmap/rollgate-approvals]}}"
        )));
    }
    let now = approval::to_the_second(args.now.unwrap_or_else(Timestamp::now));
    let mut places =
        ApprovalPlaces { args, env: &env, policy: &policy, folder: &folder, deadline, cluster: None, home: None };
    match (&args.revoke, args.list) {
        (_, true) => list(&mut places, now, outside),
        (Some(id), false) => revoke(&mut places, id, now, outside),
        (None, false) => give(&mut places, now, outside),
    }
}

/// Gives an approval for the change of a report.
fn give(places: &mut ApprovalPlaces<'_>, now: Timestamp, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let (args, policy) = (places.args, places.policy);
    let report = report_of(args, places.env)?;
    let place = places.wanted()?;
    if let Some(trailer) = place.trailer() {
        return in_trailer(places, trailer, &report, now, outside);
    }
    if args.make_commit {
        return Err(Stop::usage(anyhow!("--make-commit: {place} is no trailer; pass --to git-trailer")));
    }
    let approval = approval_of(args, policy, &report, pin::author(places.env), now)?;
    places.home.clone_from(&report.host.namespace);
    let makes_room = place.config_map().is_some();
    places.update(&place, |ledger| ledger.give(approval.clone(), makes_room))?;
    let name = places.name(&place);
    let once = if approval.once { ", for one install" } else { "" };
    let mut text = format!("approved {} in {name}, until {}{once}\n", approval.id, approval.expires);
    let mut line = |label: &str, value: &str| text.extend([format!("  {label:<9} {value}\n")]);
    line("change", &approval.digest);
    approval.release.iter().for_each(|release| line("release", &release.to_string()));
    approval.clusters.iter().for_each(|cluster| line("cluster", &cluster.to_string()));
    approval.machines.iter().for_each(|machines| line("Machines", &machines.to_string()));
    for held in &approval.gates {
        held.says.iter().for_each(|says| line(&held.gate, says));
    }
    print(outside, &text)?;
    say_rest(&report, &approval, outside);
    Ok(Exit::Allow)
}

/// Says what holds still.
fn say_rest(report: &Report, approval: &Approval, outside: &mut Outside<'_>) {
    let stays = report.reasons.iter().filter(|reason| !is_approved(reason, approval));
    let stays: Vec<&str> = stays.map(|reason| reason.gate.as_str()).collect();
    if !stays.is_empty() {
        drop(writeln!(outside.err, "rollgate: it still holds: {}", stays.join(", ")));
    }
}

/// Gives an approval in the message of a commit: printed, or committed where that is asked.
fn in_trailer(
    places: &ApprovalPlaces<'_>,
    trailer: &ApprovalTrailer,
    report: &Report,
    now: Timestamp,
    outside: &mut Outside<'_>,
) -> Result<Exit, Stop> {
    let args = places.args;
    if args.once {
        return Err(Stop::usage(anyhow!(
            "--once: nothing notes in a commit that it was used; approve in a ConfigMap or a file"
        )));
    }
    let by = trailers::committer().map_err(Stop::usage)?;
    let approval = approval_of(args, places.policy, report, Some(by.mail), now)?;
    let message = trailer::message(&trailer.git_trailer, &approval)
        .map_err(|why| Stop::usage(anyhow!("nobody could read this approval again: {why}")))?;
    if args.make_commit {
        let commit = trailers::commit(&message, trailer.signed).map_err(Stop::usage)?;
        print(outside, &format!("approved {} in commit {commit}, until {}\n", approval.id, approval.expires))?;
    } else {
        print(outside, &message)?;
    }
    say_rest(report, &approval, outside);
    Ok(Exit::Allow)
}

/// Whether a reason no longer stands in the way once this is approved.
fn is_approved(reason: &crate::model::Reason, approval: &Approval) -> bool {
    reason.decision < Decision::Undecided || approval.gates.iter().any(|held| held.gate == reason.gate)
}

/// The approval that somebody gives for a report.
fn approval_of(
    args: &ApproveArgs,
    policy: &Policy,
    report: &Report,
    by: Option<String>,
    now: Timestamp,
) -> Result<Approval, Stop> {
    let wrong = |text: String| Err(Stop::usage(anyhow!(text)));
    let reason = said(args.reason.as_deref())?;
    let liftable = |reason: &&crate::model::Reason| reason.decision == Decision::Hold && gate::can_lift(&reason.gate);
    let holds: Vec<(&str, &str)> =
        report.reasons.iter().filter(liftable).map(|one| (one.gate.as_str(), one.message.as_str())).collect();
    let mut gates = approval::held(holds);
    let names = gates.iter().map(|held| held.gate.clone()).collect::<Vec<_>>().join(", ");
    if gates.is_empty() {
        let what = match report.decision {
            Decision::Allow | Decision::Warn => "nothing is held in this report",
            Decision::Undecided => "the report is undecided, and no approval lifts a doubt",
            Decision::Hold => "what is held in this report cannot be approved",
        };
        return wrong(format!("{what} ({})", report.digest));
    }
    if let Some(odd) = args.gates.iter().find(|name| !gates.iter().any(|held| held.gate == **name)) {
        return wrong(format!(
            "the gate {odd} does not hold in this report, so it cannot be approved; there are {names}"
        ));
    }
    if !args.gates.is_empty() {
        gates.retain(|held| args.gates.contains(&held.gate));
    }
    if report.digest_key.as_deref() == Some("this-run") {
        return wrong(
            "the change has hidden values, and no later run can tell whether they are the same: \
             set ROLLGATE_KEY to 32 random characters or more wherever rollgate runs, and plan again"
                .to_owned(),
        );
    }
    let length = duration(&args.expires, "--expires")?;
    if let Some(longest) = policy.approvals.longest.as_deref()
        && policy::duration(longest).is_ok_and(|longest| length > longest)
    {
        return wrong(format!("--expires {}: the policy allows {longest} at most", args.expires));
    }
    let expires = now.checked_add(length).ok().map(approval::to_the_second).filter(|expires| *expires > now);
    let expires = expires.ok_or_else(|| Stop::usage(anyhow!("--expires {}: no such time", args.expires)))?;
    let approval = Approval {
        id: String::new(),
        digest: report.digest.clone(),
        key: report.digest_key.clone(),
        clusters: report.clusters.clone(),
        release: ReleaseId::of(report.host.namespace.as_deref(), report.host.release.as_deref()),
        gates,
        machines: gate::machines(&report.rollouts),
        reason,
        by,
        time: now,
        expires,
        once: args.once,
        break_glass: false,
        uses: Vec::new(),
        revoked: None,
    };
    match gate::by_policy(policy, &approval, now) {
        Some((_, why)) => wrong(format!("this approval would not count: {why}")),
        None => Ok(approval.named()),
    }
}

/// Takes an approval back, wherever it is.
fn revoke(places: &mut ApprovalPlaces<'_>, id: &str, now: Timestamp, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let reason = said(places.args.reason.as_deref())?;
    let revoked = Revoked { time: now, by: pin::author(places.env), reason };
    let from = places.asked()?;
    for place in from.iter().filter(|place| place.trailer().is_none()) {
        if places.read(place)?.approvals().iter().any(|one| one.id == id) {
            places.update(place, |ledger| ledger.revoke(id, &revoked))?;
            return print(outside, &format!("revoked {id} in {}\n", places.name(place)));
        }
    }
    let names: Vec<String> = from.iter().map(|place| places.name(place)).collect();
    let commits = match from.iter().any(|place| place.trailer().is_some()) {
        true => " (one in a trailer goes with its commit: take that out of the branch)",
        false => "",
    };
    Err(Stop::usage(anyhow!(
        "there is no approval {id} in {}{commits}; rollgate approve --list shows what there is",
        names.join(" and ")
    )))
}

/// Shows what was approved, and what became of it.
fn list(places: &mut ApprovalPlaces<'_>, now: Timestamp, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for place in places.asked()? {
        if let Some(trailer) = place.trailer() {
            // Which commits there are depends on the base that a plan is told.
            notes.push(format!(
                "{place}\n  counts in plan --base-ref BASE; git log --grep '^{}:' BASE..HEAD shows the commits\n",
                trailer.git_trailer
            ));
            continue;
        }
        // A place that cannot be read is shown, and the others are too.
        let ledger = places.read(&place).map_err(|stop| format!("{:#}", stop.error));
        found.push(FoundLedger::of(&place.to_string(), &places.name(&place), place.config_map().is_none(), ledger));
    }
    let exit = if found.iter().any(|found| found.unread.is_some()) { Exit::Undecided } else { Exit::Allow };
    if places.args.output == Some(ListFormat::Json) {
        let told: Vec<Value> = found.iter().map(|found| told(found, now)).collect();
        print(outside, &escape::json(&json!({ "places": told })))?;
        return Ok(exit);
    }
    let mut text = String::new();
    for found in &found {
        text.extend([format!("{}\n", found.name)]);
        match (&found.unread, found.approvals.is_empty()) {
            (Some(why), _) => text.extend([format!("  cannot be read: {why}\n")]),
            (None, true) => text.push_str("  nothing is approved\n"),
            (None, false) => found.approvals.iter().for_each(|one| text.push_str(&row(one, now))),
        }
        found.malformed.iter().for_each(|one| text.extend([format!("  {}: {}\n", one.at, one.why)]));
    }
    text.extend(notes);
    print(outside, &text)?;
    Ok(exit)
}

/// One approval in two lines.
fn row(one: &Approval, now: Timestamp) -> String {
    let once = if one.once { ", for one install" } else { "" };
    let ended = one.ended(now).map(|ended| ended.strip_prefix("it ").map(str::to_owned).unwrap_or(ended));
    let state = ended.unwrap_or_else(|| format!("counts until {}{once}", one.expires));
    let by = one.by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
    let release = one.release.as_ref().map_or_else(String::new, |release| format!("  {release}"));
    let gates: Vec<&str> = one.gates.iter().map(|held| held.gate.as_str()).collect();
    let short = one.digest.get(..19).unwrap_or(&one.digest);
    format!(
        "  {}  {state}\n    given {}{by}: {}  {short}{release}  {}\n",
        one.id,
        one.time,
        one.reason,
        gates.join(", ")
    )
}

/// A place as JSON.
fn told(found: &FoundLedger, now: Timestamp) -> Value {
    let mut value = json!(found);
    for (one, told) in found.approvals.iter().zip(value["approvals"].as_array_mut().into_iter().flatten()) {
        told["ended"] = json!(one.ended(now));
    }
    value
}

/// Why, as it was told.
fn said(reason: Option<&str>) -> Result<String, Stop> {
    match reason.map(str::trim) {
        None | Some("") => Err(Stop::usage(anyhow!("--reason is empty; whoever reads the report wants to know why"))),
        Some(reason) => Ok(reason.to_owned()),
    }
}

fn print(outside: &mut Outside<'_>, text: &str) -> Result<Exit, Stop> {
    let written = outside.out.write_all(escape::lines(text).as_bytes()).and_then(|()| outside.out.flush());
    written.context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}
