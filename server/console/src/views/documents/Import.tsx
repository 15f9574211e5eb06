// Before a file is sent: what it is, what its columns hold, which is the id. And afterwards: what was loaded, each line that was not, and what the data suggests.
import { useState } from 'preact/hooks';
import { isAway } from '../../api/client';
import { useResource } from '../../api/resource';
import { columnsOfDocuments, columnsOfRows, idsOf, type Column, type Kind } from '../../lib/columns';
import { nameOfFile } from '../../lib/files';
import { bytes, count, plural } from '../../lib/text';
import { go } from '../../state/address';
import { about, known, uid } from '../../state/indexes';
import { Badge, Button, Card, Checkbox, Combobox, Dialog, Failure, IconButton, Loaded, Select, Table, TextField } from '../../ui';
import { Proposals } from '../search/Proposals';
import { beginningOf, job, kindsOf, startImport, stopImport, type Beginning, type Job, type Refusal, type Source } from './importing';

const COLUMNS_SHOWN = 100, NUMBERED = '\u0000numbered', NONE = '\u0000none';
const KINDS: { value: Kind; title: string }[] = [{ value: 'text', title: 'text' }, { value: 'number', title: 'number' }, { value: 'boolean', title: 'true or false' }, { value: 'list', title: 'list' }, { value: 'skip', title: 'skip' }];
const DELIMITERS = [{ value: ',', title: 'comma' }, { value: ';', title: 'semicolon' }, { value: '\t', title: 'tab' }, { value: '|', title: 'pipe |' }];

export function Preview({ source: first, onClose }: { source: Source; onClose: () => void }) {
  const [source, setSource] = useState(first);
  const found = useResource(() => beginningOf(source), [source], { live: false, keep: true });
  return (
    <Loaded of={found} lines={8}>{beginning => <Choices source={source} beginning={beginning} onSource={setSource} onClose={onClose} />}</Loaded>
  );
}

export function PreviewDialog({ source, onClose }: { source: Source; onClose: () => void }) {
  return <Dialog title={`Import ${source.name}`} size="l" onClose={onClose} class="documents-preview"><Preview source={source} onClose={onClose} /></Dialog>;
}

function Choices({ source, beginning, onSource, onClose }: { source: Source; beginning: Beginning; onSource: (source: Source) => void; onClose: () => void }) {
  const [kinds, setKinds] = useState<ReadonlyMap<string, Kind>>(new Map()), [id, setId] = useState<string | null>(null), [update, setUpdate] = useState(false);
  const [index, setIndex] = useState(uid.peek() || nameOfFile(source.name)), [numberName, setNumberName] = useState('id');
  const isCsv = source.format === 'csv', looked = isCsv ? beginning.rows.length : beginning.documents.length;
  const columns = isCsv ? columnsOfRows(beginning.header, beginning.rows, kinds) : columnsOfDocuments(beginning.documents);
  const target = known.value.list.find(one => one.uid === index), fixed = target?.primaryKey ?? null;
  const candidates = idsOf(columns, looked), names = columns.filter(one => one.kind !== 'skip').map(one => one.name);
  const usual = candidates[0] ?? NONE;
  const chosen = fixed !== null ? (id === NUMBERED || !names.includes(fixed) ? NUMBERED : fixed) : id ?? usual;
  const isNumbered = chosen === NUMBERED, key = isNumbered ? fixed ?? numberName : chosen === NONE ? '' : chosen;
  const off = looked === 0 ? 'There is no document in it.' : job.value?.state === 'running' ? 'Another import is under way.' : chosen === NONE ? 'Choose the primary key first.' : !index ? 'Enter an index first.' : isNumbered && !key ? 'Enter a name for the number field first.' : null;
  const start = () => {
    onClose();
    void startImport(source, { index, id: key, numbered: isNumbered, update, kinds: kindsOf(beginning.header, columns) }, columns, looked);
  };
  const options = [
    ...(chosen === NONE ? [{ value: NONE, title: 'Choose …' }] : []),
    ...(fixed !== null ? [{ value: fixed, title: fixed, disabled: !names.includes(fixed) }] : [...names].sort((one, other) => Number(candidates.includes(other)) - Number(candidates.includes(one))).slice(0, COLUMNS_SHOWN)
      .map(name => ({ value: name, title: candidates.includes(name) ? name : name + ' (not unique)' }))),
    { value: NUMBERED, title: 'Number the lines' },
  ];
  return (
    <>
      <p class="muted">{[bytes(source.size), { csv: 'CSV', json: 'JSON', ndjson: 'NDJSON' }[source.format], source.encoding !== 'utf-8' && 'read as Windows-1252 because it is not UTF-8', source.isZipped && 'gzip',
        plural(looked, isCsv ? 'row' : 'document') + (beginning.isWhole ? '' : ' in the preview')].filter(Boolean).join(' · ')}</p>
      <div class="documents-options">
        <Combobox label="Index" value={index} free options={known.value.list.map(one => ({ value: one.uid }))} onChange={setIndex} hint={target ? undefined : 'It will be created.'} />
        <Select label="Primary key" value={chosen} options={options} onChange={setId} hint={fixed !== null ? (names.includes(fixed) ? `The primary key of ${index}.` : `The primary key of ${index} is “${fixed}”, which the file lacks.`) : 'A document replaces the one with the same id.'} />
        {isNumbered && fixed === null && <TextField label="Number field" value={numberName} onInput={setNumberName} />}
        {isCsv && <Select label="Delimiter" value={source.delimiter} options={DELIMITERS} onChange={delimiter => onSource({ ...source, delimiter })} />}
      </div>
      {isNumbered && target && <p class="bad-text">Numbers start at 1 and replace documents of {index} with the same ids.</p>}
      {beginning.faults.length > 0 && <Refusals all={beginning.faults.slice(0, 20)} count={beginning.faults.length} text="of the preview will be skipped" />}
      <Columns columns={columns} looked={looked} isCsv={isCsv} onKind={(name, kind) => setKinds(new Map(kinds).set(name, kind))} />
      <Checkbox label="Update existing documents: keep their other fields" checked={update} onChange={setUpdate} />
      <div class="row end"><Button onClick={onClose}>Cancel</Button><Button kind="primary" icon="upload" off={off} onClick={start}>{beginning.isWhole && looked ? `Import ${plural(looked, 'document')}` : 'Import the file'}</Button></div>
    </>
  );
}

