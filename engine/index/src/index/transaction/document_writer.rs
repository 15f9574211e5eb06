//! From a document to the segment in the making: every leaf becomes words and column values.

use std::collections::BTreeMap;

use hashbrown::HashSet;
use lamina_segment::document::{DocumentParser, DocumentVisitor, FieldMap, Leaf, Number, PathId};
use lamina_segment::segment::{SegmentWriter, is_plain_number};
use lamina_text::id::{FieldId, Gap, InternalId};
use lamina_text::text::{self, FACET_SHOWN_BYTES_MAX, Language, TextBuffer, Tokenizer, normalize_facet};

use super::super::embedding::cut;
use super::super::error::IndexError;
use super::super::settings::{GEO_FIELD, GEOJSON_FIELD, Settings, VECTORS_FIELD, has_text, locales_of};
use super::column_log::ColumnLog;
use super::document_target::DocumentTarget;
use super::geo::{document_id_json, parse_geo, parse_shape};

/// Context for reading documents, the same for all threads of a batch.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct DocumentContext<'a> {
    pub(in super::super) settings: &'a Settings,
    pub(in super::super) fields: &'a FieldMap,
    pub(in super::super) tokenizer: &'a Tokenizer,
    pub(in super::super) primary_key: &'a str,
}

/// Data that is extracted from documents.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Extraction<'a> {
    /// Words, every column, and the position if the settings ask for it.
    Everything,
    /// Columns of the fields marked by field id, the position when `geo` is set and the shape when `shapes` is.
    Columns { wanted: &'a [bool], geo: bool, shapes: bool },
}

/// Reads documents and feeds a writer. One per thread: it knows each path after the first document that has it.
#[derive(Debug)]
pub(in super::super) struct DocumentWriter<'a> {
    parser: DocumentParser,
    paths: Paths<'a>,
    buffer: TextBuffer,
    reads_geo: bool,
    reads_shapes: bool,
}

impl<'a> DocumentWriter<'a> {
    pub(in super::super) fn new(reading: DocumentContext<'a>, extraction: Extraction<'a>) -> DocumentWriter<'a> {
        let (reads_geo, reads_shapes) = match extraction {
            Extraction::Everything => (reading.settings.uses_geo(), reading.settings.uses_shapes()),
            Extraction::Columns { geo, shapes, .. } => (geo, shapes),
        };
        DocumentWriter {
            parser: DocumentParser::new(),
            paths: Paths {
                reading,
                extraction,
                of_use: paths_of_use(reading.fields, extraction),
                known: Vec::new(),
                document_count: 0,
            },
            buffer: TextBuffer::default(),
            reads_geo,
            reads_shapes,
        }
    }

    /// Adds the document `json` (one line) to a segment, which may take `memory_max` bytes.
    ///
    /// # Errors
    /// The errors of its content, and [`IndexError::DocumentMemory`]; the writer is unusable then.
    pub(in super::super) fn write(
        &mut self,
        writer: &mut SegmentWriter,
        id: InternalId,
        key: &str,
        json: &[u8],
        memory_max: usize,
    ) -> Result<(), IndexError> {
        writer.begin_document(id, key, json);
        self.visit(writer, json, memory_max)?;
        writer.end_document();
        Ok(())
    }

    /// Adds the columns of the next document of a segment.
    ///
    /// # Errors
    /// The errors of [`DocumentWriter::write`].
    pub(super) fn write_columns(&mut self, log: &mut ColumnLog, json: &[u8]) -> Result<(), IndexError> {
        log.begin_document();
        self.visit(log, json, usize::MAX)
    }

    /// Has `target`, which may take `memory_max` bytes, receive what is to be indexed of a document.
    ///
    /// # Errors
    /// The errors of [`DocumentWriter::write`].
    pub(in super::super) fn visit<T: DocumentTarget>(
        &mut self,
        target: &mut T,
        json: &[u8],
        memory_max: usize,
    ) -> Result<(), IndexError> {
        self.paths.document_count += 1;
        let mut sink = Sink {
            paths: &mut self.paths,
            buffer: &mut self.buffer,
            target,
            json,
            reads_geo: self.reads_geo,
            reads_shapes: self.reads_shapes,
            memory_max,
            unchecked_bytes: 0,
        };
        self.parser.visit(json, &mut sink)
    }

    /// Adds the number of documents that had each top-level field.
    pub(super) fn add_distribution(&self, distribution: &mut BTreeMap<String, u64>) {
        for path in &self.paths.known {
            if path.top_level_count > 0 && &*path.name != VECTORS_FIELD {
                *distribution.entry(path.name.to_string()).or_default() += path.top_level_count;
            }
        }
    }
}

