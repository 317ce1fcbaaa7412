//! The versions of Kubernetes that a chart names, and those for which it has to be rendered to see whether it asks for them.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use memchr::memmem;

use super::VERSION;

/// Minor versions that an API server may have: those that Cluster API manages, and far beyond.
const MINORS: RangeInclusive<u64> = 20..=99;
/// Those that a number of its own may mean, in a chart that compares numbers.
const NUMBERS: RangeInclusive<u64> = 20..=49;
/// A patch that no minor version reaches.
const LAST: u64 = 99;

/// The versions that the files of a chart name.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// As `1.31`.
    minors: BTreeSet<u64>,
    /// As `1.31.4`.
    patches: BTreeSet<(u64, u64)>,
    /// As a number of its own.
    numbers: BTreeSet<u64>,
    /// Whether a file asks for the version by its numbers: then one may be put together from what stands in others.
    by_number: bool,
}

impl Named {
    /// Adds what a file names.
    pub(super) fn add(&mut self, text: &[u8]) {
        let says = |word: &[u8]| memmem::find(text, word).is_some();
        let asks = says(VERSION);
        // Whoever compares texts names a version, or puts one together: `printf`, `int`, `splitList`, `regexFind`, `atoi`.
        let by_number: [&[u8]; 5] = [b"Minor", b"int", b"split", b"regex", b"atoi"];
        self.by_number |= asks && by_number.into_iter().any(says);
        for run in text.split(|byte| !(byte.is_ascii_digit() || *byte == b'.')) {
            let Ok(run) = str::from_utf8(run) else { continue };
            let mut parts = run.split('.').map(str::parse::<u64>);
            match (parts.next(), parts.next(), parts.next()) {
                (Some(Ok(1)), Some(Ok(minor)), patch) if MINORS.contains(&minor) => {
                    self.minors.insert(minor);
                    self.patches.extend(patch.and_then(Result::ok).map(|patch| (minor, patch)));
                }
                (Some(Ok(number)), None, _) if asks && MINORS.contains(&number) => {
                    self.minors.insert(number);
                }
                (Some(Ok(number)), None, _) if NUMBERS.contains(&number) => {
                    self.numbers.insert(number);
                }
                _ => {}
            }
        }
    }

    /// The oldest and the newest version, and those around each that is named: minor and patch.
    pub(super) fn around(&self) -> BTreeSet<(u64, u64)> {
        let numbers = self.numbers.iter().filter(|_| self.by_number);
        let around = self.minors.iter().chain(numbers).flat_map(|minor| minor - 1..=minor + 1);
        let first = around.chain([*MINORS.start(), *MINORS.end()]).map(|minor| (minor, 0));
        let last = self.minors.iter().map(|minor| (*minor, LAST));
        first.chain(last).chain(self.patches.iter().copied()).filter(|(minor, _)| MINORS.contains(minor)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(texts: &[&str]) -> Vec<String> {
        let mut named = Named::default();
        texts.iter().for_each(|text| named.add(text.as_bytes()));
        named.around().iter().map(|(minor, patch)| format!("{minor}.{patch}")).collect()
    }

    #[test]
    fn versions_around_each_that_is_named_are_tried() {
        assert_eq!(around(&["replicas: 30, port: 1.5"]), ["20.0", "99.0"]);
        assert_eq!(
            around(&["{{ semverCompare \">=1.30-0\" .Capabilities.KubeVersion.Version }}"]),
            ["20.0", "29.0", "30.0", "30.99", "31.0", "99.0"]
        );
        assert_eq!(around(&["min: 1.30.4"]), ["20.0", "29.0", "30.0", "30.4", "30.99", "31.0", "99.0"]);
    }

    #[test]
    fn a_number_counts_where_numbers_are_compared() {
        let asks = "{{ ge (int .Capabilities.KubeVersion.Minor) (int .Values.minor) }}";
        assert_eq!(around(&[asks, "minor: 30"]), ["20.0", "29.0", "30.0", "31.0", "99.0"]);
        let printed = "{{ semverCompare (printf \"~1.%d\" .Values.minor) .Capabilities.KubeVersion.Version }}";
        assert_eq!(around(&["minor: 30", printed]), ["20.0", "29.0", "30.0", "31.0", "99.0"]);
        assert_eq!(around(&["{{ .Capabilities.KubeVersion }}", "minor: 30"]), ["20.0", "99.0"]);
        assert_eq!(around(&["{{ .Capabilities.KubeVersion }} 30"]), ["20.0", "29.0", "30.0", "30.99", "31.0", "99.0"]);
    }
}
