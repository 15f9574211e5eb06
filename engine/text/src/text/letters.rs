//! Letters that Unicode does not take apart, and the digits of all scripts, as people without such a keyboard type them.

use std::sync::LazyLock;

use hashbrown::HashMap;
use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

/// Latin letters in lower case, with strokes, hooks and tails, and ligatures: what each row's letters are typed as.
#[rustfmt::skip]
const LATIN: &[(&str, &str)] = &[
    ("ɐɑᴀᶏⱥ", "a"),
    ("ƀƃɓʙᴃᵬᶀꞗ", "b"),
    ("ƈȼɕᴄꞓꞔ𝼝", "c"),
    ("ðđƌȡɖɗᴅᴆᵭᶁᶑꝺꟈ", "d"),
    ("ǝɇəɛᴇᶒᶓⱸꬲꬳꬴ", "e"),
    ("ƒᵮᶂꜰꝼꞙꬵ", "f"),
    ("ǥɠɡɢɣʛᵹᶃꞡꟑꬶ", "g"),
    ("ħɦʜⱨꞕ", "h"),
    ("ıɨɩɪᵻᶖ𝼚", "i"),
    ("ȷɉɟʄʝᴊ", "j"),
    ("ƙᴋᶄⱪꝁꝃꝅꞣ", "k"),
    ("łƚȴɫɬɭʟᴌᶅⱡꝇꝉꞎꬷꬸꬹ𝼄𝼑𝼓", "l"),
    ("ɱᴍᵯᶆꬺ", "m"),
    ("ŋƞȵɲɳɴᵰᶇꞑꞥꬻꬼ𝼔", "n"),
    ("øɔɵᴏᴐᶗⱺꝋꝍꬽꬾꬿ𝼛", "o"),
    ("ƥᴘᵱᵽᶈꝑꝓꝕ", "p"),
    ("ĸɋʠꝗꝙꞯ", "q"),
    ("ɍɼɽɾʀᵲᵳᶉꝛꞃꞧꭆꭇꭉꭋꭌ𝼖", "r"),
    ("ȿʂᵴᶊẜẝꜱꞅꞩꟊ𝼞ʃ", "s"),
    ("ŧƫƭȶʈᴛᵵⱦꞇ𝼉", "t"),
    ("ʉʊᴜᵾᶙꞹꭎꭏꭒ", "u"),
    ("ʋᴠᶌỽⱱⱴꝟʌ", "v"),
    ("ƿᴡⱳꟃ", "w"),
    ("ᶍꭖꭗꭘꭙ", "x"),
    ("ƴɏʏỿꭚ", "y"),
    ("ƶȥɀʐʑʒᴢᴣᵶᶎⱬꝣ", "z"),
    ("ꜳ", "aa"),
    ("æᴁꞛ", "ae"),
    ("ꜵ", "ao"),
    ("ꜷ", "au"),
    ("ꜹꜻ", "av"),
    ("ꜽ", "ay"),
    ("ȸ", "db"),
    ("ʣʥꭦ", "dz"),
    ("ꝫ", "et"),
    ("ƕ", "hv"),
    ("ꝭ", "is"),
    ("ỻ", "ll"),
    ("ʪ", "ls"),
    ("ʫ", "lz"),
    ("œɶꞝ", "oe"),
    ("ƣ", "oi"),
    ("ꝏ", "oo"),
    ("ȣᴕ", "ou"),
    ("ȹ", "qp"),
    ("ß", "ss"),
    ("ʨ", "tc"),
    ("þᵺꝥꝧ", "th"),
    ("ʦꭧ", "ts"),
    ("ꜩ", "tz"),
    ("ᵫꞟ", "ue"),
    ("ꭐ", "ui"),
    ("ꝸ", "um"),
    ("ꭣ", "uo"),
    ("ꝡ", "vy"),
];

type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

static LATIN_BY_LETTER: LazyLock<FastMap<char, &'static str>> = LazyLock::new(|| {
    LATIN.iter().flat_map(|(letters, typed)| letters.chars().map(|letter| (letter, *typed))).collect()
});

/// Returns the letters that are typed for a Latin letter in lower case; `None` if it is unchanged.
pub(super) fn latin(c: char) -> Option<&'static str> {
    match c {
        // The most frequent ones first.
        'ß' => Some("ss"),
        'ø' => Some("o"),
        'ł' => Some("l"),
        _ if c < '\u{c0}' => None,
        _ => LATIN_BY_LETTER.get(&c).copied(),
    }
}

/// The Cyrillic letter that one in lower case with a stroke, descender, hook or upturn is typed as.
pub(super) fn cyrillic(c: char) -> char {
    match c {
        'ґ' | 'ғ' | 'ҕ' | 'ӷ' | 'ӻ' => 'г',
        'җ' => 'ж',
        'ҙ' => 'з',
        'қ' | 'ҝ' | 'ҟ' | 'ҡ' | 'ӄ' | 'ԟ' => 'к',
        'ӆ' | 'ԓ' | 'ԡ' => 'л',
        'ӎ' => 'м',
        'ң' | 'ҥ' | 'ӈ' | 'ӊ' | 'ԣ' | 'ԩ' => 'н',
        'ө' => 'о',
        'ҧ' | 'ԥ' => 'п',
        'ҏ' => 'р',
        'ҫ' => 'с',
        'ҭ' => 'т',
        'ү' | 'ұ' => 'у',
        'ҳ' | 'ӽ' | 'ӿ' => 'х',
        'ҷ' | 'ҹ' | 'ӌ' => 'ч',
        'ҍ' => 'ь',
        _ => c,
    }
}

