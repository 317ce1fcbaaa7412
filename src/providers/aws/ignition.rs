//! Mirror of what the AWS provider's webhooks refuse about Ignition on new Machines and their templates.
//! Read beside `webhooks/aws{machine,machinetemplate}_webhook.go` (validateIgnition*) of cluster-api-provider-aws 2.13.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::kinds::fields::text;
use crate::kinds::webhook::{Refusal, refuse};
use crate::kinds::{labels, url};
use crate::object::Path;
use crate::providers::aws::webhook::{RULE, is_range, list};
use crate::tree::Value;

/// Ignition excludes cloud-init.
pub(super) fn refusals(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    if !spec.get("ignition").is_some_and(Value::is_object) {
        return;
    }
    let cloud = spec.get("cloudInit").unwrap_or(&Value::Null);
    let is_used = text(cloud, "/secretPrefix").is_some()
        || text(cloud, "/secureSecretsBackend").is_some()
        || cloud.get("secretCount").and_then(Value::as_i64).unwrap_or(0) != 0
        || cloud.get("insecureSkipSecretsManager") == Some(&Value::Bool(true));
    if is_used {
        refuse(out, RULE, at, "cloudInit", "cloud-init and Ignition exclude each other");
    }
}

/// What a Machine's Ignition must keep to; nobody asks this of a template.
pub(super) fn versions(spec: &Value, at: &Path, out: &mut Vec<Refusal>) {
    let Some(ignition) = spec.get("ignition").filter(|ignition| ignition.is_object()) else { return };
    if matches!(text(ignition, "/version"), Some("2.3" | "3.0")) {
        for key in ["proxy", "tls"] {
            if ignition.get(key).is_some_and(Value::is_object) {
                refuse(out, RULE, at, &format!("ignition.{key}"), "it needs Ignition 3.1");
            }
        }
    }
    for key in ["httpProxy", "httpsProxy"] {
        let address = ignition.pointer(&format!("/proxy/{key}")).and_then(Value::as_str);
        if address.is_some_and(|address| url::scheme(address).is_none()) {
            refuse(out, RULE, at, &format!("ignition.proxy.{key}"), "it is not an address");
        }
    }
    for (place, host) in list(ignition, "/proxy/noProxy") {
        if !is_without_proxy(host.as_str().unwrap_or_default()) {
            let below = format!("ignition.proxy.noProxy[{place}]");
            refuse(out, RULE, at, &below, "it must be *, an address, a range, a domain, or one of these with a port");
        }
    }
    for (place, source) in list(ignition, "/tls/certificateAuthorities") {
        if !is_source(source.as_str().unwrap_or_default()) {
            let below = format!("ignition.tls.certificateAuthorities[{place}]");
            refuse(
                out,
                RULE,
                at,
                &below,
                "it must be an address of http, https, tftp, s3, arn or gs, or data in base64",
            );
        }
    }
}

/// What is reached without a proxy.
fn is_without_proxy(host: &str) -> bool {
    host == "*"
        || host.parse::<std::net::IpAddr>().is_ok()
        || is_range(host)
        || url::is_host_and_port(host)
        || labels::is_subdomain(host.strip_prefix('.').unwrap_or(host))
}

/// Where a certificate comes from.
fn is_source(source: &str) -> bool {
    match url::scheme(source).as_deref() {
        Some("http" | "https" | "tftp" | "s3" | "arn" | "gs") => true,
        Some("data") => {
            let data = source.split(['?', '#']).next().and_then(|source| source.split_once(','));
            data.is_some_and(|(_, data)| STANDARD.decode(data).is_ok())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::json;

    fn refused(ignition: Value) -> Vec<String> {
        let mut out = Vec::new();
        versions(&json!({"ignition": ignition}), &Path::root(), &mut out);
        out.into_iter().map(|refusal| refusal.path.to_string()).collect()
    }

    #[test]
    fn proxies_and_authorities_are_addresses() {
        let hosts = json!(["*", "10.0.0.1", "10.0.0.0/8", "10.0.0.1:80", ".example.com", "example.com:443", "[::1]:1"]);
        let proxy = json!({"httpProxy": "http://proxy.example.com:3128", "noProxy": hosts});
        let data = json!({"certificateAuthorities": ["s3://bucket/ca.pem", "data:text/plain;base64,aGk="]});
        assert_eq!(refused(json!({"version": "3.1", "proxy": proxy, "tls": data})), [""; 0]);
        let proxy = json!({"httpsProxy": "*:80", "noProxy": ["&", ""]});
        let data = json!({"certificateAuthorities": ["data;;", "ftp://a/b", "data:,%"]});
        assert_eq!(refused(json!({"proxy": proxy, "tls": data})).len(), 6);
        assert_eq!(refused(json!({"version": "3.0", "tls": {}})), ["ignition.tls"]);
    }
}
