//! Decodes the codes of consecutive tokens.

use lamina_text::id::{GAP, TermOrdinal};

use super::codes::{CLASS_COUNT, CodeShape};

/// Tokens whose classes fit one 64-bit load.
const TOKENS_PER_WORD: usize = 32;
/// The lower bit of each class in such a load.
const LOW_BITS: u64 = 0x5555_5555_5555_5555;

/// Classes and values of consecutive tokens. Both slices reach to the end of the section, which is padded, so that whole
/// 64-bit words can be loaded anywhere in a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed<'a> {
    pub(super) classes: &'a [u8],
    pub(super) values: &'a [u8],
}

impl Packed<'_> {
    /// The bits of values from `bit` on: 57 of them, and maybe some more.
    #[inline(always)]
    pub(super) fn bits(&self, bit: usize) -> u64 {
        load(self.values, bit >> 3) >> (bit & 7)
    }

    /// The value of `width` bits, at most 32, that starts at `bit`.
    #[inline(always)]
    pub(super) fn value(&self, bit: usize, width: usize) -> u32 {
        (self.bits(bit) & ((1 << width) - 1)) as u32
    }

    /// The classes of four tokens.
    #[inline(always)]
    pub(super) fn class_byte(&self, byte: usize) -> u8 {
        self.classes.get(byte).copied().unwrap_or(0)
    }

    /// The class of a token.
    #[inline(always)]
    pub(super) fn class(&self, place: usize) -> u8 {
        self.class_byte(place / TOKENS_PER_BYTE) >> (2 * (place % TOKENS_PER_BYTE)) & 3
    }
}

/// The 64 bits at byte `at`: zeros past the end, where only damaged offsets lead.
#[inline(always)]
fn load(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 8).and_then(|bytes| bytes.first_chunk::<8>()) {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => 0,
    }
}

/// Offsets, masks and starts of the four tokens of a byte of classes, so that their values can be read independently of
/// each other.
#[derive(Clone, Copy, Default)]
struct FourTokens {
    /// Offset of each value, in bits from the first one, and the end of the last one.
    offsets: [u8; TOKENS_PER_BYTE + 1],
    masks: [u32; TOKENS_PER_BYTE],
    starts: [u32; TOKENS_PER_BYTE],
}

pub(super) const TOKENS_PER_BYTE: usize = 4;

/// Bytes that hold the values of four tokens, wherever the first one starts in the first byte, and a load at the last.
const WINDOW_BYTES: usize = 24;
/// The last byte at which one of them starts, rounded up to a power of two less one: an index that the compiler checks
/// once.
const WINDOW_START_MAX: usize = 15;

impl FourTokens {
    /// The code of one of the tokens, whose values start at a bit of the first byte.
    #[inline(always)]
    fn code(&self, window: &[u8; WINDOW_BYTES], bit: usize, token: usize) -> u32 {
        let at = bit + usize::from(self.offsets[token]);
        let bytes = &window[at >> 3 & WINDOW_START_MAX..];
        let word = bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        ((word >> (at & 7)) as u32 & self.masks[token]).wrapping_add(self.starts[token])
    }
}

/// The bytes at `at`; `padded` takes them where the section ends.
#[inline(always)]
fn window<'a>(values: &'a [u8], at: usize, padded: &'a mut [u8; WINDOW_BYTES]) -> &'a [u8; WINDOW_BYTES] {
    let rest = values.get(at..).unwrap_or_default();
    if let Some(window) = rest.first_chunk() {
        return window;
    }
    padded.fill(0);
    padded[..rest.len()].copy_from_slice(rest);
    padded
}

/// The tables of the decoding loop: 10 kB per segment, made when it is opened.
pub(super) struct Decoder {
    widths: [usize; CLASS_COUNT],
    starts: [u32; CLASS_COUNT],
    four: Box<[FourTokens; 256]>,
}

impl Decoder {
    pub(super) fn new(shape: &CodeShape) -> Decoder {
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
        Decoder { widths: shape.widths.map(usize::from), starts: shape.starts, four }
    }

