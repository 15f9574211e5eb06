//! Integers that floats cannot distinguish.
//!
//! Columns hold numbers as 64-bit floats, in which integers of more than 53 bits share a place with their neighbours. Where
//! a condition names such an integer, the documents at its place are read, and compared digit by digit.

use std::cmp::Ordering;

use hashbrown::HashSet;
use lamina_segment::bits::DocSet;
use lamina_segment::document::{DocumentError, DocumentVisitor, Leaf, Number, PathId};
use lamina_segment::segment::{Column, SegmentReader};
use lamina_text::filter::Comparison;
use lamina_text::id::DocId;
use lamina_text::text::{Moment, normalize_facet};

use super::operand::Operand;
use super::ordinals::ValueQuestion;
use super::reading::passing_when_read;
use super::time_limit::{OutOfTime, TimeLimit};

/// Integers up to this size (2^53) have a float of their own.
const INTEGER_MAX: u128 = 1 << 53;

/// The operand as an integer, when its float may stand for others too.
fn large_integer(operand: &Operand) -> Option<i128> {
    operand.text.parse::<i128>().ok().filter(|integer| integer.unsigned_abs() >= INTEGER_MAX)
}

impl ValueQuestion {
    /// Reports whether the column alone cannot answer the question.
    pub(super) fn needs_digits(&self) -> bool {
        self.operands().any(|operand| large_integer(operand).is_some())
    }

    /// Works like [`ValueQuestion::ordinals`], for a question that [needs digits](Self::needs_digits). `name`: name of
    /// the field. Cost: reading the documents that have the value of each large operand in the column.
    ///
    /// # Errors
    /// When the time is up.
    pub(super) fn exact_documents(
        &self,
        name: &str,
        column: &Column,
        reader: &SegmentReader,
        limit: TimeLimit<'_>,
    ) -> Result<DocSet, OutOfTime> {
        let mut docs = self.ordinals(column, limit)?.documents(column, reader.doc_count());
        let large = self.operands().filter(|operand| large_integer(operand).is_some());
        let places: HashSet<u32> = large.filter_map(|operand| column.find_number(operand.number?).ok()).collect();
        let doubtful: HashSet<DocId> = places.into_iter().flat_map(|ordinal| column.docs_of(ordinal)).collect();
        let doubtful: DocSet = doubtful.into_iter().collect();
        if doubtful.is_empty() {
            return Ok(docs);
        }
        let exact = Exact::new(self);
        let mut paths = Vec::new();
        let passing = passing_when_read(&doubtful, reader, limit, |_, parser, json| {
            let mut values = Values { exact: &exact, name, paths: &mut paths, holds: false };
            parser.visit(json, &mut values).is_ok() && values.holds
        })?;
        docs.and_not_assign(&doubtful);
        docs.or_assign(&passing);
        Ok(docs)
    }

    fn operands(&self) -> impl Iterator<Item = &Operand> {
        let none: &[Operand] = &[];
        let (list, one, other) = match self {
            ValueQuestion::OneOf(operands) => (operands.as_slice(), None, None),
            ValueQuestion::Compare(_, operand) => (none, Some(operand), None),
            ValueQuestion::Between(from, to) => (none, Some(from), Some(to)),
            ValueQuestion::StartsWith(_) | ValueQuestion::Contains(_) | ValueQuestion::Any(_) => (none, None, None),
        };
        list.iter().chain(one).chain(other)
    }

    /// Reports whether one value satisfies a comparison question. `compare` returns the order of the value relative to
    /// an operand, or `None` if they cannot be compared.
    fn holds_for(&self, compare: impl Fn(&Operand) -> Option<Ordering>) -> bool {
        match self {
            ValueQuestion::Compare(comparison, operand) => compare(operand).is_some_and(|order| match comparison {
                Comparison::Greater => order.is_gt(),
                Comparison::GreaterOrEqual => order.is_ge(),
                Comparison::Less => order.is_lt(),
                Comparison::LessOrEqual => order.is_le(),
            }),
            ValueQuestion::Between(from, to) => {
                compare(from).is_some_and(Ordering::is_ge) && compare(to).is_some_and(Ordering::is_le)
            }
            ValueQuestion::OneOf(_)
            | ValueQuestion::StartsWith(_)
            | ValueQuestion::Contains(_)
            | ValueQuestion::Any(_) => false,
        }
    }
}

