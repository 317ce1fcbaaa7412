//! Which versions a World leaves open, by the names and the newest versions of the providers that are known here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use semver::Version;

use super::{PROVIDERS, RELEASES, release_of};
use crate::kinds::shapes::came_with;
use crate::kinds::versions::{Among, Versions, canonical, newest, parse};

/// A version as somebody told or found it.
#[derive(Debug, Clone, Copy)]
pub struct ToldVersion<'t> {
    /// The provider, under any of its names.
    pub provider: &'t str,
    /// The version.
    pub version: &'t str,
    /// Whether a person told it, so that what was found does not count.
    pub by_person: bool,
}

/// Versions since which a provider behaves otherwise, by provider.
pub(crate) type Turns = BTreeMap<String, BTreeSet<(u64, u64, u64)>>;

/// The name under which the version of a provider is told.
#[must_use]
pub(crate) fn named(provider: &str) -> &str {
    canonical(&RELEASES, provider)
}

/// Why the API server has no such kind in an `apiVersion` with the versions of providers that were told: it came later, and the kind was there
/// before in another one. `None` where that is not known.
#[must_use]
pub(crate) fn came_later(told: &[ToldVersion<'_>], (group, kind, api_version): (&str, &str, &str)) -> Option<String> {
    let name = release_of(group, kind)?;
    let own = told.iter().filter(|told| named(told.provider) == name);
    let newest = own.map(|told| parse(told.version)).collect::<Option<Vec<Version>>>()?.into_iter().max()?;
    let minor = (newest.major, newest.minor);
    let came = came_with(kind, api_version).filter(|came| named(came.provider) == name && minor <= came.not_in)?;
    let (major, minor) = came.first;
    Some(format!("{name} v{newest} has no {kind} of {api_version}, which came with v{major}.{minor}"))
}

/// The versions of each provider since which it behaves otherwise.
#[must_use]
pub(crate) fn turns() -> Turns {
    /// Every judgement wants to know.
    static TURNS: LazyLock<Turns> = LazyLock::new(|| {
        let mut out = Turns::new();
        for since in PROVIDERS.iter().flat_map(|provider| provider.changes) {
            out.entry(named(since.provider).to_owned()).or_default().extend(since.turns());
        }
        out
    });
    TURNS.clone()
}

/// One version that a provider may have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Choice {
    version: Version,
    /// Whether it is only tried.
    is_tried: bool,
}

