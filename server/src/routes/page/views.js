
// Views of administration, beside the search. Each fills one section; what a key may not do, the server refuses.
const views = { search: 'Search', compare: 'Compare', indexes: 'Indexes', documents: 'Documents', settings: 'Settings', rules: 'Rules', tasks: 'Tasks', server: 'Server', keys: 'Keys' };
const OPEN_TASK = ['enqueued', 'processing'];

function button(text, work) {
  const made = node('button', text);
  made.type = 'button';
  made.onclick = () => shown(work);
  return made;
}

function table(heads, lines) {
  const cell = (name, value) => {
    const made = node(name, null, value === null || value === undefined ? '' : value);
    if (typeof value === 'string' && /^[\d,.\s]+( [KMGT]?i?B)?$/.test(value)) made.className = 'number';
    return made;
  };
  const head = node('tr', null, ...heads.map(text => cell('th', text)));
  return named('div', 'wide', node('table', null, head, ...lines.map(line => node('tr', null, ...line.map(value => cell('td', value))))));
}

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

pages.indexes = async fill => {
  const [list, stats] = await Promise.all([ask('GET', '/indexes?limit=1000'), ask('GET', '/stats')]);
  const uid = entry('Name of the new index'), key = entry('Primary key, if known');
  const create = button('Create', async () => {
    await write('POST', '/indexes', { uid: uid.value, ...(key.value ? { primaryKey: key.value } : {}) });
    await indexes();
  });
  fill(named('p', 'row', uid, key, create), table(['index', 'documents', 'with vectors', 'bytes', 'fields', 'primary key', 'changed', ''], list.results.map(index => {
    const of = stats.indexes[index.uid] || { fieldDistribution: {} };
    const open = node('a', index.uid);
    open.href = '?index=' + encodeURIComponent(index.uid);
    const remove = button('Delete …', async () => {
      if (prompt('This deletes all documents of the index. Enter its name to continue:') !== index.uid) return;
      await write('DELETE', route('indexes', index.uid));
      await indexes();
    });
    return [open, (of.numberOfDocuments || 0).toLocaleString(), of.numberOfEmbeddings ? of.numberOfEmbeddedDocuments.toLocaleString() : '', human(of.rawDocumentDbSize || 0), String(Object.keys(of.fieldDistribution).length),
      index.primaryKey, when(index.updatedAt), remove];
  })), ...await orRefusal(aliases));
};

pages.documents = async fill => {
  const filter = entry('Filter: genre = Horror AND year > 1980'), list = node('div'), from = { offset: 0 };
  const documents = route('indexes', state.index, 'documents');
  const load = async () => {
    const found = await ask('POST', documents + '/fetch', { limit: PAGE, offset: from.offset, ...(filter.value ? { filter: filter.value } : {}) });
    const step = (text, by, isOff) => {
      const made = button(text, () => { from.offset = Math.max(0, from.offset + by); return load(); });
      made.disabled = isOff;
      return made;
    };
    const range = found.total ? (from.offset + 1) + ' to ' + (from.offset + found.results.length) + ' of ' + found.total.toLocaleString() : 'none';
    list.replaceChildren(named('p', 'row', step('Back', -PAGE, from.offset === 0), node('span', range),
      step('Next', PAGE, from.offset + found.results.length >= found.total)), ...found.results.map(one));
  };
  const one = document => {
    const text = entry('The document', JSON.stringify(document, null, 1), Math.min(14, Object.keys(document).length + 2));
    const id = String(document[state.primaryKey]);
    const save = button('Save', async () => { await write('POST', documents, [JSON.parse(text.value)]); await load(); });
    const remove = button('Delete …', async () => {
      if (confirm('Delete the document ' + id + '?')) { await write('DELETE', route('indexes', state.index, 'documents', id)); await load(); }
    });
    return node('details', null, node('summary', id + '  ' + (document[titleOf(document)] || '')), text, named('p', 'row', save, remove));
  };
  const file = node('input'), progress = node('span');
  file.type = 'file';
  file.accept = '.json,.ndjson,.jsonl,.csv';
  file.setAttribute('aria-label', 'A file of documents');
  const send = async chosen => {
    const kinds = { csv: 'text/csv', json: 'application/json' };
    const headers = { 'Content-Type': kinds[chosen.name.split('.').pop().toLowerCase()] || 'application/x-ndjson' };
    const key = sessionStorage.getItem('key');
    if (key) headers.Authorization = 'Bearer ' + key;
    progress.textContent = 'sending ' + human(chosen.size) + ' …';
    const answer = await fetch(documents, { method: 'POST', headers, body: chosen }).catch(() => { throw new Away(); });
    let task = await answer.json();
    if (!answer.ok) { progress.textContent = ''; throw new Refusal(answer.status, task); }
    do {
      task = await ask('GET', route('tasks', String(task.taskUid ?? task.uid)));
      progress.textContent = 'task ' + task.uid + ': ' + task.status;
      await new Promise(done => setTimeout(done, 300));
    } while (OPEN_TASK.includes(task.status));
    if (task.error) throw new Error(task.error.message);
    await load();
  };
  file.onchange = () => shown(() => send(file.files[0]));
  at('view').ondragover = event => event.preventDefault();
  at('view').ondrop = event => { event.preventDefault(); if (event.dataTransfer.files[0]) shown(() => send(event.dataTransfer.files[0])); };
  filter.className = 'filter';
  filter.onchange = () => { from.offset = 0; shown(load); };
  fill(node('h2', 'Add documents: choose a file, or drop one here'), named('p', 'row', file, progress), node('h2', 'Browse'), named('p', 'row', filter), list);
  await load();
};

