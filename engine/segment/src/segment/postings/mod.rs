//! "I have a term: which documents hold it, in which fields?"
//!
//! A posting is a document and a *field set code*: the index of the set of fields of that document that hold the term,
//! in the segment's table of distinct sets. Sets are numbered by falling frequency, so most codes are 0. Besides,
//! each posting has a *zone*: how early the term is in the field where it comes first. Fields and zone bound
//! what a document can be worth for a query without a look at its tokens.
//!
//! Some five bytes per term (the *term info*) hold the posting itself when there is only one, which is the case for most
//! terms, or else the number of postings and where their list is. Lists are cut into blocks of 128, each packed at its
//! own width; the first value of a block entry (the last document of the block) lets a search skip blocks. The postings of
//! terms in one document of 2,048 are [`Groups`]: their documents as a set, and cut by field set and zone, so that a search reads the
//! few documents that can be best.
//!
//! Good for filling a set of candidates. Bad for asking where in a document a term is: that is in the token column.

mod field_sets;
mod grouped;
mod growing_sets;
mod infos;
mod list;
mod posting;
mod reader;
mod unions;
mod writer;

use crate::bits::bitpack::bit_width;

pub use field_sets::FieldSets;
pub(crate) use field_sets::read_field_list;
pub use grouped::{GROUPED_ZONE_MAX, Groups};
pub(crate) use growing_sets::{GrowingSets, GrownSets};
pub(crate) use list::List;
pub(crate) use list::put_plain_list;
pub(crate) use posting::Mark;
pub(crate) use posting::Posting;
pub use reader::Postings;
pub use unions::PrefixUnion;
pub(crate) use unions::UnionsBuilder;
pub(crate) use writer::FieldSetTable;
pub(crate) use writer::PostingsBuilder;
pub(crate) use writer::put_field_list;

/// Number of zones.
pub const ZONE_COUNT: usize = 8;
const ZONE_MAX: u8 = ZONE_COUNT as u8 - 1;
const ZONE_BITS: u8 = bit_width(ZONE_MAX as u32);
/// The first position of each zone. Zone 0 are words that are alone in a field.
pub const ZONE_STARTS: [u32; ZONE_COUNT] = [0, 0, 1, 2, 5, 8, 12, 24];
/// The first of the zones of words that are alone in no field.
pub const ZONE_NOT_ALONE: usize = 1;

/// The zone of a position among `len` tokens of a field.
#[inline]
pub(crate) fn zone_of(position: u32, len: usize) -> u8 {
    u8::from(len > 1) + ZONE_STARTS[ZONE_NOT_ALONE + 1..].iter().map(|&start| u8::from(position >= start)).sum::<u8>()
}
