// Embedders: what turns texts into vectors. A wizard makes one, and tries it with a text of yours on documents of yours before anything of the index changes.
import { useState } from 'preact/hooks';
import { post, route } from '../../api/client';
import type { Hit, Json, JsonObject, ListOf, SearchAnswer } from '../../api/types';
import { titleOf } from '../../lib/documents';
import { isObject, parseJson } from '../../lib/json';
import { plural, span } from '../../lib/text';
import { about } from '../../state/indexes';
import { carryOut, dropTrial, emptyTrial } from '../../state/trials';
import { Badge, Button, Dialog, Empty, Failure, Field, IconButton, Meter, Switch, TextArea, TextField } from '../../ui';
import { fieldOptions, Figure, texts, type ControlProps } from './controls';

interface Source { id: string; title: string; about: string; model?: string }
const SOURCES: readonly Source[] = [
  { id: 'static', title: 'Fast, inside this server', about: 'A static model from the Hugging Face hub. Vectors are there with the documents; it knows nothing of the order of words.', model: 'minishlab/potion-base-8M' },
  { id: 'huggingFace', title: 'Inside this server', about: 'A model from the Hugging Face hub, on this machine. Nothing leaves it.', model: 'BAAI/bge-small-en-v1.5' },
  { id: 'openAi', title: 'OpenAI', about: 'Their models, or a service with a compatible API.', model: 'text-embedding-3-small' },
  { id: 'ollama', title: 'Ollama', about: 'Your own server of models.', model: 'nomic-embed-text' },
  { id: 'rest', title: 'Another service', about: 'Any HTTP service with JSON requests and responses.' },
  { id: 'userProvided', title: 'My own vectors', about: 'Your documents contain their vectors.' },
];
/** Sources whose model decides the dimensions. */
const OF_MODEL = ['static', 'huggingFace'];
const sourceTitle = (id: unknown) => SOURCES.find(one => one.id === id)?.title ?? String(id);

export function Embedders({ index, value, onChange, error }: ControlProps) {
  const all = isObject(value) ? value : {}, [isOpen, setOpen] = useState<{ name: string } | null>(null);
  const embedded = about.value.stats?.numberOfEmbeddedDocuments;
  return (
    <div class="stack tight">
      {Object.keys(all).length === 0 && <Empty icon="star" title="There is no embedder yet.">An embedder lets searches find documents by meaning, even if they use other words.</Empty>}
      {Object.entries(all).map(([name, one]) => isObject(one) && (
        <div class="pattern row spread" key={name}>
          <span><strong dir="auto">{name}</strong> <span class="muted">{sourceTitle(one['source'])}{one['model'] ? ' · ' + String(one['model']) : ''}{one['dimensions'] ? ' · ' + String(one['dimensions']) + ' dimensions' : ''}</span></span>
          <span class="row"><IconButton icon="edit" label={'Change ' + name} onClick={() => setOpen({ name })} />
            <IconButton icon="trash" label={'Remove ' + name} onClick={() => { const { [name]: _, ...rest } = all; onChange(rest); }} /></span>
        </div>
      ))}
      {embedded !== undefined && Object.keys(all).length > 0 && <p class="hint">{plural(embedded, 'document has', 'documents have')} vectors.</p>}
      <div><Button icon="plus" onClick={() => setOpen({ name: '' })}>Add an embedder</Button></div>
      {error && <p class="wrong" role="alert">{error}</p>}
      {isOpen && <Wizard index={index} all={all} name={isOpen.name} onClose={() => setOpen(null)} onDone={(name, made) => { setOpen(null); onChange({ ...all, [name]: made }); }} />}
    </div>
  );
}

const REST_ASKS = '{"input": ["{{text}}", "{{..}}"]}', REST_GIVES = '{"data": [{"embedding": "{{embedding}}"}, "{{..}}"]}';
/** The template that takes the fields people would name. */
export function templateOf(fields: readonly string[]): string {
  const found = (wanted: RegExp) => fields.find(name => wanted.test(name));
  const names = [found(/^(title|name|label|headline)$/i), found(/^(overview|description|summary|text|body|content|about)$/i)].filter(name => name !== undefined);
  return names.map((name, place) => place ? `{% if doc.${name} %}: {{ doc.${name} }}{% endif %}` : `{{ doc.${name} }}`).join('');
}