    /// Replaces `out` by the ordinals of as many tokens, from the `first` one on.
    #[inline]
    pub(super) fn decode(&self, table: &[[u8; 4]], packed: Packed<'_>, first: usize, out: &mut [TermOrdinal]) {
        self.decode_as(packed, first, out, |code| ordinal(table, code));
    }

    /// Replaces `out` by the codes of as many tokens.
    #[inline]
    pub(super) fn codes(&self, packed: Packed<'_>, out: &mut [u32]) {
        self.decode_as(packed, 0, out, |code| code);
    }

    #[inline(always)]
    fn decode_as(&self, packed: Packed<'_>, first: usize, out: &mut [u32], of_code: impl Fn(u32) -> u32) {
        let mut bit = self.bits_before(packed.classes, first);
        let mut padded = [0; WINDOW_BYTES];
        // Up to the first token whose classes start a byte.
        let skipped = first % TOKENS_PER_BYTE;
        let head = ((TOKENS_PER_BYTE - skipped) % TOKENS_PER_BYTE).min(out.len());
        let (head_out, rest) = out.split_at_mut(head);
        if head > 0 {
            let entry = self.four_at(packed, first / TOKENS_PER_BYTE);
            // The first value is at `bit`, but the entry counts from the first token of the byte.
            let before = usize::from(entry.offsets[skipped]);
            for (slot, token) in head_out.iter_mut().zip(skipped..) {
                let [at, end] = [token, token + 1].map(|token| usize::from(entry.offsets[token]) - before + bit);
                *slot = of_code(packed.value(at, end - at).wrapping_add(entry.starts[token]));
            }
            bit += usize::from(entry.offsets[skipped + head]) - before;
        }
        let class_byte = first.div_ceil(TOKENS_PER_BYTE);
        let (whole, tail) = rest.as_chunks_mut::<TOKENS_PER_BYTE>();
        let classes = packed.classes.get(class_byte..).unwrap_or_default();
        for (out, &classes) in whole.iter_mut().zip(classes) {
            let entry = &self.four[usize::from(classes)];
            let window = window(packed.values, bit >> 3, &mut padded);
            let value = |token| of_code(entry.code(window, bit & 7, token));
            *out = [value(0), value(1), value(2), value(3)];
            bit += usize::from(entry.offsets[TOKENS_PER_BYTE]);
        }
        // Only a damaged document has fewer classes than tokens: what is not read is not what was there before.
        whole.iter_mut().skip(classes.len()).for_each(|out| out.fill(GAP));
        if !tail.is_empty() {
            let entry = self.four_at(packed, class_byte + whole.len());
            let window = window(packed.values, bit >> 3, &mut padded);
            for (token, slot) in tail.iter_mut().enumerate() {
                *slot = of_code(entry.code(window, bit & 7, token));
            }
        }
    }

    #[inline(always)]
    fn four_at(&self, packed: Packed<'_>, at: usize) -> &FourTokens {
        &self.four[usize::from(packed.class_byte(at))]
    }

    /// Returns the ordinal that a value of a class represents.
    #[inline(always)]
    pub(super) fn ordinal(&self, table: &[[u8; 4]], class: u8, value: u32) -> TermOrdinal {
        ordinal(table, value.wrapping_add(self.starts[usize::from(class & 3)]))
    }

    /// Bits of a value of a class.
    #[inline(always)]
    pub(super) fn width(&self, class: u8) -> usize {
        self.widths[usize::from(class & 3)]
    }

    /// Bits of the values of the first `token` tokens of a byte of classes.
    #[inline(always)]
    pub(super) fn bits_of(&self, classes: u8, token: usize) -> usize {
        usize::from(self.four[usize::from(classes)].offsets[token])
    }

    /// Bits of the values of the first `count` tokens.
    pub(super) fn bits_before(&self, classes: &[u8], count: usize) -> usize {
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
pub(super) fn ordinal(table: &[[u8; 4]], code: u32) -> TermOrdinal {
    let length = table.len() as u32;
    let place = code.min(length.wrapping_sub(1)) as usize;
    let short = table.get(place).map_or(0, |ordinal| u32::from_le_bytes(*ordinal));
    let is_ordinal = u32::from(code >= length).wrapping_neg();
    (short & !is_ordinal) | (code.wrapping_sub(length) & is_ordinal)
}
