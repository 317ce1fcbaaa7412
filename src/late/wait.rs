//! Waiting for late values that are not there yet: what is missing is asked for again until it is known or its time is up,
//! and a person sees what is waited for and how long still. Reading itself is passed in.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use tokio::time::Instant;

use super::settle::{Evidence, Settled, settle, steps};
use crate::policy::{Policy, duration};
use crate::report::{LateState, escape};
use crate::world::SourceReading;

/// A late value that no source has yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Its name.
    pub name: String,
    /// Which source lacks it, for people.
    pub why: String,
    /// How long it is waited for.
    pub limit: Duration,
}

/// What of the asked-for values no source has yet. Values that are wrong, unreadable or moved are not missing: time will not help.
/// Nor does it bring a variable or an object among files: those are waited for no time at all.
#[must_use]
pub(crate) fn missing(
    policy: &Policy,
    names: &BTreeSet<String>,
    evidence: Evidence<'_>,
    told: Option<Duration>,
) -> Vec<Missing> {
    let asked = policy.late_values.iter().filter(|value| names.contains(&value.name));
    asked
        .filter_map(|value| {
            let own = value.wait.as_deref().and_then(|text| duration(text).ok());
            let limit = told.or(own).filter(|_| steps::may_come(policy, value, evidence.reach));
            match settle(policy, value, evidence) {
                Settled { state: LateState::Missing, reason, .. } => Some(Missing {
                    name: value.name.clone(),
                    why: reason.map(|reason| reason.message).unwrap_or_default(),
                    limit: limit.unwrap_or_default(),
                }),
                _ => None,
            }
        })
        .collect()
}

/// How often is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Time between two reads.
    pub read: Duration,
}

impl Pace {
    /// Where changes are only seen by asking.
    pub(crate) const POLLED: Self = Self { read: Duration::from_secs(3) };
    /// Where each change is told, and asking is for what a watch may have missed.
    pub(crate) const WATCHED: Self = Self { read: Duration::from_secs(30) };
}

/// How it is known when to ask again.
pub(crate) trait Watch {
    /// Ends when something may have changed.
    fn changed(&mut self) -> impl Future<Output = ()>;

    /// How often is asked beside that.
    fn pace(&self) -> Pace;
}

/// Where is said what is waited for.
pub struct Screen<'o> {
    /// The writer: standard error.
    pub out: &'o mut dyn Write,
    /// Whether it is a terminal, on which one line is written over.
    pub terminal: bool,
}

impl Screen<'_> {
    fn say(&mut self, text: &str) {
        let text = escape::line(text);
        // Nobody who listens is no reason to stop waiting.
        let written = match self.terminal {
            true => write!(self.out, "\r\x1b[K{text}"),
            false => writeln!(self.out, "{text}"),
        };
        drop(written.and_then(|()| self.out.flush()));
    }

    fn clear(&mut self) {
        if self.terminal {
            drop(write!(self.out, "\r\x1b[K").and_then(|()| self.out.flush()));
        }
    }
}

/// Reads until nothing is missing or the shortest time of what is missing is up; gives the last readings.
/// `first` is what was read already, `missing` says what of it lacks (see [`missing`]).
pub(crate) async fn until_known(
    first: Vec<SourceReading>,
    missing: impl Fn(&[SourceReading]) -> Vec<Missing>,
    mut read: impl AsyncFnMut() -> Vec<SourceReading>,
    screen: &mut Screen<'_>,
    watch: &mut impl Watch,
) -> Vec<SourceReading> {
    let start = Instant::now();
    let mut readings = first;
    let mut said: Option<Vec<String>> = None;
    loop {
        let lacking = missing(&readings);
        // Once one of them is given up the run cannot go on, so there is no use in waiting for the others.
        let Some(limit) = lacking.iter().map(|one| one.limit).min() else { break };
        let left = limit.saturating_sub(start.elapsed());
        if left.is_zero() {
            break;
        }
        // A log wants to know what changes; a terminal shows the clock.
        let news: Vec<String> = lacking.iter().map(|one| one.why.clone()).collect();
        if screen.terminal || said.as_ref() != Some(&news) {
            screen.say(&line(&lacking, left));
            said = Some(news);
        }
        let step = watch.pace().read.min(left);
        tokio::select! {
            () = countdown(screen, &lacking, left, step) => {}
            () = watch.changed() => {}
        }
        readings = read().await;
    }
    if said.is_some() {
        screen.clear();
    }
    readings
}

