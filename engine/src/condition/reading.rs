//! Documents that are read where the columns alone cannot answer.

use lamina_segment::bits::DocSet;
use lamina_segment::document::DocumentParser;
use lamina_segment::segment::{Damaged, SegmentReader};
use lamina_text::id::DocId;

use super::time_limit::{OutOfTime, TimeLimit};

/// Documents that are read between two looks at the clock.
const DOCS_BETWEEN_LOOKS: usize = 128;

/// Returns the documents of `docs` whose JSON text `passes`. Cost: reading each of them.
///
/// # Errors
/// When the time is up.
pub(super) fn passing_when_read(
    docs: &DocSet,
    reader: &SegmentReader,
    limit: TimeLimit<'_>,
    mut passes: impl FnMut(DocId, &mut DocumentParser, &[u8]) -> bool,
) -> Result<DocSet, OutOfTime> {
    let (mut parser, mut json) = (DocumentParser::new(), Vec::new());
    let (mut passing, mut steps, mut is_late) = (docs.clone(), 0_usize, false);
    passing.retain(|doc| {
        steps += 1;
        is_late |= steps.is_multiple_of(DOCS_BETWEEN_LOOKS) && limit.is_over();
        if is_late {
            return false;
        }
        match reader.store().get(doc, &mut json) {
            Ok(()) => passes(doc, &mut parser, &json),
            Err(error) => {
                // The caller sees the mark: without the document the set would be wrong.
                Damaged::of(&error).map(|damaged| reader.health().mark(damaged));
                false
            }
        }
    });
    if is_late { Err(OutOfTime) } else { Ok(passing) }
}
