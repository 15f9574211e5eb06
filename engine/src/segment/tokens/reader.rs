//! Reads the token column of a mapped segment.

use super::PADDING_BYTES;
use super::codes::{CLASS_COUNT, CodeShape};
use crate::bits::little_endian::read_u32;
use crate::bits::monotone::Monotone;
use crate::bits::varint::read_varint;
use crate::id::{DocId, FIRST_TERM, FieldId, GAP, TermOrdinal};
use crate::segment::error::Damage;
use crate::segment::postings::read_field_list;
use crate::storage::OwnedBytes;

/// Tokens whose classes fit one 64-bit load.
const TOKENS_PER_WORD: usize = 32;
/// No document can have more tokens than this: fields × positions, gaps included, stay far below.
const TOKENS_MAX: usize = u32::MAX as usize;

/// Per document and field the sequence of term ordinals in reading order.
pub struct TokenColumn {
    tokens: OwnedBytes,
    offsets: OwnedBytes,
    offsets_shape: Monotone,
    codes: OwnedBytes,
    code_shape: CodeShape,
    decoder: Decoder,
    shape_count: u32,
    shape_offsets: Monotone,
    shape_offsets_at: usize,
    /// Field lists of the first shapes, which nearly all documents have.
    common_shapes: Vec<Box<[FieldId]>>,
    ordinal_count: u32,
}

/// So many field lists are decoded when a segment is opened.
const COMMON_SHAPES_MAX: u32 = 64;
/// Longer ones are not.
const COMMON_SHAPE_FIELDS_MAX: usize = 64;

impl TokenColumn {
    pub(crate) fn open(
        tokens: OwnedBytes,
        offsets: OwnedBytes,
        codes: OwnedBytes,
        doc_count: u32,
        ordinal_count: u32,
    ) -> Result<TokenColumn, Damage> {
        let offsets_shape = Monotone::open(&offsets).ok_or(Damage("the offsets are cut"))?;
        if offsets_shape.len() != doc_count as usize + 1
            || offsets_shape.get(&offsets, doc_count as usize) + PADDING_BYTES as u64 != tokens.len() as u64
        {
            return Err(Damage("the offsets do not cover the tokens"));
        }
        let code_shape = CodeShape::open(&codes).ok_or(Damage("the code table is cut"))?;
        let shape_count = read_u32(&codes, code_shape.end).ok_or(Damage("the field shapes are cut"))?;
        let shape_offsets_at = code_shape.end + 4;
        let shape_offsets = codes
            .get(shape_offsets_at..)
            .and_then(Monotone::open)
            .filter(|offsets| offsets.len() == shape_count as usize + 1)
            .ok_or(Damage("the field shapes are cut"))?;
        let mut column = TokenColumn {
            tokens,
            offsets,
            offsets_shape,
            codes,
            decoder: Decoder::new(&code_shape),
            code_shape,
            shape_count,
            shape_offsets,
            shape_offsets_at,
            common_shapes: Vec::new(),
            ordinal_count,
        };
        for shape in 0..u64::from(shape_count.min(COMMON_SHAPES_MAX)) {
            let list: Vec<FieldId> = FieldIds::encoded(column.shape(shape)).take(COMMON_SHAPE_FIELDS_MAX + 1).collect();
            if list.len() > COMMON_SHAPE_FIELDS_MAX {
                break;
            }
            column.common_shapes.push(list.into());
        }
        Ok(column)
    }

    fn table(&self) -> &[[u8; 4]] {
        let range = self.code_shape.table_at..self.code_shape.end;
        self.codes.as_slice().get(range).unwrap_or_default().as_chunks::<4>().0
    }

    /// The most frequent terms, falling; fewer than `count` when not so many have short codes.
    pub(crate) fn frequent_terms(&self, count: usize) -> Vec<TermOrdinal> {
        let ordinals = self.table().iter().map(|&entry| u32::from_le_bytes(entry));
        ordinals.filter(|&ordinal| ordinal != GAP).take(count).collect()
    }

