//! Which version of each provider decides, and which behaviour came with which version.
//! Where a version is not known, all that are known here may be it: the worse of their answers counts.

use std::borrow::Cow;
use std::sync::Arc;

use semver::Version;

use crate::alike::{self, Cases};
use crate::model::Effect;

/// A provider as its versions are told.
#[derive(Debug, Clone)]
pub struct Release {
    /// Its name.
    pub name: &'static str,
    /// The newest version whose behaviour is known here.
    pub newest: Version,
    /// Other names of it.
    pub aliases: &'static [&'static str],
}

/// A behaviour that came with a version. Each provider has a table of them in `changes.rs`, and the tables are the changelog.
#[derive(Debug)]
pub struct Since {
    /// Its name, which no other behaviour of its provider has.
    pub name: &'static str,
    /// The provider that changed.
    pub provider: &'static str,
    /// First minor version that behaves so from its first patch on.
    pub version: (u64, u64),
    /// First patches of older minors that behave so too.
    pub patches: &'static [(u64, u64, u64)],
    /// What it does from then on.
    pub what: &'static str,
    /// Fields of which the next write does something else from then on.
    pub later: &'static [Later],
}

/// A field of which the next write does something else since a version.
#[derive(Debug, Clone, Copy)]
pub struct Later {
    /// The kind of the objects that have it.
    pub kind: &'static str,
    /// Its place as people write it, in the newest names.
    pub path: &'static str,
    /// What a change of it does from then on.
    pub effect: Effect,
    /// What a change of it does, in a sentence that follows the name of the field.
    pub says: &'static str,
}

impl Since {
    /// A behaviour that a provider has since a minor version.
    #[must_use]
    pub const fn new(name: &'static str, provider: &'static str, version: (u64, u64), what: &'static str) -> Self {
        Self { name, provider, version, patches: &[], what, later: &[] }
    }

    /// The same, and patches of older minors brought it too: the first of each.
    #[must_use]
    pub const fn patched(mut self, patches: &'static [(u64, u64, u64)]) -> Self {
        self.patches = patches;
        self
    }

    /// This behaviour with the fields of which the next write does something else.
    #[must_use]
    pub const fn judging(mut self, later: &'static [Later]) -> Self {
        self.later = later;
        self
    }

    /// Whether a version of its provider behaves so.
    #[must_use]
    pub fn is_in(&self, version: &Version) -> bool {
        let minor = (version.major, version.minor);
        let is_patched = |first: &(u64, u64, u64)| (first.0, first.1) == minor && version.patch >= first.2;
        minor >= self.version || self.patches.iter().any(is_patched)
    }

    /// Since which version one that behaves so does it: a patch of its own minor, or the minor that brought it.
    #[must_use]
    pub fn begun_by(&self, version: &Version) -> String {
        let own = self.patches.iter().find(|first| (first.0, first.1) == (version.major, version.minor));
        match own {
            Some((major, minor, patch)) => format!("v{major}.{minor}.{patch}"),
            None => format!("v{}.{}", self.version.0, self.version.1),
        }
    }

    /// The versions since which its provider behaves so, as people write them, each behind a prefix.
    pub(crate) fn word(&self, prefix: &str) -> String {
        let (major, minor) = self.version;
        let patches = self.patches.iter().map(|(major, minor, patch)| format!(", {prefix}{major}.{minor}.{patch}"));
        format!("{prefix}{major}.{minor}{}", patches.collect::<String>())
    }

    /// Each version since which its provider behaves so.
    pub(crate) fn turns(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let (major, minor) = self.version;
        self.patches.iter().copied().chain([(major, minor, 0)])
    }
}

/// The versions by which mirrors and rules are chosen.
#[derive(Debug, Clone)]
pub struct Versions {
    pub(crate) known: Vec<(String, Version)>,
    /// Versions that are only tried, because nobody knows which one it is.
    pub(crate) tried: Vec<(String, Version)>,
    pub(crate) releases: &'static [&'static Release],
    /// Behaviours that are left out, to find out what they do: provider and name of each.
    pub(crate) without: Vec<(&'static str, &'static str)>,
    /// What a person should know about them.
    pub warnings: Vec<String>,
    /// Where they are one of several sets that are possible: all of them, and the place of this one.
    pub(crate) among: Option<(Arc<Among>, usize)>,
}

/// Sets of versions of which any may be the one, by what differs between them: each question about a version is noted with the
/// sets that answer it alike.
#[derive(Debug, Default)]
pub(crate) struct Among {
    /// Providers that not all sets have in the same version.
    open: Vec<Open>,
}

/// A provider, and what each set has of it.
#[derive(Debug)]
struct Open {
    name: String,
    sets: Vec<(Version, Option<Version>)>,
}

impl Among {
    /// What differs between sets; `None` where there are more than can be told apart.
    pub(crate) fn of(sets: &[Versions]) -> Option<Self> {
        if sets.len() > Cases::MOST {
            return None;
        }
        let all = sets.iter().flat_map(|set| set.known.iter().chain(&set.tried)).map(|(name, _)| name.as_str());
        let mut names: Vec<&str> = all.collect();
        names.sort_unstable();
        names.dedup();
        let open = names.into_iter().filter_map(|name| {
            let of = |set: &Versions| (set.version(name).into_owned(), set.known(name).cloned());
            let sets: Vec<(Version, Option<Version>)> = sets.iter().map(of).collect();
            let differs = sets.windows(2).any(|two| two[0] != two[1]);
            differs.then(|| Open { name: name.to_owned(), sets })
        });
        Some(Self { open: open.collect() })
    }

