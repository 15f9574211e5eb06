//! The tokenizer: options resolved once, then shared by all threads.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use super::latin::LatinTable;
use super::normalize::Folding;
use super::script::{Script, runs};
use super::segment::{has_special_latin, language_of, segment};
use super::separators::{Separators, Span};
use super::{Gap, Language, Token, TokenKind};

/// The settings that decide how text is cut. Stop words are not among them: they act at query time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// Added to the default separators (`separatorTokens`).
    pub separators: Vec<String>,
    /// Taken from them (`nonSeparatorTokens`).
    pub non_separators: Vec<String>,
    /// Each becomes one word wherever it stands in a text (`dictionary`), in capitals or not.
    pub dictionary: Vec<String>,
}

/// Space that a thread reuses from text to text, so that indexing does not allocate per word.
#[derive(Debug, Default)]
pub struct TextBuffer {
    word: String,
    runs: Vec<Run>,
}

/// Cuts texts into normalised words. Cheap to clone.
#[derive(Clone)]
pub struct Tokenizer {
    shared: Arc<Shared>,
}

struct Shared {
    separators: Separators,
    latin: LatinTable,
}

/// Consecutive text of one script; begins where the run before it ends.
#[derive(Clone, Copy, Debug)]
struct Run {
    end: usize,
    script: Script,
    language: Option<Language>,
}

/// A separator or a word before normalisation.
struct Piece {
    span: Span,
    script: Script,
    language: Option<Language>,
}

static DEFAULT: LazyLock<Tokenizer> = LazyLock::new(|| Tokenizer::build(&TextOptions::default()));

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer").field("separators", &self.shared.separators).finish_non_exhaustive()
    }
}

impl Default for Tokenizer {
    /// The tokenizer of the default settings; shared, so this costs nothing.
    fn default() -> Tokenizer {
        DEFAULT.clone()
    }
}

impl Tokenizer {
    /// Builds the tables for `options`; takes about a millisecond unless they are the default.
    pub fn new(options: &TextOptions) -> Tokenizer {
        if *options == TextOptions::default() { Tokenizer::default() } else { Tokenizer::build(options) }
    }

    fn build(options: &TextOptions) -> Tokenizer {
        let separators = Separators::new(options);
        let latin = LatinTable::new(&separators);
        Tokenizer { shared: Arc::new(Shared { separators, latin }) }
    }

    /// Calls `word` with each normalised word of `text` in reading order and the gap before it (the first: soft).
    /// Words longer than [`super::WORD_BYTES_MAX`] are given too: they take a position, the caller leaves them out.
    ///
    /// `languages` are those declared for the attribute or request; empty means detection.
    pub fn words(&self, text: &str, languages: &[Language], buffer: &mut TextBuffer, word: &mut impl FnMut(&str, Gap)) {
        let Shared { separators, latin } = &*self.shared;
        if latin.covers(text) && !has_special_latin(languages) && !separators.has_custom(text) {
            latin.words(text, &mut buffer.word, word);
        } else {
            self.general_words(text, languages, buffer, word);
        }
    }

    /// [`Tokenizer::words`] for any text; what the Latin table is tested against.
    pub(super) fn general_words(
        &self,
        text: &str,
        languages: &[Language],
        buffer: &mut TextBuffer,
        word: &mut impl FnMut(&str, Gap),
    ) {
        let TextBuffer { word: normal, runs } = buffer;
        let (mut gap, mut first) = (Gap::Soft, true);
        self.pieces(text, languages, runs, |piece| match piece.span.kind {
            TokenKind::SoftSeparator => {}
            TokenKind::HardSeparator => gap = Gap::Hard,
            TokenKind::Word => {
                normal.clear();
                let folding = Folding::new(piece.script, piece.language);
                folding.word(&text[piece.span.start..piece.span.end], normal, None);
                let normal = normal.trim();
                if !normal.is_empty() {
                    word(normal, if first { Gap::Soft } else { gap });
                    (gap, first) = (Gap::Soft, false);
                }
            }
        });
    }

