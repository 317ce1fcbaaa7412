//! What of a repository an object of Flux or Argo CD may read, found by following paths and without rendering anything: folders, what
//! kustomizations in them name, the charts and folders of the HelmReleases, Kustomizations and Applications that lie there, and
//! dependencies of charts beside them. A digest of it tells whether a change can reach what cannot be rendered. It rather takes in too
//! much than too little.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::flux::chart::below;
use crate::flux::{KUSTOMIZATIONS, RELEASES, SOURCES};
use crate::kinds::fields::{list, text};
use crate::object::Object;
use crate::tree::{Map, Value};
use crate::yaml::{self, Span};

/// Group of Applications and ApplicationSets.
const APPLICATIONS: &str = "argoproj.io";
/// What stands at the end of a kustomization's name (kustomize `api/konfig/general.go`).
const KUSTOMIZATION: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A digest of all that is read from some paths on; `None` where none of them is there.
pub(crate) fn digest(root: &Path, starts: impl IntoIterator<Item = PathBuf>) -> Option<String> {
    let starts: Vec<PathBuf> = starts.into_iter().filter(|start| is_there(root, start)).collect();
    if starts.is_empty() {
        return None;
    }
    let mut files = BTreeSet::new();
    let (mut waiting, mut seen) = (starts, BTreeSet::new());
    while let Some(path) = waiting.pop() {
        if !seen.insert(path.clone()) || path.components().any(|part| part.as_os_str() == ".git") {
            continue;
        }
        let there = root.join(&path);
        if there.is_symlink() {
            waiting.extend(linked(root, &path));
            files.insert(path);
        } else if there.is_dir() {
            let entries = std::fs::read_dir(&there).into_iter().flatten().flatten();
            waiting.extend(entries.map(|entry| joined(&path, Path::new(&entry.file_name()))));
        } else {
            waiting.extend(named(root, &path));
            files.insert(path);
        }
    }
    let mut hasher = Sha256::new();
    for file in files {
        let there = root.join(&file);
        let bytes = match std::fs::read_link(&there) {
            Ok(target) => target.into_os_string().into_encoded_bytes(),
            // What cannot be read is the same as nothing on both sides.
            Err(_) => std::fs::read(&there).unwrap_or_default(),
        };
        hasher.update(file.as_os_str().as_encoded_bytes());
        hasher.update(bytes.len().to_le_bytes());
        hasher.update(&bytes);
    }
    Some(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The paths of its repository that an object names: a chart, a folder, files with values. Nothing of an object that names none.
pub(crate) fn of_object(object: &Object) -> Vec<PathBuf> {
    object.value().map_or_else(|_| Vec::new(), |value| of_value(&object.key.group, &object.key.kind, &value))
}

fn of_value(group: &str, kind: &str, value: &Value) -> Vec<PathBuf> {
    match (group, kind) {
        (RELEASES, "HelmRelease") => of_chart(value.pointer("/spec/chart/spec").unwrap_or(&Value::Null)),
        (SOURCES, "HelmChart") => of_chart(value.get("spec").unwrap_or(&Value::Null)),
        (KUSTOMIZATIONS, "Kustomization") => {
            let path = text(value, "/spec/path").unwrap_or_default();
            let beside = list(value, "/spec/components").filter_map(Value::as_str).map(|one| format!("{path}/{one}"));
            { std::iter::once(path.to_owned()).chain(beside) }.filter_map(|path| below(&path).ok()).collect()
        }
        (APPLICATIONS, "Application") => {
            let single = value.pointer("/spec/source").into_iter();
            single.chain(list(value, "/spec/sources")).flat_map(of_source).collect()
        }
        (APPLICATIONS, "ApplicationSet") => of_set(value.get("spec").unwrap_or(&Value::Null)),
        _ => Vec::new(),
    }
}

/// The chart of a Git repository or a bucket, and files of the source for its values.
fn of_chart(spec: &Value) -> Vec<PathBuf> {
    if !matches!(text(spec, "/sourceRef/kind"), Some("GitRepository" | "Bucket")) {
        return Vec::new();
    }
    let files = list(spec, "/valuesFiles").filter_map(Value::as_str);
    text(spec, "/chart").into_iter().chain(files).filter_map(|path| below(path).ok()).collect()
}

/// The folder of a source of Argo CD, and its files with values.
pub(crate) fn of_source(source: &Value) -> Vec<PathBuf> {
    let folder = text(source, "/path");
    let files = list(source, "/helm/valueFiles").filter_map(Value::as_str).map(|file| match file.strip_prefix('$') {
        Some(rest) => rest.split_once('/').map_or("", |(_, rest)| rest).to_owned(),
        None if file.starts_with('/') => file.to_owned(),
        None => format!("{}/{file}", folder.unwrap_or_default()),
    });
    folder.map(str::to_owned).into_iter().chain(files).filter_map(|path| below(&path).ok()).collect()
}

/// The paths of an ApplicationSet as far as its templates leave them: `clusters/*` is `clusters`. One that is a variable as a whole
/// comes from a generator that names its own paths.
fn of_set(spec: &Value) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(spec, &mut |name, value| {
        if !matches!(name, "path" | "valueFiles") {
            return;
        }
        let texts = value.as_str().into_iter().chain(value.as_array().into_iter().flatten().filter_map(Value::as_str));
        found.extend(texts.map(str::to_owned));
    });
    let fixed = found.iter().filter_map(|path| match path.find(['{', '*', '?', '[']) {
        None => below(path).ok(),
        Some(at) => path[..at].rfind('/').and_then(|end| below(&path[..end]).ok()),
    });
    fixed.collect()
}

/// The addresses of repositories that stand in an object.
pub(crate) fn addresses(value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    walk(value, &mut |name, value| {
        let url = value.as_str().filter(|_| matches!(name, "repoURL" | "url"));
        out.extend(url.filter(|url| !url.contains("{{")).map(str::to_owned));
    });
    out
}

/// Does something with each field of a value, at any depth.
fn walk(value: &Value, with: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(map) => each(map, with),
        Value::Array(items) => items.iter().for_each(|item| walk(item, with)),
        _ => {}
    }
}

