import './tasks.css';
import { get } from '../../api/client';
import { useResource } from '../../api/resource';
import { complain, isOpen, write } from '../../api/tasks';
import type { Batch, ListOf, Task, TaskStatus } from '../../api/types';
import { ago, count, msOf, plural, span } from '../../lib/text';
import { openTasks } from '../../state/activity';
import { go, param, params, setParams } from '../../state/address';
import { known } from '../../state/indexes';
import { Bars, Button, Card, Combobox, confirm, Empty, Icon, Loaded, Loading, Menu, PageHead, Select, StatusBadge, Table } from '../../ui';
import type { View } from '../types';
import { heldUp, stepsOf, verdict } from './advice';
import { cancel, Sheet } from './Sheet';
import { titleOfType, TYPES } from './names';

const PAGE = 50, BATCHES = 20, LIVE_MS = 1000;
const STATUSES: { id: TaskStatus; tone: string }[] = [{ id: 'enqueued', tone: 'plain' }, { id: 'processing', tone: 'info' }, { id: 'succeeded', tone: 'good' }, { id: 'failed', tone: 'bad' }, { id: 'canceled', tone: 'warn' }];
// Rules are kept in an index of their own, that nobody sees.
const indexOf = ({ indexUid }: Task) => indexUid?.startsWith('.') === false ? indexUid : '–';
const took = (task: Task) => { const ms = msOf(task.duration); return ms === null ? '–' : span(ms); };

function Tasks() {
  const statuses = params('status'), type = param('type'), index = param('of'), from = param('from');
  const query = { limit: PAGE, statuses: statuses.join(','), types: type, indexUids: index, from };
  const found = useResource(signal => get<ListOf<Task> & { next?: number | null }>('/tasks', { query, signal }), [JSON.stringify(query)], { keep: true });
  const isFiltered = statuses.length > 0 || type !== '' || index !== '';
  return (
    <>
      <PageHead title="Tasks" about="Every write is a task: waiting, running or finished." actions={<More />} />
      <div class="stack">
        <Now />
        <Filters />
        <Loaded of={found} isEmpty={all => all.results.length === 0} empty={isFiltered
          ? <Empty icon="tasks" title="No task matches these filters" actions={<Button onClick={() => setParams({ status: null, type: null, of: null, from: null })}>Show all tasks</Button>} />
          : <Empty icon="tasks" title="There are no tasks yet">Load documents or change a setting, and see here how it goes.</Empty>}>
          {all => <>
            <Table label="Tasks" rows={all.results} keyOf={task => String(task.uid)} picked={param('task')} onPick={task => setParams({ task: String(task.uid) }, { replace: false })} columns={[
              { id: 'uid', title: 'Task', cell: task => task.uid },
              { id: 'status', title: 'Status', cell: task => <StatusBadge status={task.status} /> },
              { id: 'type', title: 'Type', cell: task => <span class="tasks-what">{titleOfType(task.type)}</span> },
              { id: 'index', title: 'Index', grow: true, cell: task => <span dir="auto">{indexOf(task)}</span> },
              { id: 'took', title: 'Duration', number: true, cell: took },
              { id: 'when', title: 'Enqueued', number: true, cell: task => <span title={task.enqueuedAt}>{ago(task.enqueuedAt)}</span> },
              { id: 'cancel', title: 'Cancel', hideTitle: true, cell: task => isOpen(task) ? <Button size="s" onClick={() => cancel(task.uid)} aria-label={`Cancel task ${task.uid}`}>Cancel</Button> : null },
            ]} />
            <div class="row spread">
              <span class="muted">{all.total === undefined ? '' : plural(all.total, 'task')}</span>
              <span class="row">{from !== '' && <Button icon="left" onClick={() => setParams({ from: null })}>Newest</Button>}
                <Button off={all.next === null || all.next === undefined ? 'These are the oldest tasks.' : null} onClick={() => setParams({ from: String(all.next) })}>Older</Button></span>
            </div>
          </>}
        </Loaded>
      </div>
      {param('task') && <Sheet uid={param('task')} />}
    </>
  );
}

function Filters() {
  const chosen = params('status'), type = param('type'), index = param('of');
  return (
    <div class="tasks-filters">
      <div class="tasks-statuses" role="group" aria-label="Statuses">{STATUSES.map(({ id, tone }) => (
        <label key={id}><input type="checkbox" checked={chosen.includes(id)} onChange={event => setParams({ status: event.currentTarget.checked ? [...chosen, id] : chosen.filter(one => one !== id), from: null })} />
          <span><i class={'tasks-dot ' + tone} aria-hidden="true" />{id}</span></label>
      ))}</div>
      <Select label="Type" hideLabel value={type} options={[{ value: '', title: 'All types' }, ...Object.entries(TYPES).map(([value, title]) => ({ value, title }))]} onChange={now => setParams({ type: now, from: null })} />
      <Combobox label="Index" hideLabel free placeholder="All indexes" value={index} options={known.value.list.map(one => ({ value: one.uid }))} onChange={now => setParams({ of: now, from: null })} />
      {(chosen.length > 0 || type || index) && <Button size="s" kind="quiet" icon="close" onClick={() => setParams({ status: null, type: null, of: null, from: null })}>Remove the filters</Button>}
    </div>
  );
}

