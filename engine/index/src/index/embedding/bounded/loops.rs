//! `for`. That of the library makes a list of a range before it looks at its limit.

use std::collections::HashMap;
use std::fmt;
use std::io::Write;

use liquid_core::error::ResultLiquidExt;
use liquid_core::model::{KString, KStringRef, ObjectView, Scalar, Value, ValueView};
use liquid_core::parser::{BlockElement, TryMatchToken};
use liquid_core::runtime::{Interrupt, InterruptRegister};
use liquid_core::{
    BlockReflection, Error, Expression, Language, ParseBlock, Renderable, Result, Runtime, TagBlock, TagTokenIter,
    Template, ValueCow,
};
use liquid_lib::stdlib::{Range, RangeExpression};

use super::meter::Meter;
use super::scope::Scope;

/// The block `for`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop;

impl BlockReflection for Loop {
    fn start_tag(&self) -> &str {
        "for"
    }

    fn end_tag(&self) -> &str {
        "endfor"
    }

    fn description(&self) -> &str {
        ""
    }
}

/// Sequence that a loop iterates over, and its options.
#[derive(Debug)]
struct Head {
    variable: KString,
    range: RangeExpression,
    limit: Option<Expression>,
    offset: Option<Expression>,
    is_reversed: bool,
}

impl fmt::Display for Head {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{{% for {} in {} ", self.variable, self.range)?;
        let named = [("limit", &self.limit), ("offset", &self.offset)];
        let mut parameters: Vec<String> =
            named.iter().filter_map(|(name, value)| Some(format!("{name}:{}", value.as_ref()?))).collect();
        if self.is_reversed {
            parameters.push("reversed".to_owned());
        }
        write!(formatter, "{} %}}", parameters.join(", "))
    }
}

/// The value after `name:`.
fn parameter(arguments: &mut TagTokenIter<'_>) -> Result<Expression> {
    let colon = arguments.expect_next("\":\" expected.")?;
    colon.expect_str(":").into_result_custom_msg("\":\" expected.")?;
    arguments.expect_next("Value expected.")?.expect_value().into_result()
}

impl Head {
    fn parse(mut arguments: TagTokenIter<'_>) -> Result<Head> {
        let variable = arguments.expect_next("Identifier expected.")?.expect_identifier().into_result()?;
        let variable = KString::from_ref(variable);
        let word = arguments.expect_next("\"in\" expected.")?;
        word.expect_str("in").into_result_custom_msg("\"in\" expected.")?;
        let range = match arguments.expect_next("Array or range expected.")?.expect_value() {
            TryMatchToken::Matches(array) => RangeExpression::Array(array),
            TryMatchToken::Fails(token) => {
                let (start, stop) = token.expect_range().into_result()?;
                RangeExpression::Counted(start, stop)
            }
        };
        let mut head = Head { variable, range, limit: None, offset: None, is_reversed: false };
        while let Some(token) = arguments.next() {
            match token.as_str() {
                "limit" => head.limit = Some(parameter(&mut arguments)?),
                "offset" => head.offset = Some(parameter(&mut arguments)?),
                "reversed" => head.is_reversed = true,
                _ => return Err(token.raise_custom_error("\"limit\", \"offset\" or \"reversed\" expected.")),
            }
        }
        Ok(head)
    }
}

impl ParseBlock for Loop {
    fn parse(
        &self,
        arguments: TagTokenIter<'_>,
        mut block: TagBlock<'_, '_>,
        language: &Language,
    ) -> Result<Box<dyn Renderable>> {
        let head = Head::parse(arguments)?;
        let (mut each, mut otherwise) = (Vec::new(), None);
        while let Some(element) = block.next()? {
            match element {
                BlockElement::Tag(mut tag) if tag.name() == "else" => {
                    tag.tokens().expect_nothing()?;
                    otherwise = Some(Template::new(block.parse_all(language)?));
                    break;
                }
                BlockElement::Tag(tag) => each.push(tag.parse(&mut block, language)?),
                element => each.push(element.parse(&mut block, language)?),
            }
        }
        block.assert_empty();
        let each = Template::new(each);
        Ok(Box::new(For { head, each, otherwise }))
    }

