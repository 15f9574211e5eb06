// A new key: what it is for, or each right; for which indexes, until when. Its text is shown once.
import { useState } from 'preact/hooks';
import { atControls, post } from '../../api/client';
import { useWork } from '../../api/resource';
import { bump } from '../../api/tasks';
import type { Key } from '../../api/types';
import { known } from '../../state/indexes';
import { Button, Checkbox, Chips, CodeBlock, CopyButton, Dialog, Failure, Select, TextField } from '../../ui';
import { EXPIRIES, expiryOf, GROUPS, isGlobal, PRESETS, presetOf } from './actions';

export function Create({ onClose }: { onClose: () => void }) {
  const [made, setMade] = useState<Key | null>(null);
  return made ? <Once of={made} onClose={onClose} /> : <Form onClose={onClose} onMade={setMade} />;
}

function Form({ onClose, onMade }: { onClose: () => void; onMade: (key: Key) => void }) {
  const [actions, setActions] = useState<ReadonlySet<string>>(new Set(['search'])), [name, setName] = useState('Search'), [indexes, setIndexes] = useState<string[]>([]);
  const [choice, setChoice] = useState<string>(''), [day, setDay] = useState(''), { busy, error, run } = useWork();
  const wrong = atControls(error, {
    name: ['invalid_api_key_name'], indexes: ['invalid_api_key_indexes', 'index_scoped_api_key_with_global_action'], expiry: ['invalid_api_key_expires_at'], actions: ['invalid_api_key_actions'],
  });
  const preset = presetOf(actions), global = [...actions].filter(isGlobal);
  const set = (action: string, isOn: boolean) => {
    const now = new Set(actions);
    now.delete('*');
    if (isOn) now.add(action); else now.delete(action);
    setActions(now);
  };
  const create = () => run(async () => {
    onMade(await post<Key>('/keys', { name: name || null, actions: [...actions], indexes: indexes.length ? indexes : ['*'], expiresAt: expiryOf(choice, day) }));
    bump();
  });
  const off = actions.size === 0 ? 'Choose a permission first.' : choice === 'day' && !day ? 'Choose the day first.' : null;
  return (
    <Dialog title="Create a key" size="l" onClose={onClose} actions={<><Button onClick={onClose}>Cancel</Button><Button kind="primary" busy={busy} off={off} onClick={create}>Create</Button></>}>
      <div class="keys-presets" role="radiogroup" aria-label="What it is for">{PRESETS.map(one => (
        <label key={one.id} class="keys-preset"><input type="radio" name="preset" checked={preset === one.id} onChange={() => { setActions(new Set(one.actions)); if (!name || PRESETS.some(other => other.name === name)) setName(one.name); }} />
          <strong>{one.title}</strong><small>{one.about}</small></label>
      ))}</div>
      <TextField label="Name" value={name} onInput={setName} error={wrong.name} placeholder="Which program it is for" />
      <Chips label="Indexes" values={indexes} onChange={setIndexes} free options={known.value.list.map(one => ({ value: one.uid }))} placeholder="all" error={wrong.indexes}
        hint={indexes.length > 0 && global.length > 0 ? `${global.join(', ')} ${global.length === 1 ? 'applies' : 'apply'} to the whole server: leave this empty, or remove ${global.length === 1 ? 'it' : 'them'}.` : 'Empty means all. films* matches every index that begins with films.'} />
      <div class="row"><Select label="It expires" value={choice as ''} options={EXPIRIES} onChange={setChoice} error={choice === 'day' ? null : wrong.expiry} />
        {choice === 'day' && <TextField label="Day" type="date" value={day} onInput={setDay} min={new Date().toISOString().slice(0, 10)} error={wrong.expiry} />}</div>
      <details open={preset === ''}>
        <summary>Permissions{actions.has('*') ? ': all' : `: ${actions.size}`}</summary>
        <div class="keys-groups">{GROUPS.map(group => (
          <fieldset key={group.title}><legend>{group.title}</legend>{group.actions.map(([action, about]) => <Checkbox key={action} label={<span title={action}>{about}</span>} checked={actions.has('*') || actions.has(action)} onChange={now => set(action, now)} />)}</fieldset>
        ))}</div>
      </details>
      {wrong.actions && <p class="wrong" role="alert">{wrong.actions}</p>}
      <Failure error={wrong.rest} />
    </Dialog>
  );
}

function Once({ of, onClose }: { of: Key; onClose: () => void }) {
  const [element, setElement] = useState<Element | null>(null), path = of.actions.includes('search') || of.actions.includes('*') ? `/indexes/${of.indexes.find(one => !one.includes('*')) ?? known.value.list[0]?.uid ?? 'films'}/search` : '/health';
  return (
    <Dialog title={`${of.name ?? 'The key'} is created`} onClose={onClose} actions={<Button kind="primary" onClick={onClose}>Done</Button>}>
      <p>Copy it now: it is shown only once.</p>
      <div class="keys-once"><code ref={setElement} data-key>{of.key}</code><CopyButton text={of.key} from={() => element} /></div>
      <CodeBlock label="Try it" code={`curl '${location.origin}${path}' -H 'Authorization: Bearer ${of.key}'`} />
    </Dialog>
  );
}
