//! Which characters part words by their general category, whatever the lists of separators say of them.

use std::sync::LazyLock;

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use unicode_normalization::char::decompose_compatible;

/// Joins the characters of some scripts into one shape; parts words where no such script is written.
pub(super) const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Effect on the adjacent words of a character that is not a letter, digit or mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Parts them: symbols, punctuation, spaces, control and format characters.
    Parts,
    /// Is a word of its own: a symbol that stands for letters or digits, such as ㎏ or ㊗.
    IsWord,
}

/// A bit for each character.
struct CharSet(Vec<u64>);

impl CharSet {
    fn of(chars: impl Iterator<Item = char>) -> CharSet {
        let mut words = vec![0; (char::MAX as usize + 1) / 64];
        chars.for_each(|c| words[c as usize / 64] |= 1 << (c as usize % 64));
        CharSet(words)
    }

    fn contains(&self, c: char) -> bool {
        self.0[c as usize / 64] >> (c as usize % 64) & 1 == 1
    }
}

static SIGNS: LazyLock<CharSet> = LazyLock::new(|| CharSet::of(signs()));
static SPELLED: LazyLock<CharSet> = LazyLock::new(|| CharSet::of(signs().filter(|c| is_spelled(*c))));

/// `None` for what words are made of. [`ZERO_WIDTH_JOINER`] is none either: what it does depends on where it stands.
pub(super) fn sign(c: char) -> Option<Sign> {
    if !SIGNS.contains(c) {
        return None;
    }
    Some(if SPELLED.contains(c) { Sign::IsWord } else { Sign::Parts })
}

/// Symbols, punctuation, separators, control and format characters. Circled letters (Ⓐ) are symbols, too, but spell words
/// together.
fn signs() -> impl Iterator<Item = char> {
    let categories = CodePointMapData::<GeneralCategory>::new();
    let groups = [GeneralCategoryGroup::Symbol, GeneralCategoryGroup::Punctuation, GeneralCategoryGroup::Separator];
    let controls = [GeneralCategory::Control, GeneralCategory::Format];
    let by_group = groups.into_iter().flat_map(move |group| categories.iter_ranges_for_group(group));
    let by_value = controls.into_iter().flat_map(move |value| categories.iter_ranges_for_value(value));
    by_group
        .chain(by_value)
        .flatten()
        .filter_map(char::from_u32)
        .filter(|c| !c.is_alphabetic() && *c != ZERO_WIDTH_JOINER)
}

/// Reports whether a symbol is short for letters or digits. Trade mark signs (™, ℠) do not count: they are not searched
/// for.
fn is_spelled(c: char) -> bool {
    let (mut count, mut spelled) = (0, true);
    decompose_compatible(c, |part| {
        count += 1;
        spelled &= part.is_alphanumeric() && part != c;
    });
    count > 0 && spelled && !matches!(c, '™' | '℠')
}

/// Characters without a look of their own that words may hold: they are left out of normal forms, so that words with and
/// without them meet. What of these is no mark or letter gets into words only where settings say so.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(
        u32::from(c),
        0xAD | 0x34F
            | 0x61C
            | 0x115F..=0x1160
            | 0x17B4..=0x17B5
            | 0x180B..=0x180F
            | 0x200B..=0x200F
            | 0x202A..=0x202E
            | 0x2060..=0x206F
            | 0x3164
            | 0xFE00..=0xFE0F
            | 0xFEFF
            | 0xFFA0
            | 0xE0000..=0xE0FFF
    )
}

/// Reports whether a joiner after `before` belongs to the word. In scripts from Arabic to Mongolian and related ones it
/// determines the shape of letters, and correct spelling requires it.
pub(super) fn takes_joiners(before: char) -> bool {
    let joined = matches!(
        u32::from(before),
        0x0600..=0x0DFF | 0x1000..=0x109F | 0x1700..=0x18AF | 0x1900..=0x1CFF | 0xA800..=0xA8FF | 0xA980..=0xAADF
            | 0xABC0..=0xABFF | 0x10A00..=0x11FFF | 0x1E900..=0x1E95F
    );
    joined && sign(before).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_decide() {
        for c in "=<>|~$^€°©®™•→❤😀\u{200b}\u{feff}\u{202e}\u{2028}\u{2029}\u{ad}\u{7}\u{a0}\u{202f}‑🇩🏽´。「".chars()
        {
            assert_eq!(sign(c), Some(Sign::Parts), "{c:?}");
        }
        for c in "㎏㎞㊗㍻№㌔".chars() {
            assert_eq!(sign(c), Some(Sign::IsWord), "{c:?}");
        }
        for c in "aé0²½Ⅷªλж日かー한ก์\u{301}\u{fe0f}\u{200d}ʻⒶ①".chars() {
            assert_eq!(sign(c), None, "{c:?}");
        }
    }

    #[test]
    fn joiners_belong_to_some_scripts() {
        for c in "بකക്क्ျ".chars() {
            assert!(takes_joiners(c), "{c:?}");
        }
        for c in "aéжλא日한 。\u{200d}".chars() {
            assert!(!takes_joiners(c), "{c:?}");
        }
    }
}
