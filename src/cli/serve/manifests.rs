//! What is applied to a cluster so that its API server asks the webhook, as one stream.

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::super::{Outside, Stop};
use super::{Certificates, FailurePolicy, ManifestArgs, ServeMode};
use crate::exit::Exit;
use crate::providers;

/// All of it, with words between `@` that depend on what is wanted.
const TEXT: &str = include_str!("manifests.yaml");
/// What cert-manager makes, and where it writes the authority.
const ISSUED: &str = include_str!("certificate.yaml");
// What the chart has of the same words lies with it: rights, webhooks and who is skipped are written once.
/// Who may read the policy, where it stands in the cluster.
const POLICY_RIGHTS: &str = include_str!("policy.yaml");
/// The gate of HelmReleases: to whom its rights are given, and what nobody else may do meanwhile.
const GATE: &str = include_str!("gate.yaml");
const GATE_RULES: &str = include_str!("../../../charts/rollgate/files/gate-rules.yaml");
const GATE_LEASE_RULES: &str = include_str!("../../../charts/rollgate/files/gate-lease-rules.yaml");
const GATE_ADMISSION: &str = include_str!("../../../charts/rollgate/files/gate-admission.yaml");
/// With whom it speaks then, beside the API server.
const GATE_NETWORK_RULES: &str = include_str!("../../../charts/rollgate/files/gate-network-rules.yaml");
/// The publisher of values, in the same way.
const PUBLISH: &str = include_str!("publish.yaml");
const VALUES_RULES: &str = include_str!("../../../charts/rollgate/files/values-rules.yaml");
const VALUES_LEASE_RULES: &str = include_str!("../../../charts/rollgate/files/values-lease-rules.yaml");
/// The service accounts of controllers of Cluster API, NAMESPACE:NAME a line, as their own manifests call them.
const CONTROLLERS: &str = include_str!("../../../charts/rollgate/files/controllers.txt");
/// What is read of the cluster.
const JUDGE_RULES: &str = include_str!("../../../charts/rollgate/files/judge-rules.yaml");
/// What is read of the policy.
const POLICY_RULES: &str = include_str!("../../../charts/rollgate/files/policy-rules.yaml");
/// Who may speak with it, and with whom it does.
const NETWORK_RULES: &str = include_str!("../../../charts/rollgate/files/network-rules.yaml");
/// How the certificate is kept that nobody else makes, and how its authority is told.
const CERTIFICATE_RULES: &str = include_str!("../../../charts/rollgate/files/certificate-rules.yaml");
const BUNDLE_RULES: &str = include_str!("../../../charts/rollgate/files/bundle-rules.yaml");
/// The Secret of that certificate, and who may do so.
const OWN: &str = include_str!("own.yaml");
/// What the API server asks about.
const WEBHOOKS: &str = include_str!("../../../charts/rollgate/files/webhooks.yaml");
/// Most users that are told beside them.
const MOST_USERS: usize = 32;

pub(super) fn print(args: &ManifestArgs, outside: &mut Outside<'_>) -> Result<Exit, Stop> {
    let text = text(args).map_err(Stop::usage)?;
    outside.out.write_all(text.as_bytes()).context("cannot write to standard output").map_err(Stop::internal)?;
    Ok(Exit::Allow)
}

/// Refuses what cannot stand in what is printed; gives namespace and name of the policy, where it stands in the cluster.
fn checked(args: &ManifestArgs) -> anyhow::Result<Option<(&str, &str)>> {
    let plain = |text: &str, also: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c))
    };
    ensure!(plain(&args.namespace, "-"), "--namespace {}: it is no name of a namespace", args.namespace);
    ensure!(plain(&args.image, "-._/:@"), "--image {}: it is no image", args.image);
    ensure!(plain(&args.data_label, "-._/"), "--data-label {}: it is no label", args.data_label);
    let notify = args.notify.as_deref().unwrap_or("http://plain");
    ensure!(plain(notify, "-._:/"), "--notify {notify}: it is no address that can be written into a list");
    ensure!(
        !args.publish_values || args.policy != "none",
        "--publish-values: the policy says what is published; name it with --policy configmap/NAMESPACE/NAME"
    );
    ensure!(args.skip.len() <= MOST_USERS, "--skip: at most {MOST_USERS} users");
    for user in &args.skip {
        ensure!(plain(user, "-._:@/"), "--skip {user}: only letters, digits and -._:@/ are written into an expression");
    }
    let policy = args.policy.strip_prefix("configmap/").and_then(|rest| rest.split_once('/'));
    ensure!(
        args.policy == "none" || policy.is_some_and(|(space, name)| plain(space, "-") && plain(name, "-.")),
        "--policy {}: write configmap/NAMESPACE/NAME, or none",
        args.policy
    );
    Ok(policy)
}

/// What depends on where the certificate comes from.
struct Tls {
    /// Objects.
    objects: &'static str,
    /// An annotation of the configuration.
    inject: String,
    /// Where the API server asks.
    client: String,
    /// Arguments of the server.
    arguments: String,
    /// Whether it reaches the server as files.
    files: bool,
}

