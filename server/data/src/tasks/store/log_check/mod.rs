//! The write-ahead log of SQLite, looked at before SQLite opens it.
//!
//! SQLite reads a log up to the first frame that does not fit and passes over the rest in silence: right for the torn end of a
//! crash, wrong for damage, where acknowledged transactions come after. Checksums go on from frame to frame, and each frame
//! holds the one up to it, so a frame behind a damaged one can be checked too: that parts damage from a torn end. A single
//! damaged byte can be found by its effect on the checksum, and put right; where several would have the same effect, any of them
//! does as long as a later frame holds the page once more.
//!
//! ```text
//! log   = header frames
//! header = magic, version, page bytes, sequence, salt (2), checksum (2): eight big-endian u32
//! frame = page number, pages after the commit or 0, salt (2), checksum (2): six big-endian u32, then the page
//! ```

mod checksum;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use checksum::{Order, Sum, corrections};

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
    /// The state once `repairs` are made.
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
    /// Damaged places whose right bytes are known: where, and the bytes.
    pub repairs: Vec<(u64, Vec<u8>)>,
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
            repairs: Vec::new(),
        }
    }

    /// Reports whether a byte of the log differs from the one that was written.
    pub fn is_damaged(&self) -> bool {
        self.condition == LogCondition::Cut || !self.repairs.is_empty()
    }

    /// Puts right what can be put right, and removes what cannot be read, so that it is not taken for damage once more when
    /// SQLite has written over half of it. To be called before SQLite opens the log. Durable.
    ///
    /// # Errors
    /// What the file system says.
    pub fn mend(&self, log: &Path) -> io::Result<()> {
        let cuts = matches!(self.condition, LogCondition::Torn | LogCondition::Cut);
        if self.repairs.is_empty() && !cuts {
            return Ok(());
        }
        let file = File::options().write(true).open(log)?;
        for (position, bytes) in &self.repairs {
            file.write_all_at(bytes, *position)?;
        }
        if cuts {
            file.set_len(self.kept_bytes)?;
        }
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
    let mut repairs = Vec::new();
    let Some(log) = Header::read(&header, &mut reader, &mut repairs)? else {
        let frames = (bytes - HEADER_BYTES as u64).div_ceil((FRAME_HEADER_BYTES + PAGE_BYTES_DEFAULT) as u64);
        return Ok(LogReport {
            condition: LogCondition::Cut,
            lost_frames: frames,
            lost_transactions: 1,
            ..LogReport::empty()
        });
    };
    let mut trusted_until = u64::MAX;
    loop {
        reader.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
        match Scan::new(log, repairs.clone(), trusted_until).run(&mut reader)? {
            Scanned::Report(report) => return Ok(report),
            // Each time an earlier frame, so this ends.
            Scanned::Doubtful(frame) => trusted_until = frame,
        }
    }
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
    /// `None` when neither the header nor what follows says how to read the log. `frames` is at the first frame before and
    /// afterwards.
    fn read(
        header: &[u8; HEADER_BYTES],
        frames: &mut (impl Read + Seek),
        repairs: &mut Vec<(u64, Vec<u8>)>,
    ) -> io::Result<Option<Header>> {
        let stored = Sum::stored(&header[HEADER_SUMMED..]);
        if let Some(parsed) = Header::parse(header)
            && parsed.sum == stored
        {
            return Ok(Some(parsed));
        }
        // One damaged byte of what is summed follows from the checksum. Frames have the salt as well.
        let mut first = [0; FRAME_HEADER_BYTES];
        let has_frame = frames.read_exact(&mut first).is_ok();
        frames.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
        for order in [Order::Little, Order::Big] {
            for (position, byte) in corrections(Sum::default(), order, &[&header[..HEADER_SUMMED]], stored) {
                let mut right = *header;
                right[position] = byte;
                if let Some(parsed) = Header::parse(&right)
                    && (parsed.order, parsed.sum) == (order, stored)
                    && has_frame
                    && parsed.salt == first[SALT]
                {
                    repairs.push((position as u64, vec![byte]));
                    return Ok(Some(parsed));
                }
            }
        }
        // The checksum itself: the first frame goes on from the right one.
        let Some(parsed) = Header::parse(header) else { return Ok(None) };
        let mut frame = Frame::new(parsed.page_bytes);
        let fits = frame.read(frames)? && frame.sum_after(parsed.sum, parsed.order) == frame.stored();
        frames.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
        if fits {
            repairs.push((HEADER_SUMMED as u64, parsed.sum.to_bytes().to_vec()));
        }
        Ok(fits.then_some(parsed))
    }

    /// With the checksum that it should have.
    fn parse(header: &[u8; HEADER_BYTES]) -> Option<Header> {
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
        Some(Header { order, page_bytes, salt: header[16..24].try_into().expect("eight bytes"), sum })
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

    fn commits(&self) -> bool {
        commits(&self.header)
    }

    fn page_number(&self) -> [u8; 4] {
        page_number(&self.header)
    }
}

/// Reports whether a transaction ends with the frame of this header.
fn commits(header: &[u8; FRAME_HEADER_BYTES]) -> bool {
    header[4..FRAME_SUMMED] != [0; 4]
}

/// Returns the page number as stored.
fn page_number(header: &[u8; FRAME_HEADER_BYTES]) -> [u8; 4] {
    header[..4].try_into().expect("four bytes")
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
    /// Frames from here on that can be put right in several ways are not.
    trusted_until: u64,
    /// Frames that could be put right in several ways, and their pages.
    doubtful: Vec<(u64, [u8; 4])>,
    /// By page, the last frame that fits.
    pages: HashMap<[u8; 4], u64>,
}

/// Outcome of a walk.
enum Scanned {
    Report(LogReport),
    /// A frame that could be put right in several ways, and is the last of its page.
    Doubtful(u64),
}

#[derive(Clone, Copy, Debug, Default)]
struct Behind {
    frames: u64,
    commits: u64,
}

impl Scan {
    fn new(log: Header, repairs: Vec<(u64, Vec<u8>)>, trusted_until: u64) -> Scan {
        let report = LogReport {
            condition: LogCondition::Sound,
            kept_bytes: HEADER_BYTES as u64,
            repairs,
            ..LogReport::empty()
        };
        Scan {
            log,
            report,
            sum: log.sum,
            read: 0,
            broken_at: None,
            behind: Behind::default(),
            trusted_until,
            doubtful: Vec::new(),
            pages: HashMap::new(),
        }
    }

    fn run(mut self, frames: &mut impl Read) -> io::Result<Scanned> {
        let (mut frame, mut next) = (Frame::new(self.log.page_bytes), Frame::new(self.log.page_bytes));
        let mut is_whole = frame.read(frames)?;
        while is_whole {
            let has_next = next.read(frames)?;
            self.take(&frame, has_next.then_some(&next));
            self.read += 1;
            std::mem::swap(&mut frame, &mut next);
            is_whole = has_next;
        }
        let is_last = |(frame, page): &&(u64, [u8; 4])| {
            *frame < self.report.frames
                && !self.pages.get(page).is_some_and(|later| later > frame && *later < self.report.frames)
        };
        match self.doubtful.iter().find(is_last) {
            Some((frame, _)) => Ok(Scanned::Doubtful(*frame)),
            None => Ok(Scanned::Report(self.finish())),
        }
    }

    fn take(&mut self, frame: &Frame, next: Option<&Frame>) {
        let (order, stored) = (self.log.order, frame.stored());
        let is_own = frame.header[SALT] == self.log.salt;
        if self.broken_at.is_some() {
            // Frames of earlier logs that this one has not written over have another salt.
            if is_own {
                self.behind.frames = self.read + 1 - self.broken_at.unwrap_or(self.read);
                self.behind.commits += u64::from(frame.commits());
            }
            self.sum = stored;
            return;
        }
        let computed = frame.sum_after(self.sum, order);
        if computed == stored {
            // The salt is not summed: a frame that fits belongs here whatever its salt.
            if !is_own {
                self.repair(SALT.start, self.log.salt.to_vec());
            }
            self.accept(&frame.header, stored);
        } else if is_own && next.is_some_and(|next| next.sum_after(computed, order) == next.stored()) {
            // The next frame goes on from the right checksum.
            self.repair(FRAME_SUM, computed.to_bytes().to_vec());
            self.accept(&frame.header, computed);
        } else if is_own && self.put_right(frame, computed, next) {
            // Accepted.
        } else {
            self.broken_at = Some(self.read);
            self.sum = stored;
            if is_own {
                self.behind = Behind { frames: 1, commits: u64::from(frame.commits()) };
            }
        }
    }

    /// Accepts a frame with a single wrong byte; `false` when it has more.
    fn put_right(&mut self, frame: &Frame, computed: Sum, next: Option<&Frame>) -> bool {
        let stored = frame.stored();
        // Only a frame that goes on from it says that the checksum is right. Without one, and with a single wrong byte in it, the
        // page may be sound: nothing of it is changed.
        let goes_on = next.is_some_and(|next| next.sum_after(stored, self.log.order) == next.stored());
        if !goes_on && stored.differing_bytes(computed) == 1 {
            return false;
        }
        let parts = [&frame.header[..FRAME_SUMMED], &frame.page];
        let found = corrections(self.sum, self.log.order, &parts, stored);
        let Some(&(position, byte)) = found.first() else { return false };
        if found.len() > 1 {
            // Which page it is has to be beyond doubt.
            if self.read >= self.trusted_until || found.iter().any(|(position, _)| *position < FRAME_SUMMED) {
                return false;
            }
            self.doubtful.push((self.read, frame.page_number()));
        }
        let mut header = frame.header;
        if position < FRAME_SUMMED {
            header[position] = byte;
            self.repair(position, vec![byte]);
        } else {
            self.repair(FRAME_HEADER_BYTES + position - FRAME_SUMMED, vec![byte]);
        }
        self.accept(&header, stored);
        true
    }

    fn accept(&mut self, header: &[u8; FRAME_HEADER_BYTES], sum: Sum) {
        self.sum = sum;
        self.pages.insert(page_number(header), self.read);
        if commits(header) {
            self.report.transactions += 1;
            self.report.frames = self.read + 1;
            self.report.kept_bytes = self.position(self.read + 1);
        }
    }

    fn repair(&mut self, within_frame: usize, bytes: Vec<u8>) {
        let position = self.position(self.read) + within_frame as u64;
        self.report.repairs.push((position, bytes));
    }

    /// Returns the offset of a frame.
    fn position(&self, frame: u64) -> u64 {
        end_of(frame, self.log.page_bytes as u64)
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
