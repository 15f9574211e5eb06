//! What comments say, and in which words.

use syn::visit::{self, Visit};

use super::{none, sources};

/// Words that say nothing beside a name.
const SMALL_WORDS: [&str; 22] = [
    "a", "all", "an", "and", "are", "as", "at", "by", "for", "in", "is", "it", "its", "of", "on", "or", "that", "the",
    "this", "to", "which", "with",
];

/// Comments of items that say no more than the name does.
#[derive(Default)]
struct Empty(Vec<String>);

impl Empty {
    fn look_at(&mut self, name: &syn::Ident, attributes: &[syn::Attribute]) {
        let lines: Vec<String> = attributes.iter().filter_map(comment).collect();
        if !lines.is_empty() && repeats(&name.to_string(), &lines.concat()) {
            self.0.push(format!("`{name}`: `{}`", lines.concat().trim()));
        }
    }
}

/// A line of the comment of an item.
fn comment(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value else { return None };
    pair.path.is_ident("doc").then(|| text.value())
}

/// Reports whether a name already contains all words of a comment. Quotes and numbers count as more.
fn repeats(name: &str, comment: &str) -> bool {
    if comment.contains(|c: char| c == '`' || c.is_ascii_digit()) {
        return false;
    }
    // `heapBytes`, `HeapBytes` and `heap_bytes` are the same words.
    let mut spread = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            spread.push('_');
        }
        spread.push(letter.to_ascii_lowercase());
    }
    let stem = |word: &str| word.trim_end_matches('s').to_owned();
    let named: Vec<String> = spread.split('_').map(stem).collect();
    let comment = comment.to_lowercase();
    let mut words = comment.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.all(|word| SMALL_WORDS.contains(&word) || named.contains(&stem(word)))
}

macro_rules! look_at_items {
    ($($visit:ident: $item:ident, $name:expr;)*) => {
        impl<'ast> Visit<'ast> for Empty {
            $(fn $visit(&mut self, item: &'ast syn::$item) {
                let name: fn(&syn::$item) -> Option<&syn::Ident> = $name;
                if let Some(name) = name(item) {
                    self.look_at(name, &item.attrs);
                }
                visit::$visit(self, item);
            })*
        }
    };
}

look_at_items! {
    visit_field: Field, |item| item.ident.as_ref();
    visit_impl_item_const: ImplItemConst, |item| Some(&item.ident);
    visit_impl_item_fn: ImplItemFn, |item| Some(&item.sig.ident);
    visit_item_const: ItemConst, |item| Some(&item.ident);
    visit_item_enum: ItemEnum, |item| Some(&item.ident);
    visit_item_fn: ItemFn, |item| Some(&item.sig.ident);
    visit_item_mod: ItemMod, |item| Some(&item.ident);
    visit_item_static: ItemStatic, |item| Some(&item.ident);
    visit_item_struct: ItemStruct, |item| Some(&item.ident);
    visit_item_trait: ItemTrait, |item| Some(&item.ident);
    visit_item_type: ItemType, |item| Some(&item.ident);
    visit_trait_item_const: TraitItemConst, |item| Some(&item.ident);
    visit_trait_item_fn: TraitItemFn, |item| Some(&item.sig.ident);
    visit_variant: Variant, |item| Some(&item.ident);
}

fn empty(text: &str) -> Vec<String> {
    let mut empty = Empty::default();
    empty.visit_file(&syn::parse_file(text).expect("Rust"));
    empty.0
}

/// Comments that say no more than that there is one.
const EMPTY_COMMENTS: [&str; 10] = [
    "/// Why.",
    "/// How.",
    "/// What.",
    "/// Which.",
    "/// As named.",
    "/// As configured.",
    "/// As JSON.",
    "/// Nothing.",
    "/// Bytes.",
    "/// For people.",
];

#[test]
fn comments_of_items_say_something() {
    let mut violations = Vec::new();
    for source in sources("rs").iter().filter(|source| source.path.contains("/src/")) {
        for (number, line) in (1..).zip(source.text.lines()) {
            if EMPTY_COMMENTS.contains(&line.trim()) {
                violations.push(format!("{}:{number}: say what it is: `{}`", source.path, line.trim()));
            }
        }
        let repeated = empty(&source.text).into_iter();
        violations.extend(repeated.map(|item| format!("{}: say more than the name: {item}", source.path)));
    }
    none(violations);
}

