
'use strict';
// The description of the routes as a page. What a route takes and answers is built when it is opened: there are hundreds.
const at = id => document.getElementById(id);
let spec = { paths: {}, components: { schemas: {} }, tags: [] };

function node(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children.filter(one => one !== null && one !== undefined));
  return made;
}

// Sentences have code between backticks.
function sentence(text) {
  const made = document.createDocumentFragment();
  String(text || '').split('`').forEach((part, place) => made.append(place % 2 ? node('code', '', part) : part));
  return made;
}

function resolved(schema) {
  let name = '';
  while (schema && schema.$ref) {
    name = schema.$ref.split('/').pop();
    schema = schema.$ref.slice(2).split('/').reduce((value, part) => value && value[part], spec);
  }
  return { name, schema: schema || {} };
}

// A type in a few words.
function kind(schema, depth = 0) {
  const { name, schema: it } = resolved(schema);
  if (name && depth > 0) return name;
  if (it.anyOf) return [...new Set(it.anyOf.map(one => kind(one, depth + 1)))].join(' or ');
  if ('const' in it) return JSON.stringify(it.const);
  if (it.enum) return it.enum.slice(0, 12).map(one => JSON.stringify(one)).join(', ') + (it.enum.length > 12 ? ', … (' + it.enum.length + ')' : '');
  if ([].concat(it.type).includes('array') && it.items) return [].concat(it.type).map(type => type === 'array' ? 'array of ' + kind(it.items, depth + 1) : type).join(' or ');
  const least = it.minimum ?? it.exclusiveMinimum, most = it.maximum ?? it.exclusiveMaximum;
  const range = least !== undefined && most !== undefined ? ' ' + least + ' to ' + most : least !== undefined ? ' from ' + least : most !== undefined ? ' up to ' + most : '';
  // A range is one of numbers, whatever else the value may be.
  const types = [].concat(it.type || (it.properties ? 'object' : 'anything')).map(type => /^(integer|number)$/.test(type) ? type + range : type);
  return types.join(' or ') + (it.format ? ' (' + it.format + ')' : '');
}

// The object inside a schema: through lists, alternatives and maps.
function fieldsOf(schema) {
  const { schema: it } = resolved(schema);
  if (it.properties) return it;
  const inner = [it.items, typeof it.additionalProperties === 'object' ? it.additionalProperties : null, ...(it.anyOf || [])];
  return inner.filter(Boolean).map(fieldsOf).find(Boolean) || null;
}

function shape(schema) {
  const it = fieldsOf(schema);
  if (!it) return node('p', '', node('code', '', kind(schema)));
  const list = node('div', 'schema');
  for (const [name, field] of Object.entries(it.properties)) {
    const head = [node('code', '', name), ' ', node('span', 'faint', kind(field, 1)), ' ',
      (it.required || []).includes(name) ? node('span', 'needed', 'required') : null];
    const about = field.description || resolved(field).schema.description;
    if (about) head.push(node('div', 'faint', sentence(about)));
    if (!fieldsOf(field)) { list.append(node('div', '', ...head)); continue; }
    const more = node('details', '', node('summary', '', ...head));
    more.ontoggle = () => { if (more.open && more.children.length === 1) more.append(shape(field)); };
    list.append(node('div', '', more));
  }
  return list;
}

const needsKey = one => !/^\/($|health|openapi\.json|docs)/.test(one.path);

