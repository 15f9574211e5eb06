//! The formatted copy of a document (`_formatted`) and the places of its matches (`_matchesPosition`).

use std::collections::BTreeMap;
use std::ops::Range;

use lamina_segment::document::{Number, members, text_of};
use lamina_text::text::{Language, Tokenizer};

use super::crop::window;
use super::matcher::find_matches;
use super::matches::Match;
use super::projection::Projection;
use super::selection::{CropSelection, Selected, Selection};
use super::terms::MatchingTerms;
use super::value::{Kind, StoredDocumentError, child_path, elements, write_string};

/// Options of a request for the formatting of matches.
#[derive(Clone, Debug)]
pub struct FormatOptions {
    /// `attributesToHighlight`
    pub highlight: Selection,
    /// `attributesToCrop`
    pub crop: CropSelection,
    pub pre_tag: String,
    pub post_tag: String,
    pub crop_marker: String,
    /// `showMatchesPosition`
    pub with_positions: bool,
}

impl Default for FormatOptions {
    fn default() -> Self {
        FormatOptions {
            highlight: Selection::Nothing,
            crop: CropSelection::default(),
            pre_tag: "<em>".to_owned(),
            post_tag: "</em>".to_owned(),
            crop_marker: "…".to_owned(),
            with_positions: false,
        }
    }
}

impl FormatOptions {
    /// Reports whether hits get a formatted copy.
    pub fn formats(&self) -> bool {
        self.highlight != Selection::Nothing || !self.crop.is_empty()
    }
}

/// The formatted copy and the matches of one document, each the raw text of a JSON object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formatted {
    /// `_formatted`, if highlighting or cropping was asked for.
    pub document: Option<Vec<u8>>,
    /// `_matchesPosition`, if it was asked for.
    pub positions: Option<Vec<u8>>,
}

/// Formats the hits of one search.
pub struct Formatter<'a> {
    pub projection: &'a Projection,
    pub options: &'a FormatOptions,
    pub terms: &'a MatchingTerms,
    pub tokenizer: &'a Tokenizer,
    /// The languages of the texts at a path; none: detect.
    pub languages: &'a dyn Fn(&str) -> Vec<Language>,
    /// Asked before formatting takes so many bytes more, where these are many; whether it may.
    pub may_take: &'a dyn Fn(usize) -> bool,
}

/// Memory that formatting takes without calling `may_take`, in bytes.
const UNASKED_BYTES: usize = 256 << 10;
/// A longer text is looked at for its words before they are held.
const UNASKED_TEXT_BYTES: usize = 16 << 10;
/// A word or a separator of a text, and the match that it may be.
const TOKEN_BYTES: usize = 240;
/// A position, with its share of the list that it is in, and as text.
const POSITION_BYTES: usize = 128;

impl Formatter<'_> {
    /// Formats `document` (the text of a JSON object). Cost: tokenises every displayed text when positions are asked
    /// for, else those to highlight or crop.
    pub fn format(&self, document: &[u8]) -> Result<Formatted, StoredDocumentError> {
        let formats = self.options.formats();
        if !formats && !self.options.with_positions {
            return Ok(Formatted::default());
        }
        let document = std::str::from_utf8(document)?;
        let mut walk = Walk {
            of: self,
            out: Vec::new(),
            positions: BTreeMap::new(),
            positions_bytes: 0,
            indices: Vec::new(),
            asked: UNASKED_BYTES,
        };
        walk.object("", document)?;
        Ok(Formatted {
            document: formats.then_some(walk.out),
            positions: self
                .options
                .with_positions
                .then(|| serde_json::to_vec(&walk.positions).expect("writing positions to memory can't fail")),
        })
    }

    /// Returns what the formatted copy shows of a path: what is displayed and also retrieved, highlighted or cropped.
    fn shown(&self, path: &str) -> Selected {
        let wanted =
            self.projection.retrieved.at(path).or(self.options.highlight.at(path)).or(self.options.crop.at(path));
        self.projection.displayed.at(path).and(wanted)
    }
}

/// Position of a match in the text of a value.
#[derive(serde::Serialize)]
struct Position {
    /// The first byte of the match.
    start: usize,
    /// The length of the match in bytes.
    length: usize,
    /// Places in the arrays around the value, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    indices: Vec<usize>,
}

/// One pass over a document, writing its formatted copy.
struct Walk<'w, 'a> {
    of: &'w Formatter<'a>,
    out: Vec<u8>,
    positions: BTreeMap<String, Vec<Position>>,
    positions_bytes: usize,
    indices: Vec<usize>,
    /// Bytes that may be taken.
    asked: usize,
}

impl Walk<'_, '_> {
    /// Asks for room for `more` bytes beside what was written, if there is none.
    fn room_for(&mut self, more: usize) -> Result<(), StoredDocumentError> {
        // A list that grows holds up to twice as much.
        let wanted = (self.out.len() + self.positions_bytes).saturating_mul(2).saturating_add(more);
        if wanted > self.asked {
            let wanted = wanted.checked_next_power_of_two().unwrap_or(wanted);
            if !(self.of.may_take)(wanted - self.asked) {
                return Err(StoredDocumentError::Memory);
            }
            self.asked = wanted;
        }
        Ok(())
    }

