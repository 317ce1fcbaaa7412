//! The pages of `docs/providers/`: one a provider, with its kinds, its gates and what changed in it with its versions.

use std::fmt::Write as _;

use super::{PROVIDERS, Provider};
use crate::kinds::Kind;

/// The versions at which those providers were read whose versions are not told apart.
const READ_AT: &[(&str, &str)] = &[
    ("azure", "v1.26"),
    ("ck8s", "v0.6"),
    ("cloudstack", "v0.6"),
    ("ionoscloud", "v0.6"),
    ("k0smotron", "v2.1"),
    ("kamaji", "v0.20"),
    ("microk8s", "v0.6"),
    ("openshift", "v0.4"),
    ("outscale", "v1.5"),
    ("talos", "v0.7 of the bootstrap provider and v0.5 of the control plane"),
];

/// Name and text of each page.
#[must_use]
pub fn pages() -> Vec<(String, String)> {
    PROVIDERS.iter().map(|provider| (format!("{}.md", provider.name), page(provider))).collect()
}

/// One provider. Writing to a string cannot fail.
fn page(provider: &Provider) -> String {
    let mut out = format!("# {}\n\n{}\n", provider.name, provider.title);
    if let Some(release) = provider.release {
        let _: std::fmt::Result =
            write!(out, "\nNewest version that is known: {} v{}.\n", release.name, release.newest);
    } else if let Some((_, version)) = READ_AT.iter().find(|(name, _)| *name == provider.name) {
        let _: std::fmt::Result = write!(out, "\nRead at {version}; its versions are not told apart.\n");
    } else {
        out.push_str("\nIts versions are those of Cluster API ([core](core.md)).\n");
    }
    let packs: Vec<String> = provider.packs.iter().map(|name| format!("[{name}](../rules/{name}.md)")).collect();
    let _: std::fmt::Result = write!(out, "\nRules: {}.\n", packs.join(", "));
    if !provider.kinds.is_empty() {
        out.push_str(
            "\n## Kinds\n\nKinds that are not listed have the role that Cluster API's contract gives their name.\n\n",
        );
        out.push_str("| kind | group | role | known |\n|---|---|---|---|\n");
        for kind in provider.kinds {
            let _: std::fmt::Result =
                writeln!(out, "| {} | {} | {} | {} |", kind.name, kind.group, kind.role.word(), knowledge(kind));
        }
    }
    if !provider.gates.is_empty() {
        out.push_str("\n## Feature gates\n\n");
        for gate in provider.gates {
            let state = match gate.usually_on {
                Some(since) => format!("on since {} {}.{}", since.provider, since.version.0, since.version.1),
                None => "off unless somebody turns it on".to_owned(),
            };
            let _: std::fmt::Result = writeln!(out, "- {}: {state}", gate.name);
        }
    }
    if !provider.changes.is_empty() {
        out.push_str("\n## What changed\n\n| since | name | what |\n|---|---|---|\n");
        for change in provider.changes {
            let _: std::fmt::Result = writeln!(out, "| {} | {} | {} |", change.word(""), change.name, change.what);
        }
    }
    out
}

/// What is known of a kind beside its role.
#[must_use]
pub(crate) fn knowledge(kind: &Kind) -> String {
    let has_webhook = kind.webhook.is_some_and(|webhook| !webhook.is_schema_alone());
    let words = [
        (kind.mirror.is_some(), "mirror"),
        (has_webhook, "webhook"),
        (kind.webhook.is_some() && !has_webhook, "schema"),
        (kind.superset.is_some(), "moved fields"),
        (kind.fixed.is_some(), "fixed content"),
        (!kind.gates.is_empty(), "gates"),
    ];
    words.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
}
