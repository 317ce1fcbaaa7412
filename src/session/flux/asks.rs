//! Whether a chart asks the cluster while Helm renders it. Nobody asks here, so that what is rendered may not be what Flux writes.

use std::path::Path;

use anyhow::{Context as _, ensure};

use super::artifact;

/// Folders inside of folders.
const DEEPEST: usize = 16;

/// The first template of a chart, or of a chart in it, that calls `lookup`.
///
/// # Errors
/// When the chart cannot be read.
pub(super) fn asks(chart: &Path) -> anyhow::Result<Option<String>> {
    let mut found = None;
    files(chart, "", 0, &mut |name, text| {
        if found.is_none() && name.contains("templates/") && looks_up(text) {
            found = Some(name.to_owned());
        }
    })?;
    Ok(found)
}

/// What is said of such a chart.
pub(super) fn said(template: &str) -> String {
    format!("{template} asks the cluster while Helm renders (lookup), which finds nothing here")
}

/// Each file of a chart, which is a folder or an archive.
fn files(path: &Path, name: &str, depth: usize, with: &mut impl FnMut(&str, &[u8])) -> anyhow::Result<()> {
    let unreadable = || format!("cannot read {name} of its chart");
    ensure!(depth < DEEPEST, "folders of its chart lie too deep in each other");
    if path.is_dir() {
        let entries: Result<Vec<_>, _> = std::fs::read_dir(path).with_context(unreadable)?.collect();
        let mut entries: Vec<_> =
            entries.with_context(unreadable)?.into_iter().map(|entry| entry.file_name()).collect();
        entries.sort();
        for entry in entries {
            let below = entry.to_string_lossy();
            let below = if name.is_empty() { below.into_owned() } else { format!("{name}/{below}") };
            files(&path.join(&entry), &below, depth + 1, with)?;
        }
        return Ok(());
    }
    let is_archive = depth == 0 || path.extension().is_some_and(|end| end == "tgz");
    if is_archive {
        let bytes = std::fs::read(path).with_context(unreadable)?;
        artifact::each(&bytes, name, 0, &mut |_, name, text| {
            with(name, text);
            Ok(())
        })
    } else if name.contains("templates/") {
        with(name, &std::fs::read(path).with_context(unreadable)?);
        Ok(())
    } else {
        Ok(())
    }
}

/// Whether a template calls `lookup`.
fn looks_up(template: &[u8]) -> bool {
    let text = String::from_utf8_lossy(template);
    text.split("{{").skip(1).any(|part| {
        let action = part.split("}}").next().unwrap_or_default();
        let is_comment = action.trim_start_matches('-').trim_start().starts_with("/*");
        !is_comment && action.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == "lookup")
    })
}

#[cfg(test)]
mod tests {
    use super::super::artifact::tests::packed;
    use super::*;

    #[test]
    fn a_template_that_asks_is_found_wherever_it_lies() {
        let asking = b"{{- $old := lookup \"v1\" \"Secret\" \"a\" \"b\" }}";
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &[u8]| {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, text).expect("a file");
        };
        write("Chart.yaml", b"name: demo");
        write("templates/a.yaml", b"a: {{ .Values.lookup1 }}");
        write("README.md", asking);
        assert_eq!(asks(folder.path()).expect("a chart"), None);
        write("charts/sub.tgz", &packed(&[("sub/Chart.yaml", b"name: sub"), ("sub/templates/s.yaml", asking)]));
        assert_eq!(asks(folder.path()).expect("a chart").as_deref(), Some("charts/sub.tgz/sub/templates/s.yaml"));
        write("charts/near/templates/_helpers.tpl", asking);
        assert_eq!(asks(folder.path()).expect("a chart").as_deref(), Some("charts/near/templates/_helpers.tpl"));
        write("charts/bad.tgz", b"no archive");
        assert!(asks(folder.path()).is_err());
        assert!(!looks_up(b"{{/* lookup */}} lookup"));
    }
}
