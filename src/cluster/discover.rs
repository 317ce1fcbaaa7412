//! What the API server calls a kind, and in which versions it serves it.
//! A kind is absent only on the word of a complete list of groups and of a complete list of kinds, never on a 404.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::call::{CallFault, Caller};
use super::list::{JSON, broken};
use crate::cluster::plan::GroupKind;
use crate::kinds::contract::{CONFIG_MAP, SECRET};

/// How a kind is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    /// Group.
    pub(super) group: String,
    /// Version.
    pub(super) version: String,
    /// Name in paths, `machines`.
    pub(super) plural: String,
    /// Whether objects have a namespace.
    pub(super) namespaced: bool,
    /// Whether no new object may be made: its definition is being deleted.
    pub(super) closed: bool,
}

impl Resource {
    /// Path of the list, of one namespace or of all.
    pub(super) fn path(&self, namespace: Option<&str>) -> String {
        let root = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{}", self.plural),
            None => format!("{root}/{}", self.plural),
        }
    }

    /// Path of one object.
    pub(super) fn object(&self, namespace: Option<&str>, name: &str) -> String {
        format!("{}/{name}", self.path(namespace))
    }

    /// The `apiVersion` of its objects.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// What became of the question for a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Served {
    /// It is served in the version asked for, or in the server's choice where none was.
    As(Resource),
    /// It is served, but not in that version.
    Otherwise(Resource),
    /// The API server has no such kind.
    Absent,
}

/// The groups and kinds of a server, as far as they were asked for.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    /// `None` until somebody asked for them.
    groups: Option<Result<BTreeMap<String, Group>, CallFault>>,
    kinds: BTreeMap<(String, String), Result<Vec<ServedKind>, CallFault>>,
}

/// One group.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    name: String,
    versions: Vec<Version>,
    preferred_version: Option<Version>,
}

/// One version of a group.
#[derive(Debug, Deserialize)]
struct Version {
    version: String,
}

/// The list of groups.
#[derive(Deserialize)]
struct Groups {
    kind: String,
    groups: Vec<Group>,
}

/// The kinds of one version of a group.
#[derive(Deserialize)]
struct Kinds {
    kind: String,
    resources: Vec<ServedKind>,
}

/// One kind.
#[derive(Debug, Clone, Deserialize)]
struct ServedKind {
    name: String,
    kind: String,
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
}

impl ServedKind {
    fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|own| own == verb)
    }

    /// Its resource in a version of its group. Of a kind whose definition is being deleted, objects may be deleted and not made
    /// (`k8s.io/apiextensions-apiserver` `pkg/apiserver/customresource_discovery_controller.go`, sync, v0.36).
    fn resource(&self, group: &str, version: &str) -> Resource {
        let closed = self.can("deletecollection") && !self.can("create");
        Resource { closed, ..resource(group, version, &self.name, self.namespaced) }
    }
}

/// Kinds of the core group that need no question.
const BUILT_IN: [(&str, &str, bool); 3] =
    [(CONFIG_MAP, "configmaps", true), (SECRET, "secrets", true), ("Namespace", "namespaces", false)];

impl Catalogue {
    /// Asks for the groups of `wanted` and for the kinds of the versions that matter. The list of groups must be
    /// readable; what goes wrong with one version shows when a kind of it is looked up.
    pub(super) async fn read(
        caller: &Caller,
        wanted: &BTreeSet<(GroupKind, Option<String>)>,
    ) -> Result<Self, CallFault> {
        let mut catalogue = Self::default();
        catalogue.more(caller, wanted).await;
        match catalogue.groups {
            Some(Err(fault)) => Err(fault),
            _ => Ok(catalogue),
        }
    }

