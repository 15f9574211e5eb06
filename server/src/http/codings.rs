//! `Accept-Encoding`: the codings that a client can undo, and the one that its answer gets.

use warp::http::{HeaderMap, header};

/// Coding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Zstd,
    Brotli,
    Gzip,
    Deflate,
}

impl Coding {
    /// All of them, the one that costs the server least first: it decides between equal wishes.
    pub(super) const ALL: [Coding; 4] = [Coding::Zstd, Coding::Brotli, Coding::Gzip, Coding::Deflate];

    pub(super) fn name(self) -> &'static str {
        match self {
            Coding::Zstd => "zstd",
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
        }
    }

    /// In the order in which clients are most likely to understand one that they did not name.
    const MOST_KNOWN_FIRST: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

    fn has_name(self, name: &str) -> bool {
        // The standard has `x-gzip` mean the same.
        name == self.name() || (self == Coding::Gzip && name == "x-gzip")
    }
}

/// Content of `Accept-Encoding`: codings with their weights, from 0 (not acceptable) to 1.
struct Wishes(Vec<(String, f32)>);

impl Wishes {
    fn of(headers: &HeaderMap) -> Wishes {
        let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let wishes = values.flat_map(|value| value.split(',')).map(wish).filter(|(name, _)| !name.is_empty());
        Wishes(wishes.collect())
    }

    fn named(&self, is_it: impl Fn(&str) -> bool) -> Option<f32> {
        self.0.iter().find(|(name, _)| is_it(name)).map(|(_, quality)| *quality)
    }

    fn of_others(&self) -> Option<f32> {
        self.named(|name| name == "*")
    }

    /// See [`Choice::of`].
    fn choice(&self) -> Result<Option<Choice>, NothingAcceptable> {
        let of = |coding: Coding| self.named(|name| coding.has_name(name));
        let plain = self.named(|name| name == "identity");
        let is_plain_refused = plain.or_else(|| self.of_others()) == Some(0.0);
        let mut best: Option<(Choice, f32)> = None;
        for coding in Coding::ALL {
            let named = of(coding);
            let quality = named.or_else(|| self.of_others()).unwrap_or(0.0);
            if quality > best.map_or(0.0, |(_, best)| best) {
                best = Some((Choice { coding, is_named: named.is_some() || is_plain_refused }, quality));
            }
        }
        match best {
            // As it is only for who says that this is liked better than any coding.
            Some((choice, quality)) if plain.is_none_or(|plain| plain <= quality) => Ok(Some(choice)),
            _ if !is_plain_refused => Ok(None),
            _ => {
                // Anything but the plain form: one that the client did not rule out.
                let is_open = |coding: &Coding| of(*coding).or_else(|| self.of_others()) != Some(0.0);
                let coding = Coding::MOST_KNOWN_FIRST.into_iter().find(is_open).ok_or(NothingAcceptable)?;
                Ok(Some(Choice { coding, is_named: true }))
            }
        }
    }
}

/// `gzip;q=0.5`: the name and how much it is liked, 1 when it does not say.
fn wish(text: &str) -> (String, f32) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    (name, quality.map_or(1.0, |text| text.parse().unwrap_or(0.0)))
}

/// A coding, and whether it has to be used for short answers too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// Coding of the sent body.
    pub(super) coding: Coding,
    /// Otherwise `*` stands for it, and short answers may stay as they are.
    pub(super) is_named: bool,
}

impl Choice {
    /// Chooses the coding that the client prefers; `None` if the response must be sent unencoded.
    ///
    /// # Errors
    /// Fails if the client accepts neither a supported coding nor an unencoded response.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Choice>, NothingAcceptable> {
        Wishes::of(headers).choice()
    }
}

/// The client takes an answer in no form that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NothingAcceptable;

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(text: &str) -> Result<Option<Choice>, NothingAcceptable> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, text.parse().unwrap());
        Choice::of(&headers)
    }

    fn wanted(text: &str) -> Option<&'static str> {
        choice(text).unwrap().map(|choice| choice.coding.name())
    }

    #[test]
    fn the_client_chooses_and_ties_go_to_the_cheapest() {
        assert_eq!(wanted("gzip, deflate, br, zstd"), Some("zstd"));
        assert_eq!(wanted("gzip, deflate, br"), Some("br"));
        assert_eq!(wanted("br;q=0.5, GZIP;q=0.8"), Some("gzip"));
        assert_eq!(wanted("deflate"), Some("deflate"));
        assert_eq!(wanted("x-gzip"), Some("gzip"));
        assert_eq!(wanted("*"), Some("zstd"));
        assert_eq!(wanted("zstd;q=0, *;q=0.1"), Some("br"));
        assert_eq!(wanted("identity"), None);
        assert_eq!(wanted("gzip;q=0"), None);
        assert_eq!(wanted("gzip;q=nonsense"), None);
        assert_eq!(wanted("lzma"), None);
        assert_eq!(wanted(""), None);
        assert_eq!(Choice::of(&HeaderMap::new()), Ok(None));
    }

    #[test]
    fn the_plain_form_is_a_wish_too() {
        assert_eq!(wanted("identity, gzip;q=0.5"), None);
        assert_eq!(wanted("identity;q=0.5, gzip"), Some("gzip"));
        assert_eq!(wanted("identity, gzip"), Some("gzip"));
        // Refused: one that was not.
        assert_eq!(wanted("identity;q=0"), Some("gzip"));
        assert_eq!(wanted("identity;q=0, gzip;q=0"), Some("deflate"));
        assert_eq!(wanted("br, *;q=0"), Some("br"));
        assert_eq!(choice("*;q=0"), Err(NothingAcceptable));
        assert_eq!(choice("gzip;q=0, deflate;q=0, br;q=0, zstd;q=0, identity;q=0"), Err(NothingAcceptable));
        assert_eq!(wanted("*;q=0, identity"), None);
    }

    #[test]
    fn a_star_names_nothing() {
        let is_named = |text: &str| choice(text).unwrap().unwrap().is_named;
        assert!(is_named("gzip"));
        assert!(is_named("gzip, *;q=0.5"));
        assert!(is_named("*, identity;q=0"));
        assert!(!is_named("*"));
        assert!(!is_named("*, gzip;q=0.5"));
    }
}
