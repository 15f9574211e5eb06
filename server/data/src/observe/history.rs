//! The last 24 hours of the server, for charts: an hour in steps of 15 seconds, and all of it in steps of a minute.
//!
//! A point has 88 bytes, so all of them have about 200 KB.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lamina_base::timestamp::Timestamp;
use parking_lot::Mutex;

use super::latencies::{Counts, Latencies, between, percentile};

/// Steps of the last hour.
const FINE: Duration = Duration::from_secs(15);
const FINE_COUNT: usize = 240;
/// Steps of the last 24 hours.
const COARSE: Duration = Duration::from_secs(60);
const COARSE_COUNT: usize = 1440;
/// Fine steps in a coarse one.
const FINE_IN_COARSE: usize = 4;

/// Time that a chart shows, and its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    step: Duration,
    count: usize,
}

impl Window {
    /// The windows by their names. The first one is the default.
    pub const ALL: [(&str, Window); 4] = [
        ("1h", Window { step: FINE, count: FINE_COUNT }),
        ("15m", Window { step: FINE, count: FINE_COUNT / 4 }),
        ("6h", Window { step: COARSE, count: COARSE_COUNT / 4 }),
        ("24h", Window { step: COARSE, count: COARSE_COUNT }),
    ];

    /// Time from one point to the next.
    pub fn step_seconds(self) -> u64 {
        self.step.as_secs()
    }
}

/// Measurements at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    pub memory_bytes: u64,
    pub heap_bytes: u64,
    pub disk_bytes: u64,
    pub waiting_tasks: u64,
}

/// A step: rates and percentiles of its time, and the gauges at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// End of the step.
    pub at: Timestamp,
    pub requests_per_second: f32,
    /// Requests with a status of 500 and more.
    pub failures_per_second: f32,
    pub searches_per_second: f32,
    /// Milliseconds. Of requests, then of searches; `None` without any.
    pub request_p50: Option<f32>,
    pub request_p99: Option<f32>,
    pub search_p50: Option<f32>,
    pub search_p99: Option<f32>,
    pub gauges: Gauges,
}

/// All that is counted since the start.
#[derive(Clone, Debug)]
struct Totals {
    at: Instant,
    requests: Counts,
    searches: Counts,
    failures: u64,
}

impl Totals {
    /// The step from these to `later`.
    fn until(&self, later: &Totals, at: Timestamp, gauges: Gauges) -> Point {
        let seconds = later.at.duration_since(self.at).as_secs_f64().max(0.001);
        let rate = |count: u64| (count as f64 / seconds) as f32;
        let requests = between(&self.requests, &later.requests);
        let searches = between(&self.searches, &later.searches);
        Point {
            at,
            requests_per_second: rate(requests.iter().sum()),
            failures_per_second: rate(later.failures.saturating_sub(self.failures)),
            searches_per_second: rate(searches.iter().sum()),
            request_p50: percentile(&requests, 0.5),
            request_p99: percentile(&requests, 0.99),
            search_p50: percentile(&searches, 0.5),
            search_p99: percentile(&searches, 0.99),
            gauges,
        }
    }
}

#[derive(Debug)]
struct Steps {
    fine: VecDeque<Point>,
    coarse: VecDeque<Point>,
    /// Totals at the beginning of the step that runs.
    fine_from: Totals,
    coarse_from: Totals,
    /// Fine steps of the coarse one that runs.
    fine_in_coarse: usize,
    disk_bytes: u64,
}

/// Shared by reference.
#[derive(Debug)]
pub struct History {
    requests: Latencies,
    searches: Latencies,
    failures: AtomicU64,
    steps: Mutex<Steps>,
}

impl Default for History {
    fn default() -> History {
        History::beginning(Instant::now())
    }
}

impl History {
    /// Time between two calls of [`History::step`].
    pub const STEP: Duration = FINE;

    fn beginning(now: Instant) -> History {
        let (requests, searches) = (Latencies::default(), Latencies::default());
        let from = Totals { at: now, requests: requests.counts(), searches: searches.counts(), failures: 0 };
        let steps = Steps {
            fine: VecDeque::new(),
            coarse: VecDeque::new(),
            fine_from: from.clone(),
            coarse_from: from,
            fine_in_coarse: 0,
            disk_bytes: 0,
        };
        History { requests, searches, failures: AtomicU64::new(0), steps: Mutex::new(steps) }
    }

