//! From a question about values to the ordinals of a column.

use std::ops::Range;

use memchr::memmem;

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
    /// The values of `column` for which the answer is yes. Cost: a few binary searches per operand;
    /// [`ValueQuestion::Contains`] reads all distinct strings.
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
                let strings = bounded(*comparison, column.find_string(&operand.text), numbers..values);
                let number = operand.number.map(|number| column.find_number(number));
                let numbers = number.map(|place| bounded(*comparison, place, 0..numbers));
                numbers.into_iter().chain([strings]).collect()
            }
            ValueQuestion::Between(from, to) => {
                let strings =
                    column.find_string(&from.text).unwrap_or_else(|place| place)..after(column.find_string(&to.text));
                let both = from.number.zip(to.number);
                let numbers = both.map(|(from, to)| {
                    column.find_number(from).unwrap_or_else(|place| place)..after(column.find_number(to))
                });
                numbers.into_iter().chain([strings]).collect()
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
