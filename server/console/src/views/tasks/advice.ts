// What to do about an error of a task, and where the time of batches went.
import type { Batch, Task } from '../../api/types';
import { msOf } from '../../lib/text';

const ADVICE: [RegExp, string][] = [
  [/^index_primary_key_no_candidate_found$/, 'No field looks like an id. Load the file under Documents and choose the primary key there.'],
  [/^index_primary_key_multiple_candidates_found$/, 'Several fields could be the id. Load the file under Documents and choose the primary key there.'],
  [/^(missing|invalid)_document_id$/, 'One invalid document failed the whole task. Load the file under Documents: it skips invalid lines and lists them.'],
  [/^invalid_document_geo_field$/, '_geo is { "lat": …, "lng": … }: correct the documents, or remove the field.'],
  [/^invalid_document_(csv|fields)|^malformed_payload$/, 'Load the file under Documents: it skips invalid lines and lists them.'],
  [/^index_not_found$/, 'The index was deleted or renamed before the task ran. Create it, or write to its new name.'],
  [/^(index_already_exists|alias_already_exists|index_uid_is_alias)$/, 'The name is taken: choose another one, or delete what uses it.'],
  [/^(alias_not_found)$/, 'The alias was removed before the task ran.'],
  [/^(no_space_left_on_device|.*out_of_space.*)$/, 'The disk is full. Acknowledged writes are kept: free some space, and the server tries again.'],
  [/embed|vector/, 'The embedder returned no vectors. Check its address and key under Settings, and that this server may reach it.'],
  [/^(invalid_settings|invalid_index_)/, 'The setting was rejected, and the index has not changed. Settings shows the allowed values.'],
];

export const adviceFor = (code: string): string | null => ADVICE.find(([codes]) => codes.test(code))?.[1] ?? null;

export interface Step { name: string; ms: number; share: number }
interface Traced extends Batch { stats: Batch['stats'] & { progressTrace?: Record<string, string> } }

const LAST = 'writing tasks to disk', VECTORS = 'waiting for vectors, or for the disk';

/** Where the time of batches went: the innermost steps, the longest first. Vectors are made while the last step runs: of an index with vectors, it is named so. */
export function stepsOf(batches: readonly Batch[], hasVectors: (index: string) => boolean = () => false): Step[] {
  const all = new Map<string, number>();
  for (const { stats: { progressTrace = {}, indexUids = {} } } of batches as readonly Traced[]) {
    const waits = Object.keys(indexUids).some(hasVectors), names = Object.keys(progressTrace);
    for (const [name, text] of Object.entries(progressTrace)) {
      if (names.some(other => other.startsWith(name + ' > '))) continue;
      const own = name.split(' > ').at(-1) ?? name, last = own === LAST && waits ? VECTORS : own;
      all.set(last, (all.get(last) ?? 0) + (msOf(text) ?? 0));
    }
  }
  const sum = [...all.values()].reduce((one, other) => one + other, 0) || 1;
  return [...all].map(([name, ms]) => ({ name, ms, share: ms / sum })).filter(one => one.ms > 0).sort((one, other) => other.ms - one.ms);
}

const SLOW_MS = 1000;
/** What is slow, in a sentence; null where nothing stands out, or all was quick. */
export function verdict(steps: readonly Step[]): string | null {
  const first = steps[0];
  if (!first || first.share < 0.4 || steps.reduce((sum, one) => sum + one.ms, 0) < SLOW_MS) return null;
  const why = /waiting for other/.test(first.name) ? 'waiting for work on other indexes: more cores help, or fewer loads at once.'
    : /embed|vectors/.test(first.name) ? 'vectors: the embedder makes them, and its speed is the limit. A faster model, or one nearer to the server, helps.'
    : /writing|commit|disk/.test(first.name) ? 'commits to disk: fewer and larger writes need fewer of them.'
    : /starting|preparing|reading/.test(first.name) ? 'preparing documents: send them as NDJSON, in requests of 10 to 20 MB.'
    : /column/.test(first.name) ? 'columns of fields for filters and sorts: fewer such fields make it faster.'
    : /segment|merg|rewrit/.test(first.name) ? 'rewriting what is there: a change of settings over all documents, or many deletions.'
    : /index/.test(first.name) ? 'indexing words: list the text fields in searchableAttributes, and nothing else is split into words.'
    : `the step “${first.name}”.`;
  return `${Math.round(first.share * 100)} % of the time is ${why}`;
}

const LONG_MS = 10_000;
/** What a batch that runs is held up by, if it is held up. */
export function heldUp(batch: Batch, now = Date.now()): string | null {
  const step = batch.progress?.steps.at(-1);
  if (!step || now - Date.parse(batch.startedAt) < LONG_MS) return null;
  // The server calls it so as well while documents wait for their vectors.
  if (step.currentStep === LAST) return 'It waits for the disk, or, in an index with an embedder, for vectors: the embedder makes them, and its speed is the limit.';
  if (!/embed/.test(step.currentStep)) return null;
  return `It waits for vectors: the embedder makes them, and its speed is the limit (${step.finished} of ${step.total} so far).`;
}

export const waited = (task: Task): number | null => task.startedAt ? Math.max(0, Date.parse(task.startedAt) - Date.parse(task.enqueuedAt)) : null;
