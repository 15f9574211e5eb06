//! Names of the files of a model, in folders, in caches and at the hub.

pub(in crate::embedders) const CONFIG: &str = "config.json";
pub(in crate::embedders) const TOKENIZER: &str = "tokenizer.json";
pub(in crate::embedders) const SAFETENSORS: &str = "model.safetensors";
#[cfg(any(test, feature = "local-models"))]
pub(in crate::embedders) const PICKLE: &str = "pytorch_model.bin";
#[cfg(any(test, feature = "local-models"))]
pub(in crate::embedders) const POOLING: &str = "1_Pooling/config.json";
/// The steps of a model of sentence-transformers.
pub(in crate::embedders) const MODULES: &str = "modules.json";
/// The files of a step that is a static model.
pub(in crate::embedders) const STATIC_TOKENIZER: &str = "0_StaticEmbedding/tokenizer.json";
pub(in crate::embedders) const STATIC_SAFETENSORS: &str = "0_StaticEmbedding/model.safetensors";
