import { describe, expect, it } from 'vitest';
import { ASKED, before, changeOf, expressionOf, FAILED, labelOf, metricOf, METRICS, missed, passed, rangeOf, show, timesOf, type Range } from './figures';

const now = Date.parse('2026-03-10T14:30:00Z'), HOUR = 3_600_000, DAY = 24 * HOUR;
const shown = (range: Range | string | null) => typeof range === 'string' || range === null ? range : [timesOf(range).start, timesOf(range).end, range.step / HOUR];

describe('the time of an address', () => {
  it('ends now, with as many steps as it says', () => {
    expect(shown(rangeOf('24h', '', '', now))).toEqual(['2026-03-09T15:00:00Z', '2026-03-10T14:30:01Z', 1]);
    expect(shown(rangeOf('7d', '', '', now))).toEqual(['2026-03-04T00:00:00Z', '2026-03-10T14:30:01Z', 24]);
    expect(shown(rangeOf('30d', '', '', now))).toEqual(['2026-02-09T00:00:00Z', '2026-03-10T14:30:01Z', 24]);
  });
  it('has the days that people choose', () => {
    expect(shown(rangeOf('own', '2026-02-27', '2026-03-01', now))).toEqual(['2026-02-27T00:00:00Z', '2026-03-02T00:00:00Z', 24]);
    expect(shown(rangeOf('own', '2026-03-01', '2026-03-02', now))).toEqual(['2026-03-01T00:00:00Z', '2026-03-03T00:00:00Z', 1]);
    expect(shown(rangeOf('own', '2026-03-01', '2026-12-31', now))).toEqual(['2026-03-01T00:00:00Z', '2026-03-10T14:30:01Z', 24]);
    expect(shown(rangeOf('own', '2027-01-01', '2027-01-01', now))).toEqual(['2027-01-01T00:00:00Z', '2027-01-02T00:00:00Z', 1]);
  });
  it('says what is wrong', () => {
    expect(rangeOf('own', '', '2026-03-01', now)).toBe('Enter two days.');
    for (const day of ['yesterday', '1960-01-01', '2026-13-01', '']) expect(rangeOf('own', '2026-03-01', day, now)).toBe('Enter two days.');
    expect(rangeOf('own', '2026-03-02', '2026-03-01', now)).toBe('The end is before the start.');
  });
  it('has as much time before, by whole steps', () => {
    for (const [id, from] of [['24h', '2026-03-08T15:00:00Z'], ['7d', '2026-02-25T00:00:00Z'], ['30d', '2026-01-10T00:00:00Z']] as const) {
      const range = rangeOf(id, '', '', now) as Range, earlier = before(range)!;
      expect(shown(earlier)?.[0]).toBe(from);
      expect(earlier.end - earlier.start).toBe(range.end - range.start);
    }
    expect(before(rangeOf('own', '1970-01-02', '1970-03-01', now) as Range)).toBeNull();
    expect(before({ start: DAY, end: 2 * DAY, step: DAY })).toEqual({ start: 0, end: DAY, step: DAY });
  });
  it('reads as days of the server, and hours of this place', () => {
    expect(labelOf(DAY)('2026-03-10T00:00:00Z')).toBe('Mar 10');
    expect(labelOf(HOUR)('2026-03-10T14:00:00Z')).toMatch(/^\w{3},? \d\d:\d\d$/);
  });
});

describe('figures', () => {
  it('read as what they are', () => {
    expect(METRICS.map(one => show(one.kind, 0.25))).toEqual(['0.25', '0.25', '25.0 %', '25.0 %', '25.0 %', '1.3', '0.25', '0.3 ms']);
    expect(show('share', null)).toBe('–');
    expect(metricOf('nothing').id).toBe('searches');
  });
  it('change in parts, or in points', () => {
    const change = (id: string, one: number | null, other: number | null) => changeOf(metricOf(id), one, other);
    expect(change('searches', 150, 100)).toEqual({ text: '+50 %', tone: 'plain' });
    expect(change('searches', 100, 100)).toEqual({ text: '±0', tone: 'plain' });
    expect(change('searches', 5, 0)).toBeNull();
    expect(change('conversions', 50, 100)).toEqual({ text: '−50 %', tone: 'bad' });
    expect(change('noHitRate', 0.05, 0.1)).toEqual({ text: '−5.0 pt', tone: 'good' });
    expect(change('noHitRate', 0.05, 0)).toEqual({ text: '+5.0 pt', tone: 'bad' });
    expect(change('clickThroughRate', 0.50004, 0.5)).toEqual({ text: '±0', tone: 'plain' });
    expect(change('meanClickPosition', 0, 1)).toEqual({ text: '−50 %', tone: 'good' });
    expect(change('meanMs', null, 3)).toBeNull();
    expect(change('meanMs', 3, null)).toBeNull();
  });
});

describe('lists', () => {
  it('count what their rates are of', () => {
    const row = { query: 'a', searches: 150, noHitRate: 0.1267, noClickRate: 0.5038, clickThroughRate: 0.4333, conversionRate: 0, clicks: 70, meanClickPosition: 1, conversions: 0, views: 0, meanMs: 2, maxMs: 9 };
    expect([missed(row), passed(row)]).toEqual([19, 66]);
    expect([...ASKED, ...FAILED].map(list => list.columns.map(one => one.text(row)))).toEqual([['150', '43.3 %'], ['+150', '150'], ['2 ms', '9 ms'], ['150', '12.7 %'], ['19', '12.7 %'], ['66', '50.4 %']]);
    const none = { ...row, searches: 0, noHitRate: null, noClickRate: null, meanMs: null };
    expect([missed(none), passed(none)]).toEqual([0, 0]);
  });
});

describe('a recorded filter', () => {
  it('becomes one expression', () => {
    expect(expressionOf('genre = Horror')).toBe('genre = Horror');
    expect(expressionOf('["a = 1", "b = 2"]')).toBe('a = 1 AND b = 2');
    expect(expressionOf('[["a = 1", "b = 2"], "c = 3"]')).toBe('(a = 1 OR b = 2) AND c = 3');
    expect(expressionOf('[["a = 1", "b = 2"]]')).toBe('a = 1 OR b = 2');
    expect(expressionOf('["a = 1 OR b = 2", "c = 3"]')).toBe('(a = 1 OR b = 2) AND c = 3');
    expect(expressionOf('[]')).toBe('');
  });
  it('stays as it is where it was cut off', () => {
    expect(expressionOf('["a = 1", "b')).toBe('["a = 1", "b');
  });
});
