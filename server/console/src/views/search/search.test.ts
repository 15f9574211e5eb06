import { describe, expect, test } from 'vitest';
import type { Json, Settings } from '../../api/types';
import { codeOf } from './code';
import { nextInFilter, offersOf } from './complete';
import { climbs, traitsOf } from './like';
import { gridOf, pointOf, project, viewOf } from './map';
import { proposalsOf } from './proposals';
import { askedOf, boxOf, chipsOf, countsOf, dayNumber, dayOf, facetNames, isCut, kindOf, narrowed, niceStep, orderedValues, plainSearch, selectionOf } from './query';
import { msOf } from '../../lib/text';
import { decidedBy, ruleTitle, sentenceOf, stageTitle, wordsBetween, type WordSeen } from './sentences';

const params = (all: Record<string, string[]>) => new Map(Object.entries(all));
const asked = (all: Record<string, string[]>, settings: Settings = {}) => askedOf(params(all), settings);
const MEANING: Settings = { embedders: { own: { source: 'userProvided' }, small: { source: 'rest' } } };

describe('an address', () => {
  test.each([['5', 20], ['nonsense', 20], ['1e9', 1000], ['40.9', 40], ['-3', 20]])('with the limit %s asks for %i hits', (limit, hits) => { expect(asked({ limit: [limit] }).limit).toBe(hits); });
  test.each([['2', 1], ['-1', 0], ['x', 0.5]])('with the ratio %s asks for %d', (ratio, is) => { expect(asked({ ratio: [ratio] }).ratio).toBe(is); });
  test('asks by words where there is no embedder', () => { expect(asked({ way: ['meaning'] }).way).toBe('words'); });
  test('asks with an embedder that makes vectors of what is typed', () => { expect(asked({ way: ['meaning'], embedder: ['own'] }, MEANING).embedder).toBe('small'); });
  test('asks questions where the index does', () => { expect(asked({}, { matchingStrategy: 'any' }).way).toBe('questions'); });
  test.each(['', '1,2,3', '1,2,3,x', '1,,3,4', '1,2,3,4,5'])('with the box “%s” has none', text => { expect(boxOf(text)).toBeNull(); });
});

describe('a search', () => {
  test('by words of an index of questions says so', () => { expect(selectionOf(asked({ way: ['words'] }, { matchingStrategy: 'any' }), { matchingStrategy: 'any' })).toEqual({ q: '', matchingStrategy: 'last' }); });
  test('by meaning has the ratio', () => { expect(selectionOf(asked({ q: ['x'], way: ['meaning'], ratio: ['0.7'] }, MEANING), MEANING).hybrid).toEqual({ embedder: 'small', semanticRatio: 0.7 }); });
  test('by meaning without words embeds nothing', () => { expect(selectionOf(asked({ q: [' '], way: ['meaning'] }, MEANING), MEANING).hybrid).toBeUndefined(); });
  test('in an area has a box', () => { expect(selectionOf(asked({ box: ['2,3,0,1'] }), {}).filter).toEqual(['_geoBoundingBox([2, 3], [0, 1])']); });
  test('as a program sends it has no marks', () => { expect(plainSearch(asked({ q: ['x'], 'f.a': ['1'] }), { filterableAttributes: ['a', '_geo'] })).toEqual({ q: 'x', filter: [['"a" = "1"']], facets: ['a'] }); });
});

