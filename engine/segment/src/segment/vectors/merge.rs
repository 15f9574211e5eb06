//! Vectors of several segments become those of one: rows are copied, none is looked at.

use std::collections::BTreeSet;

use super::write::write_section;
use super::{StoredVectors, VectorShape, Vectors};
use crate::segment::SegmentError;
use crate::segment::format::SectionWriter;
use crate::segment::merge::plan::Merger;
use crate::segment::merge::watch::MergeStep;
use crate::segment::vector_codes::{CodedRows, EarlierLists, are_coded, write_codes};

/// Writes a section for every embedder that any input has. An input without an embedder has documents without vectors
/// of it.
///
/// Inputs with vectors of another shape than the last one's (which the index sees to that there are not) are as
/// inputs without vectors.
pub(crate) fn merge_vectors(merger: &Merger<'_>, file: &mut SectionWriter) -> Result<(), SegmentError> {
    let names: BTreeSet<&str> =
        merger.inputs().flat_map(|segment| segment.vectors()).map(|vectors| vectors.name()).collect();
    merger.enter(MergeStep::Vectors, names.len() as u64);
    for (number, name) in (0..).zip(&names) {
        merger.check_cancelled()?;
        let sections: Vec<Option<&Vectors>> = merger.inputs().map(|segment| segment.vectors_of(name)).collect();
        if let Some(shape) = sections.iter().flatten().map(|vectors| vectors.shape()).next_back() {
            let sections: Vec<Option<&Vectors>> =
                sections.into_iter().map(|section| section.filter(|vectors| vectors.shape() == shape)).collect();
            write(merger, file, number, name, shape, &sections)?;
        }
        merger.advance(1);
    }
    Ok(())
}

fn write(
    merger: &Merger<'_>,
    file: &mut SectionWriter,
    number: u16,
    name: &str,
    shape: VectorShape,
    sections: &[Option<&Vectors>],
) -> Result<(), SegmentError> {
    let doc_count = u32::try_from(merger.docs().count()).expect("the merger checked the number of documents");
    write_section(file, number, name, shape, doc_count, |visit| {
        merger.docs().try_for_each(|(input, doc)| {
            visit(sections[input].map_or(Ok(StoredVectors::default()), |vectors| vectors.get(doc))?)
        })
    })?;
    merge_codes(merger, file, number, shape, sections)
}

/// Codes are made again, which is cheap; lists are kept where those of one input serve the whole.
fn merge_codes(
    merger: &Merger<'_>,
    file: &mut SectionWriter,
    number: u16,
    shape: VectorShape,
    sections: &[Option<&Vectors>],
) -> Result<(), SegmentError> {
    let vector_count = sections.iter().flatten().map(|vectors| vectors.vector_count() as usize).sum();
    let thresholds = merger.list_thresholds();
    if !are_coded(shape, vector_count, thresholds) {
        return Ok(());
    }
    let largest = (0..).zip(sections).filter_map(|(input, vectors)| Some((input, (*vectors)?.codes()?)));
    let largest = largest.max_by_key(|(_, codes)| codes.vector_count());
    let (mut rows, mut numbers): (Vec<&[u8]>, Vec<u32>) = (Vec::new(), Vec::new());
    for (input, doc) in merger.docs() {
        let Some(vectors) = sections[input] else { continue };
        let own = vectors.of(doc);
        rows.extend(vectors.rows(own.clone()).chunks_exact(shape.row_bytes()));
        if largest.is_some_and(|(largest, _)| largest == input) {
            numbers.extend(own);
        } else {
            numbers.extend(own.map(|_| u32::MAX));
        }
    }
    let number_in_largest = |row: usize| numbers.get(row).copied().filter(|number| *number != u32::MAX);
    let earlier = largest.and_then(|(_, codes)| EarlierLists::new(codes, &number_in_largest));
    write_codes(file, number, CodedRows { shape, rows: &rows, thresholds }, earlier, &|| merger.check_cancelled())
}
