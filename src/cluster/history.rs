//! The histories of releases: every revision that Helm still has, read by name after a list of labels. What cannot be read is
//! written into the history itself, since nothing but the question who wrote what asks for it.

use futures_util::stream::{StreamExt as _, iter};

use super::call::{CallFault, Caller};
use super::list;
use super::read::refused;
use crate::cluster::plan::Keep;
use crate::host::ReleaseName;
use crate::tree::Value;
use crate::world::history::{self, History, MOST_RELEASES};
use crate::world::release::{self, Entry};

/// So many records of one release are under way at a time: each may have a few megabytes.
const AT_ONCE: usize = 4;

/// A release whose history is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recorded {
    /// Its name and namespace.
    pub name: ReleaseName,
    /// The namespaces in which its record may be, the likeliest first.
    pub places: Vec<String>,
}

/// Where records are: the kinds of objects that Helm's drivers write.
const DRIVERS: [&str; 2] = ["secrets", "configmaps"];

/// Reads the histories of releases, as many as there is room for.
pub(super) async fn read(caller: &Caller, releases: &[Recorded]) -> Vec<History> {
    let mut out = Vec::new();
    for (place, release) in releases.iter().enumerate() {
        if place < MOST_RELEASES {
            out.push(of_release(caller, release).await);
        } else {
            let mut history = history::of(&release.name, Vec::new(), 0);
            history.doubt(
                format!("of {} releases only {MOST_RELEASES} are read", releases.len()),
                "ask about one cluster or owner by its name",
            );
            out.push(history);
            break;
        }
    }
    out
}

/// Reads the history of one release: where the first place or driver has nothing of it, from the next.
async fn of_release(caller: &Caller, release: &Recorded) -> History {
    let mut faults = Vec::new();
    for namespace in &release.places {
        for plural in DRIVERS {
            let path = format!("/api/v1/namespaces/{namespace}/{plural}");
            match entries(caller, &path, &release.name.name).await {
                Ok(entries) if entries.is_empty() => {}
                Ok(entries) => return of_entries(caller, &path, &release.name, entries).await,
                Err(fault) => faults.push((plural, fault)),
            }
        }
    }
    let mut history = history::of(&release.name, Vec::new(), 0);
    match faults.first() {
        Some((plural, fault)) => history.doubt(fault.why(), refused(fault, "", plural, &["get", "list"])),
        None => history.doubt(
            format!("there is no record of it in {}", release.places.join(" or ")),
            "pass --storage-namespace where Flux keeps it, and check HELM_DRIVER",
        ),
    }
    history
}

/// The revisions that there are, by their labels.
async fn entries(caller: &Caller, path: &str, name: &str) -> Result<Vec<Entry>, CallFault> {
    let listed = list::labels(caller, path, &format!("owner=helm,name={name}")).await?;
    Ok(listed.iter().filter_map(|(object, labels)| release::entry(object, labels)).collect())
}

/// Reads the newest of the revisions.
async fn of_entries(caller: &Caller, path: &str, name: &ReleaseName, entries: Vec<Entry>) -> History {
    let (entries, older) = history::newest(entries);
    let one = |entry: Entry| async move {
        let value = list::get(caller, &format!("{path}/{}", entry.object), Keep::default()).await;
        (entry, value)
    };
    let answers: Vec<(Entry, Result<Value, CallFault>)> = iter(entries).map(one).buffered(AT_ONCE).collect().await;
    let (mut records, mut faults) = (Vec::new(), Vec::new());
    for (entry, answer) in answers {
        match answer {
            Ok(record) => records.push((entry.number, record)),
            Err(fault) => faults.push((entry.number, fault)),
        }
    }
    let mut history = history::of_records(name, records);
    history.older += older;
    let plural = path.rsplit('/').next().unwrap_or_default();
    for (number, fault) in faults {
        let why = format!("revision {number}: {}", fault.why());
        history.doubt(why, refused(&fault, "", plural, &["get", "list"]));
    }
    history
}
