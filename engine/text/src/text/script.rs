//! The script of a character, as far as cutting and normalising words depend on it.

/// A writing system with rules of its own. Scripts that need none (cut at separators, case kept) share
/// [`Script::Unlisted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Arabic,
    Armenian,
    /// Ideographs, kana and bopomofo: Chinese and Japanese.
    Cj,
    Cyrillic,
    Georgian,
    Greek,
    Hangul,
    Hebrew,
    Khmer,
    Lao,
    Latin,
    Myanmar,
    Thai,
    Unlisted,
}

impl Script {
    /// The script of `c`. `None` for what belongs to no script (digits, punctuation, spaces, symbols, combining
    /// marks shared by scripts): it stays in the run it is found in.
    pub(super) fn of(c: char) -> Option<Script> {
        if c.is_ascii() {
            return c.is_ascii_alphabetic().then_some(Script::Latin);
        }
        if !c.is_alphabetic() {
            // Letter-like symbols (℠) read as Latin letters.
            return match c {
                '\u{2100}'..='\u{214f}' => Some(Script::Latin),
                // Circled and squared ideographs, kana and units (㊗, ㌔, ㎏).
                '\u{3200}'..='\u{33ff}' | '\u{1f200}'..='\u{1f2ff}' => Some(Script::Cj),
                _ => None,
            };
        }
        Some(match u32::from(c) {
            // Modifier letters (the okina of Hawaiian names) and iota subscript-like marks go with any script.
            0x02B0..=0x036F => return None,
            0x0080..=0x02AF | 0x1D00..=0x1DBF | 0x1E00..=0x1EFF | 0x2C60..=0x2C7F | 0xA720..=0xA7FF => Script::Latin,
            // Letter-like symbols, number forms, circled, ligature, full-width and mathematical letters: Latin once
            // decomposed, so they are folded like Latin.
            0x2070..=0x218F | 0x24B6..=0x24E9 | 0xAB30..=0xAB6F | 0xFB00..=0xFB06 => Script::Latin,
            0xFF21..=0xFF3A | 0xFF41..=0xFF5A | 0x1D400..=0x1D7FF | 0x1F130..=0x1F189 => Script::Latin,
            0x0370..=0x03FF | 0x1F00..=0x1FFF => Script::Greek,
            0x0400..=0x052F | 0x1C80..=0x1C8F | 0x2DE0..=0x2DFF | 0xA640..=0xA69F => Script::Cyrillic,
            0x0530..=0x058F | 0xFB13..=0xFB17 => Script::Armenian,
            0x0590..=0x05FF | 0xFB1D..=0xFB4F => Script::Hebrew,
            0x0600..=0x06FF | 0x0750..=0x077F | 0x0870..=0x08FF | 0xFB50..=0xFDFF | 0xFE70..=0xFEFF => Script::Arabic,
            0x0E00..=0x0E7F => Script::Thai,
            0x0E80..=0x0EFF => Script::Lao,
            0x1000..=0x109F | 0xA9E0..=0xA9FF | 0xAA60..=0xAA7F => Script::Myanmar,
            0x10A0..=0x10FF | 0x1C90..=0x1CBF | 0x2D00..=0x2D2F => Script::Georgian,
            0x1100..=0x11FF | 0x3130..=0x318F | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0xFFA0..=0xFFDC => Script::Hangul,
            0x1780..=0x17FF | 0x19E0..=0x19FF => Script::Khmer,
            0x2E80..=0x2FDF | 0x3005..=0x30FF | 0x3100..=0x312F | 0x31A0..=0x31BF | 0x31F0..=0x31FF => Script::Cj,
            0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F => Script::Cj,
            0x1B000..=0x1B16F | 0x20000..=0x3FFFF => Script::Cj,
            _ => Script::Unlisted,
        })
    }
}

/// Cuts `text` into runs of one script and gives each run's end (in bytes) and script in order; the runs cover the
/// text. Characters without a script go with the run before them, at the start with the first run; a text of such
/// characters only is one Latin run.
pub(super) fn runs(text: &str, mut run: impl FnMut(usize, Script)) {
    if text.is_empty() {
        return;
    }
    let mut current = None;
    if !text.is_ascii() {
        for (at, c) in text.char_indices() {
            let Some(script) = Script::of(c) else { continue };
            match current {
                Some(before) if before != script => run(at, before),
                _ => {}
            }
            current = Some(script);
        }
    }
    run(text.len(), current.unwrap_or(Script::Latin));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, Script)]) {
        let (mut from, mut found) = (0, Vec::new());
        runs(text, |end, script| {
            found.push((&text[from..end], script));
            from = end;
        });
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn runs_follow_the_letters() {
        check("", &[]);
        check("12, 3", &[("12, 3", Script::Latin)]);
        check("Hello (wörld)", &[("Hello (wörld)", Script::Latin)]);
        check("¿Привет? hi", &[("¿Привет? ", Script::Cyrillic), ("hi", Script::Latin)]);
        check("東京タワー 2020 한국", &[("東京タワー 2020 ", Script::Cj), ("한국", Script::Hangul)]);
        check("Ⅷ Ａb ﬁ", &[("Ⅷ Ａb ﬁ", Script::Latin)]);
        check("Hawaiʻi", &[("Hawaiʻi", Script::Latin)]);
        check("हिन्दी", &[("हिन्दी", Script::Unlisted)]);
        check("e\u{301}α", &[("e\u{301}", Script::Latin), ("α", Script::Greek)]);
    }
}
