//! Requests by route: how many, and how long they took.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use super::exposition::{Exposition, Kind};

/// Upper bounds of the histogram, in seconds.
const BOUNDS: [f64; 18] =
    [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

#[derive(Debug, Default)]
struct Series {
    by_status: BTreeMap<u16, u64>,
    /// Requests up to each bound; not cumulated.
    buckets: [u64; BOUNDS.len()],
    count: u64,
    seconds: f64,
}

/// All series. The number of routes bounds their number.
#[derive(Debug, Default)]
pub struct HttpSeries(Mutex<BTreeMap<(&'static str, &'static str), Series>>);

impl HttpSeries {
    /// Adds a request: its method, the pattern of its route, what came of it.
    pub(super) fn record(&self, method: &'static str, path: &'static str, status: u16, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let mut all = self.0.lock();
        let series = all.entry((path, method)).or_default();
        *series.by_status.entry(status).or_default() += 1;
        series.count += 1;
        series.seconds += seconds;
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            series.buckets[bucket] += 1;
        }
    }

    /// Writes both families.
    pub fn write(&self, page: &mut Exposition) {
        let all = self.0.lock();
        page.family("http_requests_total", Kind::Counter, "Answered requests.");
        for ((path, method), series) in &*all {
            for (status, count) in &series.by_status {
                page.sample("http_requests_total", &[("method", method), ("path", path), ("status", status)], count);
            }
        }
        page.family("http_response_time_seconds", Kind::Histogram, "Response time of requests.");
        for ((path, method), series) in &*all {
            let mut count = 0;
            for (bound, in_bucket) in BOUNDS.iter().zip(series.buckets) {
                count += in_bucket;
                let labels: [(&str, &dyn std::fmt::Display); 3] = [("method", method), ("path", path), ("le", bound)];
                page.sample("http_response_time_seconds_bucket", &labels, count);
            }
            let labels: [(&str, &dyn std::fmt::Display); 3] = [("method", method), ("path", path), ("le", &"+Inf")];
            page.sample("http_response_time_seconds_bucket", &labels, series.count);
            page.sample("http_response_time_seconds_sum", &labels[..2], series.seconds);
            page.sample("http_response_time_seconds_count", &labels[..2], series.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_are_cumulated() {
        let series = HttpSeries::default();
        for (millis, status) in [(3, 200), (30, 200), (60_000, 500)] {
            series.record("GET", "/tasks", status, Duration::from_millis(millis));
        }
        let mut page = Exposition::default();
        series.write(&mut page);
        let text = page.finish();
        for line in [
            "lamina_http_requests_total{method=\"GET\",path=\"/tasks\",status=\"200\"} 2",
            "lamina_http_requests_total{method=\"GET\",path=\"/tasks\",status=\"500\"} 1",
            "lamina_http_response_time_seconds_bucket{method=\"GET\",path=\"/tasks\",le=\"0.005\"} 1",
            "lamina_http_response_time_seconds_bucket{method=\"GET\",path=\"/tasks\",le=\"0.00025\"} 0",
            "lamina_http_response_time_seconds_bucket{method=\"GET\",path=\"/tasks\",le=\"0.05\"} 2",
            "lamina_http_response_time_seconds_bucket{method=\"GET\",path=\"/tasks\",le=\"10\"} 2",
            "lamina_http_response_time_seconds_bucket{method=\"GET\",path=\"/tasks\",le=\"+Inf\"} 3",
            "lamina_http_response_time_seconds_count{method=\"GET\",path=\"/tasks\"} 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
