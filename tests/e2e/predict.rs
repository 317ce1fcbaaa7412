//! What Helm 3, Helm 4, kubectl and Flux write over the edits of others equals what was predicted, and what the API server
//! answered to a dry run of it: seeded triples of last manifest, live object and rendered object, on an API server where
//! nobody else writes. ROLLGATE_RECORD_HOSTS=FILE records some of them, to be replayed without the bench: FILE through
//! `gzip -9n` is testdata/hosts/written.jsonl.gz.

use std::fs;
use std::path::Path;
use std::process::Command;

use jiff::Timestamp;
use rollgate::facade::compare::Action;
use rollgate::facade::host::{Host, HostKind, predict};
use rollgate::facade::model::Effect;
use rollgate::facade::object::{Inventory, Key, Object};
use rollgate::facade::world::{Base, BaseKind, LiveKind, LiveSource, Release, ReleaseStatus, World, WriteMethod};
use serde_json::{Value, json};

use crate::bench::{Bench, api_only, say};
use crate::predict_flux::flux;
use crate::predict_objects::{Dice, Sort, sorts};
use crate::predict_others::{Answers, ask, record};

/// Objects in one release.
const OBJECTS: usize = 18;

/// One way of writing.
pub(crate) struct Way {
    pub(crate) helm: &'static str,
    kind: HostKind,
    pub(crate) method: WriteMethod,
    pub(crate) install: &'static [&'static str],
    upgrade: &'static [&'static str],
}

impl Way {
    /// A way that only installs.
    pub(crate) const fn new(
        helm: &'static str,
        kind: HostKind,
        method: WriteMethod,
        install: &'static [&'static str],
    ) -> Self {
        Self { helm, kind, method, install, upgrade: &[] }
    }
}

/// Every way of writing; each gets as many releases, and Flux half of that, because it takes its time.
const WAYS: [Way; 11] = [
    Way { helm: "helm3", kind: HostKind::Helm3, method: WriteMethod::MergePatch, install: &[], upgrade: &[] },
    Way {
        helm: "helm4",
        kind: HostKind::Helm4,
        method: WriteMethod::MergePatch,
        install: &["--server-side=false"],
        upgrade: &[],
    },
    Way { helm: "helm4", kind: HostKind::Helm4, method: WriteMethod::ServerSideApply, install: &[], upgrade: &[] },
    Way {
        helm: "helm4",
        kind: HostKind::Helm4,
        method: WriteMethod::ServerSideApply,
        install: &[],
        upgrade: &["--force-conflicts"],
    },
    Way {
        helm: "helm4",
        kind: HostKind::Helm4,
        method: WriteMethod::MergePatch,
        install: &["--server-side=false"],
        upgrade: &["--server-side=true", "--force-conflicts"],
    },
    Way {
        helm: "kubectl",
        kind: HostKind::Kubectl,
        method: WriteMethod::LastApplied,
        install: &["apply"],
        upgrade: &["apply"],
    },
    Way {
        helm: "kubectl",
        kind: HostKind::Kubectl,
        method: WriteMethod::ServerSideApply,
        install: &["apply", "--server-side"],
        upgrade: &["apply", "--server-side", "--force-conflicts"],
    },
    Way { helm: "helm3", kind: HostKind::Helm3, method: WriteMethod::MergePatch, install: &[], upgrade: &["--force"] },
    Way {
        helm: "helm4",
        kind: HostKind::Helm4,
        method: WriteMethod::MergePatch,
        install: &["--server-side=false"],
        upgrade: &["--force-replace"],
    },
    Way { helm: "flux", kind: HostKind::Flux, method: WriteMethod::ServerSideApply, install: &[], upgrade: &[] },
    Way {
        helm: "flux",
        kind: HostKind::Flux,
        method: WriteMethod::MergePatch,
        install: &["serverSideApply=false"],
        upgrade: &[],
    },
];

/// What a release came to.
#[derive(Default)]
struct Tally {
    agreed: usize,
    /// Objects among these that Helm changed, made or deleted.
    changed: usize,
    /// Objects among these that were refused as predicted.
    refused: usize,
    /// Objects that the CRD itself refused, which is not what is tested here.
    invalid: usize,
    /// Writes that the API server answered in a dry run as it then carried them out.
    answered: usize,
    /// Writes that no dry run can stand for.
    not_asked: usize,
    wrong: Vec<String>,
}

#[test]
fn what_a_host_writes_is_what_was_predicted() {
    let Some(bench) = api_only() else { return };
    let releases: u64 = std::env::var("ROLLGATE_PREDICT_RELEASES").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    let mut total = Tally::default();
    for (number, way) in WAYS.iter().enumerate() {
        let mut tally = Tally::default();
        let releases = if way.kind == HostKind::Flux { releases.div_ceil(2) } else { releases };
        for seed in 0..releases {
            one(bench, way, seed * 10 + number as u64, &mut tally);
        }
        say(&format!(
            "{} {} then {}: {} objects as predicted ({} changed, {} in conflict), {} not, {} left out: refused by their \
             CRD; dry run: {} as held, {} not asked",
            way.helm,
            way.install.concat(),
            way.upgrade.concat(),
            tally.agreed,
            tally.changed,
            tally.refused,
            tally.wrong.len(),
            tally.invalid,
            tally.answered,
            tally.not_asked
        ));
        total.agreed += tally.agreed;
        total.wrong.extend(tally.wrong);
    }
    assert!(total.wrong.is_empty(), "{} differ:\n{}", total.wrong.len(), total.wrong.join("\n"));
    assert!(total.agreed >= 300 || releases < 4, "only {} objects were compared", total.agreed);
}