/// Reports whether a mark after `letters`, in lower case, is dropped: the dots of ё, and accents that mark the stress.
/// Marks that make another letter (й, ї, ў, ѓ, ќ) are kept.
pub(super) fn drops_cyrillic_mark(letters: &str, mark: char) -> bool {
    match mark {
        '\u{308}' => letters.ends_with('е'),
        '\u{300}' | '\u{301}' => {
            letters.ends_with(['а', 'е', 'и', 'о', 'у', 'ы', 'э', 'ю', 'я', 'є', 'і', 'ї', 'ӑ', 'ѣ', 'ъ'])
        }
        _ => false,
    }
}

/// Modifier letters that stand for a pause or a sign of stress (Hawaiʻi, п’ять with the letter ʼ): they are mostly not typed.
pub(super) fn is_untyped(c: char) -> bool {
    matches!(c, '\u{2b9}'..='\u{2c1}' | '\u{2c6}'..='\u{2d1}' | '\u{2ec}' | '\u{2ee}' | 'ꞌ' | 'Ꞌ')
}

/// The zeros of all digits but the ASCII ones, ascending: the other nine follow each.
static ZEROS: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let digits = CodePointMapData::<GeneralCategory>::new().iter_ranges_for_value(GeneralCategory::DecimalNumber);
    digits.flat_map(|run| run.step_by(10)).filter(|zero| *zero > u32::from('9')).collect()
});

/// The ASCII digit of a decimal digit of any script.
pub(super) fn digit(c: char) -> Option<char> {
    // Between these there are only letters, very many of them.
    if c < '\u{660}' || matches!(c, '\u{3000}'..='\u{a61f}' | '\u{ac00}'..='\u{ff0f}') {
        return None;
    }
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= u32::from(c))].last()?;
    char::from_digit(u32::from(c) - zero, 10)
}

#[cfg(test)]
mod tests {
    use super::super::normalize::normalize_word;
    use super::*;

    #[test]
    fn latin_letters_of_languages_become_ascii() {
        // Latin-1 to Extended-B, and the letters of Vietnamese and the like. These are no letters of words: tones, clicks and signs
        // of old phonetic scripts.
        let kept = "ƅƍƛƨƪƹƺƻƽƾǀǁǂǃȝɂɯ";
        for c in ('\u{c0}'..='\u{24f}').chain('\u{1e00}'..='\u{1eff}').filter(|c| c.is_alphabetic()) {
            let normal = normalize_word(&c.to_string());
            let known = kept.contains(c.to_lowercase().next().unwrap()) || c == 'ẟ' || c == '×';
            assert!(known || normal.is_ascii() && !normal.is_empty(), "{c} is {normal}");
        }
        for (written, typed) in [
            ("Łódź", "lodz"),
            ("Øresund", "oresund"),
            ("Straße STRAẞE", "strasse strasse"),
            ("Þórður", "thordur"),
            ("Ħal Għaxaq", "hal ghaxaq"),
            ("Ŋ ŧ ĸ Ɓ ɗ ə", "n t q b d e"),
            ("Hawaiʻi", "hawaii"),
            ("Qurʾān", "quran"),
        ] {
            assert_eq!(normalize_word(written), typed);
        }
    }

    #[test]
    fn rows_are_in_lower_case_and_of_one_letter_each() {
        let count: usize = LATIN.iter().map(|(letters, _)| letters.chars().count()).sum();
        assert_eq!(LATIN_BY_LETTER.len(), count, "no letter stands twice");
        for (letters, typed) in LATIN {
            assert!(letters.chars().all(|c| c.to_lowercase().eq([c])));
            assert!(typed.bytes().all(|b| b.is_ascii_lowercase()));
            letters.chars().for_each(|c| assert_eq!(latin(c), Some(*typed)));
        }
    }

    #[test]
    fn cyrillic_letters_are_typed_as_their_neighbours() {
        for (written, typed) in [
            ("Ёлка", "елка"),
            ("ґрунт", "грунт"),
            ("за\u{301}мок", "замок"),
            ("Қазақ", "казак"),
            ("Өзбек", "озбек"),
            ("п\u{2bc}ять", "пять"),
        ] {
            assert_eq!(normalize_word(written), typed);
        }
        for (one, other) in [("мой", "мои"), ("їжак", "іжак"), ("ўсё", "усе"), ("ѓ", "г")] {
            assert_ne!(normalize_word(one), normalize_word(other));
        }
    }

    #[test]
    fn digits_of_every_script_are_ascii() {
        let categories = CodePointMapData::<GeneralCategory>::new();
        let mut count = 0;
        for range in categories.iter_ranges_for_value(GeneralCategory::DecimalNumber) {
            for (place, code) in range.enumerate() {
                let c = char::from_u32(code).unwrap();
                assert_eq!(normalize_word(&c.to_string()), (place % 10).to_string(), "{c}");
                count += 1;
            }
        }
        assert!(count >= 680, "{count}");
        assert_eq!(["١٢٣", "۱۲۳", "१२३", "১২৩", "๑๒๓", "１２３", "𝟏𝟐𝟑"].map(normalize_word), ["123"; 7]);
        assert_eq!(digit('a'), None);
        assert_eq!(digit('ก'), None);
    }
}
