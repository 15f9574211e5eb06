//! How the files of a model are named, in folders, in caches and at the hub.

pub(super) const CONFIG: &str = "config.json";
pub(super) const TOKENIZER: &str = "tokenizer.json";
pub(super) const SAFETENSORS: &str = "model.safetensors";
pub(super) const PICKLE: &str = "pytorch_model.bin";
pub(super) const POOLING: &str = "1_Pooling/config.json";
