//! Columns, points and shapes.

use lamina_text::id::{DocId, FieldId};

use super::plan::Merger;
use super::watch::MergeStep;
use crate::bits::DocSet;
use crate::segment::columns::{ColumnData, write_column};
use crate::segment::format::{SectionKind, SectionWriter};
use crate::segment::geo::GeoBuilder;
use crate::segment::shapes::ShapesBuilder;
use crate::segment::{Column, Geo, SegmentError, SegmentReader};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// No document that stays has the value.
const UNUSED: u32 = u32::MAX;
const USED: u32 = 0;

impl Merger<'_> {
    /// Writes the columns that any input has, without the dropped ones. Answers their fields.
    pub(super) fn merge_columns(&self, file: &mut SectionWriter) -> Result<Vec<FieldId>, SegmentError> {
        let fields: BTreeSet<FieldId> = self.inputs().flat_map(|segment| segment.columns().fields()).collect();
        let kept = |field: &FieldId| !self.options.drop_columns.contains(field);
        let fields: Vec<FieldId> = fields.into_iter().filter(kept).collect();
        self.enter(MergeStep::Columns, fields.len() as u64);
        for &field in &fields {
            self.check_cancelled()?;
            let column = |segment: &SegmentReader| {
                segment.columns().get(field).unwrap_or_else(|| Column::without_values(segment.doc_count()))
            };
            let columns: Vec<Column> = self.inputs().map(column).collect();
            let data = self.merge_column(&columns)?;
            if !data.numbers.is_sorted_by(|a, b| a < b) {
                return Err(self.damaged(0, SectionKind::Column, "the values of an input do not ascend"));
            }
            write_column(file, field, &data)?;
            self.advance(1);
        }
        Ok(fields)
    }

    fn merge_column(&self, columns: &[Column]) -> Result<ColumnData, SegmentError> {
        let mut ordinals: Vec<Vec<u32>> =
            columns.iter().map(|column| vec![UNUSED; column.value_count() as usize]).collect();
        for (input, doc) in self.docs() {
            columns[input].for_each_ordinal(doc, |ordinal| ordinals[input][ordinal as usize] = USED);
        }
        let is_plain = columns.iter().all(Column::is_plain);
        let mut data = ColumnData { doc_count: self.doc_count, is_plain, ..ColumnData::default() };
        let numbers = columns.iter().map(|column| 0..column.number_count()).collect();
        let by_number =
            |a: (usize, u32), b: (usize, u32)| columns[a.0].number(a.1).total_cmp(&columns[b.0].number(b.1));
        join(numbers, &mut ordinals, 0, by_number, |input, ordinal| data.numbers.push(columns[input].number(ordinal)));
        let strings = columns.iter().map(|column| column.number_count()..column.value_count()).collect();
        let by_string = |a: (usize, u32), b: (usize, u32)| columns[a.0].string(a.1).cmp(columns[b.0].string(b.1));
        let first_string = data.numbers.len() as u32;
        join(strings, &mut ordinals, first_string, by_string, |input, ordinal| {
            let (string, original) = (columns[input].string(ordinal), columns[input].original(ordinal));
            data.strings.push(string);
            data.originals.push(if original == string { "" } else { original });
        });
        let pairs_max = columns.iter().map(|column| column.pair_count() as usize).sum();
        for (new, (input, doc)) in (0..).zip(self.docs()) {
            let start = data.pairs.len();
            columns[input].for_each_ordinal(doc, |old| data.pairs.push((new, ordinals[input][old as usize])));
            // Only the values of a damaged column could be out of order after renumbering.
            if !data.pairs[start..].is_sorted_by(|a, b| a < b) {
                data.pairs[start..].sort_unstable();
                dedup_from(&mut data.pairs, start);
            }
            if data.pairs.len() > pairs_max {
                return Err(self.damaged(input, SectionKind::Column, "documents of an input share their values"));
            }
        }
        data.null = self.merge_sets(columns, Column::null);
        data.empty = self.merge_sets(columns, Column::empty);
        data.exists = self.merge_sets(columns, Column::exists);
        data.blank = self.merge_sets(columns, Column::blank);
        Ok(data)
    }

    fn merge_sets(&self, columns: &[Column], set: impl Fn(&Column) -> DocSet) -> Vec<DocId> {
        let mut docs = Vec::new();
        for (column, map) in columns.iter().zip(&self.doc_maps) {
            set(column).for_each(|doc| docs.extend(map.get(doc)));
        }
        docs.sort_unstable();
        docs
    }

    /// Writes the points, when any input has the column and it is not dropped. Answers whether it was written.
    pub(super) fn merge_geo(&self, file: &mut SectionWriter) -> Result<bool, SegmentError> {
        let columns: Vec<Option<&Geo>> = self.inputs().map(|segment| segment.geo()).collect();
        if self.options.drop_geo || columns.iter().all(Option::is_none) {
            return Ok(false);
        }
        self.check_cancelled()?;
        let mut points = GeoBuilder::default();
        for (new, (input, doc)) in (0..).zip(self.docs()) {
            if let Some((lat, lng)) = columns[input].and_then(|geo| geo.point(doc)) {
                points.push(new, lat, lng);
            }
        }
        points.finish(file, None, self.doc_count)?;
        Ok(true)
    }

    /// Writes the shapes, when any input has them and they are not dropped. Answers whether they were written.
    pub(super) fn merge_shapes(&self, file: &mut SectionWriter) -> Result<bool, SegmentError> {
        if self.options.drop_shapes || self.inputs().all(|segment| segment.shapes().is_none()) {
            return Ok(false);
        }
        self.check_cancelled()?;
        let mut merged = ShapesBuilder::default();
        for (input, (segment, map)) in self.inputs().zip(&self.doc_maps).enumerate() {
            let Some(shapes) = segment.shapes() else { continue };
            let mut bytes_left = shapes.data_bytes();
            for (doc, bytes) in (0..shapes.len()).filter_map(|index| shapes.raw(index)) {
                bytes_left = bytes_left.checked_sub(bytes.len()).ok_or_else(|| {
                    self.damaged(input, SectionKind::Shapes, "documents of an input share their shapes")
                })?;
                if let Some(new) = map.get(doc) {
                    merged.push_encoded(new, bytes);
                }
            }
        }
        merged.finish(file, None)?;
        Ok(true)
    }
}