function Columns({ columns, looked, isCsv, onKind }: { columns: readonly Column[]; looked: number; isCsv: boolean; onKind: (name: string, kind: Kind) => void }) {
  return (
    <div class="documents-columns">
      <Table label="Columns" rows={columns.slice(0, COLUMNS_SHOWN)} keyOf={one => one.name} columns={[
        { id: 'name', title: 'Field', cell: one => <strong dir="auto" class={one.kind === 'skip' ? 'skipped' : undefined}>{one.name || '(no name)'}</strong> },
        { id: 'kind', title: 'Type', cell: one => isCsv
          ? <Select label={`Type of ${one.name}`} hideLabel value={one.kind as Kind} options={KINDS} onChange={kind => onKind(one.name, kind)} error={one.odd ? `${count(one.odd)} of ${count(one.filled)} ${one.odd === 1 ? 'does' : 'do'} not fit and will be refused` : null} />
          : <Badge tone={one.kind === 'mixed' ? 'warn' : 'plain'}>{one.kind}</Badge> },
        { id: 'filled', title: 'Filled', number: true, cell: one => looked ? Math.round(one.filled / looked * 100) + ' %' : '–' },
        { id: 'examples', title: 'Examples', grow: true, cell: one => <span class="documents-cell" dir="auto">{one.examples.join(' · ') || '–'}</span> },
      ]} />
      {columns.length > COLUMNS_SHOWN && <p class="muted">and {plural(columns.length - COLUMNS_SHOWN, 'field')} more</p>}
    </div>
  );
}

function Refusals({ all, count: total, text }: { all: readonly Refusal[]; count: number; text: string }) {
  return (
    <section class="stack tight" aria-label="Refused lines">
      <p class="bad-text"><strong>{plural(total, 'line')}</strong> {text}</p>
      <ul class="documents-refused" tabIndex={0} aria-label="Lines and reasons">{all.map((one, place) => <li key={place}><span>line {count(one.line)}</span><span dir="auto">{one.message}</span></li>)}
        {total > all.length && <li><span /><span class="muted">and {count(total - all.length)} more</span></li>}</ul>
    </section>
  );
}

const TITLES: Record<Job['state'], string> = { running: 'Importing', done: 'Imported', stopped: 'Stopped', failed: 'Failed' };

/** The import that is under way, or what became of the last one. */
export function Progress() {
  const now = job.value;
  if (!now) return null;
  const share = now.size ? now.bytes / now.size : 0, isRunning = now.state === 'running';
  return (
    <Card title={<>{TITLES[now.state]} <span dir="auto">{now.name}</span></>} class="documents-job" actions={isRunning ? <Button size="s" onClick={stopImport}>Stop</Button> : <IconButton size="s" icon="close" label="Close" onClick={() => { job.value = null; }} />}>
      <div class="stack tight">
        <div class={'documents-progress' + (isRunning && !now.bytes ? ' unknown' : '')} role="progressbar" aria-label={`Progress of ${now.name}`} aria-valuenow={Math.round(share * 100)} aria-valuemin={0} aria-valuemax={100}><span style={isRunning && !now.bytes ? undefined : { width: share * 100 + '%' }} /></div>
        <p class="muted" role="status">{plural(now.loaded, 'document')} loaded into <strong dir="auto">{now.index}</strong>{now.refusedCount > 0 && `, ${plural(now.refusedCount, 'line')} refused`}{isRunning && (now.waits || isAway.value) && ' · The server does not answer; the import continues when it does.'}</p>
        {now.state === 'failed' && <Failure error={now.error} />}
        {now.refusedCount > 0 && <Refusals all={now.refused} count={now.refusedCount} text={isRunning ? 'refused so far' : now.refusedCount === 1 ? 'was refused' : 'were refused'} />}
        {now.state === 'done' && now.loaded > 0 && <>
          {now.index === about.value.uid && <Proposals index={now.index} />}
          <div class="row"><Button icon="search" onClick={() => go({ view: 'search', index: now.index })}>Search the documents</Button></div>
        </>}
      </div>
    </Card>
  );
}