    /// Words and separators with their places in `text`, for queries, highlighting and cropping.
    pub fn tokens<'t>(&self, text: &'t str, languages: &[Language]) -> Vec<Token<'t>> {
        let (mut tokens, mut runs) = (Vec::new(), Vec::new());
        self.pieces(text, languages, &mut runs, |piece| tokens.push(piece.token(text)));
        tokens
    }

    /// Counts the words and separators that [`Tokenizer::tokens`] returns. Takes the same time, but no memory.
    pub fn count(&self, text: &str, languages: &[Language]) -> usize {
        let mut count = 0;
        self.pieces(text, languages, &mut Vec::new(), |_| count += 1);
        count
    }

    /// Cuts `text` into separators and words that cover it.
    fn pieces(&self, text: &str, languages: &[Language], found: &mut Vec<Run>, mut piece: impl FnMut(Piece)) {
        let mut from = 0;
        found.clear();
        runs(text, |end, script| {
            let language = language_of(&text[from..end], script, languages);
            found.push(Run { end, script, language });
            from = end;
        });
        let mut run = 0;
        self.shared.separators.spans(text, |span| {
            while found[run].end <= span.start {
                run += 1;
            }
            if span.known || span.kind != TokenKind::Word {
                piece(Piece { span, script: found[run].script, language: found[run].language });
                return;
            }
            let mut from = span.start;
            while from < span.end {
                let Run { end, script, language } = found[run];
                let part = &text[from..span.end.min(end)];
                let start = from;
                segment(part, script, language, |end| {
                    let span = Span { start: from, end: start + end, ..span };
                    piece(Piece { span, script, language });
                    from = span.end;
                });
                if from < span.end {
                    run += 1;
                }
            }
        });
    }
}

impl Piece {
    fn token<'t>(&self, text: &'t str) -> Token<'t> {
        let Span { start, end, kind, .. } = self.span;
        let original = &text[start..end];
        let language = self.language;
        let plain = |kind| Token { kind, text: Cow::Borrowed(original), range: start..end, char_map: None, language };
        if kind != TokenKind::Word {
            return plain(kind);
        }
        if is_plain(original) {
            let mut token = plain(kind);
            if original.bytes().any(|byte| byte.is_ascii_uppercase()) {
                token.text = Cow::Owned(original.to_ascii_lowercase());
            }
            return token;
        }
        let folding = Folding::new(self.script, language);
        let (mut normal, mut map) = (String::new(), Vec::new());
        folding.word(original, &mut normal, Some(&mut map));
        trim(&mut normal, &mut map);
        if normal.is_empty() {
            return plain(TokenKind::SoftSeparator);
        }
        let one_to_one = map.iter().all(|(original, normal)| original == normal) && normal.chars().count() == map.len();
        Token {
            kind,
            text: if normal == original { Cow::Borrowed(original) } else { Cow::Owned(normal) },
            range: start..end,
            char_map: (!one_to_one).then(|| map.into_boxed_slice()),
            language,
        }
    }
}