pages.settings = async fill => {
  const settings = await ask('GET', route('indexes', state.index, 'settings'));
  const lines = Object.entries(settings).map(([name, value]) => {
    const isList = Array.isArray(value) && value.every(one => typeof one === 'string');
    const text = isList ? value.join('\n') : JSON.stringify(value, null, 1);
    const field = entry(name, text, Math.min(12, text.split('\n').length + 1));
    const read = () => isList && !/^\s*\[/.test(field.value) ? field.value.split('\n').map(one => one.trim()).filter(Boolean) : JSON.parse(field.value);
    const change = async value => {
      note.textContent = '…';
      try { await write('PATCH', route('indexes', state.index, 'settings'), { [name]: value }); } finally { note.textContent = ''; }
      await load();
      if (state.view !== 'settings') return;
      await view('settings');
      at(name).querySelector('.state').textContent = 'saved';
    };
    const note = named('span', 'faint state');
    const buttons = named('p', 'row', button('Save', () => change(read())), button('Default', () => change(null)), note);
    const part = node('section', null, node('h2', name), isList ? node('p', 'one per line') : '', field, buttons);
    part.id = name;
    return part;
  });
  fill(...lines);
};

pages.tasks = async fill => {
  const status = node('select'), list = node('div');
  status.setAttribute('aria-label', 'Status');
  status.append(...['all', 'enqueued', 'processing', 'succeeded', 'failed', 'canceled'].map(one => new Option(one, one === 'all' ? '' : one)));
  const load = async () => {
    const found = await ask('GET', '/tasks?limit=50' + (status.value ? '&statuses=' + status.value : ''));
    list.replaceChildren(table(['task', 'index', 'type', 'status', 'took', 'when', ''], found.results.map(task => {
      const cancel = () => write('POST', '/tasks/cancel?uids=' + task.uid).then(load);
      const last = task.error ? named('span', 'bad', task.error.message) : task.status === 'enqueued' ? button('Cancel', cancel) : '';
      return [String(task.uid), task.indexUid, task.type, task.status, (task.duration || '').replace(/^PT|(\.\d{3})\d*/g, '$1').toLowerCase(), when(task.enqueuedAt), last];
    })));
  };
  status.onchange = () => shown(load);
  fill(named('p', 'row', status), list);
  await load();
  state.refresh = load;
};

pages.keys = async fill => {
  const found = await ask('GET', '/keys?limit=100');
  const name = entry('Name'), actions = entry('Actions, comma-separated', 'search'), on = entry('Indexes, comma-separated', '*');
  const parts = input => input.value.split(',').map(one => one.trim()).filter(Boolean);
  const create = button('Create', async () => {
    await ask('POST', '/keys', { name: name.value || null, actions: parts(actions), indexes: parts(on), expiresAt: null });
    await view('keys');
  });
  fill(named('p', 'row', name, actions, on, create), table(['name', 'actions', 'indexes', 'expires', 'key', ''], found.results.map(key => {
    const secret = node('code', key.key.slice(0, 6) + '…');
    const reveal = node('button', 'Show');
    reveal.onclick = () => { secret.textContent = key.key; reveal.remove(); };
    const remove = button('Delete …', async () => {
      if (confirm('Delete the key ' + (key.name || key.uid) + '? Programs that use it will be refused.')) { await ask('DELETE', route('keys', key.uid)); await view('keys'); }
    });
    return [key.name, key.actions.join(', '), key.indexes.join(', '), key.expiresAt ? when(key.expiresAt) : 'never', node('span', null, secret, ' ', reveal), remove];
  })));
};

// Two ways of searching, side by side: what moved is marked.
pages.compare = async fill => {
  const sides = [['left', '{}'], ['right', '{"matchingStrategy": "any"}']].map(([label, usual]) => {
    const parameters = entry('Search parameters, ' + label, state['compare ' + label] || usual, 3), list = node('ol'), about = named('p', 'faint');
    parameters.onchange = () => { state['compare ' + label] = parameters.value; shown(load); };
    return { parameters, list, about, column: node('div', null, parameters, about, list) };
  });
  const load = async () => {
    const number = ++state.asked;
    const queries = sides.map(side => ({ indexUid: state.index, q: at('q').value, limit: PAGE, showRankingScore: true, ...JSON.parse(side.parameters.value || '{}') }));
    const { results } = await ask('POST', '/multi-search', { queries });
    if (number !== state.asked) return;
    const places = results.map(answer => new Map(answer.hits.map((hit, place) => [String(hit[state.primaryKey]), place])));
    sides.forEach((side, number) => {
      side.about.textContent = results[number].estimatedTotalHits.toLocaleString() + ' hits in ' + results[number].processingTimeMs + ' ms';
      side.list.replaceChildren(...results[number].hits.map((hit, place) => {
        const id = String(hit[state.primaryKey]), other = places[1 - number].get(id);
        const mark = other === undefined ? 'only here' : other === place ? '' : other > place ? '↑ ' + (other - place) : '↓ ' + (place - other);
        const line = node('li', null, scalar(hit[titleOf(hit)] ?? id), ' ', named('small', 'faint', id + '  ' + (hit._rankingScore ?? 0).toFixed(3) + '  '), named('small', 'moved', mark));
        line.dir = 'auto';
        return line;
      }));
    });
  };
  fill(node('p', 'The query above, searched in two ways. Each is an object of search parameters; "indexUid" selects another index.'),
    named('div', 'sides', ...sides.map(side => side.column)));
  state.refresh = load;
  await load();
};

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
