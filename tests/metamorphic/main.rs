//! What must not move a verdict: the same state of a cluster and the same write, told in another way. Situations are drawn from
//! seeds (`ROLLGATE_HUNT_SEED`, `ROLLGATE_HUNT_CASES`); a failure is made small and printed with its seed.

#[path = "../hunt/names.rs"]
mod names;
#[path = "../hunt/seed.rs"]
mod seed;
mod situation;
mod spell;
#[path = "../hunt/tables.rs"]
mod tables;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use rollgate::facade::kinds::{Shape, Versions};
use rollgate::facade::model::{Decision, Effect};
use rollgate::facade::object::{Key, Path};
use rollgate::facade::report::Report;
use rollgate::facade::world::{Marks, There, Unread, World};
use serde_json::{Value, json};

use seed::{Seed, smallest};
use situation::{NAMESPACE, Rest, Sides, Step};
use spell::Spelling;
use world::{Host, judged, through_snapshot, world};

/// What is said beside, for the message of a failure: never compared.
#[derive(Clone, Debug)]
struct Why(#[expect(dead_code, reason = "it is printed")] Vec<String>);

impl PartialEq for Why {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What happens to the Machines of an owner: effect, how many, which.
type Fate = (String, Option<u64>, Vec<String>);

/// What of a report must be the same.
#[derive(Clone, Debug, PartialEq)]
struct Verdict {
    decision: Decision,
    effect: Effect,
    /// What happens to the Machines of each owner.
    rollouts: BTreeMap<String, BTreeSet<Fate>>,
    why: Why,
}

/// A verdict, or why there is none.
type Answer = Result<Verdict, String>;

fn verdict(report: &Report) -> Verdict {
    let mut rollouts: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for rollout in &report.rollouts {
        let mut names = rollout.machine_names.clone();
        names.sort();
        let one = (rollout.effect.word().to_owned(), rollout.machines, names);
        rollouts.entry(format!("{} {}", rollout.owner.kind, rollout.owner.name)).or_default().insert(one);
    }
    let changes = report.objects.iter().flat_map(|object| object.changes.iter().map(move |change| (object, change)));
    let worst = changes.filter(|(_, change)| change.effect == report.effect && change.effect > Effect::None);
    let rules =
        worst.map(|(object, change)| format!("{} {} {}: {}", object.kind, change.path, change.rule, change.because));
    let reasons = report.reasons.iter().map(|reason| format!("{}: {}", reason.gate, reason.message));
    let why = Why(reasons.chain(rules).collect());
    Verdict { decision: report.decision, effect: report.effect, rollouts, why }
}

fn answer(stream: Vec<u8>, world: &World) -> Answer {
    judged(stream, world).map(|report| verdict(&report)).map_err(|fault| fault.to_string())
}

/// The digest too: an approval of the one must hold for the other.
fn answer_and_digest(stream: Vec<u8>, world: &World) -> Result<(Verdict, String), String> {
    judged(stream, world).map(|report| (verdict(&report), report.digest)).map_err(|fault| fault.to_string())
}

fn plain(objects: &[Value]) -> Vec<u8> {
    Spelling::Json.stream(objects, &mut Seed::new(0))
}

/// One property: `None` where it holds, else what differs.
type Property = fn(&Sides, &mut Seed) -> Option<String>;

const PROPERTIES: &[(&str, Property)] = &[
    ("spelling", spelling),
    ("order of documents", order_of_documents),
    ("order in the cluster", order_in_the_cluster),
    ("snapshot", snapshot),
    ("irrelevant objects", irrelevant_objects),
    ("other namespace", other_namespace),
    ("a second cluster", second_cluster),
    ("unread Machines", unread_machines),
    ("hosts", hosts),
    ("written twice", written_twice),
    ("another release", another_release),
    ("an object of somebody else", somebody_elses),
    ("a namespace that goes", namespace_that_goes),
    ("names that mean nothing", unknown_names),
];

fn differs<T: PartialEq + std::fmt::Debug>(what: &str, one: &T, other: &T) -> Option<String> {
    (one != other).then(|| format!("{what}\n  one   {one:?}\n  other {other:?}"))
}

/// Another spelling of the stream is the same stream.
fn spelling(sides: &Sides, seed: &mut Seed) -> Option<String> {
    let world = world(sides, Host::Helm3);
    let one = answer_and_digest(plain(&sides.rendered), &world);
    Spelling::OTHERS.into_iter().find_map(|spelling| {
        let other = answer_and_digest(spelling.stream(&sides.rendered, seed), &world);
        differs(&format!("{spelling:?}"), &one, &other)
    })
}

/// Helm sorts what it writes by kind, and a chart's files come in any order.
fn order_of_documents(sides: &Sides, seed: &mut Seed) -> Option<String> {
    let world = world(sides, Host::Helm3);
    let mut shuffled = sides.rendered.clone();
    seed.shuffle(&mut shuffled);
    differs("", &answer_and_digest(plain(&sides.rendered), &world), &answer_and_digest(plain(&shuffled), &world))
}

/// The API server lists objects in no order that means anything, and keys of maps have none.
fn order_in_the_cluster(sides: &Sides, seed: &mut Seed) -> Option<String> {
    let mut other = sides.clone();
    seed.shuffle(&mut other.live);
    seed.shuffle(&mut other.base);
    other.live.iter_mut().for_each(|object| *object = spell::shuffled(object, seed));
    let stream = plain(&sides.rendered);
    let answers = [sides, &other].map(|sides| answer_and_digest(stream.clone(), &world(sides, Host::Helm3)));
    differs("", &answers[0], &answers[1])
}

/// A World in a file says what the cluster said.
fn snapshot(sides: &Sides, _: &mut Seed) -> Option<String> {
    let stream = plain(&sides.rendered);
    let online = world(sides, Host::Helm4);
    let one = answer(stream.clone(), &online);
    differs("", &one, &answer(stream.clone(), &through_snapshot(online, &stream)))
}

/// Objects that have nothing to do with the cluster: a ConfigMap, another cluster's Machine, namesakes elsewhere.
fn irrelevant_objects(sides: &Sides, seed: &mut Seed) -> Option<String> {
    let stream = plain(&sides.rendered);
    let one = answer_and_digest(stream.clone(), &world(sides, Host::Helm3));
    let mut more = sides.clone();
    for object in &sides.live {
        if seed.chance(60) {
            more.live.push(moved(object, "elsewhere"));
        }
    }
    more.live.push(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": NAMESPACE, "uid": "uid-other"}, "data": {"a": "b"},
    }));
    let live = differs("in the cluster", &one, &answer_and_digest(stream, &world(&more, Host::Helm3)));
    live.or_else(|| {
        let config = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": NAMESPACE}, "data": {"a": "b"},
        });
        let mut more = sides.clone();
        more.rendered.push(config.clone());
        let new = answer(plain(&more.rendered), &world(sides, Host::Helm3));
        more.base.push(config.clone());
        let mut held = config;
        held["metadata"]["uid"] = json!("uid-settings");
        more.live.push(held);
        let old = answer(plain(&more.rendered), &world(&more, Host::Helm3));
        let one = one.map(|(verdict, _)| verdict);
        differs("new in the stream", &one, &new).or_else(|| differs("in the stream", &one, &old))
    })
}