    pub(super) fn record(&self, searches: bool, status: u16, duration: Duration) {
        self.requests.record(duration);
        if searches {
            self.searches.record(duration);
        }
        if status >= 500 {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn totals(&self, at: Instant) -> Totals {
        let failures = self.failures.load(Ordering::Relaxed);
        Totals { at, requests: self.requests.counts(), searches: self.searches.counts(), failures }
    }

    /// Returns whether the next step is to measure the disk, which may have many files: one in a minute is.
    pub fn wants_disk(&self) -> bool {
        let steps = self.steps.lock();
        steps.fine_in_coarse + 1 == FINE_IN_COARSE || steps.fine.is_empty()
    }

    /// Bytes on the disk when they were measured last.
    pub fn disk_bytes(&self) -> u64 {
        self.steps.lock().disk_bytes
    }

    /// Ends the step that runs.
    pub fn step(&self, now: Instant, at: Timestamp, gauges: Gauges) {
        let totals = self.totals(now);
        let mut steps = self.steps.lock();
        steps.disk_bytes = gauges.disk_bytes;
        let point = steps.fine_from.until(&totals, at, gauges);
        push(&mut steps.fine, point, FINE_COUNT);
        steps.fine_in_coarse += 1;
        if steps.fine_in_coarse == FINE_IN_COARSE {
            let point = steps.coarse_from.until(&totals, at, gauges);
            push(&mut steps.coarse, point, COARSE_COUNT);
            steps.coarse_from = totals.clone();
            steps.fine_in_coarse = 0;
        }
        steps.fine_from = totals;
    }

    /// The steps of a window, oldest first. The last one ends now.
    pub fn points(&self, window: Window, now: Instant, at: Timestamp, gauges: Gauges) -> Vec<Point> {
        let totals = self.totals(now);
        let steps = self.steps.lock();
        let (ended, from) = match window.step == FINE {
            true => (&steps.fine, &steps.fine_from),
            false => (&steps.coarse, &steps.coarse_from),
        };
        let skipped = ended.len().saturating_sub(window.count - 1);
        let running = from.until(&totals, at, gauges);
        ended.iter().skip(skipped).copied().chain([running]).collect()
    }
}

fn push(points: &mut VecDeque<Point>, point: Point, count_max: usize) {
    if points.len() == count_max {
        points.pop_front();
    }
    points.push_back(point);
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAUGES: Gauges = Gauges { memory_bytes: 1, heap_bytes: 2, disk_bytes: 3, waiting_tasks: 4 };

    fn window(name: &str) -> Window {
        Window::ALL.into_iter().find(|(known, _)| *known == name).expect("a window").1
    }

    /// A history and its moments, in seconds from its beginning.
    fn history() -> (History, impl Fn(u64) -> (Instant, Timestamp)) {
        let begun = Instant::now();
        let at = move |seconds: u64| {
            (begun + Duration::from_secs(seconds), Timestamp::from_nanos(seconds as i64 * 1_000_000_000))
        };
        (History::beginning(begun), at)
    }

    #[test]
    fn steps_have_rates_and_percentiles_of_their_time() {
        let (history, moment) = history();
        for step in 1..=4_u64 {
            for _ in 0..step * 15 {
                history.record(true, 200, Duration::from_millis(step));
            }
            history.record(false, 503, Duration::from_secs(9));
            let (now, at) = moment(step * 15);
            history.step(now, at, GAUGES);
        }
        let (now, at) = moment(65);
        history.record(true, 200, Duration::from_millis(1));
        let fine = history.points(window("1h"), now, at, GAUGES);
        let rates: Vec<f32> = fine.iter().map(|point| point.searches_per_second).collect();
        assert_eq!(rates, [1.0, 2.0, 3.0, 4.0, 0.2]);
        assert_eq!(fine[4].requests_per_second, 0.2);
        assert_eq!(fine[4].at, at);
        assert_eq!(fine[0].failures_per_second, 1.0 / 15.0);
        assert_eq!(fine[0].gauges, GAUGES);
        for (step, point) in (1_u8..).zip(&fine[..4]) {
            let (median, wanted) = (point.search_p50.unwrap(), f32::from(step));
            assert!((median / wanted - 1.0).abs() < 0.1, "{point:?}");
            assert!(point.request_p99.unwrap() > 8000.0, "{point:?}");
        }
        let coarse = history.points(window("24h"), now, at, GAUGES);
        assert_eq!(coarse.len(), 2);
        assert_eq!(coarse[0].searches_per_second, 2.5);
        assert!(coarse[0].search_p99.unwrap() > 3.6, "of all its requests: {coarse:?}");
        assert_eq!(coarse[1].search_p50, fine[4].search_p50);
    }

    #[test]
    fn a_step_without_requests_has_no_percentiles() {
        let (history, moment) = history();
        let (now, at) = moment(15);
        history.step(now, at, GAUGES);
        let point = history.points(window("15m"), now, at, GAUGES)[0];
        assert_eq!((point.request_p50, point.search_p99, point.requests_per_second), (None, None, 0.0));
    }

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let (history, moment) = history();
        let steps = 2 * 24 * 60 * 4_u64;
        for step in 1..=steps {
            let (now, at) = moment(step * 15);
            history.step(now, at, GAUGES);
        }
        let (now, at) = moment(steps * 15 + 1);
        for (name, count, first) in [("15m", 60, 870), ("1h", 240, 3570), ("6h", 360, 21_480), ("24h", 1440, 86_280)] {
            let points = history.points(window(name), now, at, GAUGES);
            assert_eq!(points.len(), count, "{name}");
            let before = (at.nanos() - points[0].at.nanos()) / 1_000_000_000;
            assert_eq!(before, first + 1, "{name}");
            assert_eq!(points[count - 1].at, at, "{name}");
        }
        let held = history.steps.lock();
        let bytes = (held.fine.capacity() + held.coarse.capacity()) * size_of::<Point>();
        assert!(bytes < 300_000, "{bytes}");
    }

    #[test]
    fn the_disk_is_measured_once_a_minute() {
        let (history, moment) = history();
        let wanted: Vec<bool> = (1..=9)
            .map(|step| {
                let wants = history.wants_disk();
                let (now, at) = moment(step * 15);
                history.step(now, at, GAUGES);
                wants
            })
            .collect();
        assert_eq!(wanted, [true, false, false, true, false, false, false, true, false]);
        assert_eq!(history.disk_bytes(), 3);
    }
}
