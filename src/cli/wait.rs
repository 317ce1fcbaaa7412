//! Waits for late values before the judgement: only their sources are read again, and once they are there the whole
//! World is, because the cluster went on meanwhile.

use super::run::{Look, Seen};
use super::{Outside, Stop};
use crate::late::wait::{Missing, Pace, Screen, missing, until_known};
use crate::late::{self, Evidence};
use crate::world::SourceReading;

/// Gives back what was seen, or what is seen after the wait.
pub(super) fn for_late_values(look: &Look<'_>, seen: Seen, outside: &mut Outside<'_>) -> Result<Seen, Stop> {
    let names = late::needed(&look.stream, &look.setup.policy);
    let lacking = |readings: &[SourceReading]| -> Vec<Missing> {
        let world = &seen.world;
        let evidence = Evidence {
            readings,
            pins: &world.pins,
            namespace: world.host.namespace.as_deref(),
            now: world.now,
            offline: seen.question.offline,
        };
        missing(&look.setup.policy, &names, evidence, look.setup.wait)
    };
    let waits = lacking(&seen.world.readings);
    if waits.is_empty() || waits.iter().any(|one| one.limit.is_zero()) {
        return Ok(seen);
    }
    let first = seen.world.readings.clone();
    let terminal = outside.err_is_terminal;
    let mut screen = Screen { out: outside.err, terminal };
    let again = async || look.late_readings(&names, &seen).await;
    let readings = look.setup.runtime()?.block_on(until_known(first, lacking, again, &mut screen, Pace::default()));
    if lacking(&readings).is_empty() { look.read(outside) } else { Ok(seen) }
}
