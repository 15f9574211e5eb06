
// Two ways of searching, side by side: parameters, and settings that a clone of the index has. What moved is marked; judged
// queries measure both.
const JUDGED_DEPTH = 10, JUDGED_AT_ONCE = 25, CHANGES = 8;

// Documents are shared with the clone, so that it costs no space.
const trialOf = label => state.index + '-trial-' + label;
const isThere = uid => ask('GET', '/indexes?limit=1000').then(list => list.results.some(one => one.uid === uid));
const drop = async uid => { if (await isThere(uid)) await write('DELETE', route('indexes', uid)); };

// Ways of searching that are often compared.
function presets() {
  const embedder = state.embedder;
  const hybrid = (semanticRatio, more) => JSON.stringify({ hybrid: { embedder, semanticRatio, ...more } });
  const all = [['keywords: last words optional', '{}'], ['keywords: all words', '{"matchingStrategy": "all"}'],
    ['keywords: frequent words optional', '{"matchingStrategy": "frequency"}'], ['questions: any words, BM25', '{"matchingStrategy": "any"}']];
  if (embedder) all.push(['semantic', hybrid(1)], ['hybrid: scores', hybrid(0.5, { fusion: 'score' })], ['hybrid: ranks', hybrid(0.5, { fusion: 'rrf' })],
    ['hybrid: relative scores', hybrid(0.5, { fusion: 'relative' })]);
  return all;
}

function choice(label, pairs, taken) {
  const made = node('select');
  made.setAttribute('aria-label', label);
  made.append(new Option(label, ''), ...pairs.map(([text, value]) => new Option(text, value)));
  made.onchange = () => { const value = made.value; made.value = ''; if (value) shown(() => taken(value)); };
  return made;
}

function sideOf(label, usual, settings, load) {
  const key = 'compare ' + label, kept = state[key] = state[key] && state[key].index === state.index ? state[key] : { index: state.index, parameters: usual, settings: '', trial: '' };
  const parameters = entry('Search parameters, ' + label, kept.parameters, 3), changes = entry('Other settings, ' + label, kept.settings, 3);
  const side = { label, key, kept, parameters, changes, list: node('ol'), about: named('p', 'faint') };
  changes.placeholder = 'Settings to try, as JSON: {"rankingRules": [ … ], "synonyms": { … }}';
  parameters.onchange = () => { kept.parameters = parameters.value; shown(load); };
  changes.onchange = () => { kept.settings = changes.value; };
  const preset = choice('Ways of searching …', presets(), value => { parameters.value = value; return parameters.onchange(); });
  const add = choice('Add a setting …', settings.map(one => [one.name, one.name]), name => {
    const all = JSON.parse(changes.value || '{}');
    all[name] = settings.find(one => one.name === name).value;
    changes.value = JSON.stringify(all, null, 1);
    changes.rows = Math.min(14, changes.value.split('\n').length + 1);
    changes.onchange();
  });
  const tryIt = button('Try', async () => {
    const all = JSON.parse(changes.value || '{}'), uid = trialOf(label);
    await drop(uid);
    kept.trial = '';
    if (Object.keys(all).length) {
      side.about.textContent = 'cloning the index …';
      await write('POST', route('indexes', state.index, 'clone'), { uid });
      await write('PATCH', route('indexes', uid, 'settings'), all);
      kept.trial = changes.value;
    }
    await load();
  });
  const apply = button('Apply …', async () => {
    const all = JSON.parse(changes.value || '{}'), names = Object.keys(all);
    if (!names.length || !confirm('Change these settings of ' + state.index + '? ' + names.join(', '))) return;
    await write('PATCH', route('indexes', state.index, 'settings'), all);
    await discard();
  });
  const discard = async () => {
    await drop(trialOf(label));
    Object.assign(kept, { settings: '', trial: '' });
    changes.value = '';
    await load();
  };
  side.column = node('section', null, node('h2', label === 'left' ? 'Left' : 'Right'), named('p', 'row', preset), parameters, named('p', 'row', add, tryIt, apply, button('Discard', discard)),
    changes, side.about, side.list);
  return side;
}

const queryOf = (side, q, limit) => ({ indexUid: side.kept.trial ? trialOf(side.label) : state.index, q, limit, ...JSON.parse(side.parameters.value || '{}') });

// As `lamina evaluate` measures: the grades of the hits against those of all judged documents.
function measuresOf(found, judged, depth = JUDGED_DEPTH) {
  found = found.slice(0, depth);
  const gain = grades => grades.slice(0, depth).reduce((all, grade, place) => all + (2 ** grade - 1) / Math.log2(place + 2), 0);
  const relevant = grades => grades.filter(grade => grade > 0).length, first = found.findIndex(grade => grade > 0);
  const best = gain([...judged].sort((one, other) => other - one));
  return { 'nDCG@10': best ? gain(found) / best : 0, MRR: first < 0 ? 0 : 1 / (first + 1),
    'recall@10': relevant(judged) ? relevant(found) / relevant(judged) : 0, 'P@10': relevant(found) / Math.max(depth, 1) };
}

const JUDGED_FIELDS = ['id', 'q', 'relevant', 'search'];
const isObject = value => value !== null && typeof value === 'object' && !Array.isArray(value);

