//! Words of scripts that do not part them with spaces, and compounds.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use charabia::segmenter::{SEGMENTERS, Segmenter};
use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};

use super::Language;
use super::script::Script;

/// Text that detection looks at, in bytes: more of it costs time and changes nothing.
const DETECTION_BYTES_MAX: usize = 4096;

static UNICODE_WORDS: LazyLock<WordSegmenterBorrowed<'static>> =
    LazyLock::new(|| WordSegmenter::new_auto(WordBreakInvariantOptions::default()));

/// The language of `run`, written in `script`: the only one that `languages` has for that script, else detected among them.
/// Detected without any given only where it matters, so never for Latin.
pub(super) fn language_of(run: &str, script: Script, languages: &[Language]) -> Option<Language> {
    let mut written = languages.iter().copied().filter(|language| writes(*language, script));
    let candidates = match (written.next(), written.next()) {
        (Some(only), None) => return Some(only),
        (None, _) => None,
        _ => Some(languages.iter().map(|language| language.detectable()).collect()),
    };
    let matters = match script {
        Script::Cj | Script::Arabic => true,
        // Only these two change how a Latin word is cut or folded.
        Script::Latin => candidates.is_some() && has_special_latin(languages),
        _ => false,
    };
    if !matters {
        return None;
    }
    let mut end = run.len().min(DETECTION_BYTES_MAX);
    while !run.is_char_boundary(end) {
        end -= 1;
    }
    let detector = candidates.map_or_else(whatlang::Detector::new, whatlang::Detector::with_allowlist);
    let detected = detector.detect_lang(&run[..end]).and_then(Language::from_detected);
    // Detection knows one Chinese; give back the one that was asked for.
    match detected {
        Some(Language::Cmn) if languages.contains(&Language::Zho) => Some(Language::Zho),
        other => other,
    }
}

/// Reports whether one of `languages` has special rules for Latin text.
pub(super) fn has_special_latin(languages: &[Language]) -> bool {
    languages.iter().any(|language| matches!(language, Language::Swe | Language::Deu))
}

fn writes(language: Language, script: Script) -> bool {
    use whatlang::Script as Detected;
    let detected: &[Detected] = match script {
        Script::Arabic => &[Detected::Arabic],
        Script::Armenian => &[Detected::Armenian],
        Script::Cj => &[Detected::Mandarin, Detected::Hiragana, Detected::Katakana],
        Script::Cyrillic => &[Detected::Cyrillic],
        Script::Georgian => &[Detected::Georgian],
        Script::Greek => &[Detected::Greek],
        Script::Hangul => &[Detected::Hangul],
        Script::Hebrew => &[Detected::Hebrew],
        Script::Khmer => &[Detected::Khmer],
        Script::Latin => &[Detected::Latin],
        Script::Myanmar => &[Detected::Myanmar],
        Script::Thai => &[Detected::Thai],
        Script::Lao | Script::Unlisted => &[],
    };
    let language = language.detectable();
    detected.iter().any(|script| script.langs().contains(&language))
}

/// Heap that the dictionaries take that were read so far, in bytes: that of Chinese words. Those of other languages are
/// part of the program.
pub fn dictionary_heap_bytes() -> usize {
    const CHINESE: usize = 59 << 20;
    if CHINESE_IS_READ.load(Ordering::Relaxed) { CHINESE } else { 0 }
}

/// Set before the dictionary is read, which happens with the first text that needs it.
static CHINESE_IS_READ: AtomicBool = AtomicBool::new(false);

