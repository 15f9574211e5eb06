//! A column in memory, with other values for some documents.

use lamina_text::id::DocId;

use super::section::{ColumnData, encode_column};
use super::{Column, NewValue};
use crate::bits::DocSet;
use crate::storage::OwnedBytes;

impl Column {
    /// The number that the field of a document is, if the column knows that it is one.
    pub fn plain_number(&self, doc: DocId) -> Option<f64> {
        let mut found = None;
        if self.is_plain() {
            self.for_each_ordinal(doc, |ordinal| found = Some(ordinal));
        }
        found.filter(|ordinal| *ordinal < self.number_count()).map(|ordinal| self.number(ordinal))
    }

    /// The column as it would be if the field of these documents (ascending) had been these values. `is_plain`: their numbers
    /// are, see [`Column::plain_number`]. Cost: writing a column of all documents of the segment.
    pub(crate) fn with_values(&self, new: &[(DocId, NewValue)], is_plain: bool) -> Column {
        let docs = DocSet::from_sorted(new.iter().map(|(doc, _)| *doc).collect());
        let mut kept: Vec<(DocId, u32)> = Vec::with_capacity(self.pair_count() as usize + new.len());
        let mut used = vec![false; self.value_count() as usize];
        let mut changed = new.iter().map(|(doc, _)| *doc).peekable();
        for doc in 0..self.doc_count() {
            if changed.next_if_eq(&doc).is_none() {
                self.for_each_ordinal(doc, |ordinal| {
                    // In a damaged column documents may share what is theirs.
                    if kept.len() < self.pair_count() as usize {
                        used[ordinal as usize] = true;
                        kept.push((doc, ordinal));
                    }
                });
            }
        }
        let is_plain = is_plain && self.is_plain();
        let mut data = ColumnData { doc_count: self.doc_count(), is_plain, ..ColumnData::default() };
        let mut ordinals = vec![u32::MAX; used.len()];
        let numbers = self.join_numbers(new, &used, &mut data, &mut ordinals);
        let texts = self.join_texts(new, &used, &mut data, &mut ordinals);
        let of_new = |value: NewValue| match value {
            NewValue::Number(number) => numbers.find(number),
            NewValue::Text(text) => texts.iter().find(|(known, _)| *known == text).map_or(0, |(_, ordinal)| *ordinal),
        };
        let mut old = kept.into_iter().map(|(doc, ordinal)| (doc, ordinals[ordinal as usize])).peekable();
        for &(doc, value) in new {
            while let Some(pair) = old.next_if(|(before, _)| *before < doc) {
                data.pairs.push(pair);
            }
            data.pairs.push((doc, of_new(value)));
        }
        data.pairs.extend(old);
        data.null = self.null().and_not(&docs).to_vec();
        data.empty = self.empty().and_not(&docs).to_vec();
        data.exists = self.exists().or(&docs).to_vec();
        data.blank = self.blank().and_not(&docs).to_vec();
        let bytes = OwnedBytes::from(encode_column(&data));
        Column::open(bytes, self.doc_count()).expect("the writer writes what the reader reads")
    }

    /// Numbers old and new, ascending; answers the ordinals of the new ones.
    fn join_numbers(
        &self,
        new: &[(DocId, NewValue)],
        used: &[bool],
        data: &mut ColumnData,
        ordinals: &mut [u32],
    ) -> NumberOrdinals {
        let mut added: Vec<f64> = new.iter().filter_map(|(_, value)| value.number()).collect();
        added.sort_unstable_by(f64::total_cmp);
        added.dedup();
        let mut of_added = Vec::with_capacity(added.len());
        let mut added = added.into_iter().peekable();
        let next = |numbers: &Vec<f64>| u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        for ordinal in (0..self.number_count()).filter(|ordinal| used[*ordinal as usize]) {
            let number = self.number(ordinal);
            while let Some(smaller) = added.next_if(|added| *added < number) {
                of_added.push((smaller, next(&data.numbers)));
                data.numbers.push(smaller);
            }
            if let Some(equal) = added.next_if(|added| *added == number) {
                of_added.push((equal, next(&data.numbers)));
            }
            ordinals[ordinal as usize] = next(&data.numbers);
            data.numbers.push(number);
        }
        for larger in added {
            of_added.push((larger, next(&data.numbers)));
            data.numbers.push(larger);
        }
        NumberOrdinals(of_added)
    }

    /// The same for texts, of which there are two new ones at most.
    fn join_texts(
        &self,
        new: &[(DocId, NewValue)],
        used: &[bool],
        data: &mut ColumnData,
        ordinals: &mut [u32],
    ) -> Vec<(&'static str, u32)> {
        let mut added: Vec<&'static str> = new.iter().filter_map(|(_, value)| value.text()).collect();
        added.sort_unstable();
        added.dedup();
        let mut of_added = Vec::with_capacity(added.len());
        let mut added = added.into_iter().peekable();
        let mut next = data.numbers.len() as u32;
        let mut push = |data: &mut ColumnData, string: &str, original: &str| {
            data.strings.push(string);
            data.originals.push(if original == string { "" } else { original });
            next += 1;
            next - 1
        };
        for ordinal in (self.number_count()..self.value_count()).filter(|ordinal| used[*ordinal as usize]) {
            let string = self.string(ordinal);
            while let Some(smaller) = added.next_if(|added| *added < string) {
                of_added.push((smaller, push(data, smaller, smaller)));
            }
            let here = push(data, string, self.original(ordinal));
            if let Some(equal) = added.next_if(|added| *added == string) {
                of_added.push((equal, here));
            }
            ordinals[ordinal as usize] = here;
        }
        for larger in added {
            of_added.push((larger, push(data, larger, larger)));
        }
        of_added
    }
}