    /// What stands for an ordinal: its place in the table, or for one without a short code a number past the table.
    pub(super) fn code_of(&self, ordinal: TermOrdinal) -> u32 {
        let table = self.table();
        let place = table.iter().position(|&entry| u32::from_le_bytes(entry) == ordinal);
        place.map_or_else(|| (table.len() as u32).wrapping_add(ordinal), |place| place as u32)
    }

    /// The encoded field list of a shape.
    fn shape(&self, shape: u64) -> &[u8] {
        if shape >= u64::from(self.shape_count) {
            return &[];
        }
        let codes = self.codes.as_slice();
        let offsets = codes.get(self.shape_offsets_at..).unwrap_or_default();
        let lists_at = self.shape_offsets_at + self.shape_offsets.byte_len();
        let start = self.shape_offsets.get(offsets, shape as usize) as usize;
        let end = self.shape_offsets.get(offsets, shape as usize + 1) as usize;
        codes.get(lists_at..).and_then(|lists| lists.get(start..end)).unwrap_or_default()
    }

    /// The tokens of a document (none past the end).
    #[inline]
    pub fn doc(&self, doc: DocId) -> TokensOfDoc<'_> {
        let start = self.offsets_shape.get(&self.offsets, doc as usize) as usize;
        let end = self.offsets_shape.get(&self.offsets, doc as usize + 1) as usize;
        // The slice reaches to the end of the section, so that whole words can be loaded at the end of the document.
        let bytes = self.tokens.as_slice().get(start..).unwrap_or_default();
        let mut at = 0;
        let fields = match read_varint(bytes, &mut at) {
            Some(shape) if end > start => match self.common_shapes.get(shape as usize) {
                Some(fields) => FieldIds::Common(fields.iter()),
                None => FieldIds::encoded(self.shape(shape)),
            },
            _ => FieldIds::Common([].iter()),
        };
        let counts = bytes.get(at..).unwrap_or_default();
        TokensOfDoc { column: self, fields, counts, bytes_max: end.saturating_sub(start + at) }
    }

    /// Brings the first tokens of some documents into the cache: waiting for all of them takes hardly longer than
    /// waiting for one.
    pub fn fetch(&self, docs: &[DocId]) {
        let first = |&doc: &DocId| {
            let start = self.offsets_shape.get(&self.offsets, doc as usize) as usize;
            self.tokens.as_slice().get(start).copied().unwrap_or(0)
        };
        std::hint::black_box(docs.iter().map(first).fold(0, |all, byte| all ^ byte));
    }

    /// Checks every document.
    pub(crate) fn validate(&self) -> Result<(), Damage> {
        let mut list = Vec::new();
        for shape in 0..u64::from(self.shape_count) {
            list.clear();
            let mut at = 0;
            if read_field_list(self.shape(shape), &mut at, &mut list).is_none() || at != self.shape(shape).len() {
                return Err(Damage("a field shape is cut"));
            }
        }
        let (mut fields, mut tokens) = (Vec::new(), Vec::new());
        for doc in 0..self.offsets_shape.len() as u32 - 1 {
            let runs = self.doc(doc);
            runs.decode(&mut fields, &mut tokens);
            let mut start = 0;
            for &(_, end) in &fields {
                if tokens.get(start as usize).is_none_or(|&first| first == GAP) || end <= start {
                    return Err(Damage("a run is empty, cut or begins with a gap"));
                }
                start = end;
            }
            if start as usize != tokens.len() || tokens.iter().any(|&o| o >= self.ordinal_count.max(FIRST_TERM)) {
                return Err(Damage("a document has tokens that are no terms"));
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for TokenColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TokenColumn({} bytes, widths {:?})", self.tokens.len(), self.code_shape.widths)
    }
}

/// Classes and values of consecutive tokens. Both slices reach to the end of the section, which is padded, so that whole
/// 64-bit words can be loaded anywhere in a document.
#[derive(Clone, Copy, Debug)]
struct Packed<'a> {
    classes: &'a [u8],
    values: &'a [u8],
}

/// The 64 bits at byte `at`: zeros past the end, where only damaged offsets lead.
#[inline(always)]
fn load(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk::<8>()) {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => 0,
    }
}

