//! The frame of a segment file: magic, sections, section table, footer. `segment-format.md` is the normative page.

use std::ops::Range;

use super::checked_blocks::BlockSums;
use super::{FileMeta, SegmentError};
use crate::bits::little_endian::{put_u16, put_u32, put_u64, read_u16, read_u32, read_u64};
use crate::storage::{Directory, FileWriter, OwnedBytes};

/// First and last bytes of the file.
pub(crate) const MAGIC: [u8; 8] = *b"LaminaSg";
/// Version of the format that is written, and the newest that is read.
pub(crate) const VERSION: u32 = 3;
/// From this version on, blocks of the store and of vectors have checksums of their own.
pub(crate) const BLOCK_SUMS_VERSION: u32 = 3;
/// Magic, version, zero.
pub(crate) const HEADER_BYTES: usize = 8 + 4 + 4;
/// Kind, parameter, checksum, offset, length.
pub(crate) const ENTRY_BYTES: usize = 2 + 2 + 4 + 8 + 8;
/// Table offset, section count, checksum of the table, magic.
pub(crate) const FOOTER_BYTES: usize = 8 + 4 + 4 + 8;
/// Sections start at multiples of this.
pub(crate) const ALIGNMENT: usize = 8;

/// What a checksum is called that covers a file and no section of it alone.
pub(crate) const WHOLE_FILE: &str = "whole file";
/// Sections up to this size are compared when their file is opened. (Less in tests, whose sections are all small.)
pub(crate) const SMALL_BYTES: u64 = if cfg!(test) { 64 } else { 1 << 20 };

/// Documents of a segment: their ids fit the 27 bits of a term info.
pub(crate) const DOCS_MAX: u32 = (1 << 27) - 1;
/// Bytes of the postings section: offsets fit the 36 bits of a term info.
pub(crate) const POSTINGS_BYTES_MAX: u64 = 1 << 36;
/// A term longer than this is a hole.
pub(crate) const TERM_BYTES_MAX: usize = 250;
/// Words at this position and beyond are not written.
pub(crate) const POSITIONS_MAX: u32 = 1 << 16;

const _: () = assert!(HEADER_BYTES.is_multiple_of(ALIGNMENT));
const _: () = assert!(ENTRY_BYTES.is_multiple_of(ALIGNMENT));

/// What a section holds. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub(crate) enum SectionKind {
    /// Counts of the segment.
    Info = 1,
    /// Internal id per document.
    InternalIds = 2,
    /// fst: term to ordinal.
    Terms = 3,
    /// What is known of each term without its list.
    TermInfos = 4,
    /// Posting lists.
    Postings = 5,
    /// Field set per code.
    FieldSets = 6,
    /// Unions of crowded prefixes.
    PrefixUnions = 7,
    /// Token codes per document.
    Tokens = 8,
    /// Offset of each document in `Tokens`.
    TokenOffsets = 9,
    /// Code table and field shapes of the token column.
    TokenCodes = 10,
    /// Documents of neighbouring frequent words.
    Pairs = 11,
    /// Which documents have three frequent words in a row.
    Triples = 12,
    /// Documents that have two frequent words near each other.
    NearPairs = 13,
    /// Documents in which terms that begin alike come right after a frequent word.
    Followers = 14,
    /// One column; the parameter is the field.
    Column = 16,
    /// Points.
    Geo = 17,
    /// Shapes.
    Shapes = 18,
    /// Compressed documents.
    Store = 20,
    /// Blocks of `Store`.
    StoreIndex = 21,
    /// Compression dictionaries of `Store`.
    StoreDictionaries = 22,
    /// Numbered pieces of JSON per dictionary of `Store`.
    StorePieces = 23,
    /// fst: primary key to document.
    Keys = 24,
    /// Bloom filter of the keys.
    KeyFilter = 25,
    /// Vectors of one embedder; the parameter is its number within the file.
    Vectors = 32,
    /// Short codes of the vectors of one embedder; the parameter is that of the vectors, in the same file.
    VectorCodes = 33,
    /// Checksums of the blocks of `Vectors`; the parameter is that of the vectors, in the same file.
    VectorSums = 34,
    /// Checksums of the blocks of `VectorCodes`; the parameter is theirs, in the same file.
    VectorCodeSums = 35,
}

