//! The way to a workload cluster by the kubeconfig that lies in a Secret. Whoever may write there must not run a program here nor read
//! a file: only what the text itself holds is used, and what names anything else is refused by name. Nothing of it is quoted.

use std::time::Duration;

use kube::config::{AuthInfo, Cluster, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::time::Instant;

use super::kubeconfig;

/// Most bytes of a kubeconfig: an object of etcd holds 1.5 MiB, and one context has a few thousand bytes.
const LARGEST: usize = 256 * 1024;
/// Longest time for one connection.
const CONNECT: Duration = Duration::from_secs(3);

/// A client for the current context of a kubeconfig.
///
/// # Errors
/// Why it is not used, in words without its content.
pub(super) async fn client(bytes: &[u8], deadline: Instant) -> Result<Client, String> {
    let read = checked(bytes)?;
    drop(rustls::crypto::ring::default_provider().install_default());
    let options = KubeConfigOptions::default();
    let unusable = || "its kubeconfig has no current context that can be used".to_owned();
    let mut config = Config::from_custom_kubeconfig(read, &options).await.map_err(|_| unusable())?;
    if config.cluster_url.scheme_str() != Some("https") {
        return Err("its kubeconfig has a server without https".to_owned());
    }
    // What is tried again is tried by us.
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT);
    let made = tokio::task::spawn_blocking(move || Client::try_from(config));
    match tokio::time::timeout_at(deadline, made).await {
        Ok(Ok(Ok(client))) => Ok(client),
        Ok(_) => Err("the credentials of its kubeconfig cannot be used".to_owned()),
        Err(_) => Err("its time was up before the first request".to_owned()),
    }
}

/// The kubeconfig, where every part of it can be used without anything outside of it.
fn checked(bytes: &[u8]) -> Result<Kubeconfig, String> {
    if bytes.len() > LARGEST {
        return Err(format!("its kubeconfig is larger than {} KiB", LARGEST / 1024));
    }
    let read = kubeconfig::parse(bytes).ok_or("its kubeconfig is not YAML that kubectl reads")?;
    let users = read.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    let clusters = read.clusters.iter().filter_map(|named| named.cluster.as_ref());
    match users.filter_map(of_user).chain(clusters.filter_map(of_cluster)).next() {
        Some(what) => Err(format!("its kubeconfig {what}, which is never done for a workload cluster")),
        None => Ok(read),
    }
}

/// What a user asks for beside what the text holds.
fn of_user(user: &AuthInfo) -> Option<&'static str> {
    let named = |field: &Option<String>| field.as_ref().is_some_and(|path| !path.is_empty());
    match () {
        () if user.exec.is_some() => Some("runs a program (exec)"),
        () if user.auth_provider.is_some() => Some("asks an auth-provider"),
        () if named(&user.token_file) => Some("names a file (tokenFile)"),
        () if named(&user.client_certificate) => Some("names a file (client-certificate)"),
        () if named(&user.client_key) => Some("names a file (client-key)"),
        () => None,
    }
}

/// What the entry of a cluster asks for beside what the text of the kubeconfig holds.
fn of_cluster(cluster: &Cluster) -> Option<&'static str> {
    let named = |field: &Option<String>| field.as_ref().is_some_and(|path| !path.is_empty());
    match () {
        () if named(&cluster.certificate_authority) => Some("names a file (certificate-authority)"),
        () if cluster.insecure_skip_tls_verify == Some(true) => {
            Some("checks no certificate (insecure-skip-tls-verify)")
        }
        () if named(&cluster.proxy_url) => Some("goes through a proxy (proxy-url)"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n";

    fn text(cluster: &str, user: &str) -> String {
        format!("{HEAD}clusters:\n- name: c\n  cluster: {{{cluster}}}\nusers:\n- name: u\n  user: {{{user}}}\n")
    }

    #[test]
    fn a_kubeconfig_that_reaches_outside_of_itself_is_refused_by_name() {
        let server = "server: 'https://127.0.0.1:1'";
        assert!(checked(text(server, "token: hunter2").as_bytes()).is_ok());
        for (cluster, user, why) in [
            (
                "",
                "exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [/tmp/x], interactiveMode: Never}",
                "exec",
            ),
            ("", "auth-provider: {name: oidc, config: {}}", "auth-provider"),
            ("", "tokenFile: /etc/shadow", "tokenFile"),
            ("", "client-certificate: /etc/shadow, client-key-data: aHVudGVyMg==", "client-certificate"),
            ("", "client-key: /etc/shadow", "client-key"),
            (", certificate-authority: /etc/shadow", "token: hunter2", "certificate-authority"),
            (", insecure-skip-tls-verify: true", "token: hunter2", "insecure-skip-tls-verify"),
            (", proxy-url: 'http://127.0.0.1:1'", "token: hunter2", "proxy-url"),
        ] {
            let refusal = checked(text(&format!("{server}{cluster}"), user).as_bytes()).expect_err(why);
            assert!(refusal.contains(why) && !refusal.contains("hunter2") && !refusal.contains("shadow"), "{refusal}");
        }
        // Also where the current context does not use it.
        let aside = format!("{}- name: other\n  user: {{tokenFile: /etc/shadow}}\n", text(server, "token: a"));
        assert!(checked(aside.as_bytes()).is_err());
        assert!(checked(&vec![b'#'; LARGEST + 1]).is_err() && checked(b"users: [hunter2]\n").is_err());
    }

    #[tokio::test]
    async fn credentials_go_nowhere_in_the_clear() {
        let end = Instant::now() + Duration::from_secs(5);
        let refusal = async |server: &str| client(text(server, "token: hunter2").as_bytes(), end).await.err();
        assert!(refusal("server: 'http://127.0.0.1:1'").await.is_some_and(|why| why.contains("https")));
        assert!(refusal("server: 'https://127.0.0.1:1'").await.is_none());
        assert!(client(b"", end).await.is_err(), "no context");
    }
}
