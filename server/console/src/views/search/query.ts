// The search that an address means.
import type { Json, SearchAnswer, SearchQuery, Settings } from '../../api/types';
import { conditions, narrowingOf, type Narrowing } from '../../lib/filters';

export type Way = 'words' | 'questions' | 'meaning';
export type Box = readonly [top: number, right: number, bottom: number, left: number];
export interface Asked { q: string; limit: number; sort: string; way: Way; embedder: string; ratio: number; narrowing: Narrowing; box: Box | null }
type Params = ReadonlyMap<string, readonly string[]>;

export const PAGE = 20, MOST = 1000;
const RATIO = 0.5;

/** Embedders that make a vector of what is typed. */
export const embeddersOf = (settings: Settings) => Object.entries(settings.embedders ?? {}).filter(([, one]) => one.source !== 'userProvided').map(([name]) => name);
export const usualWay = (settings: Settings): Way => settings['matchingStrategy'] === 'any' ? 'questions' : 'words';

export function boxOf(text: string): Box | null {
  const [top, right, bottom, left, ...rest] = text.split(',').map(one => one.trim() === '' ? NaN : Number(one));
  const isNumber = (one: number | undefined): one is number => one !== undefined && Number.isFinite(one);
  return isNumber(top) && isNumber(right) && isNumber(bottom) && isNumber(left) && rest.length === 0 ? [top, right, bottom, left] : null;
}

export function askedOf(params: Params, settings: Settings): Asked {
  const one = (name: string) => params.get(name)?.[0] ?? '', embedders = embeddersOf(settings);
  const wanted = one('way'), ratio = Number(one('ratio') || RATIO);
  const isWay = wanted === 'words' || wanted === 'questions' || (wanted === 'meaning' && embedders.length > 0);
  return {
    q: one('q'), sort: one('sort'), narrowing: narrowingOf(params), box: boxOf(one('box')),
    limit: Math.min(MOST, Math.max(PAGE, Math.floor(Number(one('limit'))) || PAGE)),
    way: isWay ? wanted : usualWay(settings),
    embedder: embedders.includes(one('embedder')) ? one('embedder') : embedders[0] ?? '',
    ratio: Number.isFinite(ratio) ? Math.min(1, Math.max(0, ratio)) : RATIO,
  };
}

export const boxFilter = ([top, right, bottom, left]: Box) => `_geoBoundingBox([${top}, ${right}], [${bottom}, ${left}])`;

/** What selects and orders documents. `without` is a field whose own condition is left out: the counts of its values are those of alternatives. */
export function selectionOf(asked: Asked, settings: Settings, without?: string): SearchQuery {
  const filter = conditions(asked.narrowing, without);
  if (asked.box && without !== '_geo') filter.push(boxFilter(asked.box));
  const query: SearchQuery = { q: asked.q };
  if (filter.length) query.filter = filter;
  if (asked.sort) query.sort = [asked.sort];
  if (asked.way === 'questions' && usualWay(settings) !== 'questions') query['matchingStrategy'] = 'any';
  if (asked.way === 'words' && usualWay(settings) === 'questions') query['matchingStrategy'] = 'last';
  // Words alone need no embedder; without words there is nothing to embed.
  if (asked.way === 'meaning' && asked.ratio > 0 && asked.q.trim()) query.hybrid = { embedder: asked.embedder, semanticRatio: asked.ratio };
  return query;
}

/** What counts the values of a field, without hits. Vectors find nothing where no hit is asked for. */
export function countsOf(asked: Asked, settings: Settings, without: string): SearchQuery {
  const { sort: _, ...query } = selectionOf(asked, settings, without);
  return query.hybrid ? { ...query, limit: asked.limit, attributesToRetrieve: [] } : { ...query, limit: 0 };
}

export function facetNames(settings: Settings): string[] {
  const names = settings.filterableAttributes ?? [];
  if (names.some(name => typeof name !== 'string' || name.includes('*'))) return ['*'];
  return names.filter((name): name is string => typeof name === 'string' && !name.startsWith('_geo'));
}
export const filtersPlaces = (settings: Settings) => (settings.filterableAttributes ?? []).some(name => name === '_geo' || name === '*');

/** The fields that are narrowed, but for those that the index cannot filter by any more. */
export function narrowed({ chosen, ranges }: Narrowing, facets: readonly string[]): string[] {
  const all = [...new Set([...chosen.keys(), ...ranges.keys()])];
  return facets.includes('*') ? all : all.filter(name => facets.includes(name));
}

