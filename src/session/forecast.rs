//! Forecasts: kept where the policy says so, and read again for who asks how good they were. That one cannot be kept is said, and changes
//! no decision.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use serde::Serialize as _;

use super::{Ready, Setup, Stop, runtime};
use crate::cluster::Cluster;
use crate::host::say;
use crate::policy::{HistoryPlace, StoreKind};
use crate::report::Report;
use crate::score::{File, Forecast, Forecasts, Front, Object};
use crate::world::snapshot::Snapshot;

/// Longest time for keeping one: an install waits for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// So many Worlds are kept, the newest ones.
const WORLDS: usize = 50;

/// Keeps what a report foretells, where the policy says so.
///
/// # Errors
/// Why it is not kept.
pub(crate) fn keep(setup: &Setup, ready: &Ready, report: &Report, by: Front) -> Result<(), String> {
    let told = &setup.policy.forecasts;
    let Some(place) = told.keep.as_ref().filter(|_| by != Front::Plan || told.plan) else { return Ok(()) };
    let Some(mut forecast) = Forecast::of(report, &ready.world, by) else { return Ok(()) };
    if let Some(folder) = &told.worlds {
        forecast.world =
            Some(keep_world(setup, ready, &forecast, folder).map_err(|why| format!("its World: {why:#}"))?);
    }
    match place {
        HistoryPlace::File(file) => {
            let file = File::new(setup.policy_folder.join(&file.file));
            let kept = file.update(|forecasts| {
                forecasts.keep(forecast);
                Ok(())
            });
            kept.map_err(|why| why.to_string())
        }
        HistoryPlace::Object(_) => {
            let cluster = ready.cluster.as_ref().ok_or("there is no cluster to write it to")?;
            let object =
                object(place, cluster, ready.world.host.namespace.as_deref()).ok_or("the place has no name")?;
            let change = object.update(|forecasts| {
                forecasts.keep(forecast.clone());
                Ok(())
            });
            let runtime = runtime().map_err(|stop| format!("{:#}", stop.error))?;
            match runtime.block_on(async { tokio::time::timeout(PATIENCE.min(setup.deadline), change).await }) {
                Ok(done) => done.map_err(|why| why.to_string()),
                Err(_) => Err("the cluster did not answer in time".to_owned()),
            }
        }
    }
}

/// The forecasts that are kept, and where.
///
/// # Errors
/// When the policy names no place, or it cannot be read.
pub(crate) fn kept(setup: &Setup, told: Option<&Path>, cluster: Option<&Cluster>) -> Result<(String, Forecasts), Stop> {
    let of_file = |file: File| {
        let kept = file.read().map_err(|error| Stop::undecided(anyhow!("{error}")))?;
        Ok((file.file().display().to_string(), kept))
    };
    if let Some(path) = told {
        return of_file(File::new(path));
    }
    let Some(place) = &setup.policy.forecasts.keep else {
        return Err(Stop::usage(anyhow!(
            "no forecast is kept: say forecasts: {{keep: configmap/NAME}} in the policy, or pass --forecasts FILE"
        )));
    };
    match place {
        HistoryPlace::File(file) => of_file(File::new(setup.policy_folder.join(&file.file))),
        HistoryPlace::Object(text) => {
            let none = || {
                Stop::usage(anyhow!("{text} is read from a cluster alone; pass --forecasts FILE beside --live PATH"))
            };
            let cluster = cluster.ok_or_else(none)?;
            let object = object(place, cluster, setup.told.namespace.as_deref()).ok_or_else(none)?;
            let read = runtime()?.block_on(async { tokio::time::timeout(setup.deadline, object.read()).await });
            match read {
                Ok(Ok(kept)) => Ok((text.clone(), kept)),
                Ok(Err(error)) => Err(Stop::undecided(anyhow!("{error}"))),
                Err(_) => Err(Stop::undecided(anyhow!("{text}: the cluster did not answer in time"))),
            }
        }
    }
}

/// The ConfigMap of a place.
fn object(place: &HistoryPlace, cluster: &Cluster, home: Option<&str>) -> Option<Object> {
    let (told, name) = place.config_map()?;
    let namespace = told.or(home).unwrap_or_else(|| cluster.namespace());
    Some(Object::new(cluster.client().clone(), StoreKind::ConfigMap, namespace, name))
}

/// Writes the World of a forecast, everything secret in it hidden, and gives its path.
fn keep_world(setup: &Setup, ready: &Ready, forecast: &Forecast, folder: &str) -> anyhow::Result<String> {
    let folder = setup.policy_folder.join(folder);
    say::make_private_folder(&folder)?;
    let time = forecast.time.to_string().replace(':', "");
    let path = folder.join(format!("{time}-{}.json", forecast.id));
    let saved = Snapshot::of(ready.world.clone(), &setup.key, &setup.policy.redact);
    say::write_private(&path, |out| {
        saved.serialize(&mut serde_json::Serializer::new(&mut *out))?;
        out.write_all(b"\n")
    })?;
    let mut all: Vec<_> = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    // The time stands first in a name.
    all.retain(|path| path.extension().is_some_and(|end| end == "json"));
    all.sort();
    for old in all.iter().take(all.len().saturating_sub(WORLDS)) {
        fs::remove_file(old)?;
    }
    Ok(path.display().to_string())
}
