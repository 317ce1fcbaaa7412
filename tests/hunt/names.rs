//! The names of annotations and labels that controllers read: those that our own sources judge, and those that `testdata/names.yaml`
//! says need not be judged. A name that comes to either is toggled in the next walk with nobody adding it here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use regex::Regex;

/// All of them, sorted.
pub(crate) fn names() -> &'static [String] {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let name = Regex::new(
            r"((?:[a-z0-9]+[.-])*[a-z0-9]+\.(?:x-k8s\.io|cattle\.io|metal3\.io)/[A-Za-z0-9._-]*[A-Za-z0-9])",
        )
        .expect("a pattern");
        let quoted = Regex::new(&format!("\"{}\"", name.as_str())).expect("a pattern");
        let mut found = BTreeSet::new();
        read(&root.join("src"), &mut |text| {
            found.extend(quoted.captures_iter(text).map(|found| found[1].to_owned()));
        });
        let reasons = fs::read_to_string(root.join("testdata/names.yaml")).expect("the names");
        for line in reasons.lines().filter(|line| !line.starts_with('#')) {
            let told = line.split_once(": ").map(|(told, _)| told).filter(|told| name.is_match(told));
            found.extend(told.map(str::to_owned));
        }
        // What ends in a version is the apiVersion of objects.
        let version = Regex::new(r"/v[0-9]+((alpha|beta)[0-9]+)?$").expect("a pattern");
        found.retain(|name| !version.is_match(name));
        found.into_iter().collect()
    })
}

/// Hands over every source below a folder.
fn read(folder: &Path, each: &mut impl FnMut(&str)) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read(&path, each);
        } else if path.extension().is_some_and(|end| end == "rs") {
            each(&fs::read_to_string(&path).expect("a source"));
        }
    }
}
