// Clones of indexes that settings are tried on, so that the index which others search never changes. They share its files. They go when they are not used any more,
// when the tab closes, and, when neither was possible, on the next visit.
import { effect } from '@preact/signals';
import { Away, get, post, Refused, request, route } from '../api/client';
import type { Enqueued, IndexInfo, ListOf, Task } from '../api/types';
import { isTrial, TRIAL } from '../lib/trials';
import { key, wantsKey } from './session';

const AGE_MOST_MS = 24 * 3600 * 1000, POLL_MS = 200;
const random = () => Math.random().toString(36).slice(2, 10).padEnd(8, '0');
const tab = random();

/** The tab that made a clone, and when; null for a name that is none. */
export function madeBy(name: string): { tab: string; at: number } | null {
  const found = /^lamina-trial-([a-z0-9]{8})-([a-z0-9]{6,10})-[a-z0-9]{8}$/.exec(name);
  return found ? { tab: found[1] ?? '', at: parseInt(found[2] ?? '', 36) } : null;
}
/** Clones that nobody uses: of tabs that are closed, in this browser; and old ones of others. */
export const leftOver = (names: readonly string[], own: ReadonlySet<string>, open: ReadonlySet<string> | null, now: number) => names.filter(name => {
  const made = madeBy(name);
  return made !== null && (now - made.at > AGE_MOST_MS || (own.has(name) && open !== null && !open.has(made.tab)));
});

// Names that this browser has made, for its next visit.
const STORED = 'lamina.trials';
function stored(): string[] {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(STORED) ?? '[]');
    return Array.isArray(all) ? all.filter((one): one is string => typeof one === 'string' && isTrial(one)) : [];
  } catch { return []; }
}
function store(change: (all: string[]) => string[]) {
  try { localStorage.setItem(STORED, JSON.stringify(change(stored()))); } catch { /* Then only their age tells. */ }
}

const mine = new Set<string>();
const lockOf = (name: string) => 'lamina-tab-' + name;

/** Carries out a write of a trial: nobody is told of it, and its failure is an error here. */
export async function carryOut(method: 'POST' | 'PATCH' | 'DELETE' | 'PUT', path: string, body?: unknown, signal?: AbortSignal): Promise<Task> {
  const sent = await request<Enqueued & Task>(method, path, { body, query: { wait: 'searchable' }, signal });
  const uid = sent.taskUid ?? sent.uid ?? 0;
  let task: Task = { ...sent, uid };
  while (task.status === 'enqueued' || task.status === 'processing') {
    await new Promise(done => setTimeout(done, POLL_MS));
    task = await get<Task>(route('tasks', uid), { signal });
  }
  if (task.error) throw new Refused(400, task.error);
  if (task.status === 'canceled') throw new Error('Somebody canceled it.');
  return task;
}

const nameIt = () => `${TRIAL}${tab}-${Date.now().toString(36)}-${random()}`;
async function begin(make: (name: string) => Promise<unknown>): Promise<string> {
  const name = nameIt();
  // Before it is there: one that is made while the tab closes goes as well.
  mine.add(name);
  store(all => [...all, name]);
  try {
    await make(name);
    return name;
  } catch (error) {
    void dropTrial(name);
    throw error;
  }
}
export const cloneOf = (index: string) => begin(name => carryOut('POST', route('indexes', index, 'clone'), { uid: name }));
export const emptyTrial = (primaryKey: string) => begin(name => carryOut('POST', '/indexes', { uid: name, primaryKey }));

export async function dropTrial(name: string) {
  try {
    await request('DELETE', route('indexes', name));
  } catch (error) {
    // One that is gone is what is wanted; any other is tried on the next visit.
    if (!(error instanceof Refused && error.code === 'index_not_found')) return;
  }
  mine.delete(name);
  store(all => all.filter(one => one !== name));
}

/** The names of tabs that are open; null where the browser does not say. */
async function openTabs(): Promise<Set<string> | null> {
  if (!navigator.locks) return null;
  const { held = [] } = await navigator.locks.query();
  return new Set(held.flatMap(one => one.name?.startsWith(lockOf('')) ? [one.name.slice(lockOf('').length)] : []));
}

async function removeLeftOver() {
  try {
    const there = (await get<ListOf<IndexInfo>>('/indexes', { query: { limit: 1000 } })).results.map(one => one.uid).filter(isTrial);
    const own = new Set(stored());
    for (const name of leftOver(there, own, await openTabs(), Date.now())) await dropTrial(name);
    store(all => all.filter(name => there.includes(name) || mine.has(name)));
  } catch (error) {
    if (!(error instanceof Refused || error instanceof Away)) throw error;
  }
}

// A request that outlives the page. A page that may come back keeps its clones no less: it makes new ones.
function onClose() {
  for (const name of mine) void fetch(route('indexes', name), { method: 'DELETE', keepalive: true, headers: key.peek() ? { Authorization: 'Bearer ' + key.peek() } : {} }).catch(() => {});
}

let isReady = false;
effect(() => {
  if (isReady || wantsKey.value !== null || typeof addEventListener === 'undefined' || typeof navigator === 'undefined') return;
  isReady = true;
  addEventListener('pagehide', onClose);
  // Held as long as the tab lives: other tabs see by it that its clones are used.
  void navigator.locks?.request(lockOf(tab), () => new Promise(() => {}));
  setTimeout(() => void removeLeftOver(), 1000);
});
export const search = <T>(index: string, body: unknown, signal?: AbortSignal) => post<T>(route('indexes', index, 'search'), body, { signal });
