use super::*;
use crate::model::DeletionOrder;

/// Numbers that look like chance and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn standing(name: &str, set: &str, set_born: i64) -> Standing {
    Standing {
        name: name.to_owned(),
        set: set.to_owned(),
        set_born,
        born: set_born,
        is_ready: true,
        is_sick: false,
        is_going: false,
        is_marked: false,
        is_condemned: false,
        domain: String::new(),
    }
}

fn plane(count: u64) -> Vec<Standing> {
    (0..count).map(|number| standing(&format!("cp-{number}"), "", 0)).collect()
}

fn group(count: u64) -> Vec<Standing> {
    (0..count).map(|number| standing(&format!("md-{number}"), "set-1", 1)).collect()
}

fn rolling(surge: u64, unavailable: u64) -> Strategy {
    Strategy::Rolling { surge, unavailable, order: DeletionOrder::Random }
}

fn there(played: &Played) -> Vec<u64> {
    let mut out: Vec<u64> = played.counts.iter().map(|counts| counts.there).collect();
    out.dedup();
    out
}

#[test]
fn a_control_plane_grows_and_shrinks_by_one() {
    let fleet = |count| Fleet::of(count, &plane(count), |_| true);
    let up = play(&Strategy::OneByOne { surge: 1, sick_first: true, is_late: false }, fleet(3), Pace::EVEN);
    assert_eq!(there(&up), [3, 4, 3, 4, 3, 4, 3]);
    assert_eq!((up.lowest, up.peak, up.made(), &up.end), (3, 4, 3, &End::Settled));
    assert_eq!(up.deleted().collect::<Vec<_>>(), ["cp-0", "cp-1", "cp-2"]);
    let down = play(&Strategy::OneByOne { surge: 0, sick_first: true, is_late: false }, fleet(3), Pace::EVEN);
    assert_eq!(there(&down), [3, 2, 3, 2, 3, 2, 3]);
    assert_eq!((down.lowest, down.peak), (2, 3));
}

#[test]
fn a_controller_with_a_late_cache_makes_more_and_deletes_them() {
    let fleet = Fleet::of(3, &plane(3), |_| true);
    let late = Pace { unseen: 3, ..Pace::EVEN };
    let of = |is_late| play(&Strategy::OneByOne { surge: 1, sick_first: false, is_late }, fleet.clone(), late);
    let played = of(true);
    assert_eq!(there(&played), [3, 7, 6, 5, 4, 3]);
    assert_eq!((played.made(), played.deleted().count(), &played.end), (4, 4, &End::Settled));
    assert_eq!(played.deleted().last(), Some("new-1"));
    assert_eq!(of(false).peak, 4, "one that asks the API server makes one");
}

#[test]
fn a_control_plane_waits_for_what_is_not_healthy() {
    let mut machines = plane(3);
    machines[2].is_ready = false;
    let is_old = |machine: &Standing| machine.name != "cp-2";
    let played = play(
        &Strategy::OneByOne { surge: 1, sick_first: true, is_late: false },
        Fleet::of(3, &machines, is_old),
        Pace::EVEN,
    );
    assert_eq!(played.end, End::Stuck(Wait::NotReady(vec!["cp-2".to_owned()])));
    assert!(played.acts.is_empty());
    // The one that is not healthy and out of date goes first, where no Machine has to be made before.
    let played = play(
        &Strategy::OneByOne { surge: 0, sick_first: true, is_late: false },
        Fleet::of(3, &machines, |_| true),
        Pace::EVEN,
    );
    assert_eq!(played.deleted().next(), Some("cp-2"));
    let other = play(
        &Strategy::OneByOne { surge: 0, sick_first: false, is_late: false },
        Fleet::of(3, &machines, |_| true),
        Pace::EVEN,
    );
    assert_eq!(
        other.end,
        End::Stuck(Wait::NotReady(vec!["cp-2".to_owned()])),
        "RKE2 takes the oldest and waits for the other"
    );
    assert_eq!((played.end, played.lowest), (End::Settled, 2));
}

/// These Machines, one of which a health check handed to its owner.
fn condemned(mut machines: Vec<Standing>, place: usize) -> Vec<Standing> {
    machines[place] = Standing { is_ready: false, is_sick: true, is_condemned: true, ..machines[place].clone() };
    machines
}

#[test]
fn an_unhealthy_machine_of_a_control_plane_is_replaced_before_the_rollout_goes_on() {
    let strategy = Strategy::OneByOne { surge: 1, sick_first: true, is_late: false };
    let at = |machines: &[Standing], is_old: bool| {
        play(&strategy, Fleet::of(machines.len() as u64, machines, |_| is_old), Pace::EVEN)
    };
    let played = at(&condemned(plane(3), 1), true);
    assert_eq!(
        (played.deleted().next(), played.lowest, played.made(), &played.end),
        (Some("cp-1"), 2, 3, &End::Settled)
    );
    // Machines that are up to date are remediated too, and the rollout has nothing to do with it.
    let played = at(&condemned(plane(3), 1), false);
    assert_eq!((played.deleted().collect::<Vec<_>>(), played.made()), (vec!["cp-1"], 1));
    // The last Machine is never, and no one where that would leave too few that are healthy.
    assert_eq!(at(&condemned(plane(1), 0), true).acts, []);
    let two = condemned(condemned(plane(3), 0), 1);
    assert_eq!(
        (at(&two, true).acts, at(&two, true).end),
        (Vec::new(), End::Stuck(Wait::NotReady(vec!["cp-0".to_owned(), "cp-1".to_owned()])))
    );
    let five = condemned(condemned(plane(5), 0), 1);
    assert_eq!(at(&five, true).deleted().take(2).collect::<Vec<_>>(), ["cp-0", "cp-1"]);
}

