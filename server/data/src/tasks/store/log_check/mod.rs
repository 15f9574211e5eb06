//! The write-ahead log of SQLite, looked at before SQLite opens it.
//!
//! SQLite reads a log up to the first frame that does not fit and passes over the rest in silence: right for the torn end of a
//! crash, wrong for damage, where acknowledged transactions come after. Checksums go on from frame to frame, and each frame
//! holds the salt of its log, so frames of this log behind one that does not fit can be counted: two commits there part damage from
//! a torn end.
//!
//! ```text
//! log   = header frames
//! header = magic, version, page bytes, sequence, salt (2), checksum (2): eight big-endian u32
//! frame = page number, pages after the commit or 0, salt (2), checksum (2): six big-endian u32, then the page
//! ```

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
/// The part of the header, and of that of a frame, that a checksum covers.
const HEADER_SUMMED: usize = 24;
const FRAME_SUMMED: usize = 8;
const SALT: std::ops::Range<usize> = 8..16;
const FRAME_SUM: usize = 16;
const MAGIC: u32 = 0x377f_0682;
const VERSION: u32 = 3_007_000;
/// Default page size of SQLite, which this program does not change.
const PAGE_BYTES_DEFAULT: usize = 4096;

/// State of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogCondition {
    /// There is none, or nothing is in it.
    Empty,
    /// Every frame fits.
    Sound,
    /// The last transaction is not whole: a crash cut it short before it was acknowledged.
    Torn,
    /// Damaged, and acknowledged transactions behind the damage cannot be read.
    Cut,
}

/// Returns where a log of so many frames ends.
pub(super) fn end_of(frames: u64, page_bytes: u64) -> u64 {
    HEADER_BYTES as u64 + frames * (FRAME_HEADER_BYTES as u64 + page_bytes)
}

/// Findings in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogReport {
    /// State of the log.
    pub condition: LogCondition,
    /// Frames that SQLite reads.
    pub frames: u64,
    /// Transactions that SQLite reads.
    pub transactions: u64,
    /// Frames behind those, of the same log.
    pub lost_frames: u64,
    /// Transactions that end in those, at least.
    pub lost_transactions: u64,
    /// Bytes of the log up to the end of the last transaction that SQLite reads.
    pub kept_bytes: u64,
}

impl LogReport {
    fn empty() -> LogReport {
        LogReport {
            condition: LogCondition::Empty,
            frames: 0,
            transactions: 0,
            lost_frames: 0,
            lost_transactions: 0,
            kept_bytes: 0,
        }
    }

    /// Removes what cannot be read, so that it is not taken for damage once more when SQLite has written over half of it. To be
    /// called before SQLite opens the log. Durable.
    ///
    /// # Errors
    /// What the file system says.
    pub fn cut(&self, log: &Path) -> io::Result<()> {
        if !matches!(self.condition, LogCondition::Torn | LogCondition::Cut) {
            return Ok(());
        }
        let file = File::options().write(true).open(log)?;
        file.set_len(self.kept_bytes)?;
        file.sync_all()
    }
}

/// Checks a log from its start to its end. Reads all of it, a frame at a time.
///
/// # Errors
/// What the file system says; a log that is not there is empty.
pub fn check_log(log: &Path) -> io::Result<LogReport> {
    let file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LogReport::empty()),
        Err(error) => return Err(error),
    };
    let bytes = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(1 << 18, file);
    let mut header = [0; HEADER_BYTES];
    if bytes <= HEADER_BYTES as u64 {
        return Ok(LogReport::empty());
    }
    reader.read_exact(&mut header)?;
    let Some(log) = Header::read(&header) else {
        let frames = (bytes - HEADER_BYTES as u64).div_ceil((FRAME_HEADER_BYTES + PAGE_BYTES_DEFAULT) as u64);
        return Ok(LogReport {
            condition: LogCondition::Cut,
            lost_frames: frames,
            lost_transactions: 1,
            ..LogReport::empty()
        });
    };
    Scan::new(log).run(&mut reader)
}

/// Content of the header.
#[derive(Clone, Copy, Debug)]
struct Header {
    order: Order,
    page_bytes: usize,
    salt: [u8; 8],
    sum: Sum,
}

impl Header {
    /// Reads the header; `None` when it is damaged, so that nothing says how to read the log.
    fn read(header: &[u8; HEADER_BYTES]) -> Option<Header> {
        let word = |start: usize| u32::from_be_bytes(header[start..start + 4].try_into().expect("four bytes"));
        let magic = word(0);
        let page_bytes = word(8) as usize;
        if magic & !1 != MAGIC
            || word(4) != VERSION
            || !(512..=65536).contains(&page_bytes)
            || !page_bytes.is_power_of_two()
        {
            return None;
        }
        let order = if magic & 1 == 1 { Order::Big } else { Order::Little };
        let sum = Sum::default().add(order, &header[..HEADER_SUMMED]);
        let salt = header[16..24].try_into().expect("eight bytes");
        (sum == Sum::stored(&header[HEADER_SUMMED..])).then_some(Header { order, page_bytes, salt, sum })
    }
}

