//! Keeps hold of what a cluster has: each kind is listed once and then watched, from the state that the list shows. A watch that ends is
//! taken up again where it ended, one that expired begins with a list, and whoever is told hears when nothing can be heard.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use tokio::time::Instant;

use super::call::{CallFault, Caller};
use super::discover::{Catalogue, Resource};
use super::plan::{GroupKind, Keep, ReadPlan};
use super::read::refused;
use super::{Cluster, WorldRead, installed, list};
use crate::object::{Inventory, Key, Object};
use crate::providers::PROVIDERS;
use crate::tree::Value;
use crate::world::{LiveKind, LiveSource, Provider, Unread, World};

/// How long the API server keeps one watch open. A connection that died without a word is noticed by then.
const OPEN: Duration = Duration::from_secs(20);
/// What it may take longer to say that it ends.
const GRACE: Duration = Duration::from_secs(10);
/// How long one list may take.
const LIST: Duration = Duration::from_secs(60);
/// How long a watch must live, or else tell something, before it is believed: one may be opened and broken at once, for ever.
const SETTLED: Duration = Duration::from_secs(3);
/// First pause after a fault; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Most bytes of one event: an object has no more than a few MiB.
const LARGEST_EVENT: usize = 32 * 1024 * 1024;

/// A kind that is kept hold of, as the API server serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Group and kind.
    pub kind: GroupKind,
    /// Whether its objects have a namespace.
    pub namespaced: bool,
    /// The name of its objects, where only those of one name are wanted, in whatever namespace.
    pub name: Option<String>,
    resource: Resource,
}

/// What is heard of one kind.
#[derive(Debug)]
pub enum News {
    /// Everything that there is of it.
    All(Vec<Object>),
    /// An object is there, as it is now.
    Is(Box<Object>),
    /// An object is not there any more.
    Gone(Key),
    /// Whatever changes is heard of from now on.
    Current,
    /// Nothing can be heard, and why.
    Lost(Unread),
}

/// Whether something is unread because the API server has nothing at its path: its definition is gone, or serves another version.
#[must_use]
#[cfg(feature = "serve")]
pub(crate) fn is_unserved(unread: &Unread) -> bool {
    unread.why.starts_with(super::call::NOT_FOUND)
}

/// What is installed in a cluster.
#[derive(Debug, Clone, Default)]
pub struct Installed {
    /// Provider name to its version.
    pub providers: BTreeMap<String, Provider>,
    /// Feature gates of the controllers.
    pub feature_gates: BTreeMap<String, bool>,
    /// What could not be read of it.
    pub unread: Vec<Unread>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

impl Watched {
    /// A kind in a version of its group, with its name in paths.
    #[must_use]
    pub fn of(kind: GroupKind, version: &str, plural: &str, namespaced: bool) -> Self {
        let (version, plural) = (version.to_owned(), plural.to_owned());
        let resource = Resource { group: kind.group.clone(), version, plural, namespaced, closed: false };
        Self { kind, namespaced, name: None, resource }
    }

    /// The ConfigMaps of a name, in whatever namespace.
    #[must_use]
    pub fn config_maps(name: &str) -> Self {
        let resource = Resource {
            group: String::new(),
            version: "v1".to_owned(),
            plural: "configmaps".to_owned(),
            namespaced: true,
            closed: false,
        };
        let kind = GroupKind::new("", crate::contract::CONFIG_MAP);
        Self { kind, namespaced: true, name: Some(name.to_owned()), resource }
    }

    /// What its objects are called in paths, such as `machines`.
    #[must_use]
    pub fn plural(&self) -> &str {
        &self.resource.plural
    }

