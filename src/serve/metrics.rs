//! What the server counts, as Prometheus reads it.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::said::Why;

/// Upper bounds of the durations of answers, in microseconds.
const BOUNDS: [u64; 12] =
    [250, 500, 1_000, 2_000, 5_000, 10_000, 25_000, 50_000, 100_000, 500_000, 2_000_000, 10_000_000];
/// What can be decided, in the order of the counters.
const DECISIONS: [Why; 5] = [Why::Skipped, Why::Allowed, Why::Undecided, Why::NotReady, Why::Held];

/// What the server counts.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Reviews by what was decided, refused or not.
    decided: [[AtomicU64; 2]; 5],
    /// Answers by how long they took.
    took: [AtomicU64; 13],
    /// How long all of them took together, in microseconds.
    sum: AtomicU64,
    /// Questions that were none.
    pub(super) malformed: AtomicU64,
    /// Connections that were not taken, because there were too many.
    pub(super) turned_away: AtomicU64,
    /// Connections that are open.
    pub(super) connections: AtomicI64,
    /// Reviews under way.
    pub(super) in_flight: AtomicI64,
    /// Certificates that were taken into use since the start.
    pub(super) certificates: AtomicU64,
    /// Lines of the log that nobody took in time.
    pub(super) unlogged: AtomicU64,
}

impl Metrics {
    /// Counts an answer.
    pub(super) fn count(&self, why: Why, refused: bool, took: Duration) {
        let place = DECISIONS.iter().position(|one| *one == why).unwrap_or_default();
        self.decided[place][usize::from(refused)].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        self.took[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(micros, Ordering::Relaxed);
    }

    /// Everything as text.
    #[must_use]
    pub(super) fn print(&self, objects: usize, ready: bool) -> String {
        let mut out = String::new();
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        head(&mut out, "rollgate_reviews_total", "counter", "Reviews that were answered.");
        for (why, counters) in DECISIONS.iter().zip(&self.decided) {
            for (refused, counter) in ["false", "true"].iter().zip(counters) {
                let labels = format!("decision=\"{}\",refused=\"{refused}\"", why.word());
                line(&mut out, "rollgate_reviews_total", &labels, get(counter));
            }
        }
        head(&mut out, "rollgate_review_duration_seconds", "histogram", "How long an answer took.");
        let mut below = 0;
        for (bound, counter) in BOUNDS.iter().zip(&self.took) {
            below += get(counter);
            let labels = format!("le=\"{}\"", Duration::from_micros(*bound).as_secs_f64());
            line(&mut out, "rollgate_review_duration_seconds_bucket", &labels, below);
        }
        below += get(&self.took[BOUNDS.len()]);
        line(&mut out, "rollgate_review_duration_seconds_bucket", "le=\"+Inf\"", below);
        line(&mut out, "rollgate_review_duration_seconds_sum", "", Duration::from_micros(get(&self.sum)).as_secs_f64());
        line(&mut out, "rollgate_review_duration_seconds_count", "", below);
        let counters = [
            ("rollgate_malformed_reviews_total", "Bodies that are no review.", &self.malformed),
            ("rollgate_connections_turned_away_total", "Connections above the limit.", &self.turned_away),
            ("rollgate_certificates_total", "Certificates taken into use since the start.", &self.certificates),
            ("rollgate_log_lines_dropped_total", "Log lines that nobody took in time.", &self.unlogged),
        ];
        for (name, help, counter) in counters {
            head(&mut out, name, "counter", help);
            line(&mut out, name, "", get(counter));
        }
        let gauges = [
            ("rollgate_connections", "Open connections.", self.connections.load(Ordering::Relaxed)),
            ("rollgate_reviews_in_flight", "Reviews under way.", self.in_flight.load(Ordering::Relaxed)),
            (
                "rollgate_cache_objects",
                "Objects of the cluster that are known.",
                i64::try_from(objects).unwrap_or(i64::MAX),
            ),
            ("rollgate_ready", "Whether the cluster is read.", i64::from(ready)),
        ];
        for (name, help, value) in gauges {
            head(&mut out, name, "gauge", help);
            line(&mut out, name, "", value);
        }
        out
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    out.extend(["# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n"]);
}

fn line(out: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    out.extend([name, &labels, " ", &value.to_string(), "\n"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_what_is_printed() {
        let metrics = Metrics::default();
        metrics.count(Why::Held, true, Duration::from_micros(700));
        metrics.count(Why::Held, false, Duration::from_secs(60));
        let text = metrics.print(7, true);
        for line in [
            "rollgate_reviews_total{decision=\"hold\",refused=\"true\"} 1",
            "rollgate_reviews_total{decision=\"hold\",refused=\"false\"} 1",
            "rollgate_review_duration_seconds_bucket{le=\"0.001\"} 1",
            "rollgate_review_duration_seconds_bucket{le=\"10\"} 1",
            "rollgate_review_duration_seconds_bucket{le=\"+Inf\"} 2",
            "rollgate_review_duration_seconds_count 2",
            "rollgate_cache_objects 7",
            "rollgate_ready 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
        }
    }
}
