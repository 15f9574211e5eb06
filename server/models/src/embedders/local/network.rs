//! The networks that run: BERT and its relatives.

use candle_core::{DType, Device, Tensor};
use candle_nn::{Linear, Module, VarBuilder, linear};
use candle_transformers::models::{bert, distilbert, modernbert, xlm_roberta};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::files::{ModelFiles, Weights};

/// A network with its weights.
pub(super) struct Network {
    kind: Kind,
    token_count_max: usize,
}

enum Kind {
    Bert(bert::BertModel),
    DistilBert(distilbert::DistilBertModel),
    Roberta(xlm_roberta::XLMRobertaModel),
    ModernBert(modernbert::ModernBert),
}

/// Fields that all configurations have.
#[derive(Deserialize)]
struct Common {
    #[serde(default)]
    model_type: Option<String>,
    max_position_embeddings: usize,
}

impl Network {
    /// Reads the configuration and the weights.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn load(files: &ModelFiles, device: &Device) -> Result<Network, String> {
        Network::load_parts(files, device).map(|(network, ..)| network)
    }

    /// The same, with the layers behind it that make one score of a text.
    ///
    /// # Errors
    /// The errors of [`Self::load`], or that there are none.
    pub(super) fn load_with_head(files: &ModelFiles, device: &Device) -> Result<(Network, Head), String> {
        let (network, weights, configuration) = Network::load_parts(files, device)?;
        let head = Head::load(&network.kind, &weights, &configuration)?;
        Ok((network, head))
    }

    /// The network, all weights of the model, and its configuration.
    fn load_parts(files: &ModelFiles, device: &Device) -> Result<(Network, VarBuilder<'static>, Value), String> {
        let text = std::fs::read(&files.config).map_err(|error| error.to_string())?;
        let mut json: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        let common: Common = read(&json)?;
        let model_type = common.model_type.as_deref().unwrap_or("bert");
        let weights = match &files.weights {
            Weights::Safetensors(file) => {
                let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
                VarBuilder::from_buffered_safetensors(bytes, DType::F32, device)
            }
            Weights::Pickle(file) => VarBuilder::from_pth(file, DType::F32, device),
        };
        let weights = weights.map_err(|error| error.to_string())?;
        // Models with a head keep the network under a name.
        let below = |name: &str, probe: &str| {
            let is_below = weights.contains_tensor(&format!("{name}.{probe}"));
            if is_below { weights.pp(name) } else { weights.clone() }
        };
        let words = "embeddings.word_embeddings.weight";
        let loaded = match model_type {
            "bert" => bert::BertModel::load(below("bert", words), &read(&json)?).map(Kind::Bert),
            "distilbert" => {
                distilbert::DistilBertModel::load(below("distilbert", words), &read(&json)?).map(Kind::DistilBert)
            }
            "roberta" | "xlm-roberta" | "camembert" => {
                fill(&mut json, "position_embedding_type", "absolute".into());
                xlm_roberta::XLMRobertaModel::new(&read(&json)?, below("roberta", words)).map(Kind::Roberta)
            }
            "modernbert" => {
                let name = "embeddings.tok_embeddings.weight";
                let weights = if weights.contains_tensor(name) {
                    weights.clone().rename_f(|name: &str| name.strip_prefix("model.").unwrap_or(name).to_owned())
                } else {
                    weights.clone()
                };
                modernbert::ModernBert::load(weights, &read(&json)?).map(Kind::ModernBert)
            }
            other => {
                return Err(format!(
                    "networks of type `{other}` do not run here, only `bert`, `distilbert`, `roberta`, `xlm-roberta`, \
                     `camembert` and `modernbert`"
                ));
            }
        };
        let kind = loaded.map_err(|error| error.to_string())?;
        let token_count_max = match kind {
            // Positions are counted from behind the padding token's.
            Kind::Roberta(_) => common.max_position_embeddings.saturating_sub(2),
            _ => common.max_position_embeddings,
        };
        Ok((Network { kind, token_count_max }, weights, json))
    }

    /// The longest text, in tokens.
    pub(super) fn token_count_max(&self) -> usize {
        self.token_count_max
    }

    /// The vectors of tokens; `tokens` has texts and tokens, without padding. `parts`: which part of its text each belongs to,
    /// where texts have two.
    pub(super) fn forward(&self, tokens: &Tensor, parts: Option<&Tensor>) -> candle_core::Result<Tensor> {
        let types = tokens.zeros_like()?;
        match &self.kind {
            Kind::Bert(network) => network.forward(tokens, parts.unwrap_or(&types), None),
            Kind::DistilBert(network) => {
                let length = tokens.dim(1)?;
                // Ones are what is hidden.
                network.forward(tokens, &Tensor::zeros((length, length), DType::U8, tokens.device())?)
            }
            Kind::Roberta(network) => network.forward(tokens, &tokens.ones_like()?, &types, None, None, None),
            Kind::ModernBert(network) => network.forward(tokens, &tokens.ones_like()?),
        }
    }
}

/// Two layers that make a score of the vector of the first token.
pub(super) struct Head {
    first: Linear,
    activation: fn(&Tensor) -> candle_core::Result<Tensor>,
    last: Linear,
}

impl Head {
    fn load(kind: &Kind, weights: &VarBuilder<'_>, configuration: &Value) -> Result<Head, String> {
        let pooler =
            if weights.contains_tensor("bert.pooler.dense.weight") { "bert.pooler.dense" } else { "pooler.dense" };
        let (first, activation, last): (_, fn(&Tensor) -> candle_core::Result<Tensor>, _) = match kind {
            Kind::Bert(_) => (pooler, Tensor::tanh, "classifier"),
            Kind::DistilBert(_) => ("pre_classifier", Tensor::relu, "classifier"),
            Kind::Roberta(_) => ("classifier.dense", Tensor::tanh, "classifier.out_proj"),
            Kind::ModernBert(_) => return Err("networks of type `modernbert` give no scores here".to_owned()),
        };
        let size = ["hidden_size", "dim"].into_iter().find_map(|name| configuration.get(name)?.as_u64());
        let size = size.and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        let failed = |error: candle_core::Error| {
            format!("it has no head that gives one score of a query and a text, as cross-encoders have: {error}")
        };
        let first = linear(size, size, weights.pp(first)).map_err(failed)?;
        Ok(Head { first, activation, last: linear(size, 1, weights.pp(last)).map_err(failed)? })
    }

    /// The scores of texts; `vectors` has texts, tokens and numbers.
    pub(super) fn scores(&self, vectors: &Tensor) -> candle_core::Result<Tensor> {
        let of_first = vectors.narrow(1, 0, 1)?.squeeze(1)?.contiguous()?;
        let inner = (self.activation)(&self.first.forward(&of_first)?)?;
        self.last.forward(&inner)?.squeeze(1)
    }
}

fn read<C: DeserializeOwned>(json: &Value) -> Result<C, String> {
    serde_json::from_value(json.clone()).map_err(|error| format!("`config.json`: {error}"))
}

/// Sets a member that older configurations do not have.
fn fill(json: &mut Value, member: &str, value: Value) {
    if let Some(members) = json.as_object_mut() {
        members.entry(member).or_insert(value);
    }
}
