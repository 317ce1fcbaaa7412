//! Objects of providers that nobody knows: their groups say nothing, but a compared object that refers to one does.
//! What is known about them is nothing, so that a change of theirs is never taken for none.

use super::predict::Run;
use super::{kinds, referred};
use crate::hashed::HashSet;
use crate::kinds::references::references;
use crate::object::{Inventory, Key, LoadError, Object};
use crate::world::{BaseKind, LiveKind, Unread};

/// What is referred to: kind, name, and the group where the reference says one.
type Wanted = HashSet<(String, String, Option<String>)>;

/// Adds the pairs of changed or removed objects of unknown groups that a compared object of either side refers to.
pub(super) fn add(run: &mut Run<'_>) -> Result<(), LoadError> {
    let rendered = std::mem::take(&mut run.sorted.foreign);
    let old = run.last_written();
    let gone: Vec<&Object> =
        old.objects().iter().filter(|object| kinds::is_foreign(&object.key) && !run.is_written(&object.key)).collect();
    let names: HashSet<&str> = rendered.iter().chain(&gone).map(|object| object.key.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let mut wanted = Wanted::default();
    collect(run.rendered, &names, &mut wanted)?;
    // What live cannot be read where it is compared is doubt of its own.
    drop(collect(&run.world.live, &names, &mut wanted));
    let is_wanted = |key: &Key| {
        let with = |group: Option<&str>| (key.kind.clone(), key.name.clone(), group.map(str::to_owned));
        wanted.contains(&with(None)) || wanted.contains(&with(Some(&key.group)))
    };
    let rendered: Vec<&Object> = rendered.into_iter().filter(|object| is_wanted(&object.key)).collect();
    let compared: HashSet<&Key> = rendered.iter().map(|object| &object.key).collect();
    run.out.passed.retain(|key| !compared.contains(key));
    for object in rendered {
        run.out.compared += 1;
        if run.world.source.kind == LiveKind::Cluster
            && run.locator.anywhere(&run.world.live, &object.key).is_none()
            && run.locator.anywhere(&run.world.base.objects, &object.key).is_none()
            && !matches!(run.world.base.kind, BaseKind::Release | BaseKind::FirstInstall)
        {
            run.out.doubts.push(Unread {
                what: object.key.to_string(),
                why: format!("nothing is known about the group {}, so it was not read", object.key.group),
                remedy: "pass --base FILE (helm get manifest)".to_owned(),
                keys: vec![object.key.clone()],
            });
            continue;
        }
        referred::change(run, object)?;
    }
    for object in gone.into_iter().filter(|object| is_wanted(&object.key)) {
        referred::remove(run, object)?;
    }
    Ok(())
}

/// Collects the references in compared objects to objects with one of the names.
fn collect(objects: &Inventory, names: &HashSet<&str>, wanted: &mut Wanted) -> Result<(), LoadError> {
    for object in objects.objects().iter().filter(|object| kinds::is_compared(&object.key)) {
        if !referred::may_name(object, names) {
            continue;
        }
        let found = references(object.value()?.as_ref());
        wanted.extend(
            found
                .into_iter()
                .filter(|reference| names.contains(reference.name.as_str()))
                .map(|reference| (reference.kind, reference.name, reference.group)),
        );
    }
    Ok(())
}
