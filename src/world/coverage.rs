//! Of which objects the live side would show that they are there. What nobody asked for is unread, never absent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::object::GroupKind;
use crate::object::Key;

/// What the live side covers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Coverage {
    /// Everything: files that somebody says are the cluster, an old render.
    #[default]
    Whole,
    // Shared until somebody notes something: each review of a webhook has one.
    /// What was asked for, and no more.
    Asked(#[cfg_attr(test, schemars(with = "Asked"))] Arc<Asked>),
}

impl From<Asked> for Coverage {
    fn from(asked: Asked) -> Self {
        Self::Asked(Arc::new(asked))
    }
}

/// What was asked for and answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Asked {
    /// Kinds of which a whole list was read, or that are proven not to be served.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Extent>"))]
    kinds: BTreeMap<GroupKind, Extent>,
    /// Single objects that were asked for by name and are not there.
    absent: BTreeSet<Key>,
    /// The `apiVersion`s in which kinds that are served are not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, BTreeSet<String>>"))]
    unserved: BTreeMap<GroupKind, BTreeSet<String>>,
    /// Kinds of which no new object can be made, because their definition is being deleted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(test, schemars(with = "BTreeSet<String>"))]
    closed: BTreeSet<GroupKind>,
}

/// How much of a kind was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// All of it.
    Everywhere,
    /// All of it in these namespaces.
    Namespaces(BTreeSet<String>),
    /// The API server has no such kind, on the word of a complete catalogue.
    NotServed,
}

impl Asked {
    /// Nothing but that the API server has none of these kinds.
    #[must_use]
    pub fn not_served(kinds: impl IntoIterator<Item = GroupKind>) -> Self {
        let kinds = kinds.into_iter().map(|kind| (kind, Extent::NotServed)).collect();
        Self { kinds, ..Self::default() }
    }
}

impl Coverage {
    /// Whether an object with this key would be in the live side if it were there.
    #[must_use]
    pub fn shows(&self, key: &Key) -> bool {
        let Self::Asked(asked) = self else { return true };
        asked.absent.contains(key)
            || asked.kinds.get(&GroupKind::new(&key.group, &key.kind)).is_some_and(|extent| match extent {
                Extent::Everywhere | Extent::NotServed => true,
                Extent::Namespaces(names) => key.namespace.as_ref().is_some_and(|name| names.contains(name)),
            })
    }

    /// Whether the API server is known not to have a kind.
    #[must_use]
    pub fn lacks(&self, kind: &GroupKind) -> bool {
        matches!(self, Self::Asked(asked) if asked.kinds.get(kind) == Some(&Extent::NotServed))
    }

    /// Whether the API server is known not to have a kind in an `apiVersion`, although it has the kind.
    #[must_use]
    pub fn lacks_version(&self, kind: &GroupKind, api_version: &str) -> bool {
        let Self::Asked(asked) = self else { return false };
        asked.unserved.get(kind).is_some_and(|versions| versions.contains(api_version))
    }

    /// Whether no new object of a kind can be made.
    #[must_use]
    pub fn is_closed(&self, kind: &GroupKind) -> bool {
        matches!(self, Self::Asked(asked) if asked.closed.contains(kind))
    }

    /// Whether an object was asked for by its name and is not there.
    #[must_use]
    pub fn is_absent(&self, key: &Key) -> bool {
        matches!(self, Self::Asked(asked) if asked.absent.contains(key))
    }

    /// Whether all objects of a kind in a namespace were read.
    #[must_use]
    pub fn has_list(&self, kind: &GroupKind, namespace: &str) -> bool {
        let Self::Asked(asked) = self else { return true };
        asked.kinds.get(kind).is_some_and(|extent| match extent {
            Extent::Everywhere | Extent::NotServed => true,
            Extent::Namespaces(names) => names.contains(namespace),
        })
    }

    /// How much of a kind was read; `None` where it was not asked for.
    #[must_use]
    pub fn extent(&self, kind: &GroupKind) -> Option<&Extent> {
        match self {
            Self::Whole => Some(&Extent::Everywhere),
            Self::Asked(asked) => asked.kinds.get(kind),
        }
    }

    /// What was asked for, to be added to.
    fn asked_mut(&mut self) -> Option<&mut Asked> {
        if let Self::Asked(asked) = self { Some(Arc::make_mut(asked)) } else { None }
    }

