//! The whole management cluster, heard of as it changes: one watch a resource for all walks together, so that looking costs nothing.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use kube::client::Client;
use kube::core::WatchEvent;
use serde_json::Value;

use crate::api::Api;
use crate::objects::text;
use crate::observe::{CAPI, OWNERS, Sight};

/// How long one look takes: what was written before it has been heard of by its end.
const LOOK: Duration = Duration::from_millis(500);

/// What is watched: group and version, resource.
pub(crate) fn watched() -> impl Iterator<Item = (&'static str, &'static str)> {
    [(CAPI, "machines")].into_iter().chain(OWNERS)
}

/// Objects by resource and uid.
type Heard = BTreeMap<(&'static str, String), Value>;

/// What was heard, by namespace.
#[derive(Default)]
pub(crate) struct Lookout {
    heard: Mutex<BTreeMap<String, Heard>>,
}

impl Lookout {
    /// Listens to one resource for as long as somebody looks.
    pub(crate) fn listen(&self, api: &Api, (group_version, resource): (&str, &'static str), looking: &AtomicBool) {
        let path = format!("/apis/{group_version}/{resource}");
        let client = api.client();
        api.run(async {
            while looking.load(Ordering::Relaxed) {
                tokio::select! {
                    () = self.hear(&client, &path, resource) => {}
                    () = ended(looking) => {}
                }
            }
        });
    }

    /// Lists once, then hears of what changes until the watch ends.
    async fn hear(&self, client: &Client, path: &str, resource: &'static str) {
        let ask = |path: String| http::Request::get(path).body(Vec::new()).expect("the path is valid");
        let Ok(mut list) = client.request::<Value>(ask(path.to_owned())).await else { return };
        let version = text(&list["metadata"]["resourceVersion"]);
        let Value::Array(objects) = list["items"].take() else { return };
        self.replace(resource, objects);
        let watch = format!("{path}?watch=1&allowWatchBookmarks=true&resourceVersion={version}");
        let Ok(events) = client.request_events::<Value>(ask(watch)).await else { return };
        let mut events = std::pin::pin!(events);
        while let Ok(Some(event)) = events.try_next().await {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => self.change(resource, object, true),
                WatchEvent::Deleted(object) => self.change(resource, object, false),
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Error(_) => return,
            }
        }
    }

    fn replace(&self, resource: &'static str, objects: Vec<Value>) {
        let mut heard = self.heard.lock().expect("no thread panics with it");
        heard.values_mut().for_each(|held| held.retain(|(of, _), _| *of != resource));
        for object in objects {
            let (namespace, uid) = place(&object);
            heard.entry(namespace).or_default().insert((resource, uid), object);
        }
    }

    fn change(&self, resource: &'static str, object: Value, is_there: bool) {
        let mut heard = self.heard.lock().expect("no thread panics with it");
        let (namespace, uid) = place(&object);
        let held = heard.entry(namespace).or_default();
        if is_there {
            held.insert((resource, uid), object);
        } else {
            held.remove(&(resource, uid));
        }
    }

    /// What a namespace holds a moment from now: everything that was written before this call is in it.
    pub(crate) fn of(&self, namespace: &str) -> Sight {
        std::thread::sleep(LOOK);
        let heard = self.heard.lock().expect("no thread panics with it");
        let mut sight = Sight::default();
        for ((resource, _), object) in heard.get(namespace).into_iter().flatten() {
            sight.add(resource, object.clone());
        }
        sight
    }
}

/// Namespace and uid of an object.
fn place(object: &Value) -> (String, String) {
    (text(&object["metadata"]["namespace"]), text(&object["metadata"]["uid"]))
}

/// Comes to an end soon after nobody looks any more.
async fn ended(looking: &AtomicBool) {
    while looking.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
