//! `_vectors[.embedder[.kind]] [NOT] EXISTS`

use super::ast::{Vectors, VectorsKind};
use super::grammar::Parser;
use super::reader::is_word_char;
use super::{Filter, FilterError, FilterErrorKind as Kind, Located};

impl Parser {
    /// Reads the rule if one starts here. `_vector` is an older spelling of the keyword.
    pub(super) fn vectors(&mut self) -> Result<Option<Filter>, FilterError> {
        let start = self.reader.position();
        if !self.reader.eat("_vectors") && !self.reader.eat("_vector") {
            return Ok(None);
        }
        if self.reader.peek().is_some_and(|c| is_word_char(c) && c != '.') {
            self.reader.rewind(start);
            return Ok(None);
        }
        let embedder = self.dotted_name(Kind::VectorsEmbedder)?;
        let kind = if embedder.is_some() { self.vectors_kind()? } else { None };
        if self.reader.peek() == Some('.') {
            return Err(self.reader.error_to_end(Kind::VectorsLeftover, self.reader.position()));
        }
        let at = self.reader.location(start, self.reader.position());
        let negated = self.reader.eat_keyword("NOT");
        if !self.reader.eat_keyword("EXISTS") {
            self.reader.skip_spaces();
            return Err(self.reader.error_to_end(Kind::VectorsOperation, self.reader.position()));
        }
        let filter = Filter::Vectors(Located { value: Vectors { embedder, kind }, at });
        Ok(Some(if negated { !filter } else { filter }))
    }

    fn vectors_kind(&mut self) -> Result<Option<VectorsKind>, FilterError> {
        let dot = self.reader.position();
        if !self.reader.eat(".") {
            return Ok(None);
        }
        let start = self.reader.position();
        let word = self.undotted_word();
        Ok(Some(match &*word {
            "userProvided" => VectorsKind::UserProvided,
            "documentTemplate" => VectorsKind::DocumentTemplate,
            "regenerate" => VectorsKind::Regenerate,
            "fragments" => {
                let end = self.reader.position();
                let missing = |parser: &Self| parser.reader.error(Kind::VectorsFragment, start, end);
                VectorsKind::Fragment(self.dotted_name(Kind::VectorsFragment)?.ok_or_else(|| missing(self))?)
            }
            other => return Err(self.reader.error_to_end(Kind::VectorsKind(other.to_owned()), dot)),
        }))
    }

    /// `.name`, quoted or bare; `None` without a dot, `missing` when nothing follows it.
    fn dotted_name(&mut self, missing: Kind) -> Result<Option<Located<String>>, FilterError> {
        let dot = self.reader.position();
        if !self.reader.eat(".") {
            return Ok(None);
        }
        let start = self.reader.position();
        let value = match self.reader.peek() {
            Some('"' | '\'') => self.reader.value()?,
            _ => self.undotted_word(),
        };
        let end = self.reader.position();
        if end == start {
            return Err(self.reader.error_to_end(missing, dot));
        }
        Ok(Some(Located { value, at: self.reader.location(start, end) }))
    }

    /// The bare word up to the next dot.
    fn undotted_word(&mut self) -> String {
        let word = self.reader.bare_word();
        let word = word.split('.').next().unwrap_or(word).to_owned();
        self.reader.eat(&word);
        word
    }
}
