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

// `lamina evaluate` reads the same cases.
const cases = JSON.parse(readFileSync(new URL('../golden/measures.json', import.meta.url), 'utf8'));

test('measures are those worked out by hand', () => {
  const { measuresOf } = page();
  for (const one of cases.measures) {
    const grade = id => one.relevant[id] ?? 0;
    const found = measuresOf(one.hits.map(grade), Object.keys(one.relevant).map(grade), one.depth);
    for (const [name, field] of [['nDCG@10', 'ndcg'], ['MRR', 'mrr'], ['recall@10', 'recall'], ['P@10', 'precision']]) {
      assert.ok(Math.abs(found[name] - one[field]) < 1e-6, `${one.name}, ${name}: ${found[name]}, not ${one[field]}`);
    }
  }
});

test('judged queries say which line is wrong', () => {
  const { readJudged } = page();
  for (const { text, relevant } of cases.read) {
    assert.deepEqual(plain(readJudged(text).map(one => [...one.grades])), [Object.entries(relevant)]);
  }
  for (const { text, error: expected } of cases.refused) {
    assert.throws(() => readJudged(text), error => error.message.startsWith('Judged queries, ' + expected), text);
  }
});

test('sizes are readable', () => {
  const { human } = page();
  assert.deepEqual([0, 1023, 1024, 1536 * 1024, 5 * 1024 ** 4].map(human), ['0 B', '1023 B', '1.0 KiB', '1.5 MiB', '5.0 TiB']);
});
