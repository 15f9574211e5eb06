//! A static model in memory, and the arithmetic of its vectors.

use half::f16;
use half::slice::HalfFloatSliceExt;
use lamina_base::plural::counted;
use lamina_engine::index::embedding::{EmbedFailure, cut};
use lamina_engine::index::settings::DIMENSIONS_MAX;

use super::folder::StaticFiles;
use super::tensors::{Number, Tensor, Tensors};
use super::words::Words;
use crate::embedders::store::SAFETENSORS;

/// The matrix as model2vec names it, and as sentence-transformers does.
const MATRIX: [&str; 2] = ["embeddings", "embedding.weight"];
/// Weight of each token.
const WEIGHTS: &str = "weights";
/// The row of each token, where several share one.
const MAPPING: &str = "mapping";
/// Bytes of a text that become tokens at a time: a tokenizer takes some hundred times as much memory.
const PIECE_BYTES: usize = 16 << 10;

/// A model in memory.
pub(in crate::embedders) struct StaticModel {
    pub(super) name: String,
    words: Words,
    /// The token of what the tokenizer does not know.
    unknown: Option<u32>,
    rows: Rows,
    pub(super) dimensions: u32,
    /// By token.
    mapping: Option<Vec<u32>>,
    /// By token.
    weights: Option<Vec<f32>>,
    normalizes: bool,
}

impl std::fmt::Debug for StaticModel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StaticModel").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The numbers of a matrix, one row after the other, in the size in which they were stored.
enum Rows {
    F32(Vec<f32>),
    F16(Vec<f16>),
    I8(Vec<i8>),
}

impl StaticModel {
    /// Reads a model: the matrix once, in pieces.
    ///
    /// # Errors
    /// The fault of the files.
    pub(super) fn read(name: &str, files: &StaticFiles) -> Result<StaticModel, EmbedFailure> {
        StaticModel::read_files(name, files)
            .map_err(|reason| EmbedFailure::user(format!("static model `{name}` can't be used: {reason}")))
    }

    fn read_files(name: &str, files: &StaticFiles) -> Result<StaticModel, String> {
        let normalizes = files.normalizes()?;
        let (tokenizer, unknown) = files.tokenizer()?;
        let of_weights = |reason: String| format!("`{SAFETENSORS}`: {reason}");
        let mut tensors = Tensors::open(&files.weights).map_err(of_weights)?;
        let (rows, row_count, dimensions) = matrix(&mut tensors).map_err(of_weights)?;
        let mapping = by_token(&mut tensors, MAPPING, |row| {
            let is_row = row >= 0.0 && row < row_count as f64 && row.fract() == 0.0;
            is_row.then_some(row as u32)
        });
        let mapping = mapping.map_err(of_weights)?;
        let weights = by_token(&mut tensors, WEIGHTS, finite).map_err(of_weights)?;
        let of_rows = [mapping.as_ref().map_or(row_count, |mapping| mapping.len() as u64)];
        let token_count = of_rows.into_iter().chain(weights.as_ref().map(|weights| weights.len() as u64)).min();
        let (token_count, named) = (token_count.unwrap_or(0), tokenizer.get_vocab_size(false) as u64);
        if named > token_count {
            return Err(of_weights(format!("it has {}, and the tokenizer {named}", counted(token_count, "token"))));
        }
        let words = Words::new(tokenizer);
        Ok(StaticModel { name: name.to_owned(), words, unknown, rows, dimensions, mapping, weights, normalizes })
    }

    /// The vector of a text: the mean of those of its tokens. A text without a token that the model knows has none.
    pub(in crate::embedders) fn vector(&self, text: &str) -> Option<Vec<f32>> {
        let mut sum = Sum::new(self.dimensions as usize);
        for piece in pieces(text) {
            self.words.each_token(piece, |token| self.add_token(token, &mut sum));
        }
        sum.mean(self.normalizes)
    }

    fn add_token(&self, token: u32, sum: &mut Sum) {
        let at = token as usize;
        let row = match &self.mapping {
            Some(mapping) => mapping.get(at).map(|row| *row as usize),
            None => Some(at),
        };
        let weight = self.weights.as_ref().map_or(Some(1.0), |weights| weights.get(at).copied());
        // Tokens that were added to the tokenizer later have neither.
        let (Some(row), Some(weight), false) = (row, weight, self.unknown == Some(token)) else { return };
        let place = row * sum.total.len()..(row + 1) * sum.total.len();
        match &self.rows {
            Rows::F32(rows) => rows.get(place).into_iter().for_each(|row| sum.add(row, weight)),
            Rows::F16(rows) => rows.get(place).into_iter().for_each(|row| sum.add_converted(row, weight)),
            Rows::I8(rows) => rows.get(place).into_iter().for_each(|row| sum.add_bytes(row, weight)),
        }
    }
}

