//! The tools that render: what one prints, and what it says where it fails.

use std::io;
use std::path::Path;

use anyhow::{anyhow, bail};
use bytes::Bytes;
use tokio::process::Command;

use super::process::{self, Ended, Fault};
use super::source::Tree;
use super::{Observer, input, runtime};
use crate::compare::redact::{MarkKey, Redactor};

/// Most lines of a tool that are handed on.
const MOST_LINES: usize = 20;
/// Longest of them, in characters.
const LONGEST_LINE: usize = 500;

/// How an error calls a command, and what helps where it is not there.
pub(crate) type Name<'a> = (&'a str, &'a str);

/// What a tool prints; an error with what it said where it fails or prints no object.
pub(super) fn printed(
    command: Command,
    tree: Tree<'_>,
    name: Name<'_>,
    observer: &dyn Observer,
) -> anyhow::Result<Bytes> {
    let Ended { status, stdout, stderr } = ran(command, tree.folder, name, observer)?;
    let (what, _) = name;
    if !status.success() {
        bail!("{what} failed ({status}): {}", said(&stderr));
    }
    if input::is_empty(&stdout) && !tree.may_be_empty {
        bail!("{what} prints no object (it said: {})", said(&stderr));
    }
    Ok(stdout.into())
}

/// A tool that cannot be started. It is no property of what it was to render, so whoever goes on where one render fails ends here.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotStarted(String);

/// Runs a tool to its end.
pub(crate) fn ran(
    command: Command,
    folder: &Path,
    (what, remedy): Name<'_>,
    observer: &dyn Observer,
) -> anyhow::Result<Ended> {
    let runtime = runtime().map_err(|stop| stop.error)?;
    let _guard = runtime.enter();
    observer.starts(None)?;
    match runtime.block_on(process::run(command, folder)) {
        Err(Fault::Start(error)) if error.kind() == io::ErrorKind::NotFound && folder.is_dir() => {
            Err(anyhow!(error).context(NotStarted(format!("{what} cannot be run; {remedy}"))))
        }
        Err(Fault::Start(error)) if folder.is_dir() => {
            Err(anyhow!(error).context(NotStarted(format!("{what} cannot be run"))))
        }
        Err(Fault::Start(error) | Fault::Run(error)) => Err(anyhow!(error).context(format!("{what} did not run"))),
        Ok(ended) => Ok(ended),
    }
}

/// Words of a tool, or an address that it is given, without what has the form or the name of a secret: passwords in addresses, values of
/// fields that are called so, tokens, hashes of passwords.
pub(crate) fn shown(text: &str) -> String {
    Redactor::new(&MarkKey::fresh()).text(text)
}

/// What a tool said as it failed. Its warnings may quote values, so where it says what the error is, that is enough.
pub(crate) fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let error = lines.iter().position(|line| line.to_ascii_lowercase().starts_with("error"));
    let lines = &lines[error.unwrap_or_default()..];
    // Values that an error quotes are no less secret than those of a report.
    let text = shown(&lines[..lines.len().min(MOST_LINES)].join("\n"));
    let short = |line: &str| line.chars().take(LONGEST_LINE).collect::<String>();
    let mut shown: Vec<String> = text.lines().map(short).collect();
    if lines.len() > MOST_LINES {
        shown.push(format!("({} more lines)", lines.len() - MOST_LINES));
    }
    if shown.is_empty() { "it said nothing".to_owned() } else { shown.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_quotes_as_it_fails_shows_no_password() {
        for line in [
            "Error: - at '/pw': 'hunter2Qq7' does not match pattern '^[0-9]+$'",
            "Error: execution error at (c/templates/x.yaml:1:4): password: hunter2Qq7",
            "Error: failed parsing --set-json data pw=hunter2Qq7",
            "Error: Get \"https://u:hunter2Qq7@127.0.0.1:1/c.tgz\": refused",
            "Error: oci://u:hunter2Qq7@127.0.0.1:1/c is not there",
            "Error: Get \"https://127.0.0.1:1/c.tgz?token=hunter2Qq7\": refused",
        ] {
            let said = said(line.as_bytes());
            assert!(!said.contains("hunter2Qq7") && said.starts_with("Error: "), "{said}");
        }
        for line in [
            "Error: template: c/templates/x.yaml:3:5: executing \"c/templates/x.yaml\" at <.Values.a.b>: nil pointer evaluating interface {}.b",
            "Error: chart \"c\" version \"1.2.3\" not found in https://charts.example.org/stable repository",
            "Error: image registry.example.org/a/b:v1.2.3@sha256:0f1e is not there",
            "Error: YAML parse error on c/templates/x.yaml: error converting YAML to JSON: yaml: line 3: did not find expected ':'",
        ] {
            assert_eq!(said(line.as_bytes()), line);
        }
    }
}
