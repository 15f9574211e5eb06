//! Compressed answers: which encoding a client wants, and bodies that are compressed while they are sent.
//!
//! A coding that a client names is used for every answer with a body, however short: there are clients that decode what
//! they asked for without a look at `Content-Encoding`. One that says `*` gets short answers as they are.
//!
//! Short bodies are encoded in one piece and keep a `Content-Length`. Others are not collected: a piece of the body goes
//! through the encoder when the connection asks for it. Bodies of unknown length (streams) are flushed piece by piece, so
//! that a listener gets every line as soon as it exists.

use std::cell::RefCell;
use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body, Frame, SizeHint};
use warp::http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::codings::{Choice, Coding, NothingAcceptable};

/// Answers below this size gain less than their own headers weigh: they are encoded only for who names a coding.
const WORTHWHILE_BYTES_MIN: u64 = 1024;
/// Bodies up to this size are encoded in one piece: a few microseconds of work.
const ONE_PIECE_BYTES_MAX: u64 = 4096;
/// Input of one step: about a tenth of a millisecond of work, after which other connections get their turn.
const STEP_BYTES: usize = 64 * 1024;

/// Brotli: quality as quick as the others, and a window that most answers fit into.
const BROTLI_QUALITY: u32 = 3;
const BROTLI_WINDOW_BITS: u32 = 18;
const BROTLI_BUFFER_BYTES: usize = 16 * 1024;
/// Settings for bodies in one piece: a third of the time, for a tenth more bytes.
const BROTLI_QUALITY_OF_PIECE: u32 = 2;
const BROTLI_WINDOW_BITS_OF_PIECE: u32 = 12;
const ZSTD_LEVEL: i32 = 1;

/// Encoding of the response to a request; made from the request, applied to the response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compressing(Option<Choice>);

impl Compressing {
    /// Determines the encoding that the request allows.
    ///
    /// # Errors
    /// Fails if the request allows none; it must not be executed then.
    pub(crate) fn wanted_by(headers: &HeaderMap) -> Result<Compressing, NothingAcceptable> {
        // Most programs ask for nothing; they should not pay for the look.
        let asks = headers.contains_key(header::ACCEPT_ENCODING);
        Ok(Compressing(if asks { Choice::of(headers)? } else { None }))
    }

    /// Answers are sent as they are.
    pub(crate) const NOTHING: Compressing = Compressing(None);

    /// The answer as it is sent.
    pub(crate) async fn apply<B>(self, answer: Response<B>) -> Response<AnswerBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (mut parts, body) = answer.into_parts();
        let length = body.size_hint().exact();
        let body = body.map_err(Into::into).boxed_unsync();
        let has_body = length != Some(0) && !matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let may_be_encoded = has_body && !parts.headers.contains_key(header::CONTENT_ENCODING);
        // Caches must keep the forms apart, also when this client gets the plain one. That an answer is still the same
        // is said in the headers of the answer itself.
        if may_be_encoded || parts.status == StatusCode::NOT_MODIFIED {
            parts.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        let is_worthwhile = length.is_none_or(|length| length >= WORTHWHILE_BYTES_MIN);
        let choice = self.0.filter(|choice| may_be_encoded && (choice.is_named || is_worthwhile));
        let Some(Choice { coding, .. }) = choice else {
            return Response::from_parts(parts, AnswerBody::Plain(body));
        };
        let body = match length {
            Some(length) if length <= ONE_PIECE_BYTES_MAX => in_one_piece(coding, body).await,
            _ => Encoder::new(coding).map(|encoder| AnswerBody::Compressed(Box::new(Compressed::new(encoder, body)))),
        };
        parts.headers.remove(header::CONTENT_LENGTH);
        let body = body.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot compress an answer");
            let broken = futures_util::stream::iter([Err(BoxError::from(error))]);
            AnswerBody::Plain(StreamBody::new(broken).boxed_unsync())
        });
        parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        Response::from_parts(parts, body)
    }
}

/// The answer to `HEAD`: that to `GET`, without its body.
pub(crate) fn without_body(answer: Response<AnswerBody>) -> Response<AnswerBody> {
    let (mut parts, body) = answer.into_parts();
    let has_none = matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if let Some(length) = body.size_hint().exact().filter(|_| !has_none) {
        parts.headers.insert(header::CONTENT_LENGTH, length.into());
    }
    let nothing = Full::new(Bytes::new()).map_err(|never| match never {}).boxed_unsync();
    Response::from_parts(parts, AnswerBody::Plain(nothing))
}

/// Reads a short body and encodes all of it.
async fn in_one_piece(coding: Coding, body: UnsyncBoxBody<Bytes, BoxError>) -> io::Result<AnswerBody> {
    let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let encoded = piece(coding, &bytes)?;
    Ok(AnswerBody::Plain(Full::new(Bytes::from(encoded)).map_err(|never| match never {}).boxed_unsync()))
}

