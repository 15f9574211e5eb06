//! The right side of a condition, in the two forms it is compared in.

use lamina_text::text::{BEHIND_ALL_DATES, Moment, facet_number, normalize_facet};

/// A value that documents are compared with: as a string always, as a number when it is one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Operand {
    /// Normalised as the strings of columns are.
    pub(super) text: String,
    /// Finite.
    pub(super) number: Option<f64>,
    /// Time of the operand if it is a date.
    pub(super) moment: Option<Moment>,
}

impl Operand {
    pub(super) fn new(text: &str) -> Operand {
        let text = normalize_facet(text).into_owned();
        let number = facet_number(&text);
        let moment = Moment::parse_bound(&text);
        Operand { text, number, moment }
    }

    /// The text whose place among others is that of the value.
    pub(super) fn place(&self) -> &str {
        let is_expanded = self.moment.is_some() && self.text.starts_with('+');
        if is_expanded { BEHIND_ALL_DATES } else { &self.text }
    }
}
