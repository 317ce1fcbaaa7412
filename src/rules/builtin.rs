//! The packs that are built into the program, in the order of their providers. Each is read when somebody needs what is in it: a
//! small plan asks few of them, and a stream that passes through none. What is asked of all of them stands in a table.

use std::sync::{LazyLock, OnceLock};

use super::pack::{Pack, names};
use crate::kinds::versions::canonical;
use crate::providers::{PROVIDERS, RELEASES};

// Heads, each with its pack as JSON, and causes: made of the packs while the program is built.
include!(concat!(env!("OUT_DIR"), "/packs.rs"));

/// What is said when a pack cannot be read, which a test rules out.
const TESTED: &str = "a test reads each pack that is built in, and its line of the table";

/// What is known of a pack without reading it.
#[derive(Debug)]
struct Head {
    name: &'static str,
    /// The provider whose version decides.
    provider: &'static str,
    /// Group and kind of what it is about.
    kinds: &'static [(&'static str, &'static str)],
    /// The versions since which a rule of it begins or ends to hold.
    turns: &'static [(u64, u64, u64)],
    /// Ids of its causes.
    causes: &'static [&'static str],
    /// Ids of its rules.
    rules: &'static [&'static str],
    /// The whole pack.
    text: &'static str,
}

/// A pack that is built in.
#[derive(Debug)]
pub(super) struct BuiltIn {
    head: &'static Head,
    pack: OnceLock<Pack>,
}

/// All of them.
static PACKS: LazyLock<Vec<BuiltIn>> = LazyLock::new(|| {
    let names = PROVIDERS.iter().flat_map(|provider| provider.packs);
    let head = |name: &str| HEADS.binary_search_by(|head| head.name.cmp(name)).ok().and_then(|place| HEADS.get(place));
    names.map(|name| BuiltIn { head: head(name).expect(TESTED), pack: OnceLock::new() }).collect()
});

/// The packs that are built in; none of them is read yet.
pub(super) fn packs() -> &'static [BuiltIn] {
    &PACKS
}

/// The pack that has a cause.
pub(super) fn with_cause(id: &str) -> Option<&'static BuiltIn> {
    let place = CAUSES.binary_search_by(|(cause, _)| (*cause).cmp(id)).ok()?;
    let head = HEADS.get(CAUSES.get(place)?.1)?;
    packs().iter().find(|pack| std::ptr::eq(pack.head, head))
}

impl BuiltIn {
    /// The whole pack.
    ///
    /// # Panics
    /// Never in a program that was tested: a test reads each pack.
    pub(super) fn pack(&self) -> &Pack {
        self.pack.get_or_init(|| serde_json::from_str(self.head.text).expect(TESTED))
    }

    /// Its name.
    pub(super) fn name(&self) -> &'static str {
        self.head.name
    }

    /// The versions since which a rule of it begins or ends to hold.
    pub(super) fn turns(&self) -> &'static [(u64, u64, u64)] {
        self.head.turns
    }

    /// The provider whose version decides.
    pub(super) fn provider(&self) -> &'static str {
        self.head.provider
    }

    /// The kinds that it names.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.head.kinds.iter().map(|(_, kind)| *kind)
    }

    /// The ids of its causes, then those of its rules.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.head.causes.iter().chain(self.head.rules).copied()
    }

    /// Whether it is about a kind by the name of that.
    pub(super) fn knows(&self, group: &str, kind: &str) -> bool {
        self.head.kinds.iter().any(|name| name.1 != "*" && names(*name, group, kind))
    }

    /// Whether it is about a kind.
    pub(super) fn is_about(&self, group: &str, kind: &str) -> bool {
        self.head.kinds.iter().any(|name| names(*name, group, kind))
    }
}

/// Whether anything is known here about a provider of this name.
#[must_use]
pub(crate) fn is_known(name: &str) -> bool {
    let name = canonical(&RELEASES, name);
    RELEASES.iter().any(|release| release.name == name) || packs().iter().any(|pack| pack.provider() == name)
}

/// The names of the providers whose versions are told apart.
pub(crate) fn known() -> impl Iterator<Item = &'static str> {
    RELEASES.iter().map(|release| release.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::tree::Value;
    use crate::yaml;

    #[test]
    fn a_pack_that_is_built_in_is_what_its_file_says() {
        let mut read = 0;
        for provider in Path::new(env!("CARGO_MANIFEST_DIR")).join("src/providers").read_dir().expect("a folder") {
            let Ok(files) = provider.expect("a folder").path().join("packs").read_dir() else { continue };
            for file in files.map(|file| file.expect("a file").path()) {
                let name = file.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
                let of_file = yaml::read_strict(&std::fs::read(&file).expect("a file")).expect("good YAML");
                let built_in = packs().iter().find(|pack| pack.name() == name).unwrap_or_else(|| panic!("{name}"));
                assert_eq!(serde_json::from_str::<Value>(built_in.head.text).expect("JSON"), of_file, "{name}");
                Pack::from_value(&name, of_file).expect("a pack");
                read += 1;
            }
        }
        assert_eq!(read, packs().len());
    }

    #[test]
    fn the_table_says_of_each_pack_what_the_pack_says() {
        assert_eq!(packs().len(), HEADS.len());
        for built_in in packs() {
            let (head, pack) = (built_in.head, built_in.pack());
            let kinds: Vec<_> = pack.kinds.iter().map(|name| (name.group.as_str(), name.kind.as_str())).collect();
            let causes: Vec<_> = pack.causes.iter().map(|cause| cause.id.as_str()).collect();
            let rules: Vec<_> = pack.rules.iter().map(|rule| rule.id.as_str()).collect();
            let turns: Vec<_> = pack.turns().collect::<BTreeSet<_>>().into_iter().collect();
            assert_eq!((head.name, head.provider), (pack.pack.as_str(), pack.provider.as_str()));
            assert_eq!((head.kinds, head.causes, head.rules), (&*kinds, &*causes, &*rules), "{}", head.name);
            assert_eq!(head.turns, turns, "{}", head.name);
        }
    }

    #[test]
    fn each_cause_is_found_in_the_one_pack_that_has_it() {
        let having = |id: &str| {
            packs().iter().filter(|pack| pack.head.causes.contains(&id)).map(BuiltIn::name).collect::<Vec<_>>()
        };
        for (id, _) in CAUSES {
            assert_eq!(having(id), [with_cause(id).expect("a pack").name()], "{id}");
        }
        assert!(with_cause("kcp/nonsense").is_none() && with_cause("").is_none());
    }
}
