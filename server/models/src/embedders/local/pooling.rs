//! From the vectors of tokens to the vector of a text.

use std::path::Path;

use candle_core::{D, Result, Tensor};
use serde::Deserialize;

/// Method that combines the vectors of all tokens into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The vector of the first token.
    Cls,
    Mean,
    MeanBySqrtLength,
    Max,
    /// The vector of the last token.
    Last,
}

/// A model's own configuration, as sentence-transformers write it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Configuration {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
    pooling_mode_max_tokens: bool,
    pooling_mode_mean_sqrt_len_tokens: bool,
    pooling_mode_lasttoken: bool,
}

impl Pooling {
    /// Chooses the pooling of the setting, which may leave it to the model. A model that declares none gets the mean.
    ///
    /// # Errors
    /// Fails if the configuration of the model cannot be read.
    pub(super) fn choose(setting: &str, configuration: Option<&Path>) -> std::result::Result<Pooling, String> {
        match (setting, configuration) {
            ("forceCls", _) => Ok(Pooling::Cls),
            ("forceMean", _) | (_, None) => Ok(Pooling::Mean),
            (_, Some(file)) => {
                let json = std::fs::read(file).map_err(|error| error.to_string())?;
                let configured: Configuration = serde_json::from_slice(&json).map_err(|error| error.to_string())?;
                Ok(match configured {
                    Configuration { pooling_mode_cls_token: true, .. } => Pooling::Cls,
                    Configuration { pooling_mode_mean_tokens: true, .. } => Pooling::Mean,
                    Configuration { pooling_mode_max_tokens: true, .. } => Pooling::Max,
                    Configuration { pooling_mode_mean_sqrt_len_tokens: true, .. } => Pooling::MeanBySqrtLength,
                    Configuration { pooling_mode_lasttoken: true, .. } => Pooling::Last,
                    _ => Pooling::Mean,
                })
            }
        }
    }

    /// `tokens` has texts, tokens and dimensions; the answer texts and dimensions.
    pub(super) fn pool(self, tokens: &Tensor) -> Result<Tensor> {
        let (_, length, _) = tokens.dims3()?;
        match self {
            Pooling::Cls => tokens.narrow(1, 0, 1)?.squeeze(1),
            Pooling::Last => tokens.narrow(1, length - 1, 1)?.squeeze(1),
            Pooling::Mean => tokens.mean(1),
            Pooling::MeanBySqrtLength => tokens.sum(1)? / (length as f64).sqrt(),
            Pooling::Max => tokens.transpose(1, 2)?.max(D::Minus1),
        }
    }
}