    /// Notes which sets have a version of a provider of which something is true.
    fn note(&self, provider: &str, is: impl Fn(&Version, Option<&Version>) -> bool) {
        if let Some(open) = self.open.iter().find(|open| open.name == provider) {
            alike::note(Cases::of(open.sets.iter().map(|(version, known)| is(version, known.as_ref()))));
        }
    }
}

impl Versions {
    /// The answer to a question about the version of a provider.
    pub fn ask<T: PartialEq>(&self, provider: &str, question: impl Fn(&Version) -> T) -> T {
        let provider = canonical(self.releases, provider);
        let answer = question(&self.version(provider));
        if let Some((among, _)) = &self.among {
            among.note(provider, |version, _| question(version) == answer);
        }
        answer
    }

    /// The version of a provider. Who wants less than the whole of it asks.
    #[must_use]
    pub fn get(&self, provider: &str) -> Version {
        self.ask(provider, Version::clone)
    }

    /// Whether another set of the same ones is judged with what this one has made.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let both = self.among.as_ref().zip(other.among.as_ref());
        both.is_some_and(|((own, _), (other, _))| Arc::ptr_eq(own, other))
    }

    /// The place of this set among those that are possible.
    pub(crate) fn case(&self) -> usize {
        self.among.as_ref().map_or(0, |(_, place)| *place)
    }

    /// The version of a provider by its own name.
    fn version(&self, provider: &str) -> Cow<'_, Version> {
        let own = self.known.iter().chain(&self.tried).find(|(name, _)| name == provider);
        let own = own.map(|(_, version)| Cow::Borrowed(version));
        own.or_else(|| newest(self.releases, provider).map(Cow::Owned)).unwrap_or(Cow::Owned(Version::new(0, 0, 0)))
    }

    /// The version of a provider that is not only tried.
    fn known(&self, provider: &str) -> Option<&Version> {
        self.known.iter().find(|(name, _)| name == provider).map(|(_, version)| version)
    }

    /// The version by which the fields of a kind are known: what is only tried does not count, since a chart that renders a
    /// field is no sign of an API server that lacks it.
    #[must_use]
    pub fn known_or_newest(&self, provider: &str) -> Version {
        let provider = canonical(self.releases, provider);
        let own = self.known(provider);
        if let Some((among, _)) = &self.among {
            among.note(provider, |_, known| known == own);
        }
        own.cloned().or_else(|| newest(self.releases, provider)).unwrap_or(Version::new(0, 0, 0))
    }

    /// Whether the version of a provider is known, so that it does not merely count as the newest.
    #[must_use]
    pub fn is_known(&self, provider: &str) -> bool {
        let provider = canonical(self.releases, provider);
        let is_known = self.known(provider).is_some();
        if let Some((among, _)) = &self.among {
            among.note(provider, |_, known| known.is_some() == is_known);
        }
        is_known
    }

    /// Whether a provider behaves so.
    #[must_use]
    pub fn has(&self, since: &Since) -> bool {
        self.ask(since.provider, |version| since.is_in(version))
            && !self.without.contains(&(since.provider, since.name))
    }

    /// These versions without some behaviours, as if they had never come.
    #[must_use]
    pub fn without(&self, behaviours: &[&'static Since]) -> Self {
        let without = behaviours.iter().map(|since| (since.provider, since.name)).collect();
        Self { without, ..self.alone() }
    }

    /// These versions as a set of its own, which has nothing to do with those that are possible beside it.
    fn alone(&self) -> Self {
        if let Some((_, place)) = self.among {
            alike::note(Cases::of((0..Cases::MOST).map(|other| other == place)));
        }
        Self { among: None, ..self.clone() }
    }

    /// These versions with others of some providers, known for sure.
    #[must_use]
    pub fn replaced(&self, others: &[(String, Version)]) -> Self {
        let mut out = self.alone();
        let stays = |(name, _): &(String, Version)| !others.iter().any(|(other, _)| other == name);
        out.known.retain(stays);
        out.tried.retain(stays);
        out.known.extend(others.iter().cloned());
        out
    }
}

/// The newest version known of a provider.
pub(crate) fn newest(releases: &[&Release], provider: &str) -> Option<Version> {
    releases.iter().find(|release| release.name == provider).map(|release| release.newest.clone())
}

/// The name under which the versions of a provider are kept: those that are released together share one.
pub(crate) fn canonical<'n>(releases: &[&Release], name: &'n str) -> &'n str {
    // Nearly always it is asked by the name itself.
    if releases.iter().any(|release| release.name == name) {
        return name;
    }
    let of = |name: &str| releases.iter().find(|release| release.aliases.contains(&name)).map(|release| release.name);
    of(name).unwrap_or_else(|| {
        let bare = ["infrastructure-", "cluster-api-provider-"].iter().find_map(|prefix| name.strip_prefix(prefix));
        bare.unwrap_or(name)
    })
}

/// A version with or without its `v`; parts that are missing are zero.
#[must_use]
pub fn parse(text: &str) -> Option<Version> {
    let text = text.trim().trim_start_matches('v');
    let core = text.split(['-', '+']).next().unwrap_or_default();
    let mut parts = core.split('.').map(str::parse::<u64>);
    let major = parts.next()?.ok()?;
    let minor = parts.next().unwrap_or(Ok(0)).ok()?;
    let patch = parts.next().unwrap_or(Ok(0)).ok()?;
    parts.next().is_none().then_some(Version::new(major, minor, patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_and_without_v() {
        assert_eq!(parse("v1.11.3"), Some(Version::new(1, 11, 3)));
        assert_eq!(parse("1.31.0-rc.1+rke2r1"), Some(Version::new(1, 31, 0)));
        assert_eq!(parse("v1.9"), Some(Version::new(1, 9, 0)));
        assert_eq!(parse("main"), None);
    }
}
