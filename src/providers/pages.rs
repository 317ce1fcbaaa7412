//! The pages of `docs/providers/`: one a provider, with its kinds, its gates and what changed in it with its versions.

use std::fmt::Write as _;

use super::{PROVIDERS, Provider};
use crate::kinds::Kind;

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
                writeln!(out, "| {} | {} | {} | {} |", kind.name, kind.group, kind.role.word(), known(kind));
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
fn known(kind: &Kind) -> String {
    let words = [
        (kind.mirror.is_some(), "mirror"),
        (kind.webhook.is_some(), "webhook"),
        (kind.superset.is_some(), "moved fields"),
        (kind.fixed.is_some(), "fixed content"),
        (!kind.gates.is_empty(), "gates"),
    ];
    words.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect::<Vec<_>>().join(", ")
}
