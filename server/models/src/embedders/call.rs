//! One request to a provider, with its retries.

use std::time::{Duration, Instant};

use lamina_base::backoff::EMBEDDER;
use lamina_base::cancellation::unless_cancelled;
use lamina_base::outbound::{Outbound, OutboundError, Reply};
use lamina_base::plural::counted;
use lamina_base::secret::secrets_of_url;
use lamina_engine::index::embedding::{Asking, EmbedFailure, Trouble, cut};
use lamina_engine::index::settings::DIMENSIONS_MAX;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use uuid::Uuid;

use super::provider::Provider;
use super::tokens::{count_tokens, cut_to_tokens};

/// Longest answer that is read, whatever was asked for.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Maximum size of the parts of a response around the vectors.
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
const TRIES_MAX: u32 = EMBEDDER.attempts();
/// Tries right after a client has named the provider, where it cannot be reached: a second or so, and where it is silent.
const TRIES_UNREACHED: u32 = 5;
const TRIES_SILENT: u32 = 2;
/// Maximum time for a provider to show that it is reachable.
const REACH_TIME: Duration = Duration::from_secs(3);
/// Time added when a provider requests a delay.
const PATIENCE: Duration = Duration::from_millis(100);

/// Reason why a try failed, and whether another one makes sense.
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
        /// Tries right after a client has named the provider.
        brief: u32,
    },
}

impl Failed {
    fn retry(failure: EmbedFailure) -> Failed {
        Failed::Retry { failure, at_least: Duration::ZERO, brief: TRIES_MAX }
    }
}

/// The vector of a text, or why the answer has none for it.
pub(super) type OfText = Result<Vec<f32>, EmbedFailure>;

/// The vectors of `texts`, which fit one request. With a `deadline`, no try starts that could not end before it, and none
/// waits for the budget of the provider's account: it is on the bill of those that may wait.
pub(super) async fn embed(
    outbound: &Outbound,
    provider: &Provider,
    texts: &[String],
    deadline: Option<Instant>,
    asking: Asking<'_>,
) -> Result<Vec<OfText>, EmbedFailure> {
    let mut body = provider.request.fill(texts);
    let tokens = texts.iter().map(|text| count_tokens(text)).sum();
    let mut cuts = Cuts::default();
    let (mut failures, mut pauses) = (0, EMBEDDER);
    loop {
        let affordable_in = provider.budget.spend(tokens, Instant::now());
        if deadline.is_none() && !affordable_in.is_zero() {
            let pause = tokio::time::sleep(affordable_in);
            unless_cancelled(asking.cancelled, pause).await.ok_or_else(EmbedFailure::cancelled)?;
        }
        let (failure, wait, tries_max) = match send(outbound, provider, &body, texts, deadline, asking).await {
            Ok(vectors) => {
                if failures > 0 {
                    asking.watch.gets_on();
                }
                return Ok(vectors);
            }
            Err(Failed::GiveUp(failure)) => return Err(failure),
            Err(Failed::Refused { failure, is_too_long }) => match cuts.next(provider, texts, is_too_long) {
                Some(texts) => {
                    body = provider.request.fill(&texts);
                    continue;
                }
                None => return Err(failure.of_text()),
            },
            Err(Failed::Retry { failure, at_least, brief }) => {
                (failure, spread(at_least + pauses.next_pause()), if asking.is_brief { brief } else { TRIES_MAX })
            }
        };
        failures += 1;
        let is_late = deadline.is_some_and(|deadline| Instant::now() + wait >= deadline);
        if failures >= tries_max || is_late {
            return Err(failure);
        }
        report(asking, failures, tries_max, &failure, wait);
        unless_cancelled(asking.cancelled, tokio::time::sleep(wait)).await.ok_or_else(EmbedFailure::cancelled)?;
    }
}

/// Says that a try has failed and another one follows: to those who look at the progress, and in the log.
fn report(asking: Asking<'_>, attempt: u32, attempts_max: u32, failure: &EmbedFailure, wait: Duration) {
    let is_news = asking.watch.seen().trouble.is_none();
    asking.watch.waits(Trouble { attempt, attempts_max, reason: failure.to_string() });
    if is_news {
        tracing::warn!(%failure, attempt, attempts_max, ?wait, "a request to an embedding server failed: it is sent again");
    } else {
        tracing::debug!(%failure, attempt, attempts_max, ?wait, "an embedding server failed again");
    }
}

/// Looks whether a server listens at the address of a provider, without a request to it.
pub(super) async fn reach(outbound: &Outbound, provider: &Provider, asking: Asking<'_>) -> Result<(), EmbedFailure> {
    match unless_cancelled(asking.cancelled, outbound.reach(&provider.url, REACH_TIME)).await {
        None => Err(EmbedFailure::cancelled()),
        Some(Ok(())) => Ok(()),
        Some(Err(error)) if error.is_unreached() => Err(unreached(&error)),
        Some(Err(error)) => Err(EmbedFailure::user(error.to_string())),
    }
}

