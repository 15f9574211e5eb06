//! Opens the input: files or standard input, decompressed by content, with a count of the bytes taken from the disk.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Format, ImportError};

const BUFFER_BYTES: usize = 256 * 1024;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Spreadsheets write it; to a parser it would be a part of the first name.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// One opened input.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) format: Format,
    pub(super) reader: Box<dyn BufRead + Send>,
}

impl Source {
    /// Opens `path`, or standard input when it is `-`. Reads a few bytes to recognise compression. `read_bytes` grows with
    /// what is read from the disk: compressed bytes if the file is.
    pub(super) fn open(path: &Path, format: Option<Format>, read_bytes: Arc<AtomicU64>) -> Result<Source, ImportError> {
        let stdin = path.as_os_str() == "-";
        let name = if stdin { "standard input".to_owned() } else { path.display().to_string() };
        let format = match format.or_else(|| format_of(path)) {
            Some(format) => format,
            None if stdin => Format::Ndjson,
            None => return Err(ImportError::UnknownFormat { file: name }),
        };
        let failed = |source| ImportError::Read { file: name.clone(), source };
        let raw: Box<dyn Read + Send> =
            if stdin { Box::new(io::stdin()) } else { Box::new(File::open(path).map_err(failed)?) };
        let counted = Counted { inner: raw, count: read_bytes };
        let reader = decompressed(counted).map_err(failed)?;
        Ok(Source { name, format, reader })
    }
}

/// The format that a file name announces, compression endings aside.
fn format_of(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "ndjson" | "jsonl" => Some(Format::Ndjson),
        "json" => Some(Format::Json),
        "csv" => Some(Format::Csv),
        _ => None,
    }
}

/// Wraps `raw` in the decoder that its first bytes ask for and drops a byte order mark. Concatenated gzip members and zstd frames are read through.
fn decompressed(mut raw: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let mut head = Vec::with_capacity(ZSTD_MAGIC.len());
    raw.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut head)?;
    let (gzip, zstd) = (head.starts_with(&GZIP_MAGIC), head.starts_with(&ZSTD_MAGIC));
    let whole = BufReader::with_capacity(BUFFER_BYTES, io::Cursor::new(head).chain(raw));
    let mut text: Box<dyn BufRead + Send> = if gzip {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, flate2::bufread::MultiGzDecoder::new(whole)))
    } else if zstd {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, zstd::Decoder::with_buffer(whole)?))
    } else {
        Box::new(whole)
    };
    if text.fill_buf()?.starts_with(&BYTE_ORDER_MARK) {
        text.consume(BYTE_ORDER_MARK.len());
    }
    Ok(text)
}

struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.count.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_name_says_the_format_even_when_compressed() {
        for (name, format) in [
            ("a.ndjson", Some(Format::Ndjson)),
            ("a.jsonl.gz", Some(Format::Ndjson)),
            ("dir.csv/A.JSON", Some(Format::Json)),
            ("a.csv.zst", Some(Format::Csv)),
            ("a.gz", None),
            ("a.txt", None),
            ("-", None),
        ] {
            assert_eq!(format_of(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn compression_is_recognised_by_content() {
        let text = b"{\"id\":1}\n".repeat(1000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = zstd::encode_all(&text[..], 1).unwrap();
        for bytes in [text.clone(), gzip.repeat(2), zstd.repeat(2), Vec::new(), b"{".to_vec()] {
            let plain = bytes.len() <= 1 || bytes == text;
            let mut out = Vec::new();
            decompressed(io::Cursor::new(bytes.clone())).unwrap().read_to_end(&mut out).unwrap();
            assert!(out == if plain { bytes } else { text.repeat(2) });
        }
    }

    #[test]
    fn a_byte_order_mark_is_dropped() {
        let mut out = String::new();
        decompressed(io::Cursor::new("\u{feff}id,name")).unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(out, "id,name");
    }

    #[test]
    fn a_truncated_archive_is_an_error() {
        let zstd = zstd::encode_all(&b"{\"id\":1}\n".repeat(1000)[..], 1).unwrap();
        let cut = io::Cursor::new(zstd[..zstd.len() - 5].to_vec());
        assert!(decompressed(cut).and_then(|mut text| text.read_to_end(&mut Vec::new())).is_err());
    }
}
