//! Compressed answers: which encoding a client wants, and bodies that are compressed while they are sent.
//!
//! Nothing is collected: a piece of the body goes through the encoder when the connection asks for it. Bodies of unknown
//! length (streams) are flushed piece by piece, so that a listener gets every line as soon as it exists.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Frame, SizeHint};
use warp::http::{HeaderMap, HeaderValue, Response, StatusCode, header};

/// Answers below this size gain less than their own headers weigh.
const COMPRESSED_BYTES_MIN: u64 = 1024;
/// Input of one step: about a tenth of a millisecond of work, after which other connections get their turn.
const STEP_BYTES: usize = 64 * 1024;

/// Brotli: quality as quick as the others, and a window that most answers fit into.
const BROTLI_QUALITY: u32 = 3;
const BROTLI_WINDOW_BITS: u32 = 18;
const BROTLI_BUFFER_BYTES: usize = 16 * 1024;
const ZSTD_LEVEL: i32 = 1;

/// What a body is encoded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Zstd,
    Brotli,
    Gzip,
    Deflate,
}

impl Coding {
    /// All of them, the one that costs the server least first: it decides between equal wishes.
    const ALL: [Coding; 4] = [Coding::Zstd, Coding::Brotli, Coding::Gzip, Coding::Deflate];

    fn name(self) -> &'static str {
        match self {
            Coding::Zstd => "zstd",
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
        }
    }

    /// The coding that the client likes best; `None` when it names none of ours.
    fn of(headers: &HeaderMap) -> Option<Coding> {
        let wishes: Vec<(String, f32)> = headers
            .get_all(header::ACCEPT_ENCODING)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .fold(Vec::new(), |mut wishes, value| {
                wishes.extend(value.split(',').map(wish));
                wishes
            });
        let quality = |coding: Coding| {
            let named = |name: &str| wishes.iter().find(|(wished, _)| wished == name).map(|(_, quality)| *quality);
            named(coding.name()).or_else(|| named("*")).unwrap_or(0.0)
        };
        let mut best: Option<(Coding, f32)> = None;
        for coding in Coding::ALL {
            let quality = quality(coding);
            if quality > best.map_or(0.0, |(_, best)| best) {
                best = Some((coding, quality));
            }
        }
        best.map(|(coding, _)| coding)
    }
}

/// `gzip;q=0.5`: the name and how much it is liked, 1 when it does not say.
fn wish(text: &str) -> (String, f32) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    (name, quality.map_or(1.0, |text| text.parse().unwrap_or(0.0)))
}

/// How the answer to a request is to be encoded; made from the request, applied to the answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compressing(Option<Coding>);

impl Compressing {
    /// What the request allows.
    pub(super) fn wanted_by(headers: &HeaderMap) -> Compressing {
        // Most programs ask for nothing; they should not pay for the look.
        Compressing(if headers.contains_key(header::ACCEPT_ENCODING) { Coding::of(headers) } else { None })
    }

    /// The answer, with a compressed body when that is worth it.
    pub(super) fn apply<B>(self, answer: Response<B>) -> Response<AnswerBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (mut parts, body) = answer.into_parts();
        let body = body.map_err(Into::into).boxed_unsync();
        let is_large = body.size_hint().lower() >= COMPRESSED_BYTES_MIN;
        let is_stream = body.size_hint().exact().is_none();
        let can_be = (is_large || is_stream)
            && !parts.headers.contains_key(header::CONTENT_ENCODING)
            && !matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if can_be {
            // Caches must keep the forms apart, also when this client gets the plain one.
            parts.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        let encoder = match self.0.filter(|_| can_be).map(|coding| (coding, Encoder::new(coding))) {
            Some((coding, Ok(encoder))) => {
                parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
                parts.headers.remove(header::CONTENT_LENGTH);
                Some(encoder)
            }
            Some((_, Err(error))) => {
                tracing::warn!(%error, "cannot compress an answer");
                None
            }
            None => None,
        };
        let body = match encoder {
            Some(encoder) => AnswerBody::Compressed(Box::new(Compressed {
                body,
                encoder: Some(encoder),
                waiting: Bytes::new(),
                flushes: is_stream,
                is_read: false,
            })),
            None => AnswerBody::Plain(body),
        };
        Response::from_parts(parts, body)
    }
}