/// The name of the namespace decides nothing.
fn other_namespace(sides: &Sides, _: &mut Seed) -> Option<String> {
    let text = json!([sides.live, sides.base, sides.rendered]).to_string();
    let text = text.replace(&format!("\"namespace\":\"{NAMESPACE}\""), "\"namespace\":\"team-a\"");
    let Value::Array(lists) = serde_json::from_str(&text).expect("JSON") else { return None };
    let mut lists = lists.into_iter().map(|list| list.as_array().cloned().unwrap_or_default());
    let mut next = || lists.next().unwrap_or_default();
    let other = Sides { live: next(), base: next(), rendered: next(), providers: sides.providers.clone() };
    let mut there = world(&other, Host::Helm3);
    there.host.namespace = Some("team-a".to_owned());
    if let Some(release) = &mut there.release {
        "team-a".clone_into(&mut release.namespace);
    }
    let one = answer(plain(&sides.rendered), &world(sides, Host::Helm3));
    differs("", &one, &answer(plain(&other.rendered), &there))
}

/// An object in another namespace.
fn moved(object: &Value, namespace: &str) -> Value {
    let text = object
        .to_string()
        .replace(&format!("\"namespace\":\"{NAMESPACE}\""), &format!("\"namespace\":\"{namespace}\""));
    let mut object: Value = serde_json::from_str(&text).expect("JSON");
    object["metadata"]["namespace"] = json!(namespace);
    rename_uids(&mut object, namespace);
    object
}