    fn path(&self) -> String {
        let path = self.resource.path(None);
        let name = self.name.as_deref().map(list::escaped);
        name.map_or_else(|| path.clone(), |name| format!("{path}?fieldSelector=metadata.name%3D{name}"))
    }
}

impl Cluster {
    /// Every kind of Cluster API and its providers that the API server has and that can be watched, and those that it is proven not to have.
    ///
    /// # Errors
    /// When the groups or the kinds of one of them cannot be read: then what is not named may be there all the same.
    pub async fn kinds(&self, deadline: Duration) -> Result<(Vec<Watched>, BTreeSet<GroupKind>), Unread> {
        let caller = Caller::new(self.way.client.clone(), Instant::now() + deadline);
        let found = Catalogue::compared(&caller).await.map_err(|fault| Unread {
            what: "the kinds of the cluster".to_owned(),
            why: fault.why(),
            remedy: super::read::login(&fault),
            keys: Vec::new(),
        })?;
        let known = PROVIDERS.iter().flat_map(|provider| provider.kinds);
        let known = known.map(|kind| GroupKind::new(kind.group, kind.name));
        let absent = known.filter(|kind| !found.iter().any(|(there, _)| there == kind)).collect();
        let watched = |(kind, resource): (GroupKind, Resource)| Watched {
            kind,
            namespaced: resource.namespaced,
            name: None,
            resource,
        };
        Ok((found.into_iter().map(watched).collect(), absent))
    }

    /// The versions of the providers of these kinds, and the feature gates of their controllers.
    pub async fn installed(&self, kinds: &[Watched], deadline: Duration) -> Installed {
        let caller = Caller::new(self.way.client.clone(), Instant::now() + deadline);
        let mut plan = ReadPlan { providers: true, gates: true, ..ReadPlan::default() };
        for watched in kinds {
            plan.list(watched.kind.clone(), "served");
        }
        let source = LiveSource::new(LiveKind::Cluster, String::new());
        let world = World::new(source, Inventory::default(), Timestamp::now());
        let mut outcome = WorldRead::of(world, plan);
        let mut catalogue = Catalogue::default();
        installed::read(&caller, &mut catalogue, &mut outcome).await;
        installed::gates(&caller, &mut catalogue, &mut outcome).await;
        let World { providers, feature_gates, unread, .. } = outcome.world;
        Installed { providers, feature_gates, unread, warnings: outcome.warnings }
    }

