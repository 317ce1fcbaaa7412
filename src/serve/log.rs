//! The log: one JSON object a line. It never holds a value of an object, and whoever reads it slowly holds up no answer.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use jiff::Timestamp;

use super::metrics::Metrics;
use crate::tree::{Value, json};

/// Lines that may wait for whoever reads them.
const WAITING: usize = 8_192;

/// What waits to be written.
#[derive(Debug)]
enum Line {
    Text(String),
    /// Dropped when everything before it is written.
    Written(SyncSender<()>),
}

/// Where lines go.
#[derive(Debug, Clone)]
pub(super) struct Log {
    lines: SyncSender<Line>,
    metrics: Arc<Metrics>,
}

impl Log {
    /// A log on standard error.
    #[must_use]
    pub(super) fn stderr(metrics: Arc<Metrics>) -> Self {
        let (lines, waiting): (SyncSender<Line>, Receiver<Line>) = sync_channel(WAITING);
        std::thread::spawn(move || {
            for line in waiting {
                match line {
                    // A closed standard error leaves nothing to say it with.
                    Line::Text(text) => drop(std::io::stderr().lock().write_all(text.as_bytes())),
                    Line::Written(tell) => drop(tell),
                }
            }
        });
        Self { lines, metrics }
    }

    /// Waits until everything is written, but not for ever.
    pub(super) fn flush(&self) {
        let (tell, told) = sync_channel::<()>(0);
        if self.lines.try_send(Line::Written(tell)).is_ok() {
            // It is dropped when its turn comes, and that is all that is waited for.
            told.recv_timeout(Duration::from_secs(1)).ok();
        }
    }

    /// Writes a line; `fields` is a map.
    pub(super) fn line(&self, level: &str, message: &str, fields: Value) {
        let mut line = json!({"time": Timestamp::now().to_string(), "level": level, "msg": message});
        if let Value::Object(fields) = fields {
            fields.into_iter().for_each(|(name, value)| line[name.as_str()] = value);
        }
        if self.lines.try_send(Line::Text(format!("{line}\n"))).is_err() {
            self.metrics.unlogged.fetch_add(1, Ordering::Relaxed);
        }
    }
}
