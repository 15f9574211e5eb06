// What a hit has in common with others, as conditions for a boost.
import type { Hit, Json, Settings } from '../../api/types';
import { quoted } from '../../lib/filters';
import { facetNames } from './query';

export interface Trait { text: string; filter: string }
const EACH = 8, MOST = 24, LONGEST = 80;

const filterOf = (name: string, value: Json): string | null => typeof value === 'string' && value && value.length <= LONGEST ? `${quoted(name)} = ${quoted(value)}`
  : typeof value === 'number' || typeof value === 'boolean' ? `${quoted(name)} = ${value}` : null;

/** Values of its fields that documents can be filtered by; its id says nothing of others. */
export function traitsOf(hit: Hit, primaryKey: string | null, settings: Settings): Trait[] {
  const filterable = facetNames(settings), names = filterable.includes('*') ? Object.keys(hit).filter(name => !name.startsWith('_')) : filterable;
  return names.filter(name => name !== primaryKey && Object.hasOwn(hit, name)).flatMap(name => {
    const value = hit[name], all: Json[] = Array.isArray(value) ? value : [value as Json];
    return all.slice(0, EACH).flatMap(one => { const filter = filterOf(name, one); return filter === null ? [] : [{ text: `${name}: ${String(one)}`, filter }]; });
  }).slice(0, MOST);
}

/** How many places up each hit went; null: it was not among those before. */
export const climbs = (before: readonly string[], after: readonly string[]): (number | null)[] => after.map((id, place) => before.includes(id) ? before.indexOf(id) - place : null);
