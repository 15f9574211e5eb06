//! Sends the usage figures that `telemetry` gathers to the collector of the operator: every hour, when it fills a batch, and what is left at the end.
//! And, in [`traces`], spans of requests.

mod system;
pub(crate) mod traces;

use std::sync::Arc;
use std::time::Duration;

use lamina_base::timestamp::Timestamp;
use lamina_data::telemetry::BATCH_BYTES_MAX;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use crate::app::AppState;

const INTERVAL: Duration = Duration::from_secs(3600);
/// Between two batches that were full before their hour: requests with ever new texts are no reason to send all the time.
const FULL_PAUSE: Duration = Duration::from_secs(60);
/// A collector that is slow or silent is not waited for: nothing depends on it.
const SEND_TIME: Duration = Duration::from_secs(10);
/// At the end of the process even less.
const LAST_SEND_TIME: Duration = Duration::from_secs(3);
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Sends to `url` until `stopped` says so, then once more.
pub(crate) async fn run(state: Arc<AppState>, url: String, mut stopped: watch::Receiver<bool>) {
    let mut ticks = interval_at(Instant::now() + INTERVAL, INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut sent_at = Instant::now();
    loop {
        let is_full = async {
            sleep_until(sent_at + FULL_PAUSE).await;
            state.telemetry.full.notified().await;
        };
        let is_over = tokio::select! {
            _ = ticks.tick() => false,
            () = is_full => false,
            // Changed, or its sender gone: both mean the end.
            _ = stopped.changed() => true,
        };
        if is_over {
            break;
        }
        send(&state, &url, SEND_TIME).await;
        sent_at = Instant::now();
    }
    send(&state, &url, LAST_SEND_TIME).await;
}

async fn send(state: &Arc<AppState>, url: &str, time: Duration) {
    let gathering = Arc::clone(state);
    let events = tokio::task::spawn_blocking(move || {
        let telemetry = &gathering.telemetry;
        let mut events = vec![system::event(&gathering, telemetry.days())];
        events.extend(telemetry.take());
        events
    });
    let Ok(events) = events.await else { return };
    for batch in batches(events) {
        let body = json!({ "instanceUid": state.instance.uid(), "sentAt": Timestamp::now(), "events": batch });
        let request = match state.outbound.request(Method::POST, url) {
            Ok(request) => request.timeout(time).json(&body),
            Err(error) => return tracing::debug!(%error, "telemetry cannot be sent"),
        };
        // A collector that is away is no concern of a server of searches: no warning.
        match state.outbound.send(request, ANSWER_BYTES_MAX).await {
            Ok(reply) if reply.status.is_success() => {}
            Ok(reply) => tracing::debug!(status = reply.status.as_u16(), "telemetry was refused"),
            Err(error) => return tracing::debug!(%error, "telemetry cannot be sent"),
        }
    }
}

/// Events in batches that stay below the limit with what surrounds them; an event that alone exceeds it is left out.
fn batches(events: Vec<Value>) -> Vec<Vec<Value>> {
    const AROUND_BYTES: usize = 200;
    let (mut batches, mut bytes) = (vec![Vec::new()], AROUND_BYTES);
    for event in events {
        let length = event.to_string().len() + 1;
        if length + AROUND_BYTES > BATCH_BYTES_MAX {
            continue;
        }
        if bytes + length > BATCH_BYTES_MAX {
            batches.push(Vec::new());
            bytes = AROUND_BYTES;
        }
        bytes += length;
        batches.last_mut().expect("there is one from the start").push(event);
    }
    batches.retain(|batch| !batch.is_empty());
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_stay_below_the_limit() {
        let event = |letters: usize| json!({ "event": "x".repeat(letters) });
        let sizes = |events: Vec<Value>| -> Vec<usize> { batches(events).iter().map(Vec::len).collect() };
        assert_eq!(sizes(vec![]), Vec::<usize>::new());
        assert_eq!(sizes(vec![event(10), event(10)]), [2]);
        assert_eq!(sizes((0..5).map(|_| event(200_000)).collect()), [2, 2, 1]);
        assert_eq!(sizes(vec![event(600_000), event(1)]), [1]);
        for batch in batches((0..40).map(|_| event(60_000)).collect()) {
            assert!(json!(batch).to_string().len() < BATCH_BYTES_MAX);
        }
    }
}
