// There is no index yet: films to try with, a file, a table of PostgreSQL, or a line for the shell.
import { useState } from 'preact/hooks';
import { get, route } from '../api/client';
import { writeAndWait } from '../api/tasks';
import { arrive, loadIndexes } from '../state/indexes';
import { key } from '../state/session';
import { kindOfFile, nameOfFile } from '../lib/files';
import { Button, Card, CodeBlock, Failure, Icon, Tabs } from '../ui';

type Shell = 'curl' | 'postgres';
interface Sample { indexUid: string; primaryKey: string; documents: unknown[] }

export function FirstRun() {
  const [busy, setBusy] = useState(''), [error, setError] = useState<unknown>(null), [isOver, setOver] = useState(false), [shell, setShell] = useState<Shell>('curl');
  const run = async (what: string, work: () => Promise<unknown>) => {
    setBusy(what);
    setError(null);
    try { await work(); } catch (failure) { setError(failure); } finally { setBusy(''); }
  };
  const films = () => run('films', async () => {
    // Without their settings: those are proposed, a click each.
    const { indexUid, primaryKey, documents } = await get<Sample>('/sample');
    await writeAndWait('POST', route('indexes', indexUid, 'documents'), { title: 'Load the films', done: `${documents.length.toLocaleString('en')} films are loaded` },
      { query: { primaryKey }, body: documents });
    await loadIndexes();
    arrive(indexUid);
  });
  const file = (chosen: File | undefined) => chosen && run('file', async () => {
    const { type, query } = await kindOfFile(chosen), index = nameOfFile(chosen.name);
    await writeAndWait('POST', route('indexes', index, 'documents'), { title: `Load ${chosen.name}`, done: `${chosen.name} is loaded` }, { query, raw: { data: chosen, type } });
    await loadIndexes();
    arrive(index);
  });
  const secret = key.value ? '  -H "Authorization: Bearer $LAMINA_KEY" \\\n' : '';
  const curl = `curl '${location.origin}/indexes/books/documents' \\\n  -H 'Content-Type: application/json' \\\n${secret}  --data '[{"id": 1, "title": "Solaris", "author": "Stanisław Lem"}]'`;
  const postgres = `${key.value ? 'export SVC_API_KEY=…\n' : ''}lamina sync --url '${location.origin}' --table films --index films \\\n  postgres://USER:PASSWORD@HOST/DATABASE`;
  const off = busy !== '' && 'It is loading.';
  return (
    <div class="first">
      <h1>Search something in a minute</h1>
      <p>This server has no documents yet. Start with sample films, your own file, a database table or a request from the shell.</p>
      <Failure error={error} />
      <Card title={<span class="row"><Icon name="film" />4,000 films</span>} actions={<Button kind="primary" busy={busy === 'films'} off={off} onClick={films}>Load the films</Button>}>
        <p class="muted">Titles, years, genres, casts and plots, to try typo tolerance, facets, rules and comparisons. From Wikipedia, CC BY-SA 4.0.</p>
      </Card>
      <div class={'drop' + (isOver ? ' over' : '')} onDragOver={event => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
        onDrop={event => { event.preventDefault(); setOver(false); if (!off) void file(event.dataTransfer?.files[0]); }}>
        <Icon name="upload" />
        <div>{busy === 'file' ? 'Loading …' : <>Drop a file here, or <input id="first-file" type="file" disabled={Boolean(off)} accept=".json,.ndjson,.jsonl,.csv,.tsv" onChange={event => file(event.currentTarget.files?.[0])} /><label for="first-file">choose one</label></>}</div>
        <small>JSON, NDJSON, CSV or TSV. The index takes the name of the file.</small>
      </div>
      <Tabs label="Other sources" value={shell} onChange={setShell} options={[{ id: 'curl', title: 'With curl' }, { id: 'postgres', title: 'PostgreSQL' }]}>
        {shell === 'curl' ? <CodeBlock label="In a shell" code={curl} /> : <>
          <CodeBlock label="In a shell" code={postgres} />
          <p class="muted hint">Loads the table, then follows every insert, update and delete. The database needs <code>wal_level = logical</code>, and the user the replication privilege.</p></>}
      </Tabs>
      <p class="muted">This page continues by itself when the first documents arrive.</p>
    </div>
  );
}
