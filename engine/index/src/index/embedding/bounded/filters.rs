//! Filters: each pays for what it reads and makes before it does.

use std::fmt;

use liquid_core::model::ValueView;
use liquid_core::parser::FilterArguments;
use liquid_core::{Expression, Filter, FilterReflection, Language, ParseFilter, Result, Runtime, Value, ValueCow};
use liquid_lib::stdlib;

use super::meter::Meter;

/// Cost of one element of a list, in bytes.
const PIECE_BYTES: u64 = 64;

macro_rules! filters {
    ($($filter:ident),* $(,)?) => {
        [$(Box::<dyn ParseFilter>::from(stdlib::$filter)),*]
    };
}

pub(super) fn register(language: &mut Language) {
    let filters = filters![
        Abs,
        Append,
        AtLeast,
        AtMost,
        Capitalize,
        Ceil,
        Compact,
        Concat,
        Date,
        Default,
        DividedBy,
        Downcase,
        Escape,
        EscapeOnce,
        First,
        Floor,
        Join,
        Last,
        Lstrip,
        Map,
        Minus,
        Modulo,
        NewlineToBr,
        Plus,
        Prepend,
        Remove,
        RemoveFirst,
        Replace,
        ReplaceFirst,
        Reverse,
        Round,
        Rstrip,
        Size,
        Slice,
        Sort,
        SortNatural,
        Split,
        Strip,
        StripHtml,
        StripNewlines,
        Times,
        Truncate,
        TruncateWords,
        Uniq,
        Upcase,
        UrlDecode,
        UrlEncode,
        Where,
    ];
    for filter in filters {
        language.filters.register(filter.reflection().name().to_owned(), Paid(filter).into());
    }
}

#[derive(Clone)]
struct Paid(Box<dyn ParseFilter>);

impl ParseFilter for Paid {
    fn parse(&self, arguments: FilterArguments<'_>) -> Result<Box<dyn Filter>> {
        let positional: Vec<Expression> = arguments.positional.collect();
        let keyword: Vec<(&str, Expression)> = arguments.keyword.collect();
        let values = positional.iter().chain(keyword.iter().map(|(_, value)| value)).cloned().collect();
        let arguments =
            FilterArguments { positional: Box::new(positional.into_iter()), keyword: Box::new(keyword.into_iter()) };
        let name = self.0.reflection().name().to_owned();
        Ok(Box::new(PaidFilter { filter: self.0.parse(arguments)?, name, arguments: values }))
    }

    fn reflection(&self) -> &dyn FilterReflection {
        self.0.reflection()
    }
}

#[derive(Debug)]
struct PaidFilter {
    filter: Box<dyn Filter>,
    name: String,
    arguments: Vec<Expression>,
}

impl fmt::Display for PaidFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.filter.fmt(formatter)
    }
}

impl Filter for PaidFilter {
    fn evaluate(&self, input: &dyn ValueView, runtime: &dyn Runtime) -> Result<Value> {
        let meter = Meter::of(runtime);
        meter.step()?;
        let read = meter.weight(input);
        if meter.is_beyond(read) {
            meter.bytes(read)?;
        }
        let arguments: Vec<ValueCow<'_>> =
            self.arguments.iter().map(|argument| argument.evaluate(runtime)).collect::<Result<_>>()?;
        meter.bytes(cost(&self.name, input, read, &arguments))?;
        let made = self.filter.evaluate(input, runtime)?;
        meter.value(&made)?;
        Ok(made)
    }
}

fn text_bytes(value: Option<&ValueCow<'_>>) -> u64 {
    value.map_or(0, |value| value.to_kstr().len() as u64)
}

/// At least as many bytes as the filter makes on its way. Superlinear filters pay for their time, too.
fn cost(name: &str, input: &dyn ValueView, read: u64, arguments: &[ValueCow<'_>]) -> u64 {
    let length = input.as_array().map_or(0, |array| array.size().unsigned_abs());
    let occurrences = || {
        let (text, wanted) = (input.to_kstr(), arguments.first().map(|argument| argument.to_kstr()));
        wanted.map_or(0, |wanted| text.matches(wanted.as_str()).count() as u64)
    };
    let more = match name {
        "replace" => occurrences().saturating_mul(text_bytes(arguments.get(1))),
        "split" => occurrences().saturating_add(1).saturating_mul(PIECE_BYTES),
        "join" => length.saturating_mul(text_bytes(arguments.first()).max(1)),
        "uniq" => length.saturating_mul(length),
        "sort" | "sort_natural" => length.saturating_mul(PIECE_BYTES),
        "escape" | "escape_once" | "newline_to_br" => read.saturating_mul(6),
        "url_encode" | "upcase" | "downcase" | "capitalize" => read.saturating_mul(2),
        "date" => arguments.first().map_or(0, |format| widths(&format.to_kstr())),
        _ => arguments.iter().map(|argument| text_bytes(Some(argument))).fold(0, u64::saturating_add),
    };
    read.saturating_add(more)
}

/// The sum of all numbers in a format: as wide as it asks for.
fn widths(format: &str) -> u64 {
    let numbers = format.split(|character: char| !character.is_ascii_digit());
    let width = |digits: &str| if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) };
    numbers.map(width).fold(0, u64::saturating_add)
}
