//! Runs the cases in `testdata/classify/`: an old render or a cluster, a new render, and what must come out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rollgate::facade::host::{Host, HostKind, predict};
use rollgate::facade::judge::{Scene, classify};
use rollgate::facade::object::{Inventory, Key, Stream};
use rollgate::facade::rules::Rules;
use rollgate::facade::world::{Absent, Base, BaseKind, LiveKind, LiveSource, Provider, World};
use rollgate::facade::yaml;
use serde::Deserialize;

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Expected {
    providers: BTreeMap<String, String>,
    now: Option<String>,
    cluster: bool,
    objects: BTreeMap<String, String>,
    rules: BTreeMap<String, String>,
    rollouts: Option<BTreeMap<String, String>>,
    findings: Vec<String>,
    #[serde(rename = "noFindings")]
    no_findings: Vec<String>,
    /// What the versions were read from; told where nothing is said.
    evidence: Option<String>,
    /// Versions that were found beside those that were told.
    found: BTreeMap<String, String>,
    /// Feature gates that were told.
    gates: BTreeMap<String, bool>,
    /// What was asked for and is not there.
    absent: Vec<String>,
    /// Words that stand in a warning, each.
    warnings: Vec<String>,
    /// Words that stand in none.
    #[serde(rename = "noWarnings")]
    no_warnings: Vec<String>,
}

fn objects(path: &Path) -> Inventory {
    let bytes: bytes::Bytes = std::fs::read(path).expect("a readable file").into();
    Stream::load(&bytes).expect("a stream").objects
}

fn world(live: Inventory, expected: &Expected) -> World {
    let now = expected.now.as_deref().unwrap_or("2025-06-01T00:00:00Z").parse().expect("a time");
    let kind = if expected.cluster { LiveKind::Cluster } else { LiveKind::OldRender };
    let evidence = expected.evidence.clone().unwrap_or_else(|| "told".to_owned());
    let provider = |version: &String| Provider { version: version.clone(), evidence: evidence.clone() };
    let found = |version: &String| Provider { version: version.clone(), evidence: "image".to_owned() };
    let base = if expected.cluster {
        Base { kind: BaseKind::File, ..Base::default() }
    } else {
        Base { kind: BaseKind::Live, ..Base::default() }
    };
    World {
        base,
        host: Host { kind: Some(HostKind::Helm3), ..Host::default() },
        providers: expected
            .providers
            .iter()
            .map(|(name, version)| (name.clone(), provider(version)))
            .chain(expected.found.iter().map(|(name, version)| (name.clone(), found(version))))
            .collect(),
        feature_gates: expected.gates.clone(),
        absent: expected.absent.iter().map(|what| absent(what)).collect(),
        ..World::new(LiveSource::new(kind, "old.yaml"), live, now)
    }
}

/// An object that is not there, as `apiVersion kind namespace/name`.
fn absent(text: &str) -> Absent {
    let words: Vec<&str> = text.split([' ', '/']).collect();
    let [group, version, kind, namespace, name] = words.as_slice() else { panic!("{text:?} is no object") };
    let object = Key::new(&format!("{group}/{version}"), kind, Some(namespace), name);
    Absent { what: text.to_owned(), object: Some(object) }
}

fn named(key: &Key) -> String {
    format!("{} {}", key.kind, key.name)
}

fn run(folder: &Path) {
    let case = folder.file_name().expect("a name").to_string_lossy().into_owned();
    let text = std::fs::read(folder.join("expected.yaml")).expect("expected.yaml");
    let tree = yaml::read_json(&text, yaml::Span { start: 0, end: text.len() }).expect("YAML");
    let expected: Expected = rollgate::facade::tree::from_value(tree).unwrap_or_else(|error| panic!("{case}: {error}"));
    let world = world(objects(&folder.join("old.yaml")), &expected);
    let rendered = objects(&folder.join("new.yaml"));
    let mut pairs = predict(&rendered, &world).expect("a prediction").pairs;
    let scene = Scene { world: &world, view: &world.view(), rendered: &rendered, once: &Default::default(), way: None };
    let classified = classify(&mut pairs, Vec::new(), &scene, Rules::built_in());

    let found: BTreeMap<String, String> = pairs
        .iter()
        .filter(|pair| {
            !(pair.changes.is_empty() && pair.effect.word() == "none")
                || expected.objects.contains_key(&named(&pair.key))
        })
        .map(|pair| (named(&pair.key), pair.effect.word().to_owned()))
        .collect();
    let mut wanted = expected.objects;
    // An object that nothing is written to has no pair; it has to be on one side at least.
    let known: Vec<String> =
        world.live.objects().iter().chain(rendered.objects()).map(|object| named(&object.key)).collect();
    wanted.retain(|name, effect| {
        assert!(known.contains(name) || found.contains_key(name), "{case}: {name} is on neither side");
        found.contains_key(name) || effect != "none"
    });
    assert_eq!(found, wanted, "{case}: effects of objects");

    let ids: BTreeSet<&str> = Rules::built_in().ids().collect();
    let rules = pairs.iter().flat_map(|pair| pair.changes.iter().map(|change| &change.rule).chain([&pair.rule]));
    for rule in rules.filter(|rule| !rule.is_empty()) {
        assert!(ids.contains(rule.as_str()), "{case}: rollgate explain {rule} has no answer");
    }
    for (place, rule) in &expected.rules {
        let have = pairs.iter().flat_map(|pair| {
            pair.changes.iter().map(move |change| (format!("{} {}", named(&pair.key), change.path), change))
        });
        let change =
            have.into_iter().find(|(name, _)| name == place).unwrap_or_else(|| panic!("{case}: no change {place}")).1;
        assert_eq!(&change.rule, rule, "{case}: {place}: {}", change.because);
        assert!(!change.because.is_empty(), "{case}: {place}");
    }
    if let Some(wanted) = &expected.rollouts {
        let found: BTreeMap<String, String> = classified
            .rollouts
            .iter()
            .map(|rollout| {
                let machines = rollout.machines.map_or("?".to_owned(), |machines| machines.to_string());
                (named(&rollout.owner), format!("{}, {machines}", rollout.effect))
            })
            .collect();
        assert_eq!(&found, wanted, "{case}: rollouts");
    }
    for id in &expected.findings {
        assert!(
            classified.findings.iter().any(|finding| finding.id == *id),
            "{case}: no finding {id}: {:?}",
            classified.findings
        );
    }
    for words in &expected.warnings {
        let found = classified.warnings.iter().any(|warning| warning.contains(words));
        assert!(found, "{case}: no warning with {words:?}: {:?}", classified.warnings);
    }
    for words in &expected.no_warnings {
        let found: Vec<&String> = classified.warnings.iter().filter(|warning| warning.contains(words)).collect();
        assert!(found.is_empty(), "{case}: {found:?}");
    }
    for id in &expected.no_findings {
        let found: Vec<&str> = classified.findings.iter().map(|finding| finding.id.as_str()).collect();
        assert!(!found.contains(&id.as_str()), "{case}: the finding {id} among {found:?}");
    }
}

#[test]
fn every_case_comes_out_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/classify");
    let mut cases = 0;
    let mut failed = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the cases are in the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            // Each case says what is wrong by itself; all of them are run.
            if std::panic::catch_unwind(|| run(&path)).is_err() {
                failed.push(path.file_name().expect("a name").to_string_lossy().into_owned());
            }
            cases += 1;
        }
    }
    assert!(failed.is_empty(), "these cases come out otherwise: {}", failed.join(", "));
    assert!(cases >= 40, "only {cases} cases were found");
}
