//! What makes two texts the same object: group, kind, namespace and name, never the version.

use std::fmt;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contract::{CONFIG_MAP, SECRET};

/// The identity of an object in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Key {
    /// API group, empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Kind, as written.
    pub kind: String,
    /// Namespace; `None` where none was said (cluster-wide, or not known).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl Key {
    /// The key of an object with the given `apiVersion`.
    #[must_use]
    pub fn new(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        Self {
            group: ApiVersion::parse(api_version).group.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.filter(|text| !text.is_empty()).map(str::to_owned),
            name: name.to_owned(),
        }
    }

    /// Whether it is a Secret of Kubernetes' own.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.group.is_empty() && self.kind == SECRET
    }

    /// Whether it is a ConfigMap of Kubernetes' own.
    #[must_use]
    pub fn is_config_map(&self) -> bool {
        self.group.is_empty() && self.kind == CONFIG_MAP
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// An `apiVersion` taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ApiVersion<'a> {
    /// Group, empty for the core group.
    pub group: &'a str,
    /// Version, such as `v1beta1`.
    pub version: &'a str,
}

impl<'a> ApiVersion<'a> {
    /// Splits at the slash; a text without one is a version of the core group.
    #[must_use]
    pub(crate) fn parse(text: &'a str) -> Self {
        match text.split_once('/') {
            Some((group, version)) => Self { group, version },
            None => Self { group: "", version: text },
        }
    }
}

/// Group and kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// API group, empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
}

impl GroupKind {
    /// Group and kind from their texts.
    #[must_use]
    pub fn new(group: &str, kind: &str) -> Self {
        Self { group: group.to_owned(), kind: kind.to_owned() }
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.kind),
            group => write!(f, "{}.{group}", self.kind),
        }
    }
}
