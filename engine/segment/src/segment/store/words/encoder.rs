//! Writes texts as codes of a model.

use super::huffman::codes;
use super::tokens::{Class, Token, Tokens, first_eight};
use super::{FIRST_NUMBER, FIRST_PHRASE, LENGTH_BITS, Model, NO_PHRASE, NUMBER_BITS, SPELLED, SPELLED_WORD};
use crate::bits::kernels::fetch;

/// Tokens that are cut before they are looked up, so that their slots are brought from memory meanwhile.
const BATCH: usize = 16;

/// Finds phrases: the one that continues another with a token. A look-up is one cache miss, mostly: what is compared is in the
/// table itself.
struct Phrases {
    /// A power of two, half of them free.
    slots: Box<[Slot]>,
    /// By phrase a bit: whether another one continues it.
    continued: Box<[u64]>,
    /// Tokens of more than eight bytes.
    long: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Slot {
    /// The bytes of a short token, by [`first_eight`]; where those of a longer one start.
    place: u64,
    parent: u32,
    /// The phrase, and the length of its token in the low byte; [`FREE`]: nothing.
    number_and_length: u32,
}

const FREE: u32 = u32::MAX;
/// A look-up ends after so many slots: no documents can make one long.
const PROBES_MAX: usize = 64;
const SHORT: usize = 8;
/// Longer tokens than this are none of a phrase, which may be only in a damaged model.
const LENGTH_MAX: usize = 255;

impl Phrases {
    fn new(model: &Model) -> Phrases {
        let free = Slot { place: 0, parent: 0, number_and_length: FREE };
        let mut phrases = Phrases {
            slots: vec![free; (2 * model.len() + 2).next_power_of_two()].into(),
            continued: vec![0; model.len() / 64 + 1].into(),
            long: Vec::new(),
        };
        for phrase in 0..model.len() {
            phrases.push(phrase as u32, model.parents[phrase], model.token(phrase));
        }
        phrases
    }

    fn push(&mut self, number: u32, parent: u32, token: &[u8]) {
        if token.len() > LENGTH_MAX {
            return;
        }
        let eight = first_eight(token);
        let place = if token.len() <= SHORT { eight } else { self.long.len() as u64 };
        if token.len() > SHORT {
            self.long.extend_from_slice(token);
        }
        if parent != NO_PHRASE {
            self.continued[parent as usize / 64] |= 1 << (parent % 64);
        }
        let (first, mask) = (self.first_slot(parent, hash(token, eight)), self.slots.len() - 1);
        // A phrase without a place is not used.
        let free = (first..first + PROBES_MAX).find(|at| self.slots[at & mask].number_and_length == FREE);
        if let Some(at) = free {
            self.slots[at & mask] = Slot { place, parent, number_and_length: number << 8 | token.len() as u32 };
        }
    }

    #[inline]
    fn first_slot(&self, parent: u32, hash: u64) -> usize {
        (hash ^ u64::from(parent).wrapping_mul(ODD) >> 32) as usize & (self.slots.len() - 1)
    }

    /// Has the slot of a phrase of one token brought from memory.
    #[inline]
    fn fetch(&self, hash: u64) {
        fetch(&self.slots[self.first_slot(NO_PHRASE, hash)..]);
    }

    /// `hash` is that of the token.
    #[inline]
    fn find(&self, parent: u32, token: &Token<'_>, hash: u64) -> Option<u32> {
        let is_short = token.bytes.len() <= SHORT;
        let mask = self.slots.len() - 1;
        let first = self.first_slot(parent, hash);
        for at in first..first + PROBES_MAX {
            let slot = self.slots[at & mask];
            if slot.number_and_length == FREE {
                return None;
            }
            let is_it = slot.parent == parent
                && slot.number_and_length as usize & LENGTH_MAX == token.bytes.len()
                && if is_short {
                    slot.place == token.eight
                } else {
                    self.long.get(slot.place as usize..).is_some_and(|long| long.starts_with(token.bytes))
                };
            if is_it {
                return Some(slot.number_and_length >> 8);
            }
        }
        None
    }

    /// The phrase that goes on with this token.
    #[inline]
    fn longer(&self, phrase: u32, token: &Token<'_>, hash: u64) -> Option<u32> {
        let is_continued = self.continued[phrase as usize / 64] >> (phrase % 64) & 1 == 1;
        if is_continued { self.find(phrase, token, hash) } else { None }
    }
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
fn fold(mixed: u64, eight: u64) -> u64 {
    // Both halves of the product: short tokens have their bytes in the low half of a number.
    let product = u128::from(mixed ^ eight) * u128::from(ODD);
    product as u64 ^ (product >> 64) as u64
}

/// Computes the hash of the length and of the first and last eight bytes. Few tokens are longer. `eight`: the first
/// bytes, as [`first_eight`] returns them.
#[inline]
fn hash(token: &[u8], eight: u64) -> u64 {
    let start = fold(token.len() as u64 + 1, eight);
    match token.last_chunk::<8>() {
        Some(last) if token.len() > SHORT => fold(start, u64::from_le_bytes(*last)),
        _ => start,
    }
}

/// Appends bits, the highest first.
struct Bits<'a> {
    out: &'a mut Vec<u8>,
    pending: u64,
    pending_bits: u32,
}

impl Bits<'_> {
    /// The low `width` bits of `value` (`width` at most 32, higher ones are 0).
    #[inline]
    fn put(&mut self, value: u32, width: u8) {
        self.pending = self.pending << width | u64::from(value);
        self.pending_bits += u32::from(width);
        if self.pending_bits >= 32 {
            self.pending_bits -= 32;
            self.out.extend_from_slice(&((self.pending >> self.pending_bits) as u32).to_be_bytes());
        }
    }

