
// What comes without being asked for each time: events of tasks, words to go on with, how far a replica is.

// Where the server sends events of tasks, the page waits for them; else it asks every few seconds.
async function listen() {
  const number = state.listens = (state.listens || 0) + 1;
  const features = await ask('GET', '/experimental-features').catch(() => ({}));
  const key = sessionStorage.getItem('key'), headers = key ? { Authorization: 'Bearer ' + key } : {};
  while (features.tasksStreamingRoute && number === state.listens) {
    const answer = await fetch('/tasks/stream', { headers }).catch(() => null);
    if (answer && !answer.ok) break;
    const reader = answer && answer.body.getReader();
    while (reader) {
      state.isLive = true;
      const { done } = await reader.read().catch(() => ({ done: true }));
      if (done) break;
      clearTimeout(state.timer);
      state.timer = setTimeout(tasks, EVENT_MS);
    }
    state.isLive = false;
    await new Promise(done => setTimeout(done, TASKS_MS));
  }
}

// Words that the last one may become. The right arrow at the end of the text takes the first.
async function complete() {
  const text = at('q').value, number = state.completes = (state.completes || 0) + 1;
  const isAsked = state.view === 'search' && state.index && /\S$/.test(text);
  const answer = isAsked ? await ask('POST', route('indexes', state.index, 'completions'), { q: text, limit: 6 }).catch(() => null) : null;
  if (number !== state.completes) return;
  const found = answer ? answer.completions.filter(one => one.q !== text) : [];
  at('words').replaceChildren(...found.map(one => {
    const made = named('button', 'word', one.q);
    made.type = 'button';
    made.title = plural(one.documents, 'document');
    made.onclick = () => take(one.q);
    return made;
  }));
  at('words').hidden = found.length === 0;
}

function take(text) {
  at('q').value = text;
  at('q').focus();
  at('q').oninput();
}

// Servers that publish or follow say with every answer how far they are.
function noteReplica(headers) {
  const generation = headers.get('Lamina-Generation'), lag = headers.get('Lamina-Lag-Ms');
  if (generation === null && lag === null) return;
  state.replica = { generation, lag: lag === null ? null : Number(lag) };
  at('replica').textContent = 'generation ' + (generation ?? '–') + (lag === null ? '' : ', ' + (lag < 1000 ? lag + ' ms' : (lag / 1000).toFixed(1) + ' s') + ' behind');
  at('replica').hidden = false;
}
