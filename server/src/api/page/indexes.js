
// Indexes: what is in each, copies of them, their earlier states; and their settings with what a change costs.
pages.indexes = async fill => {
  const [list, stats] = await Promise.all([ask('GET', '/indexes?limit=1000'), ask('GET', '/stats')]);
  const uid = entry('Name of the new index'), key = entry('Primary key, if known'), more = node('div');
  const create = button('Create', async () => {
    await write('POST', '/indexes', { uid: uid.value, ...(key.value ? { primaryKey: key.value } : {}) });
    await indexes();
  });
  fill(named('p', 'row', uid, key, create), table(['index', 'documents', 'with vectors', 'bytes', 'fields', 'primary key', 'changed', ''], list.results.map(index => {
    const of = stats.indexes[index.uid] || { fieldDistribution: {} };
    const open = node('a', index.uid);
    open.href = '?index=' + encodeURIComponent(index.uid);
    const look = button('Details', async () => { more.replaceChildren(...await details(index.uid)); more.scrollIntoView({ block: 'nearest' }); });
    const clone = button('Clone …', async () => {
      const copy = prompt('Name of the new index, which begins with the documents and settings of ' + index.uid + ':', index.uid + '-next');
      if (!copy) return;
      await write('POST', route('indexes', index.uid, 'clone'), { uid: copy });
      await indexes();
    });
    const remove = button('Delete …', async () => {
      if (prompt('This deletes all documents of the index. Enter its name to continue:') !== index.uid) return;
      await write('DELETE', route('indexes', index.uid));
      await indexes();
    });
    return [open, (of.numberOfDocuments || 0).toLocaleString(), of.numberOfEmbeddings ? of.numberOfEmbeddedDocuments.toLocaleString() : '', human(of.rawDocumentDbSize || 0), String(Object.keys(of.fieldDistribution).length),
      index.primaryKey, when(index.updatedAt), named('span', 'actions', look, clone, remove)];
  })), more, ...await orRefusal(aliases));
};

async function details(uid) {
  const stats = await ask('GET', route('indexes', uid, 'stats') + '?sizeFormat=human&showInternalDatabaseSizes=true');
  const fields = Object.entries(stats.fieldDistribution).sort(([, one], [, other]) => other - one);
  const part = (title, heads, lines) => node('section', null, node('h2', title), lines.length ? table(heads, lines) : named('p', 'faint', 'none'));
  return [node('h2', 'Index ' + uid), named('div', 'sides',
    part('Fields', ['field', 'documents'], fields.map(([name, count]) => [name, count.toLocaleString()])),
    part('Segments', ['documents', 'deleted', 'size'], (stats.segments || []).map(one => [one.numberOfDocuments.toLocaleString(), one.numberOfDeletedDocuments.toLocaleString(), one.size])),
    part('Sizes', ['part', 'size'], Object.entries(stats.internalDatabaseSizes || {})),
    node('section', null, node('h2', 'States'), ...await orRefusal(() => states(uid))))];
}

// States that the server keeps, the newest first.
async function states(uid) {
  const { results, total } = await ask('GET', route('indexes', uid, 'generations') + '?limit=30');
  if (total < 2) return [named('p', 'faint', 'The server keeps only the present state. The launch option --keep 24h keeps earlier ones.')];
  return [table(['state', 'documents', 'since', ''], results.map(one => [String(one.generation), one.numberOfDocuments.toLocaleString(), when(one.committedAt),
    one.isCurrent ? named('span', 'faint', 'present') : button('Restore …', async () => {
      if (!confirm('Bring back state ' + one.generation + ' of ' + uid + ', with its settings? The present state is kept, too.')) return;
      await write('POST', route('indexes', uid, 'restore'), { at: one.generation });
      await view('indexes');
    })]))];
}

// All settings of the index with their values, what they are for and what a change costs, as the description of the routes has them.
async function knownSettings() {
  const [values, description] = await Promise.all([ask('GET', route('indexes', state.index, 'settings')), state.described || ask('GET', '/openapi.json').catch(() => ({}))]);
  state.described = description;
  const schemas = description.components?.schemas?.Settings?.properties || {};
  const hidden = ['foreignKeys', 'chat'].filter(name => !(name in values));
  const names = [...new Set([...Object.keys(schemas), ...Object.keys(values)])].filter(name => !hidden.includes(name));
  const plain = text => text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/`/g, '');
  return names.map(name => ({ name, value: name in values ? values[name] : null, about: plain(schemas[name]?.description || '').replace(/^./, letter => letter.toUpperCase()) }));
}

pages.settings = async fill => {
  const part = ({ name, value, about }) => {
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
    const made = node('section', null, node('h2', name), node('p', about + (isList ? ' One per line.' : '')), field, buttons);
    made.id = name;
    return made;
  };
  fill(...(await knownSettings()).map(part));
};
