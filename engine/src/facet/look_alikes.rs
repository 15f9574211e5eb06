//! Numbers and strings that look alike.
//!
//! Columns hold `308` and `"308"` apart, as sorting needs them. To a filter they are one value, and so they are to counts:
//! sums of distinct values are joined at the end, and documents are looked at only where they have several values.

use lamina_index::index::Snapshot;
use lamina_segment::bits::DocSet;
use lamina_segment::segment::Column;
use lamina_text::text::{facet_number, same_facet_number};

/// A number, and how many candidates have it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberValue {
    pub(super) value: f64,
    pub(super) count: u64,
}

/// The numbers and strings of one field.
pub(super) struct LookAlikes<'c> {
    /// By segment that has the column: it, and the candidates there.
    columns: Vec<(&'c Column, &'c DocSet)>,
}

impl<'c> LookAlikes<'c> {
    pub(super) fn new(snapshot: &Snapshot, columns: &'c [(usize, Column)], candidates: &'c [DocSet]) -> LookAlikes<'c> {
        debug_assert_eq!(snapshot.segments.len(), candidates.len());
        LookAlikes { columns: columns.iter().map(|(place, column)| (column, &candidates[*place])).collect() }
    }

    /// Reports whether the field has numbers and also strings that could look like numbers. Cost: two binary searches
    /// per segment.
    pub(super) fn may_exist(&self) -> bool {
        let has_numbers = self.columns.iter().any(|(column, _)| column.number_count() > 0);
        has_numbers && self.columns.iter().any(|(column, _)| !number_like(column).is_empty())
    }

    /// Adds to the count of each number the candidates that have a string that is shown as it is, and not the number.
    pub(super) fn find_strings_of(&self, numbers: &mut [(NumberValue, u64)]) {
        for (number, count) in numbers {
            let text = number.value.to_string();
            let with_string = |&(column, docs): &(&Column, &DocSet)| {
                column.find_string(&text).map_or(0, |ordinal| u64::from(column.count_in(ordinal, docs)))
            };
            let strings: u64 = self.columns.iter().map(with_string).sum();
            if strings > 0 {
                *count += strings - self.with_both(number.value, &text);
            }
        }
    }

    /// Takes the strings out that are shown as one of `numbers`, which ascend, and adds their candidates to it if `adds`.
    /// Strings that are another way to write one of the numbers get its candidates, as a filter by them finds these too.
    pub(super) fn join(&self, numbers: &mut [(NumberValue, u64)], strings: &mut Vec<(&str, u64)>, adds: bool) {
        strings.retain_mut(|(text, count)| {
            let Some(value) = facet_number(text) else { return true };
            let Ok(at) = numbers.binary_search_by(|(number, _)| number.value.total_cmp(&value)) else { return true };
            let both = self.with_both(value, text);
            if value.to_string() == *text {
                if adds {
                    numbers[at].1 += *count - both;
                }
                return false;
            }
            *count += numbers[at].0.count - both;
            true
        });
    }

    /// Counts the candidates that have the string or the number that it spells. `strings`: number of candidates that
    /// have the string.
    pub(super) fn with_either(&self, text: &str, strings: u64) -> u64 {
        let Some(value) = facet_number(text) else { return strings };
        let with_number = |&(column, docs): &(&Column, &DocSet)| {
            column.find_number(value).map_or(0, |ordinal| u64::from(column.count_in(ordinal, docs)))
        };
        match self.columns.iter().map(with_number).sum::<u64>() {
            0 => strings,
            numbers => strings + numbers - self.with_both(value, text),
        }
    }

    /// All strings of candidates that are shown as a number is, ascending. Cost: their documents.
    pub(super) fn texts_of_numbers(&self) -> Vec<(&'c str, u64)> {
        let mut texts = Vec::new();
        for &(column, docs) in &self.columns {
            let all = number_like(column).map(|ordinal| (column.string(ordinal), ordinal));
            let shown = all.filter(|(text, _)| same_facet_number(text).is_some());
            let counted = shown.map(|(text, ordinal)| (text, u64::from(column.count_in(ordinal, docs))));
            texts.extend(counted.filter(|&(_, count)| count > 0));
        }
        super::values::summed(texts, |a, b| a.cmp(b))
    }

    /// Counts the candidates that have both the number and the string. Cost: the documents of the string, if documents
    /// have several values.
    fn with_both(&self, number: f64, text: &str) -> u64 {
        let of_segment = |&(column, docs): &(&Column, &DocSet)| {
            if column.is_single_valued() {
                return 0;
            }
            let Ok(number) = column.find_number(number) else { return 0 };
            let Ok(string) = column.find_string(text) else { return 0 };
            let with_number = column.docs_in(number..number + 1);
            column.docs_of(string).filter(|&doc| docs.contains(doc) && with_number.contains(doc)).count() as u64
        };
        self.columns.iter().map(of_segment).sum()
    }
}

/// The ordinals of the strings that begin as numbers do, with a digit, a sign or a dot, and of few others.
pub(super) fn number_like(column: &Column) -> std::ops::Range<u32> {
    let place = |text| column.find_string(text).unwrap_or_else(|place| place);
    place("+")..place(":")
}
