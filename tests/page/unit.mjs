// Unit tests of the console's JavaScript: the parts without a server behind them, in a context with as little of a browser as they
// need.
// usage: node --test tests/page/unit.mjs
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import vm from 'node:vm';

const FILES = ['base', 'values', 'facets', 'views', 'playground'];
const NAMES = ['state', 'conditions', 'quoted', 'dayAfter', 'areDates', 'narrowed', 'facetNames', 'pictureOf', 'titleOf', 'unmarked', 'isPlain',
  'route', 'readAddress', 'writeAddress', 'measuresOf', 'readJudged', 'human'];

// The scripts with an address, in a context of their own: tests share no state.
function page(search = '') {
  const made = () => ({ value: '', textContent: '', hidden: false, dataset: {}, style: {}, classList: { add() {}, remove() {}, toggle() {} },
    append() {}, prepend() {}, replaceChildren() {}, setAttribute() {}, addEventListener() {}, querySelectorAll: () => [] });
  const elements = new Map();
  const element = id => elements.get(id) || elements.set(id, made()).get(id);
  const location = { search, pathname: '/' };
  const history = { replaceState: (_state, _title, address) => { location.search = address.startsWith('?') ? address : ''; } };
  const document = { getElementById: element, createElement: made, createDocumentFragment: made, querySelectorAll: () => [], querySelector: made, addEventListener() {} };
  const context = vm.createContext({ document, location, history, URLSearchParams, MutationObserver: class { observe() {} }, window: { addEventListener() {} } });
  const folder = new URL('../../server/src/api/page/', import.meta.url);
  const text = FILES.map(name => readFileSync(new URL(name + '.js', folder), 'utf8')).join('\n');
  const found = vm.runInContext(text + '\n;({ ' + NAMES.join(', ') + ' })', context);
  return { ...found, element, location };
}

const plain = value => JSON.parse(JSON.stringify(value));

test('filters quote what people chose', () => {
  const { state, conditions } = page();
  state.chosen.set('genre', new Set(['Drama', 'a "b" \\ c']));
  state.chosen.set('empty', new Set());
  state.ranges.set('year', ['1990', '']);
  state.ranges.set('released', ['2020-01-01', '2020-02-28']);
  state.filter = 'price < 3';
  assert.deepEqual(plain(conditions()), [
    ['"genre" = "Drama"', '"genre" = "a \\"b\\" \\\\ c"'],
    '"year" >= 1990',
    '"released" >= "2020-01-01"',
    '"released" < "2020-02-29"',
    'price < 3',
  ]);
  assert.deepEqual(plain(conditions('genre'))[0], '"year" >= 1990');
});

test('counts of a facet are narrowed by the others alone', () => {
  const { state, narrowed } = page();
  state.chosen.set('genre', new Set(['Drama']));
  state.chosen.set('none', new Set());
  state.ranges.set('year', ['', '']);
  state.ranges.set('price', ['', '9']);
  assert.deepEqual(plain(narrowed()), ['genre', 'price']);
});

test('days are distinguished from other texts', () => {
  const { areDates, dayAfter } = page();
  assert.equal(areDates(['2020-01-01', '1999-12-31T10:00:00Z']), true);
  assert.equal(areDates(['2020-01-01', 'soon']), false);
  assert.equal(areDates([]), false);
  assert.equal(dayAfter('2024-02-28'), '2024-02-29');
  assert.equal(dayAfter('2023-12-31T23:00:00Z'), '2024-01-01');
});

test('facets of patterns are requested together', () => {
  const { state, facetNames } = page();
  state.settings = { filterableAttributes: ['genre', '_geo'] };
  assert.deepEqual(plain(facetNames()), ['genre']);
  state.settings = { filterableAttributes: ['attr_*'] };
  assert.deepEqual(plain(facetNames()), ['*']);
  state.settings = { filterableAttributes: [{ attributePatterns: ['a'] }] };
  assert.deepEqual(plain(facetNames()), ['*']);
});

test('a hit has a title and a picture', () => {
  const { state, titleOf, pictureOf } = page();
  state.primaryKey = 'sku';
  state.settings = { searchableAttributes: ['*'] };
  assert.equal(titleOf({ sku: 'a', name: 'Lamp', title: 'Red lamp' }), 'title');
  assert.equal(titleOf({ sku: 'a', text: 'x'.repeat(300), brand: 'Acme' }), 'brand');
  assert.equal(titleOf({ sku: 'a', price: 3 }), undefined);
  assert.equal(pictureOf({ link: 'https://a.example/x', file: 'https://a.example/x.PNG?w=1' }), 'https://a.example/x.PNG?w=1');
  assert.equal(pictureOf({ posters: ['https://a.example/7'] }), 'https://a.example/7');
  assert.equal(pictureOf({ image: 'javascript:alert(1)' }), null);
});

test('the address keeps what is looked at', () => {
  const search = '?index=films&q=red+lamp&sort=year%3Aasc&filter=a+%3D+1&limit=40&f.genre=Drama&f.genre=a%26b&r.year=1990..';
  const first = page(search);
  first.readAddress();
  assert.equal(first.state.wanted, 'films');
  first.state.index = first.state.wanted;
  first.element('meanings').hidden = true;
  first.writeAddress();
  const order = text => [...new URLSearchParams(text)].map(pair => pair.join('=')).sort();
  assert.deepEqual(order(first.location.search), order(search));
  const odd = page('?limit=-5');
  odd.readAddress();
  assert.equal(odd.state.limit, 20);
  const wild = page('?limit=9999999');
  wild.readAddress();
  assert.equal(wild.state.limit, 1000);
});

test('names stand in paths as they are', () => {
  const { route } = page();
  assert.equal(route('indexes', 'a/b c', 'search'), '/indexes/a%2Fb%20c/search');
});

// The same numbers as `lamina evaluate` has: server/client/src/evaluate/measure.rs.
test('measures are those of the command', () => {
  const { measuresOf } = page();
  const found = plain(measuresOf([0, 3, 1], [3, 1, 2]));
  const gain = grades => grades.reduce((all, grade, place) => all + (2 ** grade - 1) / Math.log2(place + 2), 0);
  assert.ok(Math.abs(found['nDCG@10'] - gain([0, 3, 1]) / gain([3, 2, 1])) < 1e-12);
  assert.equal(found.MRR, 0.5);
  assert.equal(found['recall@10'], 2 / 3);
  assert.equal(found['P@10'], 0.2);
  assert.deepEqual(plain(measuresOf([], [])), { 'nDCG@10': 0, MRR: 0, 'recall@10': 0, 'P@10': 0 });
});

test('judged queries say which line is wrong', () => {
  const { readJudged } = page();
  const [one] = readJudged('\n{"q": "lamp", "relevant": ["1", 2]}\n');
  assert.deepEqual(plain([...one.grades]), [['1', 1], ['2', 1]]);
  for (const [text, reason] of [['{', 'line 1'], ['\n{"q": 1}', 'line 2: "q" must be a string'], ['{"q": "a"}', '"relevant" must be']]) {
    assert.throws(() => readJudged(text), error => error.message.includes(reason));
  }
});

test('sizes are readable', () => {
  const { human } = page();
  assert.deepEqual([0, 1023, 1024, 1536 * 1024, 5 * 1024 ** 4].map(human), ['0 B', '1023 B', '1.0 KiB', '1.5 MiB', '5.0 TiB']);
});
