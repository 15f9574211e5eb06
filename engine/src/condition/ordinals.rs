//! From a question about values to the ordinals of a column.

use std::ops::Range;

use memchr::memmem;

use super::moment::Moment;
use super::operand::Operand;
use super::ordinal_set::OrdinalSet;
use crate::filter::Comparison;
use crate::segment::Column;

/// A question about the values of a field; true for a document when it is true for one of its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ValueQuestion {
    OneOf(Vec<Operand>),
    Compare(Comparison, Operand),
    /// Both ends included.
    Between(Operand, Operand),
    /// Strings only. Not empty.
    StartsWith(String),
    /// Strings only.
    Contains(String),
}

impl ValueQuestion {
    /// The values of `column` for which the answer is yes, numbers as floats. Cost: a few binary searches per operand, for
    /// a date-time the strings within a day of it; [`ValueQuestion::Contains`] reads all distinct strings.
    pub(super) fn ordinals(&self, column: &Column) -> OrdinalSet {
        OrdinalSet::new(self.ranges(column))
    }

    fn ranges(&self, column: &Column) -> Vec<Range<u32>> {
        let (numbers, values) = (column.number_count(), column.value_count());
        match self {
            ValueQuestion::OneOf(operands) => {
                let number = |operand: &Operand| operand.number.and_then(|number| column.find_number(number).ok());
                let string = |operand: &Operand| column.find_string(&operand.text).ok();
                let found = operands.iter().flat_map(|operand| [number(operand), string(operand)]).flatten();
                found.map(|ordinal| ordinal..ordinal + 1).collect()
            }
            ValueQuestion::Compare(comparison, operand) => {
                let strings = compared_strings(*comparison, operand, column, numbers..values);
                let number = operand.number.map(|number| column.find_number(number));
                let numbers = number.map(|place| bounded(*comparison, place, 0..numbers));
                numbers.into_iter().chain(strings).collect()
            }
            ValueQuestion::Between(from, to) => {
                let strings = overlaps(
                    &compared_strings(Comparison::GreaterOrEqual, from, column, numbers..values),
                    &compared_strings(Comparison::LessOrEqual, to, column, numbers..values),
                );
                let both = from.number.zip(to.number);
                let numbers = both.map(|(from, to)| {
                    column.find_number(from).unwrap_or_else(|place| place)..after(column.find_number(to))
                });
                numbers.into_iter().chain(strings).collect()
            }
            ValueQuestion::StartsWith(prefix) => {
                let start = column.find_string(prefix).unwrap_or_else(|place| place);
                let range = start..first_without_prefix(column, prefix, start..values);
                vec![range]
            }
            ValueQuestion::Contains(part) => {
                let finder = memmem::Finder::new(part);
                let matching =
                    (numbers..values).filter(|&ordinal| finder.find(column.string(ordinal).as_bytes()).is_some());
                matching.map(|ordinal| ordinal..ordinal + 1).collect()
            }
        }
    }
}

/// The strings among `strings` that compare so with the operand: in time where both are date-times, else byte by byte.
/// Cost: two binary searches, and for a date-time the strings within a day of it.
fn compared_strings(
    comparison: Comparison,
    operand: &Operand,
    column: &Column,
    strings: Range<u32>,
) -> Vec<Range<u32>> {
    let by_bytes = bounded(comparison, column.find_string(&operand.text), strings.clone());
    let Some(moment) = operand.moment else { return vec![by_bytes] };
    let doubtful = moment.doubtful(column, strings);
    let mut ranges =
        vec![by_bytes.start..by_bytes.end.min(doubtful.start), by_bytes.start.max(doubtful.end)..by_bytes.end];
    ranges.extend(
        doubtful
            .filter(|&ordinal| {
                let order = Moment::parse(column.string(ordinal)).map(|own| own.cmp(&moment));
                order.map_or(by_bytes.contains(&ordinal), |order| match comparison {
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterOrEqual => order.is_ge(),
                    Comparison::Less => order.is_lt(),
                    Comparison::LessOrEqual => order.is_le(),
                })
            })
            .map(|ordinal| ordinal..ordinal + 1),
    );
    ranges
}

/// What ranges of both lists have in common. The lists are short but for the strings within a day of a date-time.
fn overlaps(one: &[Range<u32>], other: &[Range<u32>]) -> Vec<Range<u32>> {
    let (one, other) = (OrdinalSet::new(one.to_vec()), OrdinalSet::new(other.to_vec()));
    one.intersection(&other)
}

/// The ordinals of `all` that compare so with a value that is, or would be inserted, at `place`.
fn bounded(comparison: Comparison, place: Result<u32, u32>, all: Range<u32>) -> Range<u32> {
    let before = place.unwrap_or_else(|place| place);
    match comparison {
        Comparison::Greater => after(place)..all.end,
        Comparison::GreaterOrEqual => before..all.end,
        Comparison::Less => all.start..before,
        Comparison::LessOrEqual => all.start..after(place),
    }
}

fn after(place: Result<u32, u32>) -> u32 {
    place.map_or_else(|place| place, |found| found + 1)
}

/// The strings that start with a prefix stand together at the start of `range`; answers where they end.
fn first_without_prefix(column: &Column, prefix: &str, range: Range<u32>) -> u32 {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if column.string(middle).starts_with(prefix) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
