//! A section whose blocks have checksums of their own, each compared when it is first read.
//!
//! Of large sections a request reads a little. Comparing the whole section at opening would read all of it, comparing each
//! read would cost more than the read. So a section is cut into blocks of the same size, and a bit beside it says which of
//! them were compared: the first look at a block costs a pass over its bytes, every other one a test of that bit.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::SegmentError;
use super::error::Damage;
use super::health::{Damaged, Health};
use crate::bits::little_endian::{put_u32, read_u32};
use crate::storage::OwnedBytes;

/// Bytes of a block; the last one of a section may have fewer.
pub(super) const BLOCK_BYTES: usize = 16 * 1024;

/// Gathers the checksums of the blocks of a section while it is written.
#[derive(Debug, Default)]
pub(crate) struct BlockSums {
    open: crc32fast::Hasher,
    open_bytes: usize,
    sums: Vec<u8>,
}

impl BlockSums {
    /// The next bytes of the section.
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.open_bytes));
            self.open.update(piece);
            self.open_bytes += piece.len();
            if self.open_bytes == BLOCK_BYTES {
                self.close();
            }
            bytes = rest;
        }
    }

    fn close(&mut self) {
        let closed = std::mem::take(&mut self.open);
        put_u32(&mut self.sums, closed.finalize());
        self.open_bytes = 0;
    }

    /// The checksums, as their section holds them.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.open_bytes > 0 {
            self.close();
        }
        self.sums
    }
}

/// State of the blocks of an open section.
#[derive(Debug)]
pub(crate) struct CheckedBlocks {
    section: OwnedBytes,
    sums: OwnedBytes,
    /// A bit for each block that was compared and is sound.
    compared: Box<[AtomicU64]>,
    damage: OnceLock<Damaged>,
    health: Arc<Health>,
    file: Box<str>,
    name: &'static str,
}

impl CheckedBlocks {
    /// Creates the state of the blocks of `section`, whose name is `name` in `file`. Damage that is found later marks
    /// `health`.
    pub(super) fn new(
        section: OwnedBytes,
        sums: OwnedBytes,
        health: Arc<Health>,
        file: &str,
        name: &'static str,
    ) -> Result<CheckedBlocks, Damage> {
        let block_count = section.len().div_ceil(BLOCK_BYTES);
        if sums.len() != block_count * 4 {
            return Err(Damage("the checksums are not those of its blocks"));
        }
        let compared = (0..block_count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(CheckedBlocks { section, sums, compared, damage: OnceLock::new(), health, file: file.into(), name })
    }

    /// Compares the blocks that hold these bytes and were not compared yet. Where one differs, the segment is marked.
    #[inline]
    pub(super) fn compare(&self, bytes: Range<usize>) {
        if bytes.is_empty() {
            return;
        }
        let (first, last) = (bytes.start / BLOCK_BYTES, (bytes.end - 1) / BLOCK_BYTES);
        for word in first / 64..=last / 64 {
            let from = if word == first / 64 { first % 64 } else { 0 };
            let to = if word == last / 64 { last % 64 } else { 63 };
            let wanted = (u64::MAX << from) & (u64::MAX >> (63 - to));
            let Some(compared) = self.compared.get(word) else { return };
            // The bytes do not change: a thread that sees the bit may read them, whatever else it has not seen.
            let missing = wanted & !compared.load(Ordering::Relaxed);
            if missing != 0 {
                self.compare_blocks(word, missing);
            }
        }
    }

    #[cold]
    fn compare_blocks(&self, word: usize, mut missing: u64) {
        while missing != 0 {
            let bit = missing.trailing_zeros() as usize;
            missing &= missing - 1;
            let block = word * 64 + bit;
            let start = block * BLOCK_BYTES;
            let bytes = self.section.get(start..self.section.len().min(start + BLOCK_BYTES)).unwrap_or_default();
            let (found, expected) = (crc32fast::hash(bytes), read_u32(&self.sums, block * 4).unwrap_or(0));
            if found == expected {
                self.compared[word].fetch_or(1 << bit, Ordering::Relaxed);
            } else {
                let damaged = Damaged::by_checksum(&self.file, self.name, expected, found);
                let _ = self.damage.set(damaged.clone());
                self.health.mark(damaged);
            }
        }
    }

    /// Fails if any block that was read is damaged.
    pub(super) fn check(&self) -> Result<(), SegmentError> {
        self.damage.get().map_or(Ok(()), |damaged| Err(damaged.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(section: Vec<u8>, sums: Vec<u8>) -> (CheckedBlocks, Arc<Health>) {
        let health = Arc::new(Health::default());
        let blocks = CheckedBlocks::new(section.into(), sums.into(), health.clone(), "seg", "vectors").unwrap();
        (blocks, health)
    }

    fn sums_of(section: &[u8], piece_bytes: usize) -> Vec<u8> {
        let mut sums = BlockSums::default();
        section.chunks(piece_bytes).for_each(|piece| sums.update(piece));
        sums.finish()
    }

    #[test]
    fn a_block_is_compared_when_it_is_read() {
        let section: Vec<u8> = (0..BLOCK_BYTES * 130 + 7).map(|at| (at * at / 7) as u8).collect();
        let sums = sums_of(&section, 1001);
        assert_eq!(sums, sums_of(&section, section.len()));
        for at in [0, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES * 64, BLOCK_BYTES * 130 + 6] {
            let mut damaged = section.clone();
            damaged[at] ^= 4;
            let (blocks, health) = blocks(damaged, sums.clone());
            let block = at / BLOCK_BYTES * BLOCK_BYTES;
            // What is beside it is sound, and stays so once it was compared.
            for _ in 0..2 {
                blocks.compare(0..block);
                blocks.compare((block + BLOCK_BYTES).min(section.len())..section.len());
                blocks.check().unwrap();
            }
            blocks.compare(at..at + 1);
            assert!(matches!(blocks.check(), Err(SegmentError::Checksum { section: "vectors", .. })), "{at}");
            health.check().unwrap_err();
        }
        let (blocks, _) = blocks(section.clone(), sums.clone());
        blocks.compare(0..section.len());
        blocks.compare(section.len()..section.len());
        blocks.check().unwrap();
        let short = sums[4..].to_vec();
        CheckedBlocks::new(section.into(), short.into(), Arc::default(), "seg", "vectors").unwrap_err();
    }
}
