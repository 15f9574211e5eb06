//! Alternatives on one field become one question, and what a chain repeats is left out.

use hashbrown::{HashMap, HashSet};
use lamina_text::filter::Filter;
use lamina_text::id::FieldId;

use super::needles::Needles;
use super::node::Node;
use super::ordinals::ValueQuestion;

/// Shorter chains are not looked through for repetitions.
const LONG: usize = 8;

/// The operands of a chain, each once. Of those that are chains themselves, repetitions stay.
pub(super) fn without_repeated(filters: &[Filter]) -> Vec<&Filter> {
    if filters.len() < LONG {
        return filters.iter().collect();
    }
    let mut seen = HashSet::new();
    let is_single = |filter: &Filter| match filter {
        Filter::Not(inner) => matches!(**inner, Filter::Condition { .. }),
        filter => !matches!(filter, Filter::And(_) | Filter::Or(_) | Filter::Foreign { .. }),
    };
    filters.iter().filter(|filter| !is_single(filter) || seen.insert(filter.to_string())).collect()
}

/// Nodes of which one must hold. Those that ask for values of one field become one.
pub(super) fn joined(nodes: Vec<Node>) -> Vec<Node> {
    if nodes.len() < 2 {
        return nodes;
    }
    let (mut by_field, mut digits): (HashMap<FieldId, Place>, HashMap<FieldId, usize>) = Default::default();
    let (mut out, mut open) = (Vec::new(), nodes);
    open.reverse();
    while let Some(node) = open.pop() {
        match node {
            Node::Or(nodes) => open.extend(nodes.into_iter().rev()),
            Node::Values(field, question) => {
                by_field.entry(field).or_insert_with(|| Place::new(&mut out)).add(question)
            }
            Node::Digits(field, name, ValueQuestion::OneOf(mut operands)) => match digits.get(&field) {
                Some(&place) => {
                    if let Node::Digits(_, _, ValueQuestion::OneOf(all)) = &mut out[place] {
                        all.append(&mut operands);
                    }
                }
                None => {
                    digits.insert(field, out.len());
                    out.push(Node::Digits(field, name, ValueQuestion::OneOf(operands)));
                }
            },
            Node::Nothing => {}
            other => out.push(other),
        }
    }
    for (field, place) in by_field {
        let index = place.index;
        out[index] = Node::Values(field, place.question());
    }
    out
}

/// The questions on one field, and where their node goes.
struct Place {
    index: usize,
    operands: Vec<super::operand::Operand>,
    needles: Vec<Needles>,
    others: Vec<ValueQuestion>,
}

impl Place {
    fn new(out: &mut Vec<Node>) -> Place {
        out.push(Node::Nothing);
        Place { index: out.len() - 1, operands: Vec::new(), needles: Vec::new(), others: Vec::new() }
    }

    fn add(&mut self, question: ValueQuestion) {
        match question {
            ValueQuestion::OneOf(mut operands) => self.operands.append(&mut operands),
            ValueQuestion::Contains(mut needles) => self.needles.append(&mut needles),
            ValueQuestion::Any(questions) => questions.into_iter().for_each(|question| self.add(question)),
            other => self.others.push(other),
        }
    }

    fn question(self) -> ValueQuestion {
        let mut all = self.others;
        if !self.operands.is_empty() {
            all.push(ValueQuestion::OneOf(self.operands));
        }
        if !self.needles.is_empty() {
            all.push(ValueQuestion::Contains(Needles::together(self.needles)));
        }
        if all.len() == 1 { all.remove(0) } else { ValueQuestion::Any(all) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_is_left_out_once_a_chain_is_long() {
        let filters = |text: &str| match Filter::parse(text).unwrap().unwrap() {
            Filter::Or(filters) => filters,
            other => vec![other],
        };
        let repeated = |text: &str| filters(&vec![text; 1000].join(" OR "));
        assert_eq!(without_repeated(&repeated("a = 1")).len(), 1);
        assert_eq!(without_repeated(&repeated("NOT a CONTAINS 'x y'")).len(), 1);
        assert_eq!(without_repeated(&repeated("_geoRadius(1, 2, 3)")).len(), 1);
        assert_eq!(without_repeated(&filters("a = 1 OR a = 1")).len(), 2, "not worth a look");
        let different: Vec<String> = (0..1000).map(|n| format!("a = {}", n / 2)).collect();
        assert_eq!(without_repeated(&filters(&different.join(" OR "))).len(), 500);
    }
}
