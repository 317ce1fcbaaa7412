//! Guards of the structure: who may name a kind, which room may import which, how big a room may grow, and that every id under
//! which the program says something is explained.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rollgate::facade::providers::PROVIDERS;
use rollgate::facade::rules::{Rules, Term, explain};

/// The rooms from the lowest to the highest: a room imports only rooms of lines above its own.
const ORDER: &[&[&str]] = &[
    &["hashed"],
    &["alike", "contract", "exit", "memory", "tree"],
    &["parallel"],
    &["yaml"],
    &["object"],
    &["schema", "model", "gotemplate"],
    &["kinds", "verdict"],
    &["providers"],
    &["compare", "rules", "impact"],
    &["apiserver"],
    &["policy"],
    &["store"],
    &["approval", "history", "pin"],
    &["world"],
    &["host"],
    &["flux"],
    &["cluster", "judge", "report"],
    &["late", "gate", "score"],
    &["pipeline"],
    &["session"],
    &["serve"],
    &["cli"],
    &["facade"],
];

/// A file of the library without its tests, by its room.
struct Source {
    room: String,
    path: PathBuf,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every source file, test modules cut off.
fn sources() -> Vec<Source> {
    let mut folders = vec![root()];
    let mut out = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the sources") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            if path.is_dir() {
                // A folder of tests is a test module cut into files.
                if name != "tests" {
                    folders.push(path);
                }
            } else if name.ends_with(".rs")
                && !name.ends_with("tests.rs")
                && name != "forms.rs"
                && name != "recorded.rs"
            {
                let text = std::fs::read_to_string(&path).expect("a source file");
                let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
                let below = path.strip_prefix(root()).expect("below the sources");
                let room = below.iter().next().and_then(|part| part.to_str()).unwrap_or_default();
                out.push(Source { room: room.trim_end_matches(".rs").to_owned(), path: below.to_owned(), text });
            }
        }
    }
    out
}

/// The texts between quotes of a line that is code.
fn literals(line: &str) -> Vec<&str> {
    let code = line.trim_start();
    if code.starts_with("//") {
        return Vec::new();
    }
    code.split('"').skip(1).step_by(2).collect()
}

#[test]
fn only_kinds_and_providers_name_kinds() {
    let packs = Rules::built_in().packs().collect::<Vec<_>>();
    let mut names: BTreeSet<&str> =
        packs.iter().flat_map(|pack| &pack.kinds).flat_map(|name| [name.kind.as_str(), name.group.as_str()]).collect();
    names.extend(PROVIDERS.iter().flat_map(|provider| provider.kinds).flat_map(|kind| [kind.name, kind.group]));
    names.extend(PROVIDERS.iter().filter_map(|provider| provider.release).map(|release| release.name));
    names.retain(|name| !matches!(*name, "" | "*"));
    let mut found = Vec::new();
    for source in
        sources().iter().filter(|source| !matches!(source.room.as_str(), "contract" | "kinds" | "providers" | "schema"))
    {
        for (place, line) in source.text.lines().enumerate() {
            // A noun of a sentence is no name of a kind.
            let is_noun = ["plural(", "plural_is(", "noun"].iter().any(|word| line.contains(word));
            let is_type_of_ours = line.contains("debug_struct(");
            let is_name = |text: &&str| {
                !(is_noun && *text == "Machine" || is_type_of_ours)
                    && (names.contains(text)
                        || ["RKE2", "Kubeadm", "Metal3", "OpenStack", "VSphere", "AWS"].contains(text))
            };
            let hits: Vec<&str> = literals(line).into_iter().filter(is_name).collect();
            found.extend(hits.iter().map(|name| format!("{}:{}: {name:?}", source.path.display(), place + 1)));
        }
    }
    assert!(found.is_empty(), "names outside:\n{}", found.join("\n"));
}

/// Cluster API itself is no provider among others: its kinds are what the judge judges.
#[test]
fn the_judge_knows_no_provider() {
    let providers = PROVIDERS.iter().map(|provider| provider.name).filter(|name| *name != "core");
    let found: Vec<String> = sources()
        .iter()
        .filter(|source| source.room == "judge")
        .flat_map(|source| {
            let names = |line: &str| {
                let words = |line: &str| {
                    line.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect::<Vec<_>>()
                };
                line.contains("providers::")
                    && words(line).iter().any(|word| providers.clone().any(|name| name == word))
            };
            let lines = source.text.lines().filter(|line| names(line)).map(str::to_owned).collect::<Vec<_>>();
            lines.into_iter().map(|line| format!("{}: {line}", source.path.display()))
        })
        .collect();
    assert!(found.is_empty(), "providers in the judge:\n{}", found.join("\n"));
}

