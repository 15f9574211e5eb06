
// Documents: files of them with what is wrong in each line, and lists to change them in.
const PART_BYTES = 4 << 20, TROUBLES_MAX = 100;

async function sendPart(route, kind, text) {
  const headers = { 'Content-Type': kind }, key = sessionStorage.getItem('key');
  if (key) headers.Authorization = 'Bearer ' + key;
  const answer = await fetch(route, { method: 'POST', headers, body: text }).catch(() => { throw new Away(); });
  let task = await answer.json();
  if (!answer.ok) throw new Refusal(answer.status, task);
  do {
    task = await ask('GET', '/tasks/' + (task.taskUid ?? task.uid));
    if (OPEN_TASK.includes(task.status)) await new Promise(done => setTimeout(done, 100));
  } while (OPEN_TASK.includes(task.status));
  if (task.error) throw new Error(task.error.message);
}

// Lines in parts: a line that is no JSON is left out, a part that is refused is sent again in halves until the line is found.
async function sendLines(route, file, say, trouble) {
  let part = [], bytes = 0, number = 0, sent = 0, loaded = 0;
  const send = async lines => {
    try {
      await sendPart(route, 'application/x-ndjson', lines.map(line => line.text).join('\n'));
      loaded += lines.length;
    } catch (error) {
      if (error instanceof Away || error.asksForKey) throw error;
      if (lines.length === 1) return trouble('line ' + lines[0].number + ': ' + error.message);
      const half = lines.length >> 1;
      await send(lines.slice(0, half));
      await send(lines.slice(half));
    }
  };
  const flush = async () => {
    if (part.length) await send(part);
    part = [];
    sent += bytes;
    bytes = 0;
    say(sent, loaded);
  };
  const take = async text => {
    number += 1;
    bytes += text.length + 1;
    if (text.trim()) {
      try { JSON.parse(text); part.push({ text, number }); } catch (error) { trouble('line ' + number + ': ' + error.message); }
    }
    if (bytes >= PART_BYTES) await flush();
  };
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value || '')).split('\n');
    rest = done ? '' : lines.pop();
    for (const line of lines) await take(line);
    if (done) break;
  }
  await flush();
  return loaded;
}

async function sendFile(file, target, place) {
  const bar = node('progress'), about = named('span', 'faint'), list = node('ul'), troubles = [];
  bar.max = file.size || 1;
  bar.setAttribute('aria-label', 'Progress of ' + file.name);
  bar.value = 0;
  place.replaceChildren(node('span', file.name), bar, about, list);
  const trouble = text => {
    troubles.push(text);
    list.append(named('li', 'bad', text));
    if (troubles.length >= TROUBLES_MAX) throw new Error('More than ' + TROUBLES_MAX + ' lines were refused: the rest of the file was not sent.');
  };
  const say = (bytes, loaded) => { bar.value = bytes; about.textContent = human(Math.min(bytes, file.size)) + ' of ' + human(file.size) + (loaded ? ', ' + plural(loaded, 'document') : ''); };
  say(0, 0);
  const ending = file.name.split('.').pop().toLowerCase(), begins = (await file.slice(0, 64).text()).trimStart();
  if (['csv', 'tsv'].includes(ending)) {
    await sendPart(target + (ending === 'tsv' ? '?csvDelimiter=%09' : ''), 'text/csv', file);
  } else if (begins.startsWith('[')) {
    await sendPart(target, 'application/json', file);
  } else {
    await sendLines(target, file, say, trouble);
  }
  bar.value = bar.max;
  about.textContent += troubles.length ? ', ' + plural(troubles.length, 'line') + ' refused' : ', done';
}

pages.documents = async fill => {
  const filter = entry('Filter: genre = Horror AND year > 1980'), list = node('div'), from = { offset: 0 };
  const documents = route('indexes', state.index, 'documents');
  let loads = 0;
  const load = async () => {
    const current = ++loads;
    const found = await ask('POST', documents + '/fetch', { limit: PAGE, offset: from.offset, ...(filter.value ? { filter: filter.value } : {}) });
    // A later request was made meanwhile: its answer is the one to show.
    if (current !== loads) return;
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
  const file = node('input'), progress = named('div', 'upload');
  file.type = 'file';
  file.accept = '.json,.ndjson,.jsonl,.csv,.tsv';
  file.setAttribute('aria-label', 'A file of documents');
  const send = async chosen => {
    try { await sendFile(chosen, documents, progress); } finally { file.value = ''; await load(); }
  };
  file.onchange = () => { if (file.files[0]) shown(() => send(file.files[0])); };
  at('view').ondragover = event => event.preventDefault();
  at('view').ondrop = event => { event.preventDefault(); if (state.view === 'documents' && event.dataTransfer.files[0]) shown(() => send(event.dataTransfer.files[0])); };
  filter.className = 'filter';
  filter.onchange = () => { from.offset = 0; shown(load); };
  fill(node('h2', 'Add documents: choose a file, or drop one here'), node('p', 'JSON, a document a line, CSV or TSV. A line that is refused is named, the others are loaded.'),
    named('p', 'row', file), progress, node('h2', 'Browse'), named('p', 'row', filter), list);
  await load();
};
