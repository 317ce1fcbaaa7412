//! The way to a cluster, as kubectl and Helm find it: `KUBECONFIG` lists, `~/.kube/config`, contexts, exec plugins,
//! client certificates, tokens, proxies, and the service account inside a cluster. What is missing is said in one line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use age::secrecy::ExposeSecret as _;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tokio::time::Instant;

use super::kubeconfig;
use crate::host::Reach;

/// A way to a cluster.
#[derive(Clone)]
pub(super) struct Way {
    /// Makes requests.
    pub(super) client: Client,
    /// Namespace of the context.
    pub(super) namespace: String,
    /// Whether the context names it: without one it is `default`, which nobody has said.
    pub(super) names_namespace: bool,
    /// How a person calls the cluster.
    pub(super) name: String,
    /// Its address.
    pub(super) server: String,
    /// The certificates that it is recognised by, where they were told.
    pub(super) authorities: Vec<Vec<u8>>,
}

/// Why there is no way to a cluster, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoWay {
    /// Why.
    pub(super) why: String,
    /// What to do.
    pub(super) remedy: String,
}

impl NoWay {
    fn new(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { why: why.into(), remedy: remedy.into() }
    }
}

/// Finds the way.
pub(super) async fn connect(reach: &Reach, env: &BTreeMap<String, String>, deadline: Instant) -> Result<Way, NoWay> {
    // Another part of the program may have chosen the provider already, and then the choice stands.
    drop(rustls::crypto::ring::default_provider().install_default());
    let (mut config, name, names_namespace) = config(reach, env).await?;
    overrides(&mut config, reach)?;
    with_scheme(&mut config)?;
    if let Some(end) = ended(&config.auth_info, Timestamp::now()) {
        return Err(NoWay::new(
            format!(
                "the OIDC login of the kubeconfig ended at {end}; it is not renewed here, because that would use up its refresh token"
            ),
            "run kubectl get ns once, which renews it in the kubeconfig, or log in again",
        ));
    }
    if let Some(fault) = bare_token(&mut config.auth_info).or_else(|| no_port(&config.cluster_url)) {
        return Err(fault);
    }
    // Retries are ours: they must end at the deadline, and the default goes on for minutes.
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(5));
    let namespace = config.default_namespace.clone();
    let plugin = config.auth_info.exec.as_ref().and_then(|exec| exec.command.clone());
    let (server, authorities) = (config.cluster_url.to_string(), config.root_cert.clone().unwrap_or_default());
    // An exec plugin runs inside this call and may take its time.
    let made = tokio::task::spawn_blocking(move || Client::try_from(config));
    match tokio::time::timeout_at(deadline, made).await {
        Ok(Ok(Ok(client))) => Ok(Way { client, namespace, names_namespace, name, server, authorities }),
        Ok(Ok(Err(error))) => Err(refused(&error, plugin.as_deref().unwrap_or("of the kubeconfig"))),
        Ok(Err(_)) => Err(NoWay::new("the client could not be made", "report this as a defect")),
        Err(_) => Err(NoWay::new(
            "the credential plugin of the kubeconfig did not answer in time",
            "run it once by hand (kubectl get ns), then try again",
        )),
    }
}

