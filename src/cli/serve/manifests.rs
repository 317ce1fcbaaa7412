//! What is applied to a cluster so that its API server asks the webhook, as one stream.

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::super::{Outside, Stop};
use super::{FailurePolicy, ManifestArgs, ServeMode};
use crate::exit::Exit;
use crate::providers;

/// All of it, with words between `@` that depend on what is wanted.
const TEXT: &str = include_str!("manifests.yaml");
/// What cert-manager makes, and where it writes the authority.
const ISSUED: &str = include_str!("certificate.yaml");
/// What the gate of HelmReleases may do.
const GATE: &str = include_str!("gate.yaml");
/// The service accounts of controllers of Cluster API, NAMESPACE:NAME a line, as their own manifests call them.
const CONTROLLERS: &str = include_str!("controllers.txt");
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

fn text(args: &ManifestArgs) -> anyhow::Result<String> {
    let policy = checked(args)?;
    let (issued, inject, bundle) = match &args.ca_bundle {
        None => {
            let inject = format!("\n  annotations: {{cert-manager.io/inject-ca-from: {}/rollgate}}", args.namespace);
            (ISSUED, inject, String::new())
        }
        Some(file) => {
            let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            ensure!(bytes.starts_with(b"-----BEGIN CERTIFICATE"), "{} is no certificate in PEM", file.display());
            ("", String::new(), format!("\n    caBundle: {}", BASE64_STANDARD.encode(bytes)))
        }
    };
    let list = |words: &[String]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    let groups: Vec<String> = providers::known().into_iter().map(str::to_owned).collect();
    let users = args.skip.iter().map(|user| format!("'{user}'")).collect::<Vec<_>>().join(", ");
    let controllers = CONTROLLERS.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let controllers: Vec<String> = controllers.map(|line| format!("'system:serviceaccount:{line}'")).collect();
    let (space, name) = policy.unwrap_or((&args.namespace, "rollgate-policy"));
    let mode = if args.mode == ServeMode::Enforce { "enforce" } else { "observe" };
    let failure = if args.failure_policy == FailurePolicy::Fail { "Fail" } else { "Ignore" };
    // Charts are unpacked there, and what Helm and kustomize read.
    let word = |text: &str| if args.gate_releases { text.to_owned() } else { String::new() };
    let words = [
        ("CERTIFICATE", issued.to_owned()),
        ("GATE", if args.gate_releases { GATE.to_owned() } else { String::new() }),
        ("GATING", if args.gate_releases { gating(args) } else { String::new() }),
        ("MOUNTS", word("\n        - {name: tmp, mountPath: /tmp}")),
        ("VOLUMES", word("\n      - {name: tmp, emptyDir: {}}")),
        ("INJECT", inject),
        ("BUNDLE", bundle),
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
        ("NAMESPACE", args.namespace.clone()),
    ];
    Ok(words.iter().fold(TEXT.to_owned(), |text, (word, value)| text.replace(&format!("@{word}@"), value)))
}

/// The further arguments of a server that gates.
fn gating(args: &ManifestArgs) -> String {
    let notify = args.notify.as_ref().map(|url| format!(", \"--notify={url}\"")).unwrap_or_default();
    format!(", \"--gate-releases\", \"--lease-namespace={}\"{notify}", args.namespace)
}
