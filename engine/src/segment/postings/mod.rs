//! "I have a term: which documents hold it, in which fields?"
//!
//! A posting is a document and a *field set code*: the index of the set of fields of that document that hold the term,
//! in the segment's table of distinct sets. Sets are numbered by falling frequency, so most codes are 0. Postings of
//! frequent terms also have a *zone*: how early the term is in the field where it comes first. Fields and zone bound
//! what a document can be worth for a query without a look at its tokens.
//!
//! Eight bytes per term (the *term info*) hold the posting itself when there is only one, which is the case for most
//! terms, or else the number of postings and where their list is. Lists are cut into blocks of 128, each packed at its
//! own width; the first value of a block entry (the last document of the block) lets a search skip blocks. Lists with at
//! least one document in eight are bitsets: no larger than packed and much faster to add to a set.
//!
//! Good for filling a set of candidates. Bad for asking where in a document a term is: that is in the token column.

mod list;
mod pairs;
mod reader;
mod unions;
mod writer;

#[cfg(test)]
pub(crate) use pairs::tests::example as pairs_example;
pub(crate) use pairs::{Pairs, PairsBuilder, WORDS_MAX as FREQUENT_WORDS_MAX};
pub(crate) use reader::read_field_list;
pub use reader::{FieldSets, Postings};
pub(crate) use writer::{FieldSetTable, PostingsBuilder, put_field_list};

use super::format::DOCS_MAX;

/// The unpacked form of the eight bytes of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermInfo {
    Single { doc: u32, code: u32, zone: u8 },
    List { doc_freq: u32, offset: u64 },
}

const DOC_BITS: u32 = 27;
const OFFSET_BITS: u32 = 36;
const ZONE_AT: u32 = DOC_BITS + u32::BITS;
const _: () = assert!(DOCS_MAX as u64 == (1 << DOC_BITS) - 1 && OFFSET_BITS + DOC_BITS == 63);

impl TermInfo {
    fn pack(self) -> u64 {
        match self {
            TermInfo::Single { doc, code, zone } => {
                1 << 63 | u64::from(zone) << ZONE_AT | u64::from(code) << DOC_BITS | u64::from(doc)
            }
            TermInfo::List { doc_freq, offset } => u64::from(doc_freq) << OFFSET_BITS | offset,
        }
    }

    #[inline]
    fn unpack(bits: u64) -> TermInfo {
        if bits >> 63 == 1 {
            TermInfo::Single {
                doc: bits as u32 & DOCS_MAX,
                code: (bits >> DOC_BITS) as u32,
                zone: (bits >> ZONE_AT) as u8 & ZONE_MAX,
            }
        } else {
            TermInfo::List { doc_freq: (bits >> OFFSET_BITS) as u32, offset: bits & ((1 << OFFSET_BITS) - 1) }
        }
    }
}

/// Number of zones.
pub(crate) const ZONE_COUNT: usize = 4;
const ZONE_MAX: u8 = ZONE_COUNT as u8 - 1;
/// The first position of each zone. Zone 0 are words that are alone in a field; it also stands for postings of which
/// nothing is known.
pub(crate) const ZONE_STARTS: [u32; ZONE_COUNT] = [0, 0, 1, 5];
/// The first of the zones of words that are alone in no field.
pub(crate) const ZONE_NOT_ALONE: usize = 1;

/// The zone of a position among `len` tokens of a field.
#[inline]
pub(crate) fn zone_of(position: u32, len: usize) -> u8 {
    u8::from(len > 1) + u8::from(position >= ZONE_STARTS[2]) + u8::from(position >= ZONE_STARTS[3])
}
