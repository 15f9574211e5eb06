// A conversation with a language model that searches these documents: its searches and its sources are shown.
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { fetchAnswer, get, isAborted, request, route } from '../../api/client';
import { useResource, useWork } from '../../api/resource';
import { bump } from '../../api/tasks';
import type { Json, JsonObject, ListOf } from '../../api/types';
import { eventsOf } from '../../lib/events';
import { parseJson } from '../../lib/json';
import { plural } from '../../lib/text';
import { orOff, setFeature } from '../../state/features';
import { preference } from '../../state/preferences';
import { toast } from '../../state/toasts';
import { Button, Card, CodeBlock, Dialog, Empty, Failure, Icon, JsonView, Loaded, Select, TextArea, TextField } from '../../ui';

interface Said { role: 'user' | 'assistant'; text: string; searches: string[]; sources: JsonObject[] }
interface Call { index: number; function?: { name?: string; arguments?: string } }
interface Chunk { choices?: { delta?: { content?: string | null; tool_calls?: Call[] } }[]; error?: { message?: string; code?: string } | null; type?: string; message?: string }

const model = preference('chat.model', ''), workspace = preference('chat.workspace', '');
const talk = signal<readonly Said[]>([]), history = signal<Json[]>([]);
const SHOWN = ['_meiliSearchProgress', '_meiliSearchSources', '_meiliAppendConversationMessage'].map(name => ({ type: 'function', function: { name } }));

export function Chat() {
  const found = useResource(signal => orOff(get<ListOf<{ uid: string }>>('/chats', { query: { limit: 100 }, signal })), []);
  const [isAdding, setAdding] = useState(false), { error, run } = useWork();
  return (
    <>
      <Failure error={error} />
      <Loaded of={found} lines={6}>{all => {
        if (all === null) return <Empty icon="try" title="Conversations are turned off." actions={<Button kind="primary" onClick={() => run(() => setFeature('chatCompletions', true))}>Turn them on</Button>}>
          They are the experimental feature <code>chatCompletions</code> of this server. With a provider, a language model answers from your documents.</Empty>;
        if (all.results.length === 0) return <Empty icon="try" title="No provider is connected yet." actions={<Button kind="primary" icon="plus" onClick={() => setAdding(true)}>Connect a provider</Button>}>The model may run on this machine or elsewhere; the server must be allowed to reach it.</Empty>;
        const uid = all.results.find(one => one.uid === workspace.value)?.uid ?? all.results[0]?.uid ?? '';
        return <Talk uid={uid} all={all.results.map(one => one.uid)} onAdd={() => setAdding(true)} />;
      }}</Loaded>
      {isAdding && <Connect onClose={() => setAdding(false)} />}
    </>
  );
}

function Talk({ uid, all, onAdd }: { uid: string; all: string[]; onAdd: () => void }) {
  const [text, setText] = useState(''), [error, setError] = useState<unknown>(null), [control, setControl] = useState<AbortController | null>(null);
  const ask = async () => {
    const question = text.trim(), now = new AbortController();
    if (!question || !model.value || control) return;
    setText('');
    setError(null);
    setControl(now);
    talk.value = [...talk.value, { role: 'user', text: question, searches: [], sources: [] }, { role: 'assistant', text: '', searches: [], sources: [] }];
    history.value = [...history.value, { role: 'user', content: question }];
    try { await stream(uid, now.signal); } catch (failure) { if (!isAborted(failure)) setError(failure); } finally { setControl(null); }
  };
  const again = () => { talk.value = []; history.value = []; setError(null); };
  return (
    <Card title="Conversation" actions={<><Button size="s" icon="plus" onClick={onAdd}>Provider</Button><Button size="s" off={talk.value.length === 0 && 'The conversation is empty.'} onClick={again}>New conversation</Button></>}>
      <div class="stack">
        <div class="row">{all.length > 1 && <Select label="Workspace" value={uid} options={all.map(one => ({ value: one, title: one }))} onChange={now => { workspace.value = now; again(); }} />}
          <TextField label="Model" value={model.value} onInput={now => { model.value = now; }} placeholder="Name of the model" /></div>
        <div class="try-talk" aria-live="polite">{talk.value.length === 0 ? <p class="muted">Ask a question that your documents can answer.</p> : talk.value.map((one, place) => <One key={place} said={one} isUnderWay={control !== null && place === talk.value.length - 1} />)}</div>
        <Failure error={error} />
        <form class="try-ask" onSubmit={event => { event.preventDefault(); void ask(); }}>
          <TextField label="Question" isSearch value={text} onInput={setText} />
          {control ? <Button onClick={() => control.abort()}>Stop</Button> : <Button type="submit" kind="primary" off={!model.value ? 'Enter the model first.' : !text.trim() && 'Enter a question first.'}>Ask</Button>}
        </form>
      </div>
    </Card>
  );
}

function One({ said, isUnderWay }: { said: Said; isUnderWay: boolean }) {
  return <>
    {said.searches.map((one, place) => <p key={place} class="try-search"><Icon name="search" /><span dir="auto">{one}</span></p>)}
    {(said.text || isUnderWay) && <div class={'try-said ' + said.role} dir="auto">{said.text || <span class="spinner" role="status" aria-label="Waiting for the answer" />}</div>}
    {said.sources.length > 0 && <details><summary>{plural(said.sources.length, 'source')}</summary><JsonView value={said.sources} open={false} /></details>}
  </>;
}

