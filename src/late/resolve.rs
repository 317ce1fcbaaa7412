//! The late values of one stream: needed, settled, filled in. Pure: a stream, a policy and a World go in.
//! What goes out holds no placeholder of a value that is known, or there is a reason that says where it still stands.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::fields::Kept;
use super::filling::{self, Left, Where, Why};
use super::resolution::{Resolution, Symbolic, Trial};
use super::settle::{self, Evidence, LATE, Reach, Settled, reason, settle};
use super::stream;
use super::targets::{Target, Targets};
use super::token::{self, Placeholders};
use super::{checksums, held, signs};
use crate::model::Decision;
use crate::model::{Finding, Reason};
use crate::object::{Inventory, Key, Location, StreamText};
use crate::parallel;
use crate::policy::{FirstInstall, LateValue, Policy};
use crate::report::{LateState, LateValueReport, PlaceReport};
use crate::world::World;

/// Resolves the late values of a stream. `objects` are what the stream holds.
#[must_use]
pub fn resolve<'s>(
    stream: &'s StreamText,
    objects: &Inventory,
    policy: &Policy,
    world: &World,
    reach: Reach,
) -> Resolution<'s> {
    let blank = stream::targets(policy, &[]);
    let found = stream::search(stream, &blank);
    let hidden = into_secrets(policy, &found);
    let placeholders = Placeholders::of(policy);
    let evidence = Evidence {
        readings: &world.readings,
        pins: &world.pins,
        namespace: world.host.namespace.as_deref(),
        now: world.now,
        reach,
        placeholders: &placeholders,
        hidden: &hidden,
    };
    let needed: BTreeSet<usize> = found.marked.iter().flat_map(stream::Marked::values).collect();
    let mut settled: Vec<Option<Settled>> = policy
        .late_values
        .iter()
        .enumerate()
        .map(|(place, value)| {
            needed.contains(&place).then(|| {
                let held = || {
                    let unknown = |text: &str| settle::unknown(evidence.placeholders, value, text);
                    held::held(place, value, &found.marked, &blank, &world.live, unknown)
                };
                settle::with_live(policy, value, evidence, held)
            })
        })
        .collect();
    let with: Vec<Option<String>> =
        settled.iter().map(|settled| settled.as_ref().and_then(Settled::written).map(str::to_owned)).collect();
    let assumed = |value: usize| settled[value].as_ref().is_some_and(|settled| settled.value.is_none());
    let known = |value: usize| with[value].is_some() && !assumed(value);
    let stale = checksums::stale(stream, &found.marked, policy, known, objects);
    let filled = fill(stream, &found, policy, &with, assumed);
    let trials = let_out(policy, world, objects, &mut settled);
    let mut resolution = told(policy, settled, &found, filled.places);
    resolution.trials = trials;
    resolution.reasons.extend(filling::closed(&found, &blank, policy).iter().map(unopened));
    let signs = signs::signs(policy, world, objects, &unseen(stream, policy, evidence, &resolution), &resolution.known);
    resolution.reasons.extend(filled.reasons.into_iter().chain(signs.reasons));
    resolution.findings.extend(filled.findings.into_iter().chain(stale).chain(signs.findings));
    resolution.bytes = filled.bytes;
    resolution
}

/// What a first install lets out of the values that no source has: those that the policy skips at once, others on trial.
fn let_out(policy: &Policy, world: &World, objects: &Inventory, settled: &mut [Option<Settled>]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (value, (late, settled)) in policy.late_values.iter().zip(settled).enumerate() {
        let Some(settled) = settled.as_mut().filter(|settled| settled.state == LateState::Missing) else { continue };
        if late.first_install.is_hold() || !signs::is_surely_first(world, objects, late) {
            continue;
        }
        let Some(reason) = settled.reason.take() else { continue };
        match late.first_install {
            FirstInstall::Hold => {}
            FirstInstall::PlaceholderOk => trials.push(Trial { value, reason }),
            FirstInstall::Skip => settled.warn(format!(
                "{}; its placeholder goes out on this first install (firstInstall: skip), and the value may replace Machines when it comes",
                reason.message
            )),
        }
    }
    trials
}

/// A stream with a value in the places of one late value; `None` where not all of its places can take it.
#[must_use]
pub(crate) fn tried(stream: &StreamText, policy: &Policy, value: usize, text: &str) -> Option<Vec<u8>> {
    let with: Vec<Option<String>> =
        (0..policy.late_values.len()).map(|place| (place == value).then(|| text.to_owned())).collect();
    let targets = stream::targets(policy, &[]);
    let found = stream::search(stream, &targets);
    let filled = fill(stream, &found, policy, &with, |_| false);
    (filled.reasons.is_empty() && found.unreadable.is_empty()).then(|| filled.bytes.into_owned())
}