/// The configuration, a name for it, and whether it names a namespace.
async fn config(reach: &Reach, env: &BTreeMap<String, String>) -> Result<(Config, String, bool), NoWay> {
    let list = reach.kubeconfig.clone().or_else(|| env.get("KUBECONFIG").filter(|text| !text.is_empty()).cloned());
    let told = list.is_some();
    let paths: Vec<PathBuf> = match &list {
        Some(list) => std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => env.get("HOME").map(|home| Path::new(home).join(".kube/config")).into_iter().collect(),
    };
    let mut merged: Option<Kubeconfig> = None;
    // Files of the list that are not there are skipped, as client-go does.
    for path in paths.iter().filter(|path| path.exists()) {
        let one = kubeconfig::read(path).map_err(|why| unreadable(path, &why))?;
        merged = Some(match merged {
            Some(first) => {
                first.merge(one).map_err(|_| unreadable(path, "it does not fit the other files of the list"))?
            }
            None => one,
        });
    }
    let Some(mut kubeconfig) = merged else {
        if !told && reach.context.is_none() && env.contains_key("KUBERNETES_SERVICE_HOST") {
            let config = Config::incluster().map_err(|error| {
                NoWay::new(
                    format!("the service account cannot be used: {error}"),
                    "mount the service account token, or set KUBECONFIG",
                )
            })?;
            return Ok((config, "in-cluster".to_owned(), true));
        }
        let place = list.unwrap_or_else(|| "~/.kube/config".to_owned());
        return Err(NoWay::new(
            format!("there is no kubeconfig at {place}"),
            "set KUBECONFIG, or use --live FILE or --live none",
        ));
    };
    let name = reach.context.clone().or_else(|| kubeconfig.current_context.clone()).unwrap_or_default();
    let known: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    let context = kubeconfig.contexts.iter().find(|context| context.name == name).and_then(|one| one.context.as_ref());
    let names_namespace = context.and_then(|context| context.namespace.as_ref()).is_some_and(|name| !name.is_empty());
    let cluster = context.map(|context| context.cluster.clone()).unwrap_or_default();
    let proxy = proxied(&mut kubeconfig, &cluster, env);
    let options = KubeConfigOptions { context: reach.context.clone(), ..KubeConfigOptions::default() };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| match error {
        KubeconfigError::CurrentContextNotSet => {
            NoWay::new("the kubeconfig has no current context", "pass --kube-context")
        }
        KubeconfigError::LoadContext(_) => NoWay::new(
            format!("the kubeconfig has no context {name}"),
            format!("pass --kube-context one of: {}", known.join(", ")),
        ),
        KubeconfigError::ParseProxyUrl(error) => {
            NoWay::new(format!("{proxy} is not an address: {error}"), format!("fix {proxy}"))
        }
        other => NoWay::new(format!("context {name} cannot be used: {}", lacking(&other)), "fix the kubeconfig"),
    })?;
    let scheme = config.proxy_url.as_ref().map(|url| url.scheme_str().unwrap_or_default());
    if scheme.is_some_and(|scheme| !matches!(scheme, "http" | "https")) {
        let why = format!("{proxy} is of a kind that is not supported");
        return Err(NoWay::new(why, format!("name a proxy with http or https in {proxy}")));
    }
    Ok((config, name, names_namespace))
}

/// What names the proxy of a cluster: its `proxy-url`, else the environment. An address without a scheme there has `http`
/// (golang.org/x/net `http/httpproxy/proxy.go`, `parseProxy`, v0.43); one in a kubeconfig needs its own (client-go
/// `tools/clientcmd/client_config.go`, `parseProxyURL`, v0.33).
fn proxied(kubeconfig: &mut Kubeconfig, cluster: &str, env: &BTreeMap<String, String>) -> &'static str {
    const OF_FILE: &str = "the proxy-url of the kubeconfig";
    let found = kubeconfig.clusters.iter_mut().find(|one| one.name == cluster).and_then(|one| one.cluster.as_mut());
    let Some(cluster) = found.filter(|cluster| cluster.proxy_url.as_ref().is_none_or(String::is_empty)) else {
        return OF_FILE;
    };
    let set = |name: &&str| env.get(*name).is_some_and(|text| !text.is_empty());
    let Some(name) = ["HTTPS_PROXY", "https_proxy"].into_iter().find(set) else { return OF_FILE };
    if let Some(address) = env.get(name).filter(|address| !address.contains("://")) {
        cluster.proxy_url = Some(format!("http://{address}"));
    }
    name
}

/// Puts the scheme before the address of a server that has none (client-go `rest/url_utils.go`, `DefaultServerURL` and
/// `DefaultServerUrlFor`, v0.33).
fn with_scheme(config: &mut Config) -> Result<(), NoWay> {
    let server = &config.cluster_url;
    let named = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let user = &config.auth_info;
    let has_authority = config.root_cert.is_some() || config.root_cert_file.is_some();
    let has_certificate = named(&user.client_certificate) || named(&user.client_certificate_data);
    let scheme = if has_authority || has_certificate || config.accept_invalid_certs { "https" } else { "http" };
    let no_host = || NoWay::new("its server is no address: it names no host", "write it as https://HOST:PORT");
    let Some(host) = server.authority() else { return Err(no_host()) };
    if server.scheme().is_none() {
        config.cluster_url = format!("{scheme}://{host}").parse().map_err(|_| no_host())?;
    }
    Ok(())
}