/// Reports whether normalisation can only lower-case `word`.
fn is_plain(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Trims white space that normalisation left at the ends, and takes it off the map.
fn trim(word: &mut String, map: &mut [(u8, u8)]) {
    fn shorten<'m>(lengths: impl Iterator<Item = &'m mut (u8, u8)>, mut bytes: usize) {
        for (_, length) in lengths {
            let taken = bytes.min(usize::from(*length));
            *length -= taken as u8;
            bytes -= taken;
        }
    }
    let end = word.trim_end().len();
    shorten(map.iter_mut().rev(), word.len() - end);
    word.truncate(end);
    let start = end - word.trim_start().len();
    shorten(map.iter_mut(), start);
    word.drain(..start);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokenizer(separators: &[&str], non_separators: &[&str], dictionary: &[&str]) -> Tokenizer {
        let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        Tokenizer::new(&TextOptions {
            separators: owned(separators),
            non_separators: owned(non_separators),
            dictionary: owned(dictionary),
        })
    }

    /// Words with positions, as `word position`.
    fn positions(tokenizer: &Tokenizer, text: &str, languages: &[Language]) -> Vec<String> {
        let (mut found, mut position) = (Vec::new(), 0);
        tokenizer.words(text, languages, &mut TextBuffer::default(), &mut |word, gap| {
            if !found.is_empty() {
                position += if gap == Gap::Hard { 8 } else { 1 };
            }
            found.push(format!("{word} {position}"));
        });
        found
    }

    fn check(text: &str, expected: &str) {
        let found = positions(&Tokenizer::default(), text, &[]);
        assert_eq!(found.join(", "), expected, "{text:?}");
    }

    #[test]
    fn words_have_positions() {
        check(
            "The quick (\"brown\") fox can't jump 32.3 feet, right? Brr, it's 29.3°F!",
            "the 0, quick 1, brown 2, fox 3, can 4, t 5, jump 6, 32 7, 3 8, feet 9, right 17, brr 25, it 33, s 34, \
             29 35, 3 36, f 37",
        );
        check("Hello! World", "hello 0, world 8");
        check("crème brûlée", "creme 0, brulee 1");
        check("Ångström", "angstrom 0");
        check("kebab-case snake_case DeLonghi", "kebab 0, case 1, snake 2, case 3, delonghi 4");
        check("a=b a|b $5", "a 0, b 1, a 2, b 3, 5 4");
        check("<p>test</p> Nike® 25°C", "p 0, test 1, p 2, nike 3, 25 4, c 5");
        check("\u{feff}\u{202e}left\u{2028}right\u{200b} 5㎏ 第㊗回", "left 0, right 1, 5 2, kg 3, 第 4, 祝 5, 迴 6");
        check("end.\nNext. Then", "end 0, next 1, then 9");
        check("  !? a ! b \u{301} c", "a 0, b 8, c 9");
        check("War\u{a0}II… why", "war 0, ii 1, why 9");
        check("", "");
        check(" ,. ", "");
        check("Привет, Мир", "привет 0, мир 8");
        check("hello мир", "hello 0, мир 1");
        check("東京の寿司レストラン", "東京 0, の 1, 壽司 2, れすとらん 3");
        check("I ❤\u{fe0f} NY", "i 0, ny 1");
        check("Москва ❤\u{fe0f} 👩\u{200d}💻 мир", "москва 0, мир 1");
    }

    #[test]
    fn settings_change_the_words() {
        let sharp = tokenizer(&["|"], &["#", "+"], &["J. R. R."]);
        assert_eq!(
            positions(&sharp, "C# C++ a|b by J. R. R. Tolkien, j. r. r.", &[]),
            ["c# 0", "c++ 1", "a 2", "b 3", "by 4", "j. r. r. 5", "tolkien 6", "j. r. r. 14"]
        );
        assert_eq!(positions(&sharp, "É#", &[]), ["e# 0"]);
        assert_eq!(positions(&tokenizer(&[], &[".", ". "], &[]), "a. b.c", &[]), ["a. 0", "b.c 1"]);
        assert_eq!(positions(&tokenizer(&[], &["."], &[]), "a. b.c", &[]), ["a 0", "b.c 8"]);
    }

    #[test]
    fn languages_change_the_words() {
        let default = Tokenizer::default();
        assert_eq!(positions(&default, "Ångström É", &[Language::Swe]), ["ångström 0", "e 1"]);
        assert_eq!(positions(&default, "Ångström É", &[Language::Eng]), ["angstrom 0", "e 1"]);
        assert!(positions(&default, "Interkulturalität", &[Language::Deu]).len() > 1);
        assert_eq!(positions(&default, "尊严", &[Language::Jpn]), positions(&default, "尊嚴", &[Language::Jpn]));
    }

    #[test]
    fn tokens_cover_the_text() {
        let text = "¿Été, “Œuvres”? 北京. 32.3!";
        let tokens = Tokenizer::default().tokens(text, &[]);
        let shown: Vec<_> = tokens.iter().map(|token| (&*token.text, token.kind)).collect();
        use TokenKind::*;
        assert_eq!(
            shown,
            [
                ("¿", HardSeparator),
                ("ete", Word),
                (", ", HardSeparator),
                ("“", SoftSeparator),
                ("oeuvres", Word),
                ("”", SoftSeparator),
                ("?", HardSeparator),
                (" ", SoftSeparator),
                ("北京", Word),
                (". ", HardSeparator),
                ("32", Word),
                (".", SoftSeparator),
                ("3", Word),
                ("!", HardSeparator),
            ]
        );
        let ete = &tokens[1];
        assert_eq!(&text[ete.range.clone()], "Été");
        assert_eq!(ete.original_bytes(0), 0);
        assert_eq!(ete.original_bytes(1), 2);
        assert_eq!(ete.original_bytes(2), 3);
        assert_eq!(ete.original_bytes(3), 5);
        assert_eq!(ete.original_bytes(9), 5);
        let oeuvres = &tokens[4];
        assert_eq!(oeuvres.original_bytes(1), 2, "half a ligature is the whole");
        assert_eq!(oeuvres.original_bytes(2), 2);
        assert_eq!(oeuvres.original_bytes(3), 3);
    }

    #[test]
    fn a_separate_accent_belongs_to_its_letter() {
        let tokens = Tokenizer::default().tokens("e\u{301}te", &[]);
        assert_eq!(tokens[0].text, "ete");
        assert_eq!(tokens[0].original_bytes(1), 3);
        assert_eq!(tokens[0].original_bytes(2), 4);
    }

    #[test]
    fn a_word_of_nothing_is_a_separator() {
        let tokens = Tokenizer::default().tokens("a \u{301}", &[]);
        assert_eq!(tokens.last().map(|token| token.kind), Some(TokenKind::SoftSeparator));
    }

    #[test]
    fn trimming_keeps_the_map_true() {
        // The acute accent is a space with a mark once decomposed.
        let tokenizer = tokenizer(&[], &["´", "¨"], &[]);
        let token = &tokenizer.tokens("´¨x¨", &[])[0];
        assert_eq!(token.text, "x");
        assert_eq!(token.char_map.as_deref(), Some(&[(2, 0), (2, 0), (1, 1), (2, 0)][..]));
    }

    fn by_words(tokenizer: &Tokenizer, text: &str, languages: &[Language], general: bool) -> Vec<(String, Gap)> {
        let (mut found, mut buffer) = (Vec::new(), TextBuffer::default());
        let mut word = |word: &str, gap| found.push((word.to_owned(), gap));
        if general {
            tokenizer.general_words(text, languages, &mut buffer, &mut word);
        } else {
            tokenizer.words(text, languages, &mut buffer, &mut word);
        }
        found
    }

    fn by_tokens(tokenizer: &Tokenizer, text: &str, languages: &[Language]) -> Vec<(String, Gap)> {
        let (mut found, mut gap) = (Vec::new(), Gap::Soft);
        for token in tokenizer.tokens(text, languages) {
            match token.kind {
                TokenKind::SoftSeparator => {}
                TokenKind::HardSeparator => gap = Gap::Hard,
                TokenKind::Word => {
                    found.push((token.text.into_owned(), if found.is_empty() { Gap::Soft } else { gap }));
                    gap = Gap::Soft;
                }
            }
        }
        found
    }

    fn options() -> impl Strategy<Value = Tokenizer> {
        prop::sample::select(vec![
            Tokenizer::default(),
            tokenizer(&["|", "é", "ab"], &["#", "-", "’"], &[]),
            tokenizer(&["<br>"], &["."], &["J. R.", "b", "É t"]),
            tokenizer(&[], &[". ", ",", ", ", "!"], &["&"]),
        ])
    }

    /// Text such as the short way was made for, with a little of everything else.
    const LATIN: &str = "([a-zA-Z0-9]{1,8}|[ .,!?;'#|<>-]{1,3}|[. ]{2}|[À-ɏ]{1,3}|[\u{0}-\u{20}\u{7f}-\u{a9}]|[\u{300}-\u{310}]|\
                         [\u{2000}-\u{21ff}]|[\u{ab}-\u{4ff}]|J\\. R\\.|ab|É t|[日本かカ한กАЯ]{1,2}){0,14}";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn the_short_way_is_the_general_way(text in LATIN, tokenizer in options(), language in 0..3usize) {
            let languages = [&[][..], &[Language::Eng], &[Language::Swe, Language::Jpn]][language];
            let short = by_words(&tokenizer, &text, languages, false);
            prop_assert_eq!(&short, &by_words(&tokenizer, &text, languages, true));
            prop_assert_eq!(&short, &by_tokens(&tokenizer, &text, languages));
        }

        #[test]
        fn any_text_is_covered_by_tokens(text in ".{0,60}", tokenizer in options(), language in 0..Language::ALL.len()) {
            for languages in [&[][..], &[Language::ALL[language]], Language::ALL] {
                let tokens = tokenizer.tokens(&text, languages);
                let mut at = 0;
                for token in &tokens {
                    prop_assert_eq!(token.range.start, at);
                    prop_assert!(token.range.end > at);
                    at = token.range.end;
                    prop_assert!(!token.is_word() || !token.text.trim().is_empty());
                    let chars = token.text.chars().count();
                    let mut before = 0;
                    for n in 0..=chars {
                        let bytes = token.original_bytes(n);
                        prop_assert!(bytes >= before);
                        prop_assert!(text.is_char_boundary(token.range.start + bytes));
                        before = bytes;
                    }
                    prop_assert!(before <= token.range.len());
                }
                prop_assert_eq!(at, text.len());
                let words = by_words(&tokenizer, &text, languages, false);
                prop_assert_eq!(words, by_tokens(&tokenizer, &text, languages));
            }
        }

        #[test]
        fn words_come_out_of_themselves(text in LATIN) {
            // A word that is searched for again, as a facet value or a suggestion, finds itself.
            let tokenizer = Tokenizer::default();
            for (word, _) in by_words(&tokenizer, &text, &[], false) {
                if word.chars().all(|c| c.is_ascii_alphanumeric()) {
                    prop_assert_eq!(by_words(&tokenizer, &word, &[], false), vec![(word.clone(), Gap::Soft)]);
                }
            }
        }
    }

    /// Checks the text for which this tokenizer agrees with the public one by contract: plain text of scripts that are
    /// cut at separators.
    #[test]
    fn agrees_with_the_public_tokenizer_on_common_text() {
        use charabia::Tokenize;
        for text in [
            "The quick (\"brown\") fox can't jump 32.3 feet, right? Brr, it's 29.3 F!",
            "Đà Nẵng & Málaga — “quoted” ‘words’; naïve café (50%) œuvre, SMÖRGÅSBORD.",
            "Съешь же этих мягких французских булок, да выпей чаю!",
            "Ταχίστη αλώπηξ βαφής ψημένη γη, δρασκελίζει υπέρ νωθρού κυνός",
            "北京大学图书馆 中文分词测试",
            "ภาษาไทยง่ายนิดเดียว",
            "דג סקרן שט בים מאוכזב ולפתע מצא חברה",
            "السلام عليكم، كيف حالكم؟ (أتمنى أن تكونوا بأفضل ٱلأحوال) 123 456",
        ] {
            let public: Vec<String> = text
                .tokenize()
                .filter(|token| token.is_word())
                .map(|token| token.lemma().trim().to_owned())
                .filter(|lemma| !lemma.is_empty())
                .collect();
            let ours: Vec<String> =
                by_words(&Tokenizer::default(), text, &[], false).into_iter().map(|(word, _)| word).collect();
            assert_eq!(ours, public, "{text:?}");
        }
    }
}
