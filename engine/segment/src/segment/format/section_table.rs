//! Reads the frame of a segment file.

use std::ops::Range;

use super::{ENTRY_BYTES, Entry, FOOTER_BYTES, HEADER_BYTES, MAGIC, SectionKind, VERSION};
use crate::bits::little_endian::{read_u16, read_u32, read_u64};
use crate::segment::error::WHOLE_FILE;
use crate::segment::{FileMeta, SegmentError};
use crate::storage::{Directory, OwnedBytes};

/// The section table of an opened file.
#[derive(Debug)]
pub struct SectionTable {
    name: String,
    bytes: OwnedBytes,
    entries: Vec<Entry>,
}

impl SectionTable {
    /// Compares the checksums of the sections that answers need whole, and of all others of up to `bytes_max`. Cost: a look at
    /// each of their bytes, a millisecond for ten megabytes that are in memory.
    pub(crate) fn verify_at_opening(&self, bytes_max: u64) -> Result<(), SegmentError> {
        let is_due = |number: &usize| {
            let entry = &self.entries[*number];
            entry.kind.is_compared_at_opening() || entry.bytes <= bytes_max
        };
        (0..self.entries.len()).filter(is_due).try_for_each(|number| self.verify_entry(number))
    }

    /// The whole file.
    pub(crate) fn bytes(&self) -> &OwnedBytes {
        &self.bytes
    }

    /// Maps the file and checks its frame: length, magics, version, table checksum, bounds of all sections.
    pub(crate) fn open(directory: &dyn Directory, meta: &FileMeta) -> Result<SectionTable, SegmentError> {
        let bytes =
            directory.open_read(&meta.name).map_err(|source| SegmentError::Io { file: meta.name.clone(), source })?;
        let not = |what| SegmentError::NotASegment { file: meta.name.clone(), what };
        if bytes.len() as u64 != meta.bytes {
            return Err(not("its length is not the recorded one"));
        }
        if bytes.len() < HEADER_BYTES + FOOTER_BYTES || !bytes.starts_with(&MAGIC) {
            return Err(not("the magic at its start is missing"));
        }
        let version = read_u32(&bytes, MAGIC.len()).ok_or_else(|| not("the header is cut"))?;
        if version > VERSION {
            return Err(SegmentError::TooNew { file: meta.name.clone(), found: version, supported: VERSION });
        }
        if version == 0 || !bytes.ends_with(&MAGIC) {
            return Err(not("the magic at its end is missing"));
        }
        let footer = bytes.len() - FOOTER_BYTES;
        let damaged = || not("its section table is damaged");
        let table_at = read_u64(&bytes, footer).and_then(|at| usize::try_from(at).ok()).ok_or_else(damaged)?;
        let count = read_u32(&bytes, footer + 8).ok_or_else(damaged)? as usize;
        let checksum = read_u32(&bytes, footer + 12).ok_or_else(damaged)?;
        let table = bytes.get(table_at..footer).ok_or_else(damaged)?;
        if count.checked_mul(ENTRY_BYTES) != Some(table.len()) || crc32fast::hash(table) != checksum {
            return Err(damaged());
        }
        let mut entries = Vec::with_capacity(count);
        for at in (0..table.len()).step_by(ENTRY_BYTES) {
            let entry = read_entry(table, at).ok_or_else(damaged)?;
            let Some(kind) = SectionKind::from_number(entry.0) else {
                continue; // A later minor addition that this version does not need.
            };
            let (param, checksum, offset, len) = (entry.1, entry.2, entry.3, entry.4);
            if offset.checked_add(len).is_none_or(|end| end > table_at as u64) {
                return Err(damaged());
            }
            entries.push(Entry { kind, param, checksum, offset, bytes: len });
        }
        Ok(SectionTable { name: meta.name.clone(), bytes, entries })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Refuses a file that became shorter after it was opened: what is left of its last page reads as zeros then. Where pages
    /// are missing, the system ends the process (SIGBUS). Cost: a load from memory.
    pub(crate) fn check_end(&self) -> Result<(), SegmentError> {
        let footer = &self.bytes[self.bytes.len() - FOOTER_BYTES..];
        // The compiler must not know that it saw these bytes before.
        if std::hint::black_box(footer).ends_with(&MAGIC) {
            return Ok(());
        }
        let what = "it became shorter while it was open";
        Err(SegmentError::Corrupt { file: self.name.clone(), section: WHOLE_FILE, what })
    }

    fn slice(&self, entry: &Entry) -> OwnedBytes {
        let range = entry.offset as usize..(entry.offset + entry.bytes) as usize;
        self.bytes.slice(range).expect("bounds of all sections were checked at opening")
    }

    /// The bytes of a section that every file of this kind has.
    pub(crate) fn required(&self, kind: SectionKind) -> Result<OwnedBytes, SegmentError> {
        self.optional(kind).ok_or_else(|| SegmentError::Corrupt {
            file: self.name.clone(),
            section: kind.name(),
            what: "it is missing",
        })
    }

    /// The bytes of the first section of a kind.
    pub(crate) fn optional(&self, kind: SectionKind) -> Option<OwnedBytes> {
        self.entries.iter().find(|e| e.kind == kind).map(|e| self.slice(e))
    }

    /// Parameter and bytes of all sections of a kind.
    pub(crate) fn all(&self, kind: SectionKind) -> impl Iterator<Item = (u16, OwnedBytes)> + '_ {
        self.entries.iter().filter(move |e| e.kind == kind).map(|e| (e.param, self.slice(e)))
    }

