//! Reading a query string parameter by parameter, with the public wording of every refusal.
//!
//! ```
//! use lamina_base::error::{ApiResult, Code};
//! use lamina_protocol::wire::query_string::QueryString;
//!
//! fn limit(query: &str) -> ApiResult<u64> {
//!     let mut limit = 20;
//!     QueryString::parse(query).parameters(&["limit", "from"], |name, parameter| {
//!         match name {
//!             "limit" => limit = parameter.code(Code::InvalidTaskLimit).positive_integer()?,
//!             _ => drop(parameter.code(Code::InvalidTaskFrom).positive_integer()?),
//!         }
//!         Ok(())
//!     })?;
//!     Ok(limit)
//! }
//! # assert_eq!(limit("limit=3"), Ok(3));
//! ```

use std::fmt;

use lamina_base::error::{ApiError, ApiResult, Code};

use super::{identifier, suggest};

/// The names of two lists as one; `N` has to be the sum.
pub const fn joined<const A: usize, const B: usize, const N: usize>(
    one: [&'static str; A],
    other: [&'static str; B],
) -> [&'static str; N] {
    assert!(A + B == N);
    let mut all = [""; N];
    let mut place = 0;
    while place < N {
        all[place] = if place < A { one[place] } else { other[place - A] };
        place += 1;
    }
    all
}

/// A query string, decoded: parameters in the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub struct QueryString {
    parameters: Vec<(String, Vec<String>)>,
}

/// One parameter and the code with which to refuse it.
#[derive(Clone, Debug)]
pub struct Parameter<'a> {
    name: &'a str,
    values: &'a [String],
    code: Code,
}

impl QueryString {
    /// Splits and decodes `text` (without the `?`). Bytes that are not UTF-8 become U+FFFD.
    pub fn parse(text: &str) -> QueryString {
        let mut parameters: Vec<(String, Vec<String>)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name), decode(value));
            match parameters.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => parameters.push((name, vec![value])),
            }
        }
        QueryString { parameters }
    }

    /// Calls `visit` with each parameter in order; one that is not in `accepted` is refused on sight.
    pub fn parameters(
        &self,
        accepted: &[&str],
        mut visit: impl FnMut(&str, Parameter<'_>) -> ApiResult<()>,
    ) -> ApiResult<()> {
        self.parameters_by_place(accepted, |place, parameter| visit(accepted[place], parameter))
    }

    /// Works like [`QueryString::parameters`], but `visit` gets the place of the name in `accepted`.
    pub(super) fn parameters_by_place(
        &self,
        accepted: &[&str],
        mut visit: impl FnMut(usize, Parameter<'_>) -> ApiResult<()>,
    ) -> ApiResult<()> {
        for (name, values) in &self.parameters {
            let Some(place) = accepted.iter().position(|accepted| accepted == name) else {
                return Err(ApiError::new(
                    Code::BadRequest,
                    format!(
                        "Unknown parameter `{name}`: {}expected one of {}",
                        suggest::did_you_mean(name, accepted),
                        suggest::list(accepted)
                    ),
                ));
            };
            visit(place, Parameter { name, values, code: Code::BadRequest })?;
        }
        Ok(())
    }

    /// The text of one parameter, whatever others there are.
    ///
    /// # Errors
    /// `code`, when it is there more than once.
    pub fn text_of(&self, name: &str, code: Code) -> ApiResult<Option<String>> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        let text = |(name, values): &(String, Vec<String>)| Parameter { name, values, code }.text().map(str::to_owned);
        found.map(text).transpose()
    }

    /// The same without one parameter.
    #[must_use]
    pub fn without(mut self, name: &str) -> QueryString {
        self.parameters.retain(|(known, _)| known != name);
        self
    }

    /// Reports whether there is no parameter at all.
    pub fn is_empty(&self) -> bool {
        self.parameters.is_empty()
    }
}

/// Percent-decoding with `+` as a space.
fn decode(text: &str) -> String {
    identifier::decode_path_segment(&text.replace('+', " "))
}

