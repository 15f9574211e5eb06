
// Searches and hits.
function body(without) {
  const made = { q: at('q').value, filter: conditions(without) };
  // Words alone need no embedder; without words there is nothing to embed.
  const ratio = Number(at('ratio').value);
  if (!at('meanings').hidden && state.embedder && ratio > 0 && made.q.trim()) {
    made.hybrid = { embedder: state.embedder, semanticRatio: ratio };
  }
  return made;
}

async function search() {
  writeAddress();
  if (state.view === 'compare') return shown(state.refresh);
  if (!state.index) return;
  const number = ++state.asked;
  const main = { ...body(), limit: state.limit, facets: facetNames(), attributesToHighlight: ['*'], highlightPreTag: OPEN,
    highlightPostTag: CLOSE, showRankingScore: true, showRankingScoreDetails: true };
  if (state.sort) main.sort = [state.sort];
  const beside = narrowed();
  await shown(async () => {
    let answer, others = [];
    if (beside.length) {
      const queries = [main, ...beside.map(facet => ({ ...body(facet), limit: 0, facets: [facet] }))];
      const all = await ask('POST', '/multi-search', { queries: queries.map(query => ({ indexUid: state.index, ...query })) });
      [answer, ...others] = all.results;
    } else {
      answer = await ask('POST', route('indexes', state.index, 'search'), main);
    }
    // A slower answer to an older question must not replace a newer one.
    if (number === state.asked) show(answer, others);
  });
}

// The rules in the order in which they decided, each with what it saw.
function scores(hit) {
  const rules = Object.entries(hit._rankingScoreDetails || {}).sort(([, one], [, other]) => (one.order || 0) - (other.order || 0));
  return named('table', 'scores', ...rules.map(([rule, details]) => {
    const { order, score, ...seen } = details;
    const bar = node('meter');
    bar.value = score === undefined ? 0 : score;
    bar.title = String(score);
    const saw = Object.entries(seen).map(([name, value]) => name + ' ' + asText(value)).join(', ');
    return node('tr', null, node('td', rule), node('td', null, score === undefined ? '' : bar), node('td', saw));
  }));
}

function card(hit, isOpen) {
  const formatted = hit._formatted || {}, title = titleOf(hit), key = hit[state.primaryKey];
  const names = Object.keys(hit).filter(name => !name.startsWith('_') && name !== title && name !== state.primaryKey);
  const head = node('h3', null, title === undefined ? String(key) : scalar(hit[title], formatted[title]));
  head.dir = 'auto';
  if (title !== undefined && key !== undefined) head.append(node('small', null, scalar(key, formatted[state.primaryKey])));
  const why = node('details', null, node('summary', 'score ' + hit._rankingScore.toFixed(4)), scores(hit));
  why.open = isOpen;
  const url = pictureOf(hit), picture = node('img');
  if (url) {
    Object.assign(picture, { loading: 'lazy', alt: '', referrerPolicy: 'no-referrer', src: url });
    picture.onerror = () => picture.remove();
  }
  const article = node('article', null, url ? picture : '', head, node('dl', null, ...names.flatMap(name => field(name, hit[name], formatted[name]))), why);
  article.tabIndex = -1;
  article.dataset.key = String(key);
  return article;
}

function show(answer, others) {
  const meant = answer.semanticHitCount === undefined ? '' : ', ' + answer.semanticHitCount + ' of those shown by semantic search';
  const count = answer.estimatedTotalHits;
  at('about').textContent = plural(count, 'hit') + ' in ' + answer.processingTimeMs + ' ms' + meant;
  const before = [...at('hits').children], here = document.activeElement;
  const open = new Set(before.filter(one => one.querySelector('details').open).map(one => one.dataset.key));
  const focused = at('hits').contains(here) ? here.closest('article').dataset.key : null;
  at('hits').replaceChildren(...answer.hits.map(hit => card(hit, open.has(String(hit[state.primaryKey])))));
  const now = [...at('hits').children];
  if (focused !== null) now.find(one => one.dataset.key === focused)?.focus({ preventScroll: true });
  at('tools').hidden = false;
  at('more').hidden = answer.hits.length >= count || answer.hits.length < state.limit;
  // The button under the last hit is gone: what it brought is next.
  if (here === at('more') && at('more').hidden) now[before.length]?.focus();
  const distribution = { ...answer.facetDistribution }, stats = { ...answer.facetStats };
  for (const other of others) {
    Object.assign(distribution, other.facetDistribution);
    Object.assign(stats, other.facetStats);
  }
  showFacets(distribution, stats);
}
