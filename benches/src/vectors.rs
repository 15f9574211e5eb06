//! Vectors that look like those of real collections, and documents that carry them.

use std::fmt::Write;

/// Centres that they stand around.
const CENTRES: usize = 64;

/// Numbers that look random, the same in every run.
#[derive(Debug)]
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u32 << 24) as f32
    }

    /// Nearly normally distributed: twelve even ones.
    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        (0..dimensions).map(|_| (0..12).map(|_| self.uniform()).sum::<f32>() - 6.0).collect()
    }
}

/// Vectors of length 1 around 64 centres, as far from them as those of real collections, or random ones without any order.
#[derive(Debug)]
pub struct VectorCorpus {
    noise: Noise,
    centres: Vec<Vec<f32>>,
    dimensions: usize,
}

impl VectorCorpus {
    /// The same in every run.
    pub fn new(dimensions: usize, is_clustered: bool) -> VectorCorpus {
        let mut noise = Noise(7);
        let centres = (0..if is_clustered { CENTRES } else { 0 }).map(|_| noise.vector(dimensions)).collect();
        VectorCorpus { noise, centres, dimensions }
    }

    /// The next one.
    pub fn vector(&mut self) -> Vec<f32> {
        let mut vector = self.noise.vector(self.dimensions);
        if !self.centres.is_empty() {
            let centre = &self.centres[(self.noise.uniform() * self.centres.len() as f32) as usize];
            vector.iter_mut().zip(centre).for_each(|(value, centre)| *value = *value * 0.6 + centre);
        }
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|value| *value /= length);
        vector
    }
}

/// Appends a document with a vector of the embedder `e`, and numbers of which filters keep a tenth, a hundredth and a thousandth.
pub fn line(id: usize, vector: &[f32], out: &mut String) {
    let [tenth, hundredth, thousandth] = [10, 100, 1000].map(|keeps| id % keeps);
    write!(out, r#"{{"id":{id},"tenth":{tenth},"hundredth":{hundredth},"thousandth":{thousandth},"_vectors":{{"e":["#)
        .expect("it is text");
    for (place, value) in vector.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        write!(out, "{comma}{value:.5}").expect("it is text");
    }
    out.push_str("]}}\n");
}

/// The settings of an index of such documents.
pub fn settings(dimensions: usize, is_binary: bool) -> String {
    format!(
        r#"{{"filterableAttributes": ["tenth", "hundredth", "thousandth"], "embedders": {{"e": {{"source": "userProvided",
            "dimensions": {dimensions}, "binaryQuantized": {is_binary}}}}}}}"#
    )
}
