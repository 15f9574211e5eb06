// The indexes that there are, and the one that is looked at.
import { computed, effect, signal } from '@preact/signals';
import { Away, get, isAborted, orUsual, Refused, route } from '../api/client';
import { revision } from '../api/tasks';
import type { Alias, IndexInfo, IndexStats, ListOf, Settings, Stats } from '../api/types';
import { address, go, HOME } from './address';
import { isTrial } from '../lib/trials';
import { preference } from './preferences';
import { wantsKey } from './session';

const MOST = 1000;
export interface Known { state: 'loading' | 'ready' | 'refused'; list: readonly IndexInfo[]; aliases: readonly Alias[]; stats: Stats | null; total: number; error?: unknown }
export const known = signal<Known>({ state: 'loading', list: [], aliases: [], stats: null, total: 0 });
const remembered = preference('index', '');
/** The index that is shown though the address names none: it stays, whatever others create and delete meanwhile. */
const shown = signal('');
export const forget = (name: string) => { if (shown.peek() === name) shown.value = ''; };

export type Current = { kind: 'loading' } | { kind: 'none' } | { kind: 'missing'; uid: string } | { kind: 'there'; uid: string };

/** The index that is looked at. One that the address names is it, or is missing: never another one. */
export const current = computed<Current>(() => {
  const wanted = address.value.index, { state, list, aliases, total } = known.value;
  if (state === 'loading') return { kind: 'loading' };
  if (!wanted && list.length === 0) return { kind: 'none' };
  const named = wanted || shown.value;
  if (named) {
    const isThere = state === 'refused' || total > list.length || list.some(one => one.uid === named) || aliases.some(one => one.alias === named);
    return { kind: isThere ? 'there' : 'missing', uid: named };
  }
  if (remembered.value && list.some(one => one.uid === remembered.value)) return { kind: 'there', uid: remembered.value };
  return list[0] ? { kind: 'there', uid: list[0].uid } : { kind: 'none' };
});
/** Its name; empty while there is none. */
export const uid = computed(() => current.value.kind === 'there' ? current.value.uid : '');

/** Goes to an index that was just made. If it is shown already, the address names it from now on, and what was asked of it stays. */
export const arrive = (name: string) => uid.peek() === name ? go({ index: name, params: Object.fromEntries(address.peek().params) }, { replace: true }) : go({ index: name, view: HOME });

export const documentsOf = (name: string): number | null => known.value.stats?.indexes[name]?.numberOfDocuments ?? null;
export const switchIndex = (name: string) => {
  remembered.value = name;
  go({ index: name });
};

let number = 0;
export async function loadIndexes() {
  const mine = ++number;
  try {
    const [list, stats, aliases] = await Promise.all([
      get<ListOf<IndexInfo>>('/indexes', { query: { limit: MOST } }),
      orUsual(get<Stats>('/stats'), null),
      orUsual(get<ListOf<Alias>>('/aliases', { query: { limit: MOST } }), { results: [] }),
    ]);
    // Clones that settings are tried on are nobody's index.
    const there = list.results.filter(one => !isTrial(one.uid));
    if (mine === number) known.value = { state: 'ready', list: there, aliases: aliases.results, stats, total: (list.total ?? list.results.length) - list.results.length + there.length };
  } catch (error) {
    if (mine !== number) return;
    // A key that may only search works with the index that the address names.
    if (error instanceof Refused) known.value = { ...known.peek(), state: 'refused', error };
    else if (!(error instanceof Away)) throw error;
  }
}

/** What is known of the index that is looked at. */
export interface About { uid: string; primaryKey: string | null; settings: Settings; stats: IndexStats | null; fields: readonly string[]; state: 'loading' | 'ready' }
const nothing = (name: string): About => ({ uid: name, primaryKey: null, settings: {}, stats: null, fields: [], state: 'loading' });
export const about = signal<About>(nothing(''));

/** Names of fields that the documents have, most frequent first, then those that only settings name. */
export function fieldsOf(stats: IndexStats | null, settings: Settings): string[] {
  const byCount = Object.entries(stats?.fieldDistribution ?? {}).sort(([, one], [, other]) => other - one).map(([name]) => name);
  const named = [settings.searchableAttributes, settings.filterableAttributes, settings.sortableAttributes]
    .flatMap(list => (list ?? []).filter((one): one is string => typeof one === 'string' && !one.includes('*')));
  return [...new Set([...byCount, ...named])];
}

/** Whether searches of the index are recorded: what came of them is then its home. */
export const isRecorded = computed(() => (about.value.settings['analytics'] as { searches?: unknown } | null | undefined)?.searches === true);
export const home = computed(() => isRecorded.value ? 'analytics' : HOME);

let asked = 0;
async function loadAbout(name: string) {
  const mine = ++asked;
  try {
    const [info, settings, stats] = await Promise.all([
      orUsual(get<IndexInfo>(route('indexes', name)), null),
      orUsual(get<Settings>(route('indexes', name, 'settings')), {}),
      orUsual(get<IndexStats>(route('indexes', name, 'stats')), null),
    ]);
    if (mine === asked) about.value = { uid: name, primaryKey: info?.primaryKey ?? null, settings, stats, fields: fieldsOf(stats, settings), state: 'ready' };
  } catch (error) {
    if (!(error instanceof Away) && !isAborted(error)) throw error;
  }
}

export function watchIndexes() {
  effect(() => { shown.value = uid.value || shown.peek(); });
  effect(() => {
    void revision.value;
    if (wantsKey.value === null) void loadIndexes();
  });
  effect(() => {
    void revision.value;
    const name = uid.value;
    if (about.peek().uid !== name) about.value = nothing(name);
    if (name) void loadAbout(name);
  });
  // An address that names nothing leads home, unless people have begun to do something.
  let isBare = !location.search;
  effect(() => {
    if (!isBare || about.value.state === 'loading') return;
    isBare = false;
    const { view, params } = address.peek();
    if (view === HOME && !params.size && document.activeElement === document.body) go({ view: home.peek() }, { replace: true });
  });
}
