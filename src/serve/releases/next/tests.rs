//! What is done about a HelmRelease in one course of events after the other; `orders` plays them in any order.

mod orders;
mod world;

use self::world::{Replica, World};
use super::*;

fn begun() -> (World, Replica) {
    let (mut world, mut replica) = (World::new(), Replica::default());
    world.settles(&mut replica);
    (world, replica)
}

/// A release that Flux has installed.
fn installed() -> (World, Replica) {
    let (mut world, mut replica) = begun();
    world.flux(true, false);
    world.flux(true, false);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Done), true));
    (world, replica)
}

#[test]
fn a_first_install_is_judged_then_resumed_then_suspended_again() {
    let (world, _) = begun();
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Resumed), false));
    let (world, _) = installed();
    assert_eq!(world.said, ["Gated", "Allowed", "Applied"]);
    assert_eq!(world.written, [[0; 3]]);
}

#[test]
fn what_is_held_waits_for_its_approval() {
    for part in 0..3 {
        let (mut world, mut replica) = installed();
        world.moves(part, 1);
        world.settles(&mut replica);
        assert_eq!((world.phase(), world.suspended), (Some(Phase::Held), true));
        // Time alone changes nothing, and nothing is said twice.
        for _ in 0..10 {
            world.passes(61);
            world.settles(&mut replica);
        }
        assert_eq!(world.said.iter().filter(|said| **said == "Held").count(), 1);
        world.approved.insert(world.parts);
        replica.stirred = true;
        world.settles(&mut replica);
        assert_eq!(world.phase(), Some(Phase::Resumed));
        world.flux(true, false);
        world.flux(true, false);
        world.settles(&mut replica);
        assert_eq!(world.phase(), Some(Phase::Done));
        assert_eq!(world.written.last(), Some(&world.parts));
    }
}

#[test]
fn what_moves_while_it_is_resumed_is_suspended_at_once() {
    for part in 0..3 {
        let (mut world, mut replica) = begun();
        world.moves(part, 1);
        world.settles(&mut replica);
        assert_eq!((world.phase(), world.suspended), (Some(Phase::Held), true), "part {part}");
        assert!(world.said.contains(&"ChangedWhileResumed"));
        world.flux(true, false);
        assert!(world.written.is_empty());
    }
    let (mut world, mut replica) = begun();
    world.there = false;
    world.look(&mut replica);
    assert!(world.suspended, "what cannot be read is no longer what was judged");
}

#[test]
fn an_unchanged_release_is_resumed_at_its_interval_and_nobody_hears_of_it() {
    let (mut world, mut replica) = installed();
    let said = world.said.len();
    world.passes(500);
    world.settles(&mut replica);
    assert_eq!(world.phase(), Some(Phase::Done));
    world.passes(200);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Resumed), false));
    world.flux(true, false);
    world.flux(true, false);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended, world.said.len()), (Some(Phase::Done), true, said));
    // What drifted and would be written over is judged like everything else.
    world.approved.clear();
    world.passes(700);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Held), true));
}

#[test]
fn a_person_who_suspends_is_obeyed_and_one_who_resumes_is_judged() {
    // While it is resumed, and before it was ever looked at.
    for early in [true, false] {
        let (mut world, mut replica) = if early { (World::new(), Replica::default()) } else { begun() };
        world.person_suspends();
        for _ in 0..5 {
            world.settles(&mut replica);
            world.passes(3600);
            replica.stirred = true;
        }
        assert_eq!((world.phase(), world.suspended), (Some(Phase::Theirs), true));
        world.moves(0, 1);
        world.person_resumes();
        world.settles(&mut replica);
        assert_eq!((world.phase(), world.suspended), (Some(Phase::Held), true));
    }
    let (mut world, mut replica) = installed();
    world.moves(0, 1);
    world.settles(&mut replica);
    world.person_resumes();
    world.look(&mut replica);
    assert!(world.suspended && world.said.contains(&"SuspendedAgain"));
}

#[test]
fn who_no_longer_asks_is_left_as_it_is() {
    let (mut world, mut replica) = installed();
    world.asked = false;
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended, world.guarded), (None, true, false));
}

#[test]
fn flux_that_fails_waits_or_does_not_begin() {
    let (mut world, mut replica) = begun();
    world.flux(false, false);
    world.flux(false, true);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Failed), true));
    world.passes(100_000);
    world.settles(&mut replica);
    assert_eq!(world.phase(), Some(Phase::Failed), "it failed as it is");
    replica.stirred = true;
    world.settles(&mut replica);
    assert_eq!(world.phase(), Some(Phase::Resumed));
    world.passes(59);
    world.look(&mut replica);
    assert!(!world.suspended);
    world.passes(2);
    world.look(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Waiting), true));
    // It begins and never ends.
    world.settles(&mut replica);
    world.flux(false, false);
    world.passes(361);
    world.look(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Done), true));
}

#[test]
fn a_removal_is_judged_before_flux_uninstalls() {
    let (mut world, mut replica) = installed();
    (world.deleting, world.generation) = (true, world.generation + 1);
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended, world.guarded), (Some(Phase::Held), true, true));
    world.removal_approved = true;
    replica.stirred = true;
    world.settles(&mut replica);
    assert_eq!((world.phase(), world.suspended), (Some(Phase::Removing), false));
    world.flux(true, false);
    world.settles(&mut replica);
    assert!(!world.guarded && !world.installed);

    // What was never installed goes at once, and what a person suspended goes as Flux has it.
    let (mut world, mut replica) = begun();
    (world.deleting, world.generation) = (true, world.generation + 1);
    world.settles(&mut replica);
    assert!(!world.guarded);
    let (mut world, mut replica) = installed();
    world.passes(700);
    world.settles(&mut replica);
    world.person_suspends();
    world.settles(&mut replica);
    world.deleting = true;
    world.settles(&mut replica);
    assert!(!world.guarded && world.installed && world.said.contains(&"NotUninstalled"));
}