thread_local! {
    /// Making one costs ten times what a short body does.
    static ZSTD: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

fn piece(coding: Coding, bytes: &[u8]) -> io::Result<Vec<u8>> {
    match coding {
        Coding::Zstd => ZSTD.with_borrow_mut(|kept| match kept {
            Some(compressor) => compressor.compress(bytes),
            None => kept.insert(zstd::bulk::Compressor::new(ZSTD_LEVEL)?).compress(bytes),
        }),
        Coding::Brotli => {
            let (quality, window) = (BROTLI_QUALITY_OF_PIECE, BROTLI_WINDOW_BITS_OF_PIECE);
            let mut writer = brotli::CompressorWriter::new(Vec::new(), bytes.len(), quality, window);
            writer.write_all(bytes)?;
            Ok(writer.into_inner())
        }
        Coding::Gzip | Coding::Deflate => {
            let mut encoder = Encoder::new(coding)?;
            encoder.writer().write_all(bytes)?;
            encoder.finish()
        }
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

    /// Takes the output so far.
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
pub(crate) enum AnswerBody {
    /// Body as the route made it.
    Plain(UnsyncBoxBody<Bytes, BoxError>),
    /// Encoded on the way.
    Compressed(Box<Compressed>),
}

/// A body and its encoder.
pub(crate) struct Compressed {
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

/// Reason why a body broke off.
pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Compressed {
    fn new(encoder: Encoder, body: UnsyncBoxBody<Bytes, BoxError>) -> Compressed {
        let flushes = body.size_hint().exact().is_none();
        Compressed { body, encoder: Some(encoder), waiting: Bytes::new(), flushes, is_read: false }
    }

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

    fn encoding(coding: Coding) -> Encoding {
        match coding {
            Coding::Zstd => Encoding::Zstd,
            Coding::Brotli => Encoding::Brotli,
            Coding::Gzip => Encoding::Gzip,
            Coding::Deflate => Encoding::Deflate,
        }
    }

    fn answer_of(coding: Coding, text: &[u8]) -> Response<AnswerBody> {
        answer_as(Choice { coding, is_named: true }, Response::new(Full::new(Bytes::copy_from_slice(text))))
    }

    fn answer_as<B>(choice: Choice, answer: Response<B>) -> Response<AnswerBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Compressing(Some(choice)).apply(answer).now_or_never().expect("the bodies of tests are there")
    }

    #[test]
    fn every_coding_can_be_read_back() {
        // Longer than a step, and not so regular that nothing comes out before the end.
        let text: String = (0..40_000u32).map(|n| format!("{}\n", n.wrapping_mul(2_654_435_761))).collect();
        for coding in Coding::ALL {
            let answer = answer_of(coding, text.as_bytes());
            assert_eq!(answer.headers()[header::CONTENT_ENCODING], coding.name());
            let sent = answer.into_body().collect().now_or_never().unwrap().unwrap().to_bytes();
            assert!(sent.len() < text.len(), "{coding:?}: {} of {}", sent.len(), text.len());
            let mut read = String::new();
            encoding(coding).reader(&sent[..]).unwrap().read_to_string(&mut read).unwrap();
            assert!(read == text, "{coding:?}");
        }
    }

    #[test]
    fn short_answers_are_encoded_for_who_names_a_coding() {
        for coding in Coding::ALL {
            for length in [1, 120, 1023, 4096, 4097] {
                let text = vec![b'a'; length];
                let answer = answer_of(coding, &text);
                assert_eq!(answer.headers()[header::CONTENT_ENCODING], coding.name(), "{length}");
                assert_eq!(answer.headers()[header::VARY], "Accept-Encoding");
                // Only what is encoded in one piece has a length that is known beforehand.
                assert_eq!(answer.body().size_hint().exact().is_some(), length <= 4096);
                let sent = answer.into_body().collect().now_or_never().unwrap().unwrap().to_bytes();
                let mut read = Vec::new();
                encoding(coding).reader(&sent[..]).unwrap().read_to_end(&mut read).unwrap();
                assert!(read == text, "{coding:?} {length}");
            }
        }
        let any = |length| {
            let body = Full::new(Bytes::from(vec![b' '; length]));
            answer_as(Choice { coding: Coding::Gzip, is_named: false }, Response::new(body))
        };
        assert!(!any(1023).headers().contains_key(header::CONTENT_ENCODING));
        assert_eq!(any(1023).body().size_hint().exact(), Some(1023));
        assert_eq!(any(1023).headers()[header::VARY], "Accept-Encoding");
        assert!(any(1024).headers().contains_key(header::CONTENT_ENCODING));
    }

    #[test]
    fn answers_without_a_body_stay_so() {
        for status in [200, 204, 304, 404, 405] {
            let mut answer = Response::new(Full::new(Bytes::new()));
            *answer.status_mut() = StatusCode::from_u16(status).unwrap();
            let answer = answer_as(Choice { coding: Coding::Gzip, is_named: true }, answer);
            assert!(!answer.headers().contains_key(header::CONTENT_ENCODING), "{status}");
            assert_eq!(answer.headers().contains_key(header::VARY), status == 304, "{status}");
            assert!(answer.body().is_end_stream(), "{status}");
        }
    }

    #[test]
    fn an_encoded_answer_is_not_encoded_again() {
        let mut answer = Response::new(Full::new(Bytes::from(vec![0; 5000])));
        answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let answer = answer_as(Choice { coding: Coding::Zstd, is_named: true }, answer);
        assert!(matches!(answer.body(), AnswerBody::Plain(_)));
    }

    #[test]
    fn streams_are_flushed_line_by_line() {
        for coding in Coding::ALL {
            let lines =
                ["one\n", "two\n"].map(|line| Ok::<_, Infallible>(Frame::data(Bytes::from_static(line.as_bytes()))));
            let body = StreamBody::new(futures_util::stream::iter(lines).chain(futures_util::stream::pending()));
            let mut body = answer_as(Choice { coding, is_named: true }, Response::new(body)).into_body();
            for _line in 0..2 {
                let frame = body.frame().now_or_never().expect("a line is sent at once").unwrap().unwrap();
                assert!(!frame.into_data().unwrap().is_empty());
            }
            assert!(body.frame().now_or_never().is_none());
        }
    }
}
