// Imports: a file is read in parts, each part is a write that is waited for, and what the server refuses is looked for until its line is found. They go on while
// people look at other views.
import { signal } from '@preact/signals';
import { Away, get, Refused, request, route } from '../../api/client';
import { bump, isOpen } from '../../api/tasks';
import type { Enqueued, ErrorBody, Json, JsonObject, Task } from '../../api/types';
import { documentOf, ID_RULE, isId, titleOf, type Column, type Kind } from '../../lib/columns';
import { parseJson } from '../../lib/json';
import { delimiterOf, elements, lines, rows, type Row } from '../../lib/split';
import { plural } from '../../lib/text';
import { toast } from '../../state/toasts';

export type Format = 'csv' | 'json' | 'ndjson';
export interface Source { name: string; size: number; blob: Blob; isZipped: boolean; format: Format; delimiter: string; encoding: string }
/** The beginning of a source: rows, or documents, and lines that are neither. */
export interface Beginning { header: string[]; rows: string[][]; documents: JsonObject[]; faults: Refusal[]; isWhole: boolean }
export interface Refusal { line: number; message: string }
export interface Choice {
  index: string;
  /** The field with the id; empty: the server looks for one. */
  id: string;
  /** The lines are numbered, in a field of this name. */
  numbered: boolean;
  update: boolean;
  kinds: ReadonlyMap<string, Kind>;
}
export interface Job {
  id: number;
  name: string;
  index: string;
  state: 'running' | 'done' | 'stopped' | 'failed';
  waits: boolean;
  bytes: number;
  size: number;
  loaded: number;
  refused: Refusal[];
  refusedCount: number;
  error: unknown;
  /** What the data suggested, for when it is loaded. */
  columns: readonly Column[];
  looked: number;
  key: string;
}

const BEGINNING_BYTES = 1 << 20, BEGINNING_ROWS = 1000, PART_BYTES = 4 << 20, PART_DOCUMENTS = 20_000, SHOWN = 200, REFUSED_MOST = 1000;
const WAIT_MS = 60_000, AGAIN_MS = 2000, POLL_MS = 500;

/** The import that is under way, or the last one. */
export const job = signal<Job | null>(null);
let number = 0, stopping: AbortController | null = null;