describe('facets', () => {
  test('are counted without a hit, an order and their own condition', () => { expect(countsOf(asked({ q: ['x'], sort: ['a:asc'], 'f.a': ['1'], 'f.b': ['2'] }), {}, 'a')).toEqual({ q: 'x', filter: [['"b" = "2"']], limit: 0 }); });
  test('by meaning are counted with hits: without, vectors find nothing', () => { expect(countsOf(asked({ q: ['x'], way: ['meaning'], limit: ['40'] }, MEANING), MEANING, 'a')).toMatchObject({ limit: 40, attributesToRetrieve: [] }); });
  test('of patterns are all', () => { expect(facetNames({ filterableAttributes: ['a', { attributePatterns: ['b*'] }] })).toEqual(['*']); });
  test('are narrowed only where they can be filtered', () => { expect(narrowed(asked({ 'f.a': ['1'], 'f.gone': ['2'] }).narrowing, ['a'])).toEqual(['a']); });
  test('come by frequency, those chosen first', () => { expect(orderedValues({ a: 1, b: 5, c: 3 }, ['c', 'none'])).toEqual([['c', 3], ['none', 0], ['b', 5], ['a', 1]]); });
  test('have no values that objects have', () => { expect(orderedValues({}, ['constructor'])).toEqual([['constructor', 0]]); });
  test('are cut where the server says so', () => { expect([isCut('maxTotalHits, maxValuesPerFacet:cast', 'cast'), isCut('maxValuesPerFacet:casting', 'cast'), isCut(null, 'cast')]).toEqual([true, false, false]); });
  const numbers = Object.fromEntries(Array.from({ length: 12 }, (_, place) => [String(place), 1]));
  test('of many numbers are ranges', () => { expect(kindOf({ name: 'a', counts: numbers, stats: { min: 0, max: 11 }, isCut: false })).toBe('numbers'); });
  test('of few numbers are values', () => { expect(kindOf({ name: 'a', counts: { 1: 1, 2: 3 }, stats: { min: 1, max: 2 }, isCut: false })).toBe('values'); });
  test('of days are days', () => { expect(kindOf({ name: 'a', counts: { '2024-01-02': 1, '2024-01-03T10:00:00Z': 1, '2024-02-01': 2 }, stats: null, isCut: false })).toBe('days'); });
  test.each([[0, 24, 1], [1920, 2023, 5], [0, 1, 0.05], [0, 0, 1], [0, 1e9, 5e7]])('from %d to %d have steps of %d', (min, max, step) => { expect(niceStep(min, max)).toBe(step); });
  test('of days come back as they were', () => { expect(dayOf(dayNumber('2024-02-29T23:00:00Z'))).toBe('2024-02-29'); });
  test('that are chosen can each be taken away', () => {
    expect(chipsOf(asked({ 'f.a': ['x', 'y'], 'r.n': ['1..'], filter: ['b > 2'] })).map(one => [one.text, one.change])).toEqual([
      ['a: x', { 'f.a': ['y'] }], ['a: y', { 'f.a': ['x'] }], ['n: from 1', { 'r.n': null }], ['b > 2', { filter: null }]]);
  });
});

describe('a filter that is written', () => {
  test.each([['', 'name', ''], ['ye', 'name', 'ye'], ['year ', 'operator', ''], ['year > 19', 'value', '19'], ['year > 1980 ', 'join', ''], ['a = 1 AND "b ', 'name', '"b '], ['a IN [x, ', 'list', ''], ['a 1 ', 'range', ''], ['NOT a EXISTS ', 'join', '']])('“%s” goes on with a %s', (text, next, partial) => {
    expect([nextInFilter(text).next, nextInFilter(text).partial]).toEqual([next, partial]);
  });
  const offers = (text: string) => offersOf(text, ['year', 'my field'], async () => ['Science Fiction', 'War']).then(all => all.map(one => one.filter));
  test('is offered names', async () => { expect(await offers('')).toEqual(['year', '"my field"']); });
  test('is offered values between quotes', async () => { expect(await offers('genre = s')).toEqual(['genre = "Science Fiction"', 'genre = War']); });
});