fn rename_uids(value: &mut Value, mark: &str) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(uid) if key == "uid" => *uid = format!("{uid}-{mark}"),
                    other => rename_uids(other, mark),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename_uids(item, mark)),
        _ => {}
    }
}

/// A cluster in another namespace that the same stream holds and does not change adds nothing, and what it says of the first stays.
fn second_cluster(sides: &Sides, seed: &mut Seed) -> Option<String> {
    let rest = Rest::draw(seed).after(&[]);
    let far = |objects: &[Value]| objects.iter().map(|object| moved(object, "far")).collect::<Vec<_>>();
    let alone = Sides {
        live: far(&rest.live),
        base: far(&rest.base),
        rendered: far(&rest.rendered),
        providers: sides.providers.clone(),
    };
    let two = judged(plain(&alone.rendered), &world(&alone, Host::Helm3)).map(|report| verdict(&report)).ok()?;
    if two.effect != Effect::None || two.decision != Decision::Allow {
        return None;
    }
    let mut both = sides.clone();
    both.live.extend(alone.live);
    both.base.extend(alone.base);
    both.rendered.extend(alone.rendered);
    let one = answer(plain(&sides.rendered), &world(sides, Host::Helm3));
    differs("", &one, &answer(plain(&both.rendered), &world(&both, Host::Helm3)))
}

/// Where Machines could not be read, nothing that was held is allowed.
fn unread_machines(sides: &Sides, _: &mut Seed) -> Option<String> {
    let stream = plain(&sides.rendered);
    let one = judged(stream.clone(), &world(sides, Host::Helm3)).ok()?;
    if one.decision == Decision::Allow {
        return None;
    }
    let kinds = ["Machine", "MachineSet", "KubeadmConfig", "RKE2Config", "DockerMachine"];
    let mut less = sides.clone();
    less.live.retain(|object| !kinds.iter().any(|kind| object["kind"] == *kind));
    let mut blind = world(&less, Host::Helm3);
    blind.unread.push(Unread {
        what: "Machine.cluster.x-k8s.io".to_owned(),
        why: "the API server answered 403".to_owned(),
        remedy: "grant the right".to_owned(),
        keys: vec![Key::new("cluster.x-k8s.io/v1beta2", "Machine", Some(NAMESPACE), "any")],
    });
    let other = judged(stream, &blind).ok()?;
    (other.decision == Decision::Allow).then(|| format!("allowed blindly; held with {:?}", verdict(&one)))
}

