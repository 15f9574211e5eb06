
// Beside the hits: a filter that is typed, the search as a program sends it, and why a document is no hit.
const TOKENS = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[()[\],]|[<>!=]+|[^\s()[\],<>!="']+/g;
const OPERATORS = ['=', '!=', '>', '>=', '<', '<=', 'TO', 'IN [', 'NOT IN [', 'EXISTS', 'NOT EXISTS', 'IS NULL', 'IS EMPTY', 'STARTS WITH'];
const OFFERED = 12;
const bare = text => text.replace(/^["']|["']$/g, '').replace(/\\(.)/g, '$1');
const asWord = text => /^[\p{L}\p{N}_.-]+$/u.test(text) && !/^(AND|OR|NOT|TO|IN|IS|EXISTS)$/i.test(text) ? String(text) : quoted(text);

// What may come next in a filter: a name, an operator, a value or a word that joins; and the token that is being typed.
function nextInFilter(text) {
  const tokens = text.match(TOKENS) || [];
  const partial = !text || /[\s([,]$/.test(text) ? '' : tokens.pop();
  let next = 'name', name = '';
  for (const token of tokens) {
    if (next === 'name') {
      if (!/^(NOT|\()$/i.test(token)) { name = bare(token); next = 'operator'; }
    } else if (next === 'operator') {
      if (/^(EXISTS|NULL|EMPTY)$/i.test(token)) next = 'join';
      else if (/^[<>!=]|^WITH$/i.test(token)) next = 'value';
      else if (token === '[') next = 'list';
      else if (!/^(NOT|IN|IS|STARTS)$/i.test(token)) next = 'range';
    } else if (next === 'range') {
      next = 'value';
    } else if (next === 'list') {
      if (token === ']') next = 'join';
    } else if (next === 'value') {
      next = 'join';
    } else if (/^(AND|OR)$/i.test(token)) {
      next = 'name';
    }
  }
  return { next, name, partial, before: text.slice(0, text.length - partial.length) };
}

async function offered(text) {
  const { next, name, partial, before } = nextInFilter(text);
  const starts = list => list.filter(one => one.toLowerCase().startsWith(partial.toLowerCase()));
  const fill = list => list.slice(0, OFFERED).map(one => before + (before && !/[\s([]$/.test(before) ? ' ' : '') + one);
  if (next === 'name') return fill(starts(facetNames().filter(one => !one.includes('*')).map(asWord)));
  if (next === 'operator') return fill(starts(OPERATORS));
  if (next === 'join') return fill(starts(['AND', 'OR']));
  if (next === 'range') return fill(starts(['TO']));
  const here = Object.keys((facets.get(name) || { counts: {} }).counts).filter(value => value.toLowerCase().includes(bare(partial).toLowerCase()));
  const found = await ask('POST', route('indexes', state.index, 'facet-search'), { facetName: name, facetQuery: bare(partial) })
    .then(answer => answer.facetHits.map(hit => hit.value), () => here);
  return fill(found.map(asWord));
}

async function completeFilter() {
  const text = at('filter').value, found = state.index ? await offered(text).catch(() => []) : [];
  if (text === at('filter').value) at('filter-words').replaceChildren(...found.map(one => new Option('', one)));
}

function takeFilter() {
  const text = at('filter').value.trim();
  if (text === state.filter) return;
  state.filter = text;
  changed();
}

at('filter').oninput = () => { if (at('filter').value === '') takeFilter(); completeFilter(); };
at('filter').onfocus = completeFilter;
at('filter').onchange = takeFilter;

// The search as a program sends it: what only this page needs is left out. The key is never copied.
function plainSearch() {
  const { filter, ...made } = body();
  if (filter.length) made.filter = filter;
  if (state.sort) made.sort = [state.sort];
  if (state.limit !== PAGE) made.limit = state.limit;
  const names = facetNames();
  if (names.length) made.facets = names;
  return made;
}

function asPython(value) {
  if (Array.isArray(value)) return '[' + value.map(asPython).join(', ') + ']';
  if (value && typeof value === 'object') return '{' + Object.entries(value).map(([name, one]) => JSON.stringify(name) + ': ' + asPython(one)).join(', ') + '}';
  return value === null ? 'None' : typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value);
}

const LANGUAGES = {
  curl: (host, hasKey, all) => "curl '" + host + route('indexes', state.index, 'search') + "' -H 'Content-Type: application/json' \\\n" +
    (hasKey ? '  -H "Authorization: Bearer $LAMINA_KEY" \\\n' : '') + "  --data '" + JSON.stringify(all).replace(/'/g, "'\\''") + "'",
  JavaScript: (host, hasKey, { q, ...rest }) => "import { Meilisearch } from 'meilisearch';\n\nconst client = new Meilisearch({ host: " + JSON.stringify(host) +
    (hasKey ? ', apiKey: process.env.LAMINA_KEY' : '') + ' });\nconst { hits } = await client.index(' + JSON.stringify(state.index) + ').search(' +
    JSON.stringify(q) + ', ' + JSON.stringify(rest, null, 2) + ');',
  Python: (host, hasKey, { q, ...rest }) => (hasKey ? 'import os\n\n' : '') + 'import meilisearch\n\nclient = meilisearch.Client(' + JSON.stringify(host) +
    (hasKey ? ', os.environ["LAMINA_KEY"]' : '') + ')\nhits = client.index(' + JSON.stringify(state.index) + ').search(' + JSON.stringify(q) + ', ' + asPython(rest) + ')["hits"]',
};

// The text is shown besides: browsers give only pages from HTTPS or this machine a clipboard.
function copyAs(language) {
  const text = LANGUAGES[language](location.origin, Boolean(sessionStorage.getItem('key')), plainSearch());
  at('code').textContent = text;
  at('code').hidden = false;
  const copying = navigator.clipboard ? navigator.clipboard.writeText(text) : Promise.reject();
  return copying.then(() => { at('copied').textContent = 'copied'; }, () => { at('copied').textContent = 'select the text to copy it'; });
}

const REASONS = { hit: 'It is a hit.', documentNotFound: 'There is no such document.', documentDeleted: 'It was deleted.', filteredOut: 'The filter excludes it.',
  excludedByQuery: 'It has a word that the query excludes.', missingWords: 'It lacks words that the matching strategy requires.',
  belowRankingScoreThreshold: 'Its score is below the threshold.', notDistinct: 'A better hit has the same distinct value.',
  beyondMaxTotalHits: 'It is beyond the last hit that paging reaches.', outsideOfPage: 'It is further down the list.', searchCutoff: 'The time limit ended the search before it was ranked.' };

async function whyNot() {
  const id = at('missing').value.trim();
  if (!id) return;
  const { q, filter, hybrid } = body();
  const answer = await ask('POST', route('indexes', state.index, 'search'), { q, filter, hybrid, limit: state.limit, ...(state.sort ? { sort: [state.sort] } : {}), explain: { documentId: id } });
  const { reason, position, failingFilters, excludedWords, missingWords, words, rankingScore, nearness } = answer.explanation.document;
  const list = texts => named('span', 'chips', ...texts.map(text => node('span', text)));
  const facts = [['place', position === undefined ? null : '#' + (position + 1)], ['failing filters', failingFilters && list(failingFilters)],
    ['excluded words', excludedWords && list(excludedWords)], ['missing words', missingWords && list(missingWords)],
    ['score', rankingScore === undefined ? null : rankingScore.toFixed(4)], ['similarity', nearness ? String(nearness.similarity) : null],
    ...(words || []).map(one => ['“' + one.word + '”', one.matches.map(match => match.match + ' in ' + match.attribute + (match.term ? ': ' + match.term : '')).join(', ') || 'no match'])];
  at('reason').replaceChildren(node('p', REASONS[reason] || reason), node('dl', null, ...facts.filter(([, value]) => value).flatMap(([name, value]) => [node('dt', name), node('dd', null, value)])));
}

at('languages').prepend(...Object.keys(LANGUAGES).map(language => button(language, () => copyAs(language))));
at('why-not').onsubmit = event => { event.preventDefault(); shown(whyNot); };