function command(one) {
  const url = location.origin + one.path.replace(/\{indexUid\}/g, 'films').replace(/\{(\w+)\}/g, (_, name) => name.toUpperCase());
  const lines = ['curl' + (one.method === 'get' ? '' : ' -X ' + one.method.toUpperCase()) + " '" + url + "'"];
  if (needsKey(one)) lines.push("-H 'Authorization: Bearer KEY'");
  const content = one.it.requestBody && one.it.requestBody.content['application/json'];
  if (content) {
    lines.push("-H 'Content-Type: application/json'");
    if (content.example !== undefined) lines.push("--data '" + JSON.stringify(content.example).replace(/'/g, "'\\''") + "'");
  }
  return lines.join(' \\\n  ');
}

function copied(text) {
  const button = node('button', 'copy', 'Copy'), code = node('pre', '', text);
  button.onclick = async () => {
    // Without HTTPS browsers give no clipboard: then the text is chosen, to be copied by hand.
    try { await navigator.clipboard.writeText(text); button.textContent = 'Copied'; } catch { getSelection().selectAllChildren(code); }
  };
  return node('div', '', button, code);
}

function parts(one) {
  const { it } = one, made = [];
  if (it.description) made.push(node('p', '', sentence(it.description)));
  if (it.parameters && it.parameters.length) {
    const rows = it.parameters.map(of => node('tr', '', node('td', '', node('code', '', of.name), of.required ? node('span', 'needed', ' required') : ''),
      node('td', 'faint', of.in), node('td', '', kind(of.schema), of.description ? node('div', 'faint', sentence(of.description)) : '')));
    made.push(node('h4', '', 'Parameters'), node('table', '', ...rows));
  }
  for (const [type, content] of Object.entries((it.requestBody || {}).content || {})) {
    made.push(node('h4', '', 'Body, ' + type), shape(content.schema));
    if (content.example !== undefined) made.push(node('h4', '', 'Example'), copied(JSON.stringify(content.example, null, 2)));
  }
  made.push(node('h4', '', 'Try it'), copied(command(one)));
  for (const [status, answer] of Object.entries(it.responses || {})) {
    made.push(node('h4', '', (status === 'default' ? 'Refusals' : 'Answer ' + status) + ', ' + answer.description));
    for (const [type, content] of Object.entries(answer.content || {})) made.push(node('span', 'faint', type), shape(content.schema));
  }
  return made;
}

function route(one) {
  const summary = node('summary', '', node('span', 'method ' + one.method, one.method.toUpperCase()), node('span', 'path', one.path),
    node('span', 'faint', sentence(one.it.summary)));
  const made = node('details', 'one', summary);
  made.id = one.it.operationId;
  made.ontoggle = () => {
    if (!made.open) return;
    if (made.children.length === 1) made.append(node('div', '', ...parts(one)));
    history.replaceState(null, '', '#' + made.id);
  };
  return made;
}

// What is found by: the path, the summary, names of parameters and of fields of the body.
function words(one) {
  const names = (one.it.parameters || []).map(of => of.name);
  for (const content of Object.values((one.it.requestBody || {}).content || {})) names.push(...Object.keys((fieldsOf(content.schema) || {}).properties || {}));
  return [one.method, one.path, one.it.summary, ...one.it.tags, ...names].join(' ').toLowerCase();
}

function find() {
  const wanted = at('find').value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const group of at('all').children) {
    let left = 0;
    for (const one of group.querySelectorAll('details.one')) {
      one.hidden = !wanted.every(word => one.words.includes(word));
      if (!one.hidden) left += 1;
    }
    group.hidden = left === 0;
  }
}

function goTo() {
  const one = at(decodeURIComponent(location.hash.slice(1)));
  if (!one) return;
  if (one.tagName === 'DETAILS') one.open = true;
  one.scrollIntoView();
}

async function start() {
  const answer = await fetch('../openapi.json').catch(() => null);
  if (!answer || !answer.ok) { at('all').textContent = 'The server does not respond. Reload the page.'; return; }
  spec = await answer.json();
  at('version').textContent = spec.info.version;
  const all = Object.entries(spec.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, it]) => ({ path, method, it })));
  const groups = spec.tags.map(tag => {
    const own = all.filter(one => one.it.tags.includes(tag.name));
    const title = node('h2', '', tag.name), group = node('section', '', title, node('p', 'faint', sentence(tag.description)));
    title.id = tag.name;
    for (const one of own) {
      const made = route(one);
      made.words = words(one);
      group.append(made);
    }
    const link = node('a', '', tag.name, node('b', '', String(own.length)));
    link.href = '#' + tag.name;
    at('tags').append(link);
    return group;
  });
  at('all').replaceChildren(...groups);
  goTo();
}

at('find').oninput = find;
window.onhashchange = goTo;
document.onkeydown = event => {
  if (event.key === '/' && document.activeElement !== at('find')) { event.preventDefault(); at('find').focus(); }
  if (event.key === 'Escape' && document.activeElement === at('find')) { at('find').value = ''; find(); }
};
start();