/// What the four tokens of a byte of classes need, so that their values are found without waiting for each other.
#[derive(Clone, Copy, Default)]
struct FourTokens {
    /// Where each value starts, in bits from the first one, and where the last one ends.
    offsets: [u8; TOKENS_PER_BYTE + 1],
    masks: [u32; TOKENS_PER_BYTE],
    starts: [u32; TOKENS_PER_BYTE],
}

const TOKENS_PER_BYTE: usize = 4;

impl FourTokens {
    /// The code of one of the tokens, whose values start at `bit`.
    #[inline(always)]
    fn code(&self, values: &[u8], bit: usize, token: usize) -> u32 {
        let at = bit + usize::from(self.offsets[token]);
        ((load(values, at >> 3) >> (at & 7)) as u32 & self.masks[token]).wrapping_add(self.starts[token])
    }
}

/// The tables of the decoding loop: 10 kB per segment, made when it is opened.
struct Decoder {
    widths: [usize; CLASS_COUNT],
    four: Box<[FourTokens; 256]>,
}

impl Decoder {
    fn new(shape: &CodeShape) -> Decoder {
        let mut four = Box::new([FourTokens::default(); 256]);
        for (classes, entry) in four.iter_mut().enumerate() {
            let mut bit = 0;
            for token in 0..TOKENS_PER_BYTE {
                let class = classes >> (2 * token) & 3;
                let width = shape.widths[class];
                entry.offsets[token] = bit;
                entry.masks[token] = ((1u64 << width) - 1) as u32;
                entry.starts[token] = shape.starts[class];
                bit += width;
            }
            entry.offsets[TOKENS_PER_BYTE] = bit;
        }
        Decoder { widths: shape.widths.map(usize::from), four }
    }

    /// Replaces `out` by the ordinals of as many tokens, from the `first` one on.
    #[inline]
    fn decode(&self, table: &[[u8; 4]], packed: Packed<'_>, first: usize, out: &mut [TermOrdinal]) {
        let mut bit = self.bits_before(packed.classes, first);
        let mut class_byte = first / TOKENS_PER_BYTE;
        let classes = |at: usize| self.four_at(packed, at);
        let value =
            |bit: usize, entry: &FourTokens, token: usize| ordinal(table, entry.code(packed.values, bit, token));
        // Up to the first token whose classes start a byte.
        let skipped = first % TOKENS_PER_BYTE;
        let head = ((TOKENS_PER_BYTE - skipped) % TOKENS_PER_BYTE).min(out.len());
        let (head_out, rest) = out.split_at_mut(head);
        if head > 0 {
            let entry = classes(class_byte);
            // The first value is at `bit`, but the entry counts from the first token of the byte.
            let origin = bit.wrapping_sub(usize::from(entry.offsets[skipped]));
            for (slot, token) in head_out.iter_mut().zip(skipped..) {
                *slot = value(origin, entry, token);
            }
            bit = origin + usize::from(entry.offsets[skipped + head]);
            class_byte += 1;
        }
        let (whole, tail) = rest.as_chunks_mut::<TOKENS_PER_BYTE>();
        for out in whole {
            let entry = classes(class_byte);
            class_byte += 1;
            *out = [value(bit, entry, 0), value(bit, entry, 1), value(bit, entry, 2), value(bit, entry, 3)];
            bit += usize::from(entry.offsets[TOKENS_PER_BYTE]);
        }
        for (token, slot) in tail.iter_mut().enumerate() {
            *slot = value(bit, classes(class_byte), token);
        }
    }

    #[inline(always)]
    fn four_at(&self, packed: Packed<'_>, at: usize) -> &FourTokens {
        &self.four[usize::from(packed.classes.get(at).copied().unwrap_or(0))]
    }

