
'use strict';
// What all parts of the page use: elements, requests, the address.
const PAGE = 20, OPEN = '\u0001', CLOSE = '\u0002', TASKS_MS = 4000, EVENT_MS = 100;
const at = id => document.getElementById(id);
const state = { index: '', settings: {}, primaryKey: null, filter: '', chosen: new Map(), ranges: new Map(), limit: PAGE, asked: 0 };

function node(name, text, ...children) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  made.append(...children);
  return made;
}

function named(name, className, ...children) {
  const made = node(name, null, ...children);
  made.className = className;
  return made;
}

// No answer at all, and an answer that refuses.
class Away extends Error {}
class Refusal extends Error {
  constructor(status, value) {
    super(value.message || 'The server answered ' + status + '.');
    this.asksForKey = ['missing_authorization_header', 'invalid_api_key'].includes(value.code);
    this.code = value.code;
  }
}

const route = (...parts) => '/' + parts.map(encodeURIComponent).join('/');

async function ask(method, path, body) {
  const headers = {}, key = sessionStorage.getItem('key');
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (key) headers.Authorization = 'Bearer ' + key;
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) })
    .catch(() => { throw new Away(); });
  noteReplica(answer.headers);
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(answer.status, value);
  return value;
}

const said = text => { at('said').textContent = text; };

// Does something, and shows what went wrong with it.
async function shown(work) {
  try {
    await work();
    said('');
    at('hits').classList.remove('stale');
  } catch (error) {
    if (error instanceof Away) {
      said('The server does not respond. The data below is older; retrying …');
      at('hits').classList.add('stale');
      state.isAway = true;
    } else if (error.asksForKey) {
      signIn(error);
    } else {
      said(error.message);
    }
  }
}

function signIn(error) {
  const had = sessionStorage.getItem('key');
  at('why-key').textContent = had ? 'This key is not accepted: ' + error.message : 'This server needs a key.';
  at('signin').hidden = false;
  document.body.classList.add('signing');
  document.querySelector('main').hidden = true;
  at('key').value = '';
  at('key').focus();
}

// What is looked at stands in the address, so that it can be kept, sent, and found again by going back.
function readAddress() {
  const all = new URLSearchParams(location.search);
  state.wanted = all.get('index');
  at('q').value = all.get('q') || '';
  state.sort = all.get('sort') || '';
  state.filter = at('filter').value = all.get('filter') || '';
  state.embedder = all.get('embedder') || '';
  at('ratio').value = all.get('ratio') || '0.5';
  at('share').textContent = at('ratio').value;
  state.view = all.get('view') || 'search';
  state.limit = Math.min(Math.max(PAGE, Number(all.get('limit')) || PAGE), 1000);
  state.chosen.clear();
  state.ranges.clear();
  for (const [name, value] of all) {
    const facet = name.slice(2);
    if (name.startsWith('f.')) state.chosen.set(facet, (state.chosen.get(facet) || new Set()).add(value));
    if (name.startsWith('r.')) state.ranges.set(facet, value.split('..').slice(0, 2));
  }
}

function writeAddress() {
  const all = new URLSearchParams();
  const put = (name, value, usual) => { if (value && value !== usual) all.append(name, value); };
  put('view', state.view, 'search');
  put('index', state.index);
  put('q', at('q').value);
  put('sort', state.sort);
  put('filter', state.filter);
  put('limit', String(state.limit), String(PAGE));
  if (!at('meanings').hidden) { put('embedder', state.embedder); put('ratio', at('ratio').value, '0.5'); }
  for (const [facet, values] of state.chosen) for (const value of values) all.append('f.' + facet, value);
  for (const [facet, [from, to]] of state.ranges) if (from || to) all.append('r.' + facet, from + '..' + to);
  const text = all.toString();
  history.replaceState(null, '', text ? '?' + text : location.pathname);
}