fn dedup_from(pairs: &mut Vec<(u32, u32)>, start: usize) {
    let mut tail = pairs.split_off(start);
    tail.dedup();
    pairs.append(&mut tail);
}

/// Walks the ascending values of all columns side by side. Each distinct value in use is given to `push` once, with the
/// first input that has it, and gets the next ordinal from `next` on.
fn join(
    mut rest: Vec<std::ops::Range<u32>>,
    ordinals: &mut [Vec<u32>],
    mut next: u32,
    compare: impl Fn((usize, u32), (usize, u32)) -> Ordering,
    mut push: impl FnMut(usize, u32),
) {
    let mut equal: Vec<usize> = Vec::with_capacity(rest.len());
    loop {
        equal.clear();
        for input in 0..rest.len() {
            // Values that no document has any more are passed over.
            while !rest[input].is_empty() && ordinals[input][rest[input].start as usize] == UNUSED {
                rest[input].start += 1;
            }
            if rest[input].is_empty() {
                continue;
            }
            let Some(&smallest) = equal.first() else {
                equal.push(input);
                continue;
            };
            match compare((input, rest[input].start), (smallest, rest[smallest].start)) {
                Ordering::Less => {
                    equal.clear();
                    equal.push(input);
                }
                Ordering::Equal => equal.push(input),
                Ordering::Greater => {}
            }
        }
        let Some(&first) = equal.first() else { return };
        push(first, rest[first].start);
        for &input in &equal {
            ordinals[input][rest[input].start as usize] = next;
            rest[input].start += 1;
        }
        next += 1;
    }
}