impl SectionKind {
    pub(crate) const ALL: [SectionKind; 27] = [
        SectionKind::Info,
        SectionKind::InternalIds,
        SectionKind::Terms,
        SectionKind::TermInfos,
        SectionKind::Postings,
        SectionKind::FieldSets,
        SectionKind::PrefixUnions,
        SectionKind::Tokens,
        SectionKind::TokenOffsets,
        SectionKind::TokenCodes,
        SectionKind::Pairs,
        SectionKind::Triples,
        SectionKind::NearPairs,
        SectionKind::Followers,
        SectionKind::Column,
        SectionKind::Geo,
        SectionKind::Shapes,
        SectionKind::Store,
        SectionKind::StoreIndex,
        SectionKind::StoreDictionaries,
        SectionKind::StorePieces,
        SectionKind::Keys,
        SectionKind::KeyFilter,
        SectionKind::Vectors,
        SectionKind::VectorCodes,
        SectionKind::VectorSums,
        SectionKind::VectorCodeSums,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            SectionKind::Info => "info",
            SectionKind::InternalIds => "internal ids",
            SectionKind::Terms => "terms",
            SectionKind::TermInfos => "term infos",
            SectionKind::Postings => "postings",
            SectionKind::FieldSets => "field sets",
            SectionKind::PrefixUnions => "prefix unions",
            SectionKind::Tokens => "tokens",
            SectionKind::TokenOffsets => "token offsets",
            SectionKind::TokenCodes => "token codes",
            SectionKind::Pairs => "pairs",
            SectionKind::Triples => "triples",
            SectionKind::NearPairs => "near pairs",
            SectionKind::Followers => "followers",
            SectionKind::Column => "column",
            SectionKind::Geo => "geo",
            SectionKind::Shapes => "shapes",
            SectionKind::Store => "store",
            SectionKind::StoreIndex => "store index",
            SectionKind::StoreDictionaries => "store dictionaries",
            SectionKind::StorePieces => "store pieces",
            SectionKind::Keys => "keys",
            SectionKind::KeyFilter => "key filter",
            SectionKind::Vectors => "vectors",
            SectionKind::VectorCodes => "vector codes",
            SectionKind::VectorSums => "vector checksums",
            SectionKind::VectorCodeSums => "vector code checksums",
        }
    }

    /// Whether the section is compared when its file is opened, however large it is: answers need all of it, or it says
    /// where everything else is.
    fn is_compared_at_opening(self) -> bool {
        match self {
            SectionKind::Info
            | SectionKind::InternalIds
            | SectionKind::Terms
            | SectionKind::TermInfos
            | SectionKind::FieldSets
            | SectionKind::TokenOffsets
            | SectionKind::TokenCodes
            | SectionKind::StoreIndex
            | SectionKind::StoreDictionaries
            | SectionKind::StorePieces
            | SectionKind::Keys
            | SectionKind::KeyFilter
            | SectionKind::VectorSums
            | SectionKind::VectorCodeSums => true,
            SectionKind::Postings
            | SectionKind::PrefixUnions
            | SectionKind::Tokens
            | SectionKind::Pairs
            | SectionKind::Triples
            | SectionKind::NearPairs
            | SectionKind::Followers
            | SectionKind::Column
            | SectionKind::Geo
            | SectionKind::Shapes
            | SectionKind::Store
            | SectionKind::Vectors
            | SectionKind::VectorCodes => false,
        }
    }

    fn from_number(number: u16) -> Option<SectionKind> {
        Self::ALL.into_iter().find(|kind| *kind as u16 == number)
    }
}

/// Name of a segment's file.
pub(crate) fn segment_file_name(id: u64) -> String {
    format!("seg-{id:016x}.lam")
}

/// Name of the `number`-th file with added columns.
pub(crate) fn column_file_name(id: u64, number: usize) -> String {
    format!("seg-{id:016x}-c{number}.lam")
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: SectionKind,
    param: u16,
    checksum: u32,
    offset: u64,
    bytes: u64,
}

