//! Which changes of the CoreDNS image tag the control plane's webhook lets through.
//! Read beside `kubeadmcontrolplane.go` (validateCoreDNSVersion) of Cluster API and the list of versions of
//! `coredns/corefile-migration` that each minor version is built with: only steps up that list are allowed.

use crate::kinds::Versions;
use crate::kinds::versions::parse as parse_version;
use crate::providers::core::changes::V1BETA2;
use semver::Version;

/// Versions that the migration knows, oldest first.
const KNOWN: &[&str] = &[
    "1.1.3", "1.1.4", "1.2.0", "1.2.1", "1.2.2", "1.2.3", "1.2.4", "1.2.5", "1.2.6", "1.3.0", "1.3.1", "1.4.0",
    "1.5.0", "1.5.1", "1.5.2", "1.6.0", "1.6.1", "1.6.2", "1.6.3", "1.6.4", "1.6.5", "1.6.6", "1.6.7", "1.6.9",
    "1.7.0", "1.7.1", "1.8.0", "1.8.3", "1.8.4", "1.8.5", "1.8.6", "1.8.7", "1.9.0", "1.9.1", "1.9.2", "1.9.3",
    "1.9.4", "1.10.0", "1.10.1", "1.11.0", "1.11.1", "1.11.3", "1.11.4", "1.12.0", "1.12.1", "1.12.2", "1.12.3",
    "1.12.4", "1.13.0", "1.13.1", "1.13.2", "1.14.0", "1.14.1", "1.14.2", "1.14.3", "1.14.4", "1.14.6", "1.14.7",
];

/// Newest CoreDNS that a minor version of Cluster API knows.
fn newest(minor: u64) -> &'static str {
    match minor {
        ..=6 => "1.11.1",
        7 => "1.11.3",
        8 => "1.12.1",
        9 => "1.12.0",
        10 | 11 => "1.13.1",
        12 => "1.14.1",
        _ => "1.14.7",
    }
}

/// Why a change of the image tag is refused; `None` where it is not. `skip` is the annotation that turns the check off.
#[must_use]
pub(crate) fn refused(before: Option<&str>, after: Option<&str>, skip: bool, versions: &Versions) -> Option<String> {
    let after = after.filter(|tag| !tag.is_empty())?;
    if !after.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
        return Some(format!("{after:?} is not a tag of an image"));
    }
    let version = |tag: &str| if versions.has(&V1BETA2) { version(tag) } else { whole_version(tag) };
    let Some(to) = version(after) else { return Some(format!("the tag {after:?} is not a version of CoreDNS")) };
    let before = before.filter(|tag| !tag.is_empty())?;
    let Some(from) = version(before) else {
        return Some(format!("the old tag {before:?} is not a version of CoreDNS"));
    };
    if from == to || skip {
        return None;
    }
    let newest = versions.ask(V1BETA2.provider, |version| newest(version.minor));
    let place = |version: &Version| {
        let last = KNOWN.iter().position(|known| *known == newest)?;
        KNOWN.iter().position(|known| **known == *version.to_string()).filter(|place| *place <= last)
    };
    match (place(&from), place(&to)) {
        (Some(from), Some(to)) if to > from => None,
        _ => Some(format!("CoreDNS cannot be moved up from {from} to {to}")),
    }
}

/// A tag such as `v1.11.3_vendor.1` as a version.
fn version(tag: &str) -> Option<Version> {
    parse_version(&tag.replace('_', "+"))
}

/// Up to 1.10 all three numbers had to be there; whatever follows them is not looked at (ParseMajorMinorPatchTolerant).
fn whole_version(tag: &str) -> Option<Version> {
    let mut rest = tag.strip_prefix('v').unwrap_or(tag);
    let mut number = |is_last: bool| {
        let digits = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        rest = if is_last { after } else { after.strip_prefix('.')? };
        if number.len() > 1 && number.starts_with('0') { None } else { number.parse::<u64>().ok() }
    };
    Some(Version::new(number(false)?, number(false)?, number(true)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_steps_up_are_let_through() {
        let versions = Versions::told("cluster-api", "v1.14.2");
        let refused = |before, after| refused(Some(before), Some(after), false, &versions).is_some();
        assert!(!refused("v1.11.1", "v1.11.3"));
        assert!(!refused("v1.99.0", "v1.99.0"));
        assert!(refused("v1.11.3", "v1.11.1"));
        assert!(refused("v1.11.3", "v1.99.0"));
        assert!(refused("v1.11.3", "latest"));
    }

    #[test]
    fn an_old_provider_wants_all_three_numbers() {
        let refused = |minor: &str, tag: &str| {
            let versions = Versions::told("cluster-api", minor);
            refused(None, Some(tag), false, &versions).is_some()
        };
        assert!(refused("v1.10.10", "v1.7"));
        assert!(!refused("v1.11.5", "v1.7"));
        assert!(!refused("v1.10.10", "v1.7.0"));
        assert!(!refused("v1.10.10", "1.11.3_vendor.1"));
    }
}
