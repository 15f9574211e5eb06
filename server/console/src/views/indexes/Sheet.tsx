// All about an index: where its bytes are, its earlier states, its other names.
import { useState } from 'preact/hooks';
import { get, Refused, route } from '../../api/client';
import { useResource } from '../../api/resource';
import { write } from '../../api/tasks';
import type { IndexInfo, ListOf } from '../../api/types';
import { ago, bytes, count, plural, when } from '../../lib/text';
import { go, hrefOf, param, setParams } from '../../state/address';
import { known, switchIndex } from '../../state/indexes';
import { Badge, Bars, Button, CodeBlock, confirm, Drawer, Empty, Facts, Failure, Figure, Figures, IconButton, Link, Loaded, Tabs } from '../../ui';
import { clone, compact, rename, remove, setAlias } from './actions';
import type { FullStats } from './index';
import { partsOf } from './sizes';

type Tab = 'overview' | 'sizes' | 'history' | 'names';
interface Segment { numberOfDocuments: number; numberOfDeletedDocuments: number; size: number }
interface Details extends FullStats { segments?: Segment[]; internalDatabaseSizes?: Record<string, number> }
interface State { generation: number; committedAt: string; numberOfDocuments: number; batchUid: number | null; isCurrent: boolean; damage?: string }
const FIELDS = 30, STATES = 50;

export function Sheet({ uid }: { uid: string }) {
  const found = useResource(signal => Promise.all([
    get<Details>(route('indexes', uid, 'stats'), { signal, query: { showInternalDatabaseSizes: true } }), get<IndexInfo>(route('indexes', uid), { signal }),
  ]), [uid]);
  const tab = (['overview', 'sizes', 'history', 'names'] as Tab[]).find(one => one === param('tab')) ?? 'overview', aliases = known.value.aliases.filter(one => one.indexUid === uid);
  const close = () => setParams({ sheet: null, tab: null });
  const isMissing = found.error instanceof Refused && found.error.code === 'index_not_found';
  return (
    <Drawer title={<span dir="auto">{uid}</span>} class="indexes-sheet" onClose={close} actions={isMissing ? undefined : <>
      <Button kind="quiet" icon="trash" onClick={() => remove(uid)}>Delete</Button><Button icon="edit" onClick={() => rename(uid)}>Rename</Button><Button icon="copy" onClick={() => clone(uid)}>Clone</Button>
    </>}>
      {isMissing ? <Empty icon="indexes" title={`There is no index “${uid}”.`}>It may have been deleted or renamed.</Empty> : (
        <Tabs label={`About ${uid}`} value={tab} onChange={now => setParams({ tab: now === 'overview' ? null : now })} options={[{ id: 'overview', title: 'Overview' }, { id: 'sizes', title: 'Sizes' }, { id: 'history', title: 'History' }, { id: 'names', title: 'Aliases', count: aliases.length || undefined }]}>
          {tab === 'history' ? <History uid={uid} /> : tab === 'names' ? <Names uid={uid} aliases={aliases.map(one => one.alias)} /> : (
            <Loaded of={found} lines={8}>{([stats, info]) => tab === 'sizes' ? <Sizes uid={uid} stats={stats} /> : <Overview uid={uid} stats={stats} info={info} />}</Loaded>
          )}
        </Tabs>
      )}
    </Drawer>
  );
}

function Overview({ uid, stats, info }: { uid: string; stats: Details; info: IndexInfo }) {
  const fields = Object.entries(stats.fieldDistribution).sort(([, one], [, other]) => other - one);
  return (
    <div class="stack">
      <Figures>
        <Figure label="Documents" value={count(stats.numberOfDocuments)} />
        <Figure label="Size" value={stats.indexSize === undefined ? '–' : bytes(stats.indexSize)} about={stats.avgDocumentSize ? `${bytes(stats.avgDocumentSize)} per document` : undefined} />
        <Figure label="With vectors" value={count(stats.numberOfEmbeddedDocuments ?? 0)} />
      </Figures>
      <Facts facts={[['Primary key', info.primaryKey ?? 'none yet'], ['Last write', <span title={when(info.updatedAt)}>{ago(info.updatedAt)}</span>], ['Created', when(info.createdAt)], ['Earlier states', stats.keptStates === undefined ? 'not kept' : plural(stats.keptStates, 'state')]]} />
      <section class="stack tight"><h3>{plural(fields.length, 'field')}</h3>{fields.length === 0 ? <p class="muted">There are no documents yet.</p>
        : <><Bars label="Fields, by how many documents have them" bars={fields.slice(0, FIELDS).map(([name, value]) => ({ name, value }))} show={count} />{fields.length > FIELDS && <p class="muted">and {count(fields.length - FIELDS)} more</p>}</>}</section>
      <div class="row"><Button icon="search" onClick={() => { switchIndex(uid); go({ view: 'search' }); }}>Search</Button><Button icon="documents" onClick={() => { switchIndex(uid); go({ view: 'documents' }); }}>Documents</Button><Button icon="settings" onClick={() => { switchIndex(uid); go({ view: 'settings' }); }}>Settings</Button></div>
    </div>
  );
}

