// Times, figures and lists of analytics: what is asked for, and how it reads.
import { dayAfter } from '../../lib/filters';
import { compact, span } from '../../lib/text';

export interface Totals {
  searches: number; users: number; noHitRate: number | null; noClickRate: number | null; clickThroughRate: number | null; conversionRate: number | null;
  clicks: number; meanClickPosition: number | null; conversions: number; views: number; meanMs: number | null; maxMs: number;
}
export interface Step extends Totals { at: string }
export interface Figures extends Totals { series: Step[] }
/** A query of a list, or a filter. */
export interface Row extends Omit<Totals, 'users'> { query?: string; filter?: string; searchesBefore?: number }

const HOUR = 3_600_000, DAY = 24 * HOUR, SECOND = 1000;
export const RANGES = [{ id: '24h', title: '24 hours' }, { id: '7d', title: '7 days' }, { id: '30d', title: '30 days' }, { id: 'own', title: 'Own' }] as const;
export type RangeId = typeof RANGES[number]['id'];
/** Milliseconds; `end` is not in it. */
export interface Range { start: number; end: number; step: number }

const dayStart = (day: string) => Date.parse(day + 'T00:00:00Z');
export const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** The time that an address names. Days are those of UTC, as the server's; the last step is the one that runs. A text says what is wrong. */
export function rangeOf(id: RangeId, from: string, to: string, now: number): Range | string {
  if (id !== 'own') {
    const step = id === '24h' ? HOUR : DAY, count = id === '24h' ? 24 : id === '7d' ? 7 : 30;
    return { start: (Math.floor(now / step) + 1 - count) * step, end: now + SECOND, step };
  }
  const start = dayStart(from), last = dayStart(to);
  if (!(start >= 0 && last >= 0)) return 'Enter two days.';
  if (last < start) return 'The end is before the start.';
  const whole = dayStart(dayAfter(to));
  return { start, end: start < now ? Math.min(whole, now + SECOND) : whole, step: whole - start <= 2 * DAY ? HOUR : DAY };
}

/** As much time before, beginning with a whole number of steps earlier, so that steps can be compared one by one. */
export function before({ start, end, step }: Range): Range | null {
  const shift = Math.ceil((end - start) / step) * step;
  return start < shift ? null : { start: start - shift, end: end - shift, step };
}

const time = (at: number) => new Date(at).toISOString().slice(0, 19) + 'Z';
export const timesOf = ({ start, end }: Range) => ({ start: time(start), end: time(end) });

const ofDay = (at: string) => new Date(at).toLocaleDateString('en', { month: 'short', day: 'numeric', timeZone: 'UTC' });
const ofHour = (at: string) => new Date(at).toLocaleString('en', { weekday: 'short', hour: '2-digit', minute: '2-digit', hour12: false });
export const labelOf = (step: number) => step === DAY ? ofDay : ofHour;

type Kind = 'count' | 'share' | 'place' | 'time';
const SHOWN: Record<Kind, (value: number) => string> = {
  count: compact, share: value => (value * 100).toFixed(1) + ' %',
  // Events count places from 0, people from 1.
  place: value => (value + 1).toFixed(1), time: span,
};
/** `better` is 1 where more is better, -1 where less is. */
export interface Metric { id: Exclude<keyof Totals, 'views' | 'maxMs' | 'clicks' | 'conversionRate'>; title: string; kind: Kind; better: -1 | 0 | 1; about?: string }
export const METRICS: readonly Metric[] = [
  { id: 'searches', title: 'Searches', kind: 'count', better: 0 },
  { id: 'users', title: 'Users', kind: 'count', better: 0 },
  { id: 'noHitRate', title: 'Without hits', kind: 'share', better: -1 },
  { id: 'noClickRate', title: 'Without clicks', kind: 'share', better: -1, about: 'Of the searches with hits' },
  { id: 'clickThroughRate', title: 'Click-through', kind: 'share', better: 1 },
  { id: 'meanClickPosition', title: 'Mean position', kind: 'place', better: -1, about: 'Of clicked hits; 1 is the first' },
  { id: 'conversions', title: 'Conversions', kind: 'count', better: 1 },
  { id: 'meanMs', title: 'Mean time', kind: 'time', better: -1 },
];
export const show = (kind: Kind, value: number | null | undefined) => value === null || value === undefined ? '–' : SHOWN[kind](value);
export const metricOf = (id: string) => METRICS.find(one => one.id === id) ?? METRICS[0]!;