#[test]
fn unhealthy_workers_are_replaced_where_they_stay_and_left_to_the_rollout_where_they_go() {
    let machines = condemned(group(3), 2);
    let strategy = rolling(1, 0);
    let stays = play(&strategy, Fleet::of(3, &machines, |_| false), Pace::EVEN);
    assert_eq!((stays.deleted().collect::<Vec<_>>(), stays.made(), &stays.end), (vec!["md-2"], 1, &End::Settled));
    // The new MachineSet makes one before an old one goes, the unhealthy one first.
    let goes = play(&strategy, Fleet::of(3, &machines, |_| true), Pace::EVEN);
    assert_eq!(
        (goes.acts.first(), goes.deleted().next(), goes.made()),
        (Some(&Act::Make("new-1".to_owned())), Some("md-2"), 3)
    );
}

#[test]
fn a_strategy_without_a_type_replaces_nothing() {
    let strategy = Strategy::Stopped { why: "its strategy has no type".to_owned() };
    let played = play(&strategy, Fleet::of(3, &plane(3), |_| true), Pace::EVEN);
    assert!(played.acts.is_empty() && matches!(played.end, End::Stuck(Wait::Stopped(_))));
}

#[test]
fn workers_go_as_their_room_allows() {
    for (count, surge, unavailable, lowest, peak) in
        [(3, 1, 0, 3, 4), (3, 0, 1, 2, 3), (4, 2, 0, 4, 6), (5, 3, 1, 4, 8), (1, 1, 0, 1, 2), (4, 0, 3, 1, 4)]
    {
        let played = worst(&rolling(surge, unavailable), &Fleet::of(count, &group(count), |_| true), Pace::EVEN);
        let seen = (played.lowest, played.peak, &played.end, played.made(), played.deleted().count() as u64);
        assert_eq!(seen, (lowest, peak, &End::Settled, count, count), "{count} {surge} {unavailable}");
    }
}

#[test]
fn new_machines_that_never_come_up_stop_the_rollout() {
    let pace = Pace { ready: None, ..Pace::EVEN };
    let played = play(&rolling(1, 1), Fleet::of(3, &group(3), |_| true), pace);
    assert!(matches!(&played.end, End::Stuck(Wait::NotReady(names)) if !names.is_empty()), "{played:?}");
    assert_eq!(played.lowest, 2);
    let played = play(
        &Strategy::OneByOne { surge: 1, sick_first: true, is_late: false },
        Fleet::of(1, &plane(1), |_| true),
        pace,
    );
    assert_eq!((played.lowest, played.peak, played.deleted().count()), (1, 2, 0));
}

#[test]
fn a_machine_waits_for_a_host_that_is_free() {
    let fleet = Fleet::of(3, &group(3), |_| true);
    let none = Pace { hosts: Some(0), ..Pace::EVEN };
    assert!(matches!(play(&rolling(1, 0), fleet.clone(), none).end, End::Stuck(Wait::NoHost(1))));
    let one = Pace { hosts: Some(1), ..Pace::EVEN };
    assert_eq!(play(&rolling(1, 0), fleet.clone(), one).end, End::Settled);
    // What goes first gives its host back.
    assert_eq!(play(&rolling(0, 1), fleet.clone(), none).end, End::Settled);
    let held = Pace { makes: false, ..Pace::EVEN };
    assert_eq!(play(&rolling(0, 1), fleet.clone(), held).end, End::Stuck(Wait::CannotMake));
    assert_eq!(play(&rolling(0, 1), fleet, held).lowest, 2, "only what may be missing goes");
}

#[test]
fn on_delete_waits_for_a_hand() {
    let strategy = Strategy::OnDelete { order: DeletionOrder::Random };
    let mut machines = group(2);
    assert_eq!(play(&strategy, Fleet::of(2, &machines, |_| true), Pace::EVEN).end, End::Stuck(Wait::ByHand));
    machines[0].is_going = true;
    let played = play(&strategy, Fleet::of(2, &machines, |_| true), Pace::EVEN);
    assert_eq!((played.made(), played.deleted().count()), (1, 0), "{played:?}");
}

