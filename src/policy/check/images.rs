//! What a policy says of the servers of images: each is an address, and a gate that asks them needs one.

use super::super::read::PolicyFault;
use super::super::{GateAnswer, Images, Policy, duration};
use super::fault;
use crate::object::Path;

/// What is wrong with the servers, or with gates that need them.
pub(super) fn images(root: &Path, policy: &Policy) -> Vec<Result<(), PolicyFault>> {
    let Images { servers, timeout, .. } = &policy.images;
    let at = root.key("images");
    let mut found: Vec<Result<(), PolicyFault>> =
        servers.iter().enumerate().map(|(place, text)| server(&at.key("servers").index(place), text)).collect();
    found.push(match timeout.as_deref().map(duration) {
        Some(Err(error)) => fault(&at.key("timeout"), error.to_string()),
        Some(Ok(length)) if length.is_zero() => fault(&at.key("timeout"), "no time at all is too little"),
        _ => Ok(()),
    });
    let entries = (0..policy.per_cluster.len()).map(|place| root.key("perCluster").index(place).key("gates"));
    let gates = std::iter::once(root.key("gates")).chain(entries).zip(policy.all_gates());
    found.extend(gates.map(|(gates, all)| match all.health.images {
        Some(GateAnswer::Hold | GateAnswer::Warn) if servers.is_empty() => fault(
            &gates.key("health").key("images"),
            "nobody may be asked: name the servers, as in images: {servers: [https://images.example/]}, or allow here",
        ),
        _ => Ok(()),
    }));
    found
}

/// A server is an address of the web, without a password in it.
fn server(at: &Path, text: &str) -> Result<(), PolicyFault> {
    let uri: Option<http::Uri> = text.parse().ok();
    let is_web = uri.as_ref().is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    });
    match is_web && !text.contains(['@', '?', '#']) && !text.contains("/..") {
        true => Ok(()),
        false => fault(at, "this is no address of a server; write it as https://host/ or https://host/folder/"),
    }
}