/// Cuts `piece`, which holds no separator, into words and gives the end of each in order.
pub(super) fn segment(piece: &str, script: Script, language: Option<Language>, mut word: impl FnMut(usize)) {
    let dictionary = |script, language| SEGMENTERS.get(&(script, Some(language)));
    let dictionary = match script {
        // Numbers are one word in any script.
        _ if piece.chars().all(|c| c.is_numeric() || c.is_ascii_punctuation()) => None,
        Script::Latin if language == Some(Language::Deu) => {
            dictionary(charabia::Script::Latin, charabia::Language::Deu)
        }
        Script::Arabic if matches!(language, Some(Language::Ara | Language::Pes)) => {
            dictionary(charabia::Script::Arabic, charabia::Language::Ara)
        }
        Script::Cj if matches!(language, Some(Language::Cmn | Language::Zho)) => {
            CHINESE_IS_READ.store(true, Ordering::Relaxed);
            dictionary(charabia::Script::Cj, charabia::Language::Cmn)
        }
        Script::Thai => dictionary(charabia::Script::Thai, charabia::Language::Tha),
        Script::Khmer => dictionary(charabia::Script::Khmer, charabia::Language::Khm),
        Script::Cj | Script::Hangul | Script::Lao | Script::Myanmar => {
            // The first boundary is the start.
            UNICODE_WORDS.segment_str(piece).filter(|&end| end > 0).for_each(word);
            return;
        }
        _ => None,
    };
    match dictionary {
        None => word(piece.len()),
        Some(dictionary) => {
            let mut end = 0;
            for part in dictionary.segment_str(piece).filter(|part| !part.is_empty()) {
                end += part.len();
                word(end);
            }
            debug_assert_eq!(end, piece.len(), "the segmenter covers {piece:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, script: Script, language: Option<Language>) -> Vec<&str> {
        let (mut from, mut words) = (0, Vec::new());
        segment(text, script, language, |end| {
            words.push(&text[from..end]);
            from = end;
        });
        assert_eq!(words.concat(), text);
        words
    }

    #[test]
    fn scripts_without_spaces_are_cut_into_words() {
        assert_eq!(cut("東京の寿司レストラン", Script::Cj, Some(Language::Jpn)), ["東京", "の", "寿司", "レストラン"]);
        assert_eq!(cut("北京大学图书馆", Script::Cj, Some(Language::Cmn)), ["北京", "大学", "图书", "馆"]);
        assert_eq!(cut("สวัสดีครับ", Script::Thai, None).len(), 2);
        assert!(cut("ສະບາຍດີຕອນເຊົ້າ", Script::Lao, None).len() > 1);
        assert!(cut("မင်္ဂလာပါကမ္ဘာလောက", Script::Myanmar, None).len() > 1);
        assert_eq!(cut("한국어", Script::Hangul, None), ["한국어"]);
    }

    #[test]
    fn articles_and_compounds() {
        assert_eq!(cut("الشجرة", Script::Arabic, Some(Language::Ara)), ["ال", "شجرة"]);
        assert_eq!(cut("الشجرة", Script::Arabic, None), ["الشجرة"]);
        assert!(cut("Interkulturalität", Script::Latin, Some(Language::Deu)).len() > 1);
        assert_eq!(cut("Interkulturalität", Script::Latin, None), ["Interkulturalität"]);
        assert_eq!(cut("DeLonghi", Script::Latin, Some(Language::Eng)), ["DeLonghi"]);
        assert_eq!(cut("12.5%", Script::Cj, Some(Language::Jpn)), ["12.5%"]);
    }

    #[test]
    fn languages_are_given_or_detected() {
        let of = |text, script, languages: &[Language]| language_of(text, script, languages);
        assert_eq!(of("the lazy dog", Script::Latin, &[]), None);
        assert_eq!(of("the lazy dog", Script::Latin, &[Language::Eng, Language::Fra]), None, "it does not matter");
        assert_eq!(of("東京", Script::Cj, &[Language::Jpn]), Some(Language::Jpn));
        assert_eq!(
            of("東京", Script::Cj, &[Language::Jpn, Language::Eng]),
            Some(Language::Jpn),
            "the only one written so"
        );
        let japanese = of("東京の寿司レストラン", Script::Cj, &[Language::Deu]);
        assert_eq!(japanese, Some(Language::Jpn), "what is not written so is in another language");
        assert_eq!(of("the lazy dog", Script::Latin, &[Language::Jpn]), None);
        assert_eq!(of("the lazy dog", Script::Latin, &[Language::Deu]), Some(Language::Deu));
        assert_eq!(of("東京", Script::Cj, &[]), Some(Language::Cmn));
        assert_eq!(of("東京の寿司レストラン", Script::Cj, &[]), Some(Language::Jpn));
        let german = of(
            "Die Würde des Menschen ist unantastbar. Sie zu achten und zu schützen ist Verpflichtung",
            Script::Latin,
            &[Language::Deu, Language::Eng],
        );
        assert_eq!(german, Some(Language::Deu));
    }
}
