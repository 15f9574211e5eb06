//! One request to a provider, with its retries.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lamina_engine::index::embedding::{EmbedFailure, cut};
use lamina_engine::index::settings::DIMENSIONS_MAX;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use uuid::Uuid;

use super::provider::Provider;
use super::tokens::{count_tokens, cut_to_tokens};
use crate::cancellation::unless_cancelled;
use crate::counted::counted;
use crate::outbound::{Outbound, OutboundError, Reply};
use crate::secret::secrets_of_url;

/// Longest answer that is read, whatever was asked for.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// What surrounds vectors.
const ANSWER_BYTES: usize = 1 << 20;
/// A number as text, and what stands between two of them.
const NUMBER_BYTES: usize = 64;
/// A provider may repeat a text, and write all of it as escapes.
const TEXT_FACTOR: usize = 6;
/// Longest piece of an answer in a message.
const QUOTE_BYTES_MAX: usize = 300;
/// A shorter value of a header is no secret, and may occur in any text.
const SECRET_BYTES_MIN: usize = 8;
const CALL_TIME: Duration = Duration::from_secs(30);
const TRIES_MAX: u32 = 10;
const WAIT_MAX: Duration = Duration::from_secs(60);
/// What is added when a provider asks for patience.
const PATIENCE: Duration = Duration::from_millis(100);

/// Why a try failed, and whether another makes sense.
enum Failed {
    GiveUp(EmbedFailure),
    /// The request was refused; shorter texts may do, and will if it `is_too_long`.
    Refused {
        failure: EmbedFailure,
        is_too_long: bool,
    },
    Retry {
        failure: EmbedFailure,
        at_least: Duration,
    },
}

/// The vectors of `texts`, which fit one request. With a `deadline`, no try starts that could not end before it, and none
/// waits for the budget of the provider's account: it is on the bill of those that may wait.
pub(super) async fn embed(
    outbound: &Outbound,
    provider: &Provider,
    texts: &[String],
    deadline: Option<Instant>,
    cancelled: &AtomicBool,
) -> Result<Vec<Vec<f32>>, EmbedFailure> {
    let mut body = provider.request.fill(texts);
    let tokens = texts.iter().map(|text| count_tokens(text)).sum();
    let mut cuts = Cuts::default();
    let mut failures = 0;
    loop {
        let affordable_in = provider.budget.spend(tokens, Instant::now());
        if deadline.is_none() && !affordable_in.is_zero() {
            unless_cancelled(cancelled, tokio::time::sleep(affordable_in)).await.ok_or_else(EmbedFailure::cancelled)?;
        }
        let (failure, wait) = match send(outbound, provider, &body, texts, deadline, cancelled).await {
            Ok(vectors) => return Ok(vectors),
            Err(Failed::GiveUp(failure)) => return Err(failure),
            Err(Failed::Refused { failure, is_too_long }) => match cuts.next(provider, texts, is_too_long) {
                Some(texts) => {
                    body = provider.request.fill(&texts);
                    continue;
                }
                None => return Err(failure.of_text()),
            },
            Err(Failed::Retry { failure, at_least }) => (failure, wait(failures, at_least)),
        };
        failures += 1;
        let is_late = deadline.is_some_and(|deadline| Instant::now() + wait >= deadline);
        if failures >= TRIES_MAX || is_late {
            return Err(failure);
        }
        tracing::debug!(%failure, "an embedding server failed; another try in {wait:?}");
        unless_cancelled(cancelled, tokio::time::sleep(wait)).await.ok_or_else(EmbedFailure::cancelled)?;
    }
}

/// 1, 10, 100 … milliseconds, never more than a minute, and not the same for all callers.
fn wait(failures: u32, at_least: Duration) -> Duration {
    let tenfold = Duration::from_millis(10u64.saturating_pow(failures));
    let wait = (at_least + tenfold).min(WAIT_MAX);
    let random = (Uuid::new_v4().as_u128() % 1000) as f64 / 1000.0;
    wait.mul_f64(0.5 + random / 2.0)
}

/// How often texts are cut to half of what they were, and the bytes that they are cut to at least.
const HALVINGS_MAX: usize = 10;
const CUT_BYTES_MIN: usize = 64;

/// The ways in which the texts of a request were cut.
#[derive(Debug, Default)]
struct Cuts {
    /// Of the two ways of a provider whose limit is known.
    known: usize,
    halvings: usize,
    /// Bytes of the longest text of the last try.
    bytes: Option<usize>,
}

