//! Where the content of a document goes: a new segment, or a log of values for the columns of one that is there.

use lamina_segment::document::Shape;
use lamina_segment::segment::SegmentWriter;
use lamina_text::id::{FieldId, Gap};

pub(in super::super) trait DocumentTarget {
    fn word(&mut self, field: FieldId, word: &str, gap: Gap);
    fn next_value(&mut self, field: FieldId);
    fn column_number(&mut self, field: FieldId, value: f64);
    fn column_string(&mut self, field: FieldId, normalised: &str, original: &str);
    fn column_inexact(&mut self, field: FieldId);
    fn column_null(&mut self, field: FieldId);
    fn column_empty(&mut self, field: FieldId);
    fn column_exists(&mut self, field: FieldId);
    fn geo(&mut self, lat: f64, lng: f64);
    fn shape(&mut self, shape: Shape);
    /// Heap that is held now, and needed until all is written, in bytes; 0 where nothing bounds it.
    fn memory_bytes(&self) -> usize {
        0
    }
}

impl DocumentTarget for SegmentWriter {
    fn word(&mut self, field: FieldId, word: &str, gap: Gap) {
        self.word(field, word, gap);
    }

    fn next_value(&mut self, field: FieldId) {
        self.next_value(field);
    }

    fn column_number(&mut self, field: FieldId, value: f64) {
        self.column_number(field, value);
    }

    fn column_string(&mut self, field: FieldId, normalised: &str, original: &str) {
        self.column_string(field, normalised, original);
    }

    fn column_inexact(&mut self, field: FieldId) {
        self.column_inexact(field);
    }

    fn column_null(&mut self, field: FieldId) {
        self.column_null(field);
    }

    fn column_empty(&mut self, field: FieldId) {
        self.column_empty(field);
    }

    fn column_exists(&mut self, field: FieldId) {
        self.column_exists(field);
    }

    fn geo(&mut self, lat: f64, lng: f64) {
        self.geo(lat, lng);
    }

    fn shape(&mut self, shape: Shape) {
        SegmentWriter::shape(self, &shape);
    }

    fn memory_bytes(&self) -> usize {
        self.memory_bytes()
    }
}