fn unreached(error: &OutboundError) -> EmbedFailure {
    EmbedFailure::runtime(format!("could not reach embedding server:\n  - {error}"))
}

/// Shortens a pause by up to a half, by chance: callers that failed together do not come back together.
fn spread(wait: Duration) -> Duration {
    let random = (Uuid::new_v4().as_u128() % 1000) as f64 / 1000.0;
    wait.mul_f64(0.5 + random / 2.0)
}

/// Maximum number of times that texts are halved, and the minimum of bytes that they are cut to.
const HALVINGS_MAX: usize = 10;
const CUT_BYTES_MIN: usize = 64;

/// The ways in which the texts of a request were cut.
#[derive(Debug, Default)]
struct Cuts {
    /// Number of used ways to cut, of the two for a provider whose limit is known.
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

/// Reports whether a refusal is about the length of the texts. Providers have no common code for that.
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

/// Number of bytes of a refusal that are examined.
const REFUSAL_BYTES_MAX: usize = 4096;

/// One try: the request, what is wrong with the reply, its vectors.
async fn send(
    outbound: &Outbound,
    provider: &Provider,
    body: &Value,
    texts: &[String],
    deadline: Option<Instant>,
    asking: Asking<'_>,
) -> Result<Vec<OfText>, Failed> {
    let request = request(outbound, provider, body, deadline).map_err(|error| unusable(&error))?;
    let sent = outbound.send(request, answer_bytes_max(provider.dimensions, texts));
    let sent =
        unless_cancelled(asking.cancelled, sent).await.ok_or_else(|| Failed::GiveUp(EmbedFailure::cancelled()))?;
    asking.watch.requested(match &sent {
        Ok(reply) if reply.status.is_success() => None,
        Ok(reply) => Some(format!("HTTP {}", reply.status)),
        Err(error) => Some(error.to_string()),
    });
    let reply = match sent {
        Ok(reply) => reply,
        Err(error @ (OutboundError::Rejected(_) | OutboundError::NoCaCertificates(_) | OutboundError::Url { .. })) => {
            return Err(unusable(&error));
        }
        Err(error @ OutboundError::TooLong { .. }) => {
            let message = format!("could not read the answer of the embedding server: {error}");
            return Err(Failed::GiveUp(EmbedFailure::runtime(message)));
        }
        Err(error) => {
            let brief = if matches!(error, OutboundError::Timeout) { TRIES_SILENT } else { TRIES_UNREACHED };
            return Err(Failed::Retry { failure: unreached(&error), at_least: Duration::ZERO, brief });
        }
    };
    if !reply.status.is_success() {
        return Err(refusal(&reply, provider));
    }
    read(provider, reply, texts.len(), asking)
}

/// Computes the maximum size of a response with the vectors of `texts`. A larger one is something else, and its
/// values would take several times as much memory.
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

/// Interprets the status of a reply that is not a success.
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
            Failed::Retry { failure, at_least: PATIENCE, brief: TRIES_MAX }
        }
        status @ 500.. => {
            let message = format!("received internal error HTTP {status} from embedding server{quote}");
            Failed::retry(EmbedFailure::runtime(message))
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

/// Returns what a reply has for each text: a vector, or why there is none. One that is no vector is the failure of its text alone.
fn read(provider: &Provider, reply: Reply, text_count: usize, asking: Asking<'_>) -> Result<Vec<OfText>, Failed> {
    let quote = quote(&reply.body, provider);
    let unreadable = |reason: &str| {
        let message = format!("could not read the answer of the embedding server: {reason}");
        asking.watch.answer_failed(&message);
        EmbedFailure::runtime(format!("{message}{quote}"))
    };
    // What is no JSON may have been cut off on its way.
    let vectors = provider.response.read(&reply.body).map_err(|error| Failed::retry(unreadable(&error.to_string())))?;
    let vectors = vectors.map_err(|reason| Failed::GiveUp(unreadable(&reason)))?;
    if vectors.len() != text_count {
        let (found, asked) = (counted(vectors.len(), "vector"), counted(text_count, "text"));
        // Which of the texts lack theirs is found out by asking for fewer.
        return Err(Failed::GiveUp(unreadable(&format!("it has {found} for {asked}")).of_text()));
    }
    Ok(vectors.into_iter().map(|vector| vector.map_err(|reason| unreadable(&reason).of_text())).collect())
}

/// Quotes the reply of the server for a message: short, and without the secrets of the request.
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