/// The late values that are secret because they are written into a Secret.
pub(super) fn into_secrets(policy: &Policy, found: &stream::Found<'_>) -> BTreeSet<String> {
    let secrets = found.marked.iter().filter(|marked| marked.key().is_some_and(|key| key.is_secret()));
    let values = secrets.flat_map(stream::Marked::values).filter_map(|value| policy.late_values.get(value));
    values.filter(|value| value.is_secret_in_a_secret()).map(|value| value.name.clone()).collect()
}

/// A stream with what is known filled in.
struct Filled<'s> {
    bytes: Cow<'s, [u8]>,
    reasons: Vec<Reason>,
    findings: Vec<Finding>,
    /// The places of each late value, in the policy's order.
    places: Vec<Vec<PlaceReport>>,
}

/// Fills in what is known. `assumed` says of which values only a likeness is filled in, which is judged and never goes out.
fn fill<'s>(
    stream: &'s StreamText,
    found: &stream::Found<'_>,
    policy: &Policy,
    with: &[Option<String>],
    assumed: impl Fn(usize) -> bool,
) -> Filled<'s> {
    let targets = stream::targets(policy, with);
    let places = vec![Vec::new(); policy.late_values.len()];
    let mut whole = Filled { bytes: Cow::Borrowed(stream), reasons: Vec::new(), findings: Vec::new(), places };
    let mut out = Vec::new();
    let mut done = 0;
    let all = parallel::map(&found.marked, |marked| filling::fill(stream, marked, &targets, policy));
    for filled in all {
        if let Some(bytes) = filled.bytes {
            out.extend_from_slice(&stream[done..filled.span.start]);
            out.extend_from_slice(&bytes);
            done = filled.span.end;
        }
        let left = filled.left.iter().filter(|left| !assumed(left.value));
        whole.reasons.extend(left.map(|left| left_over(policy, left)));
        whole.findings.extend(filled.hashed.map(in_hashed_template));
        filled.places.into_iter().for_each(|(value, place)| whole.places[value].push(place));
    }
    if done > 0 {
        out.extend_from_slice(&stream[done..]);
        whole.bytes = Cow::Owned(out);
    }
    whole
}

/// The late values of which neither a placeholder nor the value stands in the stream, with the value where it is known and no secret.
fn unseen<'p>(
    stream: &StreamText,
    policy: &'p Policy,
    evidence: Evidence<'_>,
    resolution: &Resolution<'_>,
) -> Vec<(&'p LateValue, Option<String>)> {
    let unused = policy.late_values.iter().zip(&resolution.reports).enumerate().filter(|(_, (value, report))| {
        let shared = policy.late_values.iter().zip(&resolution.reports).any(|(other, report)| {
            report.state != LateState::Unused && other.placeholders.iter().any(|text| value.placeholders.contains(text))
        });
        report.state == LateState::Unused && !value.placeholders.is_empty() && !value.optional && !shared
    });
    let unused: Vec<(usize, &LateValue, Settled)> =
        unused.map(|(place, (value, _))| (place, value, settle(policy, value, evidence))).collect();
    let targets = unused.iter().filter_map(|(place, _, settled)| {
        Some(Target { value: *place, placeholder: settled.value.as_deref()?, with: None })
    });
    let targets = Targets::new(targets.collect());
    let found = stream::search(stream, &targets);
    let stand: BTreeSet<usize> = found.marked.iter().flat_map(stream::Marked::values).collect();
    let rest = unused.into_iter().filter(|(place, ..)| !stand.contains(place));
    rest.map(|(_, value, settled)| (value, settled.value.filter(|_| !settled.secret))).collect()
}

/// What was settled, as it is reported.
fn told<'s>(
    policy: &Policy,
    settled: Vec<Option<Settled>>,
    found: &stream::Found<'_>,
    places: Vec<Vec<PlaceReport>>,
) -> Resolution<'s> {
    let mut resolution = Resolution::nothing();
    for ((value, settled), places) in policy.late_values.iter().zip(settled).zip(places) {
        let name = value.name.clone();
        let Some(settled) = settled else {
            resolution.reports.push(LateValueReport {
                name,
                state: LateState::Unused,
                value: None,
                source: None,
                places: 0,
                filled: Vec::new(),
                attempts: Vec::new(),
            });
            continue;
        };
        if settled.written().is_none() {
            let (placeholders, equivalent) = (value.placeholders.clone(), value.equivalent.clone());
            resolution.symbolic.push(Symbolic { name: name.clone(), placeholders, equivalent });
        }
        resolution.known.extend(settled.value.clone());
        let filled = if settled.value.is_some() { places } else { Vec::new() };
        resolution.reports.push(LateValueReport {
            name,
            state: settled.state,
            places: filled.len(),
            value: settled.value.filter(|_| !settled.secret),
            source: Some(settled.source).filter(|source| !source.is_empty()),
            filled,
            attempts: settled.attempts,
        });
        resolution.reasons.extend(settled.reason);
        resolution.warnings.extend(settled.warning);
        resolution.pins.extend(settled.pin);
        resolution.secrets.extend(settled.secrets);
    }
    if !resolution.pins.is_empty() && policy.pins.store.is_none() && policy.pins.file.is_none() {
        let names: Vec<&str> = resolution.pins.iter().map(|pin| pin.name.as_str()).collect();
        let warning = "not pinned, so a later change of the value goes unnoticed";
        let remedy = "add pins: {file: rollgate.pins.yaml} to the policy";
        resolution.warnings.push(format!("late value {}: {warning}; {remedy}", names.join(", ")));
    }
    for error in &found.unreadable {
        let message =
            format!("line {}: a document that may hold placeholders cannot be read: {}", error.line, error.message);
        let mut reason = reason(LATE, Decision::Undecided, message, None);
        reason.about.location = Some(Location { line: error.line, column: 1, ..Location::default() });
        resolution.reasons.push(reason);
    }
    resolution
}