impl<'a> Parameter<'a> {
    /// The same parameter, refused with `code`.
    #[must_use]
    pub fn code(self, code: Code) -> Parameter<'a> {
        Parameter { code, ..self }
    }

    /// The text, which must have been given once.
    pub fn text(&self) -> ApiResult<&'a str> {
        match self.values {
            [one] => Ok(one),
            _ => Err(self.error(format!(
                "Invalid value type for parameter `{}`: expected a string, but found multiple values",
                self.name
            ))),
        }
    }

    /// An integer >= 0.
    pub fn positive_integer(&self) -> ApiResult<u64> {
        let text = self.text()?;
        text.parse().map_err(|_| self.invalid(format!("could not parse `{text}` as a positive integer")))
    }

    /// `true` or `false`.
    pub fn boolean(&self) -> ApiResult<bool> {
        match self.text()? {
            "true" => Ok(true),
            "false" => Ok(false),
            text => {
                Err(self.invalid(format!("could not parse `{text}` as a boolean, expected either `true` or `false`")))
            }
        }
    }

    /// Any finite number.
    pub fn number(&self) -> ApiResult<f64> {
        let text = self.text()?;
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| self.invalid(format!("could not parse `{text}` as a number")))
    }

    /// The texts between commas, of which empty ones do not count.
    pub fn texts(&self) -> ApiResult<Vec<&'a str>> {
        Ok(self.text()?.split(',').filter(|text| !text.is_empty()).collect())
    }

    /// [`texts`](Self::texts), each of its own.
    pub fn strings(&self) -> ApiResult<Vec<String>> {
        Ok(self.texts()?.into_iter().map(str::to_owned).collect())
    }

    /// The comma-separated elements, each read by `read`; one of several that is refused is named `` `p[i]` ``.
    pub fn list<T>(&self, mut read: impl FnMut(&Parameter<'_>) -> ApiResult<T>) -> ApiResult<Vec<T>> {
        let texts = self.texts()?;
        let mut elements = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            let name = if texts.len() > 1 { format!("{}[{index}]", self.name) } else { self.name.to_owned() };
            let values = [(*text).to_owned()];
            elements.push(read(&Parameter { name: &name, values: &values, code: self.code })?);
        }
        Ok(elements)
    }

    /// A text out of a closed list.
    pub fn one_of<T: Copy>(&self, accepted: &[(&str, T)]) -> ApiResult<T> {
        let text = self.text()?;
        if let Some((_, value)) = accepted.iter().find(|(word, _)| *word == text) {
            return Ok(*value);
        }
        let words: Vec<&str> = accepted.iter().map(|(word, _)| *word).collect();
        Err(self.error(format!(
            "Unknown value `{text}` for parameter `{}`: {}expected one of {}",
            self.name,
            suggest::did_you_mean(text, &words),
            suggest::list(&words)
        )))
    }

    /// The name of an index, or what is wrong with it.
    pub fn index_uid(&self) -> ApiResult<String> {
        let text = self.text()?;
        identifier::check_index_uid(text).map_err(|reason| self.invalid(reason))?;
        Ok(text.to_owned())
    }

    /// An error with the parameter's code and a free message.
    pub fn error(&self, message: impl Into<String>) -> ApiError {
        ApiError::new(self.code, message)
    }

    /// ``Invalid value in parameter `p`: <reason>``
    pub fn invalid(&self, reason: impl fmt::Display) -> ApiError {
        self.error(format!("Invalid value in parameter `{}`: {reason}", self.name))
    }
}

/// The value of a mandatory parameter, or ``Missing parameter `p` `` with `code`.
pub fn required<T>(value: Option<T>, name: &str, code: Code) -> ApiResult<T> {
    value.ok_or_else(|| ApiError::new(code, format!("Missing parameter `{name}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first<T>(query: &str, read: impl Fn(&Parameter<'_>) -> ApiResult<T>) -> Result<T, String> {
        let mut found = None;
        QueryString::parse(query)
            .parameters(&["limit", "uids", "statuses"], |_, parameter| {
                found = Some(read(&parameter.code(Code::InvalidTaskLimit))?);
                Ok(())
            })
            .map_err(|error| error.message)?;
        Ok(found.unwrap())
    }

    #[test]
    fn decoding() {
        assert_eq!(decode("a%20b+c%C3%A9"), "a b cé");
        assert_eq!(decode("100%"), "100%");
        assert_eq!(decode("%zz%4"), "%zz%4");
        assert_eq!(decode("%FF"), "\u{fffd}");
    }

    #[test]
    fn integers_and_booleans() {
        assert_eq!(first("limit=12", |p| p.positive_integer()), Ok(12));
        for bad in ["abc", "-1", "1.5", ""] {
            assert_eq!(
                first(&format!("limit={bad}"), |p| p.positive_integer()).unwrap_err(),
                format!("Invalid value in parameter `limit`: could not parse `{bad}` as a positive integer")
            );
        }
        assert_eq!(first("limit=true", |p| p.boolean()), Ok(true));
        assert_eq!(
            first("limit=yes", |p| p.boolean()).unwrap_err(),
            "Invalid value in parameter `limit`: could not parse `yes` as a boolean, expected either `true` or `false`"
        );
    }

    #[test]
    fn unknown_and_repeated_parameters() {
        assert_eq!(
            first("status=a", |p| p.boolean()).unwrap_err(),
            "Unknown parameter `status`: expected one of `limit`, `uids`, `statuses`"
        );
        assert_eq!(
            first("statusee=a", |p| p.boolean()).unwrap_err(),
            "Unknown parameter `statusee`: did you mean `statuses`? expected one of `limit`, `uids`, `statuses`"
        );
        assert_eq!(
            first("limit=1&limit=2", |p| p.positive_integer()).unwrap_err(),
            "Invalid value type for parameter `limit`: expected a string, but found multiple values"
        );
    }

    #[test]
    fn nothing_between_commas_is_no_element() {
        for (query, texts) in
            [("uids=", vec![]), ("uids=,", vec![]), ("uids=1,,2,", vec!["1", "2"]), ("uids=%20", vec![" "])]
        {
            assert_eq!(first(query, |p| Ok(p.texts()?.join("|"))), Ok(texts.join("|")), "{query}");
        }
    }

    #[test]
    fn lists_name_the_element() {
        assert_eq!(first("uids=1,2", |p| p.list(|element| element.positive_integer())), Ok(vec![1, 2]));
        assert_eq!(
            first("uids=1,a", |p| p.list(|element| element.positive_integer())).unwrap_err(),
            "Invalid value in parameter `uids[1]`: could not parse `a` as a positive integer"
        );
        assert_eq!(
            first("uids=a,", |p| p.list(|element| element.positive_integer())).unwrap_err(),
            "Invalid value in parameter `uids`: could not parse `a` as a positive integer"
        );
        assert_eq!(
            first("statuses=failet", |p| p.one_of(&[("failed", 1), ("enqueued", 2)])).unwrap_err(),
            "Unknown value `failet` for parameter `statuses`: did you mean `failed`? expected one of `failed`, `enqueued`"
        );
    }
}
