import './indexes.css';
import { get, orNothing } from '../../api/client';
import { useResource } from '../../api/resource';
import type { IndexInfo, IndexStats, ListOf, Stats, Task } from '../../api/types';
import { best } from '../../lib/fuzzy';
import { ago, bytes, compact, count, plural, when } from '../../lib/text';
import { go, param, setParams } from '../../state/address';
import { known, loadIndexes, switchIndex, uid as currentUid } from '../../state/indexes';
import { Badge, Button, Chip, Empty, Failure, Loading, PageHead, Sparkline, TextField } from '../../ui';
import type { View } from '../types';
import { clone, create, MenuOf } from './actions';
import { writesOf } from './sizes';
import { Sheet } from './Sheet';

const SIZES_MOST = 100, HOURS = 24, TASKS_LOOKED = 1000, FIND_FROM = 7;
export interface FullStats extends IndexStats { indexSize?: number; usedIndexSize?: number; keptStates?: number; aliases?: string[]; damagedSegments?: unknown[] }

function Indexes() {
  const { state, list, error, aliases, total } = known.value, typed = param('find');
  const found = useResource(async signal => {
    const after = new Date(Date.now() - HOURS * 3_600_000).toISOString();
    const [stats, tasks] = await Promise.all([
      // The sizes of the parts are read from each index: of very many, that takes its time.
      orNothing(get<Omit<Stats, 'indexes'> & { indexes: Record<string, FullStats> }>('/stats', { signal, query: { showInternalDatabaseSizes: list.length <= SIZES_MOST } })),
      orNothing(get<ListOf<Task>>('/tasks', { signal, query: { afterFinishedAt: after, limit: TASKS_LOOKED } })),
    ]);
    return { stats, writes: tasks && writesOf(tasks.results, HOURS, Date.now()) };
  }, [list.length <= SIZES_MOST]);
  const shown = best(list, typed, one => one.uid);
  return (
    <>
      <PageHead title="Indexes" about={state === 'ready' && found.data?.stats ? `${plural(total, 'index')}, ${bytes(found.data.stats.databaseSize)} in total` : 'Everything that can be searched on this server.'} actions={<Button kind="primary" icon="plus" onClick={create}>Create an index</Button>} />
      <div class="stack">
        {state === 'loading' && <Loading lines={6} />}
        {state === 'refused' && <Failure error={error} onRetry={loadIndexes} />}
        <Failure error={found.error} onRetry={found.reload} />
        {list.length >= FIND_FROM && <TextField label="Find an index" hideLabel type="search" isSearch placeholder="Find an index" value={typed} onInput={now => setParams({ find: now })} />}
        {state === 'ready' && list.length === 0 && <Empty icon="indexes" title="There is no index yet." actions={<Button kind="primary" onClick={() => go({ view: 'search' })}>Load the first documents</Button>} />}
        {list.length > 0 && shown.length === 0 && <p class="muted" role="status">No index matches.</p>}
        <div class="indexes-grid">{shown.map(one => (
          <One key={one.uid} info={one} stats={found.data?.stats?.indexes[one.uid]} writes={found.data?.writes ? found.data.writes[one.uid] ?? new Array<number>(HOURS).fill(0) : null} aliases={aliases.filter(alias => alias.indexUid === one.uid).map(alias => alias.alias)} />
        ))}</div>
        {total > list.length && <p class="muted">Showing the first {count(list.length)} of {count(total)} indexes.</p>}
      </div>
      {param('sheet') && <Sheet key={param('sheet')} uid={param('sheet')} />}
    </>
  );
}

function One({ info, stats, writes, aliases }: { info: IndexInfo; stats: FullStats | undefined; writes: number[] | null; aliases: string[] }) {
  const { uid, updatedAt } = info, all = writes?.reduce((one, other) => one + other, 0) ?? 0, isDamaged = (stats?.damagedSegments?.length ?? 0) > 0;
  const open = () => setParams({ sheet: uid }, { replace: false });
  return (
    <section class="card indexes-card" aria-label={uid}>
      <header>
        <h2 dir="auto"><button type="button" class="indexes-open" onClick={open}>{uid}</button></h2>
        <div class="row">{stats?.isIndexing && <Badge tone="info">writing</Badge>}{isDamaged && <Badge tone="bad">damaged</Badge>}{uid === currentUid.value && <Badge tone="accent">current</Badge>}<MenuOf uid={uid} onSheet={open} /></div>
      </header>
      <dl class="indexes-numbers">
        <div><dt>Documents</dt><dd>{stats ? compact(stats.numberOfDocuments) : '–'}{stats && stats.numberOfDocuments >= 10_000 && <small>{count(stats.numberOfDocuments)}</small>}</dd></div>
        <div><dt>Size</dt><dd>{stats?.indexSize !== undefined ? bytes(stats.indexSize) : stats?.rawDocumentDbSize !== undefined ? bytes(stats.rawDocumentDbSize) : '–'}{stats && stats.indexSize === undefined && <small>documents only</small>}</dd></div>
      </dl>
      <div class="indexes-aliases">{aliases.map(one => <Chip key={one} tone="accent">{one}</Chip>)}</div>
      <div class="indexes-spark">
        {writes && <Sparkline label={`Writes to ${uid} in the last ${HOURS} hours`} values={writes} show={value => plural(value, 'write')} height={28} />}
        <small><span title={when(updatedAt)}>Last write {ago(updatedAt)}</span><span>{writes && (all ? plural(all, 'write') : 'no writes') + ` in ${HOURS} h`}</span></small>
      </div>
      <div class="row"><Button size="s" icon="search" onClick={() => { switchIndex(uid); go({ view: 'search' }); }}>Search</Button><Button size="s" icon="documents" onClick={() => { switchIndex(uid); go({ view: 'documents' }); }}>Documents</Button><Button size="s" kind="quiet" onClick={open} aria-label={`Details of ${uid}`}>Details</Button></div>
    </section>
  );
}

export const view: View = {
  id: 'indexes', title: 'Indexes', group: 'Data', icon: 'indexes', words: 'aliases clones history segments sizes rename restore', component: Indexes,
  actions: () => [
    { id: 'create', title: 'Create an index', icon: 'plus', run: create },
    ...(currentUid.value ? [
      { id: 'clone', title: `Clone ${currentUid.value}`, icon: 'copy' as const, run: () => clone(currentUid.value) },
      { id: 'history', title: `History of ${currentUid.value}`, icon: 'clock' as const, run: () => go({ view: 'indexes', params: { sheet: currentUid.value, tab: 'history' } }) },
    ] : []),
  ],
};
