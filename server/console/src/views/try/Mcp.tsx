// The tools of agents: each with a form, the message that is sent, and the answer.
import { useState } from 'preact/hooks';
import { Refused, request } from '../../api/client';
import { useResource } from '../../api/resource';
import type { Json, JsonObject } from '../../api/types';
import { parseJson } from '../../lib/json';
import { bytes, count } from '../../lib/text';
import { key } from '../../state/session';
import { uid } from '../../state/indexes';
import { Badge, Button, Card, Checkbox, Chips, CodeBlock, Empty, Failure, JsonView, Loaded, Select, TextField } from '../../ui';
import { argumentsOf, sentOf, type Argument, type Tool } from './schema';

interface Rpc<T> { result?: T; error?: { code: number; message: string; data?: Json } }
interface Called { content: { type: string; text?: string }[]; isError?: boolean; structuredContent?: Json }
type Written = Record<string, string | string[] | boolean>;

let number = 0;
async function rpc<T>(index: string, method: string, params: JsonObject, signal?: AbortSignal): Promise<T> {
  const { result, error } = await request<Rpc<T>>('POST', '/mcp', { body: { jsonrpc: '2.0', id: ++number, method, params }, query: { index }, signal });
  if (error) throw new Refused(200, { message: error.message, code: String(error.code) });
  return result as T;
}

export function Mcp() {
  const index = uid.value, found = useResource(signal => rpc<{ tools: Tool[] }>(index, 'tools/list', {}, signal), [index]), [chosen, setChosen] = useState('search');
  const url = location.origin + '/mcp' + (index ? '?index=' + encodeURIComponent(index) : '');
  const http = { mcpServers: { [index || 'lamina']: { type: 'http', url, ...(key.value ? { headers: { Authorization: 'Bearer …' } } : {}) } } };
  const local = { mcpServers: { [index || 'lamina']: { command: 'lamina', args: ['mcp', '--url', location.origin, ...(index ? ['--index', index] : [])], ...(key.value ? { env: { SVC_API_KEY: '…' } } : {}) } } };
  return (
    <div class="stack">
      <Loaded of={found} lines={8} isEmpty={all => all.tools.length === 0} empty={<Empty icon="try" title="This key permits no tool">Agents need permission to search and to read documents, settings and indexes.</Empty>}>
        {({ tools }) => { const tool = tools.find(one => one.name === chosen) ?? tools[0]; return tool && <Tools key={index + ' ' + tool.name} index={index} tools={tools} chosen={tool} onChoose={setChosen} />; }}
      </Loaded>
      {!(found.loading && found.data === undefined) && <><CodeBlock label="Configuration for MCP over HTTP" code={JSON.stringify(http, null, 2)} />
        <CodeBlock label="Configuration for MCP over stdio" code={JSON.stringify(local, null, 2)} /></>}
    </div>
  );
}

function Tools({ index, tools, chosen, onChoose }: { index: string; tools: readonly Tool[]; chosen: Tool; onChoose: (name: string) => void }) {
  const [written, setWritten] = useState<Written>({}), [answer, setAnswer] = useState<{ called: Called; ms: number } | null>(null), [error, setError] = useState<unknown>(null), [busy, setBusy] = useState(false);
  const all = argumentsOf(chosen), { value, fault } = sentOf(all, written), missing = all.find(one => one.isRequired && value[one.name] === undefined);
  const call = async () => {
    const from = performance.now();
    setBusy(true);
    setError(null);
    try {
      setAnswer({ called: await rpc<Called>(index, 'tools/call', { name: chosen.name, arguments: value }), ms: performance.now() - from });
    } catch (failure) {
      setError(failure);
      setAnswer(null);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="try-sides">
      <Card title="Tools">
        <div class="stack">
          <div class="try-tools" role="group" aria-label="Tools">{tools.map(one => <Button key={one.name} size="s" aria-pressed={one.name === chosen.name} onClick={() => onChoose(one.name)}>{one.name}</Button>)}</div>
          {chosen.description && <p class="try-about" tabIndex={0} aria-label={`What ${chosen.name} does`}><Spoken text={chosen.description} /></p>}
          <form class="stack" onSubmit={event => { event.preventDefault(); if (!fault && !missing && !busy) void call(); }}>
            {all.map(one => <One key={chosen.name + one.name} of={one} value={written[one.name]} onChange={now => setWritten({ ...written, [one.name]: now })} error={fault?.name === one.name ? fault.message : null} />)}
            <div class="row end"><Button type="submit" kind="primary" busy={busy} off={fault ? `${fault.name} is not valid JSON.` : missing && `${missing.name} is missing.`}>Call {chosen.name}</Button></div>
          </form>
        </div>
      </Card>
      <div class="stack">
        <Failure error={error} />
        {answer ? <Answer {...answer} /> : error === null && <Card><Empty icon="try" title="No answer yet">Call a tool to see the text that agents receive.</Empty></Card>}
        <CodeBlock label="Request" code={JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: chosen.name, arguments: value } }, null, 2)} />
      </div>
    </div>
  );
}

function Answer({ called, ms }: { called: Called; ms: number }) {
  const text = called.content.map(one => one.text ?? '').join('\n'), { value, fault } = parseJson(text);
  return (
    <Card title={called.isError ? 'Error of the tool' : 'Answer'} actions={<>{called.isError && <Badge tone="bad">error</Badge>}<small>{bytes(text.length)}, about {count(Math.ceil(text.length / 4))} tokens, {Math.round(ms)} ms</small></>}>
      <div class="try-result" tabIndex={0} aria-label="The answer">{fault ? <p dir="auto" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{text}</p> : <JsonView value={value} />}</div>
    </Card>
  );
}

/** What stands between backticks is code. */
const Spoken = ({ text }: { text: string }) => <>{text.split('`').map((part, place) => place % 2 ? <code key={place}>{part}</code> : part)}</>;

function One({ of: { name, form, about, isRequired }, value, onChange, error }: { of: Argument; value: Written[string] | undefined; onChange: (value: Written[string]) => void; error: string | null }) {
  const label = isRequired ? name : `${name} (optional)`, hint = about ? <Spoken text={about.length > 140 ? about.slice(0, 140) + '…' : about} /> : undefined, text = typeof value === 'string' ? value : '';
  switch (form.kind) {
    case 'switch': return <Checkbox label={label} checked={value === true} onChange={onChange} />;
    case 'choice': return <Select label={label} hint={hint} value={text} options={[{ value: '', title: 'default' }, ...form.choices.map(one => ({ value: one, title: one }))]} onChange={onChange} />;
    case 'texts': return <Chips label={label} hint={hint} free options={[]} values={Array.isArray(value) ? value : []} onChange={onChange} />;
    case 'number': return <TextField label={label} hint={hint} type="number" step="any" value={text} onInput={onChange} />;
    default: return <TextField label={label} hint={hint} mono={form.kind === 'json'} value={text} onInput={onChange} error={error} />;
  }
}