/// What the object becomes on the server is the same whoever writes it, where the render only sets and changes fields.
fn hosts(sides: &Sides, _: &mut Seed) -> Option<String> {
    let drifted = sides.base.iter().any(|base| {
        let same =
            |object: &&Value| object["kind"] == base["kind"] && object["metadata"]["name"] == base["metadata"]["name"];
        sides.live.iter().find(same).is_none_or(|live| !covers(live, base))
    });
    let only_sets = sides.base.iter().all(|base| {
        let same =
            |object: &&Value| object["kind"] == base["kind"] && object["metadata"]["name"] == base["metadata"]["name"];
        sides.rendered.iter().find(same).is_some_and(|rendered| keeps(rendered, base))
    });
    // Patches drop a field that the schema has not; server-side apply is refused.
    let knows = |object: &Value| {
        let word = |key: &str| object[key].as_str().unwrap_or_default();
        let shape = Shape::of(word("kind"), word("apiVersion"), &Versions::told("cluster-api", ""));
        shape.is_none_or(|shape| shape.prune(&mut object["spec"].clone().into(), &Path::root()).is_empty())
    };
    if drifted || !only_sets || !sides.rendered.iter().all(knows) {
        return None;
    }
    let stream = plain(&sides.rendered);
    let one = answer(stream.clone(), &world(sides, Host::Helm3));
    Host::OTHERS.into_iter().find_map(|host| {
        let other = answer(stream.clone(), &world(sides, host));
        differs(&format!("{host:?}"), &one, &other)
    })
}

/// Whether all that stands in `part` stands in `whole` with the same value.
fn covers(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| covers(whole, part)))
        }
        (whole, part) => whole == part,
    }
}

/// Whether a render still has each field of the last one; lists as long as they were.
fn keeps(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            old.iter().all(|(key, old)| new.get(key).is_some_and(|new| keeps(new, old)))
        }
        (Value::Array(new), Value::Array(old)) => {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| keeps(new, old))
        }
        (new, old) => {
            (!new.is_null() || old.is_null()) && new.is_array() == old.is_array() && new.is_object() == old.is_object()
        }
    }
}

/// An object that stands twice with the same content is written twice with the same end.
fn written_twice(sides: &Sides, seed: &mut Seed) -> Option<String> {
    let world = world(sides, Host::Kubectl);
    let one = answer(plain(&sides.rendered), &world);
    let mut twice = sides.rendered.clone();
    twice.push(seed.pick(&sides.rendered).clone());
    differs("", &one, &answer(plain(&twice), &world))
}

/// What this write does not change may as well belong to another release of the same cluster.
fn another_release(sides: &Sides, seed: &mut Seed) -> Option<String> {
    let stays = |object: &Value| sides.base.iter().any(|base| base == object);
    let same = |one: &Value, other: &Value| {
        one["kind"] == other["kind"] && one["metadata"]["name"] == other["metadata"]["name"]
    };
    // What is not there is made by whoever renders it.
    let is_there = |object: &Value| sides.live.iter().any(|live| same(live, object));
    let stay: Vec<Value> = sides.rendered.iter().filter(|object| stays(object) && is_there(object)).cloned().collect();
    if stay.is_empty() || stay.len() == sides.rendered.len() {
        return None;
    }
    let moved = seed.pick(&stay).clone();
    let mut other = sides.clone();
    other.base.retain(|object| *object != moved);
    other.rendered.retain(|object| *object != moved);
    let one = answer(plain(&sides.rendered), &world(sides, Host::Helm3));
    let two = answer(plain(&other.rendered), &world(&other, Host::Helm3));
    differs(&format!("{} {}", moved["kind"], moved["metadata"]["name"]), &one, &two)
}

/// A new object of a kind that nothing compares: Helm refuses the release where one of that name is there and is not its own, and
/// writes as if nothing were there where it takes it over or it is its own already.
fn somebody_elses(sides: &Sides, _: &mut Seed) -> Option<String> {
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": NAMESPACE}, "data": {"a": "b"},
    });
    let mut more = sides.clone();
    more.rendered.push(config);
    let stream = plain(&more.rendered);
    let key = Key::new("v1", "ConfigMap", Some(NAMESPACE), "settings");
    let there = |host: Host, release: Option<&str>, takes: bool| {
        let mut world = world(&more, host);
        let marks = Marks {
            managed_by: release.map(|_| "Helm".to_owned()),
            release: release.map(str::to_owned),
            release_namespace: release.map(|_| NAMESPACE.to_owned()),
        };
        world.standing.there.push(There { key: key.clone(), marks });
        world.host.take_ownership = takes;
        answer(stream.clone(), &world)
    };
    let new = |host: Host| answer(stream.clone(), &world(&more, host));
    for host in [Host::Helm3, Host::Helm4] {
        for release in [None, Some("web")] {
            let refused = there(host, release, false);
            if refused.as_ref().is_ok_and(|verdict| verdict.decision == Decision::Allow) {
                return Some(format!("{host:?} takes over what belongs to {release:?}: {refused:?}"));
            }
        }
        let own = differs("its own", &new(host), &there(host, Some("demo"), false));
        if own.is_some() {
            return own;
        }
    }
    differs("Flux takes it over", &new(Host::Flux), &there(Host::Flux, Some("web"), true))
}

