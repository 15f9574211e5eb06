//! An embedder for documents that asks its model only for what is not known.

use std::collections::HashMap;
use std::sync::Arc;

use lamina_engine::index::embedding::{Asking, EmbedFailure, Embedder};
use serde_json::{Map, Value};

use super::kept::{KeptVectors, Key};
use super::side::{Side, side_of};

/// The vector of a text, or why it has none.
pub(super) type Answer = Result<Vec<f32>, EmbedFailure>;

/// Called with each vector as soon as it is there: number of the text, vector.
pub(super) type Answered<'a> = dyn Fn(usize, &[f32]) + Sync + 'a;

/// Makes vectors.
pub(super) trait VectorMaker: Send + Sync + std::fmt::Debug {
    /// Numbers of a vector.
    fn dimensions(&self) -> u32;

    /// Looks whether it is there, without making a vector.
    ///
    /// # Errors
    /// Why it is not.
    fn reach(&self, _: Asking<'_>) -> Result<(), EmbedFailure> {
        Ok(())
    }

    /// An answer for each text, in order; vectors that have another size are failures. Gives up soon after it is cancelled.
    fn make(&self, texts: &[String], asking: Asking<'_>, answered: &Answered<'_>) -> Vec<Answer>;
}

/// A maker whose vectors are kept.
pub(super) struct Remembering {
    maker: Arc<dyn VectorMaker>,
    /// Part of the configuration that determines the vector of a text.
    identity: String,
    kept: Arc<KeptVectors>,
}

/// Identities hold addresses, which may hold secrets.
impl std::fmt::Debug for Remembering {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Remembering").field("maker", &self.maker).finish_non_exhaustive()
    }
}

impl Remembering {
    pub(super) fn new(
        maker: Arc<dyn VectorMaker>,
        configuration: &Map<String, Value>,
        kept: Arc<KeptVectors>,
    ) -> Remembering {
        Remembering { identity: identity(configuration, maker.dimensions()), maker, kept }
    }
}

/// Another key or another text of a document make no other vectors of the same text.
pub(super) fn identity(configuration: &Map<String, Value>, dimensions: u32) -> String {
    const WITHOUT_EFFECT: [&str; 9] = [
        "apiKey",
        "chunks",
        "documentTemplate",
        "documentTemplateMaxBytes",
        "dimensions",
        "distribution",
        "binaryQuantized",
        // The placeholder of the request distinguishes fragments from texts.
        "indexingFragments",
        "searchFragments",
    ];
    let side = side_of(configuration, Side::Indexing).iter();
    let mut fields: Vec<(&String, &Value)> =
        side.filter(|(name, _)| !WITHOUT_EFFECT.contains(&name.as_str())).collect();
    fields.sort_unstable_by_key(|(name, _)| *name);
    let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{dimensions} {}", fields.join(" "))
}

impl Embedder for Remembering {
    fn dimensions(&self) -> u32 {
        self.maker.dimensions()
    }

    fn reach(&self, asking: Asking<'_>) -> Result<(), EmbedFailure> {
        self.maker.reach(asking)
    }

    fn known(&self, texts: &[String]) -> Vec<Option<Vec<f32>>> {
        texts.iter().map(|text| self.kept.get(Key::new(&self.identity, text))).collect()
    }

    fn embed(&self, texts: &[String], asking: Asking<'_>) -> Vec<Answer> {
        // By text: where its answer is, among the known or among those asked for.
        enum From {
            Known(Vec<f32>),
            Asked(usize),
        }
        let (mut asked, mut asked_keys, mut numbers) = (Vec::new(), Vec::new(), HashMap::new());
        let places: Vec<From> = texts
            .iter()
            .map(|text| {
                let key = Key::new(&self.identity, text);
                if let Some(&number) = numbers.get(&key) {
                    return From::Asked(number);
                }
                if let Some(vector) = self.kept.get(key) {
                    return From::Known(vector);
                }
                numbers.insert(key, asked.len());
                asked_keys.push(key);
                asked.push(text.clone());
                From::Asked(asked.len() - 1)
            })
            .collect();
        let keep = |number: usize, vector: &[f32]| self.kept.put(asked_keys[number], vector);
        let answers = if asked.is_empty() { Vec::new() } else { self.maker.make(&asked, asking, &keep) };
        let missing = || Err(EmbedFailure::runtime("a text got no vector"));
        places
            .into_iter()
            .map(|place| match place {
                From::Known(vector) => Ok(vector),
                From::Asked(number) => answers.get(number).cloned().unwrap_or_else(missing),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use lamina_engine::index::embedding::EmbeddingWatch;
    use serde_json::json;

    use super::*;

    /// Fails for texts that hold a `!`.
    #[derive(Debug, Default)]
    struct Lengths(AtomicUsize);

    impl VectorMaker for Lengths {
        fn dimensions(&self) -> u32 {
            1
        }

        fn make(&self, texts: &[String], _: Asking<'_>, answered: &Answered<'_>) -> Vec<Answer> {
            self.0.fetch_add(texts.len(), Ordering::Relaxed);
            let answer = |(number, text): (usize, &String)| {
                if text.contains('!') {
                    return Err(EmbedFailure::user("no").of_text());
                }
                answered(number, &[text.len() as f32]);
                Ok(vec![text.len() as f32])
            };
            texts.iter().enumerate().map(answer).collect()
        }
    }

    #[test]
    fn each_text_is_asked_for_once() {
        let folder = tempfile::tempdir().unwrap();
        let maker = Arc::new(Lengths::default());
        let embedder = |configuration: Value| {
            let kept = Arc::new(KeptVectors::new(folder.path().to_owned(), 1 << 20));
            Remembering::new(Arc::clone(&maker) as Arc<dyn VectorMaker>, configuration.as_object().unwrap(), kept)
        };
        let embed = |configuration: Value, texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            let (cancelled, watch) = (AtomicBool::new(false), EmbeddingWatch::default());
            let asking = Asking { cancelled: &cancelled, watch: &watch, is_brief: false };
            let embedder = embedder(configuration);
            let answers = embedder.embed(&texts, asking);
            let known = embedder.known(&texts);
            assert!(answers.iter().map(Result::is_ok).eq(known.iter().map(Option::is_some)), "what was made is known");
            let answers: Vec<Option<f32>> = answers.into_iter().map(|answer| answer.ok().map(|v| v[0])).collect();
            (answers, maker.0.swap(0, Ordering::Relaxed))
        };
        let one = json!({"source": "rest", "url": "a", "apiKey": "k", "documentTemplate": "t"});
        assert_eq!(embed(one.clone(), &["a", "bb", "a", "!"]), (vec![Some(1.0), Some(2.0), Some(1.0), None], 3));
        let same = json!({"url": "a", "source": "rest", "apiKey": "other", "documentTemplate": "u"});
        assert_eq!(embed(same, &["bb", "ccc", "!"]), (vec![Some(2.0), Some(3.0), None], 2), "failures are not kept");
        assert_eq!(embed(json!({"source": "rest", "url": "b"}), &["bb"]), (vec![Some(2.0)], 1), "another model");
        let pair = json!({"source": "composite", "indexingEmbedder": one, "searchEmbedder": {}});
        assert_eq!(embed(pair, &["bb"]), (vec![Some(2.0)], 0));
    }
}
