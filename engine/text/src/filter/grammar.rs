//! Recursive descent over the operators: `OR`, `AND`, `NOT`, parentheses, conditions.

use super::reader::Reader;
use super::size::Size;
use super::{Comparison, Condition, Filter, FilterError, FilterErrorKind as Kind, Located, MAX_DEPTH};

impl Filter {
    /// Parses the text of a filter; `None` when it is blank.
    ///
    /// # Errors
    /// The first thing that is wrong, or too much.
    pub fn parse(text: &str) -> Result<Option<Filter>, FilterError> {
        Filter::parse_within(text, &mut Size::default())
    }

    /// Works like [`Filter::parse`], for a text that is a part of a filter.
    pub(super) fn parse_within(text: &str, size: &mut Size) -> Result<Option<Filter>, FilterError> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let mut parser = Parser::new(text, *size);
        let filter = parser.or_expression()?;
        *size = parser.size;
        parser.reader.skip_spaces();
        if !parser.reader.rest().is_empty() {
            return Err(parser.reader.error_to_end(Kind::ExpectedEnd, parser.reader.position()));
        }
        Ok(Some(filter))
    }
}

pub(super) struct Parser {
    pub(super) reader: Reader,
    depth: usize,
    pub(super) size: Size,
}

impl Parser {
    pub(super) fn new(text: &str, size: Size) -> Parser {
        Parser { reader: Reader::new(text), depth: 0, size }
    }

    pub(super) fn or_expression(&mut self) -> Result<Filter, FilterError> {
        self.chain("OR", Filter::Or, Self::and_expression)
    }

    fn and_expression(&mut self) -> Result<Filter, FilterError> {
        self.chain("AND", Filter::And, Self::not_expression)
    }

    fn chain(
        &mut self,
        keyword: &str,
        build: fn(Vec<Filter>) -> Filter,
        operand: fn(&mut Self) -> Result<Filter, FilterError>,
    ) -> Result<Filter, FilterError> {
        let first = operand(self)?;
        if !self.reader.eat_keyword(keyword) {
            return Ok(first);
        }
        let mut operands = vec![first, operand(self)?];
        while self.reader.eat_keyword(keyword) {
            operands.push(operand(self)?);
        }
        Ok(build(operands))
    }

    fn not_expression(&mut self) -> Result<Filter, FilterError> {
        let outside = self.depth;
        while self.reader.eat_keyword("NOT") {
            self.enter()?;
        }
        let negated = (self.depth - outside) % 2 == 1;
        let filter = self.primary()?;
        self.depth = outside;
        Ok(if negated { !filter } else { filter })
    }