#[test]
fn the_order_of_a_set_is_its_own() {
    let mut machines = group(3);
    for (machine, born) in machines.iter_mut().zip([20, 10, 30]) {
        machine.born = born;
    }
    let order = |order, machines: &[Standing]| {
        let strategy = Strategy::Rolling { surge: 0, unavailable: 1, order };
        let played = play(&strategy, Fleet::of(3, machines, |_| true), Pace::EVEN);
        played.deleted().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(order(DeletionOrder::Random, &machines), ["md-0", "md-1", "md-2"]);
    assert_eq!(order(DeletionOrder::Oldest, &machines), ["md-1", "md-0", "md-2"]);
    assert_eq!(order(DeletionOrder::Newest, &machines), ["md-2", "md-0", "md-1"]);
    machines[0].is_sick = true;
    assert_eq!(order(DeletionOrder::Newest, &machines)[0], "md-0");
    machines[2].is_marked = true;
    assert_eq!(order(DeletionOrder::Oldest, &machines)[0], "md-2");
}

/// An owner of chance: some Machines out of date, some not ready, some on their way out.
fn any(dice: &mut Dice) -> (Strategy, Fleet) {
    let wanted = dice.roll(6);
    let count = dice.roll(7);
    let is_plane = dice.roll(3) == 0;
    let (surge, unavailable) = (dice.roll(3), dice.roll(3));
    let order = [DeletionOrder::Random, DeletionOrder::Newest, DeletionOrder::Oldest]
        [usize::try_from(dice.roll(3)).unwrap_or(0)];
    let strategy = match (is_plane, dice.roll(6)) {
        (true, _) => {
            let surge = surge.min(1);
            Strategy::OneByOne { surge, sick_first: dice.roll(2) == 0, is_late: dice.roll(2) == 0 }
        }
        (_, 0) => Strategy::OnDelete { order },
        _ => {
            let unavailable = if surge + unavailable == 0 { 1 } else { unavailable };
            Strategy::Rolling { surge, unavailable: unavailable.min(wanted), order }
        }
    };
    let mut machines = Vec::new();
    for number in 0..count {
        let (set, born) = match (is_plane, dice.roll(3)) {
            (true, _) => ("", 0),
            (_, 0) => ("set-3", 3),
            (_, 1) => ("set-1", 1),
            _ => ("set-2", 2),
        };
        let mut machine = standing(&format!("m-{number}"), set, born);
        machine.born = i64::try_from(dice.roll(5)).unwrap_or_default();
        machine.is_ready = dice.roll(4) > 0;
        machine.is_sick = !machine.is_ready && dice.roll(2) == 0;
        machine.is_going = dice.roll(8) == 0;
        machine.is_condemned = machine.is_sick && dice.roll(3) == 0;
        machine.is_marked = dice.roll(10) == 0;
        machines.push(machine);
    }
    let old: Vec<bool> = (0..count).map(|_| dice.roll(3) > 0).collect();
    let is_old = |machine: &Standing| match machine.set.as_str() {
        "" => machine.name[2..].parse::<usize>().is_ok_and(|number| old[number]),
        set => set != "set-3",
    };
    (strategy, Fleet::of(wanted, &machines, is_old))
}

#[test]
fn every_simulation_ends_and_keeps_its_bounds() {
    let mut settled = 0;
    for seed in 0..20_000 {
        let mut dice = Dice(seed);
        let (strategy, fleet) = any(&mut dice);
        let ready = [Some(1), Some(2), Some(5), None][usize::try_from(dice.roll(4)).unwrap_or(0)];
        let unseen = if matches!(strategy, Strategy::OneByOne { is_late: true, .. }) { dice.roll(4) } else { 0 };
        let pace = Pace { ready, gone: 1 + dice.roll(4), hosts: None, makes: dice.roll(6) > 0, unseen };
        let played = play(&strategy, fleet.clone(), pace);
        let told = || format!("seed {seed}: {strategy:?} {fleet:?} {pace:?}\n{played:?}");
        assert_ne!(played.end, End::Endless, "{}", told());
        settled += usize::from(played.end == End::Settled);
        // No Machine is deleted twice, and each that was to be replaced is, where the end is reached.
        let mut names: Vec<&str> = played.deleted().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{}", told());
        let mut due = fleet.machines.iter().filter(|machine| machine.is_outdated && !machine.is_going);
        assert!(played.end != End::Settled || due.all(|machine| names.contains(&machine.name.as_str())), "{}", told());
        let (surge, least) = match &strategy {
            Strategy::OneByOne { surge, .. } => (*surge, fleet.wanted.saturating_sub(1)),
            Strategy::Rolling { surge, unavailable, .. } => (*surge, fleet.wanted.saturating_sub(*unavailable)),
            _ => (0, 0),
        };
        assert!(played.peak <= (fleet.wanted + surge).max(fleet.count()) + unseen, "{}", told());
        // What begins healthy stays above its floor, and what does not falls by one at most, to break a deadlock.
        let is_healthy = fleet.machines.iter().all(|machine| machine.is_ready) && fleet.count() >= fleet.wanted;
        if is_healthy && matches!(strategy, Strategy::Rolling { .. }) && fleet.sets.iter().all(|set| !set.is_current) {
            assert!(played.lowest >= least, "{}", told());
        }
    }
    assert!(settled > 4_000, "only {settled} came to their end");
}
