//! Reads the token column of a mapped segment.

use lamina_text::id::{DocId, FIRST_TERM, FieldId, GAP, TermOrdinal};

use super::PADDING_BYTES;
use super::codes::{Code, CodeShape};
use super::decoder::{Decoder, Packed};
use super::wanted::WantedTerms;
use crate::bits::kernels::{CACHE_LINE, fetch};
use crate::bits::little_endian::read_u32;
use crate::bits::monotone::Monotone;
use crate::bits::varint::read_varint;
use crate::segment::error::Damage;
use crate::segment::postings::read_field_list;
use crate::storage::OwnedBytes;

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

/// Range of a document's tokens among those of all documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    start: usize,
    end: usize,
}

/// Documents and where their tokens are.
type Piece<'d, T> = std::iter::Zip<std::slice::Iter<'d, T>, std::array::IntoIter<Span, DOCS_PER_FETCH>>;

/// Documents whose tokens are asked for together: their cache misses overlap.
const DOCS_PER_FETCH: usize = 16;
/// Lines asked for of each document.
const LINES_PER_FETCH: usize = 4;
/// Entries of the code table that are compared together.
const ENTRIES_PER_PIECE: usize = 64;
/// So many field lists are decoded when a segment is opened.
const COMMON_SHAPES_MAX: u32 = 64;
/// Longer ones are not.
const COMMON_SHAPE_FIELDS_MAX: usize = 64;

impl TokenColumn {
    pub fn open(
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
    pub fn frequent_terms(&self, count: usize) -> Vec<TermOrdinal> {
        let ordinals = self.table().iter().map(|&entry| u32::from_le_bytes(entry));
        ordinals.filter(|&ordinal| ordinal != GAP).take(count).collect()
    }

    /// Returns the code of an ordinal in this column. Cost: one pass over the code table, some entries in a nanosecond.
    pub(super) fn code_of(&self, ordinal: TermOrdinal) -> Code {
        let table = self.table();
        let is = |entry: &[u8; 4]| u32::from_le_bytes(*entry) == ordinal;
        // Entries are compared many at once: where in a piece does not matter before it is the one.
        let holds = |piece: &[[u8; 4]]| piece.iter().fold(false, |found, entry| found | is(entry));
        let piece = table.chunks(ENTRIES_PER_PIECE).position(holds).map_or(table.len(), |at| at * ENTRIES_PER_PIECE);
        let place = table[piece..].iter().position(is).map(|at| piece + at);
        let code = place.map_or_else(|| (table.len() as u32).wrapping_add(ordinal), |place| place as u32);
        self.code_shape.split(code)
    }

    pub(super) fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// See [`WantedTerms`]. Cost: a call for each of the frequent terms, some thousands.
    pub fn wanted(&self, is_wanted: impl Fn(TermOrdinal) -> bool) -> WantedTerms<'_> {
        WantedTerms::new(self.table(), is_wanted)
    }

    /// The encoded field list of a shape.
    fn shape(&self, shape: u64) -> &[u8] {
        if shape >= u64::from(self.shape_count) {
            return &[];
        }
        let codes = self.codes.as_slice();
        let offsets = codes.get(self.shape_offsets_at..).unwrap_or_default();
        let lists_at = self.shape_offsets_at + self.shape_offsets.byte_len();
        let [start, end] = self.shape_offsets.get_two(offsets, shape as usize).map(|at| at as usize);
        codes.get(lists_at..).and_then(|lists| lists.get(start..end)).unwrap_or_default()
    }

    /// The tokens of a document (none past the end).
    #[inline]
    pub fn doc(&self, doc: DocId) -> TokensOfDoc<'_> {
        self.doc_at(self.span(doc))
    }

    /// Returns the span of a document's tokens, which is empty past the end.
    #[inline]
    fn span(&self, doc: DocId) -> Span {
        let [start, end] = self.offsets_shape.get_two(&self.offsets, doc as usize);
        Span { start: start as usize, end: end as usize }
    }

    /// The tokens that are there.
    #[inline]
    pub fn doc_at(&self, Span { start, end }: Span) -> TokensOfDoc<'_> {
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

    /// The documents in pieces, in their order, each with where its tokens are, such that those of the next piece are on
    /// their way from memory while one is worked on. `id`: `None` for what is not read.
    pub fn fetched<'d, T>(
        &self,
        docs: &'d [T],
        id: impl Fn(&T) -> Option<DocId>,
    ) -> impl Iterator<Item = Piece<'d, T>> {
        let mut pieces = docs.chunks(DOCS_PER_FETCH);
        let fetch = move |piece: Option<&'d [T]>| {
            let piece = piece?;
            let mut spans = [Span::default(); DOCS_PER_FETCH];
            for (span, doc) in spans.iter_mut().zip(piece) {
                *span = id(doc).map_or(Span::default(), |doc| self.fetch(doc));
            }
            Some(piece.iter().zip(spans))
        };
        let mut next = fetch(pieces.next());
        std::iter::from_fn(move || {
            let piece = next.take()?;
            next = fetch(pieces.next());
            Some(piece)
        })
    }

    /// Asks for the first bytes of a document, which mostly are all.
    #[inline]
    fn fetch(&self, doc: DocId) -> Span {
        let span = self.span(doc);
        let tokens = self.tokens.as_slice();
        for line in 0..LINES_PER_FETCH {
            tokens.get(span.start + line * CACHE_LINE..).into_iter().for_each(fetch);
        }
        span
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
        let len_max = self.len_max();
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

    /// The number of tokens, and where they are.
    #[inline]
    pub(super) fn packed(&self) -> (usize, Packed<'a>) {
        // Fields of fewer than 128 tokens are counted in a byte each.
        if let FieldIds::Common(fields) = &self.fields
            && let Some((counts, classes)) = self.counts.split_at_checked(fields.len())
            && counts.iter().all(|&count| count < 0x80)
        {
            let len = counts.iter().map(|&count| usize::from(count)).sum::<usize>().min(self.len_max());
            return (len, Packed { classes, values: classes.get(len.div_ceil(4)..).unwrap_or_default() });
        }
        self.read_counts(|_, _| {})
    }

    /// Each token takes at least its two class bits: a damaged count cannot ask for more than the bytes hold.
    fn len_max(&self) -> usize {
        self.bytes_max.min(self.counts.len()).saturating_mul(4).min(TOKENS_MAX)
    }

    /// The term that a value of a class stands for.
    #[inline(always)]
    pub(super) fn ordinal(&self, class: u8, value: u32) -> TermOrdinal {
        self.column.decoder.ordinal(self.column.table(), class, value)
    }

    pub(super) fn decoder(&self) -> &'a Decoder {
        &self.column.decoder
    }

    /// Number of tokens of all fields, gaps included.
    pub fn len(&self) -> usize {
        self.packed().0
    }

    /// Reports whether the document has no token.
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
        let (len, packed) = self.packed();
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

    /// Works like [`decode`](Self::decode), but leaves tokens as codes, of which [`WantedTerms`] has the terms.
    pub fn decode_codes(&self, fields: &mut Vec<(FieldId, u32)>, codes: &mut Vec<u32>) {
        fields.clear();
        let (len, packed) = self.read_counts(|field, end| fields.push((field, end as u32)));
        codes.resize(len, 0);
        self.column.decoder.codes(packed, codes);
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

    /// Reports whether there is no token (never true for a run of an undamaged file).
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