    /// Bits of the values of the first `count` tokens.
    fn bits_before(&self, classes: &[u8], count: usize) -> usize {
        const LOW_BITS: u64 = 0x5555_5555_5555_5555;
        let mut counts = [0usize; CLASS_COUNT];
        for start in (0..count).step_by(TOKENS_PER_WORD) {
            let tokens = (count - start).min(TOKENS_PER_WORD);
            let word = load(classes, start / TOKENS_PER_BYTE);
            let used = LOW_BITS & (u64::MAX >> (64 - 2 * tokens));
            let (low, high) = (word & used, word >> 1 & used);
            counts[3] += (low & high).count_ones() as usize;
            counts[2] += (high & !low).count_ones() as usize;
            counts[1] += (low & !high).count_ones() as usize;
            counts[0] += tokens;
        }
        counts[0] -= counts[1] + counts[2] + counts[3];
        (0..CLASS_COUNT).map(|class| counts[class] * self.widths[class]).sum()
    }
}

/// An index into the table, or an ordinal past it. Both are computed and one is masked out: one token in ten is an
/// ordinal, at random, and a branch would be guessed wrongly each time.
#[inline(always)]
fn ordinal(table: &[[u8; 4]], code: u32) -> TermOrdinal {
    let length = table.len() as u32;
    let place = code.min(length.wrapping_sub(1)) as usize;
    let short = table.get(place).map_or(0, |ordinal| u32::from_le_bytes(*ordinal));
    let is_ordinal = u32::from(code >= length).wrapping_neg();
    (short & !is_ordinal) | (code.wrapping_sub(length) & is_ordinal)
}

/// The fields of a shape, ascending.
#[derive(Clone, Debug)]
enum FieldIds<'a> {
    Common(std::slice::Iter<'a, FieldId>),
    Encoded { bytes: &'a [u8], at: usize, left: u64, next: u64 },
}

impl<'a> FieldIds<'a> {
    fn encoded(bytes: &'a [u8]) -> FieldIds<'a> {
        let mut at = 0;
        let left = read_varint(bytes, &mut at).unwrap_or(0);
        FieldIds::Encoded { bytes, at, left, next: 0 }
    }
}

impl Iterator for FieldIds<'_> {
    type Item = FieldId;

    #[inline]
    fn next(&mut self) -> Option<FieldId> {
        match self {
            FieldIds::Common(fields) => fields.next().copied(),
            FieldIds::Encoded { bytes, at, left, next } => {
                *left = left.checked_sub(1)?;
                let field = FieldId::try_from(next.checked_add(read_varint(bytes, at)?)?).ok()?;
                *next = u64::from(field) + 1;
                Some(field)
            }
        }
    }
}

/// The runs of one document, in ascending order of fields. Only fields with at least one token have a run.
#[derive(Clone, Debug)]
pub struct TokensOfDoc<'a> {
    column: &'a TokenColumn,
    fields: FieldIds<'a>,
    /// Token counts of the fields, then classes and values.
    counts: &'a [u8],
    /// Bytes of `counts` that belong to the document.
    bytes_max: usize,
}

impl<'a> TokensOfDoc<'a> {
    /// Calls `f` with each field and where its run ends, and answers the number of tokens and where they are.
    #[inline]
    fn read_counts(&self, mut f: impl FnMut(FieldId, usize)) -> (usize, Packed<'a>) {
        // Each token takes at least its two class bits: a damaged count cannot ask for more than the bytes hold.
        let len_max = self.bytes_max.min(self.counts.len()).saturating_mul(4).min(TOKENS_MAX);
        let (mut end, mut at) = (0usize, 0);
        for field in self.fields.clone() {
            let Some(count) = read_varint(self.counts, &mut at) else { break };
            end = end.saturating_add(count as usize).min(len_max);
            f(field, end);
        }
        let classes = self.counts.get(at..).unwrap_or_default();
        let values = classes.get(end.div_ceil(4)..).unwrap_or_default();
        (end, Packed { classes, values })
    }

    /// Number of fields.
    pub fn field_count(&self) -> usize {
        self.fields.clone().count()
    }

    /// Number of tokens of all fields, gaps included.
    pub fn len(&self) -> usize {
        self.read_counts(|_, _| {}).0
    }

