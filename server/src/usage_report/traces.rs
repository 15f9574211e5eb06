//! Sends spans of requests to the OpenTelemetry collector of the operator.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::ANSWER_BYTES_MAX;
use crate::app::AppState;

const INTERVAL: Duration = Duration::from_secs(2);
const SEND_TIME: Duration = Duration::from_secs(10);
/// At the end of the process.
const LAST_SEND_TIME: Duration = Duration::from_secs(3);

/// Sends to `url` until `stopped` says so, then what is left. The log has a line when it begins to fail, and one when it succeeds
/// again.
pub(crate) async fn run(state: Arc<AppState>, url: String, mut stopped: watch::Receiver<bool>) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_failing = false;
    loop {
        let is_over = tokio::select! {
            _ = ticks.tick() => false,
            () = state.spans.full.notified() => false,
            _ = stopped.changed() => true,
        };
        let time = if is_over { LAST_SEND_TIME } else { SEND_TIME };
        match send(&state, &url, time).await {
            Err(error) if !is_failing => {
                tracing::warn!(%error, "cannot send spans to --trace-url: they are lost until it answers again");
                is_failing = true;
            }
            Ok(true) if is_failing => {
                tracing::info!("spans are sent to --trace-url again");
                is_failing = false;
            }
            _ => {}
        }
        if is_over {
            return;
        }
    }
}

/// Sends all that waits; whether there was something.
async fn send(state: &AppState, url: &str, time: Duration) -> Result<bool, String> {
    let mut has_sent = false;
    while let Some(body) = state.spans.take(&state.instance.uid().to_string()) {
        let request = state.outbound.request(Method::POST, url).map_err(|error| error.to_string())?;
        let reply = state.outbound.send(request.timeout(time).json(&body), ANSWER_BYTES_MAX).await;
        let reply = reply.map_err(|error| error.to_string())?;
        if !reply.status.is_success() {
            return Err(format!("the collector answers {}", reply.status));
        }
        has_sent = true;
    }
    Ok(has_sent)
}