enum Encoder {
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
    Deflate(ZlibEncoder<Vec<u8>>),
}

impl Encoder {
    fn new(coding: Coding) -> io::Result<Encoder> {
        Ok(match coding {
            Coding::Zstd => Encoder::Zstd(zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)?),
            Coding::Brotli => Encoder::Brotli(Box::new(brotli::CompressorWriter::new(
                Vec::new(),
                BROTLI_BUFFER_BYTES,
                BROTLI_QUALITY,
                BROTLI_WINDOW_BITS,
            ))),
            Coding::Gzip => Encoder::Gzip(GzEncoder::new(Vec::new(), Compression::fast())),
            // `deflate` is zlib by the standard.
            Coding::Deflate => Encoder::Deflate(ZlibEncoder::new(Vec::new(), Compression::fast())),
        })
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Encoder::Zstd(encoder) => encoder,
            Encoder::Brotli(encoder) => encoder,
            Encoder::Gzip(encoder) => encoder,
            Encoder::Deflate(encoder) => encoder,
        }
    }

    /// What has come out so far.
    fn take(&mut self) -> Vec<u8> {
        std::mem::take(match self {
            Encoder::Zstd(encoder) => encoder.get_mut(),
            Encoder::Brotli(encoder) => encoder.get_mut(),
            Encoder::Gzip(encoder) => encoder.get_mut(),
            Encoder::Deflate(encoder) => encoder.get_mut(),
        })
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Encoder::Zstd(encoder) => encoder.finish(),
            Encoder::Brotli(encoder) => Ok(encoder.into_inner()),
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Deflate(encoder) => encoder.finish(),
        }
    }
}

/// The body of an answer as it is sent.
pub enum AnswerBody {
    /// As the route made it.
    Plain(UnsyncBoxBody<Bytes, BoxError>),
    /// Encoded on the way.
    Compressed(Box<Compressed>),
}

/// A body and its encoder.
pub struct Compressed {
    body: UnsyncBoxBody<Bytes, BoxError>,
    /// `None` once the end is written.
    encoder: Option<Encoder>,
    /// Read from the body and not yet encoded.
    waiting: Bytes,
    flushes: bool,
    is_read: bool,
}

impl std::fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            AnswerBody::Plain(_) => "AnswerBody::Plain",
            AnswerBody::Compressed(_) => "AnswerBody::Compressed",
        })
    }
}