/// A question that needs digits, for looking at values one by one: what it costs does not depend on the number of operands.
pub(super) enum Exact<'q> {
    Compares(&'q ValueQuestion),
    OneOf {
        texts: HashSet<&'q str>,
        integers: HashSet<i128>,
        /// By their bits: numbers of all operands, and of those that are no integers.
        numbers: HashSet<u64>,
        fractions: HashSet<u64>,
    },
}

impl<'q> Exact<'q> {
    pub(super) fn new(question: &'q ValueQuestion) -> Exact<'q> {
        let ValueQuestion::OneOf(operands) = question else { return Exact::Compares(question) };
        let (mut integers, mut numbers, mut fractions) = (HashSet::new(), HashSet::new(), HashSet::new());
        for operand in operands {
            let number = operand.number.map(f64::to_bits);
            numbers.extend(number);
            match operand.text.parse::<i128>() {
                Ok(integer) => drop(integers.insert(integer)),
                Err(_) => fractions.extend(number),
            }
        }
        let texts = operands.iter().map(|operand| operand.text.as_str()).collect();
        Exact::OneOf { texts, integers, numbers, fractions }
    }

    pub(super) fn holds_for_string(&self, text: &str) -> bool {
        match self {
            // Dates are before and behind others in time, but equal to their own text alone.
            Exact::OneOf { texts, .. } => texts.contains(text),
            Exact::Compares(question) => {
                let moment = Moment::parse(text);
                question.holds_for(|operand| {
                    let in_time = moment.zip(operand.moment).map(|(own, wanted)| own.cmp(&wanted));
                    Some(in_time.unwrap_or_else(|| text.cmp(operand.place())))
                })
            }
        }
    }

    pub(super) fn holds_for_number(&self, number: &Number<'_>) -> bool {
        let integer = number.text.parse::<i128>().ok();
        // Minus zero is zero.
        let bits = (number.value + 0.0).to_bits();
        match self {
            Exact::OneOf { integers, numbers, fractions, .. } => match integer {
                Some(integer) => integers.contains(&integer) || fractions.contains(&bits),
                None => numbers.contains(&bits),
            },
            Exact::Compares(question) => question.holds_for(|operand| match (integer, operand.text.parse::<i128>()) {
                (Some(integer), Ok(wanted)) => Some(integer.cmp(&wanted)),
                _ => number.value.partial_cmp(&operand.number?),
            }),
        }
    }
}

/// Looks at the values of one field of a document.
struct Values<'q> {
    exact: &'q Exact<'q>,
    name: &'q str,
    /// By path of the parser: whether it is the field.
    paths: &'q mut Vec<bool>,
    holds: bool,
}

impl Values<'_> {
    fn string(&mut self, path: PathId, text: &str) {
        if self.paths[path.index()] {
            self.holds |= self.exact.holds_for_string(&normalize_facet(text));
        }
    }
}

impl DocumentVisitor for Values<'_> {
    type Error = DocumentError;

    fn new_path(&mut self, path: PathId, name: &str) -> Result<(), DocumentError> {
        debug_assert_eq!(path.index(), self.paths.len(), "paths come in order");
        self.paths.push(name == self.name);
        Ok(())
    }

    fn string(&mut self, leaf: Leaf, value: &str) -> Result<(), DocumentError> {
        if !value.trim().is_empty() {
            self.string(leaf.path, value);
        }
        Ok(())
    }

    fn number(&mut self, leaf: Leaf, number: Number<'_>) -> Result<(), DocumentError> {
        if self.paths[leaf.path.index()] {
            self.holds |= self.exact.holds_for_number(&number);
        }
        Ok(())
    }

    fn boolean(&mut self, leaf: Leaf, value: bool) -> Result<(), DocumentError> {
        self.string(leaf.path, if value { "true" } else { "false" });
        Ok(())
    }
}
