import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { chance, compare, interval, measuresOf, readJudged, writeJudged, type Judgement } from './measures';

interface Cases {
  measures: { name: string; relevant: Record<string, number>; unjudged?: number; hits: string[]; depth: number; ndcg: number; mrr: number; recall: number; precision: number }[];
  read: { text: string; relevant: Record<string, number> }[];
  refused: { text: string; error: string }[];
}
// `lamina evaluate` reads the same cases.
const shared: Cases = JSON.parse(readFileSync(new URL('../../../../../tests/golden/measures.json', import.meta.url), 'utf8'));

describe('measures', () => {
  test('of the best order are 1', () => { expect(measuresOf({ a: 3, b: 1 }, ['a', 'b'])).toEqual({ ndcg: 1, mrr: 1, recall: 1, precision: 0.2 }); });
  // Gains 1 and 7, discounts 1 and log2(3): (1 + 7 / 1.585) / (7 + 1 / 1.585).
  test('of another order are less', () => { expect(measuresOf({ a: 3, b: 1 }, ['b', 'a']).ndcg).toBeCloseTo(0.7098097, 6); });
  test('of nothing are 0', () => { expect(measuresOf({}, [])).toEqual({ ndcg: 0, mrr: 0, recall: 0, precision: 0 }); });
  test('know no document by the name of a method', () => { expect(measuresOf({ a: 1 }, ['constructor', '__proto__']).ndcg).toBe(0); });
  for (const { name, relevant, unjudged, hits, depth, ...expected } of shared.measures) {
    test(name, () => { for (const [measure, value] of Object.entries(measuresOf(relevant, hits, depth, unjudged))) expect(value, measure).toBeCloseTo(expected[measure as 'ndcg'], 6); });
  }
});

describe('judged queries', () => {
  test('come back as they were written', () => {
    const all: Judgement[] = [{ q: 'a', relevant: { 1: 3 } }, { q: 'b', relevant: { x: 0 }, search: { filter: 'y' } }];
    expect(readJudged(writeJudged(all))).toEqual(all);
  });
  test('name the line that is wrong', () => { expect(() => readJudged('{"q": "a", "relevant": []}\n\n{"q": 1}')).toThrow('line 3: `q` must be a string'); });
  for (const { text, relevant } of shared.read) test('read ' + text.trim(), () => { expect(readJudged(text)[0]?.relevant).toEqual(relevant); });
  for (const { text, error } of shared.refused) test('refuse ' + text, () => { expect(() => readJudged(text)).toThrow(error); });
});

describe('chance', () => {
  const hex = ([high, low]: [number, number]) => ((BigInt(high) << 32n) | BigInt(low)).toString();
  // The figures that the authors of SplitMix64 publish for the seed 1234567.
  test('is SplitMix64', () => {
    const { next } = chance(0, 1234567);
    expect([next(), next(), next(), next(), next()].map(hex)).toEqual(['6457827717110365317', '3203168211198807973', '9817491932198370423', '4593380528125082431', '16408922859458223821']);
  });
  test('draws below an end as in 128 bits', () => {
    const one = chance(7, 9), other = chance(7, 9);
    for (let end = 1; end < 2000; end += 37) {
      const [high, low] = other.next();
      expect(one.below(end)).toBe(Number((((BigInt(high) << 32n) | BigInt(low)) * BigInt(end)) >> 64n));
    }
  });
});

describe('a comparison', () => {
  const first = Array.from({ length: 40 }, (_, place) => place % 7 / 7);
  test('finds what is better', () => {
    const found = compare(first, first.map(one => one + 0.1));
    expect([found.difference.toFixed(6), found.p < 0.001, found.low > 0.09, found.better, found.worse]).toEqual(['0.100000', true, true, 40, 0]);
  });
  test('calls chance chance', () => {
    const found = compare(first, first.map((one, place) => one + (place % 2 ? -0.1 : 0.1)));
    expect([found.p > 0.5, found.low < 0, found.high > 0]).toEqual([true, true, true]);
  });
  test('of the same is none', () => { expect(compare(first, first)).toMatchObject({ difference: 0, p: 1, better: 0, worse: 0 }); });
  test('of nothing is none', () => { expect([compare([], []).p, interval([])]).toEqual([1, { low: 0, high: 0 }]); });
  test('narrows with more queries', { timeout: 60_000 }, () => {
    const width = (count: number) => { const { low, high } = interval(Array.from({ length: count }, (_, place) => place % 5 / 4)); return high - low; };
    expect(width(80)).toBeLessThan(width(20) / 1.6);
  });
});
