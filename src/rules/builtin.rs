//! The packs that are built into the program, in the order of their providers. Each is read when somebody needs what is in it: a
//! small plan asks few of them, and a stream that passes through none.

use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem;
use serde::Deserialize;

use super::pack::{KindName, Pack, is_about};
use crate::kinds::versions::canonical;
use crate::providers::{PROVIDERS, RELEASES};
use crate::tree::{self, Value};
use crate::yaml;

/// What is said when a pack cannot be read, which a test rules out.
const TESTED: &str = "a test reads each pack that is built in";

/// A pack that is built in.
#[derive(Debug)]
pub(super) struct BuiltIn {
    name: &'static str,
    text: &'static str,
    head: OnceLock<Head>,
    pack: OnceLock<Pack>,
    turns: OnceLock<Vec<(u64, u64)>>,
}

/// What a pack says of itself, before its causes and rules.
#[derive(Debug, Deserialize)]
struct Head {
    provider: String,
    kinds: Vec<KindName>,
}

/// All of them.
static PACKS: LazyLock<Vec<BuiltIn>> = LazyLock::new(|| {
    let texts = PROVIDERS.iter().flat_map(|provider| provider.packs);
    texts
        .map(|&(name, text)| BuiltIn {
            name,
            text,
            head: OnceLock::new(),
            pack: OnceLock::new(),
            turns: OnceLock::new(),
        })
        .collect()
});

/// The packs that are built in; none of them is read yet.
pub(super) fn packs() -> &'static [BuiltIn] {
    &PACKS
}

/// A text that a test has read.
fn value(text: &str) -> Value {
    yaml::read_json(text.as_bytes(), yaml::Span { start: 0, end: text.len() }).expect(TESTED)
}

impl BuiltIn {
    /// The whole pack.
    ///
    /// # Panics
    /// Never in a program that was tested: a test reads each pack.
    pub(super) fn pack(&self) -> &Pack {
        self.pack.get_or_init(|| Pack::from_value(self.name, value(self.text)).expect(TESTED))
    }

    /// The minor versions since which a rule of it begins or ends to hold. Only a pack that has some is read for it, and each is asked once:
    /// every judgement wants to know.
    pub(super) fn turns(&self) -> &[(u64, u64)] {
        self.turns.get_or_init(|| {
            let may = self.may_say("since:") || self.may_say("until:");
            if may { self.pack().turns().collect::<BTreeSet<_>>().into_iter().collect() } else { Vec::new() }
        })
    }

    fn head(&self) -> &Head {
        self.head.get_or_init(|| {
            let ends = ["\ncauses:", "\nrules:"];
            let end = ends.iter().filter_map(|key| self.text.find(key)).min().unwrap_or(self.text.len());
            let Value::Object(mut map) = value(&self.text[..end]) else { panic!("{TESTED}") };
            map.retain(|key, _| matches!(key.as_str(), "provider" | "kinds"));
            tree::from_value(Value::Object(map)).expect(TESTED)
        })
    }

    /// The provider whose version decides.
    pub(super) fn provider(&self) -> &str {
        &self.head().provider
    }

    /// Whether it is about a kind.
    pub(super) fn is_about(&self, group: &str, kind: &str) -> bool {
        is_about(&self.head().kinds, group, kind)
    }

    /// Whether it may hold a word; false only where that is sure.
    pub(super) fn may_say(&self, word: &str) -> bool {
        memmem::find(self.text.as_bytes(), word.as_bytes()).is_some()
    }
}

/// Whether anything is known here about a provider of this name.
#[must_use]
pub fn is_known(name: &str) -> bool {
    let name = canonical(&RELEASES, name);
    RELEASES.iter().any(|release| release.name == name) || packs().iter().any(|pack| pack.provider() == name)
}

/// The names of the providers whose versions are told apart.
pub fn known() -> impl Iterator<Item = &'static str> {
    RELEASES.iter().map(|release| release.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_pack_says_what_the_pack_says() {
        for built_in in packs() {
            let (head, pack) = (built_in.head(), built_in.pack());
            assert_eq!((&head.provider, &head.kinds), (&pack.provider, &pack.kinds), "{}", built_in.name);
        }
    }

    #[test]
    fn a_pack_holds_the_words_that_it_is_looked_for_by() {
        for built_in in packs() {
            let pack = built_in.pack();
            for cause in &pack.causes {
                assert!(built_in.may_say(&cause.id), "{}", cause.id);
            }
            for rule in &pack.rules {
                assert!(rule.since.is_none() || built_in.may_say("since:"), "{}", rule.id);
                assert!(rule.until.is_none() || built_in.may_say("until:"), "{}", rule.id);
            }
        }
    }
}
