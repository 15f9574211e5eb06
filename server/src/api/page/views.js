
// Views of administration, beside the search. Each fills one section; what a key may not do, the server refuses.
const views = { search: 'Search', compare: 'Compare', indexes: 'Indexes', documents: 'Documents', settings: 'Settings', rules: 'Rules', tasks: 'Tasks', server: 'Server', keys: 'Keys' };
const OPEN_TASK = ['enqueued', 'processing'];

function button(text, work) {
  const made = node('button', text);
  made.type = 'button';
  made.onclick = () => shown(work);
  return made;
}

const isFigure = value => typeof value === 'string' && /^[+-]?[\d,.]+( [KMGT]?i?B| ms| s| min)?$/.test(value);
const FULL_TEXT = 40;

const labelled = (text, field) => node('label', text + ' ', field);

// Columns of figures stand to the right, with their heads, but for the first one, which names the rows. Each cell knows its head, for tables that are stacked.
function table(heads, lines) {
  const areFigures = heads.map((_, place) => place > 0 && lines.some(line => isFigure(line[place])) && lines.every(line => isFigure(line[place]) || !line[place] || line[place] === '–'));
  const row = (name, values) => node('tr', null, ...values.map((value, place) => {
    const made = node(name, null, value === null || value === undefined ? '' : value);
    made.dataset.head = heads[place];
    if (areFigures[place]) made.className = 'number';
    else if (made.textContent.length > FULL_TEXT && !made.querySelector('button')) made.className = 'text';
    return made;
  }));
  return named('div', 'wide', node('table', null, row('th', heads), ...lines.map(line => row('td', line))));
}

// A table that is wider than its place becomes a list of rows with a head beside each value: nothing is cut off.
function fitTables() {
  for (const one of document.querySelectorAll('.wide')) {
    one.classList.remove('stacked');
    one.classList.toggle('stacked', one.scrollWidth > one.clientWidth);
  }
}
new MutationObserver(fitTables).observe(at('view'), { childList: true, subtree: true });
window.addEventListener('resize', fitTables);

function entry(label, value, rows) {
  const made = node(rows ? 'textarea' : 'input');
  made.value = value || '';
  if (rows) made.rows = rows;
  made.spellcheck = false;
  made.autocomplete = 'off';
  made.setAttribute('aria-label', label);
  made.placeholder = label;
  return made;
}

const human = bytes => {
  const power = bytes > 0 ? Math.min(4, Math.floor(Math.log2(bytes) / 10)) : 0;
  return (bytes / 1024 ** power).toFixed(power ? 1 : 0) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB'][power];
};
const when = text => text ? new Date(text).toLocaleString() : '';

// A write that is answered when it has taken effect; the error of its task is an error.
async function write(method, path, sent) {
  let task = await ask(method, path + (path.includes('?') ? '&' : '?') + 'wait=searchable', sent);
  while (OPEN_TASK.includes(task.status)) {
    await new Promise(done => setTimeout(done, 300));
    task = await ask('GET', route('tasks', String(task.uid ?? task.taskUid)));
  }
  if (task.error) throw new Error(task.error.message);
  return task;
}

const pages = {};

pages.tasks = async fill => {
  const status = node('select'), list = node('div');
  status.setAttribute('aria-label', 'Status');
  status.append(...['all', 'enqueued', 'processing', 'succeeded', 'failed', 'canceled'].map(one => new Option(one, one === 'all' ? '' : one)));
  const took = one => (one.duration || '').replace(/^PT|(\.\d{3})\d*/g, '$1').toLowerCase();
  const load = async () => {
    const which = status.value ? '&statuses=' + status.value : '';
    const [found, batches] = await Promise.all([ask('GET', '/tasks?limit=50' + which), ask('GET', '/batches?limit=10' + which)]);
    const step = batch => batch.progress ? batch.progress.percentage.toFixed(0) + ' %: ' + batch.progress.steps.map(one => one.currentStep).join(', ') : took(batch);
    const ends = batch => Object.entries(batch.stats.status).map(([name, count]) => count + ' ' + name).join(', ');
    list.replaceChildren(table(['task', 'index', 'type', 'status', 'took', 'when', ''], found.results.map(task => {
      const cancel = () => write('POST', '/tasks/cancel?uids=' + task.uid).then(load);
      const last = task.error ? named('span', 'bad', task.error.message) : task.status === 'enqueued' ? button('Cancel', cancel) : '';
      return [String(task.uid), task.indexUid, task.type, task.status, took(task), when(task.enqueuedAt), last];
    })), node('h2', 'Batches'), node('p', 'Tasks that the server carries out together.'), table(['batch', 'indexes', 'tasks', 'progress or time', 'begun'], batches.results.map(batch =>
      [String(batch.uid), Object.keys(batch.stats.indexUids || {}).join(', '), ends(batch), step(batch), when(batch.startedAt)])));
  };
  status.onchange = () => shown(load);
  fill(named('p', 'row', status), list);
  await load();
  state.refresh = load;
};

