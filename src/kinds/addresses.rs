//! What Go's `net/netip` and `go4.org/netipx` read as an address, a network or a range of addresses. Webhooks refuse what they cannot
//! read, so what can be read is asked here as Go asks it. Read beside `net/netip/netip.go` (ParseAddr, ParsePrefix) of Go 1.26 and
//! `netipx.go` (ParseIPRange, IPRange).

use std::net::IpAddr;

use ipnet::IpNet;

/// An address, and whether it names its zone. One of IPv4 in the form of IPv6 is one of IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    /// The address without its zone.
    pub(crate) ip: IpAddr,
    /// Whether a zone follows it.
    pub(crate) has_zone: bool,
}

/// The addresses from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    /// The first one.
    pub(crate) first: Address,
    /// The last one, which is of the same family.
    pub(crate) last: IpAddr,
}

impl Range {
    /// Whether an address lies in it; one with a zone lies nowhere, while the zone of a range counts for nothing (`IPRangeFrom`).
    pub(crate) fn holds(&self, address: Address) -> bool {
        !address.has_zone
            && address.ip.is_ipv4() == self.first.ip.is_ipv4()
            && (self.first.ip..=self.last).contains(&address.ip)
    }
}

/// An address (`netip.ParseAddr`): one of IPv6 may name its zone.
pub(crate) fn address(told: &str) -> Option<Address> {
    match told.split_once('%') {
        None => told.parse().ok().map(|ip| Address { ip, has_zone: false }),
        Some((_, "")) => None,
        Some((told, _)) => told.parse().ok().map(|ip| Address { ip: IpAddr::V6(ip), has_zone: true }),
    }
}

/// A network (`netip.ParsePrefix`): it has neither a zone nor zeros in front of its length.
pub(crate) fn network(told: &str) -> Option<IpNet> {
    let (start, length) = told.rsplit_once('/')?;
    let is_plain = length == "0" || !length.starts_with('0');
    let is_number = is_plain && length.bytes().all(|digit| digit.is_ascii_digit());
    let length = is_number.then(|| length.parse().ok())??;
    IpNet::new(start.parse().ok()?, length).ok()
}

/// What a person writes as addresses: a range with a dash, a network, or one address.
pub(crate) fn range(written: &str) -> Option<Range> {
    let plain = |ip| Address { ip, has_zone: false };
    if let Some((first, last)) = written.split_once('-') {
        // Zones are left out of a range.
        let (first, last) = (address(first)?.ip, address(last)?.ip);
        let is_range = first.is_ipv4() == last.is_ipv4() && first <= last;
        return is_range.then_some(Range { first: plain(first), last });
    }
    if written.contains('/') {
        return network(written).map(|net| Range { first: plain(net.network()), last: net.broadcast() });
    }
    address(written).map(|first| Range { first, last: first.ip })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_go_reads_them() {
        for fine in ["192.0.2.1", "192.0.2.1-192.0.2.9", "192.0.2.7/24", "fe80::1%eth0", "fe80::1%a-fe80::9%b", "::/0"]
        {
            assert!(range(fine).is_some(), "{fine}");
        }
        for bad in
            ["", "192.0.2", "192.0.2.9-192.0.2.1", "192.0.2.1-fd00::1", "192.0.2.0/033", "192.0.2.0/+8", "192.0.2.0/"]
        {
            assert!(range(bad).is_none(), "{bad}");
        }
        for bad in ["fe80::%a/64", "fe80::1%", "192.0.2.1%a", "192.0.2.01", "192.0.2.0/24-192.0.2.9", "192.0.2.0/8/8"] {
            assert!(range(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_range_holds_its_own_family() {
        let holds =
            |written: &str, told: &str| range(written).zip(address(told)).is_some_and(|(all, one)| all.holds(one));
        assert!(holds("192.0.2.1-192.0.2.9", "192.0.2.9") && holds("192.0.2.7/24", "192.0.2.255"));
        assert!(!holds("192.0.2.1-192.0.2.9", "192.0.2.10") && !holds("::/0", "192.0.2.1"));
        assert!(holds("::/0", "::ffff:192.0.2.1") && !holds("fe80::/64", "fe80::1%eth0"));
        assert!(holds("fe80::1%eth0", "fe80::1"));
    }
}
