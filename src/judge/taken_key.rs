//! A key of a Secret or ConfigMap that goes although something takes it from there by name.

use super::stage::Stage;
use super::verdict::Answer;
use crate::kinds::{Role, Typed, references};
use crate::model::{Effect, RuleId};
use crate::object::{Path, Segment};
use crate::tree::Value;

/// The answer about a key that goes while somebody who refers to the object takes it: a config that names a key which is not there makes no
/// Machine, as one that names a Secret which is not there (cluster-api `bootstrap/kubeadm/reconcilers/kubeadmconfig/kubeadmconfig_controller.go`
/// resolveSecretFileContent and resolveSecretPasswordContent, v1.14; CAPRKE2 `bootstrap/internal/controllers/rke2config_controller.go`).
pub(super) fn answer(stage: &Stage<'_>, key: &Typed<'_>, path: &Path, after: Option<&Value>) -> Option<Answer> {
    let [Segment::Key(data), Segment::Key(name)] = path.segments() else { return None };
    let is_of_data = matches!(data.as_str(), "data" | "stringData" | "binaryData");
    if key.known.role != Role::Data || !is_of_data || after.is_some() {
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
