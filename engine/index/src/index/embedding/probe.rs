//! Finds out, without a document, whether a template reads variables that no document brings.

use std::fmt::Debug;

use liquid_core::model::{DisplayCow, KStringCow, ObjectView, State, Value, ValueView};

use super::bounded::{Allowance, Keep, Program};
use super::error::TemplateError;

/// Stands for any value: whatever field it is asked for, it has it.
#[derive(Debug)]
struct Anything;

static ANYTHING: Anything = Anything;

impl ValueView for Anything {
    fn as_debug(&self) -> &dyn Debug {
        self
    }

    fn render(&self) -> DisplayCow<'_> {
        DisplayCow::Borrowed(&"")
    }

    fn source(&self) -> DisplayCow<'_> {
        self.render()
    }

    fn type_name(&self) -> &'static str {
        "object"
    }

    fn query_state(&self, state: State) -> bool {
        matches!(state, State::Truthy)
    }

    fn to_kstr(&self) -> KStringCow<'_> {
        KStringCow::from_static("")
    }

    fn to_value(&self) -> Value {
        Value::Nil
    }

    fn as_object(&self) -> Option<&dyn ObjectView> {
        Some(self)
    }
}

impl ObjectView for Anything {
    fn as_value(&self) -> &dyn ValueView {
        self
    }

    fn size(&self) -> i64 {
        1
    }

    fn keys<'k>(&'k self) -> Box<dyn Iterator<Item = KStringCow<'k>> + 'k> {
        Box::new(std::iter::empty())
    }

    fn values<'k>(&'k self) -> Box<dyn Iterator<Item = &'k dyn ValueView> + 'k> {
        Box::new(std::iter::empty())
    }

    fn iter<'k>(&'k self) -> Box<dyn Iterator<Item = (KStringCow<'k>, &'k dyn ValueView)> + 'k> {
        Box::new(std::iter::empty())
    }

    fn contains_key(&self, _: &str) -> bool {
        true
    }

    fn get<'s>(&'s self, _: &str) -> Option<&'s dyn ValueView> {
        Some(&ANYTHING)
    }
}

/// Stand-in for an element of `fields`, see `TextTemplate::render`.
#[derive(Debug, ValueView, ObjectView)]
struct Field {
    name: Anything,
    is_searchable: bool,
    value: Anything,
}

/// Stand-in for the variables of a template, see `TextTemplate::render`.
#[derive(Debug, ValueView, ObjectView)]
struct Variables {
    doc: Anything,
    fields: Vec<Field>,
    passages: Anything,
}

/// Start of the library's message for a name that no variable has. [`AVAILABLE`] is in the message if something else
/// has the name. Any other failure may not occur with a real document.
const UNKNOWN_VARIABLE: &str = "liquid: Unknown variable";
const AVAILABLE: &str = "available indexes=";

/// Variables of which each is there, whatever its name.
pub(super) fn any_variables() -> &'static dyn ObjectView {
    &ANYTHING
}

/// Refuses a template that reads another variable than `doc`, `fields` and `passages`, or something else of a field than it has. Only
/// what is reached with a document whose fields are all there is looked at.
///
/// # Errors
/// What is not there; also that a limit was reached, as it would be with any document.
pub(super) fn check_variables(program: &Program) -> Result<(), TemplateError> {
    let field = Field { name: Anything, is_searchable: true, value: Anything };
    let message = match program.render(
        &Variables { doc: Anything, fields: vec![field], passages: Anything },
        &Allowance::for_input(0),
        Keep::First(0),
    ) {
        Ok(_) => return Ok(()),
        Err(TemplateError::Wrong(message)) => message,
        Err(limit) => return Err(limit),
    };
    let of_field = |line: &str| line.trim_start().starts_with(AVAILABLE) && line.contains("is_searchable");
    let is_unknown = message.starts_with(UNKNOWN_VARIABLE) || message.lines().any(of_field);
    if is_unknown { Err(TemplateError::Wrong(message)) } else { Ok(()) }
}