/// The paths that have something to take, and those that lead there; `None`: everything is taken.
fn paths_of_use(fields: &FieldMap, extraction: Extraction<'_>) -> Option<HashSet<Box<str>>> {
    let Extraction::Columns { wanted, geo, shapes } = extraction else { return None };
    let fields = fields.snapshot();
    let columns = fields.names().zip(wanted).filter(|(_, wanted)| **wanted).map(|(name, _)| name);
    let reserved =
        [(geo, GEO_FIELD), (shapes, GEOJSON_FIELD)].into_iter().filter(|(read, _)| *read).map(|(_, name)| name);
    let mut paths = HashSet::new();
    for name in columns.chain(reserved) {
        let parents = name.match_indices('.').map(|(end, _)| &name[..end]);
        paths.extend(parents.chain([name]).map(Box::from));
    }
    Some(paths)
}

/// Paths that a parser has met, and the use of each.
#[derive(Debug)]
struct Paths<'a> {
    reading: DocumentContext<'a>,
    extraction: Extraction<'a>,
    /// Paths that are wanted or lead to one that is; `None`: all.
    of_use: Option<HashSet<Box<str>>>,
    known: Vec<PathUse>,
    /// Number of documents so far: distinguishes a top-level key met twice in one document.
    document_count: u64,
}

/// Use of the values at a path.
#[derive(Debug)]
struct PathUse {
    name: Box<str>,
    field: FieldId,
    /// Something here or below is taken.
    is_of_use: bool,
    has_words: bool,
    has_column: bool,
    languages: Box<[Language]>,
    /// Documents with this top-level field.
    top_level_count: u64,
    /// The last document counted.
    counted_in: u64,
}

impl Paths<'_> {
    fn add(&mut self, path: PathId, name: &str) -> Result<(), IndexError> {
        debug_assert_eq!(path.index(), self.known.len(), "paths come in order");
        let settings = self.reading.settings;
        let field = self.reading.fields.get_or_insert(name)?;
        let (has_words, is_wanted) = match self.extraction {
            Extraction::Everything => (has_text(name) && settings.searchable_attributes.selects(name), true),
            Extraction::Columns { wanted, .. } => (false, wanted.get(usize::from(field)).copied().unwrap_or(false)),
        };
        let rules = settings.localized_attributes.as_deref().unwrap_or_default();
        self.known.push(PathUse {
            name: name.into(),
            field,
            is_of_use: self.of_use.as_ref().is_none_or(|paths| paths.contains(name)),
            has_words,
            has_column: is_wanted && settings.needs_column(name),
            languages: locales_of(rules, name).iter().filter_map(|code| Language::parse(code)).collect(),
            top_level_count: 0,
            counted_in: 0,
        });
        Ok(())
    }

    /// Answers whether this document did not have it before.
    fn count_top_level(&mut self, path: PathId) -> bool {
        let path = &mut self.known[path.index()];
        let is_first = path.counted_in != self.document_count;
        path.counted_in = self.document_count;
        path.top_level_count += u64::from(is_first);
        is_first
    }
}

/// Receives the leaves of one document.
struct Sink<'w, 'a, T> {
    paths: &'w mut Paths<'a>,
    buffer: &'w mut TextBuffer,
    target: &'w mut T,
    json: &'w [u8],
    reads_geo: bool,
    reads_shapes: bool,
    /// Memory limit of the target, in bytes.
    memory_max: usize,
    /// Bytes of names and values since that was checked.
    unchecked_bytes: usize,
}

/// After so many bytes of names and values the memory is checked.
const MEMORY_CHECK_BYTES: usize = 64 << 10;
/// Memory charged for the name of a field, in bytes.
const NAME_BYTES: usize = 16;