/// The matrix, the number of its rows, and that of the numbers in each.
fn matrix(tensors: &mut Tensors) -> Result<(Rows, u64, u32), String> {
    let found = MATRIX.iter().find_map(|name| tensors.find(name).transpose()).transpose()?;
    let Some(tensor) = found else {
        return Err(format!(
            "it has no tensor `{}` or `{}`: this is no static model. Networks run with source `huggingFace`",
            MATRIX[0], MATRIX[1]
        ));
    };
    let [row_count, dimensions] = tensor.shape[..] else {
        return Err(format!("tensor `{}` has the shape {:?}, and should have two sizes", tensor.name, tensor.shape));
    };
    let size = u32::try_from(dimensions).ok().filter(|size| (1..=DIMENSIONS_MAX).contains(size));
    let Some(size) = size.filter(|_| (1..=u64::from(u32::MAX)).contains(&row_count)) else {
        return Err(format!(
            "tensor `{}` has {} of {}, and may have 1 to {DIMENSIONS_MAX}",
            tensor.name,
            counted(row_count, "row"),
            counted(dimensions, "dimension")
        ));
    };
    let rows = match tensor.number {
        Number::F16 => Rows::F16(tensors.read(&tensor, |number| finite(number).map(f16::from_f32))?),
        Number::I8 => Rows::I8(tensors.read(&tensor, |number| Some(number as i8))?),
        _ => Rows::F32(tensors.read(&tensor, finite)?),
    };
    Ok((rows, row_count, size))
}

/// A tensor with a number for each token, if the model has it.
fn by_token<T>(
    tensors: &mut Tensors,
    name: &'static str,
    convert: impl Fn(f64) -> Option<T>,
) -> Result<Option<Vec<T>>, String> {
    let one_a_token = |tensor: &Tensor| match tensor.shape[..] {
        [_] => Ok(()),
        _ => Err(format!("tensor `{name}` has the shape {:?}, and should have one size", tensor.shape)),
    };
    let Some(tensor) = tensors.find(name)? else { return Ok(None) };
    one_a_token(&tensor)?;
    tensors.read(&tensor, convert).map(Some)
}

fn finite(number: f64) -> Option<f32> {
    Some(number as f32).filter(|number| number.is_finite())
}

/// The sum of rows.
struct Sum {
    total: Vec<f32>,
    count: u32,
    /// A row in full size.
    row: Vec<f32>,
}

impl Sum {
    fn new(dimensions: usize) -> Sum {
        Sum { total: vec![0.0; dimensions], count: 0, row: Vec::new() }
    }

    fn add(&mut self, row: &[f32], weight: f32) {
        self.total.iter_mut().zip(row).for_each(|(total, number)| *total += number * weight);
        self.count += 1;
    }

    fn add_converted(&mut self, row: &[f16], weight: f32) {
        let mut converted = std::mem::take(&mut self.row);
        converted.resize(row.len(), 0.0);
        row.convert_to_f32_slice(&mut converted);
        self.add(&converted, weight);
        self.row = converted;
    }

    fn add_bytes(&mut self, row: &[i8], weight: f32) {
        self.total.iter_mut().zip(row).for_each(|(total, number)| *total += f32::from(*number) * weight);
        self.count += 1;
    }

    /// The mean; `None` where it has no direction.
    fn mean(self, normalizes: bool) -> Option<Vec<f32>> {
        let squares: f64 = self.total.iter().map(|number| f64::from(*number) * f64::from(*number)).sum();
        let length = if normalizes { squares.sqrt() } else { f64::from(self.count) };
        if !squares.is_finite() || squares <= 0.0 {
            return None;
        }
        let mean: Vec<f32> = self.total.iter().map(|number| (f64::from(*number) / length) as f32).collect();
        mean.iter().any(|number| *number != 0.0).then_some(mean)
    }
}

/// Cuts a text where words end, so that what is held of it at a time is bounded.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut piece = cut(rest, PIECE_BYTES);
        if piece.len() < rest.len()
            && let Some(end) = piece.rfind(char::is_whitespace).filter(|end| *end > 0)
        {
            piece = &piece[..end];
        }
        rest = &rest[piece.len()..];
        (!piece.is_empty()).then_some(piece)
    })
}
