//! The chart of a HelmRelease as source-controller serves it: fetched, compared with its digest, and unpacked into a folder of its own.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};

use crate::kinds::fields::text;
use crate::late::Address;
use crate::tree::Value;

/// Most bytes of an artifact: Helm itself takes no larger chart (helm `pkg/chart/loader/archive`, MaxDecompressedChartSize).
const LARGEST: u64 = 100 * 1024 * 1024;
/// Longest time for fetching it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Charts inside of charts.
const DEEPEST: usize = 8;

/// An artifact, as the status of its source has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Artifact {
    /// Where it is served.
    pub url: String,
    /// Which one it is.
    pub digest: String,
    /// How its source calls it.
    pub revision: String,
}

impl Artifact {
    /// The artifact of a source that is ready (helm-controller `isSourceReady`).
    ///
    /// # Errors
    /// With what it lacks.
    pub(crate) fn of(source: &Value, title: &str) -> Result<Self, String> {
        let generation = source.pointer("/metadata/generation").and_then(Value::as_i64);
        let condition = |kind: &str| {
            let all = crate::kinds::fields::list(source, "/status/conditions");
            all.into_iter().find(|one| text(one, "/type") == Some(kind))
        };
        let says = |kind: &str| condition(kind).and_then(|one| text(one, "/message")).unwrap_or_default().to_owned();
        if source.pointer("/status/observedGeneration").and_then(Value::as_i64) != generation {
            return Err(format!("{title} is not ready: its newest generation is not fetched yet {}", says("Ready")));
        }
        if condition("Stalled").and_then(|one| text(one, "/status")) == Some("True") {
            return Err(format!("{title} is not ready: {}", says("Stalled")));
        }
        let word = |field: &str| text(source, &format!("/status/artifact/{field}")).map(str::to_owned);
        match (word("url"), word("digest")) {
            (Some(url), Some(digest)) => Ok(Self { url, digest, revision: word("revision").unwrap_or_default() }),
            _ => Err(format!("{title} is not ready: it has no artifact")),
        }
    }

    /// This artifact, served at another address.
    #[must_use]
    pub(crate) fn at(self, address: &str) -> Self {
        let path = self.url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
        Self { url: format!("{}/{path}", address.trim_end_matches('/')), ..self }
    }

    /// Fetches it.
    ///
    /// # Errors
    /// When it cannot be had, or is not what its digest says.
    pub(crate) async fn fetch(&self) -> anyhow::Result<Vec<u8>> {
        let address = Address { url: &self.url, ca: None, folder: Path::new("."), limit: PATIENCE };
        let bytes = address.bytes(LARGEST).await.map_err(|why| anyhow!("the artifact of its chart: {why}"))?;
        let bytes = bytes.context("the artifact of its chart is no longer served")?;
        ensure!(bytes.len() as u64 <= LARGEST, "the artifact of its chart is larger than any chart");
        let Some(told) = self.digest.strip_prefix("sha256:") else {
            bail!("the artifact of its chart has a digest that is not computed here: {}", self.digest);
        };
        let is: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        ensure!(is == told, "the artifact of its chart is not what its digest says");
        Ok(bytes)
    }
}

/// Unpacks a chart below `folder`.
///
/// # Errors
/// When it is no chart, or leads out of its folder.
pub(crate) fn unpack(bytes: &[u8], folder: &Path) -> anyhow::Result<PathBuf> {
    let mut root = None;
    each(bytes, "", 0, &mut |depth, name, text| {
        if depth > 0 {
            return Ok(());
        }
        let path = inside(name)?;
        let first = path.components().next().map(|part| PathBuf::from(part.as_os_str()));
        match (&root, first) {
            (None, Some(first)) => root = Some(first),
            (Some(root), Some(first)) if *root == first => {}
            _ => bail!("its archive holds more than one folder"),
        }
        let file = folder.join(&path);
        std::fs::create_dir_all(file.parent().unwrap_or(folder)).context("the chart cannot be unpacked")?;
        std::fs::write(&file, text).context("the chart cannot be unpacked")
    })?;
    let chart = folder.join(root.context("its archive is empty")?);
    ensure!(chart.join("Chart.yaml").is_file(), "its archive is no chart");
    Ok(chart)
}