    /// Writes an object; answers whether anything of it is shown. Parts that are only searched for matches leave no
    /// trace in the output.
    fn object(&mut self, path: &str, object: &str) -> Result<bool, StoredDocumentError> {
        let start = self.out.len();
        self.out.push(b'{');
        for (key, value) in members(object)? {
            let (path, value) = (child_path(path, &key), value.get());
            if self.of.projection.displayed.at(&path) == Selected::No || self.of.projection.hides_vectors(&path) {
                continue;
            }
            let member = self.out.len();
            if member > start + 1 {
                self.out.push(b',');
            }
            write_string(&mut self.out, &key);
            self.out.push(b':');
            if !self.value(&path, value, false)? {
                self.out.truncate(member);
            }
        }
        let shows_any = self.out.len() > start + 1;
        self.out.push(b'}');
        Ok(shows_any)
    }

    fn array(&mut self, path: &str, array: &str) -> Result<(), StoredDocumentError> {
        let start = self.out.len();
        self.out.push(b'[');
        for (index, value) in elements(array)?.iter().enumerate() {
            let element = self.out.len();
            if element > start + 1 {
                self.out.push(b',');
            }
            self.indices.push(index);
            if !self.value(path, value.get(), true)? {
                self.out.truncate(element);
            }
            self.indices.pop();
        }
        self.out.push(b']');
        Ok(())
    }

    /// Writes a value; answers whether it is shown. Of values that something below may be shown of, `null`, objects and arrays
    /// are, as by [`Projection`]; in arrays only objects that show something, and arrays.
    fn value(&mut self, path: &str, value: &str, in_array: bool) -> Result<bool, StoredDocumentError> {
        let is_shown_below = match Kind::of(value) {
            Kind::Object => self.object(path, value)? || !in_array,
            Kind::Array => {
                self.array(path, value)?;
                true
            }
            Kind::String => {
                self.text(path, &text_of(value)?, Some(value))?;
                false
            }
            Kind::Number => {
                self.text(path, Number::read(value, &mut Vec::new()).text, None)?;
                false
            }
            Kind::Literal => {
                self.out.extend_from_slice(value.as_bytes());
                value == "null" && !in_array
            }
        };
        Ok(match self.of.shown(path) {
            Selected::Whole => true,
            Selected::Below => is_shown_below,
            Selected::No => false,
        })
    }

    /// Writes a text. `raw` is its JSON form, when it has one of its own.
    fn text(&mut self, path: &str, text: &str, raw: Option<&str>) -> Result<(), StoredDocumentError> {
        let options = self.of.options;
        let highlight = options.highlight.at(path) == Selected::Whole && !self.of.terms.is_empty();
        let crop = options.crop.length(path);
        let search = highlight || (options.with_positions && !self.of.terms.is_empty());
        if !search && crop.is_none() {
            match raw {
                Some(raw) => self.out.extend_from_slice(raw.as_bytes()),
                None => write_string(&mut self.out, text),
            }
            return Ok(());
        }
        let languages = (self.of.languages)(path);
        if text.len() > UNASKED_TEXT_BYTES {
            let count = self.of.tokenizer.count(text, &languages);
            self.room_for(count.saturating_mul(TOKEN_BYTES))?;
        }
        let tokens = self.of.tokenizer.tokens(text, &languages);
        let matches = find_matches(&tokens, self.of.terms);
        if options.with_positions && !matches.is_empty() {
            let indices = &self.indices;
            let found = matches.iter().map(|found| Position {
                start: found.range.start,
                length: found.range.len(),
                indices: indices.clone(),
            });
            // As other servers have it: of several values of a path the last one with matches is shown.
            self.positions.insert(path.to_owned(), found.collect());
            self.positions_bytes += matches.len() * (POSITION_BYTES + 8 * indices.len());
        }
        let shown = crop.map_or(0..text.len(), |length| window(text, &tokens, &matches, length));
        let marked = if highlight { &matches[..] } else { &[] };
        let marks = marked.len().saturating_mul(options.pre_tag.len() + options.post_tag.len());
        // Once as it is, and once in the copy of the document.
        self.room_for(shown.len().saturating_add(marks).saturating_mul(2).saturating_add(tokens.len() * TOKEN_BYTES))?;
        write_string(&mut self.out, &tagged(text, shown, marked, options));
        Ok(())
    }
}

/// The part `shown` of `text` with tags around the matches in it and markers where text was cut off.
fn tagged(text: &str, shown: Range<usize>, matches: &[Match], options: &FormatOptions) -> String {
    let mut out = String::with_capacity(shown.len() + matches.len() * 16);
    if shown.start > 0 {
        out.push_str(&options.crop_marker);
    }
    let mut at = shown.start;
    for found in matches {
        let (start, end) = (found.range.start.max(at), found.range.end.min(shown.end));
        if start >= end {
            continue;
        }
        out.push_str(&text[at..start]);
        out.push_str(&options.pre_tag);
        out.push_str(&text[start..end]);
        out.push_str(&options.post_tag);
        at = end;
    }
    out.push_str(&text[at..shown.end]);
    if shown.end < text.len() {
        out.push_str(&options.crop_marker);
    }
    out
}