/// Sleeps until the next read; on a terminal the line counts down each second.
async fn countdown(screen: &mut Screen<'_>, lacking: &[Missing], left: Duration, step: Duration) {
    let end = Instant::now() + step;
    while screen.terminal && end.saturating_duration_since(Instant::now()) > Duration::from_secs(1) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let passed = step.saturating_sub(end.saturating_duration_since(Instant::now()));
        screen.say(&line(lacking, left.saturating_sub(passed)));
    }
    tokio::time::sleep_until(end).await;
}

/// What is waited for, in one line.
fn line(lacking: &[Missing], left: Duration) -> String {
    let more = match lacking.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let why = lacking.first().map(|one| one.why.as_str()).unwrap_or_default();
    format!("rollgate: waiting, {} left: {why}{more}", clock(left))
}

/// Minutes and seconds, rounded up.
fn clock(left: Duration) -> String {
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    match seconds / 60 {
        0 => format!("{seconds}s"),
        minutes => format!("{minutes}m{:02}s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reach;
    use super::*;
    use crate::tree::json;

    /// Nothing tells of changes.
    #[derive(Debug)]
    struct Polled(Pace);

    impl Watch for Polled {
        async fn changed(&mut self) {
            std::future::pending::<()>().await;
        }

        fn pace(&self) -> Pace {
            self.0
        }
    }

    const QUICK: Pace = Pace { read: Duration::from_millis(5) };

    /// Tells of one change, and then of none.
    struct Once(bool);

    impl Watch for Once {
        async fn changed(&mut self) {
            if std::mem::take(&mut self.0) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            } else {
                std::future::pending::<()>().await;
            }
        }

        fn pace(&self) -> Pace {
            Pace::WATCHED
        }
    }

    #[tokio::test]
    async fn a_change_that_is_told_ends_the_pause() {
        let start = Instant::now();
        let mut out = Vec::new();
        let mut screen = Screen { out: &mut out, terminal: false };
        let read = async || vec![reading(Some("10.0.3.7"))];
        let readings =
            until_known(vec![reading(None)], |readings| lacking(readings, None), read, &mut screen, &mut Once(true))
                .await;
        assert_eq!(readings[0].found.as_deref(), Some("10.0.3.7"));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }

    fn policy() -> Policy {
        let policy = json!({"apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy", "lateValues": [
            {"name": "vip", "from": [{"file": "vip.txt"}], "wait": "1m"}, {"name": "other", "from": [{"env": "O"}]}]});
        crate::policy::parse("p", policy.to_string().as_bytes()).expect("a policy")
    }

    fn reading(found: Option<&str>) -> SourceReading {
        SourceReading {
            value: "vip".to_owned(),
            place: 0,
            found: found.map(str::to_owned),
            source: "file vip.txt".to_owned(),
            uid: None,
            resource_version: None,
            unread: None,
            gap: None,
            clone_of: None,
            fits: false,
            secret: false,
        }
    }

    fn lacking(readings: &[SourceReading], told: Option<Duration>) -> Vec<Missing> {
        let now = "2026-11-21T12:00:00Z".parse().expect("a time");
        let policy = policy();
        let placeholders = crate::late::Placeholders::of(&policy);
        let evidence = Evidence {
            readings,
            pins: &[],
            namespace: None,
            now,
            reach: Reach::Cluster,
            placeholders: &placeholders,
            hidden: &super::super::NOTHING_HIDDEN,
        };
        missing(&policy, &BTreeSet::from(["vip".to_owned()]), evidence, told)
    }

    /// Waits while reads give nothing `times` times, then a value.
    async fn run(times: usize, told: Option<Duration>, terminal: bool) -> (Option<String>, usize, String) {
        let (mut out, mut reads) = (Vec::new(), 0);
        let readings = {
            let mut screen = Screen { out: &mut out, terminal };
            let read = async || {
                reads += 1;
                vec![reading((reads > times).then_some("10.0.3.7"))]
            };
            until_known(vec![reading(None)], |readings| lacking(readings, told), read, &mut screen, &mut Polled(QUICK))
                .await
        };
        (readings[0].found.clone(), reads, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn only_what_time_can_bring_is_missing() {
        let [one] = lacking(&[reading(None)], None).try_into().expect("one value");
        assert_eq!((one.name.as_str(), one.limit), ("vip", Duration::from_secs(60)));
        assert!(one.why.contains("file vip.txt is not there"), "{}", one.why);
        assert_eq!(lacking(&[reading(None)], Some(Duration::ZERO))[0].limit, Duration::ZERO);
        assert_eq!(lacking(&[reading(Some("10.0.3.7"))], None), []);
        let forbidden = SourceReading { unread: Some("403".to_owned()), ..reading(None) };
        assert_eq!(lacking(&[forbidden], None), []);
    }

    #[test]
    fn what_time_cannot_bring_is_waited_for_no_time() {
        let object = json!({"object": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "path": "$.data.ip"}});
        for (from, manual, reach, waits) in [
            (json!({"env": "VIP"}), false, Reach::Cluster, false),
            (json!({"file": "vip.txt"}), false, Reach::Files, true),
            (object.clone(), false, Reach::Cluster, true),
            (object.clone(), false, Reach::Files, false),
            (object.clone(), false, Reach::Snapshot, false),
            (object, true, Reach::Cluster, false),
            (json!({"template": "{{ late('origin') }}:1"}), false, Reach::Cluster, false),
        ] {
            let vip =
                json!({"name": "vip", "from": [from], "wait": "1m", "pin": if manual { "manual" } else { "once" }});
            let policy = json!({"apiVersion": "rollgate.dev/v1alpha1", "kind": "Policy", "lateValues": [vip,
                {"name": "origin", "from": [{"env": "O"}]}]});
            let policy = crate::policy::parse("p", policy.to_string().as_bytes()).expect("a policy");
            assert_eq!(steps::may_come(&policy, &policy.late_values[0], reach), waits, "{from} {reach:?}");
        }
    }

    #[tokio::test]
    async fn waiting_ends_when_the_value_is_there() {
        let (found, reads, said) = run(3, None, false).await;
        assert_eq!((found.as_deref(), reads), (Some("10.0.3.7"), 4));
        assert_eq!(said, "rollgate: waiting, 1m00s left: late value vip has no value yet: file vip.txt is not there\n");
    }

    #[tokio::test]
    async fn waiting_ends_when_the_time_is_up() {
        let start = Instant::now();
        let (found, reads, _) = run(usize::MAX, Some(Duration::from_millis(40)), false).await;
        assert_eq!(found, None);
        assert!(reads >= 2 && start.elapsed() < Duration::from_secs(5), "{reads} reads");
    }

    #[tokio::test]
    async fn without_a_time_nothing_is_waited_for() {
        let (found, reads, said) = run(0, Some(Duration::ZERO), false).await;
        assert_eq!((found, reads, said.as_str()), (None, 0, ""));
    }

    #[tokio::test]
    async fn on_a_terminal_one_line_is_written_over_and_wiped() {
        let (_, _, said) = run(2, None, true).await;
        assert_eq!(said.matches('\n').count(), 0);
        assert!(said.starts_with("\r\x1b[Krollgate: waiting, 1m00s left") && said.ends_with("\r\x1b[K"), "{said:?}");
    }

    #[test]
    fn a_clock_reads_like_one() {
        for (millis, text) in [(500, "1s"), (59_000, "59s"), (60_000, "1m00s"), (605_000, "10m05s")] {
            assert_eq!(clock(Duration::from_millis(millis)), text);
        }
    }
}
