//! Mirror of what the webhooks of the Proxmox provider refuse about the endpoint of a control plane: what is neither an address nor the
//! name of a host, and an address that the cluster gives to its Machines. Read beside `internal/webhook/proxmoxcluster_webhook.go`
//! (validateControlPlaneEndpoint, buildSetFromAddresses, isHostname) and `proxmoxclustertemplate_webhook.go` of
//! cluster-api-provider-proxmox 0.6 to 0.9.

use super::webhook::RULE;
use crate::kinds::addresses::{address, range};
use crate::kinds::fields::{list, text};
use crate::kinds::webhook::{Refusal, refuse};
use crate::object::Path;
use crate::tree::Value;

/// What is refused about the spec of a cluster, at its place. All of it is asked anew at each write.
pub(super) fn refusals(cluster: Option<&Value>, at: &Path, out: &mut Vec<Refusal>) {
    let none = Value::Null;
    let cluster = cluster.unwrap_or(&none);
    let endpoint = text(cluster, "/controlPlaneEndpoint/host").unwrap_or_default();
    let is_elsewhere = cluster.get("externalManagedControlPlane").and_then(Value::as_bool) == Some(true);
    // Of a host with a name nothing more is asked.
    if is_elsewhere || is_hostname(endpoint) {
        return;
    }
    let Some(address) = address(endpoint) else {
        let message = format!(
            "{endpoint:?} is neither an address nor the name of a host, and others do not manage the control plane"
        );
        return refuse(out, RULE, at, "controlPlaneEndpoint.host", message);
    };
    for family in ["ipv4Config", "ipv6Config"] {
        for (place, written) in list(cluster, &format!("/{family}/addresses")).enumerate() {
            let at = at.key(family).key("addresses").index(place);
            match written.as_str().and_then(range) {
                None => refuse(out, RULE, &at, "", "it is no address, no range and no network"),
                Some(range) if range.holds(address) => {
                    let message = format!("{endpoint} is the endpoint of the control plane, so no Machine can have it");
                    refuse(out, RULE, &at, "", message);
                }
                Some(_) => {}
            }
        }
    }
}

/// Whether a text is the name of a host, in letters of any size: one word, or words with dots whose last one has letters alone. The first
/// of several words may be longer than the others, if it begins with no dash.
fn is_hostname(told: &str) -> bool {
    let words: Vec<Vec<char>> = told.split('.').map(|word| word.chars().collect()).collect();
    let [first, middle @ .., last] = words.as_slice() else {
        return words.first().is_some_and(|word| is_word(word, 253));
    };
    let is_first = is_word(first, 63)
        || (1..=63).any(|length| {
            let cut = first.split_at_checked(length);
            cut.is_some_and(|(head, tail)| head.iter().copied().all(is_alphanumeric) && is_word(tail, 63))
        });
    let is_last = (2..=63).contains(&last.len()) && last.iter().copied().all(is_letter);
    is_first && middle.iter().all(|word| is_word(word, 63)) && is_last
}

/// Whether it has letters, digits and dashes alone, with none of these at the ends.
fn is_word(word: &[char], most: usize) -> bool {
    let is_end = |end: Option<&char>| end.is_some_and(|end| is_alphanumeric(*end));
    word.len() <= most
        && is_end(word.first())
        && is_end(word.last())
        && word.iter().all(|letter| *letter == '-' || is_alphanumeric(*letter))
}

/// A letter as Go folds it: the long s and the sign of Kelvin are s and k.
fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphabetic() || matches!(letter, '\u{17f}' | '\u{212a}')
}

fn is_alphanumeric(letter: char) -> bool {
    letter.is_ascii_digit() || is_letter(letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(cluster: Value) -> Vec<String> {
        let mut out = Vec::new();
        refusals(Some(&cluster), &Path::root().key("spec"), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn no_machine_gets_the_address_of_the_control_plane() {
        let with = |host: &str, range: &str| {
            refused(
                json!({"controlPlaneEndpoint": {"host": host, "port": 6443}, "ipv4Config": {"addresses": ["192.0.2.200", range]}}),
            )
        };
        for range in
            ["192.0.2.1-192.0.2.9", "192.0.2.0/24", "192.0.2.7/24", "192.0.2.5", "192.0.2.5-192.0.2.5", "192.0.2"]
        {
            assert_eq!(with("192.0.2.5", range), ["spec.ipv4Config.addresses[1]"], "{range}");
        }
        for range in ["192.0.2.6-192.0.2.9", "192.0.3.0/24", "::ffff:192.0.2.5", "2001:db8::/64"] {
            assert_eq!(with("192.0.2.5", range), [""; 0], "{range}");
        }
        assert_eq!(with("api.example.com", "192.0.2"), [""; 0], "nothing is looked at beside a name");
        let six = json!({"controlPlaneEndpoint": {"host": "2001:db8::5"}, "ipv4Config": {"addresses": ["192.0.2.0/24"]},
            "ipv6Config": {"addresses": ["2001:db8::/64"]}});
        assert_eq!(refused(six), ["spec.ipv6Config.addresses[0]"]);
    }

    #[test]
    fn an_endpoint_is_an_address_or_a_name() {
        for fine in ["api", "api.example.com", "10", "A.B.CC", "192.0.2.5", "2001:db8::5", "fe80::5%eth0"] {
            assert_eq!(refused(json!({"controlPlaneEndpoint": {"host": fine}})), [""; 0], "{fine}");
        }
        for bad in ["", "api:6443", "a_b", "192.0.2", "a.c", "a..bc", "-a", "https://api"] {
            let told = json!({"controlPlaneEndpoint": {"host": bad}});
            assert_eq!(refused(told), ["spec.controlPlaneEndpoint.host"], "{bad}");
            let elsewhere = json!({"controlPlaneEndpoint": {"host": bad}, "externalManagedControlPlane": true});
            assert_eq!(refused(elsewhere), [""; 0], "{bad}");
        }
    }
}