/// Writes a file section by section, keeping offsets and checksums. Small writes are gathered.
pub(crate) struct SectionWriter {
    name: String,
    /// `None`: everything stays in the buffer.
    file: Option<Box<dyn FileWriter>>,
    buffer: Vec<u8>,
    offset: u64,
    file_checksum: crc32fast::Hasher,
    checksum: crc32fast::Hasher,
    entries: Vec<Entry>,
    open: Option<(SectionKind, u16, u64)>,
    /// Of the open section, when its blocks have checksums.
    block_sums: Option<BlockSums>,
}

/// Writes below this size are gathered.
const BUFFER_BYTES: usize = 64 * 1024;

impl SectionWriter {
    pub(crate) fn create(directory: &dyn Directory, name: String) -> Result<SectionWriter, SegmentError> {
        let file = directory.create(&name).map_err(|source| SegmentError::Io { file: name.clone(), source })?;
        let mut writer = SectionWriter { file: Some(file), ..SectionWriter::in_memory(name) };
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(&MAGIC);
        put_u32(&mut header, VERSION);
        put_u32(&mut header, 0);
        writer.put(&header)?;
        Ok(writer)
    }

    /// For sections of the file `name` that are made beside those before them, to be [appended](Self::append).
    pub(crate) fn in_memory(name: String) -> SectionWriter {
        SectionWriter {
            name,
            file: None,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            offset: 0,
            file_checksum: crc32fast::Hasher::new(),
            checksum: crc32fast::Hasher::new(),
            entries: Vec::new(),
            open: None,
            block_sums: None,
        }
    }

    /// Appends sections that were kept in memory.
    pub(crate) fn append(&mut self, sections: &SectionWriter) -> Result<(), SegmentError> {
        assert!(sections.file.is_none() && sections.open.is_none(), "whole sections that are in memory");
        for &Entry { kind, param, offset, bytes, .. } in &sections.entries {
            self.section(kind, param, &sections.buffer[offset as usize..(offset + bytes) as usize])?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SegmentError> {
        if !self.buffer.is_empty() && self.file.is_some() {
            let buffer = std::mem::take(&mut self.buffer);
            self.write_out(&buffer)?;
            self.buffer = buffer;
            self.buffer.clear();
        }
        Ok(())
    }

    fn write_out(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes));
        written.map_err(|source| SegmentError::Io { file: self.name.clone(), source })
    }

    /// Writes to the file and both checksums. The checksum of the file is combined from those of its pieces, so each
    /// byte is summed once.
    fn put(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        self.checksum.update(bytes);
        if let Some(sums) = &mut self.block_sums {
            sums.update(bytes);
        }
        self.offset += bytes.len() as u64;
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() >= BUFFER_BYTES && self.file.is_some() {
            self.write_out(bytes)
        } else {
            self.buffer.extend_from_slice(bytes);
            Ok(())
        }
    }

    /// Closes the running checksum piece and answers its value.
    fn take_checksum(&mut self) -> u32 {
        let piece = std::mem::replace(&mut self.checksum, crc32fast::Hasher::new());
        self.file_checksum.combine(&piece);
        piece.finalize()
    }

    /// Starts a section. Exactly one is open at a time.
    pub(crate) fn begin(&mut self, kind: SectionKind, param: u16) -> Result<(), SegmentError> {
        assert!(self.open.is_none(), "sections do not nest");
        let padding = (ALIGNMENT - (self.offset % ALIGNMENT as u64) as usize) % ALIGNMENT;
        self.put(&[0; ALIGNMENT][..padding])?;
        self.take_checksum();
        self.open = Some((kind, param, self.offset));
        Ok(())
    }

    /// As [`Self::begin`], for a section whose blocks get checksums; it ends with [`Self::end_in_blocks`].
    pub(crate) fn begin_in_blocks(&mut self, kind: SectionKind, param: u16) -> Result<(), SegmentError> {
        self.begin(kind, param)?;
        self.block_sums = Some(BlockSums::default());
        Ok(())
    }

    /// Ends the open section, and writes the checksums of its blocks as the section `sums` of the same parameter.
    pub(crate) fn end_in_blocks(&mut self, sums: SectionKind) -> Result<(), SegmentError> {
        let param = self.open.map_or(0, |(_, param, _)| param);
        let block_sums = self.block_sums.take().expect("the section was begun in blocks");
        self.end();
        self.section(sums, param, &block_sums.finish())
    }

