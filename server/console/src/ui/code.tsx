import { useEffect, useState } from 'preact/hooks';
import type { Json } from '../api/types';
import { parseJson } from '../lib/json';
import { count } from '../lib/text';
import { Button, IconButton } from './controls';
import { Field, type FieldProps } from './fields';

/** Browsers give only pages from HTTPS or this machine a clipboard: elsewhere the text is selected. */
export async function copy(text: string, element?: Element | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (element) getSelection()?.selectAllChildren(element);
    return false;
  }
}

export function CopyButton({ text, label = 'Copy', from }: { text: string; label?: string; from?: () => Element | null }) {
  const [said, setSaid] = useState('');
  useEffect(() => {
    const timer = said ? setTimeout(() => setSaid(''), 2000) : undefined;
    return () => clearTimeout(timer);
  }, [said]);
  return <Button size="s" kind="quiet" icon={said === 'Copied' ? 'check' : 'copy'} onClick={async () => setSaid(await copy(text, from?.()) ? 'Copied' : 'Press Ctrl-C')}>
    <span role="status">{said || label}</span></Button>;
}

export function CodeBlock({ code, label }: { code: string; label: string }) {
  const [element, setElement] = useState<Element | null>(null);
  return (
    <figure class="code">
      <figcaption><span>{label}</span><CopyButton text={code} from={() => element} /></figcaption>
      <pre tabIndex={0} aria-label={label}><code ref={setElement}>{code}</code></pre>
    </figure>
  );
}

const MOST = 200, LONGEST = 5000;
/** A value as JSON that opens and closes. */
export function JsonView({ value, name, open = true, last = true }: { value: Json; name?: string; open?: boolean; last?: boolean }) {
  const [isOpen, setOpen] = useState(open);
  const label = name === undefined ? null : <><span class="json-name">{JSON.stringify(name)}</span>: </>;
  const comma = last ? '' : ',';
  if (value === null || typeof value !== 'object') {
    const text = JSON.stringify(value), rest = text.length - LONGEST;
    return <div class="json-line">{label}<span class={'json-' + (value === null ? 'null' : typeof value)}>{rest > 0 ? text.slice(0, LONGEST) : text}</span>{rest > 0 && <span class="muted"> … and {count(rest)} more characters</span>}{comma}</div>;
  }
  const isList = Array.isArray(value), parts: [string, Json][] = Object.entries(value), [begin, end] = isList ? '[]' : '{}';
  if (!parts.length) return <div class="json-line">{label}{begin}{end}{comma}</div>;
  return (
    <div class="json">
      <div class="json-line"><IconButton size="s" icon={isOpen ? 'down' : 'right'} label={(isOpen ? 'Close ' : 'Open ') + (name ?? 'the value')} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)} />
        {label}{begin}{!isOpen && <span class="muted"> {parts.length} {end}{comma}</span>}</div>
      {isOpen && <div class="json-inside">{parts.slice(0, MOST).map(([key, one], place) => <JsonView key={key} name={isList ? undefined : key} value={one} open={parts.length < 20} last={place === parts.length - 1} />)}
        {parts.length > MOST && <div class="muted">and {parts.length - MOST} more</div>}</div>}
      {isOpen && <div class="json-line">{end}{comma}</div>}
    </div>
  );
}

/** JSON to write, with the line that is wrong. `error` is the server's, about a value that is well formed. */
export function JsonEditor({ text, onInput, rows = 12, error, ...field }: FieldProps & { text: string; onInput: (text: string) => void; rows?: number }) {
  const { fault } = parseJson(text);
  const [scroll, setScroll] = useState(0);
  const lines = text.split('\n').length;
  const said = fault ? `Line ${fault.line}, column ${fault.column}: ${fault.message}` : error;
  return (
    <Field {...field} error={said}>
      {wiring => (
        <div class="json-editor" style={{ '--rows': String(rows) }}>
          <div class="gutter" aria-hidden="true"><div style={{ transform: `translateY(${-scroll}px)` }}>
            {Array.from({ length: Math.min(lines, 20_000) }, (_, place) => <span key={place} class={fault?.line === place + 1 ? 'at-fault' : undefined}>{place + 1}</span>)}
          </div></div>
          <textarea {...wiring} class="mono" rows={rows} value={text} spellcheck={false} wrap="off" onInput={event => onInput(event.currentTarget.value)} onScroll={event => setScroll(event.currentTarget.scrollTop)} />
        </div>
      )}
    </Field>
  );
}
