//! Dates in a column.
//!
//! Columns hold strings in byte order, which for dates is the order of their local times. Offsets are less than a day, so only
//! strings within a day of a moment can stand on the wrong side of it. A day alone, and times behind a blank instead of a `T`, stand
//! before all others of their day. These alone are read one by one.

use std::ops::Range;

use lamina_segment::segment::Column;
use lamina_text::text::{Moment, NANOS_PER_SECOND, SECONDS_PER_DAY, day_text, local_text};

/// The strings among `strings` of a column whose place relative to the moment does not follow from byte order: two ranges, in their
/// order.
pub(super) fn doubtful(moment: Moment, column: &Column, strings: Range<u32>) -> [Range<u32>; 2] {
    let place = |text: Option<String>, beyond: u32| {
        text.map_or(beyond, |text| column.find_string(&text).unwrap_or_else(|place| place))
    };
    // A minute more for the fractions that the texts leave out.
    let around = (SECONDS_PER_DAY + 60) * NANOS_PER_SECOND;
    let (earliest, latest) = (moment.nanos() - around, moment.nanos() + around);
    let day = day_text(Moment::from_nanos(earliest).days());
    let with_t = place(day.as_ref().map(|day| format!("{day}t")), strings.start);
    let blanks = place(day, strings.start)..with_t;
    let from = place(local_text(earliest), strings.start);
    [blanks, from..place(local_text(latest), strings.end).max(from)]
}