    /// Appends to the open section.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        debug_assert!(self.open.is_some());
        self.put(bytes)
    }

    /// Length of the open section so far.
    pub(crate) fn section_bytes(&self) -> u64 {
        self.open.map_or(0, |(_, _, start)| self.offset - start)
    }

    /// Ends the open section.
    pub(crate) fn end(&mut self) {
        debug_assert!(self.block_sums.is_none(), "the checksums of its blocks are written too");
        let (kind, param, offset) = self.open.take().expect("a section is open");
        let checksum = self.take_checksum();
        self.entries.push(Entry { kind, param, checksum, offset, bytes: self.offset - offset });
    }

    /// A whole section at once.
    pub(crate) fn section(&mut self, kind: SectionKind, param: u16, bytes: &[u8]) -> Result<(), SegmentError> {
        self.begin(kind, param)?;
        self.write(bytes)?;
        self.end();
        Ok(())
    }

    /// Writes the table and the footer and makes the content durable.
    pub(crate) fn finish(mut self) -> Result<FileMeta, SegmentError> {
        assert!(self.open.is_none(), "the last section was ended");
        let padding = (ALIGNMENT - (self.offset % ALIGNMENT as u64) as usize) % ALIGNMENT;
        self.put(&[0; ALIGNMENT][..padding])?;
        let table_offset = self.offset;
        let mut table = Vec::with_capacity(self.entries.len() * ENTRY_BYTES + FOOTER_BYTES);
        for entry in &self.entries {
            put_u16(&mut table, entry.kind as u16);
            put_u16(&mut table, entry.param);
            put_u32(&mut table, entry.checksum);
            put_u64(&mut table, entry.offset);
            put_u64(&mut table, entry.bytes);
        }
        let checksum = crc32fast::hash(&table);
        put_u64(&mut table, table_offset);
        put_u32(&mut table, self.entries.len() as u32);
        put_u32(&mut table, checksum);
        table.extend_from_slice(&MAGIC);
        self.put(&table)?;
        self.take_checksum();
        self.flush()?;
        let synced = self.file.as_mut().map_or(Ok(()), |file| file.sync());
        synced.map_err(|source| SegmentError::Io { file: self.name.clone(), source })?;
        Ok(FileMeta { name: self.name, bytes: self.offset, checksum: self.file_checksum.finalize() })
    }
}

/// The section table of an opened file.
#[derive(Debug)]
pub(crate) struct SectionTable {
    name: String,
    version: u32,
    bytes: OwnedBytes,
    entries: Vec<Entry>,
}

impl SectionTable {
    /// Whether blocks of the store and of vectors have checksums of their own.
    pub(crate) fn has_block_sums(&self) -> bool {
        self.version >= BLOCK_SUMS_VERSION
    }

    /// Compares the checksums of the sections that answers need whole, and of all small ones. Cost: a look at each of their
    /// bytes, a millisecond for ten megabytes that are in memory.
    pub(crate) fn verify_at_opening(&self) -> Result<(), SegmentError> {
        let is_due = |number: &usize| {
            let entry = &self.entries[*number];
            entry.kind.is_compared_at_opening() || entry.bytes <= SMALL_BYTES
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
        Ok(SectionTable { name: meta.name.clone(), version, bytes, entries })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
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
    pub(super) fn by_place(&self) -> Vec<(usize, Range<usize>)> {
        let mut entries: Vec<(usize, &Entry)> = self.entries.iter().enumerate().collect();
        entries.sort_unstable_by_key(|(_, entry)| entry.offset);
        let place = |entry: &Entry| entry.offset as usize..(entry.offset + entry.bytes) as usize;
        entries.into_iter().map(|(number, entry)| (number, place(entry))).collect()
    }

    pub(super) fn section_count(&self) -> usize {
        self.entries.len()
    }

    /// Compares what was found to be the checksum of a section.
    pub(super) fn compare_section(&self, number: usize, found: u32) -> Result<(), SegmentError> {
        let entry = &self.entries[number];
        if found == entry.checksum {
            return Ok(());
        }
        let (file, section, expected) = (self.name.clone(), entry.kind.name(), entry.checksum);
        Err(SegmentError::Checksum { file, section, expected, found })
    }

    /// Compares what was found to be the checksum of the file.
    pub(super) fn compare_file(&self, meta: &FileMeta, found: u32) -> Result<(), SegmentError> {
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