/// Installs, edits, predicts, upgrades and compares one release.
fn one(bench: &Bench, way: &Way, seed: u64, tally: &mut Tally) {
    let sorts = sorts();
    let mut dice = Dice(seed);
    let flags: String = way.upgrade.concat().chars().filter(char::is_ascii_lowercase).collect();
    let namespace = format!("p-{}-{}-{}{flags}-{seed}", way.helm, way.install.len(), way.upgrade.len());
    bench.api.create(
        "/api/v1/namespaces",
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
    );
    let pick = |place: usize| &sorts[place % sorts.len()];
    let last: Vec<Value> = (0..OBJECTS).map(|place| pick(place).object(&mut dice, &format!("o{place}"))).collect();
    let mut rendered: Vec<Value> =
        last.iter().enumerate().map(|(place, object)| pick(place).turned(&mut dice, object)).collect();
    rendered.remove(dice.roll(OBJECTS));
    rendered.push(pick(usize::try_from(seed).expect("a small seed")).object(&mut dice, "new"));
    let chart = chart(bench, &namespace, &last);
    helm(bench, way.helm, "install", &namespace, &chart, way.install).expect("the first install goes through");
    for place in 0..OBJECTS {
        edit(bench, pick(place), &namespace, &format!("o{place}"), &mut dice);
    }
    let read = |sort: &Sort, name: &str| bench.api.get(&path(sort, &namespace, name));
    let live: Vec<Value> = (0..OBJECTS).filter_map(|place| read(pick(place), &format!("o{place}"))).collect();
    let world = world(way, &namespace, live, &last);
    let prediction = predict(&side(&rendered), &world).expect("a prediction");
    let answers = ask(bench, &side(&rendered), &world);
    let chart = self::chart(bench, &namespace, &rendered);
    let said = helm(bench, way.helm, "upgrade", &namespace, &chart, way.upgrade).err().unwrap_or_default();
    let mut after = Vec::new();
    for place in 0..=OBJECTS {
        let (sort, name) = if place == OBJECTS {
            (pick(usize::try_from(seed).expect("a small seed")), "new".to_owned())
        } else {
            (pick(place), format!("o{place}"))
        };
        let key = Key::new(sort.api_version, sort.kind, Some(&namespace), &name);
        let pair = prediction.pairs.iter().find(|pair| pair.key == key);
        let before = world.live.get(&key).and_then(|object| object.value().ok()).map(|value| Value::from(&*value));
        let refused = pair.is_some_and(|pair| pair.effect == Effect::Rejected);
        let expected = match pair {
            Some(pair) if !refused => pair.predicted.as_ref().map(|predicted| content(&predicted.into())),
            _ => before.as_ref().map(content),
        };
        // A refused object keeps Helm from deleting what the last manifest had.
        let spared = pair.is_some_and(|pair| pair.action == Action::Delete) && !said.is_empty();
        let got = read(sort, &name).as_ref().map(content);
        let invalid = said.contains(&format!("\"{name}\" is invalid"));
        let named = said.contains(&format!("{namespace}/{name} "));
        compare_answer(tally, &answers, &key, got.as_ref(), !(refused || invalid));
        if invalid || spared {
            tally.invalid += 1;
            continue;
        }
        after.push(json!({"kind": sort.kind, "name": name, "refused": refused, "held": got}));
        if got == expected && refused == (refused && named) {
            tally.agreed += 1;
            tally.changed += usize::from(got != before.as_ref().map(content));
            tally.refused += usize::from(refused);
        } else {
            tally.wrong.push(format!(
                "{namespace} {} {name}\n  live      {}\n  predicted {}\n  held      {}\n  last {}\n  rendered {}\n  helm said: {}",
                sort.kind,
                before.as_ref().map_or(Value::Null, content),
                expected.unwrap_or_default(),
                got.unwrap_or_default(),
                last.iter().find(|object| object["metadata"]["name"] == *name).map_or(Value::Null, content),
                rendered.iter().find(|object| object["metadata"]["name"] == *name).map_or(Value::Null, content),
                said.chars().take(600).collect::<String>()
            ));
        }
    }
    // The first release of each way is enough to be replayed.
    if seed < 10 || way.kind == HostKind::Flux {
        record(&world, &rendered, &after);
    }
}