#[test]
fn comments_that_repeat_a_name_are_found() {
    let text = "/// The heap bytes.\nfn heap_bytes() {}\nstruct S {\n    /// Its uid.\n    uid: u8,\n    /// Of tasks.\n    count: u8,\n}\n\
                enum E {\n    /// The large file.\n    LargeFiles,\n    /// `gzip`\n    Gzip,\n    /// 8 bytes.\n    Bytes,\n}\n\
                impl S {\n    /// The\n    /// uid.\n    fn uid() {}\n}\n/// In seconds.\nconst WAIT: u8 = 1;\n";
    assert_eq!(
        empty(text),
        [
            "`heap_bytes`: `The heap bytes.`",
            "`uid`: `Its uid.`",
            "`LargeFiles`: `The large file.`",
            "`uid`: `The uid.`"
        ]
    );
}

/// First words of comments that make their reader guess the noun or the verb.
const NO_FIRST_WORDS: [&str; 19] = [
    "What", "Whether", "How", "Where", "Who", "Whose", "Of", "As", "When", "Which", "Why", "Those", "These", "This",
    "That", "It", "They", "Its", "Their",
];

/// First words below a heading `# Errors`, where "What the store says." is a sentence that its reader understands.
const NO_WORDS_OF_ERRORS: [&str; 6] = ["Those", "These", "That", "It", "They", "As"];

/// Lines at which a comment of an item, or what it says of errors, begins with one of [`NO_FIRST_WORDS`]. Comments of options are their help, for people at a
/// terminal.
fn riddles(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let is_comment = |line: &&str| line.starts_with("///");
    let begins = |number: usize| {
        let first = lines[number].strip_prefix("/// ").and_then(|rest| rest.split([' ', '.', ',', ':']).next());
        let is_first = number == 0 || !is_comment(&lines[number - 1]);
        let is_of_errors = number > 0 && lines[number - 1] == "/// # Errors";
        let item = lines[number..].iter().find(|line| !is_comment(line));
        let is_help =
            item.is_some_and(|item| ["#[arg", "#[clap", "#[command"].iter().any(|start| item.starts_with(start)));
        is_first && !is_help && first.is_some_and(|word| NO_FIRST_WORDS.contains(&word))
            || is_of_errors && first.is_some_and(|word| NO_WORDS_OF_ERRORS.contains(&word))
    };
    (0..lines.len()).filter(|&number| begins(number)).map(|number| number + 1).collect()
}

#[test]
fn comments_of_items_begin_with_a_noun_or_a_verb() {
    let sources = sources("rs");
    let places = sources.iter().flat_map(|source| riddles(&source.text).into_iter().map(|line| (&source.path, line)));
    none(places.map(|(path, line)| format!("{path}:{line}: begin with a noun, or with \"Returns\"")).collect());
}

#[test]
fn riddles_are_found() {
    let text = "/// Whether it is.\nfn a() {}\n/// Returns whether it is.\n/// How so.\nfn b() {}\n/// As in `--publish`.\n\
                #[arg(long)]\nstore: u8,\n    /// Why.\nconst C: u8 = 1;\n// How.\n\
                /// Reads.\n///\n/// # Errors\n/// Those of `a`.\nfn d() {}\n/// # Errors\n/// What `a` says.\nfn e() {}\n";
    assert_eq!(riddles(text), [1, 9, 15]);
}

/// Words that stand for a noun or a verb of the field: a rule is applied, a count is reported, a thread waits.
pub(crate) const VAGUE_WORDS: [&str; 10] =
    ["told", "tell", "tells", "telling", "whoever", "nobody", "somebody", "anybody", "everybody", "whom"];

#[test]
fn names_and_comments_use_words_of_the_field() {
    const QUESTION_OF_A_USER: &str = "which western tells of a sheriff";
    let folders = ["benches/", "engine/", "fuzz/", "server/", "tests/"];
    let code = sources("rs").into_iter().filter(|source| folders.iter().any(|folder| source.path.starts_with(folder)));
    // Decisions are not edited.
    let pages = sources("md").into_iter().filter(|page| !page.path.starts_with("docs/decisions/"));
    let mut violations = Vec::new();
    for source in code.chain(pages).filter(|source| !source.path.starts_with("tests/src/tidy")) {
        for (number, line) in (1..).zip(source.text.lines()) {
            let mut words = line.split(|c: char| !c.is_ascii_alphabetic());
            let vague = words.find(|word| VAGUE_WORDS.contains(&word.to_ascii_lowercase().as_str()));
            if let Some(word) = vague.filter(|_| !line.contains(QUESTION_OF_A_USER)) {
                violations.push(format!("{}:{number}: `{word}`: say who does what", source.path));
            }
        }
    }
    none(violations);
}