/// A value in a template that is named by a hash of what the chart knew.
fn in_hashed_template(key: Key) -> Finding {
    let message = "its name is a hash of the text with the placeholder, so another value keeps the name, and is refused or \
         reaches new Machines only; let the chart know the value before it renders (rollgate values)";
    Finding::new("late-value-in-hashed-template", key, message)
}

/// What to do where a place takes no value.
const ELSEWHERE: &str = "let the chart take the value before it renders (rollgate values), or write it elsewhere";

/// A placeholder that could not be filled in.
fn left_over(policy: &Policy, left: &Left) -> Reason {
    let value = &policy.late_values[left.value];
    let (place, next) = match &left.why {
        Why::Key => ("the key of a field".to_owned(), format!("write keys: true at {} in the policy", value.name)),
        Why::Pinned => (
            "a field that pins.fields has set back to what was there, which was never filled in".to_owned(),
            "take the field out of pins.fields: the value is filled in then, and the gates say what that does"
                .to_owned(),
        ),
        Why::Skipped(entry) => (
            format!("{entry} of the policy leaves this place out"),
            "take the entry out of the policy, or the placeholder out of the chart".to_owned(),
        ),
        Why::Refused(why) => (why.clone(), ELSEWHERE.to_owned()),
        Why::Unwritable => ("a place that cannot be filled in".to_owned(), ELSEWHERE.to_owned()),
    };
    let message = format!("a placeholder of late value {} is left in {}: {place}", value.name, left.at);
    standing_at(&left.at, reason("placeholder", Decision::Hold, message, Some(next)))
}

/// A text that was not opened.
fn unopened(at: &Where) -> Reason {
    let message = format!(
        "{at}: {} holds packed data that unpacks to more than is looked at, so nobody knows whether a placeholder stands in it",
        at.path
    );
    let next = "pack less into it, or leave the place out (resolve.skip of the policy)".to_owned();
    standing_at(at, reason(LATE, Decision::Undecided, message, Some(next)))
}

/// A reason about a text of the stream.
fn standing_at(at: &Where, mut reason: Reason) -> Reason {
    reason.object.clone_from(&at.key);
    reason.about.path = Some(at.path.clone());
    reason.about.location = Some(Location { line: at.line, column: at.column, ..Location::default() });
    reason
}

impl Resolution<'_> {
    /// Takes over a stream in which pinned fields were set back. What was there may hold a placeholder that was never filled in.
    pub fn take_over(&mut self, kept: Kept, policy: &Policy) {
        self.findings.extend(kept.findings);
        let Some(bytes) = kept.bytes else { return };
        // A value that is not known has its reason already, or is a symbol of a plan.
        let open = |state: LateState| {
            matches!(state, LateState::Missing | LateState::Symbolic | LateState::Unread | LateState::Invalid)
        };
        let with: Vec<Option<String>> =
            self.reports.iter().map(|report| (!open(report.state)).then(String::new)).collect();
        let left = filling::left_by_pins(&StreamText::from(bytes.clone()), &stream::targets(policy, &with), policy);
        let reasons = left.iter().map(|left| left_over(policy, left));
        let fresh = reasons.filter(|reason| {
            let same = |other: &&Reason| other.object == reason.object && other.about.path == reason.about.path;
            !self.reasons.iter().filter(|other| other.gate == reason.gate).any(|other| same(&other))
        });
        let fresh: Vec<Reason> = fresh.collect();
        self.reasons.extend(fresh);
        self.bytes = Cow::Owned(bytes);
    }
}

/// Whether a text holds any placeholder of the policy as a whole token.
#[must_use]
pub(crate) fn is_unresolved(policy: &Policy, text: &str) -> bool {
    let placeholders = policy.late_values.iter().flat_map(|value| &value.placeholders);
    placeholders.into_iter().any(|placeholder| token::occurs(text.as_bytes(), placeholder))
}

#[cfg(test)]
mod tests;