function readJudged(text) {
  return text.split('\n').map((line, place) => [line.trim(), place + 1]).filter(([line]) => line).map(([line, number]) => {
    const wrong = reason => new Error('Judged queries, line ' + number + ': ' + reason);
    let one;
    try { one = JSON.parse(line); } catch (error) { throw wrong(error.message); }
    if (!isObject(one)) throw wrong('it must be an object');
    if (typeof one.q !== 'string') throw wrong('`q` must be a string');
    if (!isObject(one.relevant) && !Array.isArray(one.relevant)) throw wrong('`relevant` must be an object of grades or an array of ids');
    const grades = Array.isArray(one.relevant) ? one.relevant.map(id => [String(id), 1]) : Object.entries(one.relevant);
    for (const [id, grade] of grades) if (typeof grade !== 'number' || grade < 0) throw wrong('the grade of `' + id + '` must be a number that is not negative');
    if (one.search !== undefined && !isObject(one.search)) throw wrong('`search` must be an object');
    const unknown = Object.keys(one).find(name => !JUDGED_FIELDS.includes(name));
    if (unknown !== undefined) throw wrong('unknown field `' + unknown + '`: expected ' + JUDGED_FIELDS.map(name => '`' + name + '`').join(', '));
    return { q: one.q, search: one.search || {}, grades: new Map(grades) };
  });
}

async function evaluate(sides, judged, note) {
  const measured = [];
  for (let from = 0; from < judged.length; from += JUDGED_AT_ONCE) {
    const some = judged.slice(from, from + JUDGED_AT_ONCE);
    note.textContent = from + ' of ' + judged.length + ' queries …';
    const queries = some.flatMap(one => sides.map(side => ({ ...queryOf(side, one.q, JUDGED_DEPTH), ...one.search, limit: JUDGED_DEPTH })));
    const { results } = await ask('POST', '/multi-search', { queries });
    some.forEach((one, place) => measured.push({ q: one.q, sides: sides.map((_, number) => {
      const hits = results[place * sides.length + number].hits;
      return measuresOf(hits.map(hit => one.grades.get(String(hit[state.primaryKey])) || 0), [...one.grades.values()]);
    }) }));
  }
  note.textContent = plural(measured.length, 'query');
  return measured;
}

function figures(measured, load) {
  const mean = (number, name) => measured.reduce((all, one) => all + one.sides[number][name], 0) / measured.length;
  const lines = Object.keys(measured[0].sides[0]).map(name => {
    const [left, right] = [mean(0, name), mean(1, name)], more = right - left;
    return [name, left.toFixed(4), right.toFixed(4), (more > 0 ? '+' : '') + more.toFixed(4)];
  });
  const change = one => one.sides[1]['nDCG@10'] - one.sides[0]['nDCG@10'];
  const changed = measured.filter(change).sort((one, other) => Math.abs(change(other)) - Math.abs(change(one))).slice(0, CHANGES);
  const most = table(['query', 'left', 'right'], changed.map(one => {
    const again = button(one.q, () => { at('q').value = one.q; return load(); });
    again.className = 'link';
    return [again, ...one.sides.map(side => side['nDCG@10'].toFixed(4))];
  }));
  return [table(['mean', 'left', 'right', 'difference'], lines), ...(changed.length ? [node('h2', 'Queries that change most, by nDCG@10'), most] : [])];
}

function showSide(side, answer, other) {
  side.about.textContent = plural(answer.estimatedTotalHits, 'hit') + ' in ' + answer.processingTimeMs + ' ms' + (side.kept.trial ? ', with the settings above' : '');
  side.list.replaceChildren(...answer.hits.map((hit, place) => {
    const id = String(hit[state.primaryKey]), there = other.get(id);
    const mark = there === undefined ? 'only here' : there === place ? '' : there > place ? '↑ ' + (there - place) : '↓ ' + (place - there);
    const line = node('li', null, scalar(hit[titleOf(hit)] ?? id), ' ', named('small', 'faint', id + '  ' + (hit._rankingScore ?? 0).toFixed(3) + '  '), named('small', 'moved', mark));
    line.dir = 'auto';
    return line;
  }));
}

pages.compare = async fill => {
  const settings = await knownSettings();
  const load = async () => {
    const number = ++state.asked;
    const { results } = await ask('POST', '/multi-search', { queries: sides.map(side => ({ ...queryOf(side, at('q').value, PAGE), showRankingScore: true })) });
    if (number !== state.asked) return;
    const places = results.map(answer => new Map(answer.hits.map((hit, place) => [String(hit[state.primaryKey]), place])));
    sides.forEach((side, place) => showSide(side, results[place], places[1 - place]));
  };
  const sides = [['left', '{}'], ['right', '{"matchingStrategy": "any"}']].map(([label, usual]) => sideOf(label, usual, settings, load));
  // Clones that someone else has deleted are gone.
  for (const side of sides) if (side.kept.trial && !await isThere(trialOf(side.label))) side.kept.trial = '';
  const judged = entry('Judged queries', state.judged, 4), note = named('span', 'faint'), measured = named('div', 'measured');
  judged.placeholder = 'A query a line: {"q": "space horror", "relevant": {"1": 3, "2": 1}}';
  judged.onchange = () => { state.judged = judged.value; };
  const measure = button('Evaluate', async () => {
    const queries = readJudged(judged.value);
    if (!queries.length) throw new Error('Judged queries: there is none. Enter one a line.');
    measured.replaceChildren(...figures(await evaluate(sides, queries, note), load));
  });
  fill(node('p', 'The query above, searched in two ways. “Try” gives the settings to a clone of the index; “Apply” gives them to the index itself.'),
    named('div', 'sides', ...sides.map(side => side.column)),
    node('h2', 'Evaluate both'), node('p', 'Queries and the documents that answer them, with grades. The format is that of lamina evaluate.'), judged, named('p', 'row', measure, note), measured);
  state.refresh = load;
  await load();
};