const word = (name: string, ...matches: [string, string, string, number[]][]): WordSeen => ({ word: name, isMatched: matches.length > 0, matches: matches.map(([attribute, term, match, positions]) => ({ attribute, term, match, positions })) });
describe('an explanation', () => {
  const words = [word('alein', ['title', 'alien', 'oneTypo', [2]], ['text', 'alien', 'oneTypo', [0, 40]]), word('ship', ['text', 'ship', 'exact', [53]]), word('zoo')];
  test('says which words are there', () => { expect(sentenceOf('words', { matchingWords: 2, maxMatchingWords: 3 }, words)).toBe('2 of 3 words; missing: zoo'); });
  test('says which typos there are', () => { expect(sentenceOf('typo', { typoCount: 1 }, words)).toBe('1 typo: alein → alien'); });
  test('says which words are written as one', () => { expect(sentenceOf('typo', { typoCount: 2 }, [word('space', ['text', 'space', 'exact', [1]], ['text', 'spaceship', 'concatenation', [3]]), word('ship', ['text', 'spaceship', 'concatenation', [3]])])).toBe('2 typos: spaceship as one word'); });
  test('says how far apart words are', () => { expect(sentenceOf('proximity', {}, words)).toBe('12 words in between'); });
  test('knows words of different fields', () => { expect(wordsBetween([word('a', ['x', 'a', 'exact', [1]]), word('b', ['y', 'b', 'exact', [1]])])).toBeNull(); });
  test('says that words are side by side', () => { expect(sentenceOf('proximity', {}, [word('a', ['x', 'a', 'exact', [1]]), word('b', ['x', 'b', 'exact', [2]])])).toBe('side by side'); });
  test.each([['boost:popularity', 'Boost by popularity'], ['year:desc', 'year, descending'], ['boostIf', 'Boost'], ['words', 'Words'], ['<hidden-rule-3>', '<hidden-rule-3>']])('calls %s %s', (rule, title) => { expect(ruleTitle(rule)).toBe(title); });
  test('says where a rule pins it', () => { expect([0, 1_000_000].map(position => sentenceOf('pin', { position }, []))).toEqual(['a rule pins it to position 1', 'a rule moves it to the end']); });
  test('of a sort has the value', () => { expect(sentenceOf('year:desc', { value: null }, [])).toBe('no value'); });
  test('finds the rule that decided', () => { expect(decidedBy({ words: { order: 0, score: 1 }, typo: { order: 1, score: 1 } }, { words: { order: 0, score: 1 }, typo: { order: 1, score: 0.5 } })).toBe('typo'); });
  test('of equal hits finds none', () => { expect(decidedBy({ words: { order: 0, score: 1 } }, { words: { order: 0, score: 1 } })).toBeNull(); });
  test.each([['1.25ms', 1.25], ['310.00µs', 0.31], ['2.00s', 2000], ['15ns', 0.000015], ['soon', 0]])('reads %s', (took, ms) => { expect(msOf(took) ?? 0).toBeCloseTo(ms, 9); });
  test('names stages that it does not know as they are', () => { expect([stageTitle('rank'), stageTitle('something new')]).toEqual(['Rank', 'something new']); });
});

describe('documents like a hit', () => {
  const hit = { id: 7, genre: ['War', 'Drama "x"'], year: 1979, inStock: true, text: 'x'.repeat(200), nested: { a: 1 }, none: null, _score: 1 };
  test('have values that can be filtered by', () => { expect(traitsOf(hit, 'id', { filterableAttributes: ['id', 'genre', 'year', 'inStock', 'text', 'nested', 'none', 'missing', 'constructor'] }).map(one => one.filter)).toEqual(['"genre" = "War"', '"genre" = "Drama \\"x\\""', '"year" = 1979', '"inStock" = true']); });
  test('have nothing in common where nothing is filterable', () => { expect(traitsOf(hit, 'id', {})).toEqual([]); });
  test('have all fields where patterns say so', () => { expect(traitsOf(hit, 'id', { filterableAttributes: ['*'] })).toHaveLength(4); });
  test('of many values have some', () => { expect(traitsOf({ a: Array.from({ length: 10_000 }, (_, place) => place) }, null, { filterableAttributes: ['a'] })).toHaveLength(8); });
  test('climb and fall', () => { expect(climbs(['a', 'b', 'c'], ['c', 'a', 'd'])).toEqual([2, -1, null]); });
});

