//! One embedder of the settings, as far as the engine has to know it.

use serde_json::{Map, Value};

use super::super::embedding::Chunks;
use super::Settings;

/// The text that documents become when no template is set: every searchable field on a line of its own.
pub const DEFAULT_TEMPLATE: &str = "{% for field in fields %}{% if field.is_searchable and field.value != nil %}\
                                    {{ field.name }}: {{ field.value }}\n{% endif %}{% endfor %}";
/// Longest rendered text when the settings name no other, in bytes.
pub const DEFAULT_TEMPLATE_BYTES_MAX: usize = 400;

/// The same of static models, which take texts of any length, and of texts in passages: a document as a whole, unless it is a book.
pub const STATIC_TEMPLATE_BYTES_MAX: usize = 1 << 20;

pub use lamina_segment::segment::DIMENSIONS_MAX;

/// Key of the fragments that represent documents to the model, in place of a template.
pub const INDEXING_FRAGMENTS: &str = "indexingFragments";
/// Key of the fragments that represent queries to the model.
pub const SEARCH_FRAGMENTS: &str = "searchFragments";
/// Indexing fragments of an embedder, at most.
pub const FRAGMENTS_MAX: usize = 24;

/// Distribution of the similarities of an embedder, by which they can be shifted to the expected range of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution {
    /// 0..=1
    pub mean: f32,
    /// Above 0, at most 1.
    pub sigma: f32,
}

/// A configuration, read.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbedderSettings {
    /// By which requests and documents refer to it.
    pub name: String,
    /// Vectors come with the documents; none are made.
    pub user_provided: bool,
    /// Numbers of a vector, when the configuration says so.
    pub dimensions: Option<u32>,
    /// Vectors are stored as one bit a dimension.
    pub binary_quantized: bool,
    /// Distribution by which similarities are corrected.
    pub distribution: Option<Distribution>,
    /// Makes the text of a document.
    pub template: String,
    /// Longest text of a document, in bytes.
    pub template_bytes_max: usize,
    /// Rules by which the text of a document is cut into passages, if it is.
    pub chunks: Option<Chunks>,
    /// Take the place of the template when there are any: by name, what each makes of a document.
    pub fragments: Vec<(String, Value)>,
    /// The configuration, in the public shape.
    pub configuration: Map<String, Value>,
}

impl Settings {
    /// The embedder of this name.
    pub fn embedder(&self, name: &str) -> Option<EmbedderSettings> {
        let configuration = self.embedders.get(name)?.as_object()?;
        Some(EmbedderSettings::read(name, configuration))
    }

    /// Returns the configured embedders, in the order of their names, read.
    pub(crate) fn all_embedders(&self) -> impl Iterator<Item = EmbedderSettings> + '_ {
        self.embedders.keys().filter_map(|name| self.embedder(name))
    }
}

