//! Maps by keys and texts that everybody looks into: the hash is made for short texts, and begins with a number that no writer of a
//! document knows. What a document itself can fill by the thousand (`tree`, `yaml`) has the standard library's.

use foldhash::quality::RandomState;

/// A map that is looked into often.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;
/// A set that is looked into often.
pub(crate) type HashSet<K> = std::collections::HashSet<K, RandomState>;