/// Byte order of the words that are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn word(self, bytes: &[u8]) -> u32 {
        let bytes = bytes.try_into().expect("four bytes");
        match self {
            Order::Little => u32::from_le_bytes(bytes),
            Order::Big => u32::from_be_bytes(bytes),
        }
    }
}

/// Checksum of SQLite's log: two sums modulo 2^32. Of a pair of words, the first sum grows by the first word and the second sum,
/// the second sum by the second word and the new first sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum(u32, u32);

impl Sum {
    /// Reads a stored checksum. Its byte order does not depend on that of the summed words.
    fn stored(bytes: &[u8]) -> Sum {
        Sum(Order::Big.word(&bytes[..4]), Order::Big.word(&bytes[4..8]))
    }

    /// Goes on with `bytes`, a multiple of eight.
    fn add(self, order: Order, bytes: &[u8]) -> Sum {
        let Sum(mut first, mut second) = self;
        for pair in bytes.chunks_exact(8) {
            let (one, other) = pair.split_at(4);
            first = first.wrapping_add(order.word(one)).wrapping_add(second);
            second = second.wrapping_add(order.word(other)).wrapping_add(first);
        }
        Sum(first, second)
    }
}

/// A frame as it is read.
#[derive(Clone, Debug)]
struct Frame {
    header: [u8; FRAME_HEADER_BYTES],
    page: Vec<u8>,
}

impl Frame {
    fn new(page_bytes: usize) -> Frame {
        Frame { header: [0; FRAME_HEADER_BYTES], page: vec![0; page_bytes] }
    }

    /// Reads the next frame; `false` when there is no whole one.
    fn read(&mut self, from: &mut impl Read) -> io::Result<bool> {
        match from.read_exact(&mut self.header).and_then(|()| from.read_exact(&mut self.page)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn sum_after(&self, before: Sum, order: Order) -> Sum {
        before.add(order, &self.header[..FRAME_SUMMED]).add(order, &self.page)
    }

    fn stored(&self) -> Sum {
        Sum::stored(&self.header[FRAME_SUM..])
    }

    /// Reports whether a transaction ends with this frame.
    fn commits(&self) -> bool {
        self.header[4..FRAME_SUMMED] != [0; 4]
    }
}

/// The walk over the frames of one log.
struct Scan {
    log: Header,
    report: LogReport,
    /// The checksum up to the frame before.
    sum: Sum,
    /// Frames read so far.
    read: u64,
    /// The first frame that does not fit, and whether frames of this log come after it.
    broken_at: Option<u64>,
    /// Frames and commits since, up to the last frame of this log.
    behind: Behind,
}

#[derive(Clone, Copy, Debug, Default)]
struct Behind {
    frames: u64,
    commits: u64,
}

impl Scan {
    fn new(log: Header) -> Scan {
        let report =
            LogReport { condition: LogCondition::Sound, kept_bytes: HEADER_BYTES as u64, ..LogReport::empty() };
        Scan { log, report, sum: log.sum, read: 0, broken_at: None, behind: Behind::default() }
    }

    fn run(mut self, frames: &mut impl Read) -> io::Result<LogReport> {
        let mut frame = Frame::new(self.log.page_bytes);
        while frame.read(frames)? {
            self.take(&frame);
            self.read += 1;
        }
        Ok(self.finish())
    }

    fn take(&mut self, frame: &Frame) {
        // Frames of earlier logs that this one has not written over have another salt.
        let is_own = frame.header[SALT] == self.log.salt;
        if self.broken_at.is_none() {
            self.sum = frame.sum_after(self.sum, self.log.order);
            let fits = self.sum == frame.stored();
            if fits && is_own {
                return self.accept(frame);
            }
            self.broken_at = Some(self.read);
            // The salt is not summed: one that fits is of this log, whatever its salt.
            if !fits && !is_own {
                return;
            }
        } else if !is_own {
            return;
        }
        self.behind.frames = self.read + 1 - self.broken_at.unwrap_or(self.read);
        self.behind.commits += u64::from(frame.commits());
    }

    fn accept(&mut self, frame: &Frame) {
        if frame.commits() {
            self.report.transactions += 1;
            self.report.frames = self.read + 1;
            self.report.kept_bytes = end_of(self.read + 1, self.log.page_bytes as u64);
        }
    }

    fn finish(self) -> LogReport {
        let Scan { mut report, broken_at, behind, read, .. } = self;
        let end = broken_at.unwrap_or(read) + behind.frames;
        report.lost_frames = end - report.frames;
        report.lost_transactions = behind.commits;
        report.condition = match (report.lost_frames, behind.commits) {
            // Whole frames of a transaction that never ended are passed over as well.
            (0, _) if broken_at.is_none() => LogCondition::Sound,
            // One commit may be that of the transaction which a crash cut short; nothing comes after that one.
            (_, 0 | 1) => LogCondition::Torn,
            _ => LogCondition::Cut,
        };
        if report.condition == LogCondition::Torn && report.lost_frames == 0 {
            // Frames of an earlier log behind the end of this one: the usual state.
            report.condition = LogCondition::Sound;
        }
        report
    }
}

#[cfg(test)]
mod tests;
