//! Versions as k0smotron 2.1 reads and compares them (`version.go` of k0sproject/version 0.6, which is that of
//! hashicorp/go-version 1.6).

use std::cmp::Ordering;

/// A version. Two are the same where all of it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    /// Its numbers; of the first three, those that are not said are zero.
    numbers: Vec<u64>,
    /// What stands after a `-`.
    pre: String,
    /// What stands after a `+`.
    meta: String,
}

impl Version {
    /// Major, minor and patch.
    pub(super) fn core(&self) -> [u64; 3] {
        let mut out = [0; 3];
        out.iter_mut().zip(&self.numbers).for_each(|(out, number)| *out = *number);
        out
    }

    /// Whether it is older than a version with these numbers and this word after the `+` (LessThan): where only those words differ, as
    /// texts.
    pub(super) fn is_below(&self, core: [u64; 3], meta: &str) -> bool {
        let others = self.numbers.iter().skip(core.len()).any(|number| *number > 0);
        match self.core().cmp(&core) {
            Ordering::Equal if others => false,
            Ordering::Equal => !self.pre.is_empty() || self.meta.as_str() < meta,
            order => order == Ordering::Less,
        }
    }
}

/// Reads a version (NewVersion); `None` where it is none.
pub(super) fn read(text: &str) -> Option<Version> {
    let bare = text.strip_prefix('v').unwrap_or(text);
    let bare = bare.strip_prefix('v').unwrap_or(bare);
    let (front, meta) = match bare.split_once('+') {
        Some((front, meta)) => (front, Some(meta)),
        None => (bare, None),
    };
    let (numbers, rest) = front.split_at(front.find(|sign| !matches!(sign, '0'..='9' | '.')).unwrap_or(front.len()));
    let pre = rest.strip_prefix('-').filter(|pre| !pre.is_empty()).unwrap_or(rest);
    if !(pre.is_empty() || is_word(pre)) || !meta.is_none_or(is_word) {
        return None;
    }
    let mut numbers: Vec<u64> = numbers.split('.').map(number).collect::<Option<_>>()?;
    numbers.resize(numbers.len().max(3), 0);
    Some(Version { numbers, pre: pre.to_owned(), meta: meta.unwrap_or_default().to_owned() })
}

/// A number of a version.
fn number(text: &str) -> Option<u64> {
    Some(text.parse::<i64>().ok()?.unsigned_abs())
}

/// Whether a text is made of what may stand after the numbers.
fn is_word(text: &str) -> bool {
    let is_part = |part: &str| part.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '~'));
    text.split('.').all(|part| !part.is_empty() && is_part(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_as_k0smotron_reads_it() {
        let core = |text: &str| read(text).map(|version| version.core());
        assert_eq!(core("v1.31.2+k0s.0"), Some([1, 31, 2]));
        assert_eq!(core("1.31"), Some([1, 31, 0]));
        assert_eq!(core("v1.31.2-k0s.0"), Some([1, 31, 2]));
        assert_eq!(core("v1.31.2+K0s.0"), Some([1, 31, 2]));
        for none in
            ["", "v", "latest", "v1.31.2_k0s", "v1.31.2+", "v1..2", "v1.31.", "v1.31 ", "v1.31.2+a+b", "v1.31.2+k0s."]
        {
            assert_eq!(core(none), None, "{none}");
        }
    }

    #[test]
    fn all_of_two_versions_is_compared() {
        let same = |left: &str, right: &str| read(left) == read(right);
        assert!(same("v1.31.2+k0s.0", "1.31.2+k0s.0") && same("v1.31", "v1.31.0"));
        assert!(!same("v1.31.2+k0s.0", "v1.31.2+k0s.1"));
        assert!(!same("v1.31.2+k0s.0", "v1.31.2"));
        assert!(!same("v1.31.2-rc.1+k0s.0", "v1.31.2+k0s.0"));
    }
}