/** The search as a program sends it: what only the console needs is left out. */
export function plainSearch(asked: Asked, settings: Settings): SearchQuery {
  const made = selectionOf(asked, settings), names = facetNames(settings);
  if (asked.limit !== PAGE) made.limit = asked.limit;
  if (names.length) made.facets = names;
  return made;
}

export interface FacetCounts { name: string; counts: Record<string, number>; stats: { min: number; max: number } | null; isCut: boolean }

/** Which facets have more values than the answer lists, of the header `Lamina-Limits`. */
export const isCut = (limits: string | null, name: string) => (limits ?? '').split(',').some(one => one.trim() === 'maxValuesPerFacet:' + name);

/** In the order of `names`, the settings'; the rest as the server has them. */
export function facetsOf(answers: readonly SearchAnswer[], limits: string | null, names: readonly string[]): FacetCounts[] {
  const counts = new Map<string, Record<string, number>>(), stats = new Map<string, { min: number; max: number }>();
  for (const answer of answers) {
    for (const [name, one] of Object.entries(answer.facetDistribution ?? {})) counts.set(name, one);
    for (const [name, one] of Object.entries(answer.facetStats ?? {})) stats.set(name, one);
  }
  const rank = (name: string) => names.includes(name) ? names.indexOf(name) : names.length;
  return [...counts].sort(([one], [other]) => rank(one) - rank(other)).map(([name, one]) => ({ name, counts: one, stats: stats.get(name) ?? null, isCut: isCut(limits, name) }));
}

const BY_NAME = new Intl.Collator(undefined, { numeric: true });
/** Chosen values first, then by how many documents have them. */
export function orderedValues(counts: Record<string, number>, chosen: readonly string[]): [string, number][] {
  const byCount = (one: [string, number], other: [string, number]) => other[1] - one[1] || BY_NAME.compare(one[0], other[0]);
  const first = chosen.map((value): [string, number] => [value, Object.hasOwn(counts, value) ? counts[value] ?? 0 : 0]).sort(byCount);
  return [...first, ...Object.entries(counts).filter(([value]) => !chosen.includes(value)).sort(byCount)];
}

export const isDate = (text: string) => /^\d{4}-\d\d-\d\d/.test(text);
const FEW = 8;
export type FacetKind = 'values' | 'numbers' | 'days';
export function kindOf({ counts, stats }: FacetCounts, range?: readonly [string, string]): FacetKind {
  const values = Object.keys(counts);
  if ((stats && stats.max > stats.min && values.length > FEW) || (range && !range.some(isDate))) return 'numbers';
  return (values.length > 2 && values.every(isDate)) || range?.some(isDate) ? 'days' : 'values';
}

/** A width of about `parts` parts that people would choose: 1, 2 or 5 times a power of ten. */
export function niceStep(min: number, max: number, parts = 24): number {
  const rough = (max - min) / parts;
  if (!(rough > 0) || !Number.isFinite(rough)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough)), left = rough / power;
  return Number(((left <= 1 ? 1 : left <= 2 ? 2 : left <= 5 ? 5 : 10) * power).toPrecision(1));
}

const DAY_MS = 86_400_000;
export const dayNumber = (text: string) => Math.floor(Date.parse(text.slice(0, 10) + 'T00:00:00Z') / DAY_MS);
export const dayOf = (number: number) => new Date(number * DAY_MS).toISOString().slice(0, 10);

/** What is chosen, as chips: each with what takes it away. */
export interface ChosenChip { id: string; text: string; change: Record<string, readonly string[] | null> }
export function chipsOf({ narrowing: { chosen, ranges, filter }, box }: Asked): ChosenChip[] {
  const chips: ChosenChip[] = [];
  for (const [name, values] of chosen) for (const value of values) chips.push({ id: 'f.' + name + ' ' + value, text: `${name}: ${value}`, change: { ['f.' + name]: values.filter(one => one !== value) } });
  for (const [name, [from, to]] of ranges) chips.push({ id: 'r.' + name, text: from && to ? `${name}: ${from} to ${to}` : from ? `${name}: from ${from}` : `${name}: up to ${to}`, change: { ['r.' + name]: null } });
  if (box) chips.push({ id: 'box', text: 'In the area on the map', change: { box: null } });
  if (filter) chips.push({ id: 'filter', text: filter, change: { filter: null } });
  return chips;
}

export const asJson = (query: SearchQuery) => query as unknown as Json;