/// The files that a pair comes through while it is judged.
const WAY_OF_A_PAIR: &[&str] = &[
    "apiserver/admission.rs",
    "apiserver/refused.rs",
    "judge/arrival.rs",
    "judge/classify.rs",
    "judge/deletions/mod.rs",
    "judge/deletions/owner.rs",
    "judge/deletions/servers.rs",
    "judge/due.rs",
    "judge/later.rs",
    "judge/owner.rs",
    "judge/plain_owner.rs",
    "judge/replicas.rs",
    "judge/selector.rs",
    "judge/subject.rs",
    "judge/update.rs",
    "judge/weigh.rs",
    "judge/waiting/adoption.rs",
    "judge/waiting/mod.rs",
    "judge/waiting/references.rs",
    "judge/waiting/taken.rs",
];

#[test]
fn the_kind_of_a_pair_is_looked_up_once_on_its_way() {
    let mut found = Vec::new();
    let mut files = 0;
    for source in sources() {
        let path = source.path.to_string_lossy().replace('\\', "/");
        if !WAY_OF_A_PAIR.contains(&path.as_str()) {
            continue;
        }
        files += 1;
        for (place, line) in source.text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if ["kind(key)", "kind(&pair.key)", "kind(self.key)", "kind(&self.key)"]
                .iter()
                .any(|call| line.contains(call))
            {
                found.push(format!("{path}:{}", place + 1));
            }
        }
    }
    assert_eq!(files, WAY_OF_A_PAIR.len(), "a file of the way has another name");
    assert!(found.is_empty(), "the kind is at hand there: {found:?}");
}

/// The rooms that each room imports.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources() {
        let code: Vec<&str> = source.text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for part in code.join("\n").split("crate::").skip(1) {
            let room: String = part.chars().take_while(|char| char.is_ascii_lowercase() || *char == '_').collect();
            if room != source.room && root().join(&room).exists() | root().join(format!("{room}.rs")).exists() {
                out.entry(source.room.clone()).or_default().insert(room);
            }
        }
    }
    out
}

#[test]
fn no_room_imports_one_that_imports_it_and_all_look_down() {
    let level = |room: &str| ORDER.iter().position(|rooms| rooms.contains(&room));
    let mut wrong = BTreeSet::new();
    for (room, others) in imports() {
        if matches!(room.as_str(), "lib" | "main") {
            continue;
        }
        let own = level(&room).unwrap_or_else(|| panic!("the room {room} has no place in ORDER"));
        for other in others {
            let place = level(&other).unwrap_or_else(|| panic!("the room {other} has no place in ORDER"));
            if place >= own {
                wrong.insert((room.clone(), other));
            }
        }
    }
    assert!(wrong.is_empty(), "imports that go the wrong way: {wrong:?}");
}

#[test]
fn the_rooms_are_private_so_that_the_compiler_finds_what_nobody_uses() {
    let lib = std::fs::read_to_string(root().join("lib.rs")).expect("the library");
    let open: Vec<&str> = lib.lines().filter(|line| line.starts_with("pub ")).collect();
    assert_eq!(open, ["pub mod cli;", "pub mod exit;", "pub mod facade;"]);
    let facade = std::fs::read_to_string(root().join("facade.rs")).expect("the facade");
    let whole: Vec<&str> =
        facade.lines().filter(|line| line.contains("pub use") && !line.contains("crate::")).collect();
    assert_eq!(whole, Vec::<&str>::new(), "it names items of this crate");
    assert!(!facade.contains('*'), "it names each item");
}

#[test]
fn no_room_holds_more_than_its_share() {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources() {
        let count = source.text.lines().count();
        // Providers are rooms of their own.
        let mut parts = source.path.iter().filter_map(|part| part.to_str());
        let room = match (parts.next(), parts.next()) {
            (Some("providers"), Some(provider)) => format!("providers/{provider}"),
            _ => source.room.clone(),
        };
        *lines.entry(room).or_default() += count;
    }
    let all: usize = lines.values().sum();
    let (room, most) = lines.iter().max_by_key(|(_, count)| **count).expect("a room");
    assert!(most * 100 < all * 15, "{room} holds {most} of {all} lines");
}

