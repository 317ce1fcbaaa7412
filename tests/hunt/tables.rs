//! Objects as the API server holds them, with the Machines that controllers made of them, and a change of each of their
//! fields: from the recordings of the controllers' own answers (`testdata/oracle`).

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;

/// What one recorded object is and can become.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// The object, its Machines and MachineSets.
    pub(crate) line: Value,
    /// Changes that the API server accepted: JSON patches with a name each.
    pub(crate) patches: Vec<(String, Vec<Value>)>,
}

/// All recorded objects, by the name of the base.
pub(crate) fn tables() -> &'static BTreeMap<String, Recorded> {
    static TABLES: OnceLock<BTreeMap<String, Recorded>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut tables = BTreeMap::new();
        for name in ["cluster-api@v1.14.2", "caprke2@v0.21.0", "capd@v1.14.0"] {
            read(name, &mut tables);
        }
        tables
    })
}

fn read(name: &str, tables: &mut BTreeMap<String, Recorded>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("testdata/oracle/{name}.jsonl.gz"));
    let file = std::fs::File::open(file).expect("the recordings are in the repository");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("a recording is gzip");
    for line in text.lines().skip(1) {
        let line: Value = serde_json::from_str(line).expect("a line is JSON");
        let base = line["base"].as_str().expect("a base").to_owned();
        let Some(id) = line["id"].as_str().map(str::to_owned) else {
            if line["object"].is_object() {
                tables.insert(base, Recorded { line, patches: Vec::new() });
            }
            continue;
        };
        let patch = line["patch"].as_array().expect("a patch");
        if line["answer"]["accepted"] == true && !patch.is_empty() {
            let recorded = tables.get_mut(&base).expect("a base comes before its cases");
            recorded.patches.push((id, patch.clone()));
        }
    }
}

/// Applies a JSON patch; `None` where the object no longer has the place.
pub(crate) fn patched(object: &Value, patch: &[Value]) -> Option<Value> {
    let mut object = object.clone();
    for operation in patch {
        let (parent, last) = operation["path"].as_str()?.rsplit_once('/')?;
        let last = last.replace("~1", "/").replace("~0", "~");
        let value = operation.get("value").cloned();
        match (object.pointer_mut(parent)?, operation["op"].as_str()?) {
            (Value::Object(map), "remove") => drop(map.shift_remove(&last)?),
            (Value::Object(map), _) => drop(map.insert(last, value?)),
            (Value::Array(list), "add") if last == "-" => list.push(value?),
            (Value::Array(list), op) => {
                let place: usize = last.parse().ok().filter(|place| *place < list.len() + usize::from(op == "add"))?;
                match op {
                    "add" => list.insert(place, value?),
                    "remove" => drop(list.remove(place)),
                    _ => list[place] = value?,
                }
            }
            _ => return None,
        }
    }
    Some(object)
}
