//! From a filter on elements to the test of one, and to what the columns say of documents that may have such an element.

use lamina_text::filter::{Condition, Filter, Located};
use lamina_text::text::normalize_facet;

use super::ConditionError;
use super::elements::{ElementQuestion, Test};
use super::needles::Needles;
use super::node::Node;
use super::operand::Operand;
use super::ordinals::ValueQuestion;
use super::prepare::Preparation;

impl Preparation<'_> {
    /// `text`: the whole filter.
    pub(super) fn element(
        &self,
        field: &Located<String>,
        filter: &Filter,
        text: String,
    ) -> Result<Node, ConditionError> {
        let (test, candidates) = self.test(&field.value, filter)?;
        let path = field.value.clone();
        let question = Box::new(ElementQuestion { path, test, text: text.into() });
        Ok(Node::Elements { question, candidates: candidates.map(Box::new) })
    }

    /// The test of an element at `path`, and a node that documents with an element that passes it pass, too.
    pub(super) fn test(&self, path: &str, filter: &Filter) -> Result<(Test, Option<Node>), ConditionError> {
        Ok(match filter {
            Filter::And(filters) => {
                let (mut tests, mut nodes) = (Vec::new(), Vec::new());
                for filter in filters {
                    let (test, node) = self.test(path, filter)?;
                    tests.push(test);
                    nodes.extend(node);
                }
                (Test::All(tests), (!nodes.is_empty()).then_some(Node::And { all: nodes, none: Vec::new() }))
            }
            Filter::Or(filters) => {
                let (mut tests, mut nodes) = (Vec::new(), Some(Vec::new()));
                for filter in filters {
                    let (test, node) = self.test(path, filter)?;
                    tests.push(test);
                    nodes = nodes.zip(node).map(|(mut nodes, node)| {
                        nodes.push(node);
                        nodes
                    });
                }
                (Test::Any(tests), nodes.map(Node::Or))
            }
            Filter::Not(filter) => (Test::Not(Box::new(self.test(path, filter)?.0)), None),
            Filter::Element { field, filter } => {
                let (test, node) = self.test(&format!("{path}.{}", field.value), filter)?;
                (Test::Element(field.value.clone(), Box::new(test)), node)
            }
            Filter::Condition { field, condition } => self.condition_of_element(path, field, condition)?,
            Filter::GeoRadius { at, .. }
            | Filter::GeoBoundingBox { at, .. }
            | Filter::GeoPolygon { at, .. }
            | Filter::Foreign { at, .. } => {
                return Err(ConditionError::Unsupported { function: "a condition on documents", at: at.at.clone() });
            }
            Filter::Vectors(vectors) => {
                return Err(ConditionError::Unsupported { function: "_vectors", at: vectors.at.clone() });
            }
        })
    }

    fn condition_of_element(
        &self,
        path: &str,
        field: &Located<String>,
        condition: &Condition,
    ) -> Result<(Test, Option<Node>), ConditionError> {
        let whole = Located { value: format!("{path}.{}", field.value), at: field.at.clone() };
        self.check(&whole, condition)?;
        let path = field.value.clone();
        let one_of = |values: &[String]| {
            let (blank, operands): (Vec<_>, Vec<_>) =
                values.iter().map(|value| Operand::new(value)).partition(|operand| operand.text.is_empty());
            let (question, or_blank) = (ValueQuestion::OneOf(operands), !blank.is_empty());
            Test::Value { path: path.clone(), question, or_blank }
        };
        let values = |question| Test::Value { path: path.clone(), question, or_blank: false };
        let test = match condition {
            Condition::Equal(value) => one_of(std::slice::from_ref(value)),
            Condition::NotEqual(value) => {
                return Ok((Test::Not(Box::new(one_of(std::slice::from_ref(value)))), None));
            }
            Condition::In(list) => one_of(list),
            Condition::Compare(comparison, value) => values(ValueQuestion::Compare(*comparison, Operand::new(value))),
            Condition::Between { from, to } => values(ValueQuestion::Between(Operand::new(from), Operand::new(to))),
            Condition::Contains(part) => {
                values(ValueQuestion::Contains(Needles::parts(vec![normalize_facet(&part.value).into_owned()])))
            }
            Condition::StartsWith(prefix) => match normalize_facet(prefix) {
                prefix if prefix.is_empty() => return Ok((Test::Exists(path), Some(self.existing(&whole.value)))),
                prefix => values(ValueQuestion::StartsWith(prefix.into_owned())),
            },
            Condition::Exists => return Ok((Test::Exists(path), Some(self.existing(&whole.value)))),
            // Among several elements, columns say of none that its field is null or empty.
            Condition::Null => return Ok((Test::Null(path), Some(self.existing(&whole.value)))),
            Condition::Empty => return Ok((Test::Empty(path), Some(self.existing(&whole.value)))),
        };
        Ok((test, Some(self.condition(&whole, condition)?)))
    }
}
