//! Every annotation and label that the controllers' own sources name is known here, or there is a reason why it need not be: what
//! holds work back is often no field but a name, and a new version brings new ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use crate::bench::say;

/// The modules of the bench, and those of their modules whose sources are searched.
const SOURCES: [(&str, &[&str]); 2] = [
    ("capi", &["sigs.k8s.io/cluster-api", "sigs.k8s.io/cluster-api/api"]),
    ("rke2", &["github.com/rancher/cluster-api-provider-rke2"]),
];

/// Folders of a module that no controller is made of.
const OTHERS: [&str; 8] = ["test", "docs", "hack", "testing", "e2e", "vendor", "testdata", "cmd"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folders of the sources; `None` where Go does not run or has not fetched them.
fn folders() -> Option<Vec<PathBuf>> {
    let mut out = Vec::new();
    for (module, names) in SOURCES {
        let mut go = Command::new("go");
        go.args(["list", "-m", "-f", "{{.Dir}}"]).args(names).env("GOFLAGS", "-mod=readonly").env("GOWORK", "off");
        let listed = go.current_dir(root().join("tests/bench/modules").join(module)).output().ok()?;
        let text = String::from_utf8_lossy(&listed.stdout);
        let dirs: Vec<PathBuf> = text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect();
        if dirs.len() != names.len() {
            return None;
        }
        out.extend(dirs);
    }
    Some(out)
}

/// Calls `each` with every file below a folder.
fn walk(folder: &Path, skip: &[&str], each: &mut dyn FnMut(&Path)) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_file() {
            each(&path);
        } else if path.is_dir() && !skip.contains(&name) {
            walk(&path, skip, each);
        }
    }
}

/// The names in Go sources, each with the file that has it.
fn named(folders: &[PathBuf]) -> BTreeMap<String, String> {
    let name =
        Regex::new(r#""((?:[a-z0-9]+[.-])*[a-z0-9]+\.(?:x-k8s\.io|cattle\.io|metal3\.io)(?:/[A-Za-z0-9._-]+)?)""#)
            .expect("a pattern");
    let mut out = BTreeMap::new();
    for folder in folders {
        walk(folder, &OTHERS, &mut |file| {
            let path = file.to_string_lossy();
            if !path.ends_with(".go") || path.ends_with("_test.go") {
                return;
            }
            let text = fs::read_to_string(file).expect("a source");
            let lines =
                text.lines().filter(|line| !line.trim_start().starts_with("//") && !line.contains("\"sigs.k8s.io"));
            for found in lines.flat_map(|line| name.captures_iter(line)) {
                out.entry(found[1].to_owned()).or_insert_with(|| path.clone().into_owned());
            }
        });
    }
    out
}

#[test]
fn no_name_of_the_controllers_is_unknown() {
    let Some(folders) = folders() else {
        assert!(std::env::var_os("CI").is_none(), "the sources of the controllers are not there");
        say(
            "skipped: names of the controllers, because their sources are not there (build the bench with `make bench`)",
        );
        return;
    };
    let mut ours = String::new();
    walk(&root().join("src"), &["tests"], &mut |file| {
        let text = fs::read(file).expect("a file");
        let text = String::from_utf8_lossy(&text);
        // What a test alone names is not judged.
        ours.push_str(text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default());
    });
    let text = fs::read_to_string(root().join("testdata/names.yaml")).expect("the names");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let reasons: BTreeSet<&str> = lines.filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    let named = named(&folders);
    assert!(named.len() > 80, "the search finds only {} names", named.len());
    let is_unknown = |(name, _): &(&String, &String)| !ours.contains(name.as_str()) && !reasons.contains(name.as_str());
    let unknown: Vec<_> = named.iter().filter(is_unknown).collect();
    assert!(
        unknown.is_empty(),
        "look what these hold back, then judge them or say in testdata/names.yaml why not: {unknown:#?}"
    );
    // What the code names needs no reason either, which tests/rooms.rs sees without these sources.
    let gone: Vec<&&str> = reasons.iter().filter(|name| !named.contains_key(**name)).collect();
    assert!(gone.is_empty(), "the controllers do not know these any more: {gone:#?}");
}