interface Form { name: string; source: string; model: string; url: string; apiKey: string; dimensions: number | null; request: string; response: string; template: string; binary: boolean }
function formOf(name: string, one: JsonObject | undefined, fields: readonly string[]): Form {
  const text = (field: string, usual = '') => typeof one?.[field] === 'string' ? one[field] : usual, json = (field: string, usual: string) => one?.[field] === undefined ? usual : JSON.stringify(one[field]);
  return { name: name || 'default', source: text('source'), model: text('model'), url: text('url'), apiKey: '', dimensions: typeof one?.['dimensions'] === 'number' ? one['dimensions'] : null,
    request: json('request', REST_ASKS), response: json('response', REST_GIVES), template: text('documentTemplate', one ? '' : templateOf(fields)), binary: one?.['binaryQuantized'] === true };
}
/** The embedder that a form describes, over what it was: fields that belong to another source go. */
export function embedderOf(form: Form, before?: JsonObject): JsonObject {
  const { source } = form, made: JsonObject = before?.['source'] === source ? { ...before } : { source };
  const put = (field: string, value: Json | undefined) => { if (value === undefined || value === '' || value === null) delete made[field]; else made[field] = value; };
  if (source !== 'userProvided' && source !== 'rest') put('model', form.model.trim());
  if (['openAi', 'ollama', 'rest'].includes(source)) { put('url', form.url.trim()); if (form.apiKey) made['apiKey'] = form.apiKey; }
  if (source === 'rest') { put('request', parseJson(form.request).value); put('response', parseJson(form.response).value); }
  if (!OF_MODEL.includes(source)) put('dimensions', form.dimensions);
  if (source !== 'userProvided') put('documentTemplate', form.template);
  if (form.binary || made['binaryQuantized'] !== undefined) made['binaryQuantized'] = form.binary;
  return made;
}

function Wizard({ index, all, name, onClose, onDone }: { index: string; all: JsonObject; name: string; onClose: () => void; onDone: (name: string, made: JsonObject) => void }) {
  const before = isObject(all[name]) ? all[name] : undefined, fields = about.value.fields;
  const [form, setForm] = useState<Form>(() => formOf(name, before, fields)), set = (change: Partial<Form>) => setForm({ ...form, ...change });
  const source = SOURCES.find(one => one.id === form.source), made = embedderOf(form, before);
  const badJson = form.source === 'rest' ? [form.request, form.response].map(text => parseJson(text).fault?.message) : [];
  const off = !form.name.trim() ? 'Enter a name first.' : !name && Object.hasOwn(all, form.name.trim()) ? 'An embedder with this name exists already.' : badJson.some(Boolean) ? 'Correct the JSON first.' : form.source === 'userProvided' && !form.dimensions ? 'Enter the number of dimensions first.'
    : form.source === 'rest' && !form.url.trim() ? 'Enter the address first.' : false;
  return (
    <Dialog title={name ? `Change the embedder ${name}` : source ? `Add an embedder: ${source.title}` : 'Choose a source of vectors'} size="l" onClose={onClose} actions={source && <>
      {!name && <Button onClick={() => set({ source: '' })}>Back</Button>}
      <Button kind="primary" off={off} onClick={() => onDone(form.name.trim(), made)}>{name ? 'Change' : 'Add to the changes'}</Button></>}>
      {!source ? (
        <div class="sources">{SOURCES.map(one => <button type="button" key={one.id} class="source" onClick={() => set({ source: one.id, model: one.model ?? '' })}><strong>{one.title}</strong><small>{one.about}</small></button>)}</div>
      ) : (
        <>
          <p class="hint">{source.about}</p>
          <div class="pair">
            {!name && <TextField label="Name" value={form.name} onInput={now => set({ name: now })} hint="Searches refer to it by this name." />}
            {source.model !== undefined && <TextField label="Model" value={form.model} placeholder={source.model} onInput={now => set({ model: now })} />}
            {['openAi', 'ollama', 'rest'].includes(form.source) && <TextField label="Address" type="url" value={form.url} placeholder={form.source === 'ollama' ? 'ends with /api/embed' : form.source === 'openAi' ? 'default: OpenAI' : ''} onInput={now => set({ url: now })} hint="Addresses in a private network must be allowed with --experimental-allowed-ip-networks." />}
            {['openAi', 'ollama', 'rest'].includes(form.source) && <TextField label="API key" type="password" value={form.apiKey} placeholder={before?.['apiKey'] ? 'unchanged' : ''} onInput={now => set({ apiKey: now })} />}
            {!OF_MODEL.includes(form.source) && <Figure label="Dimensions" min={1} value={form.dimensions} usual={form.source === 'userProvided' ? '' : 'as the model returns'} onChange={now => set({ dimensions: now })} />}
          </div>
          {form.source === 'rest' && <><TextArea label="Request" mono rows={2} value={form.request} onInput={now => set({ request: now })} error={badJson[0]} /><TextArea label="Response" mono rows={2} value={form.response} onInput={now => set({ response: now })} error={badJson[1]} /></>}
          {form.source !== 'userProvided' && <>
            <TextArea label="Document template" mono rows={3} value={form.template} onInput={now => set({ template: now })} hint="The text to embed, with fields between {{ and }}. Empty: all searchable fields." />
            <div class="row" role="group" aria-label="Insert a field">{fieldOptions().filter(one => /^[A-Za-z_]\w*$/.test(one.value)).slice(0, 12).map(one => <Button key={one.value} size="s" icon="plus" onClick={() => set({ template: (form.template ? form.template + ' ' : '') + `{{ doc.${one.value} }}` })}>{one.value}</Button>)}</div>
          </>}
          <Switch label="Binary quantization" hint="One bit per dimension: about a thirtieth of the size, less exact. It cannot be undone." checked={form.binary} disabled={before?.['binaryQuantized'] === true} onChange={on => set({ binary: on })} />
          {form.source !== 'userProvided' && <Trial index={index} name={form.name.trim() || 'default'} made={made} off={off} keyLost={Boolean(before?.['apiKey']) && !form.apiKey} />}
        </>
      )}
    </Dialog>
  );
}

