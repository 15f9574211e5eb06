//! What the postings of a word say of the costs of documents, packed into one number per document.

use crate::id::{DocId, TermOrdinal};
use crate::query::SegmentQuery;
use crate::query::graph::Node;
use crate::rank::key::{Key, KeyLayout};
use crate::rank::packed_bounds::{PACKED_BITS, PackedBound};
use crate::rank::path::{bucketed_position, position_cost};
use crate::rank::rules::{EXACT_ATTRIBUTE_WORST, GraphRule};
use crate::segment::{BlockCodes, FieldSets, MarkSet, PostingBlock, Postings, ZONE_COUNT, ZONE_NOT_ALONE, ZONE_STARTS};

/// Bits of the cost of `exactness` of one word: 0, 1 when no attribute is the word alone, 2 when none begins with it.
pub(super) const ATTRIBUTE_BITS: u32 = 2;

/// One posting in this many may cost more than the usual ones: it is taken to cost as much.
const COSTLIER_SHARE: usize = 8;

/// How the least costs of a document are packed into one number: the costs of several words are added. The parts lie as in
/// the key, so that bounds order like keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    pub(super) rank: CostBits,
    pub(super) position: CostBits,
    /// The cost of `exactness`, or with several words how many are not in their place.
    pub(super) attribute: CostBits,
    pub(super) single: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CostBits {
    shift: u32,
    pub(super) bits: u32,
}

impl CostBits {
    pub(super) fn get(self, packed: PackedBound) -> u32 {
        u32::from(packed) >> self.shift & ((1 << self.bits) - 1)
    }

    pub(super) fn mask(self) -> PackedBound {
        ((1 << self.bits) - 1) << self.shift
    }
}

impl Packing {
    /// `words`: how many costs are added. `None` when they do not fit, or when no rule is bounded.
    pub(super) fn new(words: u32, max_weight: u16, layout: &KeyLayout, with_attribute: bool) -> Option<Packing> {
        let (rank, position) = (layout.slice(GraphRule::AttributeRank), layout.slice(GraphRule::WordPosition));
        let bits = |max: u32| u32::BITS - max.leading_zeros();
        let position_max = position_cost(bucketed_position(ZONE_STARTS[ZONE_COUNT - 1]));
        let rank_bits = rank.map_or(0, |_| bits(words * u32::from(max_weight)));
        let position_bits = position.map_or(0, |_| bits(words * position_max));
        let bounded = rank_bits + position_bits;
        let attribute_bits = bits(words).max(ATTRIBUTE_BITS);
        let place = |rule| layout.slice(rule).map_or(0, |slice| slice.put(1));
        // It is all the same to the key how many of several words are not in their place: bounds would order in another way
        // than keys, were anything behind that number.
        let is_behind = |rule| place(GraphRule::ExactAttribute) < place(rule) || layout.slice(rule).is_none();
        let keeps_order = words == 1 || (is_behind(GraphRule::AttributeRank) && is_behind(GraphRule::WordPosition));
        let has_room = bounded + attribute_bits <= PACKED_BITS;
        let attribute_bits = if with_attribute && keeps_order && has_room { attribute_bits } else { 0 };
        if bounded == 0 || bounded > PACKED_BITS {
            return None;
        }
        let rules = [
            (GraphRule::AttributeRank, rank_bits),
            (GraphRule::WordPosition, position_bits),
            (GraphRule::ExactAttribute, attribute_bits),
        ];
        let part = |rule, bits| {
            let behind = rules.iter().filter(|&&(other, _)| place(other) < place(rule));
            CostBits { shift: behind.map(|&(_, bits)| bits).sum(), bits }
        };
        let [rank, position, attribute] = rules.map(|(rule, bits)| part(rule, bits));
        Some(Packing { rank, position, attribute, single: words == 1 })
    }

    /// Whether the cost of `exactness` decides where all others are equal, so that bounds are in the same order without it.
    pub(super) fn has_attribute_last(&self) -> bool {
        self.attribute.bits == 0 || self.attribute.shift == 0
    }

    /// The bits that hold costs; `with_attribute`: of `exactness` too.
    pub(super) fn mask(&self, with_attribute: bool) -> PackedBound {
        let attribute = if with_attribute { self.attribute.mask() } else { 0 };
        self.rank.mask() | self.position.mask() | attribute
    }

    pub(super) fn pack(&self, rank: u32, position: u32, attribute: u32) -> PackedBound {
        let put = |part: CostBits, cost: u32| if part.bits == 0 { 0 } else { cost << part.shift };
        (put(self.rank, rank) | put(self.position, position) | put(self.attribute, attribute)) as PackedBound
    }

    /// Costs of a document that holds no word of a node: no others are larger. That of `exactness` is of the word itself,
    /// and least without it.
    pub(super) fn none(&self) -> PackedBound {
        self.mask(false)
    }

    /// The least of each cost: one term may come in the best attribute, and another one first. `a`: of the word itself,
    /// which alone can be in its place, or of terms before.
    #[inline]
    pub(super) fn least(&self, a: PackedBound, b: PackedBound) -> PackedBound {
        let (a_rank, b_rank) = (a & self.rank.mask(), b & self.rank.mask());
        let (a_position, b_position) = (a & self.position.mask(), b & self.position.mask());
        a_rank.min(b_rank) | a_position.min(b_position) | a & self.attribute.mask()
    }