describe('code', () => {
  const place = { host: 'HOST', index: "it's", hasKey: true };
  test('for a shell has no way out of its quotes', () => { expect(codeOf('curl', place, { q: "it's" })).toContain(`"q": "it'\\''s"`); });
  test('never has a key', () => { expect(codeOf('JavaScript', place, { q: '' })).toContain('apiKey: process.env.LAMINA_KEY'); });
  test('for Python has its words', () => { expect(codeOf('Python', place, { q: 'x', a: true, b: null, c: [1, 'y'] })).toContain('.search("x", {"a": True, "b": None, "c": [1, "y"]})'); });
});

describe('a map', () => {
  test.each<[Json | undefined, boolean]>([[{ lat: 1, lng: 2 }, true], [{ lat: '1.5', lng: '2' }, true], [{ lat: 91, lng: 0 }, false], [{ lat: null, lng: 0 }, false], ['1,2', false], [undefined, false], [[{ lat: 1, lng: 2 }], true]])('of %j: %s', (value, is) => { expect(pointOf(value) !== null).toBe(is); });
  test('shows all points', () => {
    const points = [{ lat: 48.86, lng: 2.34 }, { lat: 48.8, lng: 2.12 }], seen = viewOf(points, 2);
    expect(points.map(one => project(one, seen, 100, 50)).every(([x, y]) => x > 0 && x < 100 && y > 0 && y < 50)).toBe(true);
  });
  test.each([[360, 220], [640, 300], [1800, 420]])('of %d by %d has a grid whose labels have room', (width, height) => {
    const lines = gridOf(viewOf([{ lat: 48.8, lng: 2.1 }, { lat: 48.9, lng: 2.6 }], width / height), width, height), down = lines.filter(one => !one.isFlat);
    expect(down.length).toBeGreaterThan(1);
    expect(Math.min(...down.slice(1).map((one, place) => one.x1 - (down[place]?.x1 ?? 0)))).toBeGreaterThan(55);
  });
});

describe('proposals', () => {
  const lamps = Array.from({ length: 60 }, (_, place) => ({ id: place, name: 'Lamp ' + place, brand: 'brand ' + place % 15, price: place * 1.5, text: 'A long text about this lamp, number ' + place }));
  const found = proposalsOf(lamps, { searchableAttributes: ['*'], filterableAttributes: [], sortableAttributes: [] }, 'id');
  test('are three', () => { expect(found.map(one => one.title)).toEqual(['brand has 15 values: make it a facet?', 'price ranges from 0 to 88.5: filter and sort by it?', 'Rank matches in name above those in brand and text?']); });
  test('keep what there is when they are taken', () => { expect(found[0]?.change({ filterableAttributes: ['kind'] })).toEqual({ filterableAttributes: ['kind', 'brand'] }); });
  test('are none for what is set', () => { expect(proposalsOf(lamps, { searchableAttributes: ['name'], filterableAttributes: ['brand', 'price'], sortableAttributes: [] }, 'id')).toEqual([]); });
  test('are none for one document', () => { expect(proposalsOf(lamps.slice(0, 1), {}, 'id')).toEqual([]); });
  test('come of lists as well', () => { expect(proposalsOf(lamps.map((one, place) => ({ id: one.id, tags: ['a', 'b' + place % 4] })), { searchableAttributes: ['id'] }, 'id').map(one => one.id)).toEqual(['facet tags']); });
  test('survive fields without end', () => { expect(proposalsOf([Object.fromEntries(Array.from({ length: 10_000 }, (_, place) => ['f' + place, 'x'])), { f1: 'x' }], {}, null).length).toBeLessThanOrEqual(3); });
});