/// New numbers with their ordinals, ascending.
struct NumberOrdinals(Vec<(f64, u32)>);

impl NumberOrdinals {
    fn find(&self, number: f64) -> u32 {
        let at = self.0.partition_point(|(known, _)| known.total_cmp(&(number + 0.0)).is_lt());
        self.0.get(at).map_or(0, |(_, ordinal)| *ordinal)
    }
}

impl NewValue {
    fn number(self) -> Option<f64> {
        match self {
            // Adding zero turns the negative zero into the other one.
            NewValue::Number(number) => Some(number + 0.0),
            NewValue::Text(_) => None,
        }
    }

    fn text(self) -> Option<&'static str> {
        match self {
            NewValue::Text(text) => Some(text),
            NewValue::Number(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::ColumnsBuilder;
    use super::*;
    use crate::segment::format::{SectionKind, SectionTable, SectionWriter};
    use crate::storage::MemoryDirectory;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum FieldValue {
        Nothing,
        Null,
        Empty,
        Blank,
        Numbers(Vec<i8>),
        Texts(Vec<u8>),
        Truth(bool),
    }

    fn held() -> impl Strategy<Value = FieldValue> {
        prop_oneof![
            Just(FieldValue::Nothing),
            Just(FieldValue::Null),
            Just(FieldValue::Empty),
            Just(FieldValue::Blank),
            prop::collection::vec(-3i8..4, 1..3).prop_map(FieldValue::Numbers),
            prop::collection::vec(0u8..4, 1..3).prop_map(FieldValue::Texts),
            any::<bool>().prop_map(FieldValue::Truth),
        ]
    }

    fn truth(value: bool) -> &'static str {
        if value { "true" } else { "false" }
    }

    /// A column written from what documents hold.
    fn column(all: &[FieldValue]) -> Column {
        let mut builder = ColumnsBuilder::new(&[0]);
        for (doc, held) in (0..).zip(all) {
            builder.begin_document(doc);
            match held {
                FieldValue::Nothing => {}
                FieldValue::Null => builder.null(0),
                FieldValue::Empty => builder.empty(0),
                FieldValue::Blank => builder.string(0, "", " "),
                FieldValue::Numbers(numbers) => {
                    numbers.iter().for_each(|number| builder.number(0, f64::from(*number) / 2.0));
                }
                FieldValue::Texts(texts) => {
                    texts.iter().for_each(|text| builder.string(0, &format!("t{text}"), &format!("T{text}")));
                }
                FieldValue::Truth(value) => builder.string(0, truth(*value), truth(*value)),
            }
        }
        let directory = MemoryDirectory::new();
        let mut file = SectionWriter::create(&directory, "c.lam".to_owned()).unwrap();
        builder.finish(&mut file, None, all.len() as u32).unwrap();
        let table = SectionTable::open(&directory, &file.finish().unwrap()).unwrap();
        Column::open(table.required(SectionKind::Column).unwrap(), all.len() as u32).unwrap()
    }

    proptest! {
        #[test]
        fn it_is_the_column_that_would_have_been_written(
            all in prop::collection::vec(held(), 1..40),
            new in prop::collection::btree_map(0usize..40, prop_oneof![
                (-5i8..6).prop_map(|number| FieldValue::Numbers(vec![number])),
                any::<bool>().prop_map(FieldValue::Truth),
            ], 0..20),
        ) {
            let new: BTreeMap<usize, FieldValue> = new.into_iter().filter(|(doc, _)| *doc < all.len()).collect();
            let values: Vec<(DocId, NewValue)> = new.iter().map(|(doc, held)| (*doc as u32, match held {
                FieldValue::Numbers(numbers) => NewValue::Number(f64::from(numbers[0]) / 2.0),
                FieldValue::Truth(value) => NewValue::Text(truth(*value)),
                _ => unreachable!("no other kind is drawn"),
            })).collect();
            let patched = column(&all).with_values(&values, true);
            let mut as_written = all.clone();
            new.into_iter().for_each(|(doc, held)| as_written[doc] = held);
            let expected = column(&as_written);
            patched.validate().unwrap();
            let describe = |column: &Column| {
                let values: Vec<(String, String)> = (0..column.value_count())
                    .map(|o| (format!("{}{}", column.number(o), column.string(o)), format!("{:?}", column.docs_of(o).collect::<Vec<_>>())))
                    .collect();
                let sets = [column.null(), column.empty(), column.exists(), column.blank()];
                (values, sets.map(|set| set.to_vec()))
            };
            prop_assert_eq!(describe(&patched), describe(&expected));
        }
    }
}