    /// What the costs of a bound add to a key.
    pub(super) fn key(&self, packed: PackedBound, layout: &KeyLayout) -> Key {
        let put = |rule, cost| layout.slice(rule).map_or(0, |s| s.put(cost));
        let attribute = match self.attribute.get(packed) {
            cost if self.single => cost,
            0 => 0,
            _ => EXACT_ATTRIBUTE_WORST,
        };
        put(GraphRule::AttributeRank, self.rank.get(packed))
            + put(GraphRule::WordPosition, self.position.get(packed))
            + put(GraphRule::ExactAttribute, attribute)
    }
}

/// Least costs of one word, packed, by field set code and zone.
pub(super) struct CostTable(Vec<[PackedBound; ZONE_COUNT]>);

/// What the postings of a table stand for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Costs {
    /// `attributeRank` and `wordPosition` of any word.
    Any,
    /// Those of the word of the query itself, and of `exactness`.
    Exact,
    /// Of `exactness` alone.
    ExactnessOnly,
}

impl CostTable {
    pub(super) fn new(
        query: &SegmentQuery<'_>,
        sets: &FieldSets,
        node: &Node,
        packing: &Packing,
        costs: Costs,
    ) -> CostTable {
        let first_position = u32::from(node.first_position);
        // Of a longer phrase the posting is that of its first word alone.
        let is_word = node.first_position == node.last_position;
        let max_weight = query.options().max_weight;
        let zone = |zone: usize| {
            // A word that comes first before its place in the query may come again right there.
            let start = bucketed_position(ZONE_STARTS[zone]);
            let position = if start <= first_position { 0 } else { position_cost(start - first_position) };
            let attribute = match (packing.single, position) {
                _ if costs == Costs::Any => 0,
                (true, 0) => u32::from(zone >= ZONE_NOT_ALONE && is_word),
                (true, _) => EXACT_ATTRIBUTE_WORST,
                (false, _) => u32::from(position > 0),
            };
            (position, attribute)
        };
        let zones: [_; ZONE_COUNT] = std::array::from_fn(zone);
        let row = |code: u32| {
            let weights = sets.fields(code).iter().map(|&f| query.options().weight(f));
            // A set without fields stands for unknown ones; one without searched fields is no match.
            let weight = u32::from(weights.min().unwrap_or(0).min(max_weight));
            zones.map(|(position, attribute)| match costs {
                Costs::ExactnessOnly => packing.pack(0, 0, attribute),
                _ => packing.pack(weight, position, attribute),
            })
        };
        CostTable((0..sets.len() as u32).map(row).collect())
    }

    /// By zone; nothing is known of a code that is not in the table.
    #[inline]
    fn row(&self, code: u32) -> [PackedBound; ZONE_COUNT] {
        self.0.get(code as usize).copied().unwrap_or_default()
    }

    /// The marks whose costs are as `is_wanted` says.
    pub(super) fn marks(&self, is_wanted: impl Fn(PackedBound) -> bool) -> MarkSet {
        MarkSet::new(self.0.len(), |code, zone| is_wanted(self.get(code, zone)))
    }

    /// What most postings of a word cost at most, by its first ones.
    pub(super) fn usual(&self, postings: &Postings, word: TermOrdinal) -> PackedBound {
        let mut costs = Vec::new();
        postings.for_each_first(word, |code, zone| costs.push(self.get(code, zone)));
        let Some(place) = costs.len().checked_sub(1 + costs.len() / COSTLIER_SHARE) else { return 0 };
        *costs.select_nth_unstable(place).1
    }

    #[inline]
    pub(super) fn get(&self, code: u32, zone: u8) -> PackedBound {
        self.0.get(code as usize).map_or(0, |row| row[usize::from(zone) % ZONE_COUNT])
    }

    /// Calls `f` with what is known of the document of each posting, and the costs of the posting.
    #[inline]
    pub(super) fn each(
        &self,
        block: &PostingBlock<'_>,
        known: &mut [PackedBound],
        f: impl Fn(&mut PackedBound, PackedBound),
    ) {
        let (Some(&first), Some(&last)) = (block.docs.first(), block.docs.last()) else { return };
        // One check for the block: only the documents of a damaged list do not ascend.
        let Some(known) = known.get_mut(first as usize..=last as usize) else { return };
        let note = |known: &mut [PackedBound], doc: DocId, cost: PackedBound| {
            if let Some(known) = known.get_mut(doc.wrapping_sub(first) as usize) {
                f(known, cost);
            }
        };
        let postings = block.docs.iter().zip(block.zones);
        match block.codes {
            BlockCodes::All(code) => {
                let row = self.row(code);
                postings.for_each(|(&doc, &zone)| note(known, doc, row[usize::from(zone) % ZONE_COUNT]));
            }
            BlockCodes::Each(codes) => {
                postings.zip(codes).for_each(|((&doc, &zone), &code)| note(known, doc, self.get(code, zone)));
            }
        }
    }

    /// Adds the costs of some postings to those of their documents.
    pub(super) fn add(&self, block: &PostingBlock<'_>, costs: &mut [PackedBound]) {
        self.each(block, costs, |costs, cost| *costs += cost);
    }
}