fn each(map: &Map, with: &mut impl FnMut(&str, &Value)) {
    for (name, value) in map {
        with(name, value);
        walk(value, with);
    }
}

/// The paths that a file names, from the root.
fn named(root: &Path, file: &Path) -> Vec<PathBuf> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !KUSTOMIZATION.contains(&name) && !name.ends_with(".yaml") && !name.ends_with(".yml") {
        return Vec::new();
    }
    let Ok(bytes) = std::fs::read(root.join(file)) else { return Vec::new() };
    let folder = file.parent().unwrap_or(Path::new(""));
    let found = if KUSTOMIZATION.contains(&name) || name == "Chart.yaml" {
        let texts = texts(&bytes).into_iter().filter_map(|text| match name {
            "Chart.yaml" => text.strip_prefix("file://").map(str::to_owned),
            // `key=file` of a generator.
            _ => text.rsplit('=').next().map(str::to_owned),
        });
        texts
            .filter(|text| !text.is_empty() && !text.contains('\n'))
            .map(|text| joined(folder, Path::new(&text)))
            .collect()
    } else {
        carried(&bytes)
    };
    found.into_iter().filter(|path| is_there(root, path)).collect()
}

/// What the objects of a file name. The root itself is no path that counts: a Kustomization or an Application of another repository often
/// names it.
fn carried(bytes: &[u8]) -> Vec<PathBuf> {
    let holds = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
    if ![RELEASES, SOURCES, KUSTOMIZATIONS, APPLICATIONS].into_iter().any(holds) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for section in yaml::split(bytes).unwrap_or_default() {
        let Ok(value) = yaml::read_json(bytes, section.document) else { continue };
        let group = text(&value, "/apiVersion").and_then(|version| version.split('/').next()).unwrap_or_default();
        out.extend(of_value(group, text(&value, "/kind").unwrap_or_default(), &value));
    }
    out.retain(|path| path != Path::new("."));
    out
}