    /// Keeps hold of a kind for as long as this is polled, and tells what is heard of it.
    pub async fn reflect(&self, watched: &Watched, tell: &(dyn Fn(News) + Send + Sync)) {
        let mut pause = FIRST_PAUSE;
        loop {
            let fault = match self.once(watched, tell, &mut pause).await {
                // What is listed anew at once expires at once only where something is wrong.
                CallFault::Gone => CallFault::Other("what was read has expired, and is read again".to_owned()),
                fault => fault,
            };
            let remedy = refused(&fault, &watched.kind.group, &watched.resource.plural, &["get", "list", "watch"]);
            let (what, why) = (format!("list of {}", watched.kind), fault.why());
            tell(News::Lost(Unread { what, why, remedy, keys: Vec::new() }));
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// One list, and watches from what it shows until the list has to be read again.
    async fn once(&self, watched: &Watched, tell: &(dyn Fn(News) + Send + Sync), pause: &mut Duration) -> CallFault {
        let caller = Caller::new(self.way.client.clone(), Instant::now() + LIST);
        let listed = match list::list(&caller, &watched.path(), None, list::JSON, Keep::default()).await {
            Ok(listed) => listed,
            Err(fault) => return fault,
        };
        let mut version = listed.resource_version;
        tell(News::All(listed.objects));
        loop {
            match watch(&self.way.client, watched, &mut version, tell, pause).await {
                Ok(()) => {}
                Err(CallFault::Gone) => return CallFault::Gone,
                Err(fault @ (CallFault::Unauthorized | CallFault::Forbidden(_) | CallFault::NotFound(_))) => {
                    return fault;
                }
                Err(fault) => {
                    let remedy = refused(&fault, &watched.kind.group, &watched.resource.plural, &["watch"]);
                    let what = format!("watch of {}", watched.kind);
                    tell(News::Lost(Unread { what, why: fault.why(), remedy, keys: Vec::new() }));
                    tokio::time::sleep(*pause).await;
                    *pause = (*pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }
}

/// One event of a watch.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    object: Value,
}

/// One watch, from a state until it ends; the state is moved along.
async fn watch(
    client: &Client,
    watched: &Watched,
    version: &mut String,
    tell: &(dyn Fn(News) + Send + Sync),
    pause: &mut Duration,
) -> Result<(), CallFault> {
    let path = watched.path();
    let and = if path.contains('?') { '&' } else { '?' };
    let seconds = OPEN.as_secs();
    let path = format!(
        "{path}{and}watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={seconds}",
        list::escaped(version)
    );
    let other = |why: &str| CallFault::Other(why.to_owned());
    let request = Request::get(&path).body(Body::empty()).map_err(|_| other("the watch has no path"))?;
    let sent = tokio::time::timeout(GRACE, client.send(request)).await;
    let response = sent.map_err(|_| other("no answer in time"))?.map_err(|_| other("no connection"))?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::GONE => return Err(CallFault::Gone),
        StatusCode::UNAUTHORIZED => return Err(CallFault::Unauthorized),
        StatusCode::FORBIDDEN => return Err(CallFault::Forbidden("the watch".to_owned())),
        StatusCode::NOT_FOUND => return Err(CallFault::NotFound(String::new())),
        status => return Err(CallFault::Other(format!("the server answers {}", status.as_u16()))),
    }
    let mut is_sure = false;
    let mut current = |is_sure: &mut bool| {
        if !std::mem::replace(is_sure, true) {
            *pause = FIRST_PAUSE;
            tell(News::Current);
        }
    };
    let mut body = response.into_body();
    let mut rest: Vec<u8> = Vec::new();
    let end = Instant::now() + OPEN + GRACE;
    let settled = Instant::now() + SETTLED;
    loop {
        let limit = if is_sure { end } else { settled };
        let frame = match tokio::time::timeout_at(limit, body.frame()).await {
            Ok(frame) => frame,
            Err(_) if !is_sure => {
                current(&mut is_sure);
                continue;
            }
            Err(_) => return Err(other("the watch does not end")),
        };
        let Some(frame) = frame else {
            return if is_sure { Ok(()) } else { Err(other("the watch ends at once")) };
        };
        let frame = frame.map_err(|_| other("the connection broke inside a watch"))?;
        let Some(data) = frame.data_ref() else { continue };
        rest.extend_from_slice(data);
        let mut start = 0;
        while let Some(end) = memchr::memchr(b'\n', &rest[start..]) {
            heard(&rest[start..start + end], watched, version, tell)?;
            current(&mut is_sure);
            start += end + 1;
        }
        rest.drain(..start);
        if rest.len() > LARGEST_EVENT {
            return Err(other("one event of the watch has no end"));
        }
    }
}

/// Takes one event in. One that cannot be read makes the state unknown, so that it is read anew.
fn heard(
    line: &[u8],
    watched: &Watched,
    version: &mut String,
    tell: &(dyn Fn(News) + Send + Sync),
) -> Result<(), CallFault> {
    if line.trim_ascii().is_empty() {
        return Ok(());
    }
    let Ok(event) = serde_json::from_slice::<Event>(line) else { return Err(CallFault::Gone) };
    if event.kind == "ERROR" {
        let code = event.object.get("code").and_then(Value::as_i64).unwrap_or_default();
        let gone = code == 410 || code == 504;
        return Err(if gone { CallFault::Gone } else { CallFault::Other(format!("the watch ends with {code}")) });
    }
    let state = event.object.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
    let Some(state) = state.filter(|state| !state.is_empty()) else { return Err(CallFault::Gone) };
    if event.kind != "BOOKMARK" {
        let api_version = watched.resource.api_version();
        let object = list::object(event.object, &watched.kind.kind, &api_version, Keep::default());
        let Ok(object) = object else { return Err(CallFault::Gone) };
        match event.kind.as_str() {
            "ADDED" | "MODIFIED" => tell(News::Is(Box::new(object))),
            "DELETED" => tell(News::Gone(object.key)),
            // A word that nobody knows may be anything.
            _ => return Err(CallFault::Gone),
        }
    }
    *version = state;
    Ok(())
}

#[cfg(test)]
#[path = "reflect_tests.rs"]
mod tests;