impl<T: DocumentTarget> Sink<'_, '_, T> {
    /// # Errors
    /// [`IndexError::DocumentMemory`].
    fn check_memory(&mut self, bytes: usize) -> Result<(), IndexError> {
        self.unchecked_bytes += bytes;
        if self.unchecked_bytes < MEMORY_CHECK_BYTES {
            return Ok(());
        }
        self.unchecked_bytes = 0;
        let bytes_max = self.memory_max;
        if self.target.memory_bytes() > bytes_max { Err(IndexError::DocumentMemory { bytes_max }) } else { Ok(()) }
    }

    fn text(&mut self, leaf: Leaf, text: &str) {
        let path = &self.paths.known[leaf.path.index()];
        if !path.has_words {
            return;
        }
        let (target, field) = (&mut *self.target, path.field);
        if leaf.repeated {
            target.next_value(field);
        }
        self.paths.reading.tokenizer.words(text, &path.languages, self.buffer, &mut |word, gap| {
            let gap = match gap {
                text::Gap::Soft => Gap::Soft,
                text::Gap::Hard => Gap::Hard,
            };
            target.word(field, word, gap);
        });
    }

    fn column(&self, path: PathId) -> Option<FieldId> {
        let path = &self.paths.known[path.index()];
        path.has_column.then_some(path.field)
    }
}

impl<T: DocumentTarget> DocumentVisitor for Sink<'_, '_, T> {
    type Error = IndexError;

    fn new_path(&mut self, path: PathId, name: &str) -> Result<(), IndexError> {
        self.paths.add(path, name)
    }

    fn wants(&mut self, path: PathId) -> bool {
        self.paths.known[path.index()].is_of_use
    }

    fn key(&mut self, path: PathId, top_level: bool) -> Result<(), IndexError> {
        let is_repeated = top_level && !self.paths.count_top_level(path);
        if let Some(field) = self.column(path) {
            self.target.column_exists(field);
            if is_repeated {
                self.target.column_inexact(field);
            }
        }
        self.check_memory(NAME_BYTES)
    }

    fn string(&mut self, leaf: Leaf, value: &str) -> Result<(), IndexError> {
        self.text(leaf, value);
        if let Some(field) = self.column(leaf.path) {
            self.target.column_string(field, &normalize_facet(value), cut(value, FACET_SHOWN_BYTES_MAX));
        }
        self.check_memory(value.len())
    }

    fn number(&mut self, leaf: Leaf, number: Number<'_>) -> Result<(), IndexError> {
        self.text(leaf, number.text);
        if let Some(field) = self.column(leaf.path).filter(|_| number.value.is_finite()) {
            self.target.column_number(field, number.value);
            if leaf.in_array || !is_plain_number(number.text, number.value) {
                self.target.column_inexact(field);
            }
        }
        self.check_memory(number.text.len())
    }

    fn boolean(&mut self, leaf: Leaf, value: bool) -> Result<(), IndexError> {
        let text = if value { "true" } else { "false" };
        self.text(leaf, text);
        if let Some(field) = self.column(leaf.path) {
            self.target.column_string(field, text, text);
        }
        Ok(())
    }

    fn null(&mut self, leaf: Leaf) -> Result<(), IndexError> {
        // A null in an array does not make the field null.
        if let Some(field) = self.column(leaf.path).filter(|_| !leaf.in_array) {
            self.target.column_null(field);
        }
        Ok(())
    }

    fn empty(&mut self, leaf: Leaf) -> Result<(), IndexError> {
        if let Some(field) = self.column(leaf.path).filter(|_| !leaf.in_array) {
            self.target.column_empty(field);
        }
        Ok(())
    }

    fn geo(&mut self, json: &str) -> Result<(), IndexError> {
        if self.reads_geo {
            let primary_key = self.paths.reading.primary_key;
            if let Some((lat, lng)) = parse_geo(json, || document_id_json(self.json, primary_key))? {
                self.target.geo(lat, lng);
            }
        }
        Ok(())
    }

    fn geojson(&mut self, json: &str) -> Result<(), IndexError> {
        if self.reads_shapes {
            let primary_key = self.paths.reading.primary_key;
            if let Some(shape) = parse_shape(json, || document_id_json(self.json, primary_key))? {
                self.target.shape(shape);
            }
        }
        Ok(())
    }
}
