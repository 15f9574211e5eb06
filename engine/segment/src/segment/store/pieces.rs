//! What the documents of an index have between their values, as short codes.
//!
//! `{"id":`, `,"title":"`, `","tags":["`: these pieces of JSON are nearly the same in all documents. The most frequent
//! ones have a number, which is written in their place as one or two bytes that valid JSON never holds. The compressor
//! is left with the values: it packs smaller, and saves most of the time that finding them takes. The JSON comes back
//! byte by byte, whatever it is.

use crate::bits::varint::{put_varint, read_varint};
use crate::document::string_end;
use hashbrown::HashMap;

/// Pieces are learned from this many bytes of documents.
const LEARNED_BYTES: usize = 1024 * 1024;
/// A rarer piece among them has no number.
const SEEN_MIN: u32 = 16;
/// Bytes of all pieces: they are kept in memory.
pub(in crate::segment) const PIECES_BYTES_MAX: usize = 16 * 1024;
/// Control characters, but for those that JSON may have between its parts: tab, line feed and carriage return.
const SHORT_CODES: u16 = 29;
/// First of the eight bytes that begin codes of two; UTF-8 has none of them.
const FIRST_LEAD: u8 = 0xf8;
pub(in crate::segment) const PIECES_MAX: usize = SHORT_CODES as usize + 8 * 256;
/// Placeholder number: no piece.
const NONE: u16 = u16::MAX;

/// Pieces by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces {
    bytes: Vec<u8>,
    /// End of each in `bytes`.
    ends: Vec<u32>,
}

impl Pieces {
    /// The pieces of documents that lie one after the other in `samples`, with these lengths, that are worth a number.
    /// Cost: a few milliseconds.
    pub(super) fn learn(samples: &[u8], lengths: &[usize]) -> Pieces {
        let mut counts: HashMap<&[u8], u32> = HashMap::new();
        let mut at = 0;
        for length in lengths {
            let document = &samples[at..at + length];
            at += length;
            let (mut start, mut in_string) = (0, false);
            while start < document.len() {
                let end = piece_end(document, start, in_string);
                *counts.entry(&document[start..end]).or_default() += 1;
                (start, in_string) = value_end(document, end);
            }
            if at >= LEARNED_BYTES {
                break;
            }
        }
        let frequent = counts.into_iter().filter(|&(piece, count)| piece.len() >= 2 && count >= SEEN_MIN);
        let mut frequent: Vec<(usize, &[u8])> =
            frequent.map(|(piece, count)| (piece.len() * count as usize, piece)).collect();
        frequent.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let mut pieces = Pieces::default();
        for (_, piece) in frequent.into_iter().take(PIECES_MAX) {
            if pieces.bytes.len() + piece.len() <= PIECES_BYTES_MAX {
                pieces.push(piece);
            }
        }
        pieces
    }

    fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        self.ends.push(self.bytes.len() as u32);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn get(&self, number: u16) -> Option<&[u8]> {
        let number = usize::from(number);
        let end = *self.ends.get(number)?;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        Some(&self.bytes[start as usize..end as usize])
    }

    fn all(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).filter_map(|number| self.get(number as u16))
    }

    /// Appends them for the section.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.ends.len() as u64);
        self.all().for_each(|piece| put_varint(out, piece.len() as u64));
        out.extend_from_slice(&self.bytes);
    }

    /// Reads what [`put`](Self::put) wrote at `*at` and moves `*at` behind it. `None` when it is damaged.
    pub(super) fn read(section: &[u8], at: &mut usize) -> Option<Pieces> {
        let count = usize::try_from(read_varint(section, at)?).ok().filter(|&count| count <= PIECES_MAX)?;
        let mut total = 0;
        let mut ends = Vec::with_capacity(count);
        for _ in 0..count {
            total += usize::try_from(read_varint(section, at)?).ok().filter(|&length| length <= PIECES_BYTES_MAX)?;
            ends.push(total as u32);
        }
        let bytes = section.get(*at..)?.get(..total).filter(|_| total <= PIECES_BYTES_MAX)?.to_vec();
        *at += total;
        Some(Pieces { bytes, ends })
    }

    /// Appends the JSON of a text, of at most `limit` bytes. `None` when the text is damaged.
    pub(super) fn decode(&self, mut text: &[u8], mut limit: usize, out: &mut Vec<u8>) -> Option<()> {
        let mut take = |piece: &[u8]| {
            limit = limit.checked_sub(piece.len())?;
            out.extend_from_slice(piece);
            Some(())
        };
        if self.is_empty() {
            return take(text);
        }
        loop {
            let (plain, rest) = text.split_at(plain_bytes(text));
            take(plain)?;
            let Some((&code, rest)) = rest.split_first() else { return Some(()) };
            text = rest;
            let number = match code {
                b'\t' | b'\n' | b'\r' => {
                    take(&[code])?;
                    continue;
                }
                FIRST_LEAD.. => {
                    let (&second, rest) = text.split_first()?;
                    text = rest;
                    SHORT_CODES + u16::from(code - FIRST_LEAD) * 256 + u16::from(second)
                }
                14.. => u16::from(code) - 3,
                11.. => u16::from(code) - 2,
                _ => u16::from(code),
            };
            take(self.get(number)?)?;
        }
    }
}

