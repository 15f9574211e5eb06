import './documents.css';
import { signal } from '@preact/signals';
import { useLayoutEffect, useState } from 'preact/hooks';
import { atControls, get, isAborted, post, route } from '../../api/client';
import { useResource } from '../../api/resource';
import { complain, write } from '../../api/tasks';
import type { JsonObject, ListOf } from '../../api/types';
import { asCell, asText, titleField } from '../../lib/documents';
import { takesText } from '../../lib/keyboard';
import { count, plural } from '../../lib/text';
import { go, param, setParams } from '../../state/address';
import { about, uid } from '../../state/indexes';
import { toast } from '../../state/toasts';
import { Button, confirm, Failure, IconButton, Loaded, Menu, PageHead, Table, TextField, useFollowed, type Column } from '../../ui';
import type { View } from '../types';
import { Add, Editor, remove, unreachable } from './Editor';
import { PreviewDialog, Progress } from './Import';
import { sourceOf, type Source } from './importing';

const PAGE = 20, FIELDS = 4, CELL = 160;
const isAdding = signal(false);

function Documents() {
  const index = uid.value, offset = Math.max(0, Number(param('offset')) || 0), filter = param('filter'), [source, setSource] = useState<Source | null>(null);
  const found = useResource(signal => post<ListOf<JsonObject>>(route('indexes', index, 'documents', 'fetch'), { offset, limit: PAGE, ...(filter ? { filter } : {}) }, { signal }), [index, offset, filter], { keep: true });
  const wrong = atControls(found.error, { filter: ['invalid_document_filter'] }), all = found.data;
  const take = (blob: Blob, name: string) => sourceOf(blob, name).then(setSource, complain(`${name} cannot be read`));
  usePaste(take);
  const isEmpty = all?.total === 0 && !filter && !wrong.filter;
  return (
    <>
      <PageHead title="Documents" about={all?.total === undefined ? '\u00a0' : plural(all.total, 'document') + (filter ? ' match the filter' : '')} actions={<>
        <Button kind="primary" icon="plus" onClick={() => { isAdding.value = true; }}>Add</Button>
        <More index={index} filter={filter} total={all?.total ?? 0} />
      </>} />
      <div class="stack">
        <Drop onFile={take} isLarge={isEmpty} />
        <Progress />
        {!isEmpty && <Filter error={wrong.filter} />}
        <Loaded of={{ ...found, error: wrong.rest }} isEmpty={all => all.results.length === 0} empty={isEmpty ? null : <p class="muted" role="status">{filter ? 'No document matches this filter.' : 'There are no documents on this page.'}</p>}>
          {all => <>
            <Rows index={index} all={all.results} onFailed={() => found.reload()} />
            <div class="row spread">
              <span class="muted">{count(offset + 1)} to {count(offset + all.results.length)} of {count(all.total ?? 0)}</span>
              <span class="row"><Button icon="left" off={offset === 0 && 'This is the first page.'} onClick={() => setParams({ offset: offset > PAGE ? String(offset - PAGE) : null })}>Previous</Button>
                <Button off={offset + PAGE >= (all.total ?? 0) && 'This is the last page.'} onClick={() => setParams({ offset: String(offset + PAGE) })}>Next</Button></span>
            </div>
          </>}
        </Loaded>
      </div>
      {param('doc') && <Editor key={param('doc')} index={index} id={param('doc')} />}
      {isAdding.value && <Add index={index} onClose={() => { isAdding.value = false; }} onSource={one => { isAdding.value = false; setSource(one); }} />}
      {source && <PreviewDialog source={source} onClose={() => setSource(null)} />}
    </>
  );
}

/** What is pasted outside of a field is looked at as a file is. */
function usePaste(take: (blob: Blob, name: string) => unknown) {
  useLayoutEffect(() => {
    const onPaste = (event: ClipboardEvent) => {
      if (takesText(document.activeElement as HTMLElement | null) || document.querySelector('dialog[open]')) return;
      const file = event.clipboardData?.files[0], text = event.clipboardData?.getData('text/plain');
      if (file) void take(file, file.name);
      else if (text?.trim()) void take(new Blob([text]), 'pasted text');
    };
    document.addEventListener('paste', onPaste);
    return () => document.removeEventListener('paste', onPaste);
  });
}

function Drop({ onFile, isLarge }: { onFile: (file: File, name: string) => unknown; isLarge: boolean }) {
  const [isOver, setOver] = useState(false);
  const take = (file: File | null | undefined) => { if (file) void onFile(file, file.name); };
  useLayoutEffect(() => {
    // A file that misses the place does not take the page away.
    const over = (event: DragEvent) => { if (event.dataTransfer?.types.includes('Files')) { event.preventDefault(); setOver(true); } };
    const leave = (event: DragEvent) => { if (!event.relatedTarget) setOver(false); };
    const drop = (event: DragEvent) => { event.preventDefault(); setOver(false); take(event.dataTransfer?.files[0]); };
    document.addEventListener('dragover', over);
    document.addEventListener('dragleave', leave);
    document.addEventListener('drop', drop);
    return () => { document.removeEventListener('dragover', over); document.removeEventListener('dragleave', leave); document.removeEventListener('drop', drop); };
  });
  return (
    <div class={'documents-drop' + (isOver ? ' over' : '') + (isLarge ? ' empty-drop' : '')}>
      <span>{isLarge && <><strong>There are no documents here yet.</strong><br /></>}Drop or paste a file here, or <input id="documents-file" type="file" accept=".json,.ndjson,.jsonl,.csv,.tsv,.gz" onChange={event => { take(event.currentTarget.files?.[0]); event.currentTarget.value = ''; }} /><label for="documents-file">choose one</label>.</span>
      <small>JSON, NDJSON, CSV or TSV, also compressed with gzip</small>
    </div>
  );
}

