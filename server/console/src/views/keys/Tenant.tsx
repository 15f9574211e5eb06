// A tenant token: it searches only what its rules admit. It is signed here, and tried here.
import { useState } from 'preact/hooks';
import { Refused, route } from '../../api/client';
import type { Key, SearchAnswer } from '../../api/types';
import { plural } from '../../lib/text';
import { canSign, tenantToken, type SearchRules } from '../../lib/tenant';
import { known } from '../../state/indexes';
import { Button, Combobox, CopyButton, Dialog, Failure, IconButton, Select, TextField } from '../../ui';
import { EXPIRIES, expiryOf } from './actions';

interface Rule { index: string; filter: string }
const rulesOf = (rules: readonly Rule[]): SearchRules => Object.fromEntries(rules.filter(one => one.index).map(one => [one.index, one.filter.trim() ? { filter: one.filter.trim() } : null]));

export function Tenant({ of, onClose }: { of: Key; onClose: () => void }) {
  const first = known.value.list.find(one => of.indexes.includes('*') || of.indexes.includes(one.uid))?.uid ?? of.indexes[0] ?? '*';
  const [rules, setRules] = useState<Rule[]>([{ index: first, filter: '' }]), [choice, setChoice] = useState<string>('30'), [day, setDay] = useState('');
  const [token, setToken] = useState(''), [element, setElement] = useState<Element | null>(null), [tried, setTried] = useState(''), [error, setError] = useState<unknown>(null);
  const change = (place: number, by: Partial<Rule>) => { setToken(''); setTried(''); setRules(rules.map((one, other) => other === place ? { ...one, ...by } : one)); };
  const expires = expiryOf(choice, day), names = known.value.list.map(one => ({ value: one.uid }));
  const sign = async () => {
    setError(null);
    setTried('');
    try { setToken(await tenantToken(of.key, of.uid, rulesOf(rules), expires ? new Date(expires) : null)); } catch (failure) { setError(failure); }
  };
  const attempt = async () => {
    const pattern = rules[0]?.index ?? '', index = known.value.list.find(one => pattern === one.uid || pattern === '*' || pattern.endsWith('*') && one.uid.startsWith(pattern.slice(0, -1)))?.uid;
    setError(null);
    if (!index) return setTried(`No index matches ${pattern}.`);
    try {
      const answer = await fetch(route('indexes', index, 'search'), { method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + token }, body: '{"q":""}' });
      if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
      const { estimatedTotalHits = 0 } = await answer.json() as SearchAnswer;
      setTried(`It finds ${plural(estimatedTotalHits, 'document')} in ${index}.`);
    } catch (failure) {
      setError(failure);
    }
  };
  const off = !canSign() ? 'Browsers sign tokens only over HTTPS or on this machine.' : rules.every(one => !one.index) ? 'Enter an index first.' : choice === 'day' && !day ? 'Choose the day first.' : null;
  return (
    <Dialog title="A tenant token" size="l" onClose={onClose} actions={<><Button onClick={onClose}>Close</Button><Button kind="primary" icon="keys" off={off} onClick={sign}>Sign</Button></>}>
      <p class="muted">Searches like {of.name ?? 'this key'}, with a filter that users cannot remove. In production, your backend signs a token for each user.</p>
      {rules.map((one, place) => (
        <div key={place} class="keys-rule">
          <Combobox label="Index" free value={one.index} options={names} onChange={index => change(place, { index })} />
          <TextField label="Filter" mono value={one.filter} onInput={filter => change(place, { filter })} placeholder="all documents, or: company = acme" />
          <IconButton icon="trash" label="Remove this rule" off={rules.length === 1 && 'A token needs a rule.'} onClick={() => { setToken(''); setRules(rules.filter((_, other) => other !== place)); }} />
        </div>
      ))}
      <div class="row"><Button size="s" icon="plus" onClick={() => setRules([...rules, { index: '', filter: '' }])}>Another index</Button></div>
      <div class="row"><Select label="It expires" value={choice as ''} options={EXPIRIES} onChange={now => { setChoice(now); setToken(''); }} />{choice === 'day' && <TextField label="Day" type="date" value={day} onInput={now => { setDay(now); setToken(''); }} />}</div>
      {off && !canSign() && <p class="muted">{off}</p>}
      {token && <>
        <div class="keys-once"><code ref={setElement} data-token>{token}</code><CopyButton text={token} from={() => element} /></div>
        <div class="row"><Button icon="search" onClick={attempt}>Try it</Button><span role="status">{tried}</span></div>
      </>}
      <Failure error={error} />
    </Dialog>
  );
}
