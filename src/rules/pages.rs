//! The pages of `docs/rules/`: one a pack, with every rule and cause, made from the packs themselves.

use std::fmt::Write as _;

use super::pack::{Pack, word};
use super::{Pattern, Rules};

/// Name and text of each page, the index first.
#[must_use]
pub fn pages() -> Vec<(String, String)> {
    let packs: Vec<&Pack> = Rules::built_in().packs().collect();
    let mut out = vec![("README.md".to_owned(), index(&packs))];
    out.extend(packs.iter().map(|pack| (format!("{}.md", pack.pack), page(pack))));
    out
}

/// The list of packs.
fn index(packs: &[&Pack]) -> String {
    let mut text = String::from(
        "# Rules\n\nMade from `src/providers/*/packs/*.yaml`; a test fails when they part. `rollgate explain kcp/version` and\n\
         `rollgate explain KubeadmControlPlane.spec.version` show the same.\n\nCauses are decided by a mirror of the controller, \
         Machine by Machine (`src/providers/`); rules are data, and the first\none that is about a change wins. A spec field that \
         nothing names is `unknown`.\n\n| pack | provider | kinds |\n|---|---|---|\n",
    );
    for pack in packs {
        let kinds: Vec<&str> = pack.kinds.iter().map(|name| name.kind.as_str()).collect();
        // Writing to a string cannot fail.
        let _: std::fmt::Result = writeln!(
            text,
            "| [{0}]({0}.md) | {1} | {2} |",
            pack.pack,
            pack.provider,
            kinds.join(", ").replace('*', "any")
        );
    }
    text
}

/// One pack.
fn page(pack: &Pack) -> String {
    let kinds: Vec<&str> = pack.kinds.iter().map(|name| name.kind.as_str()).collect();
    let mut text =
        format!("# {}\n\nKinds: {}. Provider: {}.\n", pack.pack, kinds.join(", ").replace('*', "any"), pack.provider);
    for cause in &pack.causes {
        let paths = if cause.paths.is_empty() { String::new() } else { format!(" · `{}`", cause.paths.join("`, `")) };
        section(&mut text, &cause.id, &format!("{}{paths}", cause.effect), &cause.because, &cause.source);
    }
    for rule in &pack.rules {
        let paths: Vec<&str> = rule.paths.iter().map(Pattern::text).collect();
        let mut head = format!("{} · `{}`", rule.effect, paths.join("`, `"));
        if let Some(since) = &rule.since {
            let _: std::fmt::Result = write!(head, " · since {}", word(since, false));
        }
        if let Some(until) = &rule.until {
            let _: std::fmt::Result = write!(head, " · until {}", word(until, true));
        }
        if rule.touches.is_some() {
            head.push_str(" · touches infrastructure");
        }
        let source = if rule.source.is_empty() { &pack.source } else { &rule.source };
        section(&mut text, &rule.id, &head, &rule.because, source);
    }
    text
}

/// One rule or cause.
fn section(text: &mut String, id: &str, head: &str, because: &str, source: &str) {
    let _: std::fmt::Result = write!(text, "\n## {id}\n\n{head}\n\n{because}\n\nSource: {source}\n");
}
