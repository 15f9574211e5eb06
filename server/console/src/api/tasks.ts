// Writes, and what becomes of them. Each write of the console is followed until it ends, over a reload as well, and one that fails is always reported.
import { signal } from '@preact/signals';
import { messageOf } from '../lib/text';
import { changeToast, closeToast, toast } from '../state/toasts';
import { Away, get, isAborted, Refused, request, type Method, type Options } from './client';
import type { Enqueued, ListOf, Task } from './types';

export interface Said {
  /** What is done, as people say it: "Delete films". */
  title: string;
  /** What the toast says when it is done; the title if there is none. */
  done?: string;
  undo?: () => unknown;
  /** Success is seen elsewhere: only a failure is said. */
  quiet?: boolean;
}
interface Followed extends Said { uid: number; toastId: number | null; ends: ((task: Task) => void)[] }

const STORED = 'lamina.followed';
const FIRST_MS = 150, MOST_MS = 2000, BUSY_AFTER_MS = 400;
const followed = new Map<number, Followed>();
let timer: ReturnType<typeof setTimeout> | undefined, pause = FIRST_MS;

export const isOpen = (task: { status: string }) => task.status === 'enqueued' || task.status === 'processing';

/** Grows when something may have changed on the server: resources load anew. */
export const revision = signal(0);
export const bump = () => { revision.value = revision.peek() + 1; };

/**
 * Writes. It is rejected when the server refuses the request itself (show that at the control). `done` is the task when it has ended, well or not; a toast has
 * said so by then.
 */
export async function write(method: Method, path: string, said: Said, options: Options = {}): Promise<{ uid: number | null; done: Promise<Task | null> }> {
  const answer = await request<Enqueued | undefined>(method, path, options);
  const uid = answer?.taskUid ?? (answer && 'enqueuedAt' in answer ? answer.uid : undefined);
  if (uid === undefined) {
    bump();
    if (!said.quiet) toast({ tone: 'good', title: said.done ?? said.title, undo: said.undo });
    return { uid: null, done: Promise.resolve(null) };
  }
  return { uid, done: follow(uid, said) };
}

/** Writes and waits: a task that failed is an error as well, after it was said. */
export async function writeAndWait(method: Method, path: string, said: Said, options: Options = {}): Promise<Task | null> {
  const task = await (await write(method, path, said, options)).done;
  if (task?.error) throw new Refused(400, task.error);
  return task;
}

/** Says that something failed, where no control is to blame and no task. */
export const complain = (title: string) => (error: unknown) => { toast({ tone: 'bad', title, text: messageOf(error), link: error instanceof Refused ? error.link : undefined }); };

export function follow(uid: number, said: Said): Promise<Task> {
  return new Promise(resolve => {
    const there = followed.get(uid);
    if (there) {
      there.ends.push(resolve);
      return;
    }
    const one: Followed = { ...said, uid, toastId: null, ends: [resolve] };
    followed.set(uid, one);
    store();
    if (!said.quiet) setTimeout(() => {
      if (followed.has(uid)) one.toastId = toast({ tone: 'busy', title: said.title, task: uid });
    }, BUSY_AFTER_MS);
    pause = FIRST_MS;
    plan();
  });
}

function store() {
  const kept = [...followed.values()].map(({ uid, title, done, quiet }) => ({ uid, title, done, quiet }));
  try { sessionStorage.setItem(STORED, JSON.stringify(kept)); } catch { /* They are followed as long as the page lasts. */ }
}

/** Goes on with what an earlier page of this tab followed. */
export function resume() {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? '[]');
    if (Array.isArray(kept)) for (const one of kept) if (Number.isInteger(one?.uid) && typeof one.title === 'string') void follow(one.uid, one);
  } catch { /* What is stored has not the form: nothing is followed. */ }
}

function plan() {
  clearTimeout(timer);
  if (followed.size) timer = setTimeout(look, pause);
}

async function look() {
  const uids = [...followed.keys()];
  try {
    const found = await get<ListOf<Task>>('/tasks', { query: { uids: uids.join(','), limit: uids.length } });
    const there = new Set(found.results.map(task => task.uid));
    // In their order: the latest toast is that of the latest write.
    for (const task of [...found.results].reverse()) if (!isOpen(task)) end(task);
    // Someone has deleted them, or the server was set up anew.
    for (const uid of uids) if (!there.has(uid)) drop(uid, 'The server no longer knows this task.');
  } catch (error) {
    if (error instanceof Refused) for (const uid of uids) drop(uid, 'The result is unknown: ' + error.message);
    else if (!(error instanceof Away) && !isAborted(error)) throw error;
  }
  pause = Math.min(MOST_MS, pause * 1.5);
  plan();
}

function end(task: Task) {
  const one = followed.get(task.uid);
  if (!one) return;
  followed.delete(task.uid);
  store();
  bump();
  report(one, task);
  for (const resolve of one.ends) resolve(task);
}

function report(one: Followed, task: Task) {
  if (task.status === 'succeeded') {
    const said = { tone: 'good' as const, title: one.done ?? one.title, task: task.uid, undo: one.undo };
    if (one.quiet) return;
    if (one.toastId === null) toast(said);
    else changeToast(one.toastId, said);
    return;
  }
  if (one.toastId !== null) closeToast(one.toastId);
  const text = task.error?.message ?? (task.status === 'canceled' ? 'It was canceled.' : task.status);
  toast({ tone: task.status === 'canceled' ? 'warn' : 'bad', title: one.title + (task.status === 'canceled' ? ': canceled' : ' failed'), text, task: task.uid, link: task.error?.link });
}

function drop(uid: number, text: string) {
  const one = followed.get(uid);
  if (!one) return;
  followed.delete(uid);
  store();
  if (one.toastId !== null) closeToast(one.toastId);
  toast({ tone: 'warn', title: one.title, text, task: uid });
}