/// Reports whether the byte begins a code (or is white space that JSON may have).
fn is_code(byte: u8) -> bool {
    byte.wrapping_sub(0x20) >= FIRST_LEAD - 0x20
}

/// Bytes before the first that begins a code.
fn plain_bytes(text: &[u8]) -> usize {
    const LANES: usize = 16;
    // Sixteen at once, without a branch for each.
    let has_none = |lanes: &[u8]| !lanes.iter().fold(false, |found, &byte| found | is_code(byte));
    let plain = text.chunks_exact(LANES).take_while(|lanes| has_none(lanes)).count() * LANES;
    plain + text[plain..].iter().take_while(|&&byte| !is_code(byte)).count()
}

fn put_code(number: u16, out: &mut Vec<u8>) {
    match number {
        0..9 => out.push(number as u8),
        9..11 => out.push(number as u8 + 2),
        11..SHORT_CODES => out.push(number as u8 + 3),
        _ => {
            let long = number - SHORT_CODES;
            out.extend_from_slice(&[FIRST_LEAD + (long >> 8) as u8, long as u8]);
        }
    }
}

/// Writes documents with numbers in the place of pieces.
#[derive(Debug)]
pub(super) struct PieceEncoder {
    pieces: Pieces,
    numbers: HashMap<Box<[u8]>, u16>,
    /// By number, and in the end for documents that begin: the piece that came after it last.
    next: Vec<u16>,
}

impl PieceEncoder {
    pub(super) fn new(pieces: Pieces) -> PieceEncoder {
        let numbers = pieces.all().zip(0..).map(|(piece, number)| (piece.into(), number)).collect();
        PieceEncoder { next: vec![NONE; pieces.ends.len() + 1], numbers, pieces }
    }

    /// Appends the text of a document, never longer than its JSON. Answers whether it could: nothing is appended for what
    /// holds bytes that stand for pieces, which valid JSON never does. Cost: a look at each byte, and one at where each
    /// value ends.
    pub(super) fn encode(&mut self, json: &[u8], out: &mut Vec<u8>) -> bool {
        if self.pieces.is_empty() {
            out.extend_from_slice(json);
            return true;
        }
        let stands_for_a_piece = |&byte: &u8| is_code(byte) && !matches!(byte, b'\t' | b'\n' | b'\r');
        if json.chunks(64).any(|lanes| lanes.iter().fold(false, |found, byte| found | stands_for_a_piece(byte))) {
            return false;
        }
        let start_of_document = self.next.len() - 1;
        let (mut at, mut in_string, mut last) = (0, false, start_of_document);
        while at < json.len() {
            let guess = self.next[last];
            let (number, end, value) = if let Some((end, value)) = self.follows(guess, json, at) {
                (guess, end, value)
            } else {
                let end = piece_end(json, at, in_string);
                let number = self.numbers.get(&json[at..end]).copied().unwrap_or(NONE);
                self.next[last] = number;
                (number, end, value_end(json, end))
            };
            if number == NONE {
                out.extend_from_slice(&json[at..end]);
                last = start_of_document;
            } else {
                put_code(number, out);
                last = usize::from(number);
            }
            (at, in_string) = value;
            out.extend_from_slice(&json[end..at]);
        }
        true
    }

    /// Returns the end of the piece and of its value, if the piece is the one at `at` and the value is not a key that
    /// belongs to a longer piece.
    fn follows(&self, number: u16, json: &[u8], at: usize) -> Option<(usize, (usize, bool))> {
        let piece = self.pieces.get(number)?;
        let end = at + piece.len();
        if !json[at..].starts_with(piece) {
            return None;
        }
        let value = value_end(json, end);
        let is_value = match value {
            (value_end, true) => json.get(value_end + 1) != Some(&b':'),
            _ => json.get(end).is_none_or(|&byte| begins_scalar(byte)),
        };
        is_value.then_some((end, value))
    }
}

