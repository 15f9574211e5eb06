// What happened to an index: its kept states, the tasks that made them, and the way back.
import { get, orUsual, route } from '../../api/client';
import { useResource } from '../../api/resource';
import { writeAndWait } from '../../api/tasks';
import type { JsonObject, ListOf, Task } from '../../api/types';
import { ago, plural, when } from '../../lib/text';
import { go, hrefOf } from '../../state/address';
import { toast } from '../../state/toasts';
import { Badge, Button, confirm, Drawer, Empty, Link, Loaded } from '../../ui';
import { titleOfSetting } from './known';

interface Generation { generation: number; committedAt: string; numberOfDocuments: number; batchUid: number | null; isCurrent: boolean; damage?: string }
interface Event { at: string; state: Generation | null; tasks: Task[] }
const STATES = 60, TASKS = 200;

/** States with the tasks that made them, the latest first; tasks that changed settings stand alone where their state is not kept. */
export function eventsOf(states: readonly Generation[], tasks: readonly Task[]): Event[] {
  const used = new Set<number>(), all: Event[] = states.map(state => {
    const made = tasks.filter(task => state.batchUid !== null && task.batchUid === state.batchUid);
    for (const task of made) used.add(task.uid);
    return { at: state.committedAt, state, tasks: made };
  });
  for (const task of tasks) if (!used.has(task.uid) && task.type === 'settingsUpdate' && task.status === 'succeeded') all.push({ at: task.finishedAt ?? task.enqueuedAt, state: null, tasks: [task] });
  return all.sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
}
export function sayTask(task: Task): string {
  const details: JsonObject = task.details ?? {}, number = (name: string) => typeof details[name] === 'number' ? details[name] : 0;
  if (task.type === 'settingsUpdate') return Object.keys(details).length ? 'Settings: ' + Object.keys(details).filter(name => name !== 'embeddingFailures').map(titleOfSetting).join(', ') : 'Settings: all reset';
  if (task.type === 'documentAdditionOrUpdate') return `${plural(number('indexedDocuments'), 'document')} written`;
  if (task.type === 'documentDeletion') return `${plural(number('deletedDocuments'), 'document')} deleted`;
  return task.type;
}

async function load(index: string, signal: AbortSignal): Promise<{ events: Event[]; isKept: boolean }> {
  const states = await get<ListOf<Generation>>(route('indexes', index, 'generations'), { query: { limit: STATES }, signal });
  // A key that may not see tasks sees the states.
  const tasks = await orUsual(get<ListOf<Task>>('/tasks', { query: { indexUids: index, limit: TASKS, statuses: 'succeeded' }, signal }), { results: [] as Task[] });
  return { events: eventsOf(states.results, tasks.results), isKept: (states.total ?? states.results.length) > 1 };
}

export function History({ index, onClose }: { index: string; onClose: () => void }) {
  const found = useResource(signal => load(index, signal), [index]);
  const restore = async (state: Generation) => {
    if (!await confirm({ title: `Go back to ${when(state.committedAt)}?`, text: `Restores the documents and settings of that time: ${plural(state.numberOfDocuments, 'document')}. You can undo it.`, action: 'Restore' })) return;
    const path = route('indexes', index, 'restore');
    let before: unknown;
    const undo = () => typeof before === 'number' ? writeAndWait('POST', path, { title: 'Undo the restore', done: `${index} is as before` }, { body: { at: before } }).catch(() => { /* A message says so. */ }) : undefined;
    await writeAndWait('POST', path, { title: `Restore ${index}`, done: `${index} is as it was on ${when(state.committedAt)}`, quiet: true }, { body: { at: state.generation } }).then(task => {
      before = task?.details?.['before'];
      toast({ tone: 'good', title: `${index} is as it was on ${when(state.committedAt)}`, task: task?.uid, undo });
    }).catch(() => { /* A message says so. */ });
  };
  return (
    <Drawer title={`History of ${index}`} onClose={onClose}>
      <Loaded of={found} isEmpty={data => data.events.length === 0} empty={<Empty icon="clock" title="No changes yet" />}>
        {({ events, isKept }) => (
          <>
            {!isKept && <p class="note">This server keeps no earlier states. Start it with <code>--keep 24h</code> to be able to restore them.</p>}
            <ol class="history">{events.map((one, place) => (
              <li key={place}>
                <div class="row spread"><span><strong>{one.tasks.length ? one.tasks.slice(0, 3).map(sayTask).join('; ') : 'Earlier state'}{one.tasks.length > 3 && ` and ${one.tasks.length - 3} more`}</strong></span>
                  {one.state?.isCurrent ? <Badge tone="accent">now</Badge> : one.state && <Button size="s" icon="undo" onClick={() => one.state && restore(one.state)}>Restore</Button>}</div>
                <p class="muted"><span title={when(one.at)}>{ago(one.at)}</span>{one.state && ` · ${plural(one.state.numberOfDocuments, 'document')}`}{one.tasks[0] && <> · <Link href={hrefOf({ view: 'tasks', params: { task: String(one.tasks[0].uid) } })} onGo={() => { const uid = one.tasks[0]?.uid; onClose(); go({ view: 'tasks', params: { task: String(uid) } }); }}>Task {one.tasks[0].uid}</Link></>}</p>
                {one.state?.damage && <p class="bad-text">{one.state.damage}</p>}
              </li>
            ))}</ol>
          </>
        )}
      </Loaded>
    </Drawer>
  );
}