    /// A code with its length in the low byte.
    #[inline]
    fn put_code(&mut self, code_and_length: u32) {
        self.put(code_and_length >> 8, code_and_length as u8);
    }

    /// Fills the last byte with ones.
    fn finish(mut self) {
        let fill = (8 - self.pending_bits % 8) % 8;
        self.put((1 << fill) - 1, fill as u8);
        let bytes = (self.pending_bits / 8) as usize;
        let rest = (self.pending << (64 - self.pending_bits.max(1))).to_be_bytes();
        self.out.extend_from_slice(&rest[..bytes]);
    }
}

/// Writes texts with the codes of a model.
pub(in super::super) struct WordEncoder {
    phrases: Phrases,
    /// By symbol its code, and the length of that in the low byte.
    codes: Vec<u32>,
    /// By byte the same.
    byte_codes: Vec<u32>,
}

impl WordEncoder {
    /// `None` when these are not the bytes of a model.
    pub(in super::super) fn new(dictionary: &[u8]) -> Option<WordEncoder> {
        Some(WordEncoder::of(&Model::read(dictionary)?))
    }

    pub(super) fn of(model: &Model) -> WordEncoder {
        let with_lengths = |lengths: &[u8]| {
            codes(lengths).iter().zip(lengths).map(|(code, length)| code << 8 | u32::from(*length)).collect()
        };
        WordEncoder {
            phrases: Phrases::new(model),
            codes: with_lengths(&model.lengths),
            byte_codes: with_lengths(&model.byte_lengths),
        }
    }

    /// Appends the codes of a text. Cost: a look at each byte, and two look-ups in a table for each word.
    pub(in super::super) fn encode(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut bits = Bits { out, pending: 0, pending_bits: 0 };
        let mut open = NO_PHRASE;
        let mut tokens = Tokens::new(text);
        loop {
            let mut batch = [(Token { class: Class::Raw, bytes: &[], eight: 0 }, 0); BATCH];
            let mut count = 0;
            for (place, token) in batch.iter_mut().zip(&mut tokens) {
                *place = (token, hash(token.bytes, token.eight));
                self.phrases.fetch(place.1);
                count += 1;
            }
            if count == 0 {
                break;
            }
            batch[..count].iter().for_each(|(token, hash)| open = self.encode_token(open, token, *hash, &mut bits));
        }
        if open != NO_PHRASE {
            self.put(&mut bits, FIRST_PHRASE + open);
        }
        bits.finish();
    }

    /// The phrase that is open behind a token, or [`NO_PHRASE`].
    #[inline]
    fn encode_token(&self, open: u32, token: &Token<'_>, hash: u64, bits: &mut Bits<'_>) -> u32 {
        let is_of_phrases = token.class != Class::Raw;
        if open != NO_PHRASE {
            if is_of_phrases && let Some(longer) = self.phrases.longer(open, token, hash) {
                return longer;
            }
            self.put(bits, FIRST_PHRASE + open);
        }
        match self.phrases.find(NO_PHRASE, token, hash) {
            Some(phrase) if is_of_phrases => phrase,
            _ => {
                self.spell(bits, token);
                NO_PHRASE
            }
        }
    }

    #[inline]
    fn put(&self, bits: &mut Bits<'_>, symbol: u32) {
        bits.put_code(self.codes[symbol as usize]);
    }

    /// A token that no phrase begins with.
    fn spell(&self, bits: &mut Bits<'_>, token: &Token<'_>) {
        if token.class == Class::Digits {
            let digits = token.bytes.len();
            self.put(bits, FIRST_NUMBER + digits as u32 - 1);
            let number = token.bytes.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
            let width = NUMBER_BITS[digits - 1];
            if width > 32 {
                bits.put((number >> 32) as u32, width - 32);
            }
            bits.put(number as u32 & (u32::MAX >> (32 - width.min(32))), width.min(32));
            return;
        }
        self.put(bits, if token.class == Class::Word { SPELLED_WORD } else { SPELLED });
        bits.put(token.bytes.len() as u32, LENGTH_BITS);
        for &byte in token.bytes {
            bits.put_code(self.byte_codes[usize::from(byte)]);
        }
    }
}

impl std::fmt::Debug for WordEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WordEncoder({} phrases)", self.codes.len())
    }
}
