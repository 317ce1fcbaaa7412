//! Objects without a name (`generateName`): whoever asks the API server for each object by its name stops at them.

use super::HostKind;
use super::hook::is_left_out;
use super::locate::Locator;
use super::pairs::blank;
use super::predict::Prediction;
use crate::compare::Action;
use crate::model::{Effect, Finding, RuleId};
use crate::object::Object;
use crate::world::{BaseKind, World, WriteMethod};

/// Marks what the host cannot write because it has no name. Hooks are made and never asked for.
pub(crate) fn refuse_nameless(prediction: &mut Prediction, nameless: &[Object], world: &World) {
    let Some(way) = prediction.way else { return };
    let locator = Locator::new(world);
    for object in nameless.iter().filter(|object| !is_left_out(object, &world.host)) {
        let Some(because) = because(way, world) else { continue };
        let key = locator.full(&object.key);
        let mut pair = blank(key.clone(), object.api_version.clone(), Action::Create, object.line);
        pair.effect = Effect::Rejected;
        pair.rule = RuleId::of("host/nameless").into();
        pair.because = format!("it has no name, only a generateName; {because}");
        prediction.findings.push(Finding::new("write-refused", key, pair.because.clone()));
        prediction.pairs.push(pair);
    }
    for other in &mut prediction.others {
        refuse_nameless(other, nameless, world);
    }
}

/// Why nobody writes it; `None` where it is made.
fn because(way: WriteMethod, world: &World) -> Option<&'static str> {
    match world.host.kind {
        // kubectl `pkg/cmd/apply/apply.go`, `applyOneObject`; what is replaced is asked for by its name.
        Some(HostKind::Kubectl) => Some("kubectl cannot apply or replace that; it writes the others and fails"),
        Some(HostKind::Argocd) => Some("Argo CD applies it as kubectl does, which cannot, and the sync fails"),
        // Since 4.0 such objects are not looked for before the write (`validateNameAndGenerateName`). A first install that does not
        // apply makes them (`pkg/kube/client.go`, `Create`); all others ask for each by its name (`update`, `patchResourceServerSide`).
        Some(HostKind::Helm4) => {
            let only_made = world.base.kind == BaseKind::FirstInstall && way == WriteMethod::MergePatch;
            (!only_made).then_some("Helm asks for it by its name, is refused, and the release stops half-way")
        }
        // helm `pkg/action/validate.go`, `existingResourceConflict`: client-go asks for nothing without a name.
        _ => Some("Helm asks for each new object by its name, is refused, and stops before it writes anything"),
    }
}
