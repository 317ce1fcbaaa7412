//! Which versions a World leaves open, by the names and the newest versions of the providers that are known here.

use semver::Version;

use super::RELEASES;
use crate::kinds::versions::{Versions, canonical, newest, parse};

/// A version as somebody told or found it.
#[derive(Debug, Clone, Copy)]
pub struct Told<'t> {
    /// The provider, under any of its names.
    pub provider: &'t str,
    /// The version.
    pub version: &'t str,
    /// Whether a person told it, so that what was found does not count.
    pub by_person: bool,
}

impl Versions {
    /// Reads the versions of a World.
    #[must_use]
    pub fn of(told: &[Told<'_>]) -> Self {
        let mut out = Self { known: Vec::new(), releases: &RELEASES, warnings: Vec::new() };
        for Told { provider, version: text, .. } in told {
            let name = canonical(&RELEASES, provider);
            match parse(text) {
                Some(version) => out.add(name, version, text),
                None => out
                    .warnings
                    .push(format!("the version {text:?} of provider {name} is not one; judged as the newest known")),
            }
        }
        out
    }

    /// Every set of versions that the World leaves open: parts of one provider that were found in different versions, and a
    /// version that was told without its patch. There is always one; the worse of their answers counts.
    #[must_use]
    pub fn candidates(told: &[Told<'_>]) -> Vec<Self> {
        let base = Self::of(told);
        let mut sets = vec![Self { known: Vec::new(), ..base.clone() }];
        let mut names: Vec<&str> = base.known.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let choices = base.choices(name, told);
            if choices.len() > 1 {
                let words: Vec<String> = choices.iter().map(|version| format!("v{version}")).collect();
                let warning = format!(
                    "{name} may be {}; what is said is the worse of what these would do (--provider {name}=VERSION tells which)",
                    words.join(" or ")
                );
                sets.iter_mut().for_each(|set| set.warnings.push(warning.clone()));
            }
            let mut next = Vec::new();
            for set in &sets {
                for version in &choices {
                    let mut set = set.clone();
                    set.known.push((name.to_owned(), version.clone()));
                    next.push(set);
                }
            }
            sets = next;
        }
        sets.truncate(MOST_CANDIDATES);
        sets
    }

    /// The versions that one provider may have; what somebody told counts alone.
    fn choices(&self, name: &str, told: &[Told<'_>]) -> Vec<Version> {
        let own = told.iter().filter(|told| canonical(&RELEASES, told.provider) == name);
        let told: Vec<&str> = own.filter(|told| told.by_person).map(|told| told.version).collect();
        let mut out: Vec<Version> = match told.as_slice() {
            [] => self.known.iter().filter(|(own, _)| own == name).map(|(_, version)| version.clone()).collect(),
            _ => told.iter().filter_map(|text| parse(text)).map(|version| cut(name, version)).collect(),
        };
        for text in told {
            // Patches matter too: where none was told, the last one that is known of that minor is possible as well.
            let whole =
                text.trim_start_matches('v').split(['-', '+']).next().unwrap_or_default().split('.').count() > 2;
            let last = newest(&RELEASES, name).filter(|newest| parse(text).is_some_and(|own| same_minor(&own, newest)));
            out.extend(last.filter(|_| !whole));
        }
        out.sort();
        out.dedup();
        out
    }

    /// Versions of which only one is told, as tests and recordings do.
    #[must_use]
    pub fn told(provider: &str, version: &str) -> Self {
        let known =
            parse(version).map(|version| (canonical(&RELEASES, provider).to_owned(), version)).into_iter().collect();
        Self { known, releases: &RELEASES, warnings: Vec::new() }
    }

    /// Adds one, cut to the newest known.
    fn add(&mut self, name: &str, version: Version, text: &str) {
        let version = match newest(&RELEASES, name) {
            Some(newest) if (version.major, version.minor) > (newest.major, newest.minor) => {
                self.warnings.push(format!(
                    "{name} {text} is newer than the newest version known here; judged as v{newest}, which may be wrong"
                ));
                newest
            }
            _ => version,
        };
        self.known.push((name.to_owned(), version));
    }
}

/// How many sets of versions are judged at most.
const MOST_CANDIDATES: usize = 8;

/// A version, or the newest known one where that is older.
fn cut(name: &str, version: Version) -> Version {
    match newest(&RELEASES, name) {
        Some(newest) if version > newest && !same_minor(&version, &newest) => newest,
        _ => version,
    }
}

/// Whether two versions are of one minor.
fn same_minor(left: &Version, right: &Version) -> bool {
    (left.major, left.minor) == (right.major, right.minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_told_is_the_newest_known() {
        assert_eq!(Versions::told("rke2", "v0.14.0").get("cluster-api").minor, 14);
        assert_eq!(Versions::told("kubeadm", "v1.11.0").get("core").minor, 11);
    }
}
