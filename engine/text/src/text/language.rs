//! The languages that a text can be declared to be in, under their codes of two and three letters.

macro_rules! languages {
    ($(($variant:ident, $code:literal, $short:literal, $detected:ident),)+) => {
        /// A language that `locales` and `localizedAttributes` accept. Two- and three-letter codes name the same
        /// language; [`Language::code`] gives the longer one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Language {
            $($variant,)+
        }

        impl Language {
            /// Every language, by code.
            pub const ALL: &'static [Language] = &[$(Language::$variant,)+];

            /// The language of a two- or three-letter code, in lower case. `None` for anything else.
            pub fn parse(code: &str) -> Option<Language> {
                match code {
                    "" => None,
                    $($code => Some(Language::$variant),)+
                    _ => Language::ALL.iter().copied().find(|language| language.short_code() == Some(code)),
                }
            }

            /// The three-letter code.
            pub fn code(self) -> &'static str {
                match self {
                    $(Language::$variant => $code,)+
                }
            }

            /// The two-letter code; `cmn` has none of its own.
            pub fn short_code(self) -> Option<&'static str> {
                let code = match self {
                    $(Language::$variant => $short,)+
                };
                (!code.is_empty()).then_some(code)
            }

            pub(super) fn detectable(self) -> whatlang::Lang {
                match self {
                    $(Language::$variant => whatlang::Lang::$detected,)+
                }
            }
        }
    };
}

languages! {
    (Afr, "afr", "af", Afr),
    (Aka, "aka", "ak", Aka),
    (Amh, "amh", "am", Amh),
    (Ara, "ara", "ar", Ara),
    (Aze, "aze", "az", Aze),
    (Bel, "bel", "be", Bel),
    (Ben, "ben", "bn", Ben),
    (Bul, "bul", "bg", Bul),
    (Cat, "cat", "ca", Cat),
    (Ces, "ces", "cs", Ces),
    (Cmn, "cmn", "", Cmn),
    (Dan, "dan", "da", Dan),
    (Deu, "deu", "de", Deu),
    (Ell, "ell", "el", Ell),
    (Eng, "eng", "en", Eng),
    (Epo, "epo", "eo", Epo),
    (Est, "est", "et", Est),
    (Fin, "fin", "fi", Fin),
    (Fra, "fra", "fr", Fra),
    (Guj, "guj", "gu", Guj),
    (Heb, "heb", "he", Heb),
    (Hin, "hin", "hi", Hin),
    (Hrv, "hrv", "hr", Hrv),
    (Hun, "hun", "hu", Hun),
    (Hye, "hye", "hy", Hye),
    (Ind, "ind", "id", Ind),
    (Ita, "ita", "it", Ita),
    (Jav, "jav", "jv", Jav),
    (Jpn, "jpn", "ja", Jpn),
    (Kan, "kan", "kn", Kan),
    (Kat, "kat", "ka", Kat),
    (Khm, "khm", "km", Khm),
    (Kor, "kor", "ko", Kor),
    (Lat, "lat", "la", Lat),
    (Lav, "lav", "lv", Lav),
    (Lit, "lit", "lt", Lit),
    (Mal, "mal", "ml", Mal),
    (Mar, "mar", "mr", Mar),
    (Mkd, "mkd", "mk", Mkd),
    (Mya, "mya", "my", Mya),
    (Nep, "nep", "ne", Nep),
    (Nld, "nld", "nl", Nld),
    (Nob, "nob", "nb", Nob),
    (Ori, "ori", "or", Ori),
    (Pan, "pan", "pa", Pan),
    (Pes, "pes", "fa", Pes),
    (Pol, "pol", "pl", Pol),
    (Por, "por", "pt", Por),
    (Ron, "ron", "ro", Ron),
    (Rus, "rus", "ru", Rus),
    (Sin, "sin", "si", Sin),
    (Slk, "slk", "sk", Slk),
    (Slv, "slv", "sl", Slv),
    (Sna, "sna", "sn", Sna),
    (Spa, "spa", "es", Spa),
    (Srp, "srp", "sr", Srp),
    (Swe, "swe", "sv", Swe),
    (Tam, "tam", "ta", Tam),
    (Tel, "tel", "te", Tel),
    (Tgl, "tgl", "tl", Tgl),
    (Tha, "tha", "th", Tha),
    (Tuk, "tuk", "tk", Tuk),
    (Tur, "tur", "tr", Tur),
    (Ukr, "ukr", "uk", Ukr),
    (Urd, "urd", "ur", Urd),
    (Uzb, "uzb", "uz", Uzb),
    (Vie, "vie", "vi", Vie),
    (Yid, "yid", "yi", Yid),
    (Zho, "zho", "zh", Cmn),
    (Zul, "zul", "zu", Zul),
}

impl Language {
    /// The language that detection reports as `detected`. Chinese is reported as `cmn`; Welsh can be detected but
    /// not declared.
    pub(super) fn from_detected(detected: whatlang::Lang) -> Option<Language> {
        Language::parse(detected.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_codes_name_the_same_language() {
        assert_eq!(Language::parse("ja"), Some(Language::Jpn));
        assert_eq!(Language::parse("jpn"), Some(Language::Jpn));
        assert_eq!(Language::parse("zh"), Some(Language::Zho));
        assert_eq!(Language::parse("cmn"), Some(Language::Cmn));
        assert_eq!(Language::Cmn.short_code(), None);
        for &language in Language::ALL {
            assert_eq!(Language::parse(language.code()), Some(language));
            if let Some(short) = language.short_code() {
                assert_eq!(Language::parse(short), Some(language), "{short}");
            }
        }
        assert_eq!(Language::ALL.len(), 70);
    }

    #[test]
    fn unknown_codes_are_refused() {
        for code in ["", "japan", "JA", "xx", "j", "日"] {
            assert_eq!(Language::parse(code), None, "{code}");
        }
    }
}
