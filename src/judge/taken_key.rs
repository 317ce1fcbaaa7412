//! A key of a Secret or ConfigMap that something takes from there by name, and that is not in it: it goes, or nobody ever put it in.

use super::stage::Stage;
use super::verdict::Answer;
use crate::kinds::contract::{BOOTSTRAP, CONFIG_MAP, CONTROL_PLANE, SECRET};
use crate::kinds::fields::text;
use crate::kinds::{Role, Typed, references};
use crate::model::{Effect, RuleId};
use crate::object::{Key, Path, Segment};
use crate::tree::Value;

/// Where the content of an object of data stands.
const DATA: [&str; 3] = ["data", "stringData", "binaryData"];

/// The answer about a key that goes while somebody who refers to the object takes it: a config that names a key which is not there makes no
/// Machine, as one that names a Secret which is not there (cluster-api `bootstrap/kubeadm/reconcilers/kubeadmconfig/kubeadmconfig_controller.go`
/// resolveSecretFileContent and resolveSecretPasswordContent, v1.14; CAPRKE2 `bootstrap/internal/controllers/rke2config_controller.go`). And
/// about the reference of a template of configs to a key that its Secret does not have.
pub(super) fn answer(
    stage: &Stage<'_>,
    key: &Typed<'_>,
    path: &Path,
    new: &Value,
    after: Option<&Value>,
) -> Option<Answer> {
    if key.group == BOOTSTRAP && key.known.role == Role::Template {
        return after.and_then(|_| named(stage, key, path, new));
    }
    let [Segment::Key(data), Segment::Key(name)] = path.segments() else { return None };
    if key.known.role != Role::Data || !DATA.contains(&data.as_str()) || after.is_some() {
        return None;
    }
    let takes = |from| stage.written_after(from).is_some_and(|value| references::takes_key(&value, &key.name, name));
    let from = stage.referrers(key).into_iter().map(|reference| &reference.from).find(|from| takes(from))?;
    let because = format!(
        "{from} takes the key {name} from it: Machines that run are untouched, but no new one can be made until the key is back, also not in place \
         of a broken one"
    );
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("reference/key-gone")).saying(because))
}

/// The answer about a new config, template of configs or control plane that takes a key which its Secret does not have.
pub(super) fn of_new(stage: &Stage<'_>, key: &Typed<'_>, new: &Value) -> Option<Answer> {
    let is_config = key.group == BOOTSTRAP || key.group == CONTROL_PLANE && key.known.role == Role::ControlPlane;
    let mut found = None;
    if is_config {
        taken(new, &mut |kind, holder| {
            if found.is_none() {
                found = missing(stage, key, kind, holder);
            }
        });
    }
    found
}

/// The answer about a place of a config that names a key.
fn named(stage: &Stage<'_>, key: &Typed<'_>, path: &Path, new: &Value) -> Option<Answer> {
    let [above @ .., Segment::Key(from), Segment::Key(field), Segment::Key(last)] = path.segments() else {
        return None;
    };
    let kind = kind_of(from, field).filter(|_| matches!(last.as_str(), "name" | "key"))?;
    let mut holder = Path::from(above.to_vec());
    [from, field].into_iter().for_each(|key| holder.push(Segment::Key(key.clone())));
    missing(stage, key, kind, holder.get(new)?)
}

/// The answer about a reference to a key that is not there, although what should have it was read or is written.
fn missing(stage: &Stage<'_>, key: &Key, kind: &str, holder: &Value) -> Option<Answer> {
    let (name, wanted) = (text(holder, "/name")?, text(holder, "/key").filter(|key| !key.is_empty())?);
    let data = Key::of(String::new(), kind, key.namespace.clone(), name);
    let object = stage.written_after(&data)?;
    let mut parts = DATA.iter().filter_map(|part| object.get(part)?.as_object()).peekable();
    // One that was read without its content says nothing.
    parts.peek()?;
    if parts.any(|part| part.contains_key(wanted)) {
        return None;
    }
    let because = format!(
        "it takes the key {wanted} from {data}, which has no such key: no Machine can be made from it until it does, also not in place of a broken \
         one"
    );
    Some(Answer::known(stage.rules, Effect::Unknown, RuleId::of("reference/key-missing")).saying(because))
}

/// Hands on every reference to a key below a value, with the kind of what has it.
fn taken(value: &Value, add: &mut dyn FnMut(&'static str, &Value)) {
    match value {
        Value::Object(map) => {
            for (from, child) in map {
                for (field, holder) in child.as_object().into_iter().flatten() {
                    if let Some(kind) = kind_of(from, field) {
                        add(kind, holder);
                    }
                }
                taken(child, add);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| taken(item, add)),
        _ => {}
    }
}

/// The kind from which a field of a config takes a key.
fn kind_of(from: &str, field: &str) -> Option<&'static str> {
    match (from, field) {
        ("contentFrom" | "passwdFrom", "secret" | "secretRef") => Some(SECRET),
        ("contentFrom" | "passwdFrom", "configMap" | "configMapRef") => Some(CONFIG_MAP),
        _ => None,
    }
}