    /// Every kind of the compared groups that can be listed and watched, each as the API server likes it best.
    ///
    /// # Errors
    /// When the groups cannot be read, or the kinds of a version of one.
    pub(super) async fn compared(caller: &Caller) -> Result<Vec<(GroupKind, Resource)>, CallFault> {
        let groups = caller.get("/apis", JSON, groups).await?;
        let mut found: BTreeMap<GroupKind, Resource> = BTreeMap::new();
        for group in groups.values().filter(|group| crate::providers::is_compared(&group.name)) {
            let preferred = group.preferred_version.iter();
            let versions: Vec<&str> =
                preferred.chain(&group.versions).map(|version| version.version.as_str()).collect();
            for (place, version) in versions.iter().enumerate() {
                if versions[..place].contains(version) {
                    continue;
                }
                let listed = caller.get(&format!("/apis/{}/{version}", group.name), JSON, kinds).await?;
                for one in listed.iter().filter(|one| one.can("list") && one.can("watch")) {
                    let key = GroupKind::new(&group.name, &one.kind);
                    found.entry(key).or_insert_with(|| one.resource(&group.name, version));
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Asks for the kinds of further versions: of each kind the likeliest version, then the others of what was not there.
    /// The groups are asked for when the first kind needs them.
    pub(super) async fn more(&mut self, caller: &Caller, wanted: &BTreeSet<(GroupKind, Option<String>)>) {
        if self.groups.is_none() && wanted.iter().any(|(kind, _)| !is_built_in(kind)) {
            self.groups = Some(caller.get("/apis", JSON, groups).await);
        }
        for likeliest in [true, false] {
            let mut missing = BTreeSet::new();
            for (kind, version) in wanted.iter().filter(|(kind, _)| !is_built_in(kind)) {
                if likeliest || !matches!(self.find(kind, version.as_deref()), Ok(Served::As(_))) {
                    let all = self.candidates(kind, version.as_deref());
                    let some = all.into_iter().take(if likeliest { 1 } else { usize::MAX });
                    missing.extend(some.map(|version| (kind.group.clone(), version)));
                }
            }
            missing.retain(|at| !self.kinds.contains_key(at));
            let read = missing.into_iter().map(|at| async {
                let path = if at.0.is_empty() { format!("/api/{}", at.1) } else { format!("/apis/{}/{}", at.0, at.1) };
                let kinds = caller.get(&path, JSON, kinds).await;
                (at, kinds)
            });
            self.kinds.extend(futures_util::future::join_all(read).await);
        }
    }

    /// The versions to look at for a kind: the one asked for, else all, the server's choice first.
    fn candidates(&self, kind: &GroupKind, version: Option<&str>) -> Vec<String> {
        if kind.group.is_empty() {
            return vec!["v1".to_owned()];
        }
        let Some(Ok(groups)) = &self.groups else { return Vec::new() };
        let Some(group) = groups.get(&kind.group) else { return Vec::new() };
        let preferred = group.preferred_version.iter().map(|version| version.version.as_str());
        let all = group.versions.iter().map(|version| version.version.as_str());
        let mut found: Vec<String> = Vec::new();
        for candidate in version
            .into_iter()
            .filter(|version| all.clone().any(|one| one == *version))
            .chain(preferred)
            .chain(all.clone())
        {
            if !found.iter().any(|one| one == candidate) {
                found.push(candidate.to_owned());
            }
        }
        found
    }

    /// Whether a version of a group has a kind, whatever can be done with it; `None` where that was not read.
    pub(super) fn has_kind(&self, kind: &GroupKind, version: &str) -> Option<bool> {
        if !self.has_version(&kind.group, version)? {
            return Some(false);
        }
        let Some(Ok(kinds)) = self.kinds.get(&(kind.group.clone(), version.to_owned())) else { return None };
        Some(kinds.iter().any(|one| one.kind == kind.kind))
    }

    /// Whether a group has a version, on the word of the list of groups; `None` where that was not read.
    pub(super) fn has_version(&self, group: &str, version: &str) -> Option<bool> {
        let Some(Ok(groups)) = &self.groups else { return None };
        Some(groups.get(group).is_some_and(|group| group.versions.iter().any(|one| one.version == version)))
    }

    /// How a kind is served.
    ///
    /// # Errors
    /// When the kinds of a version that may hold it could not be read.
    pub(super) fn find(&self, kind: &GroupKind, version: Option<&str>) -> Result<Served, CallFault> {
        if let Some((_, plural, namespaced)) =
            BUILT_IN.iter().find(|(name, ..)| kind.group.is_empty() && *name == kind.kind)
        {
            return Ok(Served::As(resource("", "v1", plural, *namespaced)));
        }
        if !kind.group.is_empty() {
            match &self.groups {
                None => return Err(CallFault::Other("the API groups were not asked for".to_owned())),
                Some(Err(fault)) => return Err(fault.clone()),
                Some(Ok(_)) => {}
            }
        }
        let mut doubt = None;
        for candidate in self.candidates(kind, version) {
            match self.kinds.get(&(kind.group.clone(), candidate.clone())) {
                Some(Ok(kinds)) => {
                    if let Some(found) = kinds.iter().find(|one| one.kind == kind.kind && one.can("list")) {
                        let found = found.resource(&kind.group, &candidate);
                        let as_asked = version.is_none_or(|version| version == candidate);
                        return match (as_asked, doubt) {
                            (true, _) => Ok(Served::As(found)),
                            (false, None) => Ok(Served::Otherwise(found)),
                            (false, Some(fault)) => Err(fault),
                        };
                    }
                }
                Some(Err(fault)) => doubt = doubt.or_else(|| Some(fault.clone())),
                None => {
                    doubt = doubt.or_else(|| Some(CallFault::Other("the kinds of the group were not read".to_owned())));
                }
            }
        }
        doubt.map_or(Ok(Served::Absent), Err)
    }
}

/// Whether a kind needs no question.
fn is_built_in(kind: &GroupKind) -> bool {
    kind.group.is_empty() && BUILT_IN.iter().any(|(name, ..)| *name == kind.kind)
}

/// A resource from its texts.
fn resource(group: &str, version: &str, plural: &str, namespaced: bool) -> Resource {
    let (group, version, plural) = (group.to_owned(), version.to_owned(), plural.to_owned());
    Resource { group, version, plural, namespaced, closed: false }
}

/// The group that every API server has which can hold custom resources.
const ALWAYS: &str = "apiextensions.k8s.io";

/// Reads the list of groups. One that lacks what every API server has, or holds a group without a version, is not whole:
/// what it does not name may be there all the same.
fn groups(body: &[u8]) -> Result<BTreeMap<String, Group>, String> {
    let list: Groups = serde_json::from_slice(body).map_err(|error| broken(&error))?;
    if list.kind != "APIGroupList" {
        return Err("the answer is not a list of API groups".to_owned());
    }
    if !list.groups.iter().any(|group| group.name == ALWAYS) {
        return Err(format!("the list of API groups is not whole: it lacks {ALWAYS}"));
    }
    if let Some(group) = list.groups.iter().find(|group| group.versions.is_empty()) {
        return Err(format!(
            "the list of API groups is not whole: {} has no version",
            super::call::one_line(&group.name)
        ));
    }
    Ok(list.groups.into_iter().map(|group| (group.name.clone(), group)).collect())
}

/// Reads the kinds of one version.
fn kinds(body: &[u8]) -> Result<Vec<ServedKind>, String> {
    let list: Kinds = serde_json::from_slice(body).map_err(|error| broken(&error))?;
    if list.kind != "APIResourceList" {
        return Err("the answer is not a list of kinds".to_owned());
    }
    // A version is served for the kinds that it has.
    if list.resources.is_empty() {
        return Err("the list of kinds is empty".to_owned());
    }
    Ok(list.resources.into_iter().filter(|one| !one.name.contains('/')).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(group: &str) -> GroupKind {
        GroupKind::new(group, "Cluster")
    }

    fn names(names: &[&str]) -> String {
        let group = |name: &&str| format!(r#"{{"name":"{name}","versions":[{{"groupVersion":"x","version":"v1"}}]}}"#);
        let all: Vec<String> = names.iter().map(group).collect();
        format!(r#"{{"kind":"APIGroupList","groups":[{}]}}"#, all.join(","))
    }

    #[test]
    fn a_list_of_groups_that_cannot_be_whole_is_a_fault() {
        assert!(groups(names(&[ALWAYS, "cluster.x-k8s.io"]).as_bytes()).is_ok());
        assert!(groups(names(&[]).as_bytes()).is_err());
        assert!(groups(names(&["apps"]).as_bytes()).is_err());
        let bare = format!(r#"{{"kind":"APIGroupList","groups":[{{"name":"{ALWAYS}","versions":[]}}]}}"#);
        assert!(groups(bare.as_bytes()).is_err());
        assert!(groups(br#"{"kind":"APIGroupList","groups":null}"#).is_err());
        assert!(kinds(br#"{"kind":"APIResourceList","resources":[]}"#).is_err());
    }

    #[test]
    fn a_kind_is_absent_only_on_the_word_of_a_list_that_was_read() {
        let mut catalogue = Catalogue::default();
        assert!(catalogue.find(&kind("cluster.x-k8s.io"), None).is_err(), "nobody asked");
        catalogue.groups = Some(Err(CallFault::Unauthorized));
        assert_eq!(catalogue.find(&kind("cluster.x-k8s.io"), None), Err(CallFault::Unauthorized));
        assert_eq!(catalogue.has_version("apps", "v1"), None);
        catalogue.groups = Some(Ok(groups(names(&[ALWAYS, "apps"]).as_bytes()).expect("groups")));
        let versions = [("apps", "v1"), ("apps", "v1beta1"), ("example.org", "v1")];
        assert_eq!(
            versions.map(|(group, version)| catalogue.has_version(group, version)),
            [true, false, false].map(Some)
        );
        assert_eq!(catalogue.find(&kind("cluster.x-k8s.io"), None), Ok(Served::Absent));
        assert!(catalogue.find(&kind("apps"), None).is_err(), "its kinds were not read");
    }
}