/// To a namespace that is being deleted no release is written, and a snapshot knows it.
fn namespace_that_goes(sides: &Sides, _: &mut Seed) -> Option<String> {
    let stream = plain(&sides.rendered);
    [Host::Helm3, Host::Helm4, Host::Flux].into_iter().find_map(|host| {
        let mut ending = world(sides, host);
        ending.standing.ending.insert(NAMESPACE.to_owned());
        let one = answer(stream.clone(), &ending);
        if one.as_ref().is_ok_and(|verdict| verdict.decision == Decision::Allow) {
            return Some(format!("{host:?}: {one:?}"));
        }
        differs("snapshot", &one, &answer(stream.clone(), &through_snapshot(ending, &stream)))
    })
}

/// A name that no controller reads changes nothing, wherever it is written; so the names that they do read are what moves a verdict.
fn unknown_names(sides: &Sides, seed: &mut Seed) -> Option<String> {
    let name = "notes.example.org/nobody-reads-this";
    assert!(!names::names().iter().any(|known| known == name));
    let mut other = sides.clone();
    let place = seed.below(other.rendered.len().max(1));
    let object = other.rendered.get_mut(place)?;
    // Any write to one of these makes the controller of topologies look.
    if ["Cluster", "ClusterClass"].iter().any(|kind| object["kind"] == *kind) {
        return None;
    }
    if !object["metadata"]["annotations"].is_null() && !object["metadata"]["annotations"].is_object() {
        return None;
    }
    object["metadata"]["annotations"][name] = json!("x");
    let held = |sides: &Sides| answer(plain(&sides.rendered), &world(sides, Host::Helm3));
    let (one, two) = (held(sides).ok()?, held(&other).ok()?);
    let same = (one.decision, &one.rollouts) == (two.decision, &two.rollouts);
    (!same).then(|| {
        format!(
            "{} {}: {one:?}\n  other {two:?}",
            other.rendered[place]["kind"], other.rendered[place]["metadata"]["name"]
        )
    })
}

/// What fails for a seed, made small.
fn failure(number: u64) -> Vec<String> {
    let mut seed = Seed::new(number);
    let rest = Rest::draw(&mut seed);
    let steps = rest.draw_steps(&mut seed);
    let fork = seed.next();
    let check = |property: Property, steps: &[Step]| property(&rest.after(steps), &mut Seed::new(fork));
    let mut failures = Vec::new();
    for (name, property) in PROPERTIES {
        if check(*property, &steps).is_some() {
            let small = smallest(&steps, |steps| check(*property, steps).is_some());
            let what = check(*property, &small).unwrap_or_default();
            failures.push(format!("seed {number}, {}: {name}: {what}\n  after {small:#?}", rest.name));
        }
    }
    failures
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn the_verdict_does_not_move() {
    let first = number("ROLLGATE_HUNT_SEED", 1);
    let cases = number("ROLLGATE_HUNT_CASES", 40);
    let seeds: Vec<u64> = (first..first + cases).collect();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = seeds
            .chunks(seeds.len().div_ceil(std::thread::available_parallelism().map_or(1, usize::from)))
            .map(|seeds| scope.spawn(move || seeds.iter().flat_map(|seed| failure(*seed)).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a thread ends")).collect()
    });
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n\n"));
}
