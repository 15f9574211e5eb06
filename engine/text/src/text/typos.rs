//! Words within one or two typos of another one, found byte by byte.
//!
//! The universal Levenshtein automaton of Mihov and Schulz (2004), with transpositions. Of the table of edit distances only
//! a band around the diagonal can be within two typos, and a row of the band follows from the row before it and from where
//! around the diagonal the character occurs that is read. So all rows that can be are numbered once, for all words: an
//! automaton for a word is its list of characters, and nothing is built while a search waits for an answer.

use std::sync::LazyLock;

use hashbrown::HashMap;

/// Most typos that are counted.
pub const TYPOS_MAX: u8 = 2;
/// Cells of a row: as many on both sides of the diagonal as there are typos.
const BAND: usize = 2 * TYPOS_MAX as usize + 1;
/// More typos than are counted.
const FAR: u8 = TYPOS_MAX + 1;
/// Cells that a transposition can come to without being far.
const SWAPS: std::ops::RangeInclusive<usize> = 1..=BAND - 2;
/// No character.
const NONE: u32 = u32::MAX;

/// A row of the band, and what follows from it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Row {
    /// Typos at each place, from the one two characters behind the diagonal on.
    cells: [u8; BAND],
    /// By cell of the next row its typos if the last character and the next one are swapped; for `SWAPS`.
    swaps: [u8; BAND],
}

impl Row {
    /// Before anything is read: characters of the word can only be missing.
    const FIRST: Row = {
        let (mut cells, mut typos) = ([FAR; BAND], 0);
        while typos <= TYPOS_MAX {
            cells[(TYPOS_MAX + typos) as usize] = typos;
            typos += 1;
        }
        Row { cells, swaps: [FAR; BAND] }
    };

    /// The row after a character. `places`: bit `n` says that the character of the word at cell `n` is that one.
    fn next(&self, places: usize) -> Row {
        let is_at = |cell: usize| places >> cell & 1 == 1;
        let mut row = Row { cells: [FAR; BAND], swaps: [FAR; BAND] };
        for cell in 0..BAND {
            let mut typos = self.cells[cell] + u8::from(!is_at(cell));
            if cell + 1 < BAND {
                typos = typos.min(self.cells[cell + 1] + 1);
            }
            if cell > 0 {
                typos = typos.min(row.cells[cell - 1] + 1);
            }
            if SWAPS.contains(&cell) {
                if is_at(cell - 1) {
                    typos = typos.min(self.swaps[cell]);
                }
                if is_at(cell + 1) {
                    row.swaps[cell] = (self.cells[cell] + 1).min(FAR);
                }
            }
            row.cells[cell] = typos.min(FAR);
        }
        row
    }
}

/// All rows that can be, by number.
struct Rows {
    next: Vec<[u16; 1 << BAND]>,
    cells: Vec<[u8; BAND]>,
    /// By number of typos: which cells have at most so many.
    within: Vec<[u8; TYPOS_MAX as usize + 1]>,
    /// By number of typos: characters at which cells of the next row lead to one that is within so many.
    leads: Vec<[u8; TYPOS_MAX as usize + 1]>,
}

static ROWS: LazyLock<Rows> = LazyLock::new(|| {
    let mut numbers: HashMap<Row, u16> = HashMap::from([(Row::FIRST, 0)]);
    let mut found = vec![Row::FIRST];
    let mut rows = Rows { next: Vec::new(), cells: Vec::new(), within: Vec::new(), leads: Vec::new() };
    while let Some(row) = found.get(rows.next.len()).copied() {
        rows.next.push(std::array::from_fn(|places| {
            let next = row.next(places);
            *numbers.entry(next).or_insert_with(|| {
                found.push(next);
                found.len() as u16 - 1
            })
        }));
        rows.cells.push(row.cells);
        rows.within.push(std::array::from_fn(|typos| {
            let cells = row.cells.iter().enumerate().filter(|&(_, &cell)| usize::from(cell) <= typos);
            cells.fold(0, |all, (cell, _)| all | 1 << cell)
        }));
    }
    // The typos of a cell are the fewest of ways that look at one character each, so that two characters lead where one
    // of them does.
    rows.leads = rows.next.iter().map(|next| leads(next, &rows.within)).collect();
    rows
});

fn leads(next: &[u16; 1 << BAND], within: &[[u8; TYPOS_MAX as usize + 1]]) -> [u8; TYPOS_MAX as usize + 1] {
    std::array::from_fn(|typos| {
        let near = |&cell: &usize| within[usize::from(next[1 << cell])][typos] != 0;
        (0..BAND).filter(near).fold(0, |all, cell| all | 1 << cell)
    })
}

/// A few different bytes, ascending.
#[derive(Clone, Copy, Debug, Default)]
pub struct Letters {
    bytes: [u8; BAND],
    len: u8,
}