fn tls(args: &ManifestArgs) -> anyhow::Result<Tls> {
    let space = &args.namespace;
    let service = format!("service: {{name: rollgate, namespace: {space}, path: /validate, port: 443}}");
    let files = "\"--tls-cert=/tls/tls.crt\", \"--tls-key=/tls/tls.key\"".to_owned();
    let (inject, client) = (String::new(), format!("{{{service}}}"));
    Ok(match (&args.ca_bundle, args.certificates) {
        (Some(file), _) => {
            let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            ensure!(bytes.starts_with(b"-----BEGIN CERTIFICATE"), "{} is no certificate in PEM", file.display());
            let client = format!("{{{service}, caBundle: {}}}", BASE64_STANDARD.encode(bytes));
            Tls { objects: "", inject, client, arguments: files, files: true }
        }
        (None, Certificates::CertManager) => {
            let inject = format!("\n  annotations: {{cert-manager.io/inject-ca-from: {space}/rollgate}}");
            Tls { objects: ISSUED, inject, client, arguments: files, files: true }
        }
        (None, Certificates::Own) => {
            let arguments = format!(
                "\"--tls-secret={space}/rollgate-tls\", \"--tls-configuration=rollgate\", \"--tls-name=rollgate.{space}.svc\""
            );
            Tls { objects: OWN, inject, client, arguments, files: false }
        }
    })
}

fn text(args: &ManifestArgs) -> anyhow::Result<String> {
    let policy = checked(args)?;
    let tls = tls(args)?;
    let list = |words: &[String]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    let groups: Vec<String> = providers::known().into_iter().map(str::to_owned).collect();
    let users = args.skip.iter().map(|user| format!("'{user}'")).collect::<Vec<_>>().join(", ");
    let controllers = CONTROLLERS.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let controllers: Vec<String> = controllers.map(|line| format!("'system:serviceaccount:{line}'")).collect();
    let (space, name) = policy.unwrap_or((&args.namespace, "rollgate-policy"));
    let mode = if args.mode == ServeMode::Enforce { "enforce" } else { "observe" };
    let failure = if args.failure_policy == FailurePolicy::Fail { "Fail" } else { "Ignore" };
    let word = |text: &str| if args.gate_releases { text.to_owned() } else { String::new() };
    let volumes = volumes(tls.files, args.gate_releases);
    let words = [
        // Texts that hold words themselves come first.
        ("POLICYRIGHTS", policy.map_or_else(String::new, |_| POLICY_RIGHTS.to_owned())),
        ("JUDGERULES", JUDGE_RULES.to_owned()),
        ("POLICYRULES", POLICY_RULES.to_owned()),
        ("NETWORKRULES", format!("{NETWORK_RULES}{}", word(GATE_NETWORK_RULES)).trim_end().replace('\n', "\n  ")),
        ("WEBHOOKS", WEBHOOKS.to_owned()),
        ("GATE", format!("{}{}", word(GATE), if args.publish_values { PUBLISH } else { "" })),
        ("GATERULES", GATE_RULES.to_owned()),
        ("GATELEASERULES", GATE_LEASE_RULES.to_owned()),
        ("GATEADMISSION", GATE_ADMISSION.to_owned()),
        ("VALUESRULES", VALUES_RULES.to_owned()),
        ("VALUESLEASERULES", VALUES_LEASE_RULES.to_owned()),
        ("GATING", for_flux(args)),
        ("CERTIFICATE", tls.objects.to_owned()),
        ("CERTIFICATERULES", CERTIFICATE_RULES.to_owned()),
        ("BUNDLERULES", BUNDLE_RULES.to_owned()),
        ("SECRET", "rollgate-tls".to_owned()),
        ("CONFIGURATION", "rollgate".to_owned()),
        ("TLS", tls.arguments),
        ("VOLUMES", volumes),
        ("CLIENT", tls.client),
        ("NAMESPACES", "{}".to_owned()),
        ("INJECT", tls.inject),
        ("GROUPS", list(&groups)),
        ("USERS", users),
        ("CONTROLLERS", controllers.join(", ")),
        ("POLICYNAMESPACE", space.to_owned()),
        ("POLICYNAME", name.to_owned()),
        ("POLICY", args.policy.clone()),
        ("MODE", mode.to_owned()),
        ("FAILURE", failure.to_owned()),
        ("TIMEOUT", args.timeout.to_string()),
        ("REPLICAS", args.replicas.to_string()),
        ("LABEL", args.data_label.clone()),
        ("IMAGE", args.image.clone()),
        ("ACCOUNT", format!("{}:rollgate", args.namespace)),
        ("NAMESPACE", args.namespace.clone()),
    ];
    Ok(words.iter().fold(TEXT.to_owned(), |text, (word, value)| text.replace(&format!("@{word}@"), value)))
}

/// What is mounted: the certificate where it comes as files, and room for charts and for what Helm and kustomize read.
fn volumes(files: bool, gates: bool) -> String {
    let all = [
        (files, "tls", "mountPath: /tls, readOnly: true", "secret: {secretName: rollgate-tls}"),
        (gates, "tmp", "mountPath: /tmp", "emptyDir: {}"),
    ];
    let all: Vec<_> = all.into_iter().filter(|(is, ..)| *is).collect();
    if all.is_empty() {
        return String::new();
    }
    let mounts = all.iter().map(|(_, name, mount, _)| format!("        - {{name: {name}, {mount}}}\n"));
    let volumes = all.iter().map(|(_, name, _, volume)| format!("      - {{name: {name}, {volume}}}\n"));
    ["        volumeMounts:\n".to_owned()]
        .into_iter()
        .chain(mounts)
        .chain(["      volumes:\n".to_owned()])
        .chain(volumes)
        .collect()
}

/// The further arguments of a server that gates, or publishes.
fn for_flux(args: &ManifestArgs) -> String {
    let both = [(args.gate_releases, "--gate-releases"), (args.publish_values, "--publish-values")];
    let mut words: Vec<String> = both.iter().filter(|(is, _)| *is).map(|(_, word)| (*word).to_owned()).collect();
    if !words.is_empty() {
        words.push(format!("--lease-namespace={}", args.namespace));
    }
    words.extend(args.notify.as_ref().map(|url| format!("--notify={url}")));
    words.iter().map(|word| format!(", \"{word}\"")).collect()
}