/// Whether no kustomization that is read from a folder on names a file outside of the repository: then what it loads was reviewed.
pub(crate) fn stays_inside(root: &Path, folder: &Path) -> bool {
    let (mut waiting, mut seen) = (vec![folder.to_owned()], BTreeSet::new());
    while let Some(path) = waiting.pop() {
        let Some(file) =
            KUSTOMIZATION.iter().map(|name| joined(&path, Path::new(name))).find(|file| is_there(root, file))
        else {
            continue;
        };
        if !seen.insert(path.clone()) {
            continue;
        }
        let Ok(bytes) = std::fs::read(root.join(&file)) else { return false };
        // What stands in files of these is not looked through.
        let value = yaml::read_json(&bytes, Span { start: 0, end: bytes.len() });
        let has = |field: &str| value.as_ref().is_ok_and(|value| value.get(field).is_some());
        if value.is_err() || ["generators", "transformers", "validators", "helmCharts", "openapi"].into_iter().any(has)
        {
            return false;
        }
        for text in texts(&bytes).iter().filter(|text| !text.contains('\n')) {
            let text = text.rsplit('=').next().unwrap_or_default();
            let to = path.join(text).display().to_string();
            if below(&to).is_err() || Path::new(text).is_absolute() && Path::new(text).exists() {
                return false;
            }
            waiting.extend(below(&to).ok());
        }
    }
    true
}

/// The texts of a document, at any depth.
fn texts(bytes: &[u8]) -> Vec<String> {
    let Ok(value) = yaml::read_json(bytes, Span { start: 0, end: bytes.len() }) else { return Vec::new() };
    let mut out = Vec::new();
    walk(&value, &mut |_, value| {
        let items = value.as_array().into_iter().flatten().chain(std::iter::once(value));
        out.extend(items.filter_map(Value::as_str).map(str::to_owned));
    });
    out
}

/// What a link of the repository leads to, where that is in it.
fn linked(root: &Path, link: &Path) -> Option<PathBuf> {
    let target = std::fs::read_link(root.join(link)).ok()?;
    let path = joined(link.parent().unwrap_or(Path::new("")), &target);
    (!target.is_absolute() && is_there(root, &path)).then_some(path)
}

/// A path as seen from a folder; one that leads out of the repository is none of it.
fn joined(folder: &Path, path: &Path) -> PathBuf {
    below(&folder.join(path).display().to_string()).unwrap_or_else(|_| PathBuf::from(".git"))
}

fn is_there(root: &Path, path: &Path) -> bool {
    std::fs::symlink_metadata(root.join(path)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest_of(root: &Path) -> Option<String> {
        digest(root, [PathBuf::from("apps")])
    }

    #[test]
    fn what_is_named_from_a_folder_counts_and_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let file = folder.path().join(path);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("a folder");
            std::fs::write(file, text).expect("a file");
        };
        assert_eq!(digest_of(folder.path()), None);
        write(
            "apps/kustomization.yaml",
            "resources: [../base, a.yaml]\nconfigMapGenerator: [{name: a, files: [k=../k.txt]}]\n",
        );
        write("base/kustomization.yaml", "resources: [b.yaml]\n");
        write(
            "base/b.yaml",
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec: {chart: {spec: {chart: ./chart, \
             sourceRef: {kind: GitRepository}, valuesFiles: [common/v.yaml]}}}\n",
        );
        write("chart/Chart.yaml", "name: a\ndependencies: [{name: lib, repository: 'file://../lib'}]\n");
        let mut before = digest_of(folder.path());
        for (path, counts) in [
            ("apps/a.yaml", true),
            ("k.txt", true),
            ("README.md", false),
            ("lib/templates/a.yaml", true),
            ("other/chart/Chart.yaml", false),
            ("base/b.yaml", true),
        ] {
            write(path, "a: b\n");
            let after = digest_of(folder.path());
            assert_eq!(before != after, counts, "{path}");
            before = after;
        }
    }

    #[test]
    fn paths_of_a_set_are_cut_where_its_variables_begin() {
        let spec = crate::tree::json!({"generators": [{"git": {"directories": [{"path": "clusters/*"}]}}],
            "template": {"spec": {"source": {"path": "{{path}}", "helm": {"valueFiles": ["/values/{{name}}.yaml"]}}}}});
        assert_eq!(of_set(&spec), [PathBuf::from("clusters"), PathBuf::from("values")]);
    }
}
