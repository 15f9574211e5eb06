// What the columns of a file hold: guessed from its beginning, chosen by people, and then each cell is that or its row is refused.
import type { Json, JsonObject } from '../api/types';
import { plural } from './text';

export type Kind = 'text' | 'number' | 'boolean' | 'list' | 'skip';
export interface Column {
  name: string;
  /** Of a JSON document: what its values are. */
  kind: Kind | 'object' | 'mixed';
  examples: string[];
  /** Of the rows that were looked at: how many have a value, and how many different ones. */
  filled: number;
  distinct: number;
  /** Values that are not what the column is. */
  odd: number;
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const MOSTLY = 0.9, EXAMPLES = 3, DISTINCT_MOST = 2000, EXAMPLE_LENGTH = 60;

/** A name and the type that the header gives it: "price:number". */
export function titleOf(title: string): { name: string; kind: Kind | null } {
  const found = /^(.*):(string|number|boolean)$/s.exec(title);
  return found ? { name: found[1] ?? '', kind: found[2] === 'string' ? 'text' : found[2] as Kind } : { name: title, kind: null };
}

/** The JSON of a cell; null where it is not what the column is. */
export function cellAs(cell: string, kind: Kind): string | null {
  const trimmed = cell.trim();
  if (cell === '' || (kind !== 'text' && trimmed === '')) return 'null';
  if (kind === 'text') return JSON.stringify(cell);
  if (kind === 'boolean') return trimmed === 'true' || trimmed === 'false' ? trimmed : null;
  if (kind === 'list') return JSON.stringify(listOf(trimmed));
  if (NUMBER.test(trimmed)) return trimmed;
  return /^[+-]?[\d.]+(?:[eE][+-]?\d+)?$/.test(trimmed) && Number.isFinite(Number(trimmed)) ? String(Number(trimmed)) : null;
}

function listOf(text: string): Json[] {
  if (text.startsWith('[')) {
    try {
      const value: unknown = JSON.parse(text);
      if (Array.isArray(value)) return value as Json[];
    } catch { /* It is text with a bracket. */ }
  }
  const at = ['|', ';', ','].find(one => text.includes(one));
  return at ? text.split(at).map(one => one.trim()).filter(Boolean) : [text];
}

export function guess(cells: readonly string[]): Kind {
  const there = cells.map(one => one.trim()).filter(Boolean);
  const share = (fits: (cell: string) => boolean) => there.length > 0 && there.filter(fits).length >= there.length * MOSTLY;
  if (share(one => NUMBER.test(one))) return 'number';
  if (share(one => one === 'true' || one === 'false')) return 'boolean';
  return share(one => one.startsWith('[') && one.endsWith(']')) ? 'list' : 'text';
}

/** The columns of rows of CSV. Of those with the same name, the last counts, as on the server. */
export function columnsOfRows(header: readonly string[], rows: readonly (readonly string[])[], chosen: ReadonlyMap<string, Kind> = new Map()): Column[] {
  const all = new Map<string, Column>();
  header.forEach((title, place) => {
    const { name, kind } = titleOf(title), cells = rows.map(row => row[place] ?? ''), there = cells.filter(one => one.trim());
    const is = chosen.get(name) ?? kind ?? guess(cells);
    all.set(name, {
      name, kind: is, examples: [...new Set(there)].slice(0, EXAMPLES).map(short), filled: there.length, distinct: new Set(there).size,
      odd: is === 'skip' ? 0 : there.filter(one => cellAs(one, is) === null).length,
    });
  });
  return [...all.values()];
}

/** The document of a row, or what is wrong with it. */
export function documentOf(header: readonly string[], kinds: ReadonlyMap<string, Kind>, cells: readonly string[]): { text: string } | { fault: string } {
  if (cells.length !== header.length) return { fault: `This row has ${plural(cells.length, 'cell')}, the header has ${header.length}.` };
  const parts = new Map<string, string>();
  for (const [place, title] of header.entries()) {
    const { name } = titleOf(title), kind = kinds.get(name) ?? 'text';
    if (kind === 'skip') continue;
    const value = cellAs(cells[place] ?? '', kind);
    if (value === null) return { fault: `“${short(cells[place] ?? '')}” in the column “${short(name)}” is not ${kind === 'boolean' ? '“true” or “false”' : 'a ' + kind}.` };
    parts.set(name, value);
  }
  return { text: '{' + [...parts].map(([name, value]) => JSON.stringify(name) + ':' + value).join(',') + '}' };
}

const kindOf = (value: Json): Column['kind'] => Array.isArray(value) ? 'list' : typeof value === 'object' ? 'object' : typeof value === 'string' ? 'text' : typeof value as 'number' | 'boolean';

/** The fields of JSON documents. */
export function columnsOfDocuments(documents: readonly JsonObject[]): Column[] {
  const all = new Map<string, Column & { values: Set<string> }>();
  for (const document of documents) {
    for (const [name, value] of Object.entries(document)) {
      if (value === null) continue;
      const one = all.get(name) ?? { name, kind: kindOf(value), examples: [], filled: 0, distinct: 0, odd: 0, values: new Set<string>() };
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      one.filled += 1;
      if (one.kind !== kindOf(value)) one.kind = 'mixed';
      if (one.values.size < DISTINCT_MOST && !one.values.has(text)) {
        one.values.add(text);
        if (one.examples.length < EXAMPLES) one.examples.push(short(text));
      }
      all.set(name, one);
    }
  }
  return [...all.values()].map(({ values, ...one }) => ({ ...one, distinct: values.size }));
}

const short = (text: string) => text.length > EXAMPLE_LENGTH ? text.slice(0, EXAMPLE_LENGTH) + '…' : text;

/** Whether the server takes it as an id. */
export const isId = (value: Json | undefined) =>
  typeof value === 'string' ? /^[A-Za-z0-9_-]{1,511}$/.test(value) : typeof value === 'number' && Number.isInteger(value);
export const ID_RULE = 'An id is a whole number, or up to 511 of A-Z a-z 0-9 - _.';

/** Columns that could be the id, the best first: each row has one, all differ. */
export function idsOf(columns: readonly Column[], rows: number): string[] {
  const score = ({ name }: Column) => /^_?id$/i.test(name) ? 4 : /id$/i.test(name) ? 3 : /^(key|sku|isbn|ean|uuid|slug|code|number)$/i.test(name) ? 2 : 1;
  return columns.filter(one => rows > 0 && one.filled === rows && one.distinct === rows && (one.kind === 'text' || one.kind === 'number') && one.examples.every(text => /^[A-Za-z0-9_-]{1,511}$/.test(text)))
    .sort((one, other) => score(other) - score(one)).map(one => one.name);
}
