//! Opens the input: files or standard input, decompressed by content, with a count of the bytes taken from the disk.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lamina_base::text_file::BYTE_ORDER_MARK;

use super::{Args, Format, ImportError};

const BUFFER_BYTES: usize = 256 * 1024;
/// Number of bytes of the first line that are examined.
const HEAD_BYTES: usize = 64 * 1024;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// One opened input.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) format: Format,
    /// CSV: what stands between cells.
    pub(super) delimiter: u8,
    pub(super) reader: Box<dyn BufRead + Send>,
}

impl Source {
    /// Opens `path`, or standard input when it is `-`. Reads a few bytes to recognise compression, and up to the end of the
    /// first line to recognise the format. `read_bytes` grows with what is read from the disk: compressed bytes if the file is.
    pub(super) fn open(path: &Path, args: &Args, read_bytes: Arc<AtomicU64>) -> Result<Source, ImportError> {
        let stdin = path.as_os_str() == "-";
        let name = if stdin { "standard input".to_owned() } else { path.display().to_string() };
        let failed = |source| ImportError::Read { file: name.clone(), source };
        let raw: Box<dyn Read + Send> =
            if stdin { Box::new(io::stdin()) } else { Box::new(File::open(path).map_err(failed)?) };
        let counted = CountingReader { inner: raw, count: read_bytes };
        let (head, reader) = decompressed(counted).and_then(peeked).map_err(failed)?;
        let format = args.format.or_else(|| format_of(path, &head)).or_else(|| stdin.then_some(Format::Ndjson));
        let Some(format) = format else { return Err(ImportError::UnknownFormat { file: name }) };
        let delimiter = args.csv_delimiter.unwrap_or_else(|| delimiter_of(format, &head));
        Ok(Source { name, format, delimiter, reader })
    }
}

/// The first bytes of a text, to the end of its first line that is not empty, and the whole text.
fn peeked(mut text: Box<dyn BufRead + Send>) -> io::Result<(Vec<u8>, Box<dyn BufRead + Send>)> {
    let mut head = Vec::new();
    while head.len() < HEAD_BYTES && (!head.ends_with(b"\n") || head.trim_ascii().is_empty()) {
        let part = text.fill_buf()?;
        if part.is_empty() {
            break;
        }
        let line = memchr::memchr(b'\n', part).map_or(part.len(), |end| end + 1).min(HEAD_BYTES - head.len());
        head.extend_from_slice(&part[..line]);
        text.consume(line);
    }
    Ok((head.clone(), Box::new(io::Cursor::new(head).chain(text))))
}

/// Determines the format from the name, unless the content is an array. Without a known name, the content decides.
fn format_of(path: &Path, head: &[u8]) -> Option<Format> {
    match (format_of_name(path), head.trim_ascii_start().first()) {
        (Some(Format::Ndjson) | None, Some(b'[')) => Some(Format::Json),
        (None, Some(b'{')) => Some(Format::Ndjson),
        (format, _) => format,
    }
}

/// The delimiter of most files; of a first row without one, the other sign that spreadsheets write.
fn delimiter_of(format: Format, head: &[u8]) -> u8 {
    let row = head.trim_ascii_start().split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    match format {
        Format::Tsv => b'\t',
        _ if row.contains(&b',') => b',',
        _ => [b';', b'\t', b'|'].into_iter().find(|sign| row.contains(sign)).unwrap_or(b','),
    }
}

/// The format that a file name announces, compression endings aside.
fn format_of_name(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "ndjson" | "jsonl" => Some(Format::Ndjson),
        "json" => Some(Format::Json),
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
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
    if text.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        text.consume(BYTE_ORDER_MARK.len());
    }
    Ok(text)
}

struct CountingReader<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
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
            ("a.tsv.gz", Some(Format::Tsv)),
            ("a.gz", None),
            ("a.txt", None),
            ("-", None),
        ] {
            assert_eq!(format_of_name(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn the_content_says_what_the_name_does_not() {
        for (name, head, format) in [
            ("-", "\n [", Some(Format::Json)),
            ("a.ndjson", "[{}", Some(Format::Json)),
            ("a.txt", "{\"id\":1}", Some(Format::Ndjson)),
            ("a.txt", "id,name", None),
            ("a.csv", "[a],b", Some(Format::Csv)),
            ("a.json", "{}", Some(Format::Json)),
        ] {
            assert_eq!(format_of(Path::new(name), head.as_bytes()), format, "{name} {head}");
        }
    }

    #[test]
    fn the_first_row_shows_its_delimiter() {
        for (row, delimiter) in [("a,b;c", b','), ("\na;b", b';'), ("a\tb\n1,2", b'\t'), ("a|b", b'|'), ("a", b',')] {
            assert_eq!(delimiter_of(Format::Csv, row.as_bytes()), delimiter, "{row}");
        }
        assert_eq!(delimiter_of(Format::Tsv, b"a,b"), b'\t');
    }

    #[test]
    fn looking_at_the_head_takes_nothing_away() {
        let long = "x".repeat(3 * HEAD_BYTES);
        for text in ["", "a", "\n\n a\nb\n", &long] {
            for buffer in [1, 4, 1 << 20] {
                let reader = BufReader::with_capacity(buffer, io::Cursor::new(text.to_owned().into_bytes()));
                let (head, mut whole) = peeked(Box::new(reader)).unwrap();
                assert!(head.len() <= HEAD_BYTES);
                assert!(text.as_bytes().starts_with(&head));
                let mut read = String::new();
                whole.read_to_string(&mut read).unwrap();
                assert!(read == text);
            }
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
