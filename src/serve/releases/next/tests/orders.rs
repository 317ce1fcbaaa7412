//! Two thousand orders of events: people, Flux, sources and values, restarts, and two replicas at once.

use proptest::prelude::*;

use super::world::{Replica, World};
use crate::serve::releases::state::Phase;

#[derive(Debug, Clone, Copy)]
enum Event {
    Look(usize),
    Restart(usize),
    Flux(bool, bool),
    Moves(usize, u8),
    There(bool),
    Suspends,
    Resumes,
    Approves,
    Withdraws,
    Stirs,
    Passes(i64),
    Asks(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0..2usize).prop_map(Event::Look),
        1 => (0..2usize).prop_map(Event::Restart),
        4 => (any::<bool>(), any::<bool>()).prop_map(|(ready, stalled)| Event::Flux(ready, stalled)),
        2 => (0..3usize, 0..3u8).prop_map(|(part, to)| Event::Moves(part, to)),
        1 => any::<bool>().prop_map(Event::There),
        1 => Just(Event::Suspends),
        1 => Just(Event::Resumes),
        1 => Just(Event::Approves),
        1 => Just(Event::Withdraws),
        1 => Just(Event::Stirs),
        2 => prop_oneof![Just(1i64), Just(61), Just(400), Just(700), Just(-30)].prop_map(Event::Passes),
        1 => any::<bool>().prop_map(Event::Asks),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens in whatever order to two replicas that both act: nothing is resumed that was not allowed as it is at that moment,
    /// nothing that a person has suspended is resumed, and once all is quiet and allowed Flux has what there is.
    #[test]
    fn nothing_is_resumed_that_was_not_allowed(events in prop::collection::vec(event(), 1..120)) {
        let mut world = World::new();
        let mut replicas = [Replica::default(), Replica::default()];
        for event in events {
            match event {
                // A verdict of one replica comes after whatever the other did: it is from an earlier look.
                Event::Look(which) => drop(world.look(&mut replicas[which])),
                Event::Restart(which) => replicas[which] = Replica::default(),
                Event::Flux(ready, stalled) => world.flux(ready, stalled),
                Event::Moves(part, to) => world.moves(part, to),
                Event::There(there) => world.there = there,
                Event::Suspends => world.person_suspends(),
                Event::Resumes => world.person_resumes(),
                Event::Approves => drop(world.approved.insert(world.parts)),
                Event::Withdraws => {
                    // A verdict is as old as its look; what is withdrawn between is the window that is written down.
                    world.approved.remove(&world.parts);
                    replicas.iter_mut().for_each(|replica| replica.verdict = None);
                }
                Event::Stirs => replicas.iter_mut().for_each(|replica| replica.stirred = true),
                Event::Passes(seconds) => world.passes(seconds),
                Event::Asks(asked) => world.asked = asked,
            }
        }
        (world.asked, world.there) = (true, true);
        world.approved.insert(world.parts);
        let mut replica = Replica { stirred: true, ..Replica::default() };
        for _ in 0..40 {
            world.settles(&mut replica);
            if world.phase() == Some(Phase::Theirs) {
                prop_assert!(world.suspended);
                return Ok(());
            }
            world.flux(true, false);
            world.passes(700);
            replica.stirred = true;
        }
        prop_assert_eq!(world.written.last(), Some(&world.parts));
    }
}
