//! Where releases of Flux and Applications of Argo CD write that name another cluster: into another one indeed, or back into
//! this one. Of what was read to tell it, kubeconfigs with their keys, nothing else is kept.

use std::collections::BTreeSet;
use std::fmt;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kinds::fields::{list, text};
use crate::tree::Value;
use crate::yaml;

/// What an object says of the cluster that its others are written into.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Remote {
    /// Namespace of the object.
    pub namespace: Option<String>,
    /// How it names the cluster.
    pub by: By,
}

/// How a cluster is named.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum By {
    /// By a kubeconfig in a Secret (Flux `spec.kubeConfig.secretRef`).
    Secret {
        /// Name of the Secret.
        name: String,
        /// Its key; `value` or `value.yaml` where nothing is said.
        key: Option<String>,
    },
    /// By an address and an authority in a ConfigMap (Flux `spec.kubeConfig.configMapRef`).
    ConfigMap(String),
    /// By an address that Argo CD knows.
    Server(String),
    /// By a name that Argo CD knows.
    Cluster(String),
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.namespace.as_deref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
        match &self.by {
            By::Secret { name, .. } => write!(f, "Secret {place}{name}"),
            By::ConfigMap(name) => write!(f, "ConfigMap {place}{name}"),
            By::Server(name) | By::Cluster(name) => write!(f, "cluster {name} of Argo CD"),
        }
    }
}

/// Where one leads, as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RemoteReading {
    /// What was asked.
    pub remote: Remote,
    /// The answer.
    pub leads: Leads,
}

/// Where something leads that names a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Leads {
    /// Into another cluster, for sure.
    Elsewhere,
    /// Into another cluster, as far as its name tells.
    Likely,
    /// Into this one.
    Here,
    /// Not known, and why.
    Unknown(String),
}

impl Leads {
    /// The worse of two: this cluster before not known before another one.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let weight = |leads: &Self| match leads {
            Self::Elsewhere => 0,
            Self::Likely => 1,
            Self::Unknown(_) => 2,
            Self::Here => 3,
        };
        if weight(&other) > weight(&self) { other } else { self }
    }
}

/// What is known of this cluster itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Own {
    /// Its address, as it is reached from here.
    server: String,
    /// The public keys of the authorities that it is known by.
    authorities: BTreeSet<Vec<u8>>,
    /// Whether the cluster itself says which authority it has (ConfigMap `kube-root-ca.crt`).
    is_told: bool,
}

impl Own {
    /// A cluster that is reached at an address and recognised by certificates.
    #[must_use]
    pub(crate) fn new(server: &str, certificates: &[Vec<u8>]) -> Self {
        let certificates = certificates.iter().map(|bytes| CertificateDer::from(bytes.clone()));
        Self { server: address(server), authorities: keys(certificates), is_told: false }
    }

    /// Takes over the `ca.crt` that the cluster gives to every namespace.
    pub(crate) fn learn(&mut self, pem: &str) {
        let told = authorities(pem);
        self.is_told |= !told.is_empty();
        self.authorities.extend(told);
    }

    /// Where a kubeconfig leads, read as client-go does: its current context counts.
    #[must_use]
    pub(crate) fn kubeconfig(&self, bytes: &[u8]) -> Leads {
        let unclear = |why: &str| Leads::Unknown(why.to_owned());
        let Ok(config) = yaml::read_strict(bytes) else { return unclear("its kubeconfig cannot be read") };
        let one = |pointer: &str, name: &str, field: &str| -> Option<Value> {
            let mut named = list(&config, pointer).filter(|item| text(item, "/name") == Some(name));
            let found = named.next()?.get(field).cloned();
            // Of two with one name it is not certain which one counts.
            named.next().is_none().then_some(found)?
        };
        let context = text(&config, "/current-context").unwrap_or_default();
        let cluster = one("/contexts", context, "context")
            .and_then(|context| one("/clusters", text(&context, "/cluster")?, "cluster"));
        let Some(cluster) = cluster else { return unclear("its kubeconfig has no current context") };
        let authority = text(&cluster, "/certificate-authority-data").and_then(decoded);
        let is_checked = cluster.get("insecure-skip-tls-verify") != Some(&Value::Bool(true));
        self.leads(text(&cluster, "/server").unwrap_or_default(), authority.as_deref().filter(|_| is_checked))
    }

    /// Where a Secret leads with which Argo CD knows a cluster (argo-cd `docs/operator-manual/declarative-setup.md`).
    #[must_use]
    pub(crate) fn argo(&self, secret: &Value) -> Leads {
        let data = |field: &str| text(secret, &format!("/data/{field}")).and_then(decoded);
        let Some(config) = data("config").and_then(|config| serde_json::from_str::<Value>(&config).ok()) else {
            return Leads::Unknown("its Secret in Argo CD has no config".to_owned());
        };
        let is_checked = config.pointer("/tlsClientConfig/insecure") != Some(&Value::Bool(true));
        let authority = text(&config, "/tlsClientConfig/caData").and_then(decoded);
        self.leads(&data("server").unwrap_or_default(), authority.as_deref().filter(|_| is_checked))
    }