/// Each file of an archive, and of the archives of charts in it.
pub(in crate::session) fn each(
    bytes: &[u8],
    above: &str,
    depth: usize,
    with: &mut impl FnMut(usize, &str, &[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    ensure!(depth < DEEPEST, "charts lie too deep in each other");
    let mut archive = tar::Archive::new(GzDecoder::new(bytes).take(LARGEST + 1));
    let mut left = LARGEST;
    for entry in archive.entries().context("its archive cannot be read")? {
        let mut entry = entry.context("its archive cannot be read")?;
        match entry.header().entry_type() {
            tar::EntryType::Directory | tar::EntryType::XGlobalHeader => continue,
            tar::EntryType::Regular => {}
            _ => bail!("its archive holds something that is no file"),
        }
        let name = entry.path().context("its archive cannot be read")?.to_string_lossy().into_owned();
        let mut text = Vec::new();
        entry.read_to_end(&mut text).context("its archive cannot be read")?;
        left = left.checked_sub(text.len() as u64).context("it is larger than any chart")?;
        let whole = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
        with(depth, &whole, &text)?;
        let path = Path::new(&name);
        let is_in_charts = path.parent().is_some_and(|folder| folder.ends_with("charts"));
        if is_in_charts && path.extension().is_some_and(|end| end == "tgz") {
            each(&text, &whole, depth + 1, with)?;
        }
    }
    Ok(())
}

/// A name in an archive as a path that stays inside.
fn inside(name: &str) -> anyhow::Result<PathBuf> {
    let mut out = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => out.push(part),
            Component::CurDir => {}
            _ => bail!("its archive leads out of its folder"),
        }
    }
    Ok(out)
}

#[cfg(test)]
pub(in crate::session) mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::tree::json;

    pub(in crate::session) fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            // `append_data` refuses what leads out, which is what is tried here.
            header.as_gnu_mut().expect("a header").name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            archive.append(&header, *text).expect("an entry");
        }
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(&archive.into_inner().expect("an archive")).expect("packed");
        out.finish().expect("packed")
    }

    #[test]
    fn a_chart_is_unpacked() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = packed(&[("sub/Chart.yaml", b"name: sub")]);
        let whole = packed(&[("demo/Chart.yaml", b"name: demo"), ("demo/charts/sub.tgz", &below)]);
        let chart = unpack(&whole, folder.path()).expect("a chart");
        assert_eq!(chart.file_name().expect("a name"), "demo");
        assert_eq!(std::fs::read(chart.join("Chart.yaml")).expect("a file"), b"name: demo");
        assert_eq!(std::fs::read(chart.join("charts/sub.tgz")).expect("a file"), below);
    }

    #[test]
    fn what_leads_out_is_no_chart() {
        for name in ["../Chart.yaml", "/Chart.yaml", "demo/../../Chart.yaml"] {
            let folder = tempfile::tempdir().expect("a folder");
            assert!(unpack(&packed(&[(name, b"name: demo")]), folder.path()).is_err(), "{name}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        assert!(unpack(b"no archive", folder.path()).is_err());
    }

    #[test]
    fn another_address_serves_the_same_path() {
        let url = "http://source-controller.flux-system.svc.cluster.local./helmchart/a/b-1.0.0.tgz".to_owned();
        let artifact = Artifact { url, digest: "sha256:0".to_owned(), revision: "1.0.0".to_owned() };
        assert_eq!(artifact.at("http://127.0.0.1:8080/").url, "http://127.0.0.1:8080/helmchart/a/b-1.0.0.tgz");
    }

    #[test]
    fn a_source_that_is_behind_has_no_artifact_yet() {
        let source = |observed: i64| {
            json!({"metadata": {"generation": 2}, "status": {"observedGeneration": observed,
            "artifact": {"url": "http://127.0.0.1/a.tgz", "digest": "sha256:0", "revision": "1.0.0"}}})
        };
        assert!(Artifact::of(&source(2), "it").is_ok());
        assert!(Artifact::of(&source(1), "it").is_err());
    }
}
