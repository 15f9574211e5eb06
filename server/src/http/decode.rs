//! Encoded request bodies, and the limit on what they decode to.

use std::io::{self, BufReader, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::options::ByteSize;
use warp::http::{HeaderMap, header};

/// Encoding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Not at all.
    Identity,
    /// `gzip`
    Gzip,
    /// `deflate`: zlib by the standard, raw deflate by habit.
    Deflate,
    /// `br`
    Brotli,
    /// `zstd`
    Zstd,
}

impl Encoding {
    /// Reads the encoding that the headers declare.
    ///
    /// # Errors
    /// Fails for an unknown encoding, or for several.
    pub(crate) fn of(headers: &HeaderMap) -> ApiResult<Encoding> {
        let Some(value) = headers.get(header::CONTENT_ENCODING) else { return Ok(Encoding::Identity) };
        let text = value.to_str().unwrap_or_default().trim().to_ascii_lowercase();
        match text.as_str() {
            "" | "identity" => Ok(Encoding::Identity),
            "gzip" | "x-gzip" => Ok(Encoding::Gzip),
            "deflate" => Ok(Encoding::Deflate),
            "br" => Ok(Encoding::Brotli),
            "zstd" => Ok(Encoding::Zstd),
            _ => Err(ApiError::new(
                Code::UnsupportedMediaType,
                format!(
                    "The Content-Encoding `{text}` is not supported. Accepted values for the Content-Encoding header \
                     are: `gzip`, `deflate`, `br`, `zstd`"
                ),
            )),
        }
    }

    /// A reader of the decoded bytes of `encoded`.
    ///
    /// # Errors
    /// When the first bytes cannot be read.
    pub(crate) fn reader<'r>(self, encoded: impl Read + Send + 'r) -> ApiResult<Box<dyn Read + Send + 'r>> {
        Ok(match self {
            Encoding::Identity => Box::new(encoded),
            Encoding::Gzip => Box::new(MultiGzDecoder::new(encoded)),
            Encoding::Deflate => deflate_reader(encoded)?,
            Encoding::Brotli => Box::new(brotli::Decompressor::new(encoded, DECODER_BUFFER_BYTES)),
            Encoding::Zstd => Box::new(zstd::stream::read::Decoder::new(encoded).map_err(|_| incomplete_body())?),
        })
    }
}

const DECODER_BUFFER_BYTES: usize = 32 * 1024;

/// Distinguishes zlib from raw deflate by the check sum of the two header bytes.
fn deflate_reader<'r>(encoded: impl Read + Send + 'r) -> ApiResult<Box<dyn Read + Send + 'r>> {
    let mut encoded = BufReader::new(encoded);
    let head = io::BufRead::fill_buf(&mut encoded).map_err(|_| incomplete_body())?;
    let is_zlib = match head {
        [first, second, ..] => first & 0x0f == 8 && u16::from_be_bytes([*first, *second]) % 31 == 0,
        _ => true,
    };
    Ok(if is_zlib { Box::new(ZlibDecoder::new(encoded)) } else { Box::new(DeflateDecoder::new(encoded)) })
}

/// Reason why reading a body stopped early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFailure {
    /// More decoded bytes than the limit.
    TooLarge,
    /// The connection or the encoding broke off.
    Broken,
}

impl ReadFailure {
    /// The public error.
    pub(crate) fn into_error(self, limit: u64) -> ApiError {
        match self {
            ReadFailure::TooLarge => payload_too_large(limit),
            ReadFailure::Broken => incomplete_body(),
        }
    }
}

/// Reads at most a number of bytes and remembers what went wrong, which parsers on top do not report.
#[derive(Debug)]
pub(crate) struct LimitedReader<R> {
    inner: R,
    left: u64,
    failure: Option<ReadFailure>,
}

impl<R: Read> LimitedReader<R> {
    /// At most `limit` bytes of `inner`; one more is a failure.
    pub(crate) fn new(inner: R, limit: u64) -> LimitedReader<R> {
        LimitedReader { inner, left: limit, failure: None }
    }