impl Letters {
    /// Only this one.
    pub fn one(byte: u8) -> Letters {
        let mut letters = Letters::default();
        letters.add(byte);
        letters
    }

    /// At most as many as a row has cells.
    #[inline]
    fn add(&mut self, byte: u8) {
        let mut at = usize::from(self.len);
        if self.bytes[..at].contains(&byte) {
            return;
        }
        while at > 0 && self.bytes[at - 1] > byte {
            self.bytes[at] = self.bytes[at - 1];
            at -= 1;
        }
        self.bytes[at] = byte;
        self.len += 1;
    }
}

impl AsRef<[u8]> for Letters {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A word, and how far others may be from it: the optimal string alignment distance, in characters.
#[derive(Clone, Debug)]
pub struct TypoPattern {
    /// The characters, with [`NONE`] around them so that every row has a whole band.
    padded: Vec<u32>,
    len: usize,
    /// True if longer words match too. Then the nearest of their prefixes counts.
    prefix: bool,
    typos_max: u8,
}

/// State of the automaton after the bytes read so far.
#[derive(Clone, Copy, Debug)]
pub struct TypoState {
    row: u16,
    /// Fewest typos of any beginning.
    best: u8,
    /// Bytes that the current character lacks.
    missing: u8,
    /// Characters read.
    chars: u32,
    /// Bits of the current character read so far.
    partial: u32,
}

impl TypoPattern {
    /// `typos_max`: 1 or 2.
    pub fn new(word: &str, prefix: bool, typos_max: u8) -> TypoPattern {
        debug_assert!((1..=TYPOS_MAX).contains(&typos_max), "nothing else is counted");
        let around = usize::from(TYPOS_MAX);
        let mut padded = vec![NONE; around];
        padded.extend(word.chars().map(u32::from));
        let len = padded.len() - around;
        padded.resize(padded.len() + BAND, NONE);
        TypoPattern { padded, len, prefix, typos_max: typos_max.min(TYPOS_MAX) }
    }

    /// Nothing read.
    pub fn start(&self) -> TypoState {
        let reading = TypoState { row: 0, best: FAR, missing: 0, chars: 0, partial: 0 };
        TypoState { best: self.cell(&ROWS, reading), ..reading }
    }

    /// One more byte of UTF-8; `None` when no text that begins like this is near enough. Cost: some nanoseconds.
    #[inline]
    pub fn step(&self, mut reading: TypoState, byte: u8) -> Option<TypoState> {
        let character = match byte {
            0..0x80 => u32::from(byte),
            0x80..0xc0 => {
                reading.partial = reading.partial << 6 | u32::from(byte & 0x3f);
                reading.missing = reading.missing.saturating_sub(1);
                if reading.missing > 0 {
                    return Some(reading);
                }
                reading.partial
            }
            _ => {
                let bytes = byte.leading_ones() as u8;
                return Some(TypoState {
                    missing: bytes - 1,
                    partial: u32::from(byte) & (0x7f >> bytes.min(7)),
                    ..reading
                });
            }
        };
        self.read(reading, character)
    }

    /// The only bytes that can follow, if that is known: once no typo is left to make, some of the word.
    #[inline]
    pub fn only(&self, reading: TypoState) -> Option<Letters> {
        let (rows, row) = (&*ROWS, usize::from(reading.row));
        let can_err = self.is_near(rows, rows.next[row][0], reading.chars + 1);
        if reading.missing > 0 || can_err || (self.prefix && reading.best <= self.typos_max) {
            return None;
        }
        let around = self.padded.get(reading.chars as usize..)?.first_chunk::<BAND>()?;
        let mut leads = rows.leads[row][usize::from(self.typos_max)];
        let mut letters = Letters::default();
        while leads != 0 {
            let character = around[leads.trailing_zeros() as usize];
            if character != NONE {
                letters.add(u8::try_from(character).ok().filter(u8::is_ascii)?);
            }
            leads &= leads - 1;
        }
        Some(letters)
    }

    /// Reports whether a row after so many characters can still lead to the end of the word.
    #[inline]
    fn is_near(&self, rows: &Rows, row: u16, chars: u32) -> bool {
        // Cells past the end of the word stand for nothing.
        let Some(last) = (self.len + usize::from(TYPOS_MAX)).checked_sub(chars as usize) else { return false };
        let within = rows.within[usize::from(row)][usize::from(self.typos_max)];
        u32::from(within) & ((2 << last.min(BAND)) - 1) != 0
    }