    /// One level deeper; refused past the limit.
    pub(super) fn enter(&mut self) -> Result<(), FilterError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.reader.error_to_end(Kind::DepthLimit, self.reader.position()));
        }
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn primary(&mut self) -> Result<Filter, FilterError> {
        self.reader.skip_spaces();
        let start = self.reader.position();
        if self.reader.eat("(") {
            return self.parenthesised(start);
        }
        self.size.add_condition()?;
        if let Some(filter) = self.vectors()? {
            return Ok(filter);
        }
        match self.reader.bare_word() {
            "_geoRadius" => self.geo_radius(),
            "_geoBoundingBox" => self.geo_bounding_box(),
            "_geoPolygon" => self.geo_polygon(),
            "_foreign" => self.foreign(),
            _ => self.condition(),
        }
    }

    fn parenthesised(&mut self, start: usize) -> Result<Filter, FilterError> {
        self.enter()?;
        let filter = self.or_expression()?;
        self.leave();
        self.reader.skip_spaces();
        if !self.reader.eat(")") {
            return Err(self.reader.error_to_end(Kind::MissingClosingDelimiter(')'), start));
        }
        Ok(filter)
    }

    /// `_foreign(field, filter)`
    fn foreign(&mut self) -> Result<Filter, FilterError> {
        let start = self.reader.position();
        let malformed = |parser: &Self| parser.reader.error_to_end(Kind::Foreign, start);
        self.reader.eat("_foreign");
        self.reader.skip_spaces();
        if !self.reader.eat("(") {
            return Err(malformed(self));
        }
        let field = self.field()?;
        self.reader.skip_spaces();
        if !self.reader.eat(",") {
            return Err(malformed(self));
        }
        self.enter()?;
        let filter = Box::new(self.or_expression()?);
        self.leave();
        self.reader.skip_spaces();
        if !self.reader.eat(")") {
            return Err(self.reader.error_to_end(Kind::MissingClosingDelimiter(')'), start));
        }
        Ok(Filter::Foreign { field, filter, at: self.located(start) })
    }

    fn condition(&mut self) -> Result<Filter, FilterError> {
        let start = self.reader.position();
        // What starts no value is no operation either; a keyword gets its own sentence.
        let field = self.field().map_err(|error| match error.kind() {
            Kind::ExpectedValue => self.expected_operation(start),
            _ => error,
        })?;
        self.reader.skip_spaces();
        if self.reader.peek() == Some('[') {
            let filter = Box::new(self.brackets()?);
            return Ok(Filter::Element { field, filter });
        }
        if let Some(condition) = self.symbol_condition()? {
            return Ok(Filter::Condition { field, condition });
        }
        let word_start = self.reader.position();
        if self.reader.eat_keyword("NOT") {
            let condition = self.negatable_condition()?.ok_or_else(|| self.expected_operation(start))?;
            return Ok(!Filter::Condition { field, condition });
        }
        if let Some(condition) = self.negatable_condition()? {
            return Ok(Filter::Condition { field, condition });
        }
        if self.reader.eat_keyword("IS") {
            let negated = self.reader.eat_keyword("NOT");
            let condition = if self.reader.eat_keyword("NULL") {
                Condition::Null
            } else if self.reader.eat_keyword("EMPTY") {
                Condition::Empty
            } else {
                return Err(self.expected_operation(start));
            };
            let filter = Filter::Condition { field, condition };
            return Ok(if negated { !filter } else { filter });
        }
        self.reader.rewind(word_start);
        let from = self.reader.value().map_err(|error| match error.kind() {
            Kind::ExpectedValue | Kind::ReservedKeyword => self.expected_operation(start),
            _ => error,
        })?;
        if !self.reader.eat_keyword("TO") {
            return Err(self.expected_operation(start));
        }
        let to = self.reader.value()?;
        Ok(Filter::Condition { field, condition: Condition::Between { from, to } })
    }

    pub(super) fn field(&mut self) -> Result<Located<String>, FilterError> {
        self.reader.skip_spaces();
        let start = self.reader.position();
        let value = self.reader.value()?;
        Ok(Located { value, at: self.reader.location(start, self.reader.position()) })
    }

    /// `=`, `!=`, `<` and their like.
    fn symbol_condition(&mut self) -> Result<Option<Condition>, FilterError> {
        type Build = fn(String) -> Condition;
        // Longer symbols stand before their own beginnings.
        let symbols: [(&str, Build); 6] = [
            ("!=", Condition::NotEqual),
            (">=", |value| Condition::Compare(Comparison::GreaterOrEqual, value)),
            ("<=", |value| Condition::Compare(Comparison::LessOrEqual, value)),
            ("=", Condition::Equal),
            (">", |value| Condition::Compare(Comparison::Greater, value)),
            ("<", |value| Condition::Compare(Comparison::Less, value)),
        ];
        for (symbol, build) in symbols {
            if self.reader.eat(symbol) {
                return Ok(Some(build(self.reader.value()?)));
            }
        }
        Ok(None)
    }

    /// The operators that take an infix `NOT`.
    fn negatable_condition(&mut self) -> Result<Option<Condition>, FilterError> {
        self.reader.skip_spaces();
        let start = self.reader.position();
        if self.reader.eat_keyword("IN") {
            return Ok(Some(Condition::In(self.list()?)));
        }
        if self.reader.eat_keyword("EXISTS") {
            return Ok(Some(Condition::Exists));
        }
        if self.reader.eat_keyword("CONTAINS") {
            let at = self.reader.location(start, self.reader.position());
            return Ok(Some(Condition::Contains(Located { value: self.reader.value()?, at })));
        }
        if self.reader.eat_keyword("STARTS") && self.reader.eat_keyword("WITH") {
            return Ok(Some(Condition::StartsWith(self.reader.value()?)));
        }
        self.reader.rewind(start);
        Ok(None)
    }

    /// `[a, b, c]`, a comma at the end allowed.
    fn list(&mut self) -> Result<Vec<String>, FilterError> {
        self.reader.skip_spaces();
        if !self.reader.eat("[") {
            return Err(self.reader.error_to_end(Kind::InOpeningBracket, self.reader.position()));
        }
        let mut values = Vec::new();
        loop {
            self.reader.skip_spaces();
            if self.reader.eat("]") {
                return Ok(values);
            }
            let start = self.reader.position();
            self.size.add_value()?;
            values.push(self.reader.value().map_err(|error| match error.kind() {
                Kind::ExpectedValue | Kind::ReservedKeyword => self.bad_list(start),
                _ => error,
            })?);
            self.reader.skip_spaces();
            if !self.reader.eat(",") && self.reader.peek() != Some(']') {
                return Err(self.bad_list(self.reader.position()));
            }
        }
    }

    fn bad_list(&self, position: usize) -> FilterError {
        let kind = if self.reader.rest().is_empty() { Kind::InClosingBracket } else { Kind::InExpectedValue };
        self.reader.error_to_end(kind, position)
    }

    fn expected_operation(&self, start: usize) -> FilterError {
        self.reader.error_to_end(Kind::ExpectedOperation, start)
    }

    pub(super) fn located(&self, start: usize) -> Located<()> {
        Located { value: (), at: self.reader.location(start, self.reader.position()) }
    }
}
