//! Reading every byte of an index, whether or not it can be opened, and saying all that is wrong with it.

use std::collections::HashSet;
use std::path::Path;

use lamina_segment::segment::{ComparedFile, FileMeta, Piece, PieceSum, SegmentReader};
use lamina_segment::storage::{Directory, MappedDirectory};
use rayon::prelude::*;

use super::error::IndexError;
use super::lock::IndexLock;
use super::manifest::{DeletedMeta, Manifest, SegmentEntry, kept_generation, manifest_generation};
use super::recovery::tombstones_of;

/// Follows how far a verification is. Called from many threads, for each megabyte.
pub trait VerifyWatch: Sync {
    /// So many bytes are to be read.
    fn begin(&self, bytes: u64);
    /// So many more were read.
    fn advance(&self, bytes: u64);
}

/// Follows nothing.
impl VerifyWatch for () {
    fn begin(&self, _bytes: u64) {}
    fn advance(&self, _bytes: u64) {}
}

/// Results of a verification.
#[derive(Debug, Default)]
pub struct Verified {
    /// Everything that is wrong, in the order of the segments. Of a section no more than that it is damaged can be said.
    pub damages: Vec<IndexError>,
    /// Bytes of the files of all segments.
    pub segment_bytes: u64,
    /// Number of segments.
    pub segment_count: usize,
}

/// Reads all files of the index in `folder` and compares their checksums, on all threads of the pool, as fast as the disk
/// delivers them. `deep`: also checks the structure of what is sound, which takes a second for some 20 MB on a thread of
/// its own for each segment.
///
/// # Errors
/// [`IndexError::NotFound`] without any manifest, [`IndexError::Locked`], or that the folder cannot be listed. All else is in
/// the answer.
pub fn verify_folder(folder: &Path, deep: bool, watch: &dyn VerifyWatch) -> Result<Verified, IndexError> {
    if !folder.is_dir() {
        // Opening the directory would create it.
        return Err(IndexError::NotFound);
    }
    let directory = MappedDirectory::open(folder)?;
    let _lock = IndexLock::acquire(folder)?;
    verify_directory(&directory, deep, watch)
}

/// Works like [`verify_folder`], without a lock.
///
/// # Errors
/// The errors of [`verify_folder`].
pub(super) fn verify_directory(
    directory: &dyn Directory,
    deep: bool,
    watch: &dyn VerifyWatch,
) -> Result<Verified, IndexError> {
    let mut verified = Verified::default();
    let Some(manifest) = current_manifest(directory, &mut verified.damages)? else { return Ok(verified) };
    let Manifest { body, inline_tombstones, .. } = manifest;
    let files: Vec<&FileMeta> = body.segments.iter().flat_map(|entry| entry.meta.files()).collect();
    verified.segment_count = body.segments.len();
    verified.segment_bytes = files.iter().map(|file| file.bytes).sum();
    watch.begin(verified.segment_bytes);
    let found = compare_files(directory, &files, watch);
    let mut sound: Vec<bool> = Vec::new();
    let mut of_files = found.into_iter();
    for entry in &body.segments {
        let damages: Vec<IndexError> = of_files.by_ref().take(entry.meta.files().count()).flatten().collect();
        sound.push(damages.is_empty());
        verified.damages.extend(damages);
    }
    verified.damages.extend(tombstone_damages(directory, &body.segments, inline_tombstones));
    // Whatever has the right checksums is what was written: this finds what a faulty program wrote.
    let structures: Vec<Option<IndexError>> =
        body.segments.par_iter().zip(&sound).map(|(entry, sound)| structure(directory, entry, *sound, deep)).collect();
    verified.damages.extend(structures.into_iter().flatten());
    verified.damages.extend(kept_damages(directory, &files)?);
    Ok(verified)
}

/// Finds the damage of the retained generations. `current`: files of the current generation, which are not compared
/// here.
fn kept_damages(directory: &dyn Directory, current: &[&FileMeta]) -> Result<Vec<IndexError>, IndexError> {
    let mut damages = Vec::new();
    // Another file of the same name is no kept one.
    let mut compared: HashSet<FileMeta> = current.iter().map(|file| (*file).clone()).collect();
    for name in directory.list()? {
        let Some(generation) = kept_generation(&name) else { continue };
        let bytes = directory.open_read(&name).map_err(IndexError::from);
        let manifest = match bytes.and_then(|bytes| Manifest::from_bytes(&name, &bytes)) {
            Ok(manifest) => manifest,
            Err(error) => {
                damages.push(IndexError::DamagedGeneration { generation, reason: error.to_string() });
                continue;
            }
        };
        let generation = manifest.body.contents;
        let damaged = |error: IndexError| IndexError::DamagedGeneration { generation, reason: error.to_string() };
        let files = manifest.body.segments.iter().flat_map(|entry| entry.meta.files());
        let files: Vec<&FileMeta> = files.filter(|file| compared.insert((*file).clone())).collect();
        damages.extend(compare_files(directory, &files, &()).into_iter().flatten().map(damaged));
        let tombstones = tombstone_damages(directory, &manifest.body.segments, manifest.inline_tombstones);
        damages.extend(tombstones.into_iter().map(damaged));
    }
    Ok(damages)
}