/// When an OIDC id-token ended, if it has. kubectl renews such a token and writes the new refresh token into the kubeconfig
/// (client-go `plugin/pkg/client/auth/oidc/oidc.go`, v1.33); a reader that may not write there would lose the login.
fn ended(user: &AuthInfo, now: Timestamp) -> Option<Timestamp> {
    let token = user.auth_provider.as_ref().filter(|provider| provider.name == "oidc")?.config.get("id-token")?;
    let claims = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?.trim_end_matches('=')).ok()?;
    let claims: crate::tree::Value = serde_json::from_slice(&claims).ok()?;
    Timestamp::from_second(claims.get("exp")?.as_i64()?).ok().filter(|end| *end <= now)
}

/// What Helm was told beside the kubeconfig.
fn overrides(config: &mut Config, reach: &Reach) -> Result<(), NoWay> {
    if let Some(server) = &reach.server {
        config.cluster_url = server
            .parse()
            .map_err(|_| NoWay::new(format!("{server} is not the address of an API server"), "fix --kube-apiserver"))?;
    }
    if let Some(user) = &reach.as_user {
        config.auth_info.impersonate = Some(user.clone());
    }
    if !reach.as_groups.is_empty() {
        config.auth_info.impersonate_groups = Some(reach.as_groups.clone());
    }
    if let Some(file) = &reach.ca_file {
        config.root_cert_file = Some(PathBuf::from(file));
    }
    if let Some(name) = &reach.tls_server_name {
        config.tls_server_name = Some(name.clone());
    }
    config.accept_invalid_certs |= reach.insecure;
    Ok(())
}

/// A kubeconfig that cannot be read.
fn unreadable(path: &Path, why: &str) -> NoWay {
    NoWay::new(format!("kubeconfig {} cannot be used: {why}", path.display()), "fix the file, or set KUBECONFIG")
}

/// What a context lacks, in words without the values of the file.
fn lacking(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::LoadClusterOfContext(cluster) => format!("there is no cluster {cluster}"),
        KubeconfigError::MissingClusterUrl => "its cluster has no server".to_owned(),
        KubeconfigError::ParseClusterUrl(error) => format!("server is not an address: {error}"),
        KubeconfigError::LoadCertificateAuthority(error) => format!("certificate-authority: {error}"),
        KubeconfigError::LoadClientCertificate(error) => format!("client-certificate: {error}"),
        KubeconfigError::LoadClientKey(error) => format!("client-key: {error}"),
        KubeconfigError::ParseCertificates(error) => format!("a certificate is not PEM: {error}"),
        _ => "something of it cannot be read".to_owned(),
    }
}

/// Why no client could be made. The output of a credential plugin is left out: it may hold the credential.
fn refused(error: &kube::Error, plugin: &str) -> NoWay {
    use kube::client::AuthError;
    match error {
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => NoWay::new(
            format!("the credential plugin {plugin} failed ({})", out.status),
            "run kubectl get ns, which runs it too, or log in again, then try again",
        ),
        kube::Error::Auth(AuthError::AuthExecStart(error)) => NoWay::new(
            format!("the credential plugin of the kubeconfig cannot be run: {error}"),
            "install it, or put it on PATH",
        ),
        kube::Error::Auth(AuthError::ReadTokenFile(error, path)) => NoWay::new(
            format!("token file {} cannot be read: {error}", path.display()),
            "fix tokenFile in the kubeconfig; in a pod, let its service account token be mounted",
        ),
        kube::Error::Auth(_) => NoWay::new(
            "the credentials of the kubeconfig cannot be used",
            "log in again (kubectl get ns shows the cause)",
        ),
        other => NoWay::new(
            format!("the kubeconfig cannot be used: {}", super::call::one_line(&other.to_string())),
            "fix the kubeconfig",
        ),
    }
}