    /// Whether the document has no token.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The fields and the number of their tokens, gaps included: the cheapest look at a document.
    pub fn lengths(&self) -> impl Iterator<Item = (FieldId, usize)> + use<'a> {
        let (fields, counts, mut at) = (self.fields.clone(), self.counts, 0);
        fields.map_while(move |field| Some((field, read_varint(counts, &mut at)? as usize)))
    }

    /// The runs.
    pub fn fields(&self) -> impl Iterator<Item = (FieldId, Run<'a>)> + use<'a> {
        let (len, packed) = self.read_counts(|_, _| {});
        let (column, fields, counts) = (self.column, self.fields.clone(), self.counts);
        let (mut at, mut start) = (0, 0usize);
        fields.map_while(move |field| {
            let count = (read_varint(counts, &mut at)? as usize).min(len - start);
            let run = Run { column, packed, start, len: count };
            start += count;
            Some((field, run))
        })
    }

    /// The run of a field.
    pub fn field(&self, field: FieldId) -> Option<Run<'a>> {
        self.fields().take_while(|(f, _)| *f <= field).find(|(f, _)| *f == field).map(|(_, run)| run)
    }

    /// Decodes all fields at once: clears both vectors, appends to `tokens` the tokens of all runs and to `fields`
    /// each field with the index in `tokens` at which its run ends. The cheapest way to read a whole document.
    pub fn decode(&self, fields: &mut Vec<(FieldId, u32)>, tokens: &mut Vec<TermOrdinal>) {
        fields.clear();
        let (len, packed) = self.read_counts(|field, end| fields.push((field, end as u32)));
        // Every slot is overwritten: only growth costs.
        tokens.resize(len, 0);
        self.column.decoder.decode(self.column.table(), packed, 0, tokens);
    }
}

impl<'a> TokensOfDoc<'a> {
    /// The codes of all tokens, read step by step.
    pub(super) fn codes(&self) -> CodeReader<'a> {
        let (left, packed) = self.read_counts(|_, _| {});
        CodeReader { decoder: &self.column.decoder, packed, class_byte: 0, bit: 0, left }
    }
}

/// Reads what stands for the tokens of a document, all fields one after the other.
pub(super) struct CodeReader<'a> {
    decoder: &'a Decoder,
    packed: Packed<'a>,
    class_byte: usize,
    bit: usize,
    left: usize,
}

impl CodeReader<'_> {
    /// Appends the codes of up to `count` more tokens, a multiple of four, and tells whether there are others.
    #[inline]
    pub(super) fn read(&mut self, count: usize, out: &mut Vec<u32>) -> bool {
        debug_assert!(count.is_multiple_of(TOKENS_PER_BYTE), "steps end with a byte of classes");
        let count = count.min(self.left);
        self.left -= count;
        let start = out.len();
        out.resize(start + count, 0);
        let (whole, tail) = out[start..].as_chunks_mut::<TOKENS_PER_BYTE>();
        let (values, mut bit) = (self.packed.values, self.bit);
        for out in whole {
            let entry = self.decoder.four_at(self.packed, self.class_byte);
            self.class_byte += 1;
            *out = [
                entry.code(values, bit, 0),
                entry.code(values, bit, 1),
                entry.code(values, bit, 2),
                entry.code(values, bit, 3),
            ];
            bit += usize::from(entry.offsets[TOKENS_PER_BYTE]);
        }
        for (token, out) in tail.iter_mut().enumerate() {
            *out = self.decoder.four_at(self.packed, self.class_byte).code(values, bit, token);
        }
        self.bit = bit;
        self.left > 0
    }
}

/// The tokens of one field of one document.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    column: &'a TokenColumn,
    packed: Packed<'a>,
    start: usize,
    len: usize,
}

impl Run<'_> {
    /// Number of tokens, gaps included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no token (never, for a run of an undamaged file).
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the tokens.
    pub fn decode(&self, out: &mut Vec<TermOrdinal>) {
        let start = out.len();
        out.resize(start + self.len, 0);
        self.column.decoder.decode(self.column.table(), self.packed, self.start, &mut out[start..]);
    }

    /// Calls `f` with each token.
    pub fn for_each(&self, f: impl FnMut(TermOrdinal)) {
        let mut tokens = Vec::new();
        self.decode(&mut tokens);
        tokens.into_iter().for_each(f);
    }
}
