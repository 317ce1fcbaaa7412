//! Asks the servers of images whether what new Machines boot from is still there: the heads alone, nothing is loaded.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};

use super::answers::Ready;
use super::{Setup, Stop, runtime};
use crate::late::{self, Address};
use crate::policy;
use crate::world::images::Image;
use crate::world::workload::Heard;

/// Longest time for an answer where the policy says nothing.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most addresses that are asked at one time.
const MOST: usize = 64;

/// Asks for each address, and puts the answers into the World.
pub(super) fn ask(setup: &Setup, addresses: &[String], ready: &mut Ready) -> Result<(), Stop> {
    let images = &setup.policy.images;
    let told = images.timeout.as_deref().map(policy::duration).transpose().map_err(Stop::usage)?;
    let limit = told.unwrap_or(PATIENCE).min(setup.deadline);
    let may = late::allowed(&setup.env, "http");
    let one = async |url: &String| {
        let address = Address { url, ca: images.ca.as_deref(), folder: &setup.policy_folder, limit };
        let served = match &may {
            Ok(()) => address.is_there().await,
            Err(why) => Err(why.clone()),
        };
        let served = served.map_or_else(|why| Heard::Unread { why, remedy: String::new() }, Heard::Read);
        Image { url: url.clone(), served }
    };
    let asked: BTreeSet<&String> = addresses.iter().collect();
    let answers = stream::iter(asked.iter().copied().map(one)).buffered(MOST).collect();
    ready.world.images = runtime()?.block_on(answers);
    let shown = |url: &&String| url.split(['?', '#']).next().unwrap_or_default().to_owned();
    ready.reads.extend(asked.iter().map(shown).map(|url| format!("ask whether {url} is there: gate health.images")));
    Ok(())
}
