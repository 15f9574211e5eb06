// Changes of settings: what is sent, what undoes it, what it costs, and how it reads.
import type { Json, JsonObject, Settings } from '../../api/types';
import { isObject } from '../../lib/json';

export const same = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other);
// Settings show no order of names: two objects with the same members are the same.
const canonical = (value: unknown): string => JSON.stringify(value ?? null, (_, one) => isObject(one) ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => a < b ? -1 : 1)) : one);

/** Settings that a change merges field by field; those in `BY_NAME` have objects by name that are merged as well. */
const MERGED = new Set(['typoTolerance', 'faceting', 'pagination', 'wordForms', 'bm25', 'completions', 'chat', 'embedders', 'rerankers']);
const BY_NAME = new Set(['embedders', 'rerankers']);

function merged(before: unknown, after: JsonObject, deep: boolean): JsonObject {
  const old = isObject(before) ? before : {}, change: JsonObject = {};
  for (const [name, value] of Object.entries(after)) {
    if (!same(old[name], value)) change[name] = deep && isObject(value) && isObject(old[name]) ? merged(old[name], value, false) : value;
  }
  for (const name of Object.keys(old)) if (!Object.hasOwn(after, name)) change[name] = null;
  return change;
}

/** What makes `after` of `before`, for PATCH: only what differs. */
export function patchOf(before: Settings, after: Settings): JsonObject {
  const change: JsonObject = {};
  for (const [name, value] of Object.entries(after) as [string, Json][]) {
    const old = before[name];
    if (same(old, value)) continue;
    change[name] = MERGED.has(name) && isObject(value) ? merged(old, value, BY_NAME.has(name)) : value;
  }
  return change;
}

// What the server shows masked is not sent back.
const withoutSecrets = (value: Json): Json => isObject(value)
  ? Object.fromEntries(Object.entries(value).filter(([name]) => name !== 'apiKey' && name !== 'headers').map(([name, one]) => [name, withoutSecrets(one)])) : value;

/** What undoes a change: the settings that it names, as they were before. */
export function undoOf(before: Settings, after: Settings, change: JsonObject): JsonObject {
  const wanted = (of: Settings) => Object.fromEntries(Object.keys(change).map(name => [name, BY_NAME.has(name) ? withoutSecrets(of[name] as Json ?? {}) : of[name] ?? null]));
  return patchOf(wanted(after), wanted(before));
}

/** The settings with a draft over them. */
export const over = (settings: Settings, draft: Settings): Settings => ({ ...settings, ...draft });

const COSTS = ['none', 'missing columns', 'vectors', 'reindexed'];
/** The dearest of the costs, in few words. A cost that is not known is said. */
export function costOf(costs: readonly (string | undefined)[]): { text: string; isFree: boolean } {
  let most = 0;
  for (const cost of costs) {
    if (cost === undefined) return { text: 'unknown', isFree: false };
    most = Math.max(most, COSTS.findIndex(one => cost.includes(one)), 0);
  }
  return { text: ['none', 'columns are built', 'vectors are made anew', 'documents are reindexed'][most] ?? 'none', isFree: most === 0 };
}

export interface Line { sign: '+' | '-' | ' '; text: string }
const LONGEST = 300;
/** Two values as lines that are the same, gone or new. */
export function linesOf(before: unknown, after: unknown): Line[] {
  const text = (value: unknown) => value === undefined || value === null ? [] : JSON.stringify(value, null, 2).split('\n').map(line => line.replace(/,$/, ''));
  const old = text(before), now = text(after);
  // The longest common lines, of what is between the same beginning and end.
  let from = 0, to = 0;
  while (from < Math.min(old.length, now.length) && old[from] === now[from]) from += 1;
  while (to < Math.min(old.length, now.length) - from && old.at(-1 - to) === now.at(-1 - to)) to += 1;
  const a = old.slice(from, old.length - to), b = now.slice(from, now.length - to);
  const kept = (lines: readonly string[]): Line[] => lines.map(line => ({ sign: ' ', text: line }));
  if (a.length > LONGEST || b.length > LONGEST) return [...signed('-', a), ...signed('+', b)];
  const best = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0)), at = (i: number, j: number) => best[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) best[i]![j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines = kept(old.slice(Math.max(0, from - 2), from));
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { lines.push(...kept([a[i] ?? ''])); i += 1; j += 1; }
    else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) { lines.push(...signed('-', [a[i] ?? ''])); i += 1; }
    else { lines.push(...signed('+', [b[j] ?? ''])); j += 1; }
  }
  return [...lines, ...kept(to ? old.slice(-to).slice(0, 2) : [])];
}
const signed = (sign: '+' | '-', lines: readonly string[]): Line[] => lines.map(text => ({ sign, text }));

/** The setting that an error is about: its code names it. */
export function settingOf(code: string, names: readonly string[]): string | undefined {
  const wanted = code.replace(/^invalid_settings_/, '').replaceAll('_', '').toLowerCase();
  return code.startsWith('invalid_settings_') ? names.find(name => name.toLowerCase() === wanted) : undefined;
}

// Ranking rules: texts and boosts.
export const isBoost = (rule: unknown): rule is JsonObject => isObject(rule);
/** Boosts take the place of the first boost that there is, or the end: as boosts of a search do. */
export function withBoosts(rules: readonly Json[], boosts: readonly Json[]): Json[] {
  const place = rules.findIndex(isBoost), plain = rules.filter(rule => !isBoost(rule)), at = place < 0 ? plain.length : rules.slice(0, place).filter(rule => !isBoost(rule)).length;
  return [...plain.slice(0, at), ...boosts, ...plain.slice(at)];
}
export function sayBoost(rule: Json): string {
  if (!isObject(rule)) return String(rule);
  const [kind = '', body] = Object.entries(rule)[0] ?? [], of = isObject(body) ? body : {};
  const by = of['weight'] === undefined ? '' : ` × ${String(of['weight'])}`;
  if (kind === 'boost') return `more ${String(of['field'])}${by}`;
  if (kind === 'decay') return `${String(of['field'])} near ${isObject(of['origin']) ? Object.values(of['origin']).join(', ') : String(of['origin'])}${by}`;
  return kind === 'boostIf' ? `${by.trim()} where ${typeof of['filter'] === 'string' ? of['filter'] : JSON.stringify(of['filter'])}`.trim() : JSON.stringify(rule);
}