    /// Compares the checksums of one kind of section.
    pub(crate) fn verify_kind(&self, kind: SectionKind) -> Result<(), SegmentError> {
        let of_kind = |number: &usize| self.entries[*number].kind == kind;
        (0..self.entries.len()).filter(of_kind).try_for_each(|number| self.verify_entry(number))
    }

    /// Number and place of each section, in the order of the file. (Sections of which one lies in another are no writer's.)
    pub(crate) fn by_place(&self) -> Vec<(usize, Range<usize>)> {
        let mut entries: Vec<(usize, &Entry)> = self.entries.iter().enumerate().collect();
        entries.sort_unstable_by_key(|(_, entry)| entry.offset);
        let place = |entry: &Entry| entry.offset as usize..(entry.offset + entry.bytes) as usize;
        entries.into_iter().map(|(number, entry)| (number, place(entry))).collect()
    }

    pub(crate) fn section_count(&self) -> usize {
        self.entries.len()
    }

    /// Compares what was found to be the checksum of a section.
    pub(crate) fn compare_section(&self, number: usize, found: u32) -> Result<(), SegmentError> {
        let entry = &self.entries[number];
        if found == entry.checksum {
            return Ok(());
        }
        let (file, section, expected) = (self.name.clone(), entry.kind.name(), entry.checksum);
        Err(SegmentError::Checksum { file, section, expected, found })
    }

    /// Compares what was found to be the checksum of the file.
    pub(crate) fn compare_file(&self, meta: &FileMeta, found: u32) -> Result<(), SegmentError> {
        if found == meta.checksum {
            return Ok(());
        }
        let (file, expected) = (self.name.clone(), meta.checksum);
        Err(SegmentError::Checksum { file, section: WHOLE_FILE, expected, found })
    }

    fn verify_entry(&self, number: usize) -> Result<(), SegmentError> {
        self.compare_section(number, crc32fast::hash(&self.slice(&self.entries[number])))
    }

    /// Kind, parameter and length of each section.
    pub(crate) fn list(&self) -> impl Iterator<Item = (SectionKind, u16, u64)> + '_ {
        self.entries.iter().map(|e| (e.kind, e.param, e.bytes))
    }
}

fn read_entry(table: &[u8], at: usize) -> Option<(u16, u16, u32, u64, u64)> {
    Some((
        read_u16(table, at)?,
        read_u16(table, at + 2)?,
        read_u32(table, at + 4)?,
        read_u64(table, at + 8)?,
        read_u64(table, at + 16)?,
    ))
}
