// Settings that the documents themselves suggest: what looks like a facet, like a number to narrow by, like a title.
import type { Json, JsonObject, Settings } from '../../api/types';
import { isLink, titleField } from '../../lib/documents';
import { plural } from '../../lib/text';
import { isDate } from './query';

export interface Proposal {
  id: string;
  title: string;
  about: string;
  action: string;
  /** What it changes, of the settings as they are when it is taken. */
  change: (now: Settings) => Partial<Settings>;
}

const SHORT = 40, FACET_MOST = 60, COVER = 0.5, THREE = 3, MOST_FIELDS = 200;
interface Seen { name: string; documents: number; values: Map<string, number>; numbers: number; dates: number; texts: number; long: number; booleans: number; letters: number; min: number; max: number }

function look(documents: readonly JsonObject[], primaryKey: string | null): Seen[] {
  const all = new Map<string, Seen>();
  for (const document of documents) {
    for (const [name, value] of Object.entries(document)) {
      if (name === primaryKey || name.startsWith('_') || (!all.has(name) && all.size >= MOST_FIELDS)) continue;
      const seen = all.get(name) ?? { name, documents: 0, values: new Map(), numbers: 0, dates: 0, texts: 0, long: 0, booleans: 0, letters: 0, min: Infinity, max: -Infinity };
      all.set(name, seen);
      const values = (Array.isArray(value) ? value : [value]).filter(one => one !== null && typeof one !== 'object');
      if (values.length) seen.documents++;
      for (const one of values) note(seen, one);
    }
  }
  return [...all.values()];
}

function note(seen: Seen, value: Json) {
  seen.values.set(String(value), (seen.values.get(String(value)) ?? 0) + 1);
  if (typeof value === 'number') {
    seen.numbers++;
    seen.min = Math.min(seen.min, value);
    seen.max = Math.max(seen.max, value);
  } else if (typeof value === 'boolean') seen.booleans++;
  else if (typeof value === 'string') {
    if (isDate(value)) seen.dates++; else if (!isLink(value)) seen.texts++;
    if (value.length > SHORT) seen.long++;
    seen.letters += value.length;
  }
}

const added = <T extends Json>(list: readonly T[] | undefined, name: T): T[] => (list ?? []).includes(name) ? [...list ?? []] : [...list ?? [], name];
const both = (now: Settings, name: string) => ({ filterableAttributes: added(now.filterableAttributes, name), sortableAttributes: added(now.sortableAttributes, name) });

const total = (seen: Seen) => [...seen.values.values()].reduce((sum, one) => sum + one, 0);
const isCommon = (seen: Seen, documents: number) => seen.documents >= documents * COVER;

/** Values that come again and again, short and not too many: how good a facet it makes. */
function facetWorth(seen: Seen, documents: number): number {
  const count = total(seen), different = seen.values.size;
  if (!isCommon(seen, documents) || seen.long > 0 || seen.dates > 0 || different < 2 || different > FACET_MOST || count < different * 2) return 0;
  if (seen.numbers > 0 && different > 10) return 0;
  return count / different / (seen.numbers > 0 ? 4 : 1);
}

const known = (settings: Settings, list: 'filterableAttributes' | 'sortableAttributes', name: string) => (settings[list] ?? []).some(one => one === name || one === '*' || typeof one !== 'string');
const listed = (names: readonly string[]) => names.length < 2 ? names.join('') : names.slice(0, -1).join(', ') + ' and ' + names.at(-1);

/** At most three, the most useful first. */
export function proposalsOf(documents: readonly JsonObject[], settings: Settings, primaryKey: string | null): Proposal[] {
  if (documents.length < 2) return [];
  const fields = look(documents, primaryKey), all: Proposal[] = [];
  const facets = fields.map(seen => ({ seen, worth: known(settings, 'filterableAttributes', seen.name) ? 0 : facetWorth(seen, documents.length) }))
    .filter(one => one.worth > 0).sort((one, other) => other.worth - one.worth).slice(0, 2);
  for (const { seen } of facets) {
    all.push({ id: 'facet ' + seen.name, title: `${seen.name} has ${plural(seen.values.size, 'value')}: make it a facet?`, about: [...seen.values].sort(([, one], [, other]) => other - one).slice(0, 3).map(([value]) => value).join(', ') + (seen.values.size > 3 ? ' …' : ''),
      action: 'Add the facet', change: now => ({ filterableAttributes: added(now.filterableAttributes, seen.name) }) });
  }
  const ranged = fields.find(seen => isCommon(seen, documents.length) && !known(settings, 'filterableAttributes', seen.name)
    && ((seen.numbers === total(seen) && seen.values.size > 10 && !/(^|_)id$|Id$/.test(seen.name)) || (seen.dates === total(seen) && seen.values.size > 2)));
  if (ranged) {
    const dates = [...ranged.values.keys()].sort();
    const [from, to] = ranged.numbers ? [ranged.min, ranged.max].map(String) : [dates[0]?.slice(0, 10), dates.at(-1)?.slice(0, 10)];
    all.push({ id: 'range ' + ranged.name, title: `${ranged.name} ranges from ${from} to ${to}: filter and sort by it?`, about: 'Adds a range slider and two sort orders.', action: 'Filter and sort',
      change: now => both(now, ranged.name) });
  }
  if (documents.some(one => one['_geo']) && !known(settings, 'filterableAttributes', '_geo')) {
    all.push({ id: 'places', title: 'Documents have locations: show them on a map?', about: 'Adds search in an area and sorting by distance.', action: 'Show a map', change: now => both(now, '_geo') });
  }
  const first = titleFirst(documents, fields, settings, primaryKey);
  if (first) all.splice(Math.min(all.length, 2), 0, first);
  return all.slice(0, THREE);
}

function titleFirst(documents: readonly JsonObject[], fields: readonly Seen[], settings: Settings, primaryKey: string | null): Proposal | null {
  const order = settings.searchableAttributes ?? ['*'], title = titleField(documents[0] ?? {}, primaryKey);
  if (!order.includes('*') || !title || !fields.some(seen => seen.name === title && seen.texts > 0)) return null;
  const others = fields.filter(seen => seen.name !== title && seen.texts > 0).sort((one, other) => one.letters / total(one) - other.letters / total(other)).map(seen => seen.name);
  if (!others.length || others.length > 12) return null;
  return { id: 'title', title: `Rank matches in ${title} above those in ${listed(others.slice(0, 2))}?`, about: 'Order of the fields: ' + [title, ...others].join(', ') + '. New fields must then be added to this list.', action: `Rank ${title} first`,
    change: () => ({ searchableAttributes: [title, ...others] }) };
}