function Sizes({ uid, stats }: { uid: string; stats: Details }) {
  const segments = [...stats.segments ?? []].sort((one, other) => other.size - one.size), [error, setError] = useState<unknown>(null);
  const deleted = segments.reduce((all, one) => all + one.numberOfDeletedDocuments, 0), all = segments.reduce((sum, one) => sum + one.size, 0) || 1;
  const run = () => { setError(null); void compact(uid).catch(setError); };
  return (
    <div class="stack">
      <Figures><Figure label="On disk" value={stats.indexSize === undefined ? '–' : bytes(stats.indexSize)} /><Figure label="In use" value={stats.usedIndexSize === undefined ? '–' : bytes(stats.usedIndexSize)} /><Figure label="Segments" value={count(segments.length)} /></Figures>
      <section class="stack tight"><h3>By kind of data</h3><Bars label="Parts" bars={partsOf(stats.internalDatabaseSizes ?? {})} show={bytes} /></section>
      <section class="stack tight">
        <h3>Segments</h3>
        {segments.length === 0 ? <p class="muted">There are no segments yet.</p> : <>
          <div class="indexes-segments" aria-hidden="true">{segments.map((one, place) => <span key={place} style={{ width: one.size / all * 100 + '%' }} title={`${plural(one.numberOfDocuments, 'document')}, ${bytes(one.size)}`}><i style={{ width: one.numberOfDeletedDocuments / ((one.numberOfDocuments + one.numberOfDeletedDocuments) || 1) * 100 + '%' }} /></span>)}</div>
          <Bars label="Segments, by their size" bars={segments.slice(0, 40).map((one, place) => ({ name: `${place + 1}: ${plural(one.numberOfDocuments, 'document')}` + (one.numberOfDeletedDocuments ? `, ${count(one.numberOfDeletedDocuments)} deleted` : ''), value: one.size }))} show={bytes} />
        </>}
        <Failure error={error} />
        <div class="row spread"><span class="muted">{deleted ? `${plural(deleted, 'deleted document')} still use space.` : 'No deleted documents use space.'}</span><Button size="s" off={segments.length === 0 ? 'There is nothing to compact.' : deleted === 0 && segments.length === 1 && 'The index is compact already.'} onClick={run}>Compact</Button></div>
      </section>
    </div>
  );
}

function History({ uid }: { uid: string }) {
  const found = useResource(signal => get<ListOf<State>>(route('indexes', uid, 'generations'), { signal, query: { limit: STATES } }), [uid]), [error, setError] = useState<unknown>(null);
  const restore = async (to: State, current: State | undefined) => {
    if (!await confirm({ title: `Restore ${uid}?`, text: `Restores the documents and settings of ${when(to.committedAt)}: ${plural(to.numberOfDocuments, 'document')}. The current state is kept, too.`, action: 'Restore', danger: true })) return;
    setError(null);
    const at = (generation: number) => ({ body: { at: generation } });
    await write('POST', route('indexes', uid, 'restore'), { title: `Restore ${uid}`, done: `${uid} is as it was ${ago(to.committedAt)}`, undo: current && (() => write('POST', route('indexes', uid, 'restore'), { title: `Undo the restore of ${uid}` }, at(current.generation))) }, at(to.generation)).catch(setError);
  };
  return (
    <Loaded of={found} lines={6}>{all => {
      const current = all.results.find(one => one.isCurrent);
      if ((all.total ?? 0) < 2) return <Empty icon="clock" title="Only the current state is kept" actions={<CodeBlock label="To keep the states of a day" code="lamina serve --keep 24h" />}>Earlier states let you undo an import that went wrong.</Empty>;
      return <div class="stack tight">
        <Failure error={error} />
        <ol class="indexes-states">{all.results.map((one, place) => {
          const next = all.results[place + 1], difference = next ? one.numberOfDocuments - next.numberOfDocuments : 0;
          return (
            <li key={one.generation}>
              <div><strong title={when(one.committedAt)}>{ago(one.committedAt)}</strong> {one.isCurrent && <Badge tone="accent">current</Badge>}{one.damage && <Badge tone="bad">damaged</Badge>}
                <small>State {one.generation} · {plural(one.numberOfDocuments, 'document')}{difference !== 0 && ` (${difference > 0 ? '+' : '−'}${count(Math.abs(difference))})`}{one.batchUid !== null && <> · <Link href={hrefOf({ view: 'tasks' })} onGo={() => go({ view: 'tasks', params: { of: uid } })}>Tasks</Link></>}</small></div>
              {!one.isCurrent && <Button size="s" icon="undo" off={one.damage && 'It is damaged.'} onClick={() => restore(one, current)} aria-label={`Restore state ${one.generation}`}>Restore</Button>}
            </li>
          );
        })}</ol>
        {(all.total ?? 0) > STATES && <p class="muted">and {count((all.total ?? 0) - STATES)} earlier ones</p>}
      </div>;
    }}</Loaded>
  );
}

function Names({ uid, aliases }: { uid: string; aliases: string[] }) {
  const [error, setError] = useState<unknown>(null);
  const take = async (alias: string) => {
    setError(null);
    await write('DELETE', route('aliases', alias), { title: `Remove the alias ${alias}`, done: `${alias} is removed`, undo: () => write('PATCH', '/aliases', { title: `Set ${alias} back` }, { body: { [alias]: uid } }) }).catch(setError);
  };
  return (
    <div class="stack tight">
      <Failure error={error} />
      {aliases.length === 0 ? <Empty icon="pin" title="There are no aliases" actions={<Button icon="plus" onClick={() => setAlias(uid)}>Set an alias</Button>}>Programs can use an alias instead of the index. It moves to another index without downtime.</Empty> : <>
        <ul class="indexes-states">{aliases.map(one => <li key={one}><div dir="auto"><strong>{one}</strong></div><IconButton size="s" icon="trash" label={`Remove the alias ${one}`} onClick={() => take(one)} /></li>)}</ul>
        <div class="row"><Button icon="plus" onClick={() => setAlias(uid)}>Set an alias</Button></div></>}
    </div>
  );
}
