//! Stems: what the forms of a word have in common, by the Snowball algorithm of its language.

use rust_stemmers::{Algorithm, Stemmer as Snowball};

use super::Language;

/// Shorter stems are shared by words that have nothing to do with each other.
const STEM_CHARS_MIN: usize = 2;
/// The last letter of shorter stems stays as it is.
const CHANGING_CHARS_MIN: usize = 3;
/// The article, and what else is written in front of Arabic words. (Snowball takes these off, so that words with one stem
/// begin differently.)
const ARABIC_HEADS: [&str; 9] = ["", "ال", "وال", "بال", "كال", "فال", "لل", "و", "ب"];

/// The stemmer of one language.
pub struct Stemmer {
    snowball: Snowball,
    language: Language,
}

impl Stemmer {
    /// `None` for languages without one.
    pub fn new(language: Language) -> Option<Stemmer> {
        Some(Stemmer { snowball: Snowball::create(algorithm(language)?), language })
    }

    /// The stem of a normalised word.
    pub fn stem<'w>(&self, word: &'w str) -> std::borrow::Cow<'w, str> {
        self.snowball.stem(word)
    }

    /// Returns prefixes such that every word with `stem` begins with one of them: the stem without its last letter,
    /// which may change (`happy`, `happiness`). Returns none if the stem is too short to look for forms.
    pub fn beginnings(&self, stem: &str) -> Vec<String> {
        let count = stem.chars().count();
        let Some((last, _)) = stem.char_indices().next_back().filter(|_| count >= STEM_CHARS_MIN) else {
            return Vec::new();
        };
        let beginning = if count < CHANGING_CHARS_MIN { stem } else { &stem[..last] };
        let heads: &[&str] = if self.language == Language::Ara { &ARABIC_HEADS } else { &[""] };
        let mut beginnings: Vec<String> = heads.iter().map(|head| format!("{head}{beginning}")).collect();
        // `dying`, `lying` and `tying` are the only forms that Snowball joins although they begin otherwise.
        if self.language == Language::Eng
            && let Some(beginning) = stem.strip_suffix("ie")
        {
            beginnings.push(format!("{beginning}y"));
        }
        beginnings
    }
}

/// Reports whether there is a stemmer for a language.
pub fn has_stems(language: Language) -> bool {
    algorithm(language).is_some()
}

fn algorithm(language: Language) -> Option<Algorithm> {
    Some(match language {
        Language::Ara => Algorithm::Arabic,
        Language::Dan => Algorithm::Danish,
        Language::Deu => Algorithm::German,
        Language::Ell => Algorithm::Greek,
        Language::Eng => Algorithm::English,
        Language::Fin => Algorithm::Finnish,
        Language::Fra => Algorithm::French,
        Language::Hun => Algorithm::Hungarian,
        Language::Ita => Algorithm::Italian,
        Language::Nld => Algorithm::Dutch,
        Language::Nob => Algorithm::Norwegian,
        Language::Por => Algorithm::Portuguese,
        Language::Ron => Algorithm::Romanian,
        Language::Rus => Algorithm::Russian,
        Language::Spa => Algorithm::Spanish,
        Language::Swe => Algorithm::Swedish,
        Language::Tam => Algorithm::Tamil,
        Language::Tur => Algorithm::Turkish,
        _ => return None,
    })
}

/// The language that most of `words`, frequent ones of some texts, belong to: `None` when that is not sure.
pub fn language_of_words(words: &str) -> Option<Language> {
    let found = whatlang::detect(words)?;
    if found.is_reliable() { Language::from_detected(found.lang()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stem(language: Language, word: &str) -> String {
        Stemmer::new(language).expect("Snowball knows it").stem(word).into_owned()
    }

    #[test]
    fn every_form_begins_as_its_stem_says() {
        let forms = [
            (Language::Eng, ["happy", "happiness"]),
            (Language::Eng, ["fly", "flies"]),
            (Language::Eng, ["possible", "possibility"]),
            (Language::Eng, ["die", "dying"]),
            (Language::Eng, ["lies", "lying"]),
            (Language::Eng, ["tie", "tying"]),
            (Language::Eng, ["ad", "ads"]),
            (Language::Eng, ["go", "going"]),
            (Language::Deu, ["haus", "hauser"]),
            (Language::Nld, ["boek", "boeken"]),
            (Language::Rus, ["книга", "книги"]),
            (Language::Ara, ["كتاب", "الكتاب"]),
        ];
        for (language, [one, other]) in forms {
            let common = stem(language, one);
            assert_eq!(common, stem(language, other));
            let beginnings = Stemmer::new(language).expect("Snowball knows it").beginnings(&common);
            for word in [one, other] {
                assert!(beginnings.iter().any(|beginning| word.starts_with(beginning)), "{word} {beginnings:?}");
            }
        }
    }

    #[test]
    fn a_letter_has_no_forms() {
        assert!(Stemmer::new(Language::Eng).expect("Snowball knows it").beginnings("x").is_empty());
    }

    #[test]
    fn frequent_words_say_their_language() {
        let english = "the of and to in is a for that are this by with be on as an which from it was can have or";
        assert_eq!(language_of_words(english), Some(Language::Eng));
        let german = "der die und in den von zu das mit sich des auf fur ist im dem nicht ein eine als auch es an";
        assert_eq!(language_of_words(german), Some(Language::Deu));
        let french = "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont";
        assert_eq!(language_of_words(french), Some(Language::Fra));
        assert_eq!(language_of_words("lamp red"), None);
        assert!(!has_stems(Language::Jpn));
    }
}