#[test]
fn every_id_that_the_code_gives_is_explained() {
    let mut missing = BTreeSet::new();
    let mut seen = 0;
    for source in sources() {
        for part in source.text.split("RuleId::of(").skip(1) {
            let Some(id) = part.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next()) else {
                continue;
            };
            seen += 1;
            if explain(Rules::built_in(), id).is_none() {
                missing.insert(id.to_owned());
            }
        }
    }
    assert!(seen > 80, "the ids are no longer found");
    assert!(missing.is_empty(), "no pack explains {missing:?}");
}

#[test]
fn every_gate_and_finding_that_the_code_names_is_explained() {
    let mut missing = BTreeSet::new();
    let mut seen = 0;
    for source in sources() {
        for made in ["Reason::new(", "Finding::new(", "finding("] {
            for part in source.text.split(made).skip(1) {
                let Some(word) = part.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next()) else {
                    continue;
                };
                seen += 1;
                if Term::named(word).is_none() {
                    missing.insert(word.to_owned());
                }
            }
        }
    }
    assert!(seen > 60, "the words are no longer found: {seen}");
    assert!(missing.is_empty(), "nothing explains {missing:?}");
}

#[test]
fn the_newest_version_that_is_known_of_a_provider_has_its_schemas() {
    let text = std::fs::read(root().join("schema/crds.json")).expect("the table of schemas");
    let table: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let roots: Vec<&str> = table["roots"].as_object().expect("roots").keys().map(String::as_str).collect();
    for release in PROVIDERS.iter().filter_map(|provider| provider.release) {
        let minor = format!("{}@{}.{}.", release.name, release.newest.major, release.newest.minor);
        assert!(
            roots.iter().any(|root| root.starts_with(&minor)),
            "no schemas of {minor}x: an older minor would stand for it"
        );
    }
}

#[test]
fn every_provider_has_a_folder_and_a_page() {
    for provider in PROVIDERS {
        assert!(root().join("providers").join(provider.name).is_dir(), "{} has no folder", provider.name);
        for pack in provider.packs {
            let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/rules/{pack}.md"));
            assert!(page.exists(), "{} has no page {}", provider.name, page.display());
        }
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/providers/{}.md", provider.name));
        assert!(page.exists(), "{} has no page {}", provider.name, page.display());
    }
}

/// Every file of the tree that can hold a test, with its text.
fn tests_of_the_tree() -> Vec<(PathBuf, String)> {
    let mut folders: Vec<PathBuf> = ["src", "tests"].iter().map(|name| root().with_file_name(name)).collect();
    let mut out = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the tree") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source is text");
                out.push((path, text));
            }
        }
    }
    out
}

#[test]
fn every_promise_of_the_page_on_security_names_tests_that_are_there() {
    let top = root().parent().expect("the repository").to_path_buf();
    let page = std::fs::read_to_string(top.join("docs/security.md")).expect("the page");
    let sources = tests_of_the_tree();
    let rows: Vec<(&str, &str)> = page
        .lines()
        .skip_while(|line| *line != "## Promises")
        .take_while(|line| !line.starts_with("## What hiding"))
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.rsplit_once(" | "))
        .filter(|(promise, _)| *promise != "promise")
        .collect();
    assert!(rows.len() > 20, "{} promises were found", rows.len());
    for (promise, held) in rows {
        let names: Vec<&str> = held.split('`').skip(1).step_by(2).collect();
        let mut tests = 0;
        for name in &names {
            let target = top.join("fuzz/fuzz_targets").join(format!("{name}.rs"));
            let is_test = |text: &str| {
                let found = text.split(&format!("fn {name}(")).collect::<Vec<_>>();
                found.len() > 1 && found[..found.len() - 1].iter().any(|before| before.trim_end().ends_with("#[test]"))
            };
            if name.contains('/') {
                assert!(top.join(name).exists(), "{name} of {promise:?} is not there");
            } else if target.exists() {
                tests += 1;
            } else {
                assert!(sources.iter().any(|(_, text)| is_test(text)), "{name} of {promise:?} is no test");
                tests += 1;
            }
        }
        assert!(tests > 0, "{promise:?} names no test");
    }
}

/// The other half of `names::no_name_of_the_controllers_is_unknown`, which needs the sources that the bench builds from.
#[test]
fn no_name_that_the_code_has_still_needs_a_reason() {
    let ours: String = sources().into_iter().map(|source| source.text).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/names.yaml");
    let text = std::fs::read_to_string(path).expect("the names");
    let reasons = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| Some(line.split_once(": ")?.0));
    let stale: Vec<&str> = reasons.filter(|name| ours.contains(*name)).collect();
    assert!(stale.is_empty(), "take these out of testdata/names.yaml, the code names them: {stale:#?}");
}
