//! From a question about values to the ordinals of a column.

use std::ops::Range;

use lamina_segment::bits::DocSet;
use lamina_segment::segment::Column;
use lamina_text::filter::Comparison;
use lamina_text::text::Moment;

use super::moment::doubtful;
use super::needles::Needles;
use super::operand::Operand;
use super::ordinal_set::OrdinalSet;
use super::time_limit::{OutOfTime, TimeLimit};

/// A question about the values of a field; true for a document when it is true for one of its values.
#[derive(Clone, Debug)]
pub(super) enum ValueQuestion {
    OneOf(Vec<Operand>),
    Compare(Comparison, Operand),
    /// Both ends included.
    Between(Operand, Operand),
    /// Strings only. Not empty.
    StartsWith(String),
    /// Strings only: one of the texts is a part of them.
    Contains(Vec<Needles>),
    /// One of the questions has the answer yes. None of them needs digits.
    Any(Vec<ValueQuestion>),
}

/// Looking up the values of a document costs as much as looking at so many strings one after another.
const DOC_COST: u32 = 8;
/// Steps between two looks at the clock.
const STEPS_BETWEEN_LOOKS: usize = 1024;

impl ValueQuestion {
    /// The values of `column` for which the answer is yes, numbers as floats. Cost: a few binary searches per operand, for
    /// a date the strings within a day of it; [`ValueQuestion::Contains`] reads all distinct strings.
    ///
    /// # Errors
    /// When the time is up.
    pub(super) fn ordinals(&self, column: &Column, limit: TimeLimit<'_>) -> Result<OrdinalSet, OutOfTime> {
        self.ranges(column, limit).map(OrdinalSet::new)
    }

    /// Works like [`ValueQuestion::ordinals`], but may leave out values that no document of `docs` has. Cost: the
    /// values of `docs` if these are few.
    ///
    /// # Errors
    /// When the time is up.
    pub(super) fn ordinals_among(
        &self,
        column: &Column,
        docs: &DocSet,
        limit: TimeLimit<'_>,
    ) -> Result<OrdinalSet, OutOfTime> {
        let strings = column.value_count() - column.number_count();
        if docs.len().saturating_mul(DOC_COST) >= strings {
            return self.ordinals(column, limit);
        }
        let mut ordinals = Vec::new();
        docs.for_each(|doc| column.for_each_ordinal(doc, |ordinal| ordinals.push(ordinal)));
        ordinals.sort_unstable();
        ordinals.dedup();
        self.ranges_among(column, &ordinals, limit).map(OrdinalSet::new)
    }

    fn ranges_among(
        &self,
        column: &Column,
        ordinals: &[u32],
        limit: TimeLimit<'_>,
    ) -> Result<Vec<Range<u32>>, OutOfTime> {
        let mut ranges = Vec::new();
        match self {
            ValueQuestion::Contains(parts) => {
                let strings = ordinals.iter().copied().filter(|&ordinal| ordinal >= column.number_count());
                let strings: Vec<(u32, &str)> = strings.map(|ordinal| (ordinal, column.string(ordinal))).collect();
                for part in parts {
                    for strings in strings.chunks(STEPS_BETWEEN_LOOKS) {
                        limit.check()?;
                        let matching = strings.iter().filter(|(_, string)| part.are_in(string));
                        ranges.extend(matching.map(|&(ordinal, _)| ordinal..ordinal + 1));
                    }
                }
            }
            ValueQuestion::Any(questions) => {
                for question in questions {
                    ranges.append(&mut question.ranges_among(column, ordinals, limit)?);
                }
            }
            other => return other.ranges(column, limit),
        }
        Ok(ranges)
    }

    /// Reports whether [`ValueQuestion::ordinals`] reads all distinct strings.
    pub(super) fn reads_all(&self) -> bool {
        match self {
            ValueQuestion::Contains(_) => true,
            ValueQuestion::Any(questions) => questions.iter().any(ValueQuestion::reads_all),
            _ => false,
        }
    }

    fn ranges(&self, column: &Column, limit: TimeLimit<'_>) -> Result<Vec<Range<u32>>, OutOfTime> {
        let (numbers, values) = (column.number_count(), column.value_count());
        Ok(match self {
            ValueQuestion::OneOf(operands) => {
                let number = |operand: &Operand| operand.number.and_then(|number| column.find_number(number).ok());
                let string = |operand: &Operand| column.find_string(&operand.text).ok();
                let mut ranges = Vec::new();
                for operands in operands.chunks(STEPS_BETWEEN_LOOKS) {
                    limit.check()?;
                    let found = operands.iter().flat_map(|operand| [number(operand), string(operand)]).flatten();
                    ranges.extend(found.map(|ordinal| ordinal..ordinal + 1));
                }
                ranges
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
            ValueQuestion::Contains(parts) => {
                let mut ranges = Vec::new();
                for part in parts {
                    for start in (numbers..values).step_by(STEPS_BETWEEN_LOOKS) {
                        limit.check()?;
                        let end = values.min(start.saturating_add(STEPS_BETWEEN_LOOKS as u32));
                        let matching = (start..end).filter(|&ordinal| part.are_in(column.string(ordinal)));
                        ranges.extend(matching.map(|ordinal| ordinal..ordinal + 1));
                    }
                }
                ranges
            }
            ValueQuestion::Any(questions) => {
                let mut ranges = Vec::new();
                for question in questions {
                    limit.check()?;
                    ranges.append(&mut question.ranges(column, limit)?);
                }
                ranges
            }
        })
    }
}

/// The strings among `strings` that compare so with the operand: in time where both are dates, else byte by byte.
/// Cost: two binary searches, and for a date the strings within a day of it.
fn compared_strings(
    comparison: Comparison,
    operand: &Operand,
    column: &Column,
    strings: Range<u32>,
) -> Vec<Range<u32>> {
    let by_bytes = bounded(comparison, column.find_string(operand.place()), strings.clone());
    let Some(moment) = operand.moment else { return vec![by_bytes] };
    let [blanks, others] = doubtful(moment, column, strings);
    let certain = [0..blanks.start, blanks.end..others.start, others.end..u32::MAX];
    let mut ranges: Vec<Range<u32>> =
        certain.map(|certain| by_bytes.start.max(certain.start)..by_bytes.end.min(certain.end)).into();
    ranges.extend(
        blanks
            .chain(others)
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

/// Returns the intersection of two lists of ranges. The lists are short but for the strings within a day of a date.
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