const TRIED = 20, SHOWN = 5;
interface Tried { dimensions: number; count: number; ms: number; hits: { title: string; score: number }[]; failed: number }
/** Makes the embedder for an index of its own, with a few documents, and searches in it. */
async function tryOut(index: string, name: string, made: JsonObject, text: string): Promise<Tried> {
  const key = about.peek().primaryKey ?? 'id', { results } = await post<ListOf<JsonObject>>(route('indexes', index, 'documents', 'fetch'), { limit: TRIED });
  const trial = await emptyTrial(key);
  try {
    await carryOut('PATCH', route('indexes', trial, 'settings'), { embedders: { [name]: made } });
    const begun = performance.now(), documents = results.length ? results : [{ [key]: 1, text }];
    const task = await carryOut('POST', route('indexes', trial, 'documents'), documents), ms = performance.now() - begun;
    const answer = await post<SearchAnswer & { degraded?: boolean }>(route('indexes', trial, 'search'), { q: text, limit: SHOWN, hybrid: { embedder: name, semanticRatio: 1 }, retrieveVectors: true, showRankingScore: true });
    const failures = isObject(task.details?.['embeddingFailures']) ? task.details['embeddingFailures'] : {};
    return { ms, count: documents.length, failed: typeof failures['total'] === 'number' ? failures['total'] : 0, dimensions: dimensionsOf(answer.hits[0], name), hits: answer.hits.map(hit => ({ title: titleOf(hit, key, texts(about.peek().settings.searchableAttributes)), score: hit._rankingScore ?? 0 })) };
  } finally {
    void dropTrial(trial);
  }
}
function dimensionsOf(hit: Hit | undefined, name: string): number {
  const vectors = isObject(hit?.['_vectors']) ? hit['_vectors'][name] : undefined, list = isObject(vectors) ? vectors['embeddings'] : vectors, first = Array.isArray(list) ? list[0] : undefined;
  return Array.isArray(first) ? first.length : Array.isArray(list) ? list.length : 0;
}

function Trial({ index, name, made, off, keyLost }: { index: string; name: string; made: JsonObject; off: string | false; keyLost: boolean }) {
  const [text, setText] = useState(''), [state, setState] = useState<{ tried?: Tried; error?: unknown } | null>(null), [busy, setBusy] = useState(false);
  const why = off || (keyLost && 'Enter the key again to test: the server does not reveal it.') || (!text.trim() && 'Enter a text first.');
  const run = async () => {
    if (why || busy) return;
    setBusy(true);
    setState(null);
    try { setState({ tried: await tryOut(index, name, made, text) }); } catch (error) { setState({ error }); }
    setBusy(false);
  };
  return (
    <section class="trial-text">
      <div class="row"><div class="grow"><TextField label="A text to test it with" value={text} placeholder="a farm boy leaves for the stars" onInput={setText} onEnter={run} /></div><Button class="at-end" busy={busy} off={why} onClick={run}>Test</Button></div>
      <p class="hint">Embeds the text and up to {TRIED} of your documents in a temporary index.</p>
      {busy && <p role="status" class="muted">Computing vectors. Loading a model for the first time takes minutes …</p>}
      <Failure error={state?.error} />
      {state?.tried && (
        <Field label={`Nearest to “${text}”`}>{() => <ol class="stack tight" role="list">{state.tried?.hits.map((hit, place) => <li key={place} class="row spread"><span dir="auto" class="grow">{hit.title}</span><Meter label="Similarity" value={hit.score} text={hit.score.toFixed(3)} /><span class="muted">{hit.score.toFixed(3)}</span></li>)}</ol>}</Field>
      )}
      {state?.tried && <p role="status"><Badge tone={state.tried.failed ? 'bad' : 'good'}>{state.tried.failed ? `${state.tried.failed} failed` : 'It works'}</Badge> {state.tried.dimensions || 'Unknown'} dimensions, {span(state.tried.ms)} for {plural(state.tried.count, 'document')}</p>}
    </section>
  );
}
