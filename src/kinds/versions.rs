//! Which version of each provider decides, and the newest that is known.
//! A version that nobody told counts as the newest known one; one that is newer than that is judged as that, and said so.

use semver::Version;

use crate::world::World;

/// The newest version of each provider whose behaviour is known here.
pub const NEWEST: &[(&str, Version)] = &[
    ("cluster-api", Version::new(1, 14, 2)),
    ("rke2", Version::new(0, 25, 0)),
    ("openstack", Version::new(0, 15, 0)),
    ("metal3", Version::new(1, 14, 0)),
    ("vsphere", Version::new(1, 17, 0)),
    ("docker", Version::new(1, 14, 2)),
    ("aws", Version::new(2, 13, 0)),
];

/// The versions by which mirrors and rules are chosen.
#[derive(Debug, Clone)]
pub struct Versions {
    known: Vec<(String, Version)>,
    /// What a person should know about them.
    pub warnings: Vec<String>,
}

impl Versions {
    /// Reads the versions of a World.
    #[must_use]
    pub fn of(world: &World) -> Self {
        let mut out = Self { known: Vec::new(), warnings: Vec::new() };
        for (name, provider) in &world.providers {
            let name = canonical(name);
            match parse(&provider.version) {
                Some(version) => out.add(name, version, &provider.version),
                None => out.warnings.push(format!(
                    "the version {:?} of provider {name} is not one; judged as the newest known",
                    provider.version
                )),
            }
        }
        out
    }

    /// Every set of versions that the World leaves open: parts of one provider that were found in different versions, and a
    /// version that was told without its patch. There is always one; the worse of their answers counts.
    #[must_use]
    pub fn candidates(world: &World) -> Vec<Self> {
        let base = Self::of(world);
        let mut sets = vec![Self { known: Vec::new(), warnings: base.warnings.clone() }];
        let mut names: Vec<&str> = base.known.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let choices = base.choices(name, world);
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
    fn choices(&self, name: &str, world: &World) -> Vec<Version> {
        let told = world.providers.iter().filter(|(own, _)| canonical(own) == name);
        let told: Vec<&str> = told
            .filter(|(_, provider)| provider.evidence == "told")
            .map(|(_, provider)| provider.version.as_str())
            .collect();
        let mut out: Vec<Version> = match told.as_slice() {
            [] => self.known.iter().filter(|(own, _)| own == name).map(|(_, version)| version.clone()).collect(),
            _ => told.iter().filter_map(|text| parse(text)).map(|version| cut(name, version)).collect(),
        };
        for text in told {
            // Patches matter too: where none was told, the last one that is known of that minor is possible as well.
            let whole =
                text.trim_start_matches('v').split(['-', '+']).next().unwrap_or_default().split('.').count() > 2;
            let last = newest(name).filter(|newest| parse(text).is_some_and(|own| same_minor(&own, newest)));
            out.extend(last.filter(|_| !whole));
        }
        out.sort();
        out.dedup();
        out
    }

    /// Versions of which only one is told, as tests and recordings do.
    #[must_use]
    pub fn told(provider: &str, version: &str) -> Self {
        let known = parse(version).map(|version| (canonical(provider).to_owned(), version)).into_iter().collect();
        Self { known, warnings: Vec::new() }
    }

    /// Adds one, cut to the newest known.
    fn add(&mut self, name: &str, version: Version, text: &str) {
        let version = match newest(name) {
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

    /// The version of a provider.
    #[must_use]
    pub fn get(&self, provider: &str) -> Version {
        let provider = canonical(provider);
        let own = self.known.iter().find(|(name, _)| name == provider).map(|(_, version)| version.clone());
        own.or_else(|| newest(provider)).unwrap_or(Version::new(0, 0, 0))
    }

    /// Whether the version of a provider is known, so that it does not merely count as the newest.
    #[must_use]
    pub fn is_known(&self, provider: &str) -> bool {
        let provider = canonical(provider);
        self.known.iter().any(|(name, _)| name == provider)
    }

    /// Whether a provider has this minor version or a later one.
    #[must_use]
    pub fn at_least(&self, provider: &str, major: u64, minor: u64) -> bool {
        let version = self.get(provider);
        (version.major, version.minor) >= (major, minor)
    }

    /// Whether Cluster API has this minor version or a later one.
    #[must_use]
    pub fn capi(&self, minor: u64) -> bool {
        self.at_least("cluster-api", 1, minor)
    }
}

/// How many sets of versions are judged at most.
const MOST_CANDIDATES: usize = 8;

/// A version, or the newest known one where that is older.
fn cut(name: &str, version: Version) -> Version {
    match newest(name) {
        Some(newest) if version > newest && !same_minor(&version, &newest) => newest,
        _ => version,
    }
}

/// Whether two versions are of one minor.
fn same_minor(left: &Version, right: &Version) -> bool {
    (left.major, left.minor) == (right.major, right.minor)
}

/// The newest version known of a provider.
fn newest(provider: &str) -> Option<Version> {
    NEWEST.iter().find(|(name, _)| *name == provider).map(|(_, version)| version.clone())
}

/// The kubeadm providers and the Docker provider are released together with Cluster API.
fn canonical(name: &str) -> &str {
    match name {
        "kubeadm" | "bootstrap-kubeadm" | "control-plane-kubeadm" | "core" => "cluster-api",
        "infrastructure-docker" | "in-memory" => "docker",
        "bootstrap-rke2" | "control-plane-rke2" | "caprke2" => "rke2",
        "capo" => "openstack",
        "capm3" => "metal3",
        "capv" => "vsphere",
        "capa" | "bootstrap-eks" | "control-plane-eks" => "aws",
        "capd" => "docker",
        "cluster-api-provider-rke2" => "rke2",
        _ => ["infrastructure-", "cluster-api-provider-"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .unwrap_or(name),
    }
}

/// Whether anything is known here about a provider of this name.
#[must_use]
pub fn is_known(name: &str) -> bool {
    let name = canonical(name);
    NEWEST.iter().any(|(known, _)| *known == name)
        || crate::rules::Rules::built_in().packs().iter().any(|pack| pack.provider == name)
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

    #[test]
    fn nothing_told_is_the_newest_known() {
        assert!(Versions::told("rke2", "v0.14.0").capi(14));
        assert!(!Versions::told("kubeadm", "v1.11.0").capi(12));
    }
}
