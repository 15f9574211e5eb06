// Measures of judged queries, as `lamina evaluate` computes them: the same figures come out of the same answers, chance included.
import type { JsonObject } from '../../api/types';
import { isObject } from '../../lib/json';
import { messageOf } from '../../lib/text';

export const DEPTH = 10;
/** `unjudged` is the grade that a document without a judgement is assumed to have. */
export interface Judgement { id?: string; q: string; relevant: Record<string, number>; unjudged?: number; search?: JsonObject }
export interface Measures { ndcg: number; mrr: number; recall: number; precision: number }

export const gradeOf = (relevant: Record<string, number>, id: string): number | undefined => Object.hasOwn(relevant, id) ? relevant[id] : undefined;

export function measuresOf(relevant: Record<string, number>, hits: readonly string[], depth = DEPTH, unjudged = 0): Measures {
  const found = hits.slice(0, depth).map(id => gradeOf(relevant, id) ?? unjudged), judged = Object.values(relevant);
  const gain = (grades: readonly number[]) => grades.slice(0, depth).reduce((all, grade, place) => all + (2 ** grade - 1) / Math.log2(place + 2), 0);
  const count = (grades: readonly number[]) => grades.filter(grade => grade > unjudged).length;
  const best = gain([...judged, ...Array<number>(depth).fill(unjudged)].sort((one, other) => other - one)), first = found.findIndex(grade => grade > unjudged), all = count(judged);
  return {
    ndcg: best > 0 ? gain(found) / best : 0,
    mrr: first < 0 ? 0 : 1 / (first + 1),
    recall: all > 0 ? count(found) / all : 0,
    precision: count(found) / Math.max(depth, 1),
  };
}

const idText = (id: unknown) => typeof id === 'string' ? id : JSON.stringify(id);

function readOne(line: string, number: number): Judgement {
  const wrong = (reason: string) => new Error(`line ${number}: ${reason}`);
  let fields: unknown;
  try { fields = JSON.parse(line); } catch (error) { throw wrong(messageOf(error)); }
  if (!isObject(fields)) throw wrong('expected an object');
  const { q, id, relevant, search, unjudged, evidence, ...rest } = fields;
  if (typeof q !== 'string') throw wrong('`q` must be a string');
  if (id !== undefined && typeof id !== 'string' && typeof id !== 'number') throw wrong('`id` must be a string or a number');
  if (!isObject(relevant) && !Array.isArray(relevant)) throw wrong('`relevant` must be an object of grades or an array of ids');
  const grades: [string, number][] = Array.isArray(relevant) ? relevant.map(one => [idText(one), 1]) : Object.entries(relevant).map(([name, grade]) => {
    if (typeof grade !== 'number' || !(grade >= 0)) throw wrong(`the grade of \`${name}\` must be a number that is not negative`);
    return [name, grade];
  });
  if (search !== undefined && !isObject(search)) throw wrong('`search` must be an object');
  if (unjudged !== undefined && (typeof unjudged !== 'number' || !(unjudged >= 0))) throw wrong('`unjudged` must be a number that is not negative');
  if (evidence !== undefined && !isObject(evidence)) throw wrong('`evidence` must be an object');
  const unknown = Object.keys(rest)[0];
  if (unknown !== undefined) throw wrong(`unknown field \`${unknown}\`: expected \`id\`, \`q\`, \`relevant\`, \`search\``);
  return { q, relevant: Object.fromEntries(grades), ...(unjudged === undefined ? {} : { unjudged }), ...(id === undefined ? {} : { id: idText(id) }), ...(search ? { search } : {}) };
}

/** A judged query a line; the first line that is none is thrown, with its number. */
export function readJudged(text: string): Judgement[] {
  return text.replace(/^\ufeff/, '').split('\n').flatMap((line, place) => line.trim() ? [readOne(line.trim(), place + 1)] : []);
}
export const writeJudged = (all: readonly Judgement[]) => all.map(one => JSON.stringify(one)).join('\n');

