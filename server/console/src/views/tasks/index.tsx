import { get } from '../../api/client';
import { useResource } from '../../api/resource';
import type { ListOf, Task } from '../../api/types';
import { ago, msOf, span } from '../../lib/text';
import { go, param, setParams } from '../../state/address';
import { Drawer, Empty, Facts, Failure, JsonView, Link, Loaded, PageHead, StatusBadge, Table } from '../../ui';
import { Refused } from '../../api/client';
import type { View } from '../types';

const took = (task: Task) => { const ms = msOf(task.duration); return ms === null ? '–' : span(ms); };

function Tasks() {
  const found = useResource(signal => get<ListOf<Task>>('/tasks', { query: { limit: 50 }, signal }), []);
  return (
    <>
      <PageHead title="Tasks" about="Every write is a task: what waits, what runs, and how it ended." />
      <Loaded of={found} isEmpty={all => all.results.length === 0} empty={<Empty icon="tasks" title="Nothing was written yet." />}>
        {all => <Table label="Tasks" rows={all.results} keyOf={task => String(task.uid)} picked={param('task')} onPick={task => setParams({ task: String(task.uid) })} columns={[
          { id: 'uid', title: 'Task', cell: task => task.uid },
          { id: 'status', title: 'Status', cell: task => <StatusBadge status={task.status} /> },
          { id: 'type', title: 'Type', cell: task => task.type },
          { id: 'index', title: 'Index', grow: true, cell: task => <span dir="auto">{task.indexUid}</span> },
          { id: 'took', title: 'Took', number: true, cell: took },
          { id: 'when', title: 'When', number: true, cell: task => ago(task.enqueuedAt) },
        ]} />}
      </Loaded>
      {param('task') && <Sheet uid={param('task')} />}
    </>
  );
}

function Sheet({ uid }: { uid: string }) {
  const found = useResource(signal => get<Task>('/tasks/' + encodeURIComponent(uid), { signal }), [uid]);
  return (
    <Drawer title={`Task ${uid}`} onClose={() => setParams({ task: null })}>
      <Loaded of={found}>
        {task => <>
          {task.error && <Failure error={new Refused(400, task.error)} />}
          <Facts facts={[['Status', <StatusBadge status={task.status} />], ['Type', task.type], ['Index', task.indexUid ? <Link href={'?index=' + encodeURIComponent(task.indexUid)} onGo={() => go({ view: 'search', index: task.indexUid ?? '' })}>{task.indexUid}</Link> : '–'], ['Took', took(task)], ['Enqueued', ago(task.enqueuedAt)]]} />
          {task.details && <JsonView value={task.details} />}
        </>}
      </Loaded>
    </Drawer>
  );
}

export const view: View = { id: 'tasks', title: 'Tasks', group: 'Operate', icon: 'tasks', words: 'batches queue failed cancel progress', component: Tasks };
