import { describe, expect, test } from 'vitest';
import { asCell, asText, isLink, pictureField, titleField, titleOf } from './documents';
import { kindOfFile, nameOfFile } from './files';
import { conditions, dayAfter, narrowingOf, quoted } from './filters';
import { best, fits } from './fuzzy';
import { parseJson } from './json';
import { takesText } from './keyboard';
import { CLOSE, OPEN, partsOf, unmarked } from './marks';
import { ago, bytes, compact, msOf, plural, span } from './text';

describe('what matched', () => {
  test('is a part of its own', () => {
    expect(partsOf(`an ${OPEN}alien${CLOSE} ship`)).toEqual([{ text: 'an ', isMarked: false }, { text: 'alien', isMarked: true }, { text: ' ship', isMarked: false }]);
  });
  test('that has no end is text', () => { expect(partsOf(`a ${OPEN}b`)).toEqual([{ text: 'a ', isMarked: false }, { text: 'b', isMarked: false }]); });
  test('keeps markup as text', () => { expect(partsOf('<script>')).toEqual([{ text: '<script>', isMarked: false }]); });
  test('loses its marks', () => { expect(unmarked(`${OPEN}a${CLOSE}b`)).toBe('ab'); });
});

describe('documents', () => {
  test('are called by their title, never by their key', () => { expect(titleField({ id: 'a', name: 'Lamp' }, 'name')).toBe('id'); });
  test('without a title are called by their key', () => { expect([titleOf({ id: 7, name: 'Lamp' }, 'id'), titleOf({ id: 7 }, 'id'), titleOf({ id: 7 }, null), titleOf({}, 'id')]).toEqual(['Lamp', '7', 'Document', 'Document']); });
  test('are called by what is searched first', () => { expect(titleField({ sku: '1', model: 'X' }, 'sku', ['*', 'model'])).toBe('model'); });
  test('need no title', () => { expect(titleField({ id: 1 }, 'id')).toBeNull(); });
  test('may have fields of odd names', () => { expect(titleField(JSON.parse('{"__proto__": "x", "constructor": "Lamp"}'), null)).toBe('constructor'); });
  test('show the picture that they name', () => { expect(pictureField({ a: 'x', poster: ['https://example.org/1'] })).toBe('poster'); });
  test.each(['javascript:alert(1)', 'data:text/html,x', '//example.org', 'https://', 'http:///x y'])('make no link of %s', url => { expect(isLink(url)).toBe(false); });
  test('are listed in a cell without brackets', () => { expect([asCell(['War', 3, null]), asCell([{ a: 1 }]), asCell(null), asCell('x')]).toEqual(['War, 3, null', '[{"a":1}]', '', 'x']); });
  test('are text where they are no text', () => { expect(asText({ a: [1] })).toBe('{"a":[1]}'); });
});

describe('filters', () => {
  test('quote what people chose', () => { expect(quoted('a "b" \\ c')).toBe('"a \\"b\\" \\\\ c"'); });
  test('end days where the next begins', () => { expect(dayAfter('2024-02-28')).toBe('2024-02-29'); });
  const narrowing = narrowingOf(new Map([['f.genre', ['Drama', 'War', 'War']], ['r.year', ['1990..']], ['r.day', ['..2020-01-31']], ['r.none', ['..']], ['filter', ['price < 3']], ['q', ['x']]]));
  test('join alternatives of a field, and conditions of several', () => {
    expect(conditions(narrowing)).toEqual([['"genre" = "Drama"', '"genre" = "War"'], '"year" >= 1990', '"day" < "2020-02-01"', 'price < 3']);
  });
  test('leave out the field whose values are counted', () => { expect(conditions(narrowing, 'genre')[0]).toBe('"year" >= 1990'); });
});