// SplitMix64 in two halves of 32 bits, without anything made for each number: a test draws millions.
const MOST = 2 ** 32;
export function chance(seedHigh: number, seedLow: number) {
  let stateHigh = seedHigh >>> 0, stateLow = seedLow >>> 0, high = 0, low = 0;
  const mix = (by: number) => { low = (low ^ (low >>> by | high << (32 - by))) >>> 0; high = (high ^ high >>> by) >>> 0; };
  const times = (byHigh: number, byLow: number) => {
    const a = low >>> 16, b = low & 0xffff, c = byLow >>> 16, d = byLow & 0xffff;
    const bd = b * d, middle = a * d + (bd >>> 16), other = b * c + (middle & 0xffff);
    high = (a * c + (middle >>> 16) + (other >>> 16) + Math.imul(high, byLow) + Math.imul(low, byHigh)) >>> 0;
    low = (other << 16 | bd & 0xffff) >>> 0;
  };
  const step = () => {
    const sum = stateLow + 0x7f4a7c15;
    stateLow = sum >>> 0;
    stateHigh = (stateHigh + 0x9e3779b9 + (sum >= MOST ? 1 : 0)) >>> 0;
    high = stateHigh;
    low = stateLow;
    mix(30);
    times(0xbf58476d, 0x1ce4e5b9);
    mix(27);
    times(0x94d049bb, 0x133111eb);
    mix(31);
  };
  return {
    next: (): [number, number] => { step(); return [high, low]; },
    below: (end: number) => { step(); return Math.floor((high * end + Math.floor(low * end / MOST)) / MOST); },
  };
}

const SAMPLES = 10_000, NOISE = 1e-9;
const seeded = () => chance(0x5eed, 0x0f1a317a);
export const mean = (values: readonly number[]) => values.length ? values.reduce((all, one) => all + one, 0) / values.length : 0;

/** Of the means of as many values, drawn with replacement, those in the middle. */
export function interval(values: readonly number[], confidence = 0.95): { low: number; high: number } {
  if (!values.length) return { low: 0, high: 0 };
  const draw = seeded(), means = new Float64Array(SAMPLES), outside = (1 - confidence) / 2;
  for (let sample = 0; sample < SAMPLES; sample++) {
    let sum = 0;
    for (let left = values.length; left > 0; left--) sum += values[draw.below(values.length)] ?? 0;
    means[sample] = sum / values.length;
  }
  means.sort();
  const at = (share: number) => means[Math.min(SAMPLES - 1, Math.floor(share * SAMPLES))] ?? 0;
  return { low: at(outside), high: at(1 - outside) };
}

export interface Comparison { difference: number; low: number; high: number; p: number; better: number; worse: number }
/** Compares the measures of the same queries, the second less the first. `p`: how often chance alone makes a difference as large. */
export function compare(first: readonly number[], second: readonly number[]): Comparison {
  const differences = first.map((one, place) => (second[place] ?? 0) - one), moved = differences.filter(one => Math.abs(one) > NOISE);
  const observed = Math.abs(moved.reduce((all, one) => all + one, 0)), draw = seeded();
  let asLarge = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    let high = 0, low = 0, sum = 0;
    moved.forEach((one, place) => {
      const bit = place % 64;
      if (bit === 0) [high, low] = draw.next();
      sum += (bit < 32 ? high >>> (31 - bit) : low >>> (63 - bit)) & 1 ? -one : one;
    });
    if (Math.abs(sum) >= observed - NOISE) asLarge += 1;
  }
  return {
    difference: mean(differences), ...interval(differences), p: (asLarge + 1) / (SAMPLES + 1),
    better: moved.filter(one => one > 0).length, worse: moved.filter(one => one < 0).length,
  };
}
/** Differences that chance makes as seldom as this are called differences. */
export const P_MOST = 0.05;