impl Cuts {
    /// The texts for another try; `None` when there is nothing more to cut, or no reason to. First cut to what the provider
    /// should take, then (a token has a byte at least) to what it takes for certain; one that says that they are too long
    /// still gets halves of that, down to few words.
    fn next(&mut self, provider: &Provider, texts: &[String], is_too_long: bool) -> Option<Vec<String>> {
        if let Some(tokens_max) = provider.fallback_tokens {
            let ways: [fn(&str, usize) -> &str; 2] = [cut_to_tokens, cut];
            while let Some(way) = ways.get(self.known) {
                self.known += 1;
                if texts.iter().any(|text| way(text, tokens_max).len() < text.len()) {
                    return Some(self.tried(texts.iter().map(|text| way(text, tokens_max))));
                }
            }
        }
        let longest = self.bytes.unwrap_or_else(|| texts.iter().map(String::len).max().unwrap_or(0));
        if !is_too_long || self.halvings >= HALVINGS_MAX || longest <= CUT_BYTES_MIN {
            return None;
        }
        self.halvings += 1;
        let bytes_max = (longest / 2).max(CUT_BYTES_MIN);
        Some(self.tried(texts.iter().map(|text| cut(text, bytes_max))))
    }

    fn tried<'t>(&mut self, texts: impl Iterator<Item = &'t str>) -> Vec<String> {
        let texts: Vec<String> = texts.map(str::to_owned).collect();
        self.bytes = texts.iter().map(String::len).max();
        texts
    }
}

/// Whether a refusal is about the length of the texts. Providers have no code for that in common.
fn speaks_of_length(status: u16, body: &[u8]) -> bool {
    const WORDS: [&str; 9] = [
        "context length",
        "context_length",
        "too long",
        "too large",
        "too many tokens",
        "longer than",
        "maximum sequence length",
        "maximum length",
        "exceed",
    ];
    let text = String::from_utf8_lossy(&body[..body.len().min(REFUSAL_BYTES_MAX)]).to_lowercase();
    status == 413 || WORDS.iter().any(|word| text.contains(word))
}

/// Of a refusal, what is looked through.
const REFUSAL_BYTES_MAX: usize = 4096;

/// One try: the request, what is wrong with the reply, its vectors.
async fn send(
    outbound: &Outbound,
    provider: &Provider,
    body: &Value,
    texts: &[String],
    deadline: Option<Instant>,
    cancelled: &AtomicBool,
) -> Result<Vec<Vec<f32>>, Failed> {
    let request = request(outbound, provider, body, deadline).map_err(|error| unusable(&error))?;
    let sent = unless_cancelled(cancelled, outbound.send(request, answer_bytes_max(provider.dimensions, texts))).await;
    let reply = match sent.ok_or_else(|| Failed::GiveUp(EmbedFailure::cancelled()))? {
        Ok(reply) => reply,
        Err(error @ (OutboundError::Rejected(_) | OutboundError::NoCaCertificates(_) | OutboundError::Url { .. })) => {
            return Err(unusable(&error));
        }
        Err(error @ OutboundError::TooLong { .. }) => {
            let message = format!("could not read the answer of the embedding server: {error}");
            return Err(Failed::GiveUp(EmbedFailure::runtime(message)));
        }
        Err(error) => {
            let failure = EmbedFailure::runtime(format!("could not reach embedding server:\n  - {error}"));
            return Err(Failed::Retry { failure, at_least: Duration::ZERO });
        }
    };
    if !reply.status.is_success() {
        return Err(refusal(&reply, provider));
    }
    read(outbound, provider, reply, texts.len())
}

/// How long an answer with the vectors of `texts` may be: beyond that it is something else, and its values would take several times
/// as much memory.
fn answer_bytes_max(dimensions: Option<u32>, texts: &[String]) -> usize {
    let numbers = texts.len().saturating_mul(dimensions.unwrap_or(DIMENSIONS_MAX) as usize);
    let repeated = texts.iter().map(String::len).sum::<usize>().saturating_mul(TEXT_FACTOR);
    ANSWER_BYTES.saturating_add(numbers.saturating_mul(NUMBER_BYTES)).saturating_add(repeated).min(ANSWER_BYTES_MAX)
}

