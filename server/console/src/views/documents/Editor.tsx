// A document to read and to change, as the server has it: numbers keep all of their digits.
import { useState } from 'preact/hooks';
import { fetchAnswer, route } from '../../api/client';
import { useResource, useWork } from '../../api/resource';
import { write, writeAndWait } from '../../api/tasks';
import type { JsonObject, Task } from '../../api/types';
import { parseJson } from '../../lib/json';
import { messageOf } from '../../lib/text';
import { setParams } from '../../state/address';
import { about } from '../../state/indexes';
import { toast } from '../../state/toasts';
import { Button, Dialog, Drawer, JsonEditor, Loaded, Segments, TextArea } from '../../ui';
import { sourceOf, type Source } from './importing';

const JSON_TYPE = 'application/json';
const put = (index: string, title: string, text: string, undo?: () => unknown) =>
  write('POST', route('indexes', index, 'documents'), { title, done: title + ': done', undo }, { raw: { data: text.trimStart().startsWith('[') ? text : `[${text}]`, type: JSON_TYPE } });

/** The text of a document: well laid out, if nothing of it is lost by that. */
function laidOut(raw: string): string {
  const value: unknown = JSON.parse(raw);
  return JSON.stringify(value) === raw ? JSON.stringify(value, null, 2) : raw;
}

const rawDocument = async (index: string, id: string, signal?: AbortSignal) =>
  (await fetchAnswer('GET', route('indexes', index, 'documents', id), { signal, query: { retrieveVectors: Object.keys(about.peek().settings.embedders ?? {}).length ? true : null } })).text();

/** Deletes it, says so, and can bring it back. Where nothing was deleted, that is said. */
export async function remove(index: string, id: string): Promise<boolean> {
  const before = await rawDocument(index, id);
  const task: Task | null = await writeAndWait('DELETE', route('indexes', index, 'documents', id), { title: `Delete ${id}`, done: `${id} is deleted`, undo: () => put(index, `Bring ${id} back`, before) });
  const isGone = task?.details?.['deletedDocuments'] !== 0;
  if (!isGone) toast({ tone: 'warn', title: `${id} did not exist any more`, task: task?.uid });
  return isGone;
}

/** Why a document cannot be reached by its id; null if it can. */
export function unreachable(document: JsonObject, primaryKey: string | null): string | null {
  if (primaryKey === null) return 'The index has no primary key yet.';
  const id = Object.hasOwn(document, primaryKey) ? document[primaryKey] : undefined;
  if (id === undefined) return `The answer lacks the id “${primaryKey}”: displayedAttributes hides it.`;
  if (typeof id === 'number' && !Number.isSafeInteger(id)) return 'This id has more digits than a browser can read: use the command line.';
  return typeof id === 'string' || typeof id === 'number' ? null : 'This id is neither a string nor a number.';
}

export function Editor({ index, id }: { index: string; id: string }) {
  const found = useResource(async signal => laidOut(await rawDocument(index, id, signal)), [index, id], { live: false });
  const [text, setText] = useState<string | null>(null), [error, setError] = useState<string | null>(null), [busy, setBusy] = useState('');
  const before = found.data ?? '', now = text ?? before, { value, fault } = parseJson(now), isChanged = text !== null && text !== before;
  const { primaryKey } = about.value, newId = primaryKey && value && typeof value === 'object' && !Array.isArray(value) ? value[primaryKey] : undefined;
  const run = async (what: string, work: () => Promise<unknown>) => {
    setBusy(what);
    setError(null);
    try {
      await work();
      setParams({ doc: null });
    } catch (failure) {
      setError(messageOf(failure));
    } finally {
      setBusy('');
    }
  };
  const save = () => run('save', async () => {
    const task = await (await put(index, `Save ${id}`, now, () => put(index, `Set ${id} back`, before))).done;
    if (task?.error) throw new Error(task.error.message);
  });
  return (
    <Drawer title={<>Document <span dir="auto">{id}</span></>} class="documents-editor" unsaved={isChanged} onClose={() => setParams({ doc: null })} actions={<>
      <Button kind="quiet" icon="trash" busy={busy === 'delete'} off={found.data === undefined && 'The document does not exist.'} onClick={() => run('delete', () => remove(index, id))}>Delete</Button>
      <Button kind="primary" busy={busy === 'save'} off={fault ? `Line ${fault.line} is wrong.` : !isChanged && 'There are no changes.'} onClick={save}>Save</Button>
    </>}>
      <Loaded of={found} lines={10}>
        {() => <JsonEditor label="The document" text={now} onInput={setText} rows={Math.max(8, Math.min(32, now.split('\n').length + 1))} error={error}
          hint={newId !== undefined && String(newId) !== id ? 'The id has changed: saving creates another document and keeps this one.' : undefined} />}
      </Loaded>
    </Drawer>
  );
}

type Way = 'json' | 'lines';
export function Add({ index, onClose, onSource }: { index: string; onClose: () => void; onSource: (source: Source) => void }) {
  const { primaryKey, fields } = about.value;
  const usual = JSON.stringify(Object.fromEntries([primaryKey ?? 'id', ...fields.filter(one => one !== primaryKey && !one.includes('.')).slice(0, 5)].map(name => [name, ''])), null, 2);
  const [way, setWay] = useState<Way>('json'), [text, setText] = useState(usual), [pasted, setPasted] = useState(''), { busy, error, run } = useWork();
  const { fault } = parseJson(text);
  const add = () => run(async () => {
    const task = await (await put(index, 'Add documents', text)).done;
    if (task?.error) throw new Error(task.error.message);
    onClose();
  });
  const preview = async () => onSource(await sourceOf(new Blob([pasted]), 'pasted text'));
  return (
    <Dialog title="Add documents" size="l" unsaved={text !== usual || pasted !== ''} onClose={onClose} actions={<>
      <Button onClick={onClose}>Cancel</Button>
      {way === 'json' ? <Button kind="primary" busy={busy} off={fault ? `Line ${fault.line} is wrong.` : null} onClick={add}>Add</Button> : <Button kind="primary" off={!pasted.trim() && 'Paste something first.'} onClick={preview}>Preview</Button>}
    </>}>
      <Segments label="Format" value={way} onChange={setWay} options={[{ id: 'json', title: 'JSON' }, { id: 'lines', title: 'CSV or NDJSON' }]} />
      {way === 'json' ? <JsonEditor label="A document or a list of documents" text={text} onInput={setText} rows={14} error={error === undefined ? null : messageOf(error)} />
        : <TextArea label="CSV with a header, or NDJSON" mono rows={14} value={pasted} onInput={setPasted} placeholder={'id,title,price:number\n1,Trail runner,89.90'} />}
    </Dialog>
  );
}