/// Compares what the API server answered to a dry run with what it then held, or refused.
fn compare_answer(tally: &mut Tally, answers: &Answers, key: &Key, held: Option<&Value>, goes_through: bool) {
    match answers.get(key) {
        None => {}
        Some(None) => tally.not_asked += 1,
        Some(Some(Ok(answer))) if goes_through && Some(&content(answer)) == held => tally.answered += 1,
        Some(Some(Err(_))) if !goes_through => tally.answered += 1,
        Some(Some(answer)) => tally.wrong.push(format!(
            "{key}: the dry run said otherwise\n  answered {}\n  held     {}",
            answer.as_ref().map_or_else(Clone::clone, |object| content(object).to_string()),
            held.map_or_else(|| "nothing".to_owned(), Value::to_string),
        )),
    }
}

/// Somebody else writes: not at all, a patch, or an apply of his own.
fn edit(bench: &Bench, sort: &Sort, namespace: &str, name: &str, dice: &mut Dice) {
    let path = path(sort, namespace, name);
    for _ in 0..dice.roll(3) {
        let mut patch = sort.edit(dice);
        // The server refuses some edits (an empty struct, a required field): then there was none.
        if bench.api.try_merge(&path, "editor", &patch).is_some() && dice.roll(3) == 0 {
            patch["apiVersion"] = sort.api_version.into();
            patch["kind"] = sort.kind.into();
            patch["metadata"] = json!({"name": name, "labels": {"other": "1"}});
            patch.as_object_mut().expect("a map").shift_remove("spec");
            bench.api.apply(&path, "other", &patch);
        }
    }
}

/// What is compared: everything that is rendered, without what Helm adds for itself.
pub(crate) fn content(object: &Value) -> Value {
    let marks = |name: &str| {
        let mut marks = object["metadata"][name].as_object().cloned().unwrap_or_default();
        marks.retain(|key, _| {
            !["meta.helm.sh/", "kubectl.", "helm.toolkit.fluxcd.io/"].iter().any(|prefix| key.starts_with(prefix))
                && key != "app.kubernetes.io/managed-by"
        });
        marks
    };
    json!({"spec": object["spec"], "labels": marks("labels"), "annotations": marks("annotations")})
}

pub(crate) fn path(sort: &Sort, namespace: &str, name: &str) -> String {
    format!("/apis/{}/namespaces/{namespace}/{}/{name}", sort.api_version, sort.plural)
}

pub(crate) fn side(objects: &[Value]) -> Inventory {
    objects
        .iter()
        .map(|value| Object::from_value(value.clone().into(), 1).expect("an object"))
        .collect::<Vec<_>>()
        .into()
}

/// The World as the program would have read it.
pub(crate) fn world(way: &Way, namespace: &str, live: Vec<Value>, last: &[Value]) -> World {
    let forced = way.upgrade.contains(&"--force-conflicts");
    let switched = way.upgrade.contains(&"--server-side=true");
    World {
        base: Base { kind: BaseKind::Release, objects: side(last), ..Base::default() },
        release: Some(Release {
            name: "r".into(),
            namespace: namespace.into(),
            deployed: 1,
            newest: 1,
            status: ReleaseStatus::Deployed,
            method: way.method,
        }),
        host: Host {
            kind: Some(way.kind),
            release: Some("r".into()),
            namespace: Some(namespace.into()),
            method: (switched || way.kind == HostKind::Kubectl).then_some(if switched {
                WriteMethod::ServerSideApply
            } else {
                way.method
            }),
            force: forced,
            replace: way.upgrade.contains(&"--force") || way.upgrade.contains(&"--force-replace"),
            ..Host::default()
        },
        ..World::new(LiveSource::new(LiveKind::Cluster, "bench"), side(&live), Timestamp::UNIX_EPOCH)
    }
}

/// A chart that renders these objects.
pub(crate) fn chart(bench: &Bench, name: &str, objects: &[Value]) -> std::path::PathBuf {
    let folder = bench.out.join("predict").join(name);
    fs::create_dir_all(folder.join("templates")).expect("the chart's folder can be made");
    // Flux upgrades where the version of the chart is another one.
    let made = folder.join("Chart.yaml").exists();
    let version = if made { "0.2.0" } else { "0.1.0" };
    fs::write(folder.join("Chart.yaml"), format!("apiVersion: v2\nname: predict\nversion: {version}\n"))
        .expect("a file");
    let text: Vec<String> = objects.iter().map(Value::to_string).collect();
    fs::write(folder.join("templates/all.yaml"), text.join("\n---\n")).expect("a file");
    folder
}

/// Runs Helm or kubectl; what it said where it failed.
pub(crate) fn helm(
    bench: &Bench,
    helm: &str,
    verb: &str,
    namespace: &str,
    chart: &Path,
    options: &[&str],
) -> Result<(), String> {
    if helm == "flux" {
        return flux(bench, verb, namespace, chart, options);
    }
    let mut command = Command::new(bench.bin.join(helm));
    if helm == "kubectl" {
        command.args(options).arg("-f").arg(chart.join("templates/all.yaml"));
    } else {
        command.args([verb, "r"]).arg(chart).args(options);
    }
    let output = command
        .args(["--namespace", namespace, "--kubeconfig"])
        .arg(&bench.kubeconfig)
        .env("HOME", &bench.out)
        .output()
        .expect("Helm runs");
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
