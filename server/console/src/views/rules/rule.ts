// Rules as people think of them: when they act, and which documents they put where.
import type { Json, JsonObject, Rule } from '../../api/types';
import { quoted } from '../../lib/filters';
import { isObject } from '../../lib/json';
import { count } from '../../lib/text';

export interface Pin { id: string; index: string | null; position: number }
export type When = 'words' | 'query' | 'empty' | 'always';
export interface Draft { uid: string; description: string; active: boolean; precedence: number | null; when: When; words: string; start: string; end: string; values: [string, string][]; pins: Pin[] }
export type Listed = Rule & { precedence?: number; lastUpdatedAt?: string };

const text = (value: unknown) => typeof value === 'string' ? value : '';

export const EMPTY: Draft = { uid: '', description: '', active: true, precedence: null, when: 'words', words: '', start: '', end: '', values: [], pins: [] };

/** Minutes of this place, as fields of dates have them, and back. */
export function toLocal(time: string): string {
  const at = new Date(time);
  if (!time || Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
export const fromLocal = (local: string): string | null => local && !Number.isNaN(Date.parse(local)) ? new Date(local).toISOString() : null;

const asText = (value: Json) => typeof value === 'string' ? value : JSON.stringify(value);
const asValue = (written: string): Json => /^(true|false|-?\d+(\.\d+)?)$/.test(written) ? JSON.parse(written) as Json : written;

export function draftOf(rule: Listed): Draft {
  const conditions = rule.conditions ?? {}, query = isObject(conditions['query']) ? conditions['query'] : {}, time = isObject(conditions['time']) ? conditions['time'] : {}, filter = isObject(conditions['filter']) ? conditions['filter'] : {};
  const values = isObject(filter['values']) ? Object.entries(filter['values']) : [];
  return {
    uid: rule.uid, description: rule.description ?? '', active: rule.active !== false, precedence: rule.precedence ?? null,
    when: typeof query['words'] === 'string' ? 'words' : query['isEmpty'] === true ? 'empty' : query['isEmpty'] === false ? 'query' : 'always',
    words: text(query['words']), start: toLocal(text(time['start'])), end: toLocal(text(time['end'])), values: values.map(([name, value]) => [name, asText(value)]),
    pins: (rule.actions ?? []).flatMap(action => {
      const selector = isObject(action['selector']) ? action['selector'] : {}, pin = isObject(action['action']) ? action['action'] : {};
      return typeof selector['id'] === 'string' && typeof pin['position'] === 'number' ? [{ id: selector['id'], index: typeof selector['indexUid'] === 'string' ? selector['indexUid'] : null, position: pin['position'] }] : [];
    }).sort((one, other) => one.position - other.position),
  };
}

/** The whole rule, for PATCH: what it has no more is null. */
export function bodyOf(draft: Draft): JsonObject {
  const start = fromLocal(draft.start), end = fromLocal(draft.end), values = draft.values.filter(([name, value]) => name && value);
  const query: Json = { words: { words: draft.words.trim() }, query: { isEmpty: false }, empty: { isEmpty: true }, always: null }[draft.when];
  return {
    description: draft.description.trim() || null, active: draft.active, precedence: draft.precedence,
    conditions: { query, time: start || end ? { start, end } : null, filter: values.length ? { values: Object.fromEntries(values.map(([name, value]) => [name, asValue(value)])) } : null },
    actions: draft.pins.map(pin => ({ selector: { ...(pin.index === null ? {} : { indexUid: pin.index }), id: pin.id }, action: { type: 'pin', position: pin.position } })),
  };
}
export const filterOf = (draft: Draft): string[] => draft.values.filter(([name, value]) => name && value).map(([name, value]) => `${quoted(name)} = ${typeof asValue(value) === 'string' ? quoted(value) : value}`);

/** A position behind all hits: a document that is pinned there is the last of few hits, and on no page of many. */
export const LAST = 1_000_000;
const PLACES = ['first', 'second', 'third'];
export const placeName = (position: number) => PLACES[position] ?? (position >= LAST ? 'last' : `at position ${count(position + 1)}`);
export interface Said { when: string; then: string }
/** “space ship” → Alien first. */
export function say(draft: Draft, titleOf: (pin: Pin) => string): Said {
  const when = { words: `“${draft.words.trim() || '…'}”`, query: 'Any query', empty: 'Empty query', always: 'Every search' }[draft.when];
  const within = draft.values.filter(([name, value]) => name && value).map(([name, value]) => `${name}: ${value}`);
  const day = (local: string) => { const at = new Date(local); return Number.isNaN(at.getTime()) ? '' : at.toLocaleDateString('en', { dateStyle: 'medium' }); };
  const time = [draft.start && `from ${day(draft.start)}`, draft.end && `until ${day(draft.end)}`].filter(Boolean).join(' ');
  return { when: [when, within.length && `within ${within.join(', ')}`, time].filter(Boolean).join(', '), then: draft.pins.map(pin => `${titleOf(pin)} ${placeName(pin.position)}`).join(', ') || 'nothing yet' };
}

/** Whether it acts now, as far as time says. */
export function timeState(draft: Draft, now: number): 'over' | 'later' | 'now' {
  if (draft.end && Date.parse(draft.end) < now) return 'over';
  return draft.start && Date.parse(draft.start) > now ? 'later' : 'now';
}

/** Hits with the pinned ones in their places. */
export function pinned<T>(ranked: readonly T[], idOf: (hit: T) => string, pins: readonly { id: string; position: number }[], find: (id: string) => T): { hit: T; isPinned: boolean }[] {
  const ids = new Set(pins.map(pin => pin.id)), rest = ranked.filter(hit => !ids.has(idOf(hit))), waiting = [...pins].sort((one, other) => one.position - other.position), all: { hit: T; isPinned: boolean }[] = [];
  while (rest.length || waiting.length) {
    const next = waiting[0];
    if (next && (next.position <= all.length || !rest.length)) { waiting.shift(); all.push({ hit: find(next.id), isPinned: true }); continue; }
    const hit = rest.shift();
    if (hit !== undefined) all.push({ hit, isPinned: false });
  }
  return all;
}

/** A name for a rule, as names may be, that no other has. */
export function nameFor(words: string, taken: readonly string[]): string {
  const base = words.normalize('NFKD').toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 60) || 'rule';
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (!taken.includes(name)) return name;
  }
}
export const nameFault = (uid: string): string | null => /^[A-Za-z0-9_-]{1,400}$/.test(uid) ? null : uid ? 'Use only letters from a to z, digits, - and _.' : 'Enter a name.';
