//! Integers beyond what floats tell apart.
//!
//! Columns hold numbers as 64-bit floats, in which integers of more than 53 bits share a place with their neighbours. Where
//! a condition names such an integer, the documents at its place are read, and compared digit by digit.

use std::cmp::Ordering;

use super::moment::Moment;
use super::operand::Operand;
use super::ordinals::ValueQuestion;
use crate::bits::DocSet;
use crate::document::{DocumentError, DocumentParser, DocumentVisitor, Leaf, Number, PathId};
use crate::filter::Comparison;
use crate::segment::{Column, SegmentReader};
use crate::text::normalize_facet;

/// Integers up to this size (2^53) have a float of their own.
const INTEGER_MAX: u128 = 1 << 53;

/// The operand as an integer, when its float may stand for others too.
fn large_integer(operand: &Operand) -> Option<i128> {
    operand.text.parse::<i128>().ok().filter(|integer| integer.unsigned_abs() >= INTEGER_MAX)
}

impl ValueQuestion {
    /// Whether the column alone cannot answer.
    pub(super) fn needs_digits(&self) -> bool {
        self.operands().any(|operand| large_integer(operand).is_some())
    }

    /// As [`ValueQuestion::ordinals`], for a question that [needs digits](Self::needs_digits): `name` is the field's. Cost:
    /// reading the documents at the place of each large operand.
    pub(super) fn exact_documents(&self, name: &str, column: &Column, reader: &SegmentReader) -> DocSet {
        let mut docs = self.ordinals(column).documents(column, reader.doc_count());
        let large = self.operands().filter(|operand| large_integer(operand).is_some());
        let places = large.filter_map(|operand| column.find_number(operand.number?).ok());
        let doubtful: DocSet = places.flat_map(|ordinal| column.docs_of(ordinal)).collect();
        if doubtful.is_empty() {
            return docs;
        }
        let (mut parser, mut paths, mut json) = (DocumentParser::new(), Vec::new(), Vec::new());
        let mut passing = doubtful.clone();
        passing.retain(|doc| {
            let mut values = Values { question: self, name, paths: &mut paths, holds: false };
            // What can't be read passes no condition.
            reader.store().get(doc, &mut json).is_ok() && parser.visit(&json, &mut values).is_ok() && values.holds
        });
        docs.and_not_assign(&doubtful);
        docs.or_assign(&passing);
        docs
    }

    fn operands(&self) -> impl Iterator<Item = &Operand> {
        let none: &[Operand] = &[];
        let (list, one, other) = match self {
            ValueQuestion::OneOf(operands) => (operands.as_slice(), None, None),
            ValueQuestion::Compare(_, operand) => (none, Some(operand), None),
            ValueQuestion::Between(from, to) => (none, Some(from), Some(to)),
            ValueQuestion::StartsWith(_) | ValueQuestion::Contains(_) => (none, None, None),
        };
        list.iter().chain(one).chain(other)
    }

    /// Whether the answer is yes for one value; `compare` tells how it stands to an operand, if they compare.
    fn holds_for(&self, compare: impl Fn(&Operand) -> Option<Ordering>) -> bool {
        match self {
            ValueQuestion::OneOf(operands) => operands.iter().any(|operand| compare(operand) == Some(Ordering::Equal)),
            ValueQuestion::Compare(comparison, operand) => compare(operand).is_some_and(|order| match comparison {
                Comparison::Greater => order.is_gt(),
                Comparison::GreaterOrEqual => order.is_ge(),
                Comparison::Less => order.is_lt(),
                Comparison::LessOrEqual => order.is_le(),
            }),
            ValueQuestion::Between(from, to) => {
                compare(from).is_some_and(Ordering::is_ge) && compare(to).is_some_and(Ordering::is_le)
            }
            ValueQuestion::StartsWith(_) | ValueQuestion::Contains(_) => false,
        }
    }
}

/// Looks at the values of one field of a document.
struct Values<'q> {
    question: &'q ValueQuestion,
    name: &'q str,
    /// By path of the parser: whether it is the field.
    paths: &'q mut Vec<bool>,
    holds: bool,
}

impl Values<'_> {
    fn string(&mut self, path: PathId, text: &str) {
        if self.paths[path.index()] {
            let text = normalize_facet(text);
            // Date-times are before and behind others in time, but equal to their own text alone.
            let moment = if matches!(self.question, ValueQuestion::OneOf(_)) { None } else { Moment::parse(&text) };
            self.holds |= self.question.holds_for(|operand| {
                let in_time = moment.zip(operand.moment).map(|(own, wanted)| own.cmp(&wanted));
                Some(in_time.unwrap_or_else(|| (*text).cmp(operand.text.as_str())))
            });
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
            let integer = number.text.parse::<i128>().ok();
            self.holds |= self.question.holds_for(|operand| match (integer, operand.text.parse::<i128>()) {
                (Some(integer), Ok(wanted)) => Some(integer.cmp(&wanted)),
                _ => number.value.partial_cmp(&operand.number?),
            });
        }
        Ok(())
    }

    fn boolean(&mut self, leaf: Leaf, value: bool) -> Result<(), DocumentError> {
        self.string(leaf.path, if value { "true" } else { "false" });
        Ok(())
    }
}