fn request(
    outbound: &Outbound,
    provider: &Provider,
    body: &Value,
    deadline: Option<Instant>,
) -> Result<RequestBuilder, OutboundError> {
    let left = deadline.map_or(CALL_TIME, |deadline| deadline.saturating_duration_since(Instant::now()));
    let mut request = outbound.request(Method::POST, &provider.url)?.timeout(left.min(CALL_TIME)).json(body);
    if let Some(key) = provider.key.as_ref().filter(|key| !key.is_empty()) {
        request = request.bearer_auth(key);
    }
    for (name, value) in &provider.headers {
        request = request.header(name, value);
    }
    Ok(request)
}

/// An address that cannot be asked, whatever is tried.
fn unusable(error: &OutboundError) -> Failed {
    Failed::GiveUp(EmbedFailure::user(error.to_string()))
}

/// What the status of a reply says that is no success.
fn refusal(reply: &Reply, provider: &Provider) -> Failed {
    let quote = quote(&reply.body, provider);
    match reply.status.as_u16() {
        401 => {
            let message = format!("could not authenticate against embedding server{quote}");
            Failed::GiveUp(EmbedFailure::user(message))
        }
        400 => {
            let message = format!("sent a bad request to embedding server{quote}");
            let is_too_long = speaks_of_length(400, &reply.body);
            Failed::Refused { failure: EmbedFailure::user(message), is_too_long }
        }
        429 => {
            let failure = EmbedFailure::runtime(format!("sent too many requests to embedding server{quote}"));
            Failed::Retry { failure, at_least: PATIENCE }
        }
        status @ 500.. => {
            let message = format!("received internal error HTTP {status} from embedding server{quote}");
            Failed::Retry { failure: EmbedFailure::runtime(message), at_least: Duration::ZERO }
        }
        status @ (413 | 422) if speaks_of_length(status, &reply.body) => {
            let message = format!("received unexpected HTTP {status} from embedding server{quote}");
            Failed::Refused { failure: EmbedFailure::runtime(message), is_too_long: true }
        }
        status => {
            let message = format!("received unexpected HTTP {status} from embedding server{quote}");
            Failed::GiveUp(EmbedFailure::runtime(message))
        }
    }
}

/// The vectors of a reply, one for each text.
fn read(outbound: &Outbound, provider: &Provider, reply: Reply, text_count: usize) -> Result<Vec<Vec<f32>>, Failed> {
    let quote = quote(&reply.body, provider);
    let unreadable = |reason: String| {
        let message = format!("could not read the answer of the embedding server: {reason}");
        outbound.disappointed(&message);
        EmbedFailure::runtime(format!("{message}{quote}"))
    };
    // What is no JSON may have been cut off on its way.
    let vectors = provider
        .response
        .read(&mut Vec::from(reply.body))
        .map_err(|error| Failed::Retry { failure: unreadable(error.to_string()), at_least: Duration::ZERO })?;
    let vectors = vectors.and_then(|vectors| match vectors.len() {
        count if count == text_count => Ok(vectors),
        count => Err(format!("it has {} for {}", counted(count, "vector"), counted(text_count, "text"))),
    });
    vectors.map_err(|reason| Failed::GiveUp(unreadable(reason)))
}

/// What the server said, for a message: short, and without the secrets it was asked with.
fn quote(body: &[u8], provider: &Provider) -> String {
    let mut text = String::from_utf8_lossy(&body[..body.len().min(REFUSAL_BYTES_MAX)]).trim().to_owned();
    let headers = provider.headers.iter().map(|(_, value)| value).filter(|value| value.len() >= SECRET_BYTES_MIN);
    let in_address = secrets_of_url(&provider.url);
    for secret in provider.key.iter().filter(|key| !key.is_empty()).chain(headers).chain(&in_address) {
        text = text.replace(secret.as_str(), "XXX...");
    }
    text.truncate(cut(&text, QUOTE_BYTES_MAX).len());
    if text.is_empty() { text } else { format!("\n  - server replied with `{text}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_as_long_as_what_was_asked_for() {
        let texts = |count: usize, bytes: usize| vec!["x".repeat(bytes); count];
        let usual = answer_bytes_max(Some(1536), &texts(100, 400));
        // Digits of a double, a sign, a comma and an indented line.
        assert!((100 * 1536 * 40..16 << 20).contains(&usual), "{usual}");
        assert!(answer_bytes_max(Some(2), &texts(1, 1)) < 2 << 20);
        assert!(answer_bytes_max(Some(2), &texts(1, 1_000_000)) > 3_000_000);
        assert!(answer_bytes_max(None, &texts(1, 1)) > 65_536 * 40);
        assert_eq!(answer_bytes_max(None, &texts(100_000, 1)), ANSWER_BYTES_MAX);
    }
}
