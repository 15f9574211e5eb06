//! What `lamina repair --json` prints.

use std::path::Path;

use lamina_engine::index::repair::{LostVectors, ManifestFound, RepairReport, SegmentRepair};
use serde_json::{Value, json};

/// Everything that was found; whether all is whole in the end.
pub(super) fn all(is_whole: bool, is_applied: bool, queue: Vec<Value>, indexes: Vec<Value>) -> String {
    let found = json!({"whole": is_whole, "applied": is_applied, "taskQueue": queue, "indexes": indexes});
    format!("{found:#}\n")
}

pub(super) fn failure(uid: &str, reason: &str) -> Value {
    json!({"uid": uid, "state": "irreparable", "message": reason})
}

pub(super) fn index(uid: &str, report: &RepairReport, aside: Option<&Path>) -> Value {
    let state = match (report.is_sound(), aside) {
        (true, _) => "sound",
        (false, Some(_)) => "repaired",
        (false, None) => "damaged",
    };
    let manifest = match &report.manifest {
        ManifestFound::Sound => json!({"state": "sound"}),
        ManifestFound::Older { reason } => json!({"state": "older", "message": reason}),
        ManifestFound::Lost { reason, primary_key } => {
            json!({"state": "lost", "message": reason, "primaryKey": primary_key})
        }
    };
    json!({
        "uid": uid,
        "state": state,
        "documents": report.document_count,
        "soundSegments": report.sound_segments,
        "manifest": manifest,
        "segments": report.segments.iter().map(segment).collect::<Vec<_>>(),
        "keptIn": aside.filter(|_| !report.is_sound()),
    })
}

fn segment(segment: &SegmentRepair) -> Value {
    let vectors = |LostVectors { embedder, made_again, ids }: &LostVectors| json!({"embedder": embedder, "madeAgain": made_again, "ids": ids});
    json!({
        "file": segment.file,
        "damage": segment.damage,
        "keptDocuments": segment.kept,
        "lostIds": segment.lost_ids,
        "lostWithoutId": segment.lost_without_id,
        "superseded": segment.superseded,
        "uncompared": segment.uncompared,
        "tombstonesLost": segment.tombstones_lost,
        "orderLost": segment.order_lost,
        "lostVectors": segment.lost_vectors.iter().map(vectors).collect::<Vec<_>>(),
    })
}
