//! What a first install writes over objects that are there already and that it takes over.

use rollgate::facade::host::{HostKind, predict};
use rollgate::facade::model::Effect;
use rollgate::facade::object::Key;
use rollgate::facade::world::{BaseKind, WriteMethod};
use serde_json::{Value, json};

use crate::bench::{api_only, say};
use crate::predict::{Way, chart, content, helm, path, side, world};
use crate::predict_objects::{Dice, sorts};

/// How the first install writes.
const WAYS: [Way; 4] = [
    Way::new("helm3", HostKind::Helm3, WriteMethod::MergePatch, &["--take-ownership"]),
    Way::new("helm4", HostKind::Helm4, WriteMethod::MergePatch, &["--take-ownership", "--server-side=false"]),
    Way::new("helm4", HostKind::Helm4, WriteMethod::ServerSideApply, &["--take-ownership"]),
    Way::new("helm4", HostKind::Helm4, WriteMethod::ServerSideApply, &["--take-ownership", "--force-conflicts"]),
];

#[test]
fn what_a_host_writes_over_what_it_takes_over_is_what_was_predicted() {
    let Some(bench) = api_only() else { return };
    let sorts = sorts();
    let mut wrong = Vec::new();
    for (number, way) in WAYS.iter().enumerate() {
        let mut dice = Dice(100 + number as u64);
        let namespace = format!("taken-{number}");
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        bench.api.create("/api/v1/namespaces", &object);
        let mut rendered = Vec::new();
        for (place, sort) in sorts.iter().enumerate() {
            let name = format!("o{place}");
            let there = sort.object(&mut dice, &name);
            let folder = path(sort, &namespace, "");
            bench.api.create(folder.trim_end_matches('/'), &there);
            rendered.push(sort.turned(&mut dice, &there));
        }
        let read = |place: usize| bench.api.get(&path(&sorts[place], &namespace, &format!("o{place}")));
        let live: Vec<Value> = (0..sorts.len()).filter_map(read).collect();
        let mut world = world(way, &namespace, live.clone(), &[]);
        world.base.kind = BaseKind::FirstInstall;
        world.release = None;
        world.host.method = Some(way.method);
        world.host.take_ownership = true;
        world.host.force = way.install.contains(&"--force-conflicts");
        let prediction = predict(&side(&rendered), &world).expect("a prediction");
        let chart = chart(bench, &namespace, &rendered);
        let said = helm(bench, way.helm, "install", &namespace, &chart, way.install).err().unwrap_or_default();
        let mut changed = 0;
        for (place, sort) in sorts.iter().enumerate() {
            let key = Key::new(sort.api_version, sort.kind, Some(&namespace), &format!("o{place}"));
            let pair = prediction.pairs.iter().find(|pair| pair.key == key);
            let refused = pair.is_some_and(|pair| pair.effect == Effect::Rejected);
            let expected = match pair {
                Some(pair) if !refused => pair.predicted.as_ref().map(|predicted| content(&predicted.into())),
                _ => Some(content(&live[place])),
            };
            let held = read(place).as_ref().map(content);
            changed += usize::from(held != Some(content(&live[place])));
            if held != expected && !said.contains(&format!("\"o{place}\" is invalid")) {
                wrong.push(format!(
                    "{namespace} {:?} {key}\n  predicted {}\n  held      {}\n  rendered {}\n  helm said: {said}",
                    way.install,
                    expected.unwrap_or_default(),
                    held.unwrap_or_default(),
                    content(&rendered[place])
                ));
            }
        }
        say(&format!("{} {}: {} objects taken over, {changed} changed", way.helm, way.install.join(" "), sorts.len()));
        assert!(changed > 0 || !said.is_empty(), "nothing was written: {said}");
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
