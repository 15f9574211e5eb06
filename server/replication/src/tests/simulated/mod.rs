//! Thousands of schedules of servers that publish, follow, take over, are stopped and crash, over a store in which everything
//! goes wrong that can, and that is not always there. What runs is [`Chain`](super::chain), [`Journal`](super::journal), [`Pulse`](super::heartbeat),
//! [`Watch`](super::heartbeat), [`Known`](super::known), [`Anchor`](super::store) and the rules of [`role`](super::role); indexes, threads and time are models. Where
//! a state goes to, and which numbers come next, the functions of the program say. [`before`] shows that the schedules find what they are for.

mod before;
mod counts;
mod desk;
mod folder;
mod following;
mod model;
mod published;
mod server;
mod store;
mod world;

use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use before::Old;
use counts::Counts;
use server::{Actor, Group};
use world::World;

/// Servers of a schedule.
const SERVERS: usize = 3;
/// Steps of a schedule, and of a long one.
const STEPS: usize = 380;
const STEPS_OF_LONG: usize = 1_200;
/// Schedules that CI has time for.
const SCHEDULES: u64 = 4_000;
/// Schedules whose numbers differ by this are of the same kind.
const KINDS: usize = 32;

/// Calls of the store that are each the only one to fail, in schedules that are otherwise the same.
const CALLS: u64 = 160;

/// Kind of a schedule: the events that can happen in it.
struct Kind {
    /// From which all that is drawn comes.
    chance: u64,
    /// Writes are acknowledged when they are in the store.
    is_journaled: bool,
    /// Nothing takes hours and little fails, so that histories get long.
    is_long: bool,
    /// Clocks jump by hours.
    has_jumps: bool,
    /// The store goes away from single servers; what is there then has the folders of a store, or not.
    has_mounts: bool,
    has_bare_folders: bool,
    /// No call of the store fails but this one.
    only_failure: Option<u64>,
}

/// Returns whether it is one of the long schedules, a sixteenth of all.
fn is_long(seed: u64) -> bool {
    matches!(seed % 32, 12 | 29)
}

impl Kind {
    fn of(seed: u64) -> Kind {
        let is_long = is_long(seed);
        let (is_of_one_failure, group) = (seed % 16 >= 14, seed / 16);
        // Those of a run of so many have the same chance.
        let chance = if is_of_one_failure { group / CALLS * 16 + seed % 16 } else { seed };
        Kind {
            chance: chance.wrapping_mul(0x2545_f491_4f6c_dd1d),
            is_journaled: seed % 2 == 1,
            is_long,
            has_jumps: seed % 4 > 1,
            has_mounts: seed % 8 > 3 && !is_of_one_failure && !is_long,
            has_bare_folders: seed % 16 > 7,
            only_failure: is_of_one_failure.then_some(group % CALLS),
        }
    }
}

fn schedule(seed: u64, (base, old): (Instant, &'static [Old]), is_traced: bool) -> Counts {
    let world = Rc::new(World::new(&Kind::of(seed), base, old, is_traced));
    let group = Group::new(Rc::clone(&world));
    let mut actors: Vec<Actor> = (0..SERVERS).map(|server| group.start(server, 0)).collect();
    for _ in 0..if world.is_long { STEPS_OF_LONG } else { STEPS } {
        let next = (0..actors.len()).min_by_key(|place| actors[*place].wake).expect("there are servers");
        world.go_on_to(actors[next].wake);
        world.disturb_clocks();
        world.disturb_store();
        world.wake.set(world.millis());
        let polled = actors[next].future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        actors[next].wake = world.wake.get();
        if matches!(polled, Poll::Ready(())) {
            actors.remove(next);
        }
        actors.append(&mut group.spawned.borrow_mut());
        if world.below(if world.is_long { 400 } else { 150 }) == 0 {
            world.counts.borrow_mut().crashes += 1;
            let server = world.below(SERVERS as u64) as usize;
            world.trace(format_args!("server {server} crashes"));
            actors.retain(|actor| actor.server != server);
            actors.push(group.start(server, world.millis() + world.below(60_000)));
        }
    }
    drop(actors);
    world.end();
    world.counts.borrow().clone()
}

/// Every `step`th schedule of a range.
fn schedules(seeds: std::ops::Range<u64>, step: usize, is_traced: bool) -> Counts {
    let base = Instant::now();
    let mut all = Counts::default();
    for seed in seeds.step_by(step) {
        let counts = std::panic::catch_unwind(|| schedule(seed, (base, &[]), is_traced));
        let counts = counts.unwrap_or_else(|_| panic!("in schedule {seed}: LAMINA_SCHEDULE={seed} repeats it"));
        all.add(&counts);
    }
    all
}

/// The schedules of a range, on all cores: each is a world of its own.
fn schedules_on_all_cores(seeds: std::ops::Range<u64>) -> Counts {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        let run = |first| scope.spawn(move || schedules(first..seeds.end, threads, false));
        let running: Vec<_> = (seeds.start..).take(threads).map(run).collect();
        let mut all = Counts::default();
        for thread in running {
            all.add(&thread.join().expect("no schedule breaks a promise"));
        }
        all
    })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn whatever_the_store_does_nothing_that_was_published_is_lost() {
    if let Some(seed) = number("LAMINA_SCHEDULE") {
        schedules(seed..seed + 1, 1, true);
        return;
    }
    let first = number("LAMINA_SCHEDULES_FROM").unwrap_or(0);
    let counts = schedules_on_all_cores(first..first + number("LAMINA_SCHEDULES").unwrap_or(SCHEDULES));
    println!("{counts:?}");
    // What is to be proved was met, and often.
    let Counts { roots, takeovers, refused, removed, followed, crashes, .. } = counts;
    let Counts { acknowledged, replayed, trimmed, jumps, shared, held_back, tried_again, .. } = counts;
    let Counts { met_again, apart, read_on, away, gone, unreadable, failed_once, .. } = counts;
    let of_publishers = [roots, takeovers, refused, removed, followed, crashes, shared, held_back, gone, failed_once];
    let of_followers =
        [acknowledged, replayed, trimmed, jumps, tried_again, met_again, apart, read_on, away, unreadable];
    for count in of_publishers.into_iter().chain(of_followers) {
        assert!(count > 100, "{counts:?}");
    }
    let Counts { stale, moved, passed_over, above, .. } = counts;
    assert!([stale, moved, passed_over, above].iter().all(|count| *count > 0), "{counts:?}");
}