async function* partsOf({ blob, isZipped, encoding }: Pick<Source, 'blob' | 'isZipped' | 'encoding'>): AsyncGenerator<string> {
  const bytes = isZipped ? blob.stream().pipeThrough(new DecompressionStream('gzip')) : blob.stream();
  const reader = bytes.getReader(), decoder = new TextDecoder(encoding);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const text = value ? decoder.decode(value, { stream: true }) : decoder.decode();
      if (text) yield text;
      if (done) return;
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

async function beginsWith(blob: Blob, isZipped: boolean, encoding: string): Promise<string> {
  let text = '';
  for await (const part of partsOf({ blob, isZipped, encoding })) {
    text += part;
    if (text.length >= BEGINNING_BYTES) break;
  }
  return text;
}

/** What a file is: by its name, and by how it begins. */
export async function sourceOf(blob: Blob, name: string): Promise<Source> {
  const isZipped = /\.gz$/i.test(name), ending = name.replace(/\.gz$/i, '').split('.').pop()?.toLowerCase() ?? '';
  let encoding = 'utf-8', text = await beginsWith(blob, isZipped, encoding);
  // Spreadsheets of some systems write the letters of their country.
  if (text.includes('\ufffd')) text = await beginsWith(blob, isZipped, encoding = 'windows-1252');
  const trimmed = text.trimStart(), first = trimmed.slice(0, trimmed.search(/[\r\n]|$/));
  const isJson = trimmed.startsWith('[') || trimmed.startsWith('{');
  const format: Format = ending === 'csv' || ending === 'tsv' || !isJson ? 'csv' : trimmed.startsWith('[') || parseJson(first).fault ? 'json' : 'ndjson';
  return { name, size: blob.size, blob, isZipped, format, delimiter: ending === 'tsv' ? '\t' : delimiterOf(first), encoding };
}

export async function beginningOf(source: Source): Promise<Beginning> {
  const text = (await beginsWith(source.blob, source.isZipped, source.encoding)), isWhole = text.length < BEGINNING_BYTES;
  if (source.format === 'csv') {
    const splitter = rows(source.delimiter), all = splitter.push(text);
    if (isWhole) all.push(...splitter.end());
    const [header, ...rest] = all, names = header?.cells ?? [];
    const faults = rest.filter(one => one.cells.length !== names.length).map(one => ({ line: one.line, message: `This row has ${plural(one.cells.length, 'cell')}, the header has ${names.length}.` }));
    return { header: names, rows: rest.filter(one => one.cells.length === names.length).slice(0, BEGINNING_ROWS).map(one => one.cells), documents: [], faults, isWhole: isWhole && rest.length <= BEGINNING_ROWS };
  }
  const splitter = source.format === 'json' ? elements() : lines(), all = splitter.push(text);
  if (isWhole) all.push(...splitter.end());
  const documents: JsonObject[] = [], faults: Refusal[] = [];
  for (const one of all.slice(0, BEGINNING_ROWS)) {
    const { object, fault } = objectOf(one.text);
    if (object) documents.push(object); else faults.push({ line: one.line, message: fault });
  }
  return { header: [], rows: [], documents, faults, isWhole: isWhole && all.length <= BEGINNING_ROWS };
}

function objectOf(text: string): { object: JsonObject; fault?: undefined } | { object?: undefined; fault: string } {
  const { value, fault } = parseJson(text);
  if (fault) return { fault: fault.line > 1 ? `Line ${fault.line} of the document: ${fault.message}` : fault.message };
  return value && typeof value === 'object' && !Array.isArray(value) ? { object: value } : { fault: 'A document is an object: { … }.' };
}

interface Sent { text: string; line: number }

/** The documents of a source, as they come, and what is none. */
async function* documentsOf(source: Source, choice: Choice, refuse: (one: Refusal) => void, read: (bytes: number) => void): AsyncGenerator<Sent> {
  let count = 0, header: string[] | null = null;
  const csv = rows(source.delimiter), json = source.format === 'json' ? elements() : lines();
  const idOf = (document: JsonObject, line: number): boolean => {
    if (!choice.id || choice.numbered || isId(Object.hasOwn(document, choice.id) ? document[choice.id] : undefined)) return true;
    const value: Json | undefined = document[choice.id];
    refuse({ line, message: value === undefined ? `The id “${choice.id}” is missing.` : `“${String(value).slice(0, 60)}” is not a valid id. ${ID_RULE}` });
    return false;
  };
  const withNumber = (text: string) => choice.numbered ? '{' + JSON.stringify(choice.id) + ':' + ++count + (text === '{}' ? '}' : ',' + text.slice(1)) : text;
  const ofRow = ({ cells, line }: Row): Sent[] => {
    if (!header) { header = cells; return []; }
    const made = documentOf(header, choice.kinds, cells);
    if ('fault' in made) { refuse({ line, message: made.fault }); return []; }
    return choice.numbered || idOf(JSON.parse(made.text) as JsonObject, line) ? [{ text: withNumber(made.text), line }] : [];
  };
  const ofText = ({ text, line }: Sent): Sent[] => {
    const { object, fault } = objectOf(text);
    if (!object) { refuse({ line, message: fault }); return []; }
    return idOf(object, line) ? [{ text: withNumber(source.format === 'json' ? text.replace(/[\r\n]+\s*/g, ' ') : text), line }] : [];
  };
  for await (const part of partsOf(source)) {
    read(part.length);
    yield* source.format === 'csv' ? csv.push(part).flatMap(ofRow) : json.push(part).flatMap(ofText);
  }
  yield* source.format === 'csv' ? csv.end().flatMap(ofRow) : json.end().flatMap(ofText);
}

export const kindsOf = (header: readonly string[], columns: readonly Column[]): Map<string, Kind> =>
  new Map(header.map(title => titleOf(title).name).map(name => [name, (columns.find(one => one.name === name)?.kind ?? 'text') as Kind]));

const change = (by: Partial<Job>) => { if (job.value) job.value = { ...job.value, ...by }; };
const pause = (ms: number) => new Promise(done => setTimeout(done, ms));

export function stopImport() { stopping?.abort(); }

export async function startImport(source: Source, choice: Choice, columns: readonly Column[], looked: number) {
  const control = stopping = new AbortController();
  job.value = { id: ++number, name: source.name, index: choice.index, state: 'running', waits: false, bytes: 0, size: source.size, loaded: 0, refused: [], refusedCount: 0, error: null, columns, looked, key: choice.id };
  const leaving = (event: BeforeUnloadEvent) => event.preventDefault();
  addEventListener('beforeunload', leaving);
  try {
    await sendAll(source, choice, control.signal);
    change({ state: control.signal.aborted ? 'stopped' : 'done', bytes: source.size });
  } catch (error) {
    change(control.signal.aborted ? { state: 'stopped' } : { state: 'failed', error });
  } finally {
    removeEventListener('beforeunload', leaving);
    bump();
    report();
  }
}

function report() {
  const now = job.peek();
  if (!now) return;
  const text = now.refusedCount ? `${plural(now.refusedCount, 'line')} ${now.refusedCount === 1 ? 'was' : 'were'} refused: they are listed under Documents.` : undefined;
  const said = now.state === 'done' ? `${plural(now.loaded, 'document')} of ${now.name} ${now.loaded === 1 ? 'is' : 'are'} loaded` : now.state === 'stopped' ? `The import of ${now.name} was stopped after ${plural(now.loaded, 'document')}` : `The import of ${now.name} failed`;
  toast({ tone: now.state === 'failed' ? 'bad' : now.refusedCount || now.state === 'stopped' ? 'warn' : 'good', title: said, text: now.state === 'failed' && now.error instanceof Error ? now.error.message : text });
}

class Stopped extends Error {}

function refuse(one: Refusal) {
  const now = job.peek();
  if (!now) return;
  change({ refusedCount: now.refusedCount + 1, refused: now.refused.length < SHOWN ? [...now.refused, one].sort((one, other) => one.line - other.line) : now.refused });
  if (now.refusedCount + 1 > REFUSED_MOST) throw new Error(`More than ${REFUSED_MOST} lines were refused: the rest of the file was not sent.`);
}

async function sendAll(source: Source, choice: Choice, signal: AbortSignal) {
  let part: Sent[] = [], bytes = 0, read = 0;
  const flush = async () => {
    const sent = part;
    part = [];
    bytes = 0;
    if (sent.length) await send(sent, choice, signal);
    // Of a packed file, nobody knows how far it is.
    change({ bytes: source.isZipped ? 0 : Math.min(source.size, read) });
  };
  for await (const one of documentsOf(source, choice, refuse, length => { read += length; })) {
    if (signal.aborted) throw new Stopped();
    part.push(one);
    bytes += one.text.length;
    if (bytes >= PART_BYTES || part.length >= PART_DOCUMENTS) await flush();
  }
  await flush();
}

/** A part; one that is refused for a document in it is sent again in halves, until that document is left. */
async function send(part: readonly Sent[], choice: Choice, signal: AbortSignal) {
  if (signal.aborted) throw new Stopped();
  const error = await sendOnce(part, choice, signal);
  const first = part[0];
  if (!error || !first) return change({ loaded: (job.peek()?.loaded ?? 0) + part.length });
  if (!isOfDocument(error)) throw error;
  if (part.length === 1) return refuse({ line: first.line, message: error.message });
  await send(part.slice(0, part.length >> 1), choice, signal);
  await send(part.slice(part.length >> 1), choice, signal);
}

/** Whether another part of the documents may be taken. */
const isOfDocument = (error: Refused) => error.status === 413 || /document|payload|geo|vector|embed|field/.test(error.code) && !/not_enabled|space/.test(error.code);

async function sendOnce(part: readonly Sent[], choice: Choice, signal: AbortSignal): Promise<Refused | null> {
  const raw = { data: part.map(one => one.text).join('\n'), type: 'application/x-ndjson' };
  for (;;) {
    try {
      const query = { primaryKey: choice.id || null, wait: 'searchable', waitMs: WAIT_MS };
      const task = await ended(await request<Enqueued>(choice.update ? 'PUT' : 'POST', route('indexes', choice.index, 'documents'), { query, raw, signal }), signal);
      change({ waits: false });
      if (task.status === 'canceled') throw new Error('Its task was canceled.');
      return task.error ? new Refused(400, task.error) : null;
    } catch (error) {
      if (error instanceof Refused) return error;
      if (!(error instanceof Away)) throw error;
      // The same documents again: those with ids are only there once.
      change({ waits: true });
      await pause(AGAIN_MS);
    }
  }
}

async function ended(task: Enqueued, signal: AbortSignal): Promise<{ status: string; error?: ErrorBody | null }> {
  let now: { status: Task['status']; error?: ErrorBody | null } = task;
  // The answer of a write that was waited for says that it failed, and not why.
  while (isOpen(now) || (now.status === 'failed' && !now.error)) {
    if (isOpen(now)) await pause(POLL_MS);
    now = await get<Task>(route('tasks', task.taskUid ?? task.uid ?? 0), { signal });
  }
  return now;
}
