//! Thousands of schedules of servers that publish, follow, take over, are stopped and crash, over a store in which everything
//! goes wrong that can. What runs is [`Chain`](super::chain), [`Journal`](super::journal), [`Pulse`](super::beat), [`Watch`](super::beat) and the rules of
//! [`role`](super::role); indexes, threads and time are models.

mod desk;
mod model;
mod server;
mod store;

use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use server::{Actor, Group};
use store::{Counts, World};

/// Servers of a schedule.
const SERVERS: usize = 3;
/// Steps of a schedule.
const STEPS: usize = 400;
/// Schedules that CI has time for.
const SCHEDULES: u64 = 10_000;

/// Those behind them that have found a fault, of the program or of the model.
const FOUND: [u64; 1] = [40_345];

fn schedule(seed: u64, base: Instant, is_traced: bool) -> Counts {
    // In every second one, writes are acknowledged when they are in the store; in half of both, clocks jump by hours.
    let kind = (seed % 2 == 1, (seed % 4 > 1).then_some(SERVERS));
    let world = Rc::new(World::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d), base, kind, is_traced));
    let group = Group::new(Rc::clone(&world), SERVERS);
    let mut actors: Vec<Actor> = (0..SERVERS).map(|server| group.start(server, 0)).collect();
    for _ in 0..STEPS {
        let next = (0..actors.len()).min_by_key(|place| actors[*place].wake).expect("there are servers");
        world.go_on_to(actors[next].wake);
        world.disturb_clocks();
        world.wake.set(world.millis());
        let polled = actors[next].future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        actors[next].wake = world.wake.get();
        if matches!(polled, Poll::Ready(())) {
            actors.remove(next);
        }
        actors.append(&mut group.spawned.borrow_mut());
        if world.below(150) == 0 {
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
        let counts = std::panic::catch_unwind(|| schedule(seed, base, is_traced));
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

#[test]
fn whatever_the_store_does_nothing_that_was_published_is_lost() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("LAMINA_SCHEDULE") {
        schedules(seed..seed + 1, 1, true);
        return;
    }
    let first = number("LAMINA_SCHEDULES_FROM").unwrap_or(0);
    let counts = schedules_on_all_cores(first..first + number("LAMINA_SCHEDULES").unwrap_or(SCHEDULES));
    for seed in FOUND {
        schedules(seed..seed + 1, 1, false);
    }
    println!("{counts:?}");
    // What is to be proved was met, and often.
    let Counts { roots, takeovers, refused, removed, followed, crashes, .. } = counts;
    let Counts { stale, moved, shared, acknowledged, replayed, trimmed, jumps, held_back, .. } = counts;
    let Counts { tried_again, met_again, .. } = counts;
    let of_publishers = [roots, takeovers, refused, removed, followed, crashes, shared, held_back];
    for count in of_publishers.into_iter().chain([acknowledged, replayed, trimmed, jumps, tried_again, met_again]) {
        assert!(count > 100, "{counts:?}");
    }
    assert!(stale > 0 && moved > 0, "{stale} {moved}");
}
