//! Column values of a run of documents, noted by one thread and played back by another: documents are read on all
//! threads, but a column wants them in order.

use lamina_segment::document::Shape;
use lamina_segment::segment::ColumnFileWriter;
use lamina_text::id::{FieldId, Gap};

use super::document_target::DocumentTarget;

#[derive(Debug, Default)]
pub(super) struct ColumnLog {
    events: Vec<Event>,
    /// Normalised and original strings, one after the other.
    text: String,
    shapes: Vec<Shape>,
    document_count: u64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Document,
    Number(FieldId, f64),
    /// Lengths of the normalised and the original string in bytes; the texts follow each other.
    String(FieldId, u32, u32),
    Inexact(FieldId),
    Null(FieldId),
    Empty(FieldId),
    Exists(FieldId),
    Geo(f64, f64),
    /// The next shape.
    Shape,
}

impl ColumnLog {
    /// The values that follow belong to the next document.
    pub(super) fn begin_document(&mut self) {
        self.events.push(Event::Document);
        self.document_count += 1;
    }

    pub(super) fn document_count(&self) -> u64 {
        self.document_count
    }

    pub(super) fn play(&self, writer: &mut ColumnFileWriter) {
        let mut text = self.text.as_str();
        let mut shapes = self.shapes.iter();
        for &event in &self.events {
            match event {
                Event::Document => writer.begin_document(),
                Event::Number(field, value) => writer.column_number(field, value),
                Event::String(field, normalised_bytes, original_bytes) => {
                    let (normalised, rest) = text.split_at(normalised_bytes as usize);
                    let (original, rest) = rest.split_at(original_bytes as usize);
                    writer.column_string(field, normalised, original);
                    text = rest;
                }
                Event::Inexact(field) => writer.column_inexact(field),
                Event::Null(field) => writer.column_null(field),
                Event::Empty(field) => writer.column_empty(field),
                Event::Exists(field) => writer.column_exists(field),
                Event::Geo(lat, lng) => writer.geo(lat, lng),
                Event::Shape => writer.shape(shapes.next().expect("every event of a shape was noted with it")),
            }
        }
    }
}

/// Columns have no words; none are extracted for them.
impl DocumentTarget for ColumnLog {
    fn word(&mut self, _field: FieldId, _word: &str, _gap: Gap) {}

    fn next_value(&mut self, _field: FieldId) {}

    fn column_number(&mut self, field: FieldId, value: f64) {
        self.events.push(Event::Number(field, value));
    }

    fn column_string(&mut self, field: FieldId, normalised: &str, original: &str) {
        let bytes = |text: &str| u32::try_from(text.len()).expect("documents are shorter than 4 GB");
        self.events.push(Event::String(field, bytes(normalised), bytes(original)));
        self.text.push_str(normalised);
        self.text.push_str(original);
    }

    fn column_inexact(&mut self, field: FieldId) {
        self.events.push(Event::Inexact(field));
    }

    fn column_null(&mut self, field: FieldId) {
        self.events.push(Event::Null(field));
    }

    fn column_empty(&mut self, field: FieldId) {
        self.events.push(Event::Empty(field));
    }

    fn column_exists(&mut self, field: FieldId) {
        self.events.push(Event::Exists(field));
    }

    fn geo(&mut self, lat: f64, lng: f64) {
        self.events.push(Event::Geo(lat, lng));
    }

    fn shape(&mut self, shape: Shape) {
        self.events.push(Event::Shape);
        self.shapes.push(shape);
    }
}
