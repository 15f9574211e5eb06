// A task: how it ended, why, and what to do; how long it waited and worked, and with which others.
import { useState } from 'preact/hooks';
import { get, orNothing, Refused } from '../../api/client';
import { useResource } from '../../api/resource';
import { complain, isOpen, write } from '../../api/tasks';
import type { Batch, Task } from '../../api/types';
import { msOf, plural, span, when } from '../../lib/text';
import { go, hrefOf, setParams } from '../../state/address';
import { Bars, Button, CopyButton, Drawer, Facts, Failure, Icon, JsonView, Link, Loaded, StatusBadge } from '../../ui';
import { adviceFor, stepsOf, verdict, waited } from './advice';
import { titleOfType } from './names';
import { hasVectors, Running } from './index';

const LIVE_MS = 1000;

export const cancel = (uid: number) => write('POST', `/tasks/cancel?uids=${uid}`, { title: `Cancel task ${uid}`, done: `Task ${uid} is canceled` }).catch(complain(`Task ${uid} cannot be canceled`));

export function Sheet({ uid }: { uid: string }) {
  const [isLive, setLive] = useState(true);
  const found = useResource(async signal => {
    const task = await get<Task>('/tasks/' + encodeURIComponent(uid), { signal });
    const batch = task.batchUid === null || task.batchUid === undefined ? null : await orNothing(get<Batch>('/batches/' + task.batchUid, { signal }));
    setLive(isOpen(task));
    return { task, batch };
  }, [uid], { everyMs: isLive ? LIVE_MS : undefined });
  const open = found.data && isOpen(found.data.task);
  return (
    <Drawer title={found.data ? titleOfType(found.data.task.type) : `Task ${uid}`} onClose={() => setParams({ task: null })} actions={open && <Button onClick={() => cancel(found.data?.task.uid ?? 0)}>Cancel the task</Button>}>
      <Loaded of={found}>{({ task, batch }) => <Inside task={task} batch={batch} />}</Loaded>
    </Drawer>
  );
}

function Inside({ task, batch }: { task: Task; batch: Batch | null }) {
  const advice = task.error && adviceFor(task.error.code), wait = waited(task), ms = msOf(task.duration), steps = batch ? stepsOf([batch], hasVectors) : [], slow = verdict(steps);
  const index = task.indexUid;
  return (
    <>
      {task.error && <Failure error={new Refused(400, task.error)} />}
      {advice && <p class="tasks-todo"><Icon name="info" /><span>{advice}</span></p>}
      {batch?.progress && <Running batch={batch} />}
      <Facts facts={[
        ['Status', <span class="row"><StatusBadge status={task.status} />{task.canceledBy !== null && task.canceledBy !== undefined && <Link href={hrefOf({ params: { task: String(task.canceledBy) } })} onGo={() => setParams({ task: String(task.canceledBy) })}>by task {task.canceledBy}</Link>}</span>],
        ['Task', <span class="row">{task.uid}<CopyButton text={String(task.uid)} /></span>],
        ['Index', index ? <Link href={hrefOf({ view: 'documents', index })} onGo={() => go({ view: 'documents', index })}>{index}</Link> : '–'],
        ['Enqueued', when(task.enqueuedAt)],
        ['Waited', wait === null ? '–' : span(wait)],
        ['Ran', ms === null ? '–' : span(ms)],
        ['Batch', batch ? (batch.stats.totalNbTasks > 1 ? `with ${plural(batch.stats.totalNbTasks - 1, 'other task')}` : 'on its own') : '–'],
      ]} />
      {wait !== null && ms !== null && wait > 4 * ms && wait > 5000 && <p class="tasks-todo"><Icon name="clock" /><span>It waited far longer than it ran, for earlier tasks: the tasks of an index run one after the other.</span></p>}
      {steps.length > 0 && <section class="stack tight"><h3>Where the time went</h3>{slow && <p class="muted">{slow}</p>}<Bars label="Steps" bars={steps.slice(0, 8).map(one => ({ name: one.name, value: one.ms }))} show={span} /></section>}
      {task.details && Object.keys(task.details).length > 0 && <section class="stack tight"><h3>Details</h3><JsonView value={task.details} /></section>}
    </>
  );
}
