//! Columns that a segment gets after it was written, in a file of their own.

use std::io::ErrorKind;

use lamina_text::id::FieldId;

use super::ColumnsBuilder;
use crate::document::Shape;
use crate::segment::format::{SectionKind, SectionWriter, column_file_name};
use crate::segment::geo::GeoBuilder;
use crate::segment::shapes::ShapesBuilder;
use crate::segment::vectors::VectorsBuilder;
use crate::segment::{ColumnFileMeta, FileMeta, ListThresholds, NewLayer, SegmentError, SegmentMeta};
use crate::storage::Directory;

/// Builds columns for the documents of an existing segment, as a file beside it.
///
/// Call [`begin_document`](Self::begin_document) once for each document of the segment, in order, then the values.
#[derive(Debug)]
pub struct ColumnFileWriter {
    columns: ColumnsBuilder,
    geo: Option<GeoBuilder>,
    shapes: Option<ShapesBuilder>,
    doc_count: u32,
}

impl ColumnFileWriter {
    /// Columns of `fields` (and of every other field that gets a value), and the geo column when `geo` is set.
    pub fn new(fields: &[FieldId], geo: bool) -> ColumnFileWriter {
        let geo = geo.then(GeoBuilder::default);
        ColumnFileWriter { columns: ColumnsBuilder::new(fields), geo, shapes: None, doc_count: 0 }
    }

    /// Also with the shapes, even when no document has one.
    pub fn with_shapes(mut self) -> ColumnFileWriter {
        self.shapes.get_or_insert_default();
        self
    }

    /// Starts the next document.
    pub fn begin_document(&mut self) {
        self.columns.begin_document(self.doc_count);
        self.doc_count += 1;
    }

    /// A number (finite).
    pub fn column_number(&mut self, field: FieldId, value: f64) {
        self.columns.number(field, value);
    }

    /// `normalised` is the facet form of `original`.
    pub fn column_string(&mut self, field: FieldId, normalised: &str, original: &str) {
        self.columns.string(field, normalised, original);
    }

    /// The field of the document may be something else than one number that its column gives back.
    pub fn column_inexact(&mut self, field: FieldId) {
        self.columns.inexact(field);
    }

    /// The field is null.
    pub fn column_null(&mut self, field: FieldId) {
        self.columns.null(field);
    }

    /// The field is an empty string, array or object.
    pub fn column_empty(&mut self, field: FieldId) {
        self.columns.empty(field);
    }

    /// The field is there (an object with children, an array): nothing but its existence.
    pub fn column_exists(&mut self, field: FieldId) {
        self.columns.exists(field);
    }

    /// The point of `_geo`; the last one of a document counts.
    pub fn geo(&mut self, lat: f64, lng: f64) {
        let doc = self.doc_count.saturating_sub(1);
        self.geo.get_or_insert_default().push(doc, lat, lng);
    }

    /// The shape of `_geojson`; the last one of a document counts.
    pub fn shape(&mut self, shape: &Shape) {
        let doc = self.doc_count.saturating_sub(1);
        self.shapes.get_or_insert_default().push(doc, shape);
    }

    /// Bytes this writer holds.
    pub fn memory_bytes(&self) -> usize {
        self.columns.heap_bytes()
            + self.geo.as_ref().map_or(0, GeoBuilder::heap_bytes)
            + self.shapes.as_ref().map_or(0, ShapesBuilder::heap_bytes)
    }

    /// Writes `seg-<id>-c<n>.lam`, where `n` is higher than the highest that `meta` names, and not below `first_number`, synced.
    /// Add the answer to `meta.column_files` and reopen the segment.
    pub fn finish(
        self,
        directory: &dyn Directory,
        meta: &SegmentMeta,
        first_number: u64,
    ) -> Result<ColumnFileMeta, SegmentError> {
        assert_eq!(self.doc_count, meta.doc_count, "every document of the segment was begun");
        let (geo, shapes) = (self.geo.is_some(), self.shapes.is_some());
        let (file, fields) = written(directory, meta, first_number, |file| {
            let fields = self.columns.finish(file, None, self.doc_count)?;
            if let Some(geo) = &self.geo {
                geo.finish(file, None, self.doc_count)?;
            }
            if let Some(shapes) = &self.shapes {
                shapes.finish(file, None)?;
            }
            Ok(fields)
        })?;
        Ok(ColumnFileMeta { fields, geo, shapes, ..ColumnFileMeta::of(file) })
    }
}

/// Writes the vectors of embedders for the documents of an existing segment, as a file beside it, synced. Add the
/// answer to `meta.column_files` and reopen the segment. `first_number`: as for [`ColumnFileWriter::finish`].
pub fn write_vector_file(
    embedders: &[VectorsBuilder],
    directory: &dyn Directory,
    meta: &SegmentMeta,
    first_number: u64,
    thresholds: &ListThresholds,
) -> Result<ColumnFileMeta, SegmentError> {
    let (file, ()) = written(directory, meta, first_number, |file| {
        let mut numbered = (0..).zip(embedders);
        numbered.try_for_each(|(number, vectors)| vectors.finish(file, number, None, meta.doc_count, thresholds))
    })?;
    let embedders = embedders.iter().map(|vectors| vectors.name().to_owned()).collect();
    Ok(ColumnFileMeta { embedders, ..ColumnFileMeta::of(file) })
}

/// Writes patches of an existing segment, as a file beside it, synced. Add the answer to `meta.column_files`, in place of
/// the files whose patches it has taken in. `first_number`: as for [`ColumnFileWriter::finish`].
pub fn write_patch_file(
    patches: &NewLayer,
    directory: &dyn Directory,
    meta: &SegmentMeta,
    first_number: u64,
) -> Result<ColumnFileMeta, SegmentError> {
    let (file, ()) =
        written(directory, meta, first_number, |file| file.section(SectionKind::Patches, 0, &patches.bytes))?;
    Ok(ColumnFileMeta { patches: true, ..ColumnFileMeta::of(file) })
}

/// Writes a file of a name that no file has: states before the present one may have files that `meta` does not name, and so may other
/// writers, which give lower numbers, and what is made beside the writer of this index. One that could not be written goes again.
fn written<T>(
    directory: &dyn Directory,
    meta: &SegmentMeta,
    first_number: u64,
    write: impl FnOnce(&mut SectionWriter) -> Result<T, SegmentError>,
) -> Result<(FileMeta, T), SegmentError> {
    let (name, mut file) = new_file(directory, meta, first_number)?;
    let result = write(&mut file).and_then(|value| Ok((file.finish()?, value)));
    result.inspect_err(|_| {
        // When even this fails, recovery does it later.
        let _ = directory.delete(&name);
    })
}

/// Creates the file of the first number that is free. To look for it first would leave a moment to others.
fn new_file(
    directory: &dyn Directory,
    meta: &SegmentMeta,
    first_number: u64,
) -> Result<(String, SectionWriter), SegmentError> {
    // Files in between may have been removed, but never the one that was added last without those before it.
    let last = meta.column_files.iter().filter_map(|file| file_number(&file.file.name)).max().unwrap_or(0);
    let mut number = (last + 1).max(first_number);
    loop {
        let name = column_file_name(meta.id, number);
        match SectionWriter::create(directory, name.clone()) {
            Err(SegmentError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => number += 1,
            created => return Ok((name, created?)),
        }
    }
}

/// The `n` of `seg-<id>-c<n>.lam`.
fn file_number(name: &str) -> Option<u64> {
    name.strip_suffix(".lam")?.rsplit_once("-c")?.1.parse().ok()
}
