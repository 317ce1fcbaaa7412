//! Completes what reasons and findings are about from the object that they name: its effect, the rule, the Machines, and where
//! it stands in what was rendered.

use super::{ObjectReport, Report};
use crate::hashed::HashMap;
use crate::model::{About, Effect, Rollout};
use crate::object::{Files, Inventory, Key, Object, Origins, Path};

/// Fills in what reasons and findings leave out, and names the files that lines are counted in.
pub(crate) fn complete(report: &mut Report, rendered: &Inventory, files: &Files) {
    for place in report.late_values.iter_mut().flat_map(|late| &mut late.filled) {
        let (file, line) = files.at(place.line);
        (place.file, place.line) = (file.map(str::to_owned), line);
    }
    let named = report.rollouts.iter().filter(|rollout| !rollout.cluster.is_empty());
    let clusters: HashMap<_, &str> = named
        .map(|rollout| (&rollout.owner, rollout.cluster.as_str()))
        .map(|(owner, cluster)| ((&owner.kind, &owner.name, &owner.namespace), cluster))
        .collect();
    for object in report.objects.iter_mut().filter(|object| object.cluster.is_none()) {
        let cluster = clusters.get(&(&object.kind, &object.name, &object.namespace));
        object.cluster = cluster.map(|cluster| (*cluster).to_owned());
    }
    let known = Known::of(&report.objects, &report.rollouts, rendered, files);
    for reason in &mut report.reasons {
        known.complete(reason.object.as_ref(), &mut reason.about);
    }
    for finding in &mut report.findings {
        known.complete(Some(&finding.object), &mut finding.about);
    }
}

/// What is known of objects.
struct Known<'r> {
    objects: HashMap<(&'r str, Option<&'r str>, &'r str), Vec<&'r ObjectReport>>,
    rollouts: HashMap<&'r Key, Vec<&'r Rollout>>,
    rendered: HashMap<&'r Key, &'r Object>,
    files: &'r Files,
}

impl<'r> Known<'r> {
    fn of(objects: &'r [ObjectReport], rollouts: &'r [Rollout], rendered: &'r Inventory, files: &'r Files) -> Self {
        let mut known =
            Self { objects: HashMap::default(), rollouts: HashMap::default(), rendered: HashMap::default(), files };
        for object in objects {
            let key = (object.kind.as_str(), object.namespace.as_deref(), object.name.as_str());
            known.objects.entry(key).or_default().push(object);
        }
        for rollout in rollouts {
            known.rollouts.entry(&rollout.owner).or_default().push(rollout);
        }
        known.rendered.extend(rendered.objects().iter().map(|object| (&object.key, object)));
        known
    }

    fn object(&self, key: &Key) -> Option<&'r ObjectReport> {
        let named = self.objects.get(&(key.kind.as_str(), key.namespace.as_deref(), key.name.as_str()))?;
        named.iter().copied().find(|object| Key::new(&object.api_version, "", None, "").group == key.group)
    }

    fn complete(&self, key: Option<&Key>, about: &mut About) {
        if let Some(place) = about.location.as_mut().filter(|place| place.file.is_none()) {
            let (file, line) = self.files.at(place.line);
            (place.file, place.line) = (file.map(str::to_owned), line);
        }
        let Some(key) = key else { return };
        if let Some(object) = self.object(key) {
            let path = about.path.as_deref();
            let change = path.and_then(|path| object.changes.iter().find(|change| change.path == path));
            let (effect, rule) = change.map_or((object.effect, &object.rule), |change| (change.effect, &change.rule));
            about.effect = about.effect.or(Some(effect)).filter(|effect| *effect != Effect::None);
            about.rule = about.rule.take().or_else(|| Some(rule.clone()).filter(|rule| !rule.is_empty()));
            let place = || change.and_then(|change| change.location.clone()).or_else(|| object.location.clone());
            about.location = about.location.take().or_else(place);
        }
        if about.location.is_none() {
            about.location = self.rendered.get(key).map(|object| {
                let path = about.path.as_deref().and_then(|path| Path::parse(path).ok()).unwrap_or_else(Path::root);
                Origins::of(object, self.files).find(&path, None)
            });
        }
        let own = self.rollouts.get(key).map_or(&[][..], Vec::as_slice);
        let fits = |rollout: &&&Rollout| about.effect.is_none_or(|effect| effect == rollout.effect);
        if let Some(rollout) = own.iter().find(fits) {
            about.machines = about.machines.or(rollout.machines);
            if about.machine_names.is_empty() {
                about.machine_names.clone_from(&rollout.machine_names);
            }
        }
    }
}
