
// Facets: values by how many documents have them, with a search among them, and ranges of numbers. Values of one facet are
// alternatives, so that its counts are those without its own condition.
const SHOWN = 8, MORE = 24;
const quoted = text => '"' + String(text).replace(/\\/g, '\\\\').replace(/"/g, '\\"') + '"';
const facets = new Map();

const isDay = text => /^\d{4}-\d\d-\d\d/.test(text);
const dayAfter = day => new Date(Date.parse(day.slice(0, 10)) + 86_400_000).toISOString().slice(0, 10);
// Texts that begin like days are dates: days and instants compare by time.
const areDates = values => values.length > 0 && values.every(isDay);

function conditions(without) {
  const all = [];
  for (const [facet, values] of state.chosen) {
    if (facet !== without && values.size) all.push([...values].map(value => quoted(facet) + ' = ' + quoted(value)));
  }
  for (const [facet, [from, to]] of state.ranges) {
    if (facet === without) continue;
    const bound = value => isDay(value) ? quoted(value) : value;
    if (from) all.push(quoted(facet) + ' >= ' + bound(from));
    // The whole of the last day.
    if (to) all.push(quoted(facet) + (isDay(to) ? ' < ' + quoted(dayAfter(to)) : ' <= ' + to));
  }
  if (state.filter) all.push(state.filter);
  return all;
}

const isNarrowed = facet => (state.chosen.get(facet) || new Set()).size > 0 || (state.ranges.get(facet) || []).some(Boolean);
const narrowed = () => [...new Set([...state.chosen.keys(), ...state.ranges.keys()])].filter(isNarrowed);

function facetNames() {
  const names = state.settings.filterableAttributes || [];
  if (names.some(name => typeof name !== 'string' || name.includes('*'))) return ['*'];
  return names.filter(name => !name.startsWith('_geo'));
}

function changed() {
  state.limit = PAGE;
  search();
}

function facetOf(name) {
  if (facets.has(name)) return facets.get(name);
  const find = node('input'), list = node('div'), more = named('button', 'link'), range = named('div', 'range');
  const [from, to] = ['from', 'to'].map(placeholder => {
    const made = node('input');
    Object.assign(made, { type: 'number', step: 'any', placeholder });
    made.setAttribute('aria-label', name + ' ' + placeholder);
    return made;
  });
  range.append(from, to);
  find.type = 'search';
  find.placeholder = 'Find a value';
  find.setAttribute('aria-label', 'Find a value of ' + name);
  const facet = { name, find, list, more, range, from, to, counts: {}, found: null, most: SHOWN,
    section: named('section', 'facet', node('h2', name), range, find, list, more) };
  facet.section.setAttribute('aria-label', name);
  from.onchange = to.onchange = () => { state.ranges.set(name, [from.value, to.value]); changed(); };
  find.oninput = () => findValues(facet);
  more.onclick = () => { facet.most += MORE; listValues(facet); };
  facets.set(name, facet);
  return facet;
}

async function findValues(facet) {
  const text = facet.find.value;
  facet.found = null;
  if (text) {
    const body = { facetName: facet.name, facetQuery: text, q: at('q').value, filter: conditions(facet.name) };
    const here = Object.entries(facet.counts).filter(([value]) => value.toLowerCase().includes(text.toLowerCase()));
    // Fields without a search of their own have at least the values that are known here.
    const found = await ask('POST', route('indexes', state.index, 'facet-search'), body)
      .then(answer => answer.facetHits.map(hit => [hit.value, hit.count]), () => here);
    if (text !== facet.find.value) return;
    facet.found = found;
  }
  listValues(facet);
}

function listValues(facet) {
  const chosen = state.chosen.get(facet.name) || new Set();
  const byCount = (one, other) => other[1] - one[1] || one[0].localeCompare(other[0], undefined, { numeric: true });
  const counted = (facet.found || Object.entries(facet.counts)).slice().sort(byCount);
  const rest = counted.filter(([value]) => !chosen.has(value));
  const first = [...chosen].map(value => [value, facet.counts[value] || 0]).sort(byCount);
  const focused = facet.list.contains(document.activeElement) ? document.activeElement.value : null;
  facet.list.replaceChildren(...[...first, ...rest.slice(0, facet.most)].map(([value, count]) => {
    const box = node('input');
    Object.assign(box, { type: 'checkbox', value, checked: chosen.has(value) });
    box.onchange = () => {
      if (box.checked) chosen.add(value); else chosen.delete(value);
      state.chosen.set(facet.name, chosen);
      changed();
    };
    const name = node('span', value);
    name.dir = 'auto';
    return node('label', null, box, name, node('b', count.toLocaleString()));
  }));
  // Who ticks one value after the other goes on from where they are.
  if (focused !== null) [...facet.list.querySelectorAll('input')].find(box => box.value === focused)?.focus({ preventScroll: true });
  const left = rest.length - facet.most;
  facet.more.hidden = left <= 0;
  facet.more.textContent = left + ' more';
  facet.find.hidden = !facet.find.value && Object.keys(facet.counts).length <= SHOWN;
}

function showFacets(distribution, stats) {
  const names = Object.keys(distribution);
  for (const [name, facet] of facets) if (!names.includes(name)) { facet.section.remove(); facets.delete(name); }
  names.forEach((name, place) => {
    const facet = facetOf(name), numbers = stats[name], [from, to] = state.ranges.get(name) || ['', ''];
    facet.counts = distribution[name];
    const areDays = areDates(Object.keys(facet.counts)) || isDay(from) || isDay(to);
    facet.range.hidden = !numbers && !areDays && !from && !to;
    facet.from.type = facet.to.type = areDays && !numbers ? 'date' : 'number';
    if (numbers) { facet.from.placeholder = String(numbers.min); facet.to.placeholder = String(numbers.max); }
    for (const [input, value] of [[facet.from, from], [facet.to, to]]) if (document.activeElement !== input) input.value = value;
    if (at('facets').children[place] !== facet.section) at('facets').insertBefore(facet.section, at('facets').children[place] || null);
    if (facet.find.value) findValues(facet); else listValues(facet);
  });
  at('filters').hidden = names.length === 0;
}
