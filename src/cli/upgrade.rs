//! `--upgrade NAME=VERSION`: which versions of providers come, and what cannot be asked together with it.

use std::collections::BTreeMap;

use anyhow::{anyhow, bail, ensure};

use super::args::{CommonArgs, PlanArgs};
use super::source::SourceArgs;
use super::{Stop, setup};
use crate::judge::upgrade::Wanted;
use crate::providers::versions::named;

/// What `plan` is asked about; nothing where no version comes.
pub(super) fn of_plan(args: &PlanArgs) -> Result<Wanted, Stop> {
    let wanted = of(&args.source, &args.common)?;
    let others = [
        (args.all, "--all"),
        (!args.flux.is_empty(), "--flux"),
        (args.revisions.render.is_some(), "--render"),
        (args.revisions.base_ref.is_some(), "--base-ref"),
        (args.asked.dry_run_server, "--dry-run-server"),
    ];
    refuse(&wanted, &others)?;
    Ok(wanted)
}

/// The versions that come.
pub(super) fn of(source: &SourceArgs, common: &CommonArgs) -> Result<Wanted, Stop> {
    let wanted = versions(&source.upgrade).map_err(Stop::usage)?;
    let others = [
        (!source.paths.is_empty(), "a stream"),
        (source.chart.is_some(), "--chart"),
        (common.base.is_some(), "--base"),
    ];
    refuse(&wanted, &others)?;
    if !wanted.is_empty() && common.live == "none" {
        return Err(Stop::usage(anyhow!(
            "--upgrade asks the objects that are there, and --live none has none; pass --live cluster or --live PATH"
        )));
    }
    Ok(wanted)
}

/// Nothing is written by an upgrade, so nothing that would be written can be judged with it.
fn refuse(wanted: &Wanted, others: &[(bool, &str)]) -> Result<(), Stop> {
    let Some((_, what)) = others.iter().find(|(is_there, _)| *is_there && !wanted.is_empty()) else { return Ok(()) };
    let versions: Vec<String> = wanted.iter().map(|(name, version)| format!("--provider {name}={version}")).collect();
    Err(Stop::usage(anyhow!(
        "--upgrade judges the objects as they stand, and {what} would write others: leave it out; to judge a write as the new version \
         does, leave --upgrade out and pass {}",
        versions.join(" ")
    )))
}

fn versions(told: &[String]) -> anyhow::Result<Wanted> {
    let mut by_provider: BTreeMap<&str, &str> = BTreeMap::new();
    for text in told {
        let (name, version) = text.split_once('=').unwrap_or((text, ""));
        if let Some(other) = by_provider.insert(named(name), version).filter(|other| *other != version) {
            bail!("--upgrade {text}: {} comes in {other} too; its parts are released together", named(name));
        }
    }
    ensure!(told.iter().all(|text| !text.is_empty()), "--upgrade: write NAME=VERSION");
    let all = setup::providers("--upgrade", told)?;
    Ok(all.into_iter().map(|(name, provider)| (named(&name).to_owned(), provider.version)).collect())
}