    /// Returns the failure, if there was one.
    pub(crate) fn failure(&self) -> Option<ReadFailure> {
        self.failure
    }
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(buffer) {
            Ok(count) if count as u64 > self.left => {
                self.failure = Some(ReadFailure::TooLarge);
                Err(io::Error::other("the body is larger than allowed"))
            }
            Ok(count) => {
                self.left -= count as u64;
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.failure = Some(ReadFailure::Broken);
                Err(error)
            }
        }
    }
}

/// The body broke off or its encoding is broken.
pub(crate) fn incomplete_body() -> ApiError {
    ApiError::new(Code::BadRequest, "The provided payload is incomplete and cannot be parsed")
}

/// More than `limit` bytes.
pub(crate) fn payload_too_large(limit: u64) -> ApiError {
    ApiError::new(
        Code::PayloadTooLarge,
        format!(
            "The provided payload reached the size limit. The maximum accepted payload size is {}.",
            ByteSize::new(limit)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const TEXT: &[u8] = b"{\"id\":1}\n{\"id\":2}\n";

    fn encoded(encoding: Encoding) -> Vec<u8> {
        use flate2::Compression;
        match encoding {
            Encoding::Identity => TEXT.to_vec(),
            Encoding::Gzip => {
                let mut writer = flate2::write::GzEncoder::new(Vec::new(), Compression::default());
                writer.write_all(TEXT).unwrap();
                writer.finish().unwrap()
            }
            Encoding::Deflate => {
                let mut writer = flate2::write::ZlibEncoder::new(Vec::new(), Compression::default());
                writer.write_all(TEXT).unwrap();
                writer.finish().unwrap()
            }
            // The last block of a stream that stores its bytes: window bits, length, "uncompressed", bytes, end.
            Encoding::Brotli => [&[0x8b, 0x08, 0x80], TEXT, &[0x03]].concat(),
            Encoding::Zstd => zstd::encode_all(TEXT, 1).unwrap(),
        }
    }

    fn decode(encoding: Encoding, bytes: &[u8], limit: u64) -> Result<Vec<u8>, ReadFailure> {
        let mut reader = LimitedReader::new(encoding.reader(bytes).map_err(|_| ReadFailure::Broken)?, limit);
        let mut decoded = Vec::new();
        match reader.read_to_end(&mut decoded) {
            Ok(_) => Ok(decoded),
            Err(_) => Err(reader.failure().expect("failures are remembered")),
        }
    }

    #[test]
    fn every_encoding_is_decoded() {
        for encoding in [Encoding::Identity, Encoding::Gzip, Encoding::Deflate, Encoding::Brotli, Encoding::Zstd] {
            assert_eq!(decode(encoding, &encoded(encoding), 1000).as_deref(), Ok(TEXT), "{encoding:?}");
        }
    }

    #[test]
    fn raw_deflate_is_recognised() {
        let mut writer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        writer.write_all(TEXT).unwrap();
        assert_eq!(decode(Encoding::Deflate, &writer.finish().unwrap(), 1000).as_deref(), Ok(TEXT));
    }

    #[test]
    fn a_cut_stream_is_broken_not_short() {
        for encoding in [Encoding::Gzip, Encoding::Deflate, Encoding::Brotli, Encoding::Zstd] {
            let bytes = encoded(encoding);
            assert_eq!(decode(encoding, &bytes[..bytes.len() - 5], 1000), Err(ReadFailure::Broken), "{encoding:?}");
        }
    }

    #[test]
    fn the_limit_counts_decoded_bytes() {
        let many = vec![b' '; 100_000];
        let small = zstd::encode_all(&many[..], 1).unwrap();
        assert!(small.len() < 1000);
        assert_eq!(decode(Encoding::Zstd, &small, 99_999), Err(ReadFailure::TooLarge));
        assert_eq!(decode(Encoding::Zstd, &small, 100_000).map(|bytes| bytes.len()), Ok(100_000));
    }

    #[test]
    fn unknown_encodings_are_refused() {
        let mut headers = HeaderMap::new();
        assert_eq!(Encoding::of(&headers), Ok(Encoding::Identity));
        headers.insert(header::CONTENT_ENCODING, "GZIP".parse().unwrap());
        assert_eq!(Encoding::of(&headers), Ok(Encoding::Gzip));
        headers.insert(header::CONTENT_ENCODING, "lzma".parse().unwrap());
        assert_eq!(Encoding::of(&headers).unwrap_err().status(), 415);
    }
}
