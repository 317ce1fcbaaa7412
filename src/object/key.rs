//! What makes two texts the same object: group, kind, namespace and name, never the version.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher as _, Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use foldhash::quality::RandomState;
/// Whether two namespaces may be the same one: a render often says it in references and leaves it out of objects.
pub(crate) fn may_be_equal(one: Option<&String>, other: Option<&String>) -> bool {
    one.is_none() || other.is_none() || one == other
}

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::contract::{CONFIG_MAP, SECRET};

/// The identity of an object in a cluster. A copy is a count, and a look into a map hashes one number.
#[derive(Clone)]
pub struct Key(Arc<Known>);

/// What a key is, and the hash of it.
struct Known {
    identity: Identity,
    hash: u64,
}

/// What a key says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(rename = "Key", description = "The identity of an object in a cluster."))]
pub struct Identity {
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
        let group = ApiVersion::parse(api_version).group;
        let namespace = namespace.filter(|text| !text.is_empty()).map(str::to_owned);
        Self::of(group, kind, namespace, name)
    }

    /// The key of these parts.
    #[must_use]
    pub fn of(
        group: impl Into<String>,
        kind: impl Into<String>,
        namespace: Option<String>,
        name: impl Into<String>,
    ) -> Self {
        Self::from(Identity { group: group.into(), kind: kind.into(), namespace, name: name.into() })
    }

    /// This key with another name.
    #[must_use]
    pub fn with_name(&self, name: impl Into<String>) -> Self {
        self.sibling(self.kind.as_str(), name)
    }

    /// This key in another namespace, or in none.
    #[must_use]
    pub fn in_namespace(&self, namespace: Option<String>) -> Self {
        Self::of(self.group.as_str(), self.kind.as_str(), namespace, self.name.as_str())
    }

    /// Another object of the same group, in the same namespace.
    #[must_use]
    pub fn sibling(&self, kind: impl Into<String>, name: impl Into<String>) -> Self {
        Self::of(self.group.as_str(), kind, self.namespace.clone(), name)
    }

    /// What it says, each part one's own.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.0.identity.clone()
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

impl From<Identity> for Key {
    fn from(identity: Identity) -> Self {
        // All hashes of a run begin with one number, which no writer of a document knows.
        static START: LazyLock<RandomState> = LazyLock::new(RandomState::default);
        let hash = START.hash_one(&identity);
        Self(Arc::new(Known { identity, hash }))
    }
}

impl Deref for Key {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.0.identity
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.hash == other.0.hash && self.0.identity == other.0.identity
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.identity.cmp(&other.0.identity) }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.identity.fmt(f)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.identity.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Identity::deserialize(from).map(Self::from)
    }
}

#[cfg(test)]
impl JsonSchema for Key {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Identity::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Identity::json_schema(generator)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// The keys in their order. To compare two keys looks at up to eight texts that lie far apart; here each is looked at once.
#[must_use]
pub(crate) fn in_order(keys: Vec<Key>) -> Vec<Key> {
    /// By namespace and name.
    type Place<'k> = (Option<Early<'k>>, Early<'k>, &'k Key);
    let mut kinds: BTreeMap<(&str, &str), Vec<Place<'_>>> = BTreeMap::new();
    for key in &keys {
        let place = (key.namespace.as_deref().map(Early::of), Early::of(&key.name), key);
        kinds.entry((key.group.as_str(), key.kind.as_str())).or_default().push(place);
    }
    let mut ordered = Vec::with_capacity(keys.len());
    for mut places in kinds.into_values() {
        places.sort_unstable();
        ordered.extend(places.into_iter().map(|(_, _, key)| key.clone()));
    }
    ordered
}

/// A text, and what nearly always tells how it stands to another one.
#[derive(PartialEq, Eq)]
struct Early<'t> {
    /// Its first bytes, and behind them how many it has, or one more than fit.
    start: u128,
    text: &'t str,
}

impl<'t> Early<'t> {
    const MOST: u8 = 15;

    fn of(text: &'t str) -> Self {
        let mut start = [0; 16];
        start.iter_mut().zip(text.bytes().take(usize::from(Self::MOST))).for_each(|(place, byte)| *place = byte);
        start[usize::from(Self::MOST)] = u8::try_from(text.len()).unwrap_or(u8::MAX).min(Self::MOST + 1);
        Self { start: u128::from_be_bytes(start), text }
    }

    /// Whether no text is longer that begins so.
    fn is_whole(&self) -> bool {
        self.start.to_be_bytes()[usize::from(Self::MOST)] <= Self::MOST
    }
}

impl Ord for Early<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let texts = || if self.is_whole() { Ordering::Equal } else { self.text.cmp(other.text) };
        self.start.cmp(&other.start).then_with(texts)
    }
}

impl PartialOrd for Early<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
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

    /// Whether the version of a text is named as those of Kubernetes are: `v1`, `v1beta2`, `v1alpha7`.
    #[must_use]
    pub(crate) fn is_usual(text: &str) -> bool {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let Some(version) = ApiVersion::parse(text).version.strip_prefix('v') else { return false };
        let parts = ["alpha", "beta"].into_iter().find_map(|word| version.split_once(word));
        parts.map_or_else(|| is_number(version), |(major, minor)| is_number(major) && is_number(minor))
    }

    /// Whether an `apiVersion` has the names that Cluster API had before v1beta2.
    #[must_use]
    pub(crate) fn is_before_v1beta2(text: &str) -> bool {
        matches!(ApiVersion::parse(text).version, "v1beta1" | "v1alpha4" | "v1alpha3" | "v1alpha1")
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn many_keys_are_put_in_the_order_of_each_two(
            parts in prop::collection::vec(("[a-c]?", "[A-C]", prop::option::of("[ab]{0,1}"), "[a\\x00é]{0,20}"), 0..60)
        ) {
            let keys: Vec<Key> = parts.into_iter().map(|(group, kind, namespace, name)| Key::of(group, kind, namespace, name)).collect();
            let mut one_by_one = keys.clone();
            one_by_one.sort();
            prop_assert_eq!(in_order(keys), one_by_one);
        }
    }
}
