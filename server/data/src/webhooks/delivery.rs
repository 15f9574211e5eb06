//! Notifying receivers: outside of the queue, with retries, and without growing when they never answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lamina_base::backoff::{self, may_pass};
use lamina_base::error::ErrorDocs;
use lamina_base::outbound::{Outbound, OutboundError};
use parking_lot::Mutex;
use reqwest::Method;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::body::Lines;
use super::{Webhook, Webhooks};
use crate::tasks::TaskQueue;

/// For one attempt, from the connection to the end of the answer.
const ATTEMPT_TIME: Duration = Duration::from_secs(30);
/// Deliveries to one receiver that are under way at the same time.
const PARALLEL: usize = 4;
/// Deliveries to one receiver that wait or are under way. More are given up: the receiver is gone for a long time.
const PENDING_MAX: usize = 1000;
/// Maximum number of bytes read of a response. Its content does not matter.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Notifies webhooks of finished batches.
#[derive(Debug)]
pub struct Deliveries {
    webhooks: Arc<Webhooks>,
    queue: Arc<TaskQueue>,
    outbound: Outbound,
    docs: ErrorDocs,
    with_gzip: bool,
    lanes: Mutex<HashMap<Uuid, Arc<Lane>>>,
}

/// The deliveries to one receiver.
#[derive(Debug)]
struct Lane {
    slots: Semaphore,
    pending: AtomicUsize,
}

/// Failure of a delivery, which is final or may pass.
enum Failure {
    Final(String),
    Passing(String),
}

impl Deliveries {
    /// Nothing is announced yet; see [`Deliveries::announce`].
    pub fn new(
        webhooks: Arc<Webhooks>,
        queue: Arc<TaskQueue>,
        outbound: Outbound,
        docs: ErrorDocs,
        with_gzip: bool,
    ) -> Arc<Deliveries> {
        Arc::new(Deliveries { webhooks, queue, outbound, docs, with_gzip, lanes: Mutex::default() })
    }

    /// Starts to notify all webhooks of a batch. Returns at once.
    pub fn announce(self: &Arc<Self>, batch: u32) {
        for webhook in self.webhooks.all().iter() {
            let lane = self.lane(webhook.uuid);
            if lane.pending.fetch_add(1, Ordering::Relaxed) >= PENDING_MAX {
                lane.pending.fetch_sub(1, Ordering::Relaxed);
                tracing::warn!(webhook = %webhook.uuid, batch, "a webhook notification is dropped: too many are waiting for it");
                continue;
            }
            let (deliveries, uuid) = (Arc::clone(self), webhook.uuid);
            self.outbound.runtime().spawn(async move {
                // Never closed, so there always is a slot some time.
                let _slot = lane.slots.acquire().await;
                deliveries.deliver(uuid, batch).await;
                lane.pending.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    fn lane(&self, uuid: Uuid) -> Arc<Lane> {
        let mut lanes = self.lanes.lock();
        let all = self.webhooks.all();
        lanes.retain(|known, _| *known == uuid || all.iter().any(|webhook| webhook.uuid == *known));
        let new = || Arc::new(Lane { slots: Semaphore::new(PARALLEL), pending: AtomicUsize::new(0) });
        Arc::clone(lanes.entry(uuid).or_insert_with(new))
    }

    /// Waits until everything is delivered, at most `grace`: for the end of the server.
    pub async fn drain(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        let pending = || self.lanes.lock().values().map(|lane| lane.pending.load(Ordering::Relaxed)).sum::<usize>();
        while pending() > 0 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        match pending() {
            0 => {}
            count => tracing::warn!(count, "webhook notifications are dropped: the server is stopping"),
        }
    }

    async fn deliver(&self, uuid: Uuid, batch: u32) {
        let mut pauses = backoff::WEBHOOK;
        for attempt in 1.. {
            // As it is now: it may have been changed, or removed, while this one waited.
            let Ok(webhook) = self.webhooks.find(uuid) else { return };
            let reason = match self.attempt(&webhook, batch).await {
                Ok(()) => return tracing::debug!(webhook = %uuid, batch, attempt, "webhook notified"),
                Err(Failure::Final(reason)) => {
                    return tracing::error!(webhook = %uuid, batch, reason, "a webhook refused a notification");
                }
                Err(Failure::Passing(reason)) => reason,
            };
            let Some(pause) = pauses.next() else {
                return tracing::error!(webhook = %uuid, batch, reason, "a webhook notification is dropped: every attempt failed");
            };
            tracing::warn!(webhook = %uuid, batch, attempt, reason, "a webhook did not accept a notification: it is sent again");
            tokio::time::sleep(pause).await;
        }
    }

    async fn attempt(&self, webhook: &Webhook, batch: u32) -> Result<(), Failure> {
        let lines = Lines::new(Arc::clone(&self.queue), self.docs.clone(), batch, self.with_gzip);
        let body = lines.into_body().await.map_err(|error| Failure::Passing(error.message))?;
        let Some(body) = body else { return Ok(()) };
        let request = self.outbound.request(Method::POST, &webhook.url).map_err(failure)?;
        let request = request.timeout(ATTEMPT_TIME).headers(headers(webhook, self.with_gzip)).body(body);
        let reply = self.outbound.send(request, ANSWER_BYTES_MAX).await.map_err(failure)?;
        match reply.status {
            status if status.is_success() => Ok(()),
            status if may_pass(status) => Err(Failure::Passing(status.to_string())),
            status => Err(Failure::Final(status.to_string())),
        }
    }
}

fn failure(error: OutboundError) -> Failure {
    let text = error.to_string();
    if error.is_transient() { Failure::Passing(text) } else { Failure::Final(text) }
}

fn headers(webhook: &Webhook, with_gzip: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &webhook.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    if with_gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    headers
}
