
// Values of documents as people read them. What matched stands between two characters that no text has, and becomes an
// element: documents are never HTML here.
function marked(text) {
  const made = document.createDocumentFragment();
  for (const [place, part] of String(text).split(OPEN).entries()) {
    const [inside, ...rest] = part.split(CLOSE);
    if (place === 0) { made.append(part); continue; }
    made.append(node('mark', inside), rest.join(CLOSE));
  }
  return made;
}

const LONG = 300, LISTED = 30;
const isPlain = value => value === null || typeof value !== 'object';
const unmarked = text => String(text).split(OPEN).join('').split(CLOSE).join('');

function scalar(value, formatted) {
  if (value === null) return named('span', 'faint', '—');
  const text = typeof formatted === 'string' && unmarked(formatted) === String(value) ? formatted : String(value);
  if (typeof value === 'string' && /^https?:\/\/\S+$/.test(value)) {
    const link = node('a', null, marked(text));
    link.href = value;
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
    return link;
  }
  return marked(text);
}

// A value beside the same value with marks in it.
function shownValue(value, formatted) {
  if (isPlain(value)) return scalar(value, formatted);
  const inside = key => formatted && typeof formatted === 'object' ? formatted[key] : undefined;
  if (!Array.isArray(value)) {
    return node('dl', null, ...Object.entries(value).flatMap(([name, one]) =>
      [node('dt', name), node('dd', null, shownValue(one, inside(name)))]));
  }
  const listed = value.slice(0, LISTED).map((one, place) => shownValue(one, inside(place)));
  if (value.length > LISTED) listed.push('… ' + (value.length - LISTED) + ' more');
  const isShort = value.every(one => isPlain(one) && String(one).length < 60);
  if (isShort) return named('span', 'chips', ...listed.map(one => node('span', null, one)));
  return named('ul', 'values', ...listed.map(one => node('li', null, one)));
}

function field(name, value, formatted) {
  const shown = node('dd', null, shownValue(value, formatted));
  shown.dir = 'auto';
  if (typeof value === 'string' && value.length > LONG) {
    shown.className = 'long';
    shown.title = 'Click to see all of it';
    shown.onclick = () => shown.classList.toggle('open');
  }
  return [node('dt', name), shown];
}

// The first picture of a document: an address that ends like one, or in a field that is called like one.
function pictureOf(hit) {
  for (const [name, value] of Object.entries(hit)) {
    const url = Array.isArray(value) ? value[0] : value;
    if (typeof url !== 'string' || !/^http[s]:\/\/\S+$/.test(url)) continue;
    if (/\.(avif|gif|jpe?g|png|svg|webp)(\?\S*)?$/i.test(url) || /(image|img|picture|photo|poster|thumb|cover|avatar)/i.test(name)) return url;
  }
  return null;
}

// The field that people would call a document by.
function titleOf(hit) {
  const searchable = (state.settings.searchableAttributes || []).filter(name => name !== '*');
  const names = ['title', 'name', 'label', 'headline', 'subject', ...searchable, ...Object.keys(hit)];
  return names.find(name => typeof hit[name] === 'string' && name !== state.primaryKey && hit[name].length < 200);
}

const asText = value => typeof value === 'string' ? value : JSON.stringify(value);
