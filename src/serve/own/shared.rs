//! What the replicas share, and what is to be done with it next. A new authority is told to the API server first, and only when it has
//! been told for a while does its certificate come into use: at no time is one shown that nobody can check.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A certificate, its key, and the authority that signed it, in PEM.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    pub(super) authority: String,
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) made: Timestamp,
    pub(super) ends: Timestamp,
    pub(super) names: Vec<String>,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").field("made", &self.made).field("ends", &self.ends).finish_non_exhaustive()
    }
}

/// What comes into use next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Next {
    pub(super) pair: Pair,
    /// Since when the API server has been told its authority.
    #[serde(default)]
    pub(super) told: Option<Timestamp>,
}

/// An authority whose certificate a replica may still show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Previous {
    pub(super) authority: String,
    pub(super) until: Timestamp,
}

/// What the Secret holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Shared {
    #[serde(default)]
    pub(super) current: Option<Pair>,
    #[serde(default)]
    pub(super) next: Option<Next>,
    #[serde(default)]
    pub(super) previous: Option<Previous>,
}

/// How long things last.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// The names that the certificate is for.
    pub(super) names: Vec<String>,
    /// How long a certificate is valid; another one takes its place after two thirds of that.
    pub(super) life: Duration,
}

impl Terms {
    /// How long the API server, each of them where there are several, and the other replicas may take to hear of something.
    pub(super) fn settled(&self) -> Duration {
        (self.life / 20).clamp(Duration::from_secs(1), Duration::from_secs(60))
    }
}

impl Shared {
    /// What the API server has to be told: every authority of which a certificate is or may be shown.
    pub(super) fn bundle(&self) -> String {
        let current = self.current.iter().map(|pair| pair.authority.as_str());
        let next = self.next.iter().map(|next| next.pair.authority.as_str());
        let previous = self.previous.iter().map(|previous| previous.authority.as_str());
        current.chain(next).chain(previous).collect()
    }

    /// What is to be written in its place; nothing where it stays. `is_told`: the API server has been told the bundle of this.
    ///
    /// # Errors
    /// When `issue` makes nothing.
    pub(super) fn step(
        &self,
        terms: &Terms,
        now: Timestamp,
        is_told: bool,
        issue: impl FnOnce() -> anyhow::Result<Pair>,
    ) -> anyhow::Result<Option<Self>> {
        let Some(current) = &self.current else {
            return Ok(Some(Self { current: Some(issue()?), ..Self::default() }));
        };
        let mut after = self.clone();
        if self.previous.as_ref().is_some_and(|previous| previous.until <= now) {
            after.previous = None;
        }
        match &self.next {
            None if is_due(current, terms, now) => after.next = Some(Next { pair: issue()?, told: None }),
            None => {}
            // What it was made for has changed meanwhile.
            Some(next) if next.pair.names != terms.names || next.pair.ends <= now => {
                after.next = Some(Next { pair: issue()?, told: None });
            }
            Some(Next { pair, told: None }) if is_told => {
                after.next = Some(Next { pair: pair.clone(), told: Some(now) });
            }
            Some(Next { told: None, .. }) => {}
            Some(Next { pair, told: Some(told) }) => {
                // A clock that was set back must not keep it waiting for ever.
                let has_settled = now < *told || now.duration_since(*told).unsigned_abs() >= terms.settled();
                // Told once is not told still: somebody may have written the configuration anew.
                if has_settled && is_told {
                    let until = now.checked_add(terms.settled() * 2).unwrap_or(Timestamp::MAX);
                    after.previous = Some(Previous { authority: current.authority.clone(), until });
                    after.current = Some(pair.clone());
                    after.next = None;
                }
            }
        }
        Ok((after != *self).then_some(after))
    }
}

/// Whether another certificate has to come.
fn is_due(current: &Pair, terms: &Terms, now: Timestamp) -> bool {
    let life = current.ends.duration_since(current.made).unsigned_abs();
    let half_past = current.made.checked_add(life / 3 * 2).unwrap_or(current.ends);
    now >= half_past || current.names != terms.names
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(90 * 24 * 3_600);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).expect("a time")
    }

    fn terms() -> Terms {
        Terms { names: vec!["rollgate.a.svc".to_owned()], life: LIFE }
    }

    fn pair(name: &str, made: i64) -> Pair {
        let text = |what: &str| format!("{what} {name}\n");
        let ends = at(made + LIFE.as_secs() as i64);
        Pair {
            authority: text("authority"),
            certificate: text("c"),
            key: text("k"),
            made: at(made),
            ends,
            names: terms().names,
        }
    }

    fn next(shared: &Shared, now: i64, is_told: bool) -> Shared {
        let name = format!("of {now}");
        shared
            .step(&terms(), at(now), is_told, || Ok(pair(&name, now)))
            .expect("a step")
            .unwrap_or_else(|| shared.clone())
    }

    #[test]
    fn the_first_one_is_in_use_at_once_and_stays() {
        let first = next(&Shared::default(), 0, false);
        assert_eq!(first.current, Some(pair("of 0", 0)));
        assert_eq!(next(&first, 59 * 24 * 3_600, true), first);
    }

    #[test]
    fn another_one_is_told_before_it_is_shown_and_the_old_one_is_known_for_a_while() {
        let first = next(&Shared::default(), 0, false);
        let due = 60 * 24 * 3_600;
        let made = next(&first, due, true);
        assert_eq!((&made.current, made.bundle()), (&first.current, format!("authority of 0\nauthority of {due}\n")));
        // As long as the API server has not been told, nothing goes on.
        assert_eq!(next(&made, due + 3_600, false), made);
        let told = next(&made, due + 3_600, true);
        assert_eq!(next(&told, due + 3_659, true), told);
        // Told no longer, since somebody wrote the configuration anew.
        assert_eq!(next(&told, due + 3_660, false), told);
        let shown = next(&told, due + 3_660, true);
        assert_eq!((shown.current.clone(), shown.next.clone()), (Some(pair(&format!("of {due}"), due)), None));
        assert_eq!(shown.bundle(), format!("authority of {due}\nauthority of 0\n"));
        assert_eq!(next(&shown, due + 3_780, true).bundle(), format!("authority of {due}\n"));
    }

    #[test]
    fn other_names_and_a_clock_that_is_set_back_are_no_end() {
        let first = next(&Shared::default(), 0, false);
        let other = Terms { names: vec!["other".to_owned()], ..terms() };
        let made = first.step(&other, at(10), true, || Ok(Pair { names: other.names.clone(), ..pair("other", 10) }));
        let made = made.expect("a step").expect("other names");
        assert!(made.next.is_some() && made.current == first.current);
        // Back to the old names: what was made for the others never comes into use.
        assert_eq!(next(&made, 20, true).next, Some(Next { pair: pair("of 20", 20), told: None }));
        let told = Shared { next: Some(Next { pair: pair("b", 0), told: Some(at(5_000)) }), ..first.clone() };
        assert_eq!(next(&told, 100, true).current, Some(pair("b", 0)));
        // Ended for good, as nobody ran for months: the next one is told first all the same.
        let ended = next(&first, 200 * 24 * 3_600, true);
        assert!(ended.current == first.current && ended.next.is_some());
    }

    #[test]
    fn the_key_is_in_no_text_of_it() {
        let shared = Shared { current: Some(Pair { key: "s3cret".to_owned(), ..pair("a", 0) }), ..Shared::default() };
        assert!(!format!("{shared:?}").contains("s3cret"));
        let text = serde_json::to_string(&shared).expect("JSON");
        assert_eq!(serde_json::from_str::<Shared>(&text).expect("what was written"), shared);
    }
}
