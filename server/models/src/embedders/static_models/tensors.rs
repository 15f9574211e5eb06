//! The tensors of a file in the format safetensors: its length, a header of JSON, then the numbers.
//!
//! Nothing is believed: a tensor lies within the file and has the bytes that its shape takes, before any memory is taken
//! for it. Only the tensors that are asked for are read, in pieces.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use half::{bf16, f16};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Longest header, in bytes: a static model has three tensors.
const HEADER_BYTES_MAX: u64 = 1 << 20;
/// The most bytes that the numbers of a tensor may take.
const TENSOR_BYTES_MAX: u64 = 4 << 30;
/// Bytes that are read at a time; a multiple of the size of any number.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes of the length of the header.
const LENGTH_BYTES: u64 = 8;

/// A file of tensors.
#[derive(Debug)]
pub(super) struct Tensors {
    file: File,
    header: Map<String, Value>,
    /// Place of the first number.
    start: u64,
    /// Bytes of all numbers.
    length: u64,
}

/// A tensor as the header describes it.
#[derive(Deserialize)]
struct Described {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// A tensor whose place in the file is checked.
#[derive(Debug)]
pub(super) struct Tensor {
    pub(super) name: &'static str,
    pub(super) number: Number,
    pub(super) shape: Vec<u64>,
    /// Place in the file.
    start: u64,
    bytes: u64,
}

/// Type of the numbers of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    F64,
    F32,
    F16,
    Bf16,
    I64,
    I32,
    I8,
}

const NUMBERS: [(&str, Number, u64); 7] = [
    ("F64", Number::F64, 8),
    ("F32", Number::F32, 4),
    ("F16", Number::F16, 2),
    ("BF16", Number::Bf16, 2),
    ("I64", Number::I64, 8),
    ("I32", Number::I32, 4),
    ("I8", Number::I8, 1),
];

impl Number {
    /// One number, from its bytes. Those of 64 bits lose what a `f64` cannot hold: no model has such.
    fn decode(self, bytes: &[u8]) -> f64 {
        fn of<const N: usize>(bytes: &[u8]) -> [u8; N] {
            bytes.try_into().expect("pieces have the size of a number")
        }
        match self {
            Number::F64 => f64::from_le_bytes(of(bytes)),
            Number::F32 => f32::from_le_bytes(of(bytes)).into(),
            Number::F16 => f16::from_le_bytes(of(bytes)).into(),
            Number::Bf16 => bf16::from_le_bytes(of(bytes)).into(),
            Number::I64 => i64::from_le_bytes(of(bytes)) as f64,
            Number::I32 => i32::from_le_bytes(of(bytes)).into(),
            Number::I8 => i8::from_le_bytes(of(bytes)).into(),
        }
    }
}

impl Tensors {
    /// Reads the header.
    ///
    /// # Errors
    /// The fault of the file.
    pub(super) fn open(path: &Path) -> Result<Tensors, String> {
        let damaged = |error: std::io::Error| error.to_string();
        let mut file = File::open(path).map_err(damaged)?;
        let file_bytes = file.metadata().map_err(damaged)?.len();
        let mut length = [0; LENGTH_BYTES as usize];
        file.read_exact(&mut length).map_err(|_| "it is too short to have a header".to_owned())?;
        let length = u64::from_le_bytes(length);
        if length > HEADER_BYTES_MAX || length > file_bytes - LENGTH_BYTES {
            return Err(format!(
                "its header has {length} bytes by its own account, and may have {}",
                HEADER_BYTES_MAX.min(file_bytes - LENGTH_BYTES)
            ));
        }
        let mut header = vec![0; usize::try_from(length).map_err(|error| error.to_string())?];
        file.read_exact(&mut header).map_err(damaged)?;
        let header = serde_json::from_slice(&header).map_err(|error| format!("its header is no JSON: {error}"))?;
        let start = LENGTH_BYTES + length;
        Ok(Tensors { file, header, start, length: file_bytes - start })
    }

    /// The tensor of this name, if there is one.
    ///
    /// # Errors
    /// The fault of its description.
    pub(super) fn find(&self, name: &'static str) -> Result<Option<Tensor>, String> {
        let Some(described) = self.header.get(name) else { return Ok(None) };
        let described = Described::deserialize(described).map_err(|error| format!("tensor `{name}`: {error}"))?;
        let known = NUMBERS.iter().find(|(name, ..)| *name == described.dtype);
        let (_, number, size) = known
            .ok_or_else(|| format!("tensor `{name}` has numbers of type `{}`, which are not read", described.dtype))?;
        let Described { shape, data_offsets: [start, end], .. } = described;
        let needed = shape.iter().try_fold(*size, |bytes, length| bytes.checked_mul(*length));
        let bytes = end.checked_sub(start).filter(|_| end <= self.length);
        let Some(bytes) = bytes.filter(|bytes| needed == Some(*bytes)) else {
            return Err(format!("tensor `{name}` has the shape {shape:?}, which bytes {start} to {end} do not hold"));
        };
        if bytes > TENSOR_BYTES_MAX {
            return Err(format!("tensor `{name}` has {bytes} bytes, and may have {TENSOR_BYTES_MAX}"));
        }
        Ok(Some(Tensor { name, number: *number, shape, start: self.start + start, bytes }))
    }

    /// All numbers of a tensor, in order, each as `convert` makes it.
    ///
    /// # Errors
    /// The first number that `convert` refuses, a file that cannot be read, or no memory for them.
    pub(super) fn read<T>(&mut self, tensor: &Tensor, convert: impl Fn(f64) -> Option<T>) -> Result<Vec<T>, String> {
        let name = tensor.name;
        let failed = |reason: &dyn std::fmt::Display| format!("tensor `{name}`: {reason}");
        let size = NUMBERS.iter().find(|(_, number, _)| *number == tensor.number).map_or(1, |(.., size)| *size);
        let count = usize::try_from(tensor.bytes / size).map_err(|error| failed(&error))?;
        let mut numbers = Vec::new();
        numbers.try_reserve_exact(count).map_err(|error| failed(&error))?;
        self.file.seek(SeekFrom::Start(tensor.start)).map_err(|error| failed(&error))?;
        let mut left = count * size as usize;
        let mut piece = vec![0; PIECE_BYTES.min(left)];
        while left > 0 {
            let piece = &mut piece[..PIECE_BYTES.min(left)];
            self.file.read_exact(piece).map_err(|error| failed(&error))?;
            for bytes in piece.chunks_exact(size as usize) {
                let number = tensor.number.decode(bytes);
                numbers
                    .push(convert(number).ok_or_else(|| failed(&format!("{number} is no number that it may have")))?);
            }
            left -= piece.len();
        }
        Ok(numbers)
    }
}