/// An address whose port is none, in place of which the client would ask another one. What is no number is not quoted: it may begin a
/// password, where that holds a slash.
fn no_port(server: &http::Uri) -> Option<NoWay> {
    let (_, port) = server.authority()?.as_str().rsplit_once(':')?;
    let is_none = server.port_u16().is_none() && !port.contains(']');
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let why =
        if is_number { format!("{port:?} is no port") } else { "what stands behind its host is no port".to_owned() };
    is_none.then(|| {
        NoWay::new(format!("server is not an address: {why}"), "fix the server of the cluster in the kubeconfig")
    })
}

/// Takes white space from around a token in a file, as client-go does, and refuses one that no header can hold. A file without such space
/// is left to the client, which reads it again when the token is renewed.
fn bare_token(user: &mut AuthInfo) -> Option<NoWay> {
    if let (None, Some(file)) = (&user.token, &user.token_file)
        && Path::new(file).is_file()
        && let Ok(text) = std::fs::read_to_string(file)
        && text.trim() != text
    {
        user.token = Some(text.trim().to_owned().into());
        user.token_file = None;
    }
    let token = user.token.as_ref()?.expose_secret();
    let fits = token.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    (!fits).then(|| {
        NoWay::new(
            "the token of the kubeconfig holds a line break or another sign that no request can carry",
            "write the token in one line (token: VALUE, without | or >)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubeconfig(server: &str, more: &str, user: &str) -> Kubeconfig {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters:\n- name: c\n  cluster: {{server: '{server}'{more}}}\n\
             contexts:\n- {{name: c, context: {{cluster: c, user: u}}}}\nusers:\n- {{name: u, user: {{token: x{user}}}}}\n"
        );
        kubeconfig::parse(text.as_bytes()).expect("a kubeconfig")
    }

    async fn server(server: &str, more: &str, user: &str) -> Result<String, NoWay> {
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig(server, more, user), &options).await;
        let mut config = config.expect("a configuration");
        with_scheme(&mut config)?;
        no_port(&config.cluster_url).map_or_else(|| Ok(config.cluster_url.to_string()), Err)
    }

    #[tokio::test]
    async fn a_server_without_a_scheme_is_asked_as_kubectl_asks_it() {
        for (told, more, user, asked) in [
            ("10.0.0.1:6443", ", insecure-skip-tls-verify: true", "", "https://10.0.0.1:6443/"),
            ("api.example.org:6443", "", ", client-certificate-data: eA==", "https://api.example.org:6443/"),
            ("localhost:8080", "", "", "http://localhost:8080/"),
            ("localhost", "", "", "http://localhost/"),
            ("http://10.0.0.1:6443", ", insecure-skip-tls-verify: true", "", "http://10.0.0.1:6443/"),
            ("https://10.0.0.1:6443/k8s", "", "", "https://10.0.0.1:6443/k8s"),
        ] {
            assert_eq!(server(told, more, user).await.as_deref(), Ok(asked), "{told}");
        }
        for told in ["*", "/x", "https://u:ab/hunter2@127.0.0.1:9"] {
            let why = server(told, "", "").await.expect_err("no address").why;
            assert!(why.contains("is no") && !why.contains("hunter2") && !why.contains("ab"), "{why}");
        }
    }

    #[test]
    fn a_proxy_of_the_environment_needs_no_scheme_and_one_of_the_kubeconfig_does() {
        let proxy = |more: &str, variable: &str, address: &str| {
            let mut kubeconfig = kubeconfig("https://a", more, "");
            let env = BTreeMap::from([(variable.to_owned(), address.to_owned())]);
            let whose = proxied(&mut kubeconfig, "c", &env);
            (whose, kubeconfig.clusters[0].cluster.as_ref().and_then(|cluster| cluster.proxy_url.clone()))
        };
        let http = Some("http://proxy.corp:3128".to_owned());
        assert_eq!(proxy("", "HTTPS_PROXY", "proxy.corp:3128"), ("HTTPS_PROXY", http.clone()));
        assert_eq!(proxy("", "https_proxy", "proxy.corp:3128"), ("https_proxy", http));
        assert_eq!(proxy("", "HTTPS_PROXY", "ftp://p:1"), ("HTTPS_PROXY", None));
        let own = ("the proxy-url of the kubeconfig", Some("p:1".to_owned()));
        assert_eq!(proxy(", proxy-url: 'p:1'", "HTTPS_PROXY", "proxy.corp:3128"), own);
    }
}
