
// The chosen index, its sizes, and the tasks of the server.
const rows = (table, pairs) => at(table).replaceChildren(...pairs.map(pair => node('tr', null, ...pair.map(cell => node('td', cell)))));
const plural = (count, noun) => count.toLocaleString() + ' ' + (count === 1 ? noun : noun.replace(/y$/, 'ie') + 's');

async function sizes() {
  const stats = await ask('GET', route('indexes', state.index, 'stats') + '?sizeFormat=human&showInternalDatabaseSizes=true');
  rows('stats', [['documents', stats.numberOfDocuments.toLocaleString()], ['stored', stats.rawDocumentDbSize],
    ['vectors', stats.numberOfEmbeddings.toLocaleString()], ['fields', String(Object.keys(stats.fieldDistribution).length)]]);
  rows('sizes', Object.entries(stats.internalDatabaseSizes || {}));
  const segments = stats.segments || [];
  at('segment-count').textContent = plural(segments.length, 'segment');
  rows('segments', segments.map(one => [one.numberOfDocuments.toLocaleString(), one.numberOfDeletedDocuments + ' deleted', one.size]));
}

// Reads what the page has to know of the chosen index, and keeps what is chosen on the page as far as it still exists.
async function load() {
  const [settings, index] = await Promise.all([ask('GET', route('indexes', state.index, 'settings')), ask('GET', route('indexes', state.index))]);
  state.settings = settings;
  state.primaryKey = index.primaryKey;
  const sorts = (settings.sortableAttributes || []).filter(name => name !== '_geo');
  const choices = sorts.flatMap(name => [name + ':asc', name + ':desc']);
  at('sort').replaceChildren(new Option('by relevance', ''), ...choices.map(choice => new Option(choice, choice)));
  if (!choices.includes(state.sort)) state.sort = '';
  at('sort').value = state.sort;
  at('sort').hidden = choices.length === 0;
  // Vectors that clients bring cannot be made from what is typed here.
  const makers = Object.entries(settings.embedders || {}).filter(([, embedder]) => embedder.source !== 'userProvided').map(([name]) => name);
  at('embedder').replaceChildren(...makers.map(name => new Option(name, name)));
  if (!makers.includes(state.embedder)) state.embedder = makers[0] || '';
  at('embedder').value = state.embedder;
  at('meanings').hidden = makers.length === 0;
  const filterable = facetNames();
  for (const facet of narrowed()) {
    if (!filterable.includes('*') && !filterable.includes(facet)) { state.chosen.delete(facet); state.ranges.delete(facet); }
  }
  await sizes().catch(error => { if (!(error instanceof Refusal)) throw error; });
}

async function choose(uid) {
  state.index = uid;
  at('index').value = uid;
  await shown(load);
  await shown(() => view(state.view));
}

// The indexes that there are; the one in the address first, then the one that was chosen.
async function indexes() {
  const list = await ask('GET', '/indexes?limit=1000');
  const uids = list.results.map(index => index.uid);
  at('index').replaceChildren(...uids.map(uid => new Option(uid, uid)));
  at('index').hidden = uids.length === 0;
  const uid = [state.wanted, state.index, uids[0]].find(one => uids.includes(one)) || '';
  state.wanted = null;
  at('index').value = uid;
  if (uid) return choose(uid);
  state.index = '';
  await view(state.view);
  at('hits').replaceChildren();
  showFacets({}, {});
  at('about').textContent = 'There is no index yet. It appears here as soon as you send documents:\n' +
    'lamina import --index films films.ndjson';
}

async function tasks() {
  clearTimeout(state.timer);
  let list = { results: [] }, batches = { results: [] }, isAway = false;
  try {
    [list, batches] = await Promise.all([ask('GET', '/tasks?limit=8'), ask('GET', '/batches?limit=1')]);
  } catch (error) {
    isAway = error instanceof Away;
  }
  at('task-list').hidden = list.results.length === 0;
  rows('tasks', list.results.map(task => [String(task.uid), task.type, task.status]));
  list.results.forEach((task, place) => {
    const row = at('tasks').rows[place];
    row.className = task.status === 'failed' ? 'failed' : '';
    if (task.error) row.title = task.error.message;
  });
  const running = batches.results.find(batch => batch.progress);
  at('running').hidden = !running;
  if (running) {
    const steps = running.progress.steps;
    at('progress').value = running.progress.percentage;
    at('step').textContent = 'batch ' + running.uid + ': ' + steps[steps.length - 1].currentStep;
  }
  // What tasks have changed is seen at once, and a server that was away is asked anew.
  const seen = list.results.map(task => task.uid + task.status).join();
  const isNew = state.seen !== undefined && seen !== state.seen;
  if (!isAway && at('signin').hidden && (isNew || state.isAway || !state.index)) {
    state.isAway = false;
    // Forms keep what is being written in them.
    if (state.view === 'search') await shown(indexes);
    else if (!state.index) await shown(async () => { if ((await ask('GET', '/indexes?limit=1')).results.length) await indexes(); });
    else if (state.refresh) await shown(state.refresh);
  }
  if (!isAway) state.seen = seen;
  // While something happens, looking more often is worth it.
  state.timer = setTimeout(() => document.hidden ? 0 : tasks(), running || isNew || !state.index ? TASKS_MS / 4 : state.isLive ? TASKS_MS * 8 : TASKS_MS);
}
