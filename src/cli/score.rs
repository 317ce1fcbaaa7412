//! `rollgate score`: earlier forecasts against what happened.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize as _;

use super::args::{Colour, CommonArgs};
use super::{Outside, Stop, setup};
use crate::exit::Exit;
use crate::host::Host;
use crate::policy::duration;
use crate::report::escape::{self, Visible};
use crate::report::score as answer;
use crate::score::{self, ScoreScope};
use crate::session::{Untold, forecasts, histories, owners};
use crate::world::{files, history};

/// Options of `score`.
#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// Forecasts since then: a length of time, or a time in RFC 3339.
    #[arg(long, value_name = "DURATION|RFC3339", default_value = "720h")]
    pub since: String,
    /// How long a write has until its effect counts as over.
    #[arg(long, value_name = "DURATION", default_value = "15m")]
    pub settle: String,
    /// A file with forecasts, instead of the place that the policy names.
    #[arg(long, value_name = "FILE")]
    pub forecasts: Option<PathBuf>,
    /// Options that every judging command has; `-o` is human or json.
    #[command(flatten)]
    pub common: CommonArgs,
}

pub(super) fn run(args: &ScoreArgs, colour: Colour, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let is_json = match args.common.output.as_slice() {
        [] => false,
        [format] if format == "human" => false,
        [format] if format == "json" => true,
        _ => return Err(Stop::usage(anyhow!("score writes to standard output: give -o human or -o json, once"))),
    };
    let setup = args.common.setup(Untold::look())?;
    let settle = length(&args.settle)?;
    let (world, place, kept) = match args.common.live.as_str() {
        "none" => {
            return Err(Stop::usage(anyhow!("there is nothing to compare with; pass --live cluster or --live PATH")));
        }
        "cluster" => {
            let outcome = owners(&setup, outside)?;
            let mut world = outcome.world;
            if let Some(cluster) = &outcome.cluster {
                histories(&mut world, cluster, None, &setup)?;
            }
            let (place, kept) = forecasts(&setup, args.forecasts.as_deref(), outcome.cluster.as_ref())?;
            (world, place, kept)
        }
        path => {
            let mut world = files::load(Path::new(path), &Host::default(), setup.now).map_err(Stop::usage)?;
            if world.histories.is_empty() {
                world.histories = history::among(&world.live);
            }
            let (place, kept) = forecasts(&setup, args.forecasts.as_deref(), None)?;
            (world, place, kept)
        }
    };
    let since = match args.since.parse::<Timestamp>() {
        Ok(time) => time,
        Err(_) => world.taken.checked_sub(length(&args.since)?).map_err(Stop::usage)?,
    };
    let mut report = score::score(kept.entries(), &world, &ScoreScope { since, settle }, &place);
    report.each_text(|text| *text = escape::line(text).into_owned());
    if is_json {
        let mut json = serde_json::Serializer::with_formatter(&mut *outside.out, Visible);
        report.serialize(&mut json).context("cannot write to standard output").map_err(Stop::internal)?;
        outside.out.write_all(b"\n").context("cannot write to standard output").map_err(Stop::internal)?;
    } else {
        let page = setup::page(colour, outside.out_is_terminal, false, outside);
        answer::write(&report, page, outside.out).context("cannot write to standard output").map_err(Stop::internal)?;
    }
    Ok(if report.is_whole { Exit::Allow } else { Exit::Undecided })
}

fn length(text: &str) -> Result<SignedDuration, Stop> {
    let length = duration(text).map_err(Stop::usage)?;
    SignedDuration::try_from(length).map_err(Stop::usage)
}