    /// Notes a whole list of a kind: of all of it, or of one namespace.
    pub fn note_list(&mut self, kind: &GroupKind, namespace: Option<&str>) {
        let Some(asked) = self.asked_mut() else { return };
        match (asked.kinds.entry(kind.clone()).or_insert_with(|| Extent::Namespaces(BTreeSet::new())), namespace) {
            (Extent::Namespaces(names), Some(namespace)) => drop(names.insert(namespace.to_owned())),
            (extent @ Extent::Namespaces(_), None) => *extent = Extent::Everywhere,
            (Extent::Everywhere | Extent::NotServed, _) => {}
        }
    }

    /// Notes that the API server has no such kind.
    pub fn note_not_served(&mut self, kind: &GroupKind) {
        if let Some(asked) = self.asked_mut() {
            asked.kinds.insert(kind.clone(), Extent::NotServed);
        }
    }

    /// Notes that the API server has a kind, but not in an `apiVersion`.
    pub fn note_unserved(&mut self, kind: &GroupKind, api_version: &str) {
        if let Some(asked) = self.asked_mut() {
            asked.unserved.entry(kind.clone()).or_default().insert(api_version.to_owned());
        }
    }

    /// Notes that no new object of a kind can be made.
    pub fn note_closed(&mut self, kind: &GroupKind) {
        if let Some(asked) = self.asked_mut() {
            asked.closed.insert(kind.clone());
        }
    }

    /// Notes an object that was asked for by its name and is not there.
    pub fn note_absent(&mut self, key: Key) {
        if let Some(asked) = self.asked_mut() {
            asked.absent.insert(key);
        }
    }
}

impl Serialize for GroupKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GroupKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl serde::de::Visitor<'_> for Words {
            type Value = GroupKind;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a kind with its group, such as Machine.cluster.x-k8s.io")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<GroupKind, E> {
                let (kind, group) = text.split_once('.').unwrap_or((text, ""));
                Ok(GroupKind::new(group, kind))
            }
        }
        deserializer.deserialize_str(Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Key {
        Key::new(api_version, kind, namespace, name)
    }

    #[test]
    fn what_nobody_asked_for_is_not_shown() {
        let cluster = GroupKind::new("cluster.x-k8s.io", "Cluster");
        let mut coverage = Coverage::from(Asked::default());
        let here = key("cluster.x-k8s.io/v1beta1", "Cluster", Some("a"), "x");
        let there = key("cluster.x-k8s.io/v1beta1", "Cluster", Some("b"), "x");
        assert!(!coverage.shows(&here));
        coverage.note_list(&cluster, Some("a"));
        assert!(coverage.shows(&here) && !coverage.shows(&there));
        coverage.note_list(&cluster, None);
        assert!(coverage.shows(&there) && !coverage.lacks(&cluster));
        let pool = GroupKind::new("cluster.x-k8s.io", "MachinePool");
        coverage.note_not_served(&pool);
        assert!(coverage.lacks(&pool) && coverage.has_list(&pool, "a"));
        coverage.note_unserved(&cluster, "cluster.x-k8s.io/v1alpha3");
        assert!(coverage.lacks_version(&cluster, "cluster.x-k8s.io/v1alpha3") && !coverage.lacks(&cluster));
        assert!(!coverage.lacks_version(&cluster, "cluster.x-k8s.io/v1beta1"));
        let secret = key("v1", "Secret", Some("a"), "s");
        coverage.note_absent(secret.clone());
        assert!(coverage.is_absent(&secret) && !coverage.is_absent(&here));
        assert!(coverage.shows(&secret) && !coverage.shows(&key("v1", "Secret", Some("a"), "t")));
        assert!(Coverage::Whole.shows(&there));
    }

    #[test]
    fn coverage_survives_a_file() {
        let mut coverage = Coverage::from(Asked::default());
        coverage.note_list(&GroupKind::new("cluster.x-k8s.io", "Cluster"), Some("a"));
        coverage.note_list(&GroupKind::new("", "Secret"), None);
        coverage.note_not_served(&GroupKind::new("metal3.io", "BareMetalHost"));
        coverage.note_absent(key("v1", "ConfigMap", Some("a"), "c"));
        coverage.note_unserved(&GroupKind::new("cluster.x-k8s.io", "Cluster"), "cluster.x-k8s.io/v1alpha3");
        coverage.note_closed(&GroupKind::new("metal3.io", "BareMetalHost"));
        let text = serde_json::to_string(&coverage).expect("JSON");
        assert_eq!(serde_json::from_str::<Coverage>(&text).expect("coverage"), coverage, "{text}");
    }
}
