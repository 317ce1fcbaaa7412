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
/// How long a line waits for others that are written with it: to wake a thread for each costs more than to write it.
const PAUSE: Duration = Duration::from_millis(5);

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
            let mut text = String::new();
            while let Ok(first) = waiting.recv() {
                // A line wakes this thread, and each that comes while it waits wakes nobody.
                std::thread::sleep(PAUSE);
                let mut told = Vec::new();
                for line in std::iter::once(first).chain(waiting.try_iter().take(WAITING)) {
                    match line {
                        Line::Text(line) => text.push_str(&line),
                        Line::Written(tell) => told.push(tell),
                    }
                }
                // A closed standard error leaves nothing to say it with.
                drop(std::io::stderr().lock().write_all(text.as_bytes()));
                text.clear();
                drop(told);
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