    fn reflection(&self) -> &dyn BlockReflection {
        self
    }
}

/// Items that a loop iterates over. A range is never expanded into a list.
enum Items<'v> {
    Values(Vec<ValueCow<'v>>),
    Counted { start: i64, count: usize },
}

impl<'v> Items<'v> {
    fn new(range: &'v Range<'v>, meter: &Meter) -> Result<Items<'v>> {
        let value = match range {
            Range::Counted(start, stop) => {
                let count = (i128::from(*stop) - i128::from(*start) + 1).max(0);
                return Ok(Items::Counted { start: *start, count: usize::try_from(count).unwrap_or(usize::MAX) });
            }
            Range::Array(value) => value.as_view(),
        };
        let values = if let Some(array) = value.as_array() {
            meter.bytes(array.size().unsigned_abs().saturating_mul(size_of::<ValueCow<'_>>() as u64))?;
            array.values().map(ValueCow::Borrowed).collect()
        } else if let Some(object) = value.as_object() {
            meter.value(value)?;
            let pair = |(name, value): (liquid_core::model::KStringCow<'_>, &dyn ValueView)| {
                ValueCow::Owned(Value::Array(vec![Value::scalar(name.into_owned()), value.to_value()]))
            };
            object.iter().map(pair).collect()
        } else if value.is_state() || value.is_nil() {
            Vec::new()
        } else {
            return Err(unexpected("array", value.type_name()));
        };
        Ok(Items::Values(values))
    }

    fn len(&self) -> usize {
        match self {
            Items::Values(values) => values.len(),
            Items::Counted { count, .. } => *count,
        }
    }

    /// Nothing is there behind the last.
    fn get(&self, position: usize) -> ValueCow<'_> {
        match self {
            Items::Values(values) => {
                values.get(position).map_or(ValueCow::Owned(Value::Nil), |value| ValueCow::Borrowed(value.as_view()))
            }
            Items::Counted { start, count } if position < *count => {
                ValueCow::Owned(Value::scalar(start.saturating_add_unsigned(position as u64)))
            }
            Items::Counted { .. } => ValueCow::Owned(Value::Nil),
        }
    }
}

fn unexpected(wanted: &str, found: &str) -> Error {
    Error::with_msg(format!("Expected {wanted}, found `{found}`"))
}

/// A whole number; one below zero is as good as endless.
fn number(parameter: Option<&Expression>, runtime: &dyn Runtime) -> Result<Option<usize>> {
    let Some(parameter) = parameter else { return Ok(None) };
    let value = parameter.evaluate(runtime)?;
    let number = value.as_scalar().and_then(|scalar| scalar.to_integer());
    let number = number.ok_or_else(|| unexpected("whole number", value.type_name()))?;
    Ok(Some(usize::try_from(number).unwrap_or(usize::MAX)))
}

impl Head {
    fn range<'r>(&'r self, runtime: &'r dyn Runtime) -> Result<Range<'r>> {
        // A list is gone through, not read as a whole.
        if let RangeExpression::Array(expression) = &self.range
            && let Some(value) = expression.try_evaluate(runtime)
        {
            return Ok(Range::Array(value));
        }
        self.range.evaluate(runtime).trace_with(|| self.to_string().into())
    }

    /// Returns how many of `total` items to skip, and how many to visit after that.
    fn part(&self, total: usize, runtime: &dyn Runtime) -> Result<(usize, usize)> {
        let limit = number(self.limit.as_ref(), runtime)?;
        let offset = number(self.offset.as_ref(), runtime)?.unwrap_or(0).min(total);
        Ok((offset, limit.map_or(total - offset, |limit| limit.min(total))))
    }

    /// Renders one pass.
    fn pass(
        &self,
        each: &Template,
        index: usize,
        variables: &HashMap<KStringRef<'_>, &dyn ValueView>,
        (writer, runtime): (&mut dyn Write, &dyn Runtime),
    ) -> Result<()> {
        let meter = Meter::of(runtime);
        meter.pass()?;
        let scope = Scope::new(runtime, variables, meter);
        each.render_to(writer, &scope)
            .trace_with(|| self.to_string().into())
            .context_key("index")
            .value_with(|| format!("{}", index + 1).into())
    }
}

#[derive(Debug)]
struct For {
    head: Head,
    each: Template,
    otherwise: Option<Template>,
}

impl Renderable for For {
    fn render_to(&self, writer: &mut dyn Write, runtime: &dyn Runtime) -> Result<()> {
        let range = self.head.range(runtime)?;
        let items = Items::new(&range, &Meter::of(runtime))?;
        let (offset, count) = self.head.part(items.len(), runtime)?;
        if count == 0 {
            if let Some(otherwise) = &self.otherwise {
                let rendered = otherwise.render_to(writer, runtime);
                rendered.trace("{{% else %}}").trace_with(|| self.head.to_string().into())?;
            }
            return Ok(());
        }
        let parent = runtime.try_get(&[Scalar::new("forloop")]);
        let parent = parent.as_ref().map(ValueCow::as_view);
        for index in 0..count {
            let item = items.get(offset + if self.head.is_reversed { count - 1 - index } else { index });
            let forloop = ForLoop::new(index, count, parent);
            let mut variables = HashMap::<KStringRef<'_>, &dyn ValueView>::new();
            variables.insert("forloop".into(), &forloop);
            variables.insert(self.head.variable.as_ref(), &item);
            self.head.pass(&self.each, index, &variables, (writer, runtime))?;
            let interrupt = runtime.registers().get_mut::<InterruptRegister>().reset();
            if let Some(Interrupt::Break) = interrupt {
                break;
            }
        }
        Ok(())
    }
}

/// Value of `forloop` inside a `for`.
#[derive(Clone, Debug, liquid_core::model::ValueView, liquid_core::model::ObjectView)]
struct ForLoop<'p> {
    length: i64,
    parentloop: Option<&'p dyn ValueView>,
    index0: i64,
    index: i64,
    rindex0: i64,
    rindex: i64,
    first: bool,
    last: bool,
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl<'p> ForLoop<'p> {
    fn new(index: usize, count: usize, parentloop: Option<&'p dyn ValueView>) -> ForLoop<'p> {
        let rest = count - index - 1;
        ForLoop {
            length: signed(count),
            parentloop,
            index0: signed(index),
            index: signed(index + 1),
            rindex0: signed(rest),
            rindex: signed(rest).saturating_add(1),
            first: index == 0,
            last: rest == 0,
        }
    }
}