function Filter({ error }: { error: string | undefined }) {
  const { settings } = about.value, now = param('filter'), [text, setText] = useFollowed(now);
  const names = (settings.filterableAttributes ?? []).filter((one): one is string => typeof one === 'string' && one !== '*');
  const field = names[0] ?? (settings.filterableAttributes?.length ? about.value.fields[0] : undefined);
  const apply = () => setParams({ filter: text.trim() || null, offset: null });
  return (
    <div class="documents-filter">
      <TextField label="Filter" hideLabel isSearch mono value={text} onInput={setText} onEnter={apply} error={error} placeholder={field ? `Filter: ${field} EXISTS` : 'Filter'}
        hint={field || about.value.state === 'loading' ? undefined : 'No field is filterable yet. Add some in the settings.'} />
      <Button icon="filter" off={text.trim() === now && 'It is applied.'} onClick={apply}>Apply</Button>
      {now && <IconButton icon="close" label="Remove the filter" onClick={() => setParams({ filter: null, offset: null })} />}
    </div>
  );
}

const short = (text: string) => text.length > CELL ? text.slice(0, CELL) + '…' : text;

function Rows({ index, all, onFailed }: { index: string; all: readonly JsonObject[]; onFailed: () => void }) {
  const { primaryKey, settings, fields } = about.value, [error, setError] = useState<unknown>(null), [busy, setBusy] = useState('');
  const title = all[0] ? titleField(all[0], primaryKey, settings.searchableAttributes) : null;
  const idOf = (document: JsonObject) => primaryKey && Object.hasOwn(document, primaryKey) ? asText(document[primaryKey]) : '';
  const shown = [...new Set([...fields.filter(one => !one.includes('.')), ...Object.keys(all[0] ?? {})])].filter(one => one !== primaryKey && one !== title && !one.startsWith('_') && all.some(document => Object.hasOwn(document, one))).slice(0, FIELDS);
  const open = (document: JsonObject) => {
    const why = unreachable(document, primaryKey);
    if (why) toast({ tone: 'warn', title: 'This document cannot be opened.', text: why }); else setParams({ doc: idOf(document) }, { replace: false });
  };
  const take = async (document: JsonObject) => {
    setBusy(idOf(document));
    setError(null);
    try {
      await remove(index, idOf(document));
    } catch (failure) {
      if (!isAborted(failure)) setError(failure);
      onFailed();
    } finally {
      setBusy('');
    }
  };
  const columns: Column<JsonObject>[] = [
    { id: 'id', title: title ?? primaryKey ?? 'Document', cell: one => <><span class={title ? 'documents-cell' : ''} dir="auto">{title && Object.hasOwn(one, title) ? short(asText(one[title])) : idOf(one) || 'Document'}</span>{title && <span class="documents-id">{idOf(one)}</span>}</> },
    ...shown.map(name => ({ id: 'field ' + name, title: name, cell: (one: JsonObject) => <span class="documents-cell" dir="auto">{Object.hasOwn(one, name) ? short(asCell(one[name])) : ''}</span> })),
    { id: 'delete', title: 'Delete', hideTitle: true, cell: one => { const why = unreachable(one, primaryKey); return <IconButton size="s" icon="trash" busy={busy === idOf(one) && busy !== ''} off={why} label={why ?? `Delete ${idOf(one)}`} onClick={() => take(one)} />; } },
  ];
  return <><Failure error={error} /><div class="documents-rows"><Table label="Documents" rows={all} keyOf={one => idOf(one) || String(all.indexOf(one))} picked={param('doc')} onPick={open} columns={columns} /></div></>;
}

function More({ index, filter, total }: { index: string; filter: string; total: number }) {
  const run = async (title: string, text: string, type: string | undefined, work: () => ReturnType<typeof write>) => {
    if (!await confirm({ title, text, action: 'Delete them', danger: true, type })) return;
    await work().catch(complain('Nothing was deleted'));
  };
  return <Menu label="More actions for documents" items={[
    Boolean(filter) && { title: 'Delete matching documents …', icon: 'trash', danger: true, off: total === 0 && 'No document matches.', onPick: () => run(`Delete ${plural(total, 'document')}?`, 'Deletes every document that matches the filter when the task runs.', undefined,
      () => write('POST', route('indexes', index, 'documents', 'delete'), { title: 'Delete matching documents', done: 'The matching documents are deleted' }, { body: { filter } })) },
    { title: 'Delete all documents …', icon: 'trash', danger: true, off: total === 0 && !filter && 'There are none.', onPick: async () => {
      const all = (await get<{ numberOfDocuments: number }>(route('indexes', index, 'stats')).catch(() => null))?.numberOfDocuments ?? total;
      await run(`Delete all ${plural(all, 'document')} of ${index}?`, 'The settings are kept.', index, () => write('DELETE', route('indexes', index, 'documents'), { title: `Delete all documents of ${index}`, done: `All documents of ${index} are deleted` }));
    } },
  ]} />;
}

export const view: View = {
  id: 'documents', title: 'Documents', group: 'Data', icon: 'documents', needsIndex: true, words: 'browse import upload edit delete csv', component: Documents,
  actions: () => [{ id: 'add', title: 'Add documents', icon: 'plus', run: () => { go({ view: 'documents' }); isAdding.value = true; } }],
};