export interface Change { text: string; tone: 'good' | 'bad' | 'plain' }
/** The change against the time before: shares in points, the rest in parts of it. Nothing to compare with is no change. */
export function changeOf({ kind, better }: Metric, now: number | null, then: number | null): Change | null {
  if (now === null || then === null) return null;
  // Places begin with 1.
  const base = kind === 'place' ? then + 1 : then;
  if (kind !== 'share' && base === 0) return null;
  const change = (now - then) / (kind === 'share' ? 1 : base) * 100, size = Math.abs(change), shown = kind === 'share' ? size.toFixed(1) : compact(Math.round(size));
  if (Number(shown) === 0) return { text: '±0', tone: 'plain' };
  return { text: (change > 0 ? '+' : '−') + shown + (kind === 'share' ? ' pt' : ' %'), tone: better === 0 ? 'plain' : change > 0 === better > 0 ? 'good' : 'bad' };
}

interface Shown { title: string; text: (row: Row) => string }
/** A list: its name on the server, what its bars show, and what stands beside them. */
export interface List { id: string; title: string; bar: (row: Row) => number; columns: readonly [Shown, Shown]; empty?: string }
const share = (value: number | null) => show('share', value);
/** Searches of a query that found nothing, and those with hits that nobody clicked: rates have four digits. */
export const missed = (row: Row) => Math.round(row.searches * (row.noHitRate ?? 0));
export const passed = (row: Row) => Math.round((row.searches - missed(row)) * (row.noClickRate ?? 0));
const searches: Shown = { title: 'Searches', text: row => compact(row.searches) }, clicks: Shown = { title: 'Clicked', text: row => share(row.clickThroughRate) };
export const ASKED: readonly List[] = [
  { id: 'queries', title: 'Top', bar: row => row.searches, columns: [searches, clicks] },
  { id: 'rising', title: 'Rising', bar: row => row.searches - (row.searchesBefore ?? 0), columns: [{ title: 'More', text: row => '+' + compact(row.searches - (row.searchesBefore ?? 0)) }, searches] },
  { id: 'slow', title: 'Slow', bar: row => row.meanMs ?? 0, columns: [{ title: 'Mean', text: row => show('time', row.meanMs) }, { title: 'Slowest', text: row => show('time', row.maxMs) }] },
  { id: 'filters', title: 'Filters', bar: row => row.searches, columns: [searches, { title: 'No hits', text: row => share(row.noHitRate) }] },
];
export const FAILED: readonly List[] = [
  { id: 'without-hits', title: 'Without hits', bar: missed, columns: [{ title: 'No hits', text: row => compact(missed(row)) }, { title: 'Of all', text: row => share(row.noHitRate) }], empty: 'Every query found something.' },
  { id: 'without-clicks', title: 'Without clicks', bar: passed, columns: [{ title: 'No clicks', text: row => compact(passed(row)) }, { title: 'Of all', text: row => share(row.noClickRate) }], empty: 'Every query with hits had a click.' },
];

/** A filter as one expression: a recorded list of conditions is JSON. */
export function expressionOf(filter: string): string {
  if (!filter.startsWith('[')) return filter;
  try {
    const all: unknown = JSON.parse(filter);
    if (!Array.isArray(all)) return filter;
    const parts = all.map((one: unknown) => Array.isArray(one) ? one.map(String) : [String(one)]).filter(one => one.length > 0);
    return parts.length === 1 ? parts[0]!.join(' OR ') : parts.map(one => one.length > 1 || /\s(AND|OR)\s/i.test(one[0] ?? '') ? `(${one.join(' OR ')})` : one[0]).join(' AND ');
  } catch { return filter; }
}