const change = (by: (last: Said) => Partial<Said>) => {
  const last = talk.peek().at(-1);
  if (last) talk.value = [...talk.peek().slice(0, -1), { ...last, ...by(last) }];
};

async function stream(uid: string, signal: AbortSignal) {
  const answer = await fetchAnswer('POST', route('chats', uid, 'chat', 'completions'), { body: { model: model.peek(), stream: true, messages: history.peek(), tools: SHOWN }, signal });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader(), events = eventsOf(), calls = new Map<number, { name: string; text: string }>();
  if (!reader) return;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    for (const { event, data } of events.push(value)) {
      if (data === '[DONE]') continue;
      const chunk = parseJson(data).value as Chunk | undefined;
      if (event === 'error' || chunk?.error || chunk?.type === 'error') throw new Error(chunk?.error?.message ?? chunk?.message ?? data);
      const delta = chunk?.choices?.[0]?.delta;
      if (delta?.content) change(last => ({ text: last.text + delta.content }));
      for (const call of delta?.tool_calls ?? []) take(call, calls);
    }
  }
  const text = talk.peek().at(-1)?.text ?? '';
  if (text) history.value = [...history.peek(), { role: 'assistant', content: text }];
}

/** Arguments of a call come in parts: a call is taken when they are whole. */
function take(call: Call, calls: Map<number, { name: string; text: string }>) {
  const name = call.function?.name;
  if (name) calls.set(call.index, { name, text: '' });
  const one = calls.get(call.index);
  if (!one) return;
  one.text += call.function?.arguments ?? '';
  const value = parseJson(one.text).value as JsonObject | undefined;
  if (!value) return;
  calls.delete(call.index);
  if (one.name === '_meiliSearchProgress') {
    const asked = parseJson(String(value['function_arguments'] ?? '')).value as JsonObject | undefined;
    change(last => ({ searches: [...last.searches, `Searched ${asked?.['index_uid'] ?? 'the documents'} for “${asked?.['q'] ?? ''}”` + (asked?.['filter'] ? ` where ${asked['filter']}` : '')] }));
  } else if (one.name === '_meiliSearchSources') {
    const documents = value['documents'];
    if (Array.isArray(documents)) change(last => ({ sources: [...last.sources, ...documents as JsonObject[]] }));
  } else if (one.name === '_meiliAppendConversationMessage') history.value = [...history.peek(), value];
}

const SOURCES = [{ value: 'vLlm', title: 'OpenAI-compatible server' }, { value: 'openAi', title: 'OpenAI' }, { value: 'mistral', title: 'Mistral' }, { value: 'azureOpenAi', title: 'Azure OpenAI' }] as const;
type Source = typeof SOURCES[number]['value'];

function Connect({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('help'), [source, setSource] = useState<Source>('vLlm'), [address, setAddress] = useState(''), [secret, setSecret] = useState(''), [prompt, setPrompt] = useState(''), [deployment, setDeployment] = useState(''), [version, setVersion] = useState('');
  const { busy, error, run } = useWork(), isAzure = source === 'azureOpenAi';
  const connect = () => run(async () => {
    const body = { source, ...(address ? { baseUrl: address } : {}), ...(secret ? { apiKey: secret } : {}), ...(isAzure ? { deploymentId: deployment, apiVersion: version } : {}), ...(prompt ? { prompts: { system: prompt } } : {}) };
    await request('PATCH', route('chats', name, 'settings'), { body });
    workspace.value = name;
    toast({ tone: 'good', title: `${name} is connected` });
    bump();
    onClose();
  });
  const needsAddress = source === 'vLlm' || isAzure, needsKey = source !== 'vLlm';
  const off = !name ? 'Enter a name first.' : needsAddress && !address ? 'Enter the address first.' : needsKey && !secret ? 'Enter the key first.' : isAzure && (!deployment || !version) ? 'Enter the deployment and its version first.' : null;
  return (
    <Dialog title="Connect a provider" onClose={onClose} actions={<><Button onClick={onClose}>Cancel</Button><Button kind="primary" busy={busy} off={off} onClick={connect}>Connect</Button></>}>
      <TextField label="Name of the workspace" value={name} onInput={setName} />
      <Select label="Provider" value={source} options={SOURCES} onChange={setSource} />
      {needsAddress && <TextField label="Address" type="url" value={address} onInput={setAddress} placeholder="The part before /chat/completions" />}
      {isAzure && <><TextField label="Deployment" value={deployment} onInput={setDeployment} /><TextField label="API version" value={version} onInput={setVersion} /></>}
      <TextField label={needsKey ? 'Key' : 'Key (optional)'} type="password" value={secret} onInput={setSecret} />
      <TextArea label="System prompt (optional)" value={prompt} onInput={setPrompt} rows={3} placeholder="You sell films. Be brief." />
      <CodeBlock label="A provider on this machine needs" code="lamina serve --experimental-allowed-ip-networks 127.0.0.0/8" />
      <Failure error={error} />
    </Dialog>
  );
}