    /// Where an address leads whose certificate is checked with an authority. Whoever serves there has a key of that authority,
    /// so where none of this cluster's is among them, it is another one. What stands behind a path may be a proxy for anything.
    #[must_use]
    pub(crate) fn leads(&self, server: &str, authority: Option<&str>) -> Leads {
        let unclear = |why: &str| Leads::Unknown(why.to_owned());
        let address = address(server);
        if !self.server.is_empty() && address == self.server {
            return Leads::Here;
        }
        let theirs = authority.map(authorities).unwrap_or_default();
        if theirs.iter().any(|key| self.authorities.contains(key)) {
            return Leads::Here;
        }
        let host = address.split_once("://").map_or("", |(_, rest)| rest);
        match () {
            () if theirs.is_empty() => unclear("it names no certificate authority of its own"),
            () if host.is_empty() || host.contains('/') => unclear("its address may be that of a proxy"),
            () if !self.is_told => unclear("which certificate authority this cluster has is not known"),
            () => Leads::Elsewhere,
        }
    }
}

/// An address without what does not count.
fn address(server: &str) -> String {
    let server = server.trim().trim_end_matches('/').to_ascii_lowercase();
    server.strip_suffix(":443").map(str::to_owned).unwrap_or(server)
}

/// A text that stands in base64.
fn decoded(text: &str) -> Option<String> {
    use base64::Engine as _;
    let bytes = base64::prelude::BASE64_STANDARD.decode(text.trim()).ok()?;
    String::from_utf8(bytes).ok()
}

/// The public keys of the certificates of a text: a certificate that is renewed keeps its key.
fn authorities(pem: &str) -> BTreeSet<Vec<u8>> {
    keys(CertificateDer::pem_slice_iter(pem.as_bytes()).filter_map(Result::ok))
}

fn keys(certificates: impl Iterator<Item = CertificateDer<'static>>) -> BTreeSet<Vec<u8>> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(certificates);
    store.roots.iter().map(|root| root.subject_public_key_info.to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;

    use super::*;
    use crate::tree::json;

    /// Two certificates of one key, as after a renewal, and one of another.
    const OURS: &str = include_str!("../../testdata/authorities/ours.pem");
    const RENEWED: &str = include_str!("../../testdata/authorities/renewed.pem");
    const THEIRS: &str = include_str!("../../testdata/authorities/theirs.pem");

    fn own() -> Own {
        let mut own = Own::new("https://10.0.0.1:6443", &[]);
        own.learn(OURS);
        own
    }

    fn kubeconfig(server: &str, authority: &str) -> Value {
        json!({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k"}}],
            "clusters": [{"name": "other", "cluster": {}},
                {"name": "k", "cluster": {"server": server, "certificate-authority-data": BASE64_STANDARD.encode(authority)}}]})
    }

    #[test]
    fn a_kubeconfig_leads_elsewhere_only_where_that_is_proven() {
        let leads = |config: &Value| own().kubeconfig(config.to_string().as_bytes());
        assert_eq!(leads(&kubeconfig("https://10.9.9.9:6443", THEIRS)), Leads::Elsewhere);
        // The same cluster by another address, after its authority was renewed, among others, or by its own address.
        for authority in [OURS, RENEWED, &format!("{THEIRS}{OURS}")] {
            assert_eq!(leads(&kubeconfig("https://10.9.9.9:6443", authority)), Leads::Here, "{authority}");
        }
        assert_eq!(leads(&kubeconfig("https://10.0.0.1:6443/", THEIRS)), Leads::Here);
        let unclear = |config: &Value, why: &str| {
            assert!(
                matches!(leads(config), Leads::Unknown(told) if told.contains(why)),
                "{config} {:?}",
                leads(config)
            );
        };
        unclear(&kubeconfig("https://rancher.example/k8s/clusters/local", THEIRS), "proxy");
        unclear(&kubeconfig("https://10.9.9.9:6443", ""), "no certificate authority");
        unclear(&kubeconfig("https://10.9.9.9:6443", "garbage"), "no certificate authority");
        let mut config = kubeconfig("https://10.9.9.9:6443", THEIRS);
        config["clusters"][1]["cluster"]["insecure-skip-tls-verify"] = json!(true);
        unclear(&config, "no certificate authority");
        let mut twice = kubeconfig("https://10.9.9.9:6443", THEIRS);
        twice["clusters"][0]["name"] = json!("k");
        unclear(&twice, "no current context");
        let mut none = kubeconfig("https://10.9.9.9:6443", THEIRS);
        none["current-context"] = json!("gone");
        unclear(&none, "no current context");
        assert!(matches!(own().kubeconfig(b"a: [}"), Leads::Unknown(_)));
        // Nobody said which authority this cluster has.
        let own = Own::new("https://10.0.0.1:6443", &[]);
        assert!(matches!(own.leads("https://10.9.9.9:6443", Some(THEIRS)), Leads::Unknown(_)));
    }

    #[test]
    fn a_cluster_of_argo_cd_is_told_by_its_authority_too() {
        let secret = |config: Value| json!({"data": {"server": BASE64_STANDARD.encode("https://10.9.9.9:6443"), "config": BASE64_STANDARD.encode(config.to_string())}});
        let with = |authority: &str| secret(json!({"tlsClientConfig": {"caData": BASE64_STANDARD.encode(authority)}}));
        assert_eq!(own().argo(&with(THEIRS)), Leads::Elsewhere);
        assert_eq!(own().argo(&with(OURS)), Leads::Here);
        assert!(matches!(own().argo(&secret(json!({"tlsClientConfig": {"insecure": true}}))), Leads::Unknown(_)));
        assert!(matches!(own().argo(&json!({})), Leads::Unknown(_)));
    }

    #[test]
    fn of_two_answers_the_worse_one_counts() {
        let unknown = Leads::Unknown("why".to_owned());
        assert_eq!(Leads::Elsewhere.worse(unknown.clone()), unknown);
        assert_eq!(unknown.worse(Leads::Here).worse(Leads::Likely), Leads::Here);
    }
}
