//! The frame of a segment file: magic, sections, section table, footer. `segment-format.md` is the normative page.

mod section_table;
mod section_writer;

pub(crate) use section_table::SectionTable;
pub(crate) use section_writer::SectionWriter;

/// First and last bytes of the file.
pub(crate) const MAGIC: [u8; 8] = *b"LaminaSg";
/// Version of the format that is written, and the newest that is read.
pub(crate) const VERSION: u32 = 1;
/// Magic, version, zero.
pub(crate) const HEADER_BYTES: usize = 8 + 4 + 4;
/// Kind, parameter, checksum, offset, length.
pub(crate) const ENTRY_BYTES: usize = 2 + 2 + 4 + 8 + 8;
/// Table offset, section count, checksum of the table, magic.
pub(crate) const FOOTER_BYTES: usize = 8 + 4 + 4 + 8;
/// Sections start at multiples of this.
pub(crate) const ALIGNMENT: usize = 8;

/// Sections up to this size are compared when their file is opened, unless it is opened with another bound.
pub const COMPARED_AT_OPENING_MAX: u64 = 1 << 20;

/// Documents of a segment: their ids fit the 27 bits of a term info.
pub const DOCS_MAX: u32 = (1 << 27) - 1;
/// Bytes of the postings section: offsets fit the 36 bits of a term info.
pub(crate) const POSTINGS_BYTES_MAX: u64 = 1 << 36;
/// A term longer than this is a hole.
pub(crate) const TERM_BYTES_MAX: usize = 250;
/// Words at this position and beyond are not written.
pub(crate) const POSITIONS_MAX: u32 = 1 << 16;

const _: () = assert!(HEADER_BYTES.is_multiple_of(ALIGNMENT));
const _: () = assert!(ENTRY_BYTES.is_multiple_of(ALIGNMENT));

/// Kind of a section. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum SectionKind {
    /// Counts of the segment.
    Info = 1,
    /// Internal id per document.
    InternalIds = 2,
    /// fst: term to ordinal.
    Terms = 3,
    /// Information on each term, without its posting list.
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
    /// Documents that contain three frequent words in a row.
    Triples = 12,
    /// Documents that have two frequent words near each other.
    NearPairs = 13,
    /// Documents in which terms that begin alike come right after a frequent word.
    Followers = 14,
    /// One column; the parameter is the field.
    Column = 16,
    /// Points.
    Geo = 17,
    /// Lines and polygons, with their boxes.
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
    /// Values that documents got after the segment was written.
    Patches = 26,
    /// Primary keys that are numbers, and their documents.
    NumberKeys = 27,
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
    pub(crate) const ALL: [SectionKind; 29] = [
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
        SectionKind::Patches,
        SectionKind::NumberKeys,
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
            SectionKind::Patches => "patches",
            SectionKind::NumberKeys => "number keys",
            SectionKind::Vectors => "vectors",
            SectionKind::VectorCodes => "vector codes",
            SectionKind::VectorSums => "vector checksums",
            SectionKind::VectorCodeSums => "vector code checksums",
        }
    }

    /// Reports whether the section is compared with its checksum when its file is opened, however large it is. This
    /// holds for sections that answers need as a whole, and for those that locate everything else.
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
            | SectionKind::NumberKeys
            | SectionKind::Patches
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
pub(crate) fn column_file_name(id: u64, number: u64) -> String {
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