/** Whether an embedder makes vectors of its documents. */
export const hasVectors = (index: string) => (known.value.stats?.indexes[index]?.numberOfEmbeddedDocuments ?? 0) > 0;

/** What runs, how far it is, what waits; and where the time of the last batches went. */
function Now() {
  const isBusy = openTasks.value > 0;
  const found = useResource(signal => Promise.all([
    get<ListOf<Batch>>('/batches', { query: { statuses: 'processing', limit: 5 }, signal }),
    get<ListOf<Batch>>('/batches', { query: { limit: BATCHES }, signal }),
    get<ListOf<Task>>('/tasks', { query: { statuses: 'enqueued', limit: 1, reverse: true }, signal }),
  ]), [isBusy], { everyMs: isBusy ? LIVE_MS : undefined, keep: true });
  if (!found.data) return found.error === undefined ? <Card><Loading lines={5} /></Card> : null;
  const [running, latest, waiting] = found.data, under = running.results.filter(one => one.progress), oldest = waiting.results[0];
  const steps = stepsOf(latest.results, hasVectors), slow = verdict(steps), sum = steps.reduce((all, one) => all + one.ms, 0);
  return (
    <div class="tasks-now">
      {(under.length > 0 || oldest) && (
        <Card title="Now" actions={oldest && <small>{plural(waiting.total ?? 1, 'task')} waiting, the oldest enqueued {ago(oldest.enqueuedAt)}</small>}>
          <div class="stack tight">{under.map(one => <Running key={one.uid} batch={one} />)}{under.length === 0 && <p class="muted">No batch is running.</p>}</div>
        </Card>
      )}
      {sum > 0 && (
        <Card title={`Where the time of the last ${plural(latest.results.length, 'batch')} went`} actions={<small>{span(sum)} in all</small>}>
          <div class="stack tight">{slow && <p>{slow}</p>}<Bars label="Steps" bars={steps.slice(0, 6).map(one => ({ name: one.name, value: one.ms }))} show={span} /></div>
        </Card>
      )}
    </div>
  );
}

export function Running({ batch }: { batch: Batch }) {
  const share = batch.progress?.percentage ?? 0, index = Object.keys(batch.stats.indexUids)[0];
  return (
    <div class="tasks-batch">
      <header><strong dir="auto">{index ?? 'The server'}</strong><span class="muted">{Object.entries(batch.stats.types).map(([type, number]) => titleOfType(type) + (number > 1 ? ` × ${count(number)}` : '')).join(', ')}</span><span class="count">{share.toFixed(0)} %, started {ago(batch.startedAt)}</span></header>
      <div class="tasks-bar" role="progressbar" aria-label={`Batch ${batch.uid}`} aria-valuenow={Math.round(share)} aria-valuemin={0} aria-valuemax={100}><span style={{ width: share + '%' }} /></div>
      <ul class="tasks-steps">{batch.progress?.steps.map(step => <li key={step.currentStep}>{step.currentStep}{step.total > 1 && ` ${count(step.finished)} of ${count(step.total)}`}</li>)}</ul>
      {heldUp(batch) && <p class="tasks-todo"><Icon name="clock" /><span>{heldUp(batch)}</span></p>}
    </div>
  );
}

async function cancelWaiting() {
  if (!await confirm({ title: 'Cancel all open tasks?', text: 'Waiting and running tasks are not carried out; their writes must be sent again.', action: 'Cancel the tasks', danger: true })) return;
  await said(write('POST', '/tasks/cancel?statuses=enqueued,processing', { title: 'Cancel all open tasks', done: 'All open tasks are canceled' }));
}
async function deleteFinished() {
  const before = new Date(Date.now() - 7 * 86_400_000).toISOString();
  if (!await confirm({ title: 'Delete the records of finished tasks?', text: 'Deletes those that finished more than a week ago. Documents are not affected.', action: 'Delete the records', danger: true })) return;
  await said(write('DELETE', `/tasks?statuses=succeeded,failed,canceled&beforeFinishedAt=${encodeURIComponent(before)}`, { title: 'Delete the records of finished tasks' }));
}
const said = (work: Promise<unknown>) => work.catch(complain('The server refused it'));

const More = () => <Menu label="More actions for tasks" items={[
  { title: 'Cancel all open tasks …', icon: 'close', off: openTasks.value === 0 && 'No task is open.', onPick: cancelWaiting },
  { title: 'Delete old records …', icon: 'trash', danger: true, onPick: deleteFinished },
]} />;

export const backUp = (kind: 'snapshots' | 'dumps') => said(write('POST', '/' + kind, kind === 'dumps' ? { title: 'Write a dump', done: 'The dump is written' } : { title: 'Make a snapshot', done: 'The snapshot is made' }));

export const view: View = {
  id: 'tasks', title: 'Tasks', group: 'Operate', icon: 'tasks', words: 'batches queue failed cancel progress slow writes', component: Tasks,
  actions: () => [
    { id: 'failed', title: 'Show failed tasks', icon: 'warn', run: () => go({ view: 'tasks', params: { status: 'failed' } }) },
    { id: 'slow', title: 'Why are writes slow?', icon: 'clock', run: () => go({ view: 'tasks' }) },
    { id: 'snapshot', title: 'Make a snapshot', icon: 'download', run: () => backUp('snapshots') },
    { id: 'dump', title: 'Write a dump', icon: 'download', run: () => backUp('dumps') },
  ],
};