/// The manifest that opening would take: the newest that is whole and whose files are there. Where there is none, the newest
/// that can be read, with what is wrong with it; `None` when none can be read. Damaged ones that are newer are damages.
fn current_manifest(directory: &dyn Directory, damages: &mut Vec<IndexError>) -> Result<Option<Manifest>, IndexError> {
    let names = directory.list()?;
    let mut names: Vec<&String> = names.iter().filter(|name| manifest_generation(name).is_some()).collect();
    names.sort_unstable_by(|left, right| right.cmp(left));
    if names.is_empty() {
        return Err(IndexError::NotFound);
    }
    let mut newest = None;
    for name in names {
        let read = directory.open_read(name).map_err(IndexError::from);
        match read.and_then(|bytes| Manifest::from_bytes(name, &bytes)) {
            Ok(manifest) if manifest.files().all(|file| has_its_length(directory, file).is_ok()) => {
                return Ok(Some(manifest));
            }
            Ok(manifest) => drop(newest.get_or_insert(manifest)),
            Err(error) => damages.push(error),
        }
    }
    Ok(newest)
}

fn has_its_length(directory: &dyn Directory, file: &FileMeta) -> Result<(), IndexError> {
    let found = directory.len(&file.name)?;
    if found == file.bytes {
        return Ok(());
    }
    Err(IndexError::WrongFileLength { file: file.name.clone(), expected: file.bytes, found })
}

/// Compares each file with its checksums and returns the errors found in it.
fn compare_files(directory: &dyn Directory, files: &[&FileMeta], watch: &dyn VerifyWatch) -> Vec<Vec<IndexError>> {
    let opened: Vec<Result<ComparedFile, IndexError>> = files
        .iter()
        .map(|file| {
            has_its_length(directory, file).map_err(|error| missing(file, error))?;
            Ok(ComparedFile::open(directory, file)?)
        })
        .collect();
    let pieces: Vec<Vec<Piece>> = opened
        .iter()
        .map(|file| file.as_ref().map_or_else(|_| Vec::new(), |file| file.comparison().pieces()))
        .collect();
    // One list of all pieces: a large section keeps all threads busy as well as many small files.
    let all: Vec<(&ComparedFile, &Piece)> = opened
        .iter()
        .zip(&pieces)
        .filter_map(|(file, pieces)| Some((file.as_ref().ok()?, pieces)))
        .flat_map(|(file, pieces)| pieces.iter().map(move |piece| (file, piece)))
        .collect();
    let sums: Vec<PieceSum> = all
        .into_par_iter()
        .map(|(file, piece)| {
            let sum = file.comparison().sum(piece);
            watch.advance(piece.len() as u64);
            sum
        })
        .collect();
    let mut sums = sums.as_slice();
    opened
        .into_iter()
        .zip(pieces)
        .map(|(file, pieces)| match file {
            Ok(file) => {
                let (own, rest) = sums.split_at(pieces.len());
                sums = rest;
                file.comparison().judge(&pieces, own).into_iter().map(IndexError::from).collect()
            }
            Err(error) => vec![error],
        })
        .collect()
}

/// A file that is not there is named, which the system does not do.
fn missing(file: &FileMeta, error: IndexError) -> IndexError {
    match error {
        IndexError::Io(source) => lamina_segment::segment::SegmentError::Io { file: file.name.clone(), source }.into(),
        other => other,
    }
}

fn tombstone_damages(directory: &dyn Directory, segments: &[SegmentEntry], inline: Vec<Vec<u8>>) -> Vec<IndexError> {
    let mut inline = inline.into_iter();
    let check = |entry: &SegmentEntry| {
        tombstones_of(directory, entry, &mut inline).map(drop).map_err(|error| match &entry.deleted {
            Some(DeletedMeta::File(file)) => missing(file, error),
            _ => error,
        })
    };
    segments.iter().map(check).filter_map(Result::err).collect()
}

/// Checks the structure of a segment whose bytes are those that were written, and returns the error if there is one.
fn structure(directory: &dyn Directory, entry: &SegmentEntry, is_sound: bool, deep: bool) -> Option<IndexError> {
    if !is_sound {
        return None;
    }
    let opened = SegmentReader::open(directory, &entry.meta);
    let checked = opened.and_then(|reader| if deep { reader.verify_structure() } else { Ok(()) });
    checked.err().map(IndexError::from)
}
