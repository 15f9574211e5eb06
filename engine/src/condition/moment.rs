//! Date-times in a column.
//!
//! Columns hold strings in byte order, which for date-times is the order of their local times. Offsets are less than a
//! day, so only strings within a day of a moment can stand on the wrong side of it; these alone are read one by one.

use std::ops::Range;

use crate::segment::Column;
use crate::text::{Moment, NANOS_PER_SECOND, SECONDS_PER_DAY, local_text};

/// The strings among `strings` of a column whose place relative to the moment does not follow from byte order.
pub(super) fn doubtful(moment: Moment, column: &Column, strings: Range<u32>) -> Range<u32> {
    let place = |moment: i128, beyond: u32| {
        local_text(moment).map_or(beyond, |text| column.find_string(&text).unwrap_or_else(|place| place))
    };
    let day = SECONDS_PER_DAY * NANOS_PER_SECOND;
    // A minute more for the fractions that the texts leave out.
    let around = day + 60 * NANOS_PER_SECOND;
    place(moment.nanos() - around, strings.start)..place(moment.nanos() + around, strings.end)
}