describe('names', () => {
  test('that begin so come first', () => { expect(best(['a film', 'Films', 'filmography of all'], 'film', one => one)[0]).toBe('Films'); });
  test('are found by their letters', () => { expect(fits('Synonyms', 'snm')).toBeGreaterThan(0); });
  test('without the letters are not found', () => { expect(fits('Tasks', 'xyz')).toBe(0); });
  test('are all found by nothing', () => { expect(best(['b', 'a'], ' ', one => one)).toEqual(['b', 'a']); });
});

describe('JSON', () => {
  test('that is well formed has its value', () => { expect(parseJson('{"a": [1, true, null]}')).toEqual({ value: { a: [1, true, null] } }); });
  test.each([
    ['{"a": 1,}', 1, 9, 'extra comma'], ['[1, 2', 1, 1, 'closing "]"'], ['{\n  "a" 1\n}', 2, 7, '":" is missing'], ["{'a': 1}", 1, 2, 'name between double quotes'],
    ['{"a": yes}', 1, 7, '"yes" is not a value'], ['"a\n"', 1, 1, 'closing quote'], ['[1] 2', 1, 5, 'Unexpected text after the end'], ['', 1, 1, 'Enter some JSON'], ['"\\x"', 1, 2, 'backslash'],
    ['[01]', 1, 2, 'not a value'], ['{"a": 1 "b": 2}', 1, 9, 'comma or "}"'], ['[1,]', 1, 4, 'extra comma'],
  ])('%j says where it is wrong', (text, line, column, words) => {
    const { fault } = parseJson(text);
    expect([fault?.line, fault?.column, fault?.message]).toEqual([line, column, expect.stringContaining(words)]);
  });
  test('that is deep is refused, and breaks nothing', () => { expect(parseJson('['.repeat(100_000)).fault?.message).toMatch(/deep/); });
});

describe('keys', () => {
  test.each([['INPUT', 'text', true], ['INPUT', 'search', true], ['TEXTAREA', undefined, true], ['INPUT', 'checkbox', false], ['INPUT', 'range', false], ['BUTTON', 'button', false]])('are text for %s of %s: %s', (tagName, type, isText) => {
    expect(takesText({ tagName, type })).toBe(isText);
  });
});

describe('words', () => {
  test('of many', () => { expect([plural(1, 'hit'), plural(2, 'query'), plural(1234, 'index')]).toEqual(['1 hit', '2 queries', '1,234 indexes']); });
  test('of sizes', () => { expect([bytes(0), bytes(1536), bytes(3 << 20)]).toEqual(['0 B', '1.5 KiB', '3.0 MiB']); });
  test('of times', () => { expect([span(0.4), span(12), span(1500), span(180_000)]).toEqual(['0.4 ms', '12 ms', '1.5 s', '3 min']); });
  test('of durations', () => { expect([msOf('PT1.5S'), msOf('PT2M3S'), msOf('P1DT1H'), msOf('soon'), msOf(null)]).toEqual([1500, 123_000, 90_000_000, null, null]); });
  test('of moments', () => { expect([ago('2024-01-01T00:00:00Z', Date.parse('2024-01-01T02:00:00Z')), ago('never'), ago(null)]).toEqual(['2 hours ago', '–', '–']); });
  test('of large numbers', () => { expect([compact(9999), compact(1_234_567)]).toEqual(['9,999', '1.2M']); });
});

describe('files', () => {
  test.each([['My Films (2024).json', 'my-films-2024'], ['été.csv', 'ete'], ['..', 'documents'], ['日本.ndjson', 'documents']])('%s is for the index %s', (name, index) => { expect(nameOfFile(name)).toBe(index); });
  test('are what they begin with', async () => { expect((await kindOfFile(new File([' [{}]'], 'a.json'))).type).toBe('application/json'); });
  test('of lines are lines', async () => { expect((await kindOfFile(new File(['{}\n{}'], 'a.json'))).type).toBe('application/x-ndjson'); });
  test('of tabs say so', async () => { expect((await kindOfFile(new File(['a\tb'], 'a.TSV'))).query).toEqual({ csvDelimiter: '\t' }); });
});
