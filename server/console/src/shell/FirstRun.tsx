// There is no index yet: films to try with, a file, or a line for the shell.
import { useState } from 'preact/hooks';
import { fetchAnswer, route } from '../api/client';
import { writeAndWait } from '../api/tasks';
import { go } from '../state/address';
import { loadIndexes } from '../state/indexes';
import { kindOfFile, nameOfFile } from '../lib/files';
import { Button, Card, CodeBlock, Failure } from '../ui';

const SETTINGS = { filterableAttributes: ['genres', 'cast', 'year'], sortableAttributes: ['year'] };

export function FirstRun() {
  const [busy, setBusy] = useState(''), [error, setError] = useState<unknown>(null), [isOver, setOver] = useState(false);
  const run = async (what: string, work: () => Promise<unknown>) => {
    setBusy(what);
    setError(null);
    try { await work(); } catch (failure) { setError(failure); } finally { setBusy(''); }
  };
  const films = () => run('films', async () => {
    const data = await (await fetchAnswer('GET', '/console/films')).blob();
    await writeAndWait('PATCH', route('indexes', 'films', 'settings'), { title: 'Settings of films', quiet: true }, { body: SETTINGS });
    await writeAndWait('POST', route('indexes', 'films', 'documents'), { title: 'Load 4,000 films', done: '4,000 films are loaded' },
      { query: { primaryKey: 'id' }, raw: { data, type: 'application/x-ndjson' } });
    await loadIndexes();
    go({ index: 'films', view: 'search' });
  });
  const file = (chosen: File | undefined) => chosen && run('file', async () => {
    const { type, query } = await kindOfFile(chosen), index = nameOfFile(chosen.name);
    await writeAndWait('POST', route('indexes', index, 'documents'), { title: `Load ${chosen.name}`, done: `${chosen.name} is loaded` }, { query, raw: { data: chosen, type } });
    await loadIndexes();
    go({ index, view: 'search' });
  });
  const curl = `curl '${location.origin}/indexes/books/documents' \\\n  -H 'Content-Type: application/json' \\\n  --data '[{"id": 1, "title": "Solaris", "author": "Stanisław Lem"}]'`;
  return (
    <div class="first">
      <h1>Search something in a minute</h1>
      <p>This server has no documents yet. Begin with films, with a file of yours, or from the shell.</p>
      {error !== null && <Failure error={error} />}
      <Card title="4,000 films" actions={<Button kind="primary" icon="film" busy={busy === 'films'} off={busy !== '' && 'It is loading.'} onClick={films}>Load the films</Button>}>
        <p class="muted">With title, year, genres, cast and a text: enough to try typos, facets, rules and comparisons. From Wikipedia, CC BY-SA 4.0.</p>
      </Card>
      <div class={'drop' + (isOver ? ' over' : '')} onDragOver={event => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
        onDrop={event => { event.preventDefault(); setOver(false); void file(event.dataTransfer?.files[0]); }}>
        {busy === 'file' ? 'Loading …' : <>Drop a file here, or <input id="first-file" type="file" accept=".json,.ndjson,.jsonl,.csv,.tsv" onChange={event => file(event.currentTarget.files?.[0])} /><label for="first-file">choose one</label></>}
        <div>JSON, a document a line, CSV or TSV</div>
      </div>
      <CodeBlock label="From the shell" code={curl} />
    </div>
  );
}