/// Why a body broke off.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Compressed {
    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
        loop {
            if self.encoder.is_none() {
                return Poll::Ready(None);
            }
            if self.waiting.is_empty() && !self.is_read {
                match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                    // Trailers are not used by any route.
                    Some(Ok(frame)) => self.waiting = frame.into_data().unwrap_or_default(),
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => self.is_read = true,
                }
                self.is_read |= self.body.is_end_stream();
            }
            match self.step() {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Poll::Ready(Some(Ok(bytes))),
                Err(error) => return Poll::Ready(Some(Err(error.into()))),
            }
        }
    }

    /// Encodes the next piece of what waits, and the end after the last one.
    fn step(&mut self) -> io::Result<Bytes> {
        let Some(encoder) = &mut self.encoder else { return Ok(Bytes::new()) };
        let count = self.waiting.len().min(STEP_BYTES);
        encoder.writer().write_all(&self.waiting[..count])?;
        self.waiting.advance(count);
        if self.waiting.is_empty() && self.is_read {
            let encoder = self.encoder.take().expect("checked above");
            return Ok(encoder.finish()?.into());
        }
        if self.flushes && self.waiting.is_empty() {
            encoder.writer().flush()?;
        }
        Ok(encoder.take().into())
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            AnswerBody::Plain(body) => Pin::new(body).poll_frame(context),
            AnswerBody::Compressed(body) => body.poll_bytes(context).map_ok(Frame::data),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            AnswerBody::Plain(body) => body.is_end_stream(),
            AnswerBody::Compressed(body) => body.encoder.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            AnswerBody::Plain(body) => body.size_hint(),
            AnswerBody::Compressed(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Encoding;
    use futures_util::FutureExt;
    use futures_util::StreamExt;
    use http_body_util::{Full, StreamBody};
    use std::convert::Infallible;
    use std::io::Read;

    fn wanted(text: &str) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, text.parse().unwrap());
        Compressing::wanted_by(&headers).0.map(Coding::name)
    }

    #[test]
    fn the_client_chooses_and_ties_go_to_the_cheapest() {
        assert_eq!(wanted("gzip, deflate, br, zstd"), Some("zstd"));
        assert_eq!(wanted("gzip, deflate, br"), Some("br"));
        assert_eq!(wanted("br;q=0.5, GZIP;q=0.8"), Some("gzip"));
        assert_eq!(wanted("deflate"), Some("deflate"));
        assert_eq!(wanted("*"), Some("zstd"));
        assert_eq!(wanted("zstd;q=0, *;q=0.1"), Some("br"));
        assert_eq!(wanted("identity"), None);
        assert_eq!(wanted("gzip;q=0"), None);
        assert_eq!(wanted("gzip;q=nonsense"), None);
        assert_eq!(wanted(""), None);
        assert!(Compressing::wanted_by(&HeaderMap::new()).0.is_none());
    }

    fn answer_of(coding: Coding, text: &[u8]) -> Response<AnswerBody> {
        Compressing(Some(coding)).apply(Response::new(Full::new(Bytes::copy_from_slice(text))))
    }

    #[test]
    fn every_coding_can_be_read_back() {
        // Longer than a step, and not so regular that nothing comes out before the end.
        let text: String = (0..40_000u32).map(|n| format!("{}\n", n.wrapping_mul(2_654_435_761))).collect();
        for (coding, encoding) in [
            (Coding::Zstd, Encoding::Zstd),
            (Coding::Brotli, Encoding::Brotli),
            (Coding::Gzip, Encoding::Gzip),
            (Coding::Deflate, Encoding::Deflate),
        ] {
            let answer = answer_of(coding, text.as_bytes());
            assert_eq!(answer.headers()[header::CONTENT_ENCODING], coding.name());
            let sent = answer.into_body().collect().now_or_never().unwrap().unwrap().to_bytes();
            assert!(sent.len() < text.len(), "{coding:?}: {} of {}", sent.len(), text.len());
            let mut read = String::new();
            encoding.reader(&sent[..]).unwrap().read_to_string(&mut read).unwrap();
            assert!(read == text, "{coding:?}");
        }
    }

    #[test]
    fn small_answers_stay_as_they_are() {
        let answer = answer_of(Coding::Gzip, &[b' '; 1023]);
        assert!(!answer.headers().contains_key(header::CONTENT_ENCODING));
        assert_eq!(answer.body().size_hint().exact(), Some(1023));
        assert!(answer_of(Coding::Gzip, &[b' '; 1024]).headers().contains_key(header::CONTENT_ENCODING));
    }

    #[test]
    fn an_encoded_answer_is_not_encoded_again() {
        let mut answer = Response::new(Full::new(Bytes::from(vec![0; 5000])));
        answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let answer = Compressing(Some(Coding::Zstd)).apply(answer);
        assert!(matches!(answer.body(), AnswerBody::Plain(_)));
    }

    #[test]
    fn streams_are_flushed_line_by_line() {
        for coding in Coding::ALL {
            let lines =
                ["one\n", "two\n"].map(|line| Ok::<_, Infallible>(Frame::data(Bytes::from_static(line.as_bytes()))));
            let body = StreamBody::new(futures_util::stream::iter(lines).chain(futures_util::stream::pending()));
            let mut body = Compressing(Some(coding)).apply(Response::new(body)).into_body();
            for _line in 0..2 {
                let frame = body.frame().now_or_never().expect("a line is sent at once").unwrap().unwrap();
                assert!(!frame.into_data().unwrap().is_empty());
            }
            assert!(body.frame().now_or_never().is_none());
        }
    }
}
