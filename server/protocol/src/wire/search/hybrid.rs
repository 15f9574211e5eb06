//! `hybrid`: the part of an embedder in a search.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::search::{DEFAULT_RRF_K, Fusion, MatchingStrategy};
use serde_json::{Value, json};

use super::out_of_range;
use crate::wire::json::{At, required};
use crate::wire::schema::{self, exactly, or_null, text};
use crate::wire::text_fields::{self, Given, TextField, TextFields};

/// The part of an embedder in a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Hybrid {
    /// Name of the embedder.
    pub embedder: String,
    /// From 0 (words only) to 1 (meaning only).
    pub semantic_ratio: f32,
    /// Method of merging both lists; by default it depends on the strategy.
    pub fusion: Option<Fusion>,
    /// Minimum scores of the hits of each list.
    pub thresholds: ArmThresholds,
    /// Passages that each hit shows at most, if the embedder makes vectors of them.
    pub passages: usize,
}

/// Minimum scores of the hits of each list of a hybrid search, from 0 to 1, where they differ from
/// `rankingScoreThreshold`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArmThresholds {
    /// Minimum score of hits by words.
    pub words: Option<f64>,
    /// Minimum similarity of hits by nearness.
    pub vectors: Option<f64>,
}

impl ArmThresholds {
    /// Fields, by the names that the details of a fused hit have for the lists.
    pub const FIELDS: [&'static str; 2] = ["words", "vectors"];
}

impl Hybrid {
    /// Fields, in the order in which messages list them.
    pub const FIELDS: [&'static str; 6] = ["semanticRatio", "embedder", "fusion", "rrfK", "thresholds", "passages"];
    /// Half words, half meaning.
    pub const DEFAULT_RATIO: f32 = 0.5;
    /// The best passage of each hit.
    pub const DEFAULT_PASSAGES: usize = 1;
    /// The most passages of a hit.
    const PASSAGES_MAX: u64 = 10;
    /// The ways to merge, by name.
    pub const FUSIONS: [(&'static str, Fusion); 3] =
        [("score", Fusion::Score), ("rrf", Fusion::Rrf { k: DEFAULT_RRF_K }), ("relative", Fusion::Relative)];
    /// The largest `rrfK`.
    pub const RRF_K_MAX: f64 = 1e6;

    /// Fields as parameters of a query string.
    pub(super) const TEXT_FIELDS: TextFields = TextFields { fields: &IN_QUERY_STRINGS, join };

    /// Returns the fusion of the request. By default it is by score, which the protocol prescribes, and for questions
    /// by normalised scores.
    pub fn fusion_for(&self, strategy: MatchingStrategy) -> Fusion {
        let default = if strategy == MatchingStrategy::Any { Fusion::Relative } else { Fusion::Score };
        self.fusion.unwrap_or(default)
    }

    pub(super) fn read(at: At<'_>) -> ApiResult<Hybrid> {
        let (mut embedder, mut semantic_ratio, mut fusion, mut k) = (None, Hybrid::DEFAULT_RATIO, None, None);
        let (mut thresholds, mut passages) = (ArmThresholds::default(), Hybrid::DEFAULT_PASSAGES);
        at.given(&Hybrid::FIELDS, &["embedder"], |name, field| {
            match name {
                "embedder" => embedder = Some(field.code(Code::InvalidSearchEmbedder).string()?),
                "fusion" => fusion = Some(field.one_of(&Hybrid::FUSIONS)?),
                "thresholds" => thresholds = ArmThresholds::read(field)?,
                "passages" => passages = passage_count(field)?,
                "rrfK" => k = Some(rrf_k(field)?),
                _ => semantic_ratio = share(&field.code(Code::InvalidSearchSemanticRatio))? as f32,
            }
            Ok(())
        })?;
        let embedder = required(embedder, &at, "embedder", Code::InvalidSearchHybridQuery)?;
        if let Some(k) = k {
            if matches!(fusion, Some(Fusion::Score | Fusion::Relative)) {
                return Err(at.invalid("`rrfK` is of `\"fusion\": \"rrf\"` only: send that, or leave `rrfK` out."));
            }
            fusion = Some(Fusion::Rrf { k });
        }
        Ok(Hybrid { embedder, semantic_ratio, fusion, thresholds, passages })
    }

    /// The object as a body has it.
    pub(super) fn written(&self) -> Value {
        let mut written = json!({ "embedder": self.embedder, "semanticRatio": f64::from(self.semantic_ratio) });
        let name = |fusion: Fusion| match fusion {
            Fusion::Score => "score",
            Fusion::Rrf { .. } => "rrf",
            Fusion::Relative => "relative",
        };
        if let Some(fusion) = self.fusion {
            written["fusion"] = name(fusion).into();
        }
        if let Some(Fusion::Rrf { k }) = self.fusion {
            written["rrfK"] = k.into();
        }
        let ArmThresholds { words, vectors } = self.thresholds;
        if self.thresholds != ArmThresholds::default() {
            written["thresholds"] = json!({ "words": words, "vectors": vectors });
        }
        if self.passages != Hybrid::DEFAULT_PASSAGES {
            written["passages"] = self.passages.into();
        }
        written
    }

    pub(super) fn schema() -> Value {
        let thresholds = exactly(ArmThresholds::FIELDS.map(|name| (name, or_null(schema::share()))), &[]);
        let fields = [
            ("embedder", text()),
            ("semanticRatio", or_null(schema::share())),
            ("fusion", or_null(fusion_schema())),
            ("rrfK", or_null(rrf_k_schema())),
            ("thresholds", or_null(thresholds)),
            ("passages", or_null(passages_schema())),
        ];
        exactly(fields, &["embedder"])
    }
}

impl ArmThresholds {
    fn read(at: At<'_>) -> ApiResult<ArmThresholds> {
        let mut thresholds = ArmThresholds::default();
        at.fields(&ArmThresholds::FIELDS, |name, field| {
            let threshold = field.optional(|field| share(&field))?;
            *(if name == "words" { &mut thresholds.words } else { &mut thresholds.vectors }) = threshold;
            Ok(())
        })?;
        Ok(thresholds)
    }
}

const IN_QUERY_STRINGS: [TextField; 7] = [
    TextField {
        name: "hybridEmbedder",
        code: Code::InvalidSearchEmbedder,
        of_text: text_fields::text,
        check: |_| Ok(()),
        schema: text,
    },
    TextField {
        name: "hybridSemanticRatio",
        code: Code::InvalidSearchSemanticRatio,
        of_text: text_fields::number,
        check: |at| share(&at).map(drop),
        schema: schema::share,
    },
    TextField {
        name: "hybridFusion",
        code: Code::InvalidSearchHybridQuery,
        of_text: text_fields::text,
        check: |at| at.one_of(&Hybrid::FUSIONS).map(drop),
        schema: fusion_schema,
    },
    TextField {
        name: "hybridRrfK",
        code: Code::InvalidSearchHybridQuery,
        of_text: text_fields::number,
        check: |at| rrf_k(at).map(drop),
        schema: rrf_k_schema,
    },
    TextField {
        name: "hybridThresholdsWords",
        code: Code::InvalidSearchHybridQuery,
        of_text: text_fields::number,
        check: |at| share(&at).map(drop),
        schema: schema::share,
    },
    TextField {
        name: "hybridThresholdsVectors",
        code: Code::InvalidSearchHybridQuery,
        of_text: text_fields::number,
        check: |at| share(&at).map(drop),
        schema: schema::share,
    },
    TextField {
        name: "hybridPassages",
        code: Code::InvalidSearchHybridQuery,
        of_text: text_fields::count,
        check: |at| passage_count(at).map(drop),
        schema: passages_schema,
    },
];

fn join(given: &Given) -> ApiResult<Value> {
    let embedder = given.required("hybridEmbedder", Code::InvalidSearchHybridQuery, &[])?;
    let (fusion, k) = (given.value("hybridFusion"), given.value("hybridRrfK"));
    if !k.is_null() && !fusion.is_null() && fusion != "rrf" {
        return Err(ApiError::new(
            Code::InvalidSearchHybridQuery,
            "`hybridRrfK` is of `hybridFusion=rrf` only: send that, or leave `hybridRrfK` out.",
        ));
    }
    let thresholds =
        json!({ "words": given.value("hybridThresholdsWords"), "vectors": given.value("hybridThresholdsVectors") });
    Ok(json!({
        "embedder": embedder,
        "semanticRatio": given.value("hybridSemanticRatio"),
        "fusion": fusion,
        "rrfK": k,
        "thresholds": thresholds,
        "passages": given.value("hybridPassages"),
    }))
}

fn passage_count(at: At<'_>) -> ApiResult<usize> {
    match at.positive_integer()? {
        count if count <= Hybrid::PASSAGES_MAX => Ok(count as usize),
        count => Err(at.invalid(format!("expected a number from 0 to {}, but found {count}", Hybrid::PASSAGES_MAX))),
    }
}

fn passages_schema() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": Hybrid::PASSAGES_MAX })
}

fn rrf_k(at: At<'_>) -> ApiResult<f64> {
    let (k, most) = (at.number()?, Hybrid::RRF_K_MAX);
    let is_within = (0.0..=most).contains(&k);
    if is_within { Ok(k) } else { Err(at.invalid(format!("expected a number from 0 to {most}, but found {k}"))) }
}

/// The schema of `rrfK`: how much the best ranks of a list outweigh the next.
fn rrf_k_schema() -> Value {
    json!({ "type": "number", "minimum": 0, "maximum": Hybrid::RRF_K_MAX })
}

fn fusion_schema() -> Value {
    schema::one_of(&Hybrid::FUSIONS.map(|(name, _)| name))
}

/// Reads a number from 0 to 1.
pub(in crate::wire::search) fn share(at: &At<'_>) -> ApiResult<f64> {
    let number = at.number()?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(at.invalid(out_of_range(at.name()))) }
}