pages.keys = async fill => {
  let found;
  try {
    found = await ask('GET', '/keys?limit=100');
  } catch (error) {
    if (error.code !== 'missing_master_key') throw error;
    return fill(node('p', 'This server has no master key: there are no keys, and everyone who reaches it may do everything. Start it with --master-key, or with SVC_MASTER_KEY.'));
  }
  const name = entry('Name'), actions = entry('Actions, comma-separated', 'search'), on = entry('Indexes, comma-separated', '*');
  const parts = input => input.value.split(',').map(one => one.trim()).filter(Boolean);
  const create = button('Create', async () => {
    await ask('POST', '/keys', { name: name.value || null, actions: parts(actions), indexes: parts(on), expiresAt: null });
    await view('keys');
  });
  fill(named('p', 'row', name, labelled('Actions', actions), labelled('Indexes', on), create), table(['name', 'actions', 'indexes', 'expires', 'key', ''], found.results.map(key => {
    const secret = node('code', key.key.slice(0, 6) + '…');
    const reveal = node('button', 'Show');
    reveal.onclick = () => { secret.textContent = key.key; reveal.remove(); };
    const remove = button('Delete …', async () => {
      if (confirm('Delete the key ' + (key.name || key.uid) + '? Programs that use it will be refused.')) { await ask('DELETE', route('keys', key.uid)); await view('keys'); }
    });
    return [key.name, key.actions.join(', '), key.indexes.join(', '), key.expiresAt ? when(key.expiresAt) : 'never', node('span', null, secret, ' ', reveal), remove];
  })), ...tenantTokens(found.results));
};

const urlSafe = bytes => btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');

// Made here, from a key that searches: the server keeps no list of them.
function tenantTokens(keys) {
  const key = node('select'), rules = entry('Search rules of the tenant', '{"*": {"filter": "tenant = 7"}}', 2), hours = entry('Hours until it expires', '24'), token = named('code', 'token');
  key.setAttribute('aria-label', 'Key that signs the token');
  key.append(...keys.filter(one => one.actions.some(action => ['*', 'search'].includes(action))).map(one => new Option(one.name || one.uid, one.uid)));
  hours.type = 'number';
  hours.min = '1';
  const create = button('Create token', async () => {
    if (!crypto.subtle) throw new Error('Browsers sign tokens only on pages from HTTPS or localhost.');
    const text = new TextEncoder(), by = keys.find(one => one.uid === key.value);
    const payload = { searchRules: JSON.parse(rules.value), apiKeyUid: by.uid, ...(hours.value ? { exp: Math.floor(Date.now() / 1000) + Number(hours.value) * 3600 } : {}) };
    const signed = [{ alg: 'HS256', typ: 'JWT' }, payload].map(part => urlSafe(text.encode(JSON.stringify(part)))).join('.');
    const secret = await crypto.subtle.importKey('raw', text.encode(by.key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    token.textContent = signed + '.' + urlSafe(new Uint8Array(await crypto.subtle.sign('HMAC', secret, text.encode(signed))));
  });
  return [node('h2', 'Tenant tokens'), node('p', 'A token searches only what its rules admit. It is signed here with a key, and the server keeps no copy.'), named('p', 'row', labelled('Key', key), labelled('Hours', hours), create), rules, node('p', null, token)];
}

// Shows a view; the search is one of them.
async function view(name) {
  if (!views[name]) name = 'search';
  state.view = name;
  state.refresh = null;
  for (const one of at('views').children) one.toggleAttribute('aria-current', one.dataset.view === state.view);
  at('search').hidden = state.view !== 'search';
  at('view').hidden = state.view === 'search';
  for (const id of ['sort', 'meanings', 'words']) at(id).classList.toggle('unused', state.view !== 'search');
  at('q').classList.toggle('unused', !['search', 'compare'].includes(state.view));
  writeAddress();
  if (state.view === 'search') return search();
  // A view that takes longer than people do must not replace the one they have gone to.
  const fill = (...parts) => { if (state.view === name) at('view').replaceChildren(...parts); };
  if (!state.index && ['compare', 'documents', 'settings'].includes(name)) return fill(node('p', 'There is no index yet.'));
  await pages[name](fill);
}

at('views').append(...Object.entries(views).map(([name, title]) => {
  const made = button(title, () => view(name));
  made.dataset.view = name;
  return made;
}));