impl Versions {
    /// Reads the versions of a World.
    #[must_use]
    pub fn of(told: &[ToldVersion<'_>]) -> Self {
        let mut out = Self {
            known: Vec::new(),
            tried: Vec::new(),
            releases: &RELEASES,
            without: Vec::new(),
            warnings: Vec::new(),
            among: None,
        };
        for ToldVersion { provider, version: text, .. } in told {
            let name = named(provider);
            match parse(text) {
                Some(version) if !is_newer(name, &version) => out.known.push((name.to_owned(), version)),
                Some(_) => out.warnings.push(format!(
                    "{name} {text} is newer than the newest version known here; where the known ones differ, the worst counts"
                )),
                None => out.warnings.push(format!(
                    "the version {text:?} of provider {name} is not one; where the known ones differ, the worst counts"
                )),
            }
        }
        out
    }

    /// Every set of versions that the World leaves open: parts of one provider that were found in different versions, a version
    /// that was told without its patch, and of each provider in `turns` that has none the last before each of its turns.
    /// There is always one; the worse of their answers counts.
    #[must_use]
    pub fn candidates(told: &[ToldVersion<'_>], turns: &Turns) -> Vec<Self> {
        let base = Self::of(told);
        let names: BTreeSet<&str> =
            base.known.iter().map(|(name, _)| name).chain(turns.keys()).map(String::as_str).collect();
        let mut first = Self { known: Vec::new(), ..base.clone() };
        let mut open: Vec<(&str, Vec<Choice>)> = Vec::new();
        for name in names {
            let choices = base.choices(name, told, turns.get(name));
            if choices.len() > 1 && !choices[0].is_tried {
                let words: Vec<String> = choices.iter().map(|choice| format!("v{}", choice.version)).collect();
                first.warnings.push(format!(
                    "{name} may be {}; the worst of what these would do counts; pass --provider {name}=VERSION",
                    words.join(" or ")
                ));
            }
            open.push((name, choices));
        }
        let all: usize = open.iter().map(|(_, choices)| choices.len().max(1)).product();
        let mut sets = vec![first];
        for (name, choices) in &open {
            // Too many to try each with each: then each with the first of the others.
            let others = if all > MOST_CANDIDATES { 1 } else { sets.len() };
            let mut next = Vec::new();
            for (at, set) in sets.iter().enumerate() {
                for choice in choices.iter().take(if at < others { choices.len() } else { 1 }) {
                    next.push(set.with(name, choice));
                }
            }
            sets = next;
        }
        if let Some(among) = Among::of(&sets).map(Arc::new) {
            sets.iter_mut().enumerate().for_each(|(place, set)| set.among = Some((Arc::clone(&among), place)));
        }
        sets
    }

    /// These versions and one more.
    fn with(&self, name: &str, choice: &Choice) -> Self {
        let mut set = self.clone();
        let list = if choice.is_tried { &mut set.tried } else { &mut set.known };
        list.push((name.to_owned(), choice.version.clone()));
        set
    }

    /// The versions that are only tried, and are not the newest known ones, as people write them.
    #[must_use]
    pub fn older_tried(&self) -> Vec<(&str, String)> {
        let older = self.tried.iter().filter(|(name, version)| newest(&RELEASES, name).as_ref() != Some(version));
        let word = |version: &Version| match version.patch {
            LAST_PATCH => format!("v{}.{}", version.major, version.minor),
            _ => format!("v{version}"),
        };
        older.map(|(name, version)| (name.as_str(), word(version))).collect()
    }

    /// The versions that one provider may have, the likeliest first; what somebody told counts alone.
    fn choices(&self, name: &str, told: &[ToldVersion<'_>], turns: Option<&BTreeSet<(u64, u64, u64)>>) -> Vec<Choice> {
        let own = || told.iter().filter(|told| named(told.provider) == name);
        let by_person = own().any(|told| told.by_person);
        let told: Vec<&ToldVersion<'_>> = own().filter(|told| told.by_person || !by_person).collect();
        let versions: Option<Vec<Version>> =
            told.iter().map(|told| parse(told.version).filter(|version| !is_newer(name, version))).collect();
        let Some(mut out) = versions.filter(|versions| !versions.is_empty()) else { return tried(name, turns) };
        for text in told.iter().filter(|told| told.by_person).map(|told| told.version) {
            // Patches matter too: where none was told, those of that minor that behave otherwise are possible as well, and the last
            // one that is known.
            let whole =
                text.trim_start_matches('v').split(['-', '+']).next().unwrap_or_default().split('.').count() > 2;
            let patches = turns.into_iter().flatten().map(|(major, minor, patch)| Version::new(*major, *minor, *patch));
            let of_minor = |other: &Version| parse(text).is_some_and(|own| same_minor(&own, other));
            out.extend(newest(&RELEASES, name).into_iter().chain(patches).filter(of_minor).filter(|_| !whole));
        }
        out.sort();
        out.dedup();
        out.into_iter().map(|version| Choice { version, is_tried: false }).collect()
    }

    /// Versions of which only one is told, as tests and recordings do.
    #[must_use]
    pub fn told(provider: &str, version: &str) -> Self {
        let known = parse(version).map(|version| (named(provider).to_owned(), version)).into_iter().collect();
        Self { known, ..Self::of(&[]) }
    }
}

/// How many sets of versions are judged at most, unless single providers alone leave more open.
const MOST_CANDIDATES: usize = 16;

/// The versions to try of a provider of which none is known: the newest, and the last one before each turn.
fn tried(name: &str, turns: Option<&BTreeSet<(u64, u64, u64)>>) -> Vec<Choice> {
    let choice = |version| Choice { version, is_tried: true };
    let last_before = |(major, minor, patch): &(u64, u64, u64)| match (minor.checked_sub(1), patch.checked_sub(1)) {
        (_, Some(patch)) => Some(Version::new(*major, *minor, patch)),
        (Some(minor), None) => Some(Version::new(*major, minor, LAST_PATCH)),
        (None, None) => None,
    };
    let before = turns.into_iter().flatten().rev().filter_map(last_before);
    newest(&RELEASES, name).into_iter().chain(before).map(choice).collect()
}

/// The patch of a version of which only the minor counts.
const LAST_PATCH: u64 = 99;

/// Whether a version is newer than all that are known.
fn is_newer(name: &str, version: &Version) -> bool {
    newest(&RELEASES, name).is_some_and(|newest| (version.major, version.minor) > (newest.major, newest.minor))
}

/// Whether two versions are of one minor.
fn same_minor(left: &Version, right: &Version) -> bool {
    (left.major, left.minor) == (right.major, right.minor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::versions::Since;

    #[test]
    fn nothing_told_is_the_newest_known() {
        assert_eq!(Versions::told("rke2", "v0.14.0").get("cluster-api").minor, 14);
        assert_eq!(Versions::told("kubeadm", "v1.11.0").get("core").minor, 11);
    }

    fn tried(told: &[(&str, &str, bool)], turns: &Turns) -> Vec<Vec<(String, u64)>> {
        let told: Vec<ToldVersion<'_>> = told
            .iter()
            .map(|(provider, version, by_person)| ToldVersion { provider, version, by_person: *by_person })
            .collect();
        let of = |set: &Versions| turns.keys().map(|name| (name.clone(), set.get(name).minor)).collect();
        Versions::candidates(&told, turns).iter().map(of).collect()
    }

    fn of(name: &str, minors: &[u64]) -> Vec<Vec<(String, u64)>> {
        minors.iter().map(|minor| vec![(name.to_owned(), *minor)]).collect()
    }

    #[test]
    fn a_version_of_the_api_that_came_later_is_not_there() {
        let why = |told: &[&str], kind: &str, version: &str| {
            let all = told.iter().map(|version| ToldVersion { provider: "core", version, by_person: true });
            let of = ("cluster.x-k8s.io", kind, &*format!("cluster.x-k8s.io/{version}"));
            came_later(&all.collect::<Vec<_>>(), of)
        };
        let said = "cluster-api v1.10.5 has no MachineDeployment of cluster.x-k8s.io/v1beta2, which came with v1.11";
        assert_eq!(why(&["v1.10.5"], "MachineDeployment", "v1beta2").as_deref(), Some(said));
        for told in [&[][..], &["v1.11.0"], &["v1.10.5", "v1.12.0"], &["v1.10.5", "main"]] {
            assert_eq!(why(told, "MachineDeployment", "v1beta2"), None, "{told:?}");
        }
        assert_eq!(why(&["v1.10.5"], "MachineDeployment", "v1beta1"), None);
        assert_eq!(why(&["v1.10.5"], "Unheard", "v1beta2"), None);
    }

    #[test]
    fn a_version_that_is_not_known_may_be_each_that_behaves_otherwise() {
        let turns = Turns::from([("cluster-api".to_owned(), BTreeSet::from([(1, 9, 0), (1, 12, 0)]))]);
        assert_eq!(tried(&[], &turns), of("cluster-api", &[14, 11, 8]));
        // Newer than all that is known, and no version at all.
        assert_eq!(tried(&[("core", "v1.15.0", false)], &turns), of("cluster-api", &[14, 11, 8]));
        assert_eq!(tried(&[("core", "main", true)], &turns), of("cluster-api", &[14, 11, 8]));
        // A person's word ends it.
        assert_eq!(tried(&[("core", "v1.15.0", false), ("core", "v1.13.1", true)], &turns), of("cluster-api", &[13]));
        assert_eq!(tried(&[("core", "v1.10.2", false)], &turns), of("cluster-api", &[10]));
    }

    #[test]
    fn a_patch_that_behaves_otherwise_is_a_version_of_its_own() {
        let turns = Turns::from([("cluster-api".to_owned(), BTreeSet::from([(1, 11, 4), (1, 12, 0)]))]);
        let of = |told: &[(&str, bool)]| -> Vec<String> {
            let told = told.iter().map(|(version, by_person)| ToldVersion {
                provider: "core",
                version,
                by_person: *by_person,
            });
            let sets = Versions::candidates(&told.collect::<Vec<_>>(), &turns);
            sets.iter().map(|set| set.get("cluster-api").to_string()).collect()
        };
        assert_eq!(of(&[]), ["1.14.2", "1.11.99", "1.11.3"]);
        assert_eq!(of(&[("v1.11", true)]), ["1.11.0", "1.11.4"]);
        assert_eq!(of(&[("v1.11.2", true)]), ["1.11.2"]);
        assert_eq!(of(&[("v1.10", true)]), ["1.10.0"]);
        static PATCHED: Since = Since::new("a", "cluster-api", (1, 13), "a").patched(&[(1, 11, 4), (1, 12, 1)]);
        let has = |version: &str| Versions::told("cluster-api", version).has(&PATCHED);
        assert!(["v1.11.4", "v1.11.9", "v1.12.1", "v1.13.0"].into_iter().all(has));
        assert!(!["v1.10.9", "v1.11.3", "v1.12.0"].into_iter().any(has));
    }

    #[test]
    fn where_too_much_is_open_each_version_is_tried_with_the_first_of_the_others() {
        let minors = |from: u64| (from..from + 6).map(|minor| (1, minor, 0)).collect::<BTreeSet<_>>();
        let turns = Turns::from([("cluster-api".to_owned(), minors(5)), ("metal3".to_owned(), minors(6))]);
        let sets = tried(&[], &turns);
        assert_eq!(sets.len(), 13);
        for (place, known) in [(0, 4..=9), (1, 5..=10)] {
            assert!(known.into_iter().all(|minor| sets.iter().any(|set| set[place].1 == minor)), "{sets:?}");
        }
    }
}