impl EmbedderSettings {
    fn read(name: &str, configuration: &Map<String, Value>) -> EmbedderSettings {
        let field = |field: &str| configuration.get(field);
        let number = |name: &str| field(name).and_then(Value::as_u64);
        // A composite embedder makes its documents' texts as the embedder for indexing says.
        let indexing = field("indexingEmbedder").and_then(Value::as_object).unwrap_or(configuration);
        let template = indexing.get("documentTemplate").and_then(Value::as_str).unwrap_or(DEFAULT_TEMPLATE);
        let template_bytes_max = indexing.get("documentTemplateMaxBytes").and_then(Value::as_u64);
        let is_static = field("source").and_then(Value::as_str) == Some("static");
        let chunks = indexing.get("chunks").and_then(Chunks::read);
        let template_bytes_usual =
            if is_static || chunks.is_some() { STATIC_TEMPLATE_BYTES_MAX } else { DEFAULT_TEMPLATE_BYTES_MAX };
        EmbedderSettings {
            name: name.to_owned(),
            user_provided: field("source").and_then(Value::as_str) == Some("userProvided"),
            dimensions: number("dimensions").and_then(|dimensions| u32::try_from(dimensions).ok()),
            binary_quantized: field("binaryQuantized").and_then(Value::as_bool).unwrap_or(false),
            distribution: distribution(configuration),
            template: template.to_owned(),
            template_bytes_max: template_bytes_max
                .map_or(template_bytes_usual, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            chunks,
            fragments: fragments_of(indexing, INDEXING_FRAGMENTS),
            configuration: configuration.clone(),
        }
    }

    /// Reports whether both configurations make the same vectors of the same texts.
    pub(crate) fn makes_same_vectors(&self, other: &EmbedderSettings) -> bool {
        made_by(&self.configuration) == made_by(&other.configuration)
    }

    /// Reports whether vectors made from texts of `before` are still acceptable, if the searchable attributes are the
    /// same. A smaller limit would cut texts earlier, so the existing vectors say no less.
    pub(crate) fn is_content_with_texts_of(&self, before: &EmbedderSettings) -> bool {
        self.template == before.template
            && self.template_bytes_max <= before.template_bytes_max
            && self.chunks == before.chunks
    }
}

/// The fragments that `field` of a configuration names: what each is made of, in their order.
pub fn fragments_of(configuration: &Map<String, Value>, field: &str) -> Vec<(String, Value)> {
    let fragments = configuration.get(field).and_then(Value::as_object).into_iter().flatten();
    fragments.filter_map(|(name, fragment)| Some((name.clone(), fragment.get("value")?.clone()))).collect()
}

/// The fields that decide what a text becomes, of the embedder that indexes.
fn made_by(configuration: &Map<String, Value>) -> Vec<(&'static str, Option<&Value>)> {
    let source = configuration.get("source");
    let indexing = configuration.get("indexingEmbedder").and_then(Value::as_object).unwrap_or(configuration);
    let name = indexing.get("source").and_then(Value::as_str).unwrap_or("openAi");
    let fields = ["model", "revision", "pooling", "request", "response", INDEXING_FRAGMENTS];
    let mut made_by: Vec<_> = fields.into_iter().map(|field| (field, indexing.get(field))).collect();
    made_by.push(("source", source.or_else(|| indexing.get("source"))));
    // The provider's own service answers alike wherever it is reached, and is the only one that takes a size.
    made_by.push(if name == "openAi" {
        ("dimensions", indexing.get("dimensions"))
    } else {
        ("url", indexing.get("url"))
    });
    made_by
}

fn distribution(configuration: &Map<String, Value>) -> Option<Distribution> {
    let given = configuration.get("distribution").and_then(Value::as_object);
    if let Some(given) = given {
        let number = |name: &str| given.get(name).and_then(Value::as_f64).map(|number| number as f32);
        return Some(Distribution { mean: number("mean")?, sigma: number("sigma")? });
    }
    let source = configuration.get("source").and_then(Value::as_str).unwrap_or("openAi");
    // What the provider's models are known for.
    match (source, configuration.get("model").and_then(Value::as_str).unwrap_or("text-embedding-3-small")) {
        ("openAi", "text-embedding-3-small") => Some(Distribution { mean: 0.75, sigma: 0.1 }),
        ("openAi", "text-embedding-3-large") => Some(Distribution { mean: 0.70, sigma: 0.1 }),
        ("openAi", "text-embedding-ada-002") => Some(Distribution { mean: 0.90, sigma: 0.08 }),
        _ => None,
    }
}

impl Distribution {
    /// The similarity `score` moved so that the mean becomes 0.5 and the spread the expected one.
    pub fn shift(self, score: f32) -> f32 {
        let factor = 0.4 / self.sigma;
        (score * factor + 0.5 - self.mean * factor).clamp(f32::EPSILON, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(configuration: Value) -> EmbedderSettings {
        EmbedderSettings::read("e", configuration.as_object().unwrap())
    }

    #[test]
    fn defaults_of_the_sources() {
        let own = read(json!({"source": "userProvided", "dimensions": 3}));
        assert!(own.user_provided);
        assert!(!own.binary_quantized);
        assert_eq!((own.dimensions, own.distribution), (Some(3), None));
        let provider = read(json!({}));
        assert!(!provider.user_provided);
        assert_eq!(provider.distribution, Some(Distribution { mean: 0.75, sigma: 0.1 }));
        assert_eq!(provider.template, DEFAULT_TEMPLATE);
    }

    #[test]
    fn what_needs_new_vectors() {
        let rest = json!({"source": "rest", "url": "a", "request": 1, "response": 2});
        let changed = |name: &str, value: Value| {
            let mut other = rest.clone();
            other[name] = value;
            !read(rest.clone()).makes_same_vectors(&read(other))
        };
        for name in ["url", "request", "response"] {
            assert!(changed(name, json!("x")), "{name}");
        }
        for name in ["apiKey", "headers", "distribution", "binaryQuantized", "documentTemplate", "dimensions"] {
            assert!(!changed(name, json!("x")), "{name}");
        }
        assert!(read(json!({"url": "a"})).makes_same_vectors(&read(json!({"url": "b"}))));
        assert!(!read(json!({"dimensions": 1})).makes_same_vectors(&read(json!({"dimensions": 2}))));
    }

    #[test]
    fn what_needs_new_texts() {
        let before = read(json!({"documentTemplate": "a", "documentTemplateMaxBytes": 100}));
        for (template, bytes_max, is_content) in
            [("a", 100, true), ("a", 99, true), ("a", 101, false), ("b", 100, false)]
        {
            let after = read(json!({"documentTemplate": template, "documentTemplateMaxBytes": bytes_max}));
            assert_eq!(after.is_content_with_texts_of(&before), is_content, "{template} {bytes_max}");
        }
    }

    #[test]
    fn similarities_are_moved() {
        let distribution = Distribution { mean: 0.7, sigma: 0.1 };
        assert!((distribution.shift(0.7) - 0.5).abs() < 1e-6);
        assert_eq!(distribution.shift(1.0), 1.0);
        assert_eq!(distribution.shift(0.1), f32::EPSILON);
    }
}
