//! How the operator reads the address of a management controller, and what it can do through it.
//! Read beside `pkg/hardwareutils/bmc/{access,ipmi,redfish,redfish_https,redfish_virtualmedia,idrac_virtualmedia,ilo4,ilo5,irmc}.go`
//! (GetParsedURL, NewAccessDetails) of baremetal-operator 0.10 to 0.14.

use super::changes::{BOOT_ADDRESSES, REDFISH_FINDS, WITHOUT_ILO, WITHOUT_IRMC};
use crate::kinds::Versions;
use crate::kinds::url::{self, Url};

/// A way to a management controller.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Access {
    /// What the address begins with, without the way of transport.
    pub(super) kind: String,
}

/// Those that go over HTTP, and may say how.
const REDFISH: [&str; 7] = [
    "redfish",
    "ilo5-redfish",
    "idrac-redfish",
    "redfish-uefihttp",
    "redfish-virtualmedia",
    "ilo5-virtualmedia",
    "idrac-virtualmedia",
];
const ILO: [&str; 3] = ["ilo4", "ilo4-virtualmedia", "ilo5"];

impl Access {
    /// The way that an address names; what is wrong with an address that names none.
    pub(super) fn of(address: &str, versions: &Versions) -> Result<Self, String> {
        let Some((scheme, host)) = split(address) else {
            return Err(format!("{address:?} is not read as an address"));
        };
        if !is_host(&host) {
            return Err(format!("{host:?} is no host"));
        }
        let (kind, transport) = scheme.split_once('+').map_or((scheme.as_str(), None), |(kind, way)| (kind, Some(way)));
        let is_known = match transport {
            None if ["ipmi", "libvirt"].contains(&kind) => true,
            None if kind == "irmc" => !versions.has(&WITHOUT_IRMC),
            None | Some("http" | "https") if REDFISH.contains(&kind) => true,
            None | Some("https") if ILO.contains(&kind) => !versions.has(&WITHOUT_ILO),
            _ => false,
        };
        match is_known {
            true => Ok(Self { kind: kind.to_owned() }),
            false => Err(format!("{scheme} is no way to a management controller that is known")),
        }
    }

    /// Whether a host needs the address of the interface that it boots from.
    pub(super) fn needs_boot_address(&self, versions: &Versions) -> bool {
        match self.kind.as_str() {
            "ipmi" => false,
            "libvirt" => true,
            kind if ILO.contains(&kind) || kind == "irmc" => true,
            kind if kind.ends_with("virtualmedia") => !versions.has(&BOOT_ADDRESSES),
            _ => !versions.has(&REDFISH_FINDS),
        }
    }

    /// Whether its firmware is set through the host itself.
    pub(super) fn has_firmware(&self) -> bool {
        ILO.contains(&self.kind.as_str()) || self.kind == "irmc"
    }

    /// Whether it makes volumes in hardware.
    pub(super) fn has_raid(&self) -> bool {
        !matches!(self.kind.as_str(), "ipmi" | "libvirt" | "ilo4" | "ilo4-virtualmedia")
    }

    /// Whether it turns secure boot on and off.
    pub(super) fn has_secure_boot(&self) -> bool {
        !matches!(self.kind.as_str(), "ipmi" | "libvirt")
    }

    /// Whether it inspects a host without starting it.
    pub(super) fn inspects(&self) -> bool {
        REDFISH.contains(&self.kind.as_str())
    }
}

/// The scheme of an address and its host without the port; an address without a scheme is of IPMI. `None` where it is not read.
fn split(address: &str) -> Option<(String, String)> {
    let told = |url: Url<'_>| (url.scheme.clone(), url.hostname().to_owned());
    let Some(url) = url::parse(address) else {
        // A host with its port is no address to Go.
        let is_plain = !address.contains(':') || url::is_host_and_port(address);
        return is_plain.then(|| ("ipmi".to_owned(), url::hostname(address).to_owned()));
    };
    if url.is_opaque {
        return url::parse(&address.replacen(':', "://", 1)).map(told);
    }
    if url.scheme.is_empty() && url.hostname().is_empty() {
        return url::parse(&format!("ipmi://{address}")).map(told);
    }
    Some(told(url))
}

/// Whether it is an address, or a name as DNS has them (checkDNSValid); none is fine.
fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        let ends = |end: Option<char>| end.is_some_and(|letter| letter.is_ascii_alphanumeric());
        label.len() <= 63
            && ends(label.chars().next())
            && ends(label.chars().last())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    host.is_empty() || host.parse::<std::net::IpAddr>().is_ok() || host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(address: &str, version: &str) -> Result<String, String> {
        Access::of(address, &Versions::told("baremetal-operator", version)).map(|access| access.kind)
    }

    #[test]
    fn an_address_says_the_way() {
        for (address, kind) in [
            ("10.0.0.1", "ipmi"),
            ("10.0.0.1:623", "ipmi"),
            ("ipmi://[fd00::1]:6230", "ipmi"),
            ("redfish+http://user@bmc-1.example.com/redfish/v1/Systems/1", "redfish"),
            ("IDRAC-virtualmedia://10.0.0.1/redfish", "idrac-virtualmedia"),
        ] {
            assert_eq!(told(address, "v0.13.0").as_deref(), Ok(kind), "{address}");
        }
        for address in [
            "ipmi://bmc_1",
            "localhost:623",
            "ipmi+https://10.0.0.1",
            "ssh://10.0.0.1",
            "redfish://10.0.0.1:notaport/redfish",
            "redfish://fd00::1/redfish",
            "[fd00::1]",
            "2001:db8::1",
            "redfish+://10.0.0.1",
            "//10.0.0.1",
            "redfish://10.0.0.1/%zz",
            "redfish://[10.0.0.1]/a",
            "ipmi://10.0.0.1:623:1",
        ] {
            assert!(told(address, "v0.13.0").is_err(), "{address}");
        }
    }

    #[test]
    fn old_ways_go_with_their_version() {
        assert!(told("ilo5://10.0.0.1", "v0.11.0").is_ok() && told("ilo5://10.0.0.1", "v0.12.0").is_err());
        assert!(told("irmc://10.0.0.1", "v0.12.0").is_ok() && told("irmc://10.0.0.1", "v0.13.0").is_err());
    }
}
