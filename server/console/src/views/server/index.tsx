import './server.css';
import { get, orNothing, replica } from '../../api/client';
import { useResource, type Resource } from '../../api/resource';
import type { History, ListOf, Stats, Task, Version } from '../../api/types';
import { ago, bytes, count, plural, span } from '../../lib/text';
import { go, param, setParams } from '../../state/address';
import { Badge, Button, Card, Chart, Figure, Figures, Icon, Loaded, PageHead, Segments, Table } from '../../ui';
import type { View } from '../types';
import { backUp } from '../tasks';
import { Features } from './Features';
import { Webhooks } from './Webhooks';

const WINDOWS = [{ id: '15m', title: '15 min' }, { id: '1h', title: '1 h' }, { id: '6h', title: '6 h' }, { id: '24h', title: '24 h' }] as const;
type Window = typeof WINDOWS[number]['id'];
const STEP_MS = 15_000, REPLICAS_MS = 10_000, SILENT_MS = 30_000, QUEUE_LONG = 20;

function Server() {
  const window = WINDOWS.find(one => one.id === param('window'))?.id ?? '1h';
  const found = useResource(signal => Promise.all([orNothing(get<Version>('/version', { signal })), orNothing(get<Stats>('/stats', { signal })), orNothing(get<ListOf<Task>>('/tasks', { query: { statuses: 'enqueued,processing', limit: 1 }, signal }))]), [], { everyMs: 10_000 });
  const history = useResource(signal => orNothing(get<History>('/stats/history', { query: { window }, signal })), [window], { everyMs: STEP_MS, live: false });
  return (
    <>
      <PageHead title="Server" about="Load, storage, queue and features." actions={<><Button icon="download" onClick={() => backUp('snapshots')}>Snapshot</Button><Button icon="download" onClick={() => backUp('dumps')}>Dump</Button></>} />
      <div class="stack">
        <Loaded of={found}>{([version, stats, open]) => (
          <Figures>
            <Figure label="Version" value={version?.pkgVersion ?? '–'} about={version?.commitSha.slice(0, 12)} />
            <Figure label="Database" value={stats ? bytes(stats.databaseSize) : '–'} about={stats?.usedDatabaseSize === undefined ? undefined : `${bytes(stats.usedDatabaseSize)} in use`} />
            <Figure label="Documents" value={stats ? count(Object.values(stats.indexes).reduce((all, one) => all + one.numberOfDocuments, 0)) : '–'} about={stats ? `in ${plural(Object.keys(stats.indexes).length, 'index')}` : undefined} />
            <Figure label="Last write" value={stats ? ago(stats.lastUpdate, Date.now(), 'short') : '–'} />
            <Figure label="Open tasks" value={open?.total === undefined ? '–' : count(open.total)} />
            {replica.value && <Figure label="Generation" value={replica.value.generation ?? '–'} about={replica.value.lagMs === null ? undefined : `${span(replica.value.lagMs)} behind`} />}
          </Figures>
        )}</Loaded>
        <div class="row spread"><h2>The last {WINDOWS.find(one => one.id === window)?.title}</h2><Segments label="Time" value={window} options={WINDOWS} onChange={now => setParams({ window: now === '1h' ? null : now })} /></div>
        <Charts of={history} window={window} />
        <Replicas />
        <Webhooks />
        <Features />
      </div>
    </>
  );
}

const rate = (value: number) => count(Number(value.toFixed(value >= 100 ? 0 : value < 1 ? 2 : 1)));

function Charts({ of, window }: { of: Resource<History | null>; window: Window }) {
  return (
    <Loaded of={of} lines={10}>{now => {
      if (!now) return <p class="muted">The charts need a key with the action <code>metrics.get</code>.</p>;
      const queue = now.waitingTasks.at(-1) ?? 0, slow = now.searchP99Ms.filter((one): one is number => one !== null).at(-1);
      return <>
        {queue >= QUEUE_LONG && <div class="server-health" role="status"><Icon name="warn" /><span>{count(queue)} tasks wait: writes arrive faster than the server processes them{slow !== undefined && slow > 500 ? ', and searches are slow' : ''}.</span><Button size="s" onClick={() => go({ view: 'tasks' })}>Why are writes slow?</Button></div>}
        <div class="server-charts" data-window={window}>
          <Chart title="Requests per second" at={now.at} show={rate} series={[{ name: 'all', values: now.requestsPerSecond }, { name: 'searches', values: now.searchesPerSecond }, { name: 'failures', values: now.failuresPerSecond }]} />
          <Chart title="Search latency" at={now.at} show={span} series={[{ name: 'p50', values: now.searchP50Ms }, { name: 'p99', values: now.searchP99Ms }]} />
          <Chart title="Waiting tasks" at={now.at} show={value => count(Math.round(value))} series={[{ name: 'waiting', values: now.waitingTasks }]} most={3} />
          <Chart title="Request latency" at={now.at} show={span} series={[{ name: 'p50', values: now.requestP50Ms }, { name: 'p99', values: now.requestP99Ms }]} />
          <Chart title="Memory" at={now.at} show={bytes} isBytes series={[{ name: 'heap', values: now.heapBytes }, { name: 'with mapped files', values: now.memoryBytes }]} />
          <Chart title="Disk" at={now.at} show={bytes} isBytes series={[{ name: 'database', values: now.diskBytes }]} />
        </div>
      </>;
    }}</Loaded>
  );
}

interface Replica { uid: string; url: string | null; version: string; standby: boolean; generation: number | null; batchesBehind: number | null; lagMs: number | null; failure: string | null; silentMs: number }
interface AllReplicas extends ListOf<Replica> { role: 'alone' | 'writer' | 'replica' | 'superseded'; generation: number | null; failure?: string }

function Replicas() {
  const found = useResource(signal => orNothing(get<AllReplicas>('/replicas', { signal })), [], { everyMs: REPLICAS_MS });
  if (!found.data || found.data.role === 'alone') return found.error !== undefined ? <Loaded of={found}>{() => null}</Loaded> : null;
  const { role, generation, results, failure } = found.data;
  const lag = (one: Replica) => one.silentMs > SILENT_MS ? <Badge tone="bad">silent for {span(one.silentMs)}</Badge> : one.lagMs === null ? <Badge tone="info">full sync</Badge> : <Badge tone={one.lagMs > 10_000 ? 'warn' : 'good'}>{span(one.lagMs)}</Badge>;
  return (
    <Card title="Replicas" flush={results.length > 0} actions={<small>This server is the {role}, at generation {generation ?? '–'}.</small>}>
      {failure && <p class="bad-text">{failure}</p>}
      {results.length === 0 ? <p class="muted">No replica reports. Replicas without write access to the store are not listed.</p> : <Table label="Replicas" rows={results} keyOf={one => one.uid} columns={[
        { id: 'replica', title: 'Replica', grow: true, cell: one => <span dir="auto">{one.url ?? one.uid}</span> },
        { id: 'role', title: 'Role', cell: one => one.standby ? 'standby' : 'replica' },
        { id: 'generation', title: 'Generation', number: true, cell: one => one.generation ?? '–' },
        { id: 'behind', title: 'Batches behind', number: true, cell: one => one.batchesBehind ?? '–' },
        { id: 'lag', title: 'Lag', cell: lag },
        { id: 'version', title: 'Version', cell: one => one.version },
        { id: 'failure', title: 'Failure', cell: one => one.failure ?? '' },
      ]} />}
    </Card>
  );
}

export const view: View = { id: 'server', title: 'Server', group: 'Operate', icon: 'server', words: 'metrics memory disk replicas webhooks lag version experimental features charts', component: Server };