/// Returns the end of the piece that starts at `at`: before the next value, inside its quotes. `in_string`: the piece
/// starts with the quote that ends a string.
fn piece_end(json: &[u8], at: usize, in_string: bool) -> usize {
    let mut at = at + usize::from(in_string);
    while let Some(&byte) = json.get(at) {
        if begins_scalar(byte) {
            return at;
        }
        at += 1;
        if byte == b'"' {
            let after = string_end(json, at) + 1;
            let space =
                json.get(after..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            if json.get(after + space) != Some(&b':') {
                return at;
            }
            at = after + space + 1;
        }
    }
    json.len()
}

/// Returns the end of the value that starts at `at`, after a piece, and whether it is a string.
fn value_end(json: &[u8], at: usize) -> (usize, bool) {
    if at == json.len() {
        (at, false)
    } else if json[..at].ends_with(b"\"") {
        (string_end(json, at), true)
    } else {
        let ends = |&byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
        (json[at..].iter().position(ends).map_or(json.len(), |length| at + length), false)
    }
}

/// Reports whether numbers, `true`, `false` or `null` may begin with this byte.
fn begins_scalar(byte: u8) -> bool {
    matches!(byte, b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}

/// The worked example of `segment-format.md`: the section, a text and its JSON.
#[cfg(test)]
pub(in crate::segment) fn example() -> (Vec<u8>, Vec<u8>, &'static [u8]) {
    let mut pieces = Pieces::default();
    [r#"{"id":"#, r#","title":""#, r#""}"#].iter().for_each(|piece| pieces.push(piece.as_bytes()));
    let (mut section, mut text) = (Vec::new(), Vec::new());
    pieces.put(&mut section);
    let json = br#"{"id":7,"title":"Fox"}"#;
    assert!(PieceEncoder::new(pieces).encode(json, &mut text));
    (section, text, json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn learned(documents: &[impl AsRef<[u8]>]) -> Pieces {
        let lengths: Vec<usize> = documents.iter().map(|document| document.as_ref().len()).collect();
        let samples: Vec<u8> = documents.iter().flat_map(|document| document.as_ref()).copied().collect();
        Pieces::learn(&samples, &lengths)
    }

    /// The text of each document, which must come back.
    fn encoded(pieces: &Pieces, documents: &[impl AsRef<[u8]>]) -> Vec<Vec<u8>> {
        let mut encoder = PieceEncoder::new(pieces.clone());
        let mut encode = |document: &[u8]| {
            let (mut text, mut json) = (Vec::new(), Vec::new());
            assert!(encoder.encode(document, &mut text));
            assert!(text.len() <= document.len());
            pieces.decode(&text, document.len(), &mut json).unwrap();
            assert_eq!(String::from_utf8_lossy(&json), String::from_utf8_lossy(document));
            assert_eq!(pieces.decode(&text, document.len() - 1, &mut Vec::new()), None, "longer than it may be");
            text
        };
        documents.iter().map(|document| encode(document.as_ref())).collect()
    }

    fn document(i: u32) -> String {
        let tags = vec![format!("\"t{i}\""); i as usize % 3].join(",");
        let more = if i.is_multiple_of(5) { r#""x":null,"quo\"ted":-1.5e3,"# } else { "" };
        format!(
            r#"{{"id":{i},"title":"A \"title\" \\{i}\\",{more}"tags":[{tags}],"in":{{"a":"","b":true}},"deep":[{{"k":"v"}}]}}"#
        )
    }

    #[test]
    fn values_remain() {
        let documents: Vec<String> = (0..400).map(document).collect();
        let pieces = learned(&documents);
        for (i, text) in encoded(&pieces, &documents).iter().enumerate() {
            let codes = text.iter().filter(|&&byte| is_code(byte)).count();
            let values = documents[i].len() - text.len();
            assert!(!String::from_utf8_lossy(text).contains("title\":"), "{}", String::from_utf8_lossy(text));
            assert!(codes >= 6, "{codes} codes instead of {values} bytes");
            assert!(values >= 50, "{codes} codes instead of {values} bytes");
            assert_eq!(text.windows(2).filter(|pair| pair == b"\":").count(), 0, "no key remains");
        }
        assert_eq!(learned(&documents), pieces, "the same samples, the same pieces");
    }

    #[test]
    fn pieces_that_begin_others_are_distinguished_from_them() {
        // `","` between strings of an array begins `","b":"`; `,"n":` begins `,"n":"`.
        let documents: Vec<String> = (0..200)
            .map(|i| match i % 4 {
                0 => format!(r#"{{"a":["x{i}","y{i}"],"n":"1"}}"#),
                1 => format!(r#"{{"a":"x{i}","b":"y{i}","n":1}}"#),
                2 => format!(r#"{{"a":["x{i}"],"n":[{i},"y"]}}"#),
                _ => format!(r#"{{"a" : "x{i}", "b": "y{i}", "n":{{}}}}"#),
            })
            .collect();
        let pieces = learned(&documents);
        for text in encoded(&pieces, &documents) {
            assert!(!text.contains(&b':'), "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn many_pieces_have_longer_codes() {
        let document = |i: usize| {
            let fields: Vec<String> = (0..500).map(|field| format!(r#""f{field}":{}"#, i * field)).collect();
            format!("{{{}}}", fields.join(","))
        };
        let documents: Vec<String> = (0..40).map(document).collect();
        let pieces = learned(&documents);
        assert!(pieces.ends.len() > 300, "{}", pieces.ends.len());
        let texts = encoded(&pieces, &documents);
        assert!(texts.iter().all(|text| !text.windows(2).any(|pair| pair == b"\":")));
        // More than there may be bytes of.
        let most: Vec<String> = (0..3000).map(|i| format!(r#"{{"{i:04}":1}}"#)).collect();
        let most: Vec<&String> = most.iter().flat_map(|document| [document; SEEN_MIN as usize]).collect();
        let lengths: Vec<usize> = most.iter().map(|document| document.len()).collect();
        let pieces =
            Pieces::learn(most.iter().map(|document| document.as_str()).collect::<String>().as_bytes(), &lengths);
        assert!(pieces.ends.len() > 1500, "{}", pieces.ends.len());
        assert!(pieces.bytes.len() <= PIECES_BYTES_MAX, "{}", pieces.ends.len());
        encoded(&pieces, &most.iter().map(|document| document.as_bytes()).collect::<Vec<_>>());
    }

    #[test]
    fn rare_and_short_pieces_have_none() {
        let documents: Vec<String> = (0..100).map(|i| format!(r#"[{i},2,{{"k{i}":3}}]"#)).collect();
        let pieces = learned(&documents);
        assert_eq!(pieces.all().collect::<Vec<_>>(), [b"}]".as_slice()]);
        assert!(learned(&[""; 0]).is_empty());
        assert!(learned(&[""; 40]).is_empty());
    }

    #[test]
    fn bytes_that_stand_for_pieces_are_refused() {
        let pieces = learned(&(0..100).map(document).collect::<Vec<_>>());
        let mut encoder = PieceEncoder::new(pieces);
        let mut out = Vec::new();
        for byte in (0..=u8::MAX).filter(|&byte| is_code(byte)) {
            let document = [br#"{"id":"#.as_slice(), &[byte], b"1}"].concat();
            let is_white_space = matches!(byte, b'\t' | b'\n' | b'\r');
            assert_eq!(encoder.encode(&document, &mut out), is_white_space, "{byte}");
            assert_eq!(out.is_empty(), !is_white_space);
            out.clear();
        }
    }

    #[test]
    fn damage_is_reported() {
        let pieces = learned(&(0..100).map(|i| format!(r#"{{"id":{i},"title":"A"}}"#)).collect::<Vec<_>>());
        let count = pieces.ends.len() as u8;
        assert_eq!(count, 3);
        let decode = |text: &[u8]| pieces.decode(text, 1000, &mut Vec::new());
        assert_eq!(decode(&[count]), None, "no such piece");
        assert_eq!(decode(&[b'a', FIRST_LEAD]), None, "half a code");
        assert_eq!(decode(&[u8::MAX, u8::MAX]), None);
        let mut section = Vec::new();
        pieces.put(&mut section);
        for end in 0..section.len() {
            assert_eq!(Pieces::read(&section[..end], &mut 0), None, "cut at {end}");
        }
        assert_eq!(Pieces::read(&[0xff, 0xff, 1], &mut 0), None, "too many");
        assert_eq!(Pieces::read(&[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], &mut 0), None, "too long");
    }

    proptest! {
        #[test]
        fn pieces_come_back(
            samples in prop::collection::vec("[{}\\[\\]:,\"\\\\a1t \n]{0,20}", 0..4),
            others in prop::collection::vec("[{}\\[\\]:,\"\\\\a1tb-é \n]{0,40}", 0..20),
        ) {
            let pieces = learned(&samples.iter().flat_map(|sample| [sample; SEEN_MIN as usize]).collect::<Vec<_>>());
            let mut section = vec![7];
            pieces.put(&mut section);
            let mut at = 1;
            prop_assert_eq!(&Pieces::read(&section, &mut at).unwrap(), &pieces);
            prop_assert_eq!(at, section.len());
            let others: Vec<&String> = others.iter().chain(&samples).filter(|other| !other.is_empty()).collect();
            encoded(&pieces, &others);
        }
    }
}