    #[inline]
    fn read(&self, reading: TypoState, character: u32) -> Option<TypoState> {
        let rows = &*ROWS;
        let around = self.padded.get(reading.chars as usize..).and_then(|rest| rest.first_chunk::<BAND>());
        let places = around.map_or(0, |around| {
            (0..BAND).fold(0, |places, cell| places | usize::from(around[cell] == character) << cell)
        });
        let row = rows.next[usize::from(reading.row)][places];
        let read = TypoState { row, chars: reading.chars + 1, ..reading };
        let read = TypoState { best: reading.best.min(self.cell(rows, read)), ..read };
        let is_open = self.prefix && read.best <= self.typos_max;
        (is_open || self.is_near(rows, row, read.chars)).then_some(read)
    }

    /// Typos between the whole word and what was read.
    fn cell(&self, rows: &Rows, reading: TypoState) -> u8 {
        let cell = (self.len + usize::from(TYPOS_MAX)).wrapping_sub(reading.chars as usize);
        rows.cells[usize::from(reading.row)].get(cell).copied().unwrap_or(FAR)
    }

    /// The number of typos of a text, if it is near enough.
    pub fn typos_of(&self, text: &str) -> Option<u8> {
        let read = text.bytes().try_fold(self.start(), |reading, byte| self.step(reading, byte));
        self.typos(read?)
    }

    /// The number of typos, if what was read is near enough.
    #[inline]
    pub fn typos(&self, reading: TypoState) -> Option<u8> {
        let typos = if self.prefix { reading.best } else { self.cell(&ROWS, reading) };
        (typos <= self.typos_max && reading.missing == 0).then_some(typos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// From the definition: substitutions, insertions, deletions, swaps of neighbours.
    fn distance(a: &[char], b: &[char]) -> usize {
        let mut table = vec![vec![0usize; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let mut least = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    least = least.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        least = least.min(table[i - 2][j - 2] + 1);
                    }
                    least
                };
            }
        }
        table[a.len()][b.len()]
    }

    fn check(word: &str, text: &str) {
        let (w, t): (Vec<char>, Vec<char>) = (word.chars().collect(), text.chars().collect());
        for typos_max in 1..=TYPOS_MAX {
            let near = |typos: usize| (typos <= usize::from(typos_max)).then_some(typos as u8);
            let whole = TypoPattern::new(word, false, typos_max);
            assert_eq!(whole.typos_of(text), near(distance(&w, &t)), "{word} {text} {typos_max}");
            let best = (0..=t.len()).map(|len| distance(&w, &t[..len])).min().expect("at least the empty beginning");
            let open = TypoPattern::new(word, true, typos_max);
            assert_eq!(open.typos_of(text), near(best), "{word}* {text} {typos_max}");
            for pattern in [whole, open] {
                let mut reading = Some(pattern.start());
                for byte in text.bytes() {
                    let Some(before) = reading else { break };
                    reading = pattern.step(before, byte);
                    let only = pattern.only(before);
                    assert!(only.is_none_or(|only| only.as_ref().is_sorted()));
                    let is_admitted = only.is_none_or(|only| only.as_ref().contains(&byte));
                    // The first of several bytes is read without a look at what follows.
                    assert!(is_admitted || byte >= 0x80 || reading.is_none(), "{word} {text} {typos_max} {byte}");
                }
            }
        }
    }

    #[test]
    fn all_short_words_over_two_letters() {
        let mut words = vec![String::new()];
        for len in 0..6usize {
            let longer: Vec<String> =
                words.iter().filter(|w| w.len() == len).flat_map(|w| [format!("{w}a"), format!("{w}b")]).collect();
            words.extend(longer);
        }
        for word in &words {
            for text in &words {
                check(word, text);
            }
        }
    }

    #[test]
    fn long_words_and_other_scripts() {
        let long = "a".repeat(200);
        check(&long, &long);
        check(&long, &format!("{long}b"));
        check(&long, &long[1..]);
        check("żółw", "żółv");
        check("żółw", "óżłw");
        check("日本語", "日語本");
        check("𝒳yz", "y𝒳z");
        check("x", "");
        check("", "xyz");
    }

    #[test]
    fn there_are_few_rows() {
        assert!(ROWS.next.len() < 1000, "{}", ROWS.next.len());
    }

    proptest! {
        #[test]
        fn distances_are_those_of_the_definition(word in "[abé]{0,9}", text in "[abé]{0,11}") {
            check(&word, &text);
        }

        #[test]
        fn and_after_a_few_changes(word in "[a-f]{3,14}", changes in prop::collection::vec((0usize..14, 0u8..4, prop::char::range('a', 'g')), 0..3)) {
            let mut text: Vec<char> = word.chars().collect();
            for (at, change, letter) in changes {
                let at = at % (text.len().max(1));
                match change {
                    0 => text.insert(at, letter),
                    1 if !text.is_empty() => { text.remove(at); }
                    2 if at + 1 < text.len() => text.swap(at, at + 1),
                    _ if !text.is_empty() => text[at] = letter,
                    _ => {}
                }
            }
            check(&word, &text.into_iter().collect::<String>());
        }
    }
}
