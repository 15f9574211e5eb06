import { describe, expect, test } from 'vitest';
import { cellAs, columnsOfDocuments, columnsOfRows, documentOf, guess, idsOf, isId, titleOf, type Kind } from './columns';
import { delimiterOf, elements, lines, rows, type Splitter } from './split';
import { tenantToken } from './tenant';

/** The same, whatever the parts in which it comes. */
function all<T>(make: () => Splitter<T>, text: string): T[] {
  const whole = make(), found = [...whole.push(text), ...whole.end()];
  const single = make(), letters = [...[...text].flatMap(letter => single.push(letter)), ...single.end()];
  expect(letters).toEqual(found);
  return found;
}

describe('a document a line', () => {
  test('has its line', () => { expect(all(lines, '{"a":1}\n\n {"a":2}\r\n')).toEqual([{ text: '{"a":1}', line: 1 }, { text: '{"a":2}', line: 3 }]); });
  test('needs no break at the end', () => { expect(all(lines, '1\n2').length).toBe(2); });
});

describe('an array', () => {
  test('gives its elements as they are written', () => {
    expect(all(elements, '[\n {"id": 12345678901234567890, "a": "],\\"{"},\n {"a": [1, {"b": 2}]}\n]')).toEqual([{ text: '{"id": 12345678901234567890, "a": "],\\"{"}', line: 2 }, { text: '{"a": [1, {"b": 2}]}', line: 3 }]);
  });
  test('may be empty', () => { expect(all(elements, ' [ ] \n')).toEqual([]); });
  test('that breaks off gives what is left, to be refused', () => { expect(all(elements, '[{"a":1},\n{"a":')).toEqual([{ text: '{"a":1}', line: 1 }, { text: '{"a":', line: 2 }]); });
  test('may be none: objects follow each other', () => { expect(all(elements, '{\n"a": 1\n}\n{"a": 2}').map(one => one.line)).toEqual([1, 4]); });
});

describe('CSV', () => {
  const cells = (text: string, delimiter = ',') => all(() => rows(delimiter), text).map(one => one.cells);
  test('has rows and lines', () => { expect(all(() => rows(','), 'a,b\r\n1,2\r\n\r\n"x\ny",3\n4,5')).toEqual([
    { cells: ['a', 'b'], line: 1 }, { cells: ['1', '2'], line: 2 }, { cells: ['x\ny', '3'], line: 4 }, { cells: ['4', '5'], line: 6 }]); });
  test('quotes count at the beginning of a cell', () => { expect(cells('a"b,"c""d",""\n')).toEqual([['a"b', 'c"d', '']]); });
  test('that does not close a quote ends with it', () => { expect(cells('a,"b')).toEqual([['a', 'b']]); });
  test('is split at what its header has', () => { expect([delimiterOf('a;b'), delimiterOf('a\tb'), delimiterOf('a|b'), delimiterOf('a;b,c'), delimiterOf('a')]).toEqual([';', '\t', '|', ',', ',']); });
  test.each([['price:number', 'price', 'number'], ['a:b', 'a:b', null], ['x:boolean', 'x', 'boolean'], ['a:string', 'a', 'text']])('header %s', (title, name, kind) => { expect(titleOf(title)).toEqual({ name, kind }); });
});

describe('a cell', () => {
  test.each<[string, Kind, string | null]>([
    ['12', 'number', '12'], [' 1.50 ', 'number', '1.50'], ['12345678901234567890', 'number', '12345678901234567890'], ['n/a', 'number', null], ['Infinity', 'number', null], ['1.2.3', 'number', null],
    ['+5', 'number', '5'], ['', 'number', 'null'], [' ', 'boolean', 'null'], ['true', 'boolean', 'true'], ['yes', 'boolean', null], [' a ', 'text', '" a "'], ['a|b', 'list', '["a","b"]'], ['["x",1]', 'list', '["x",1]'], ['[a', 'list', '["[a"]'],
  ])('%j as %s', (cell, kind, json) => { expect(cellAs(cell, kind)).toBe(json); });
  test.each<[string[], Kind]>([[['1', '', '2.5'], 'number'], [['007', '008'], 'text'], [['true', 'false'], 'boolean'], [['', ''], 'text'], [['["a"]'], 'list'], [['1', 'x'], 'text']])('%j are %s', (cells, kind) => { expect(guess(cells)).toBe(kind); });
});

describe('a row', () => {
  const kinds = new Map<string, Kind>([['id', 'text'], ['price', 'number'], ['secret', 'skip']]), header = ['id', 'price:number', 'secret'];
  test('is a document', () => { expect(documentOf(header, kinds, ['a', '3', 'x'])).toEqual({ text: '{"id":"a","price":3}' }); });
  test('with a bad cell says which', () => { expect(documentOf(header, kinds, ['a', 'cheap', ''])).toEqual({ fault: '“cheap” in the column “price” is not a number.' }); });
  test('that is too short says so', () => { expect(documentOf(header, kinds, ['a'])).toEqual({ fault: 'This row has 1 cell, the header has 3.' }); });
  test('of a column twice has the last', () => { expect(documentOf(['a', 'a'], new Map(), ['1', '2'])).toEqual({ text: '{"a":"2"}' }); });
  test('may have fields of odd names', () => { expect(documentOf(['__proto__'], new Map(), ['x'])).toEqual({ text: '{"__proto__":"x"}' }); });
});

describe('columns', () => {
  const csv = columnsOfRows(['sku', 'price', 'brand'], [['a', '1', 'X'], ['b', '2', 'X'], ['c', '', 'Y']]);
  test('are guessed', () => { expect(csv.map(one => one.kind)).toEqual(['text', 'number', 'text']); });
  test('that differ in each row could be the id', () => { expect(idsOf(csv, 3)).toEqual(['sku']); });
  test('say what does not fit', () => { expect(columnsOfRows(['n:number'], [['1'], ['x']])[0]?.odd).toBe(1); });
  test('of documents', () => { expect(columnsOfDocuments([{ id: 1, a: ['x'] }, { id: 2, a: 'y', b: null }])).toMatchObject([{ name: 'id', kind: 'number', filled: 2, distinct: 2 }, { name: 'a', kind: 'mixed' }]); });
  test.each([[1, true], ['a-1', true], ['a b', false], [1.5, false], ['', false], [null, false], ['x'.repeat(512), false]])('%j as an id: %s', (value, isOne) => { expect(isId(value)).toBe(isOne); });
});

describe('a tenant token', () => {
  test('is signed as JWT says', async () => {
    const [head = '', claims = '', mark = ''] = (await tenantToken('a key', 'uid', { 'films*': { filter: 'company = "acmé"' } }, new Date(1_900_000_000_000))).split('.');
    const bytes = (text: string) => Buffer.from(text, 'base64url');
    expect(JSON.parse(bytes(claims).toString())).toEqual({ apiKeyUid: 'uid', searchRules: { 'films*': { filter: 'company = "acmé"' } }, exp: 1_900_000_000 });
    const { createHmac } = await import('node:crypto');
    expect(bytes(mark).equals(createHmac('sha256', 'a key').update(head + '.' + claims).digest())).toBe(true);
  });
});
