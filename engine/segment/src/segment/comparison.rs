//! Comparing whole files with their checksums, piece by piece: on as many threads as the caller has, or slowly.

use std::ops::Range;

use super::format::SectionTable;
use super::{FileMeta, SegmentError};
use crate::storage::Directory;

/// Bytes of a piece at most: little enough to bound a rate with, and to share a large section out among threads.
const PIECE_BYTES: usize = 1 << 20;

/// A part of a file, all in one section or all between sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    bytes: Range<usize>,
    /// By number in the table; `None` between sections.
    section: Option<usize>,
}

impl Piece {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never: empty ones are left out.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// The checksum of a piece.
#[derive(Clone, Debug)]
pub struct PieceSum(crc32fast::Hasher);

/// A file that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    table: &'a SectionTable,
    meta: &'a FileMeta,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(table: &'a SectionTable, meta: &'a FileMeta) -> Comparison<'a> {
        Comparison { table, meta }
    }

    /// All bytes of the file, in order.
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut cut = |bytes: Range<usize>, section| {
            for start in bytes.clone().step_by(PIECE_BYTES) {
                pieces.push(Piece { bytes: start..bytes.end.min(start + PIECE_BYTES), section });
            }
        };
        let mut at = 0;
        for (section, bytes) in self.table.by_place() {
            cut(at..bytes.start, None);
            at = bytes.end;
            cut(bytes, Some(section));
        }
        cut(at..self.table.bytes().len(), None);
        pieces
    }

    /// Reads a piece.
    pub fn sum(&self, piece: &Piece) -> PieceSum {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.table.bytes().get(piece.bytes.clone()).unwrap_or_default());
        PieceSum(hasher)
    }

    /// All that differs, given the checksums of all [pieces](Self::pieces) in order: sections, or the whole file where no
    /// section does.
    pub fn judge(&self, pieces: &[Piece], sums: &[PieceSum]) -> Vec<SegmentError> {
        let mut sections = vec![crc32fast::Hasher::new(); self.table.section_count()];
        let mut file = crc32fast::Hasher::new();
        for (piece, PieceSum(sum)) in pieces.iter().zip(sums) {
            file.combine(sum);
            if let Some(section) = piece.section {
                sections[section].combine(sum);
            }
        }
        let sections = sections.into_iter().enumerate();
        let differs = sections.filter_map(|(number, sum)| self.table.compare_section(number, sum.finalize()).err());
        let mut found: Vec<SegmentError> = differs.collect();
        if found.is_empty() {
            found.extend(self.table.compare_file(self.meta, file.finalize()).err());
        }
        found
    }
}

/// A file of a segment that need not be whole.
#[derive(Debug)]
pub struct ComparedFile {
    table: SectionTable,
    meta: FileMeta,
}

impl ComparedFile {
    /// Maps the file and checks its frame.
    ///
    /// # Errors
    /// What is wrong with the frame: nothing more can be said of the file then.
    pub fn open(directory: &dyn Directory, meta: &FileMeta) -> Result<ComparedFile, SegmentError> {
        let table = SectionTable::open(directory, meta)?;
        table.bytes().advise_sequential();
        Ok(ComparedFile { table, meta: meta.clone() })
    }

    /// Returns the comparison of the file with its checksums.
    pub fn comparison(&self) -> Comparison<'_> {
        Comparison::new(&self.table, &self.meta)
    }
}
