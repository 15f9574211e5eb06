
// The server: what it does at present, and where it announces finished batches.
const SAMPLES = 60, SAMPLE_MS = 2000;

// Lines of /metrics: name, labels, value.
function readMetrics(text) {
  return text.split('\n').filter(line => line && line[0] !== '#').map(line => {
    const [, name, labels, value] = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/.exec(line) || [];
    const all = {};
    for (const [, key, one] of (labels || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) all[key] = one;
    return { name, labels: all, value: Number(value) };
  }).filter(one => one.name);
}

const sum = (lines, name, fits = () => true) => lines.filter(one => one.name === 'lamina_' + name && fits(one.labels)).reduce((all, one) => all + one.value, 0);

// Requests by how long they took, as sums up to each limit.
function buckets(lines) {
  const all = new Map();
  for (const one of lines) {
    if (one.name === 'lamina_http_response_time_seconds_bucket') all.set(Number(one.labels.le.replace('+Inf', 'Infinity')), (all.get(Number(one.labels.le.replace('+Inf', 'Infinity'))) || 0) + one.value);
  }
  return [...all].sort(([one], [other]) => one - other);
}

// The limit below which a share of the requests between two samples stayed, in ms; nothing where there was none.
function quantile(before, now, share) {
  const counts = now.map(([limit, count], place) => [limit, count - ((before[place] || [0, 0])[1])]);
  const all = counts.length ? counts[counts.length - 1][1] : 0;
  if (all <= 0) return null;
  const [limit] = counts.find(([, count]) => count >= share * all);
  return Number.isFinite(limit) ? limit * 1000 : counts[counts.length - 2][0] * 1000;
}

const CHARTS = [
  ['requests per second', (now, before, seconds) => (now.requests - before.requests) / seconds],
  ['99th percentile of response times, ms', (now, before) => quantile(before.buckets, now.buckets, 0.99)],
  ['running or waiting searches', now => now.searches],
  ['waiting tasks', now => now.tasks],
  ['documents', now => now.documents],
  ['database, bytes', now => now.bytes],
];

async function sample() {
  const headers = {}, key = sessionStorage.getItem('key');
  if (key) headers.Authorization = 'Bearer ' + key;
  const answer = await fetch('/metrics', { headers }).catch(() => { throw new Away(); });
  if (!answer.ok) throw new Refusal(answer.status, await answer.json().catch(() => ({})));
  const lines = readMetrics(await answer.text());
  return { at: performance.now(), requests: sum(lines, 'http_requests_total'), buckets: buckets(lines),
    searches: sum(lines, 'searches_running') + sum(lines, 'searches_waiting_to_be_processed'),
    tasks: sum(lines, 'nb_tasks', labels => labels.kind === 'statuses' && OPEN_TASK.includes(labels.value)),
    documents: sum(lines, 'index_docs_count'), bytes: sum(lines, 'db_size_bytes') };
}

function chart(title, values, show) {
  // An SVG element of HTML knows its namespace.
  const holder = new DOMParser().parseFromString('<svg><polyline></polyline></svg>', 'text/html');
  const svg = document.adoptNode(holder.querySelector('svg')), line = svg.firstChild;
  svg.setAttribute('viewBox', '0 0 240 60');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  const known = values.filter(value => value !== null), most = Math.max(...known, 0) || 1;
  svg.setAttribute('aria-label', title + (known.length ? ', at most ' + show(most) : ''));
  const points = values.map((value, place) => value === null ? null : (240 - (values.length - 1 - place) * 240 / (SAMPLES - 1)).toFixed(1) + ',' + (57 - 54 * value / most).toFixed(1));
  line.setAttribute('points', points.filter(Boolean).join(' '));
  svg.append(line);
  const last = known.length ? show(known[known.length - 1]) : '–';
  return named('figure', 'chart', node('figcaption', null, named('span', 'faint', title), ' ', node('b', last)), svg);
}

function draw(samples) {
  const pairs = samples.slice(1).map((now, place) => [now, samples[place], (now.at - samples[place].at) / 1000]);
  return CHARTS.map(([title, of]) => {
    const show = title.endsWith('bytes') ? human : value => value.toLocaleString(undefined, { maximumFractionDigits: 1 });
    return chart(title.replace(', bytes', ''), pairs.map(pair => of(...pair)), show);
  });
}

async function charts(place) {
  const samples = state.samples = state.samples || [];
  while (state.view === 'server' && place.isConnected) {
    try {
      samples.push(await sample());
    } catch (error) {
      if (error.code !== 'feature_not_enabled') throw error;
      const on = button('Turn metrics on', async () => { await ask('PATCH', '/experimental-features', { metrics: true }); await view('server'); });
      place.replaceChildren(node('p', 'Metrics are turned off.'), on);
      return;
    }
    samples.splice(0, samples.length - SAMPLES - 1);
    place.replaceChildren(...draw(samples));
    await new Promise(done => setTimeout(done, samples.length < 3 ? SAMPLE_MS / 4 : SAMPLE_MS));
  }
}

async function webhooks() {
  const found = await ask('GET', '/webhooks?limit=100');
  const url = entry('Address'), name = entry('Header name (optional)'), value = entry('Header value');
  url.className = 'filter';
  const create = button('Create', async () => {
    await ask('POST', '/webhooks', { url: url.value, ...(name.value ? { headers: { [name.value]: value.value } } : {}) });
    await view('server');
  });
  return [named('p', 'row', url, name, value, create), table(['address', 'headers', ''], found.results.map(one => {
    const remove = one.isEditable ? button('Delete …', async () => {
      if (confirm('Delete the webhook ' + one.url + '?')) { await ask('DELETE', route('webhooks', one.uuid)); await view('server'); }
    }) : named('span', 'faint', 'set by a launch option');
    return [one.url, Object.keys(one.headers || {}).join(', '), remove];
  }))];
}

// Indexes whose embedders make vectors: how many documents have some, how many wait for them or got none, and how far the batch under way is.
const QUEUES_MAX = 100;
async function embedderQueue(indexes) {
  const running = (await ask('GET', '/batches?statuses=processing&limit=1')).results.filter(batch => batch.progress);
  const queue = async ([uid, counts]) => {
    const embedders = Object.entries(await ask('GET', route('indexes', uid, 'settings', 'embedders')) || {});
    const makers = embedders.filter(([, one]) => one.source !== 'userProvided').map(([name]) => name);
    if (!makers.length) return null;
    const batch = running.find(one => uid in (one.stats.indexUids || {}));
    const steps = batch ? batch.progress.steps.map(step => step.currentStep + (step.total > 1 ? ' ' + step.finished + ' of ' + step.total : '')) : [];
    const without = counts.numberOfDocuments - counts.numberOfEmbeddedDocuments;
    return [uid, makers.join(', '), counts.numberOfEmbeddedDocuments.toLocaleString(), without.toLocaleString(), steps.join(', ')];
  };
  const known = Object.entries(indexes || {});
  const rows = (await Promise.all(known.slice(0, QUEUES_MAX).map(queue))).filter(Boolean);
  const cut = known.length > QUEUES_MAX ? [named('p', 'faint', 'Of the first ' + QUEUES_MAX + ' indexes.')] : [];
  if (!rows.length) return [named('p', 'faint', 'No index has an embedder that creates vectors.'), ...cut];
  return [table(['index', 'embedders', 'documents with vectors', 'without', 'under way'], rows), ...cut];
}

// Replicas that say in the store how far they are.
async function replicas() {
  const found = await ask('GET', '/replicas');
  if (found.role === 'alone') return [];
  const lag = one => one.silentMs > REPLICA_SILENT_MS ? 'silent for ' + span(one.silentMs) : one.lagMs === null ? 'fetches everything' : span(one.lagMs);
  const rows = found.results.map(one => [one.url || one.uid, one.standby ? 'standby' : 'replica', String(one.generation ?? '–'), String(one.batchesBehind ?? '–'), lag(one), one.version, one.failure || '']);
  const hint = 'This server is the ' + found.role + ', at generation ' + (found.generation ?? '–') + '. Replicas report every 10 s, and this list follows; one that may not write to the store is not listed.';
  return [node('h2', 'Replicas'), node('p', hint), rows.length ? table(['replica', 'role', 'generation', 'batches behind', 'lag', 'version', 'failure'], rows) : named('p', 'faint', 'No replica reports.')];
}
const REPLICA_SILENT_MS = 30000, REPLICAS_MS = 10000;
const span = ms => ms < 1000 ? ms + ' ms' : ms < 120000 ? (ms / 1000).toFixed(1) + ' s' : Math.round(ms / 60000) + ' min';

// What a key may not see is left out, with a word.
const orRefusal = work => work().catch(error => {
  if (error instanceof Refusal) return [named('p', 'faint', error.message)];
  throw error;
});

pages.server = async fill => {
  const [version, stats] = await Promise.all(['/version', '/stats'].map(path => ask('GET', path).catch(error => { if (error instanceof Refusal) return {}; throw error; })));
  const facts = [['version', version.pkgVersion], ['commit', (version.commitSha || '').slice(0, 12)], ['database', stats.databaseSize === undefined ? null : human(stats.databaseSize)],
    ['last change', when(stats.lastUpdate)], ['state', state.replica ? 'generation ' + state.replica.generation + (state.replica.lag === null ? '' : ', ' + state.replica.lag + ' ms behind') : null]];
  const place = named('div', 'charts');
  const docs = node('a', 'All routes');
  docs.href = '/docs';
  const reported = node('div', null, ...await orRefusal(replicas));
  fill(named('dl', 'facts', ...facts.filter(([, value]) => value).flatMap(([name, value]) => [node('dt', name), node('dd', value)])), node('p', null, docs),
    node('h2', 'Current state'), place, reported, node('h2', 'Embedders'), node('p', 'Keyword search finds documents at once, semantic search when they have vectors.'),
    ...await orRefusal(() => embedderQueue(stats.indexes)), node('h2', 'Webhooks'), node('p', 'The server sends finished batches to these addresses.'), ...await orRefusal(webhooks));
  const again = setInterval(() => {
    if (state.view !== 'server' || !reported.isConnected) return clearInterval(again);
    orRefusal(replicas).then(parts => reported.replaceChildren(...parts), () => 0);
  }, REPLICAS_MS);
  orRefusal(() => charts(place).then(() => [])).then(parts => { if (parts.length) place.replaceChildren(...parts); }, error => shown(() => { throw error; }));
};
