// A rule: when it acts, what it pins where, and the hits as they will be.
import { useState } from 'preact/hooks';
import { orUsual, post, route } from '../../api/client';
import { useResource, useWork } from '../../api/resource';
import { writeAndWait } from '../../api/tasks';
import type { Hit, ListOf, SearchAnswer } from '../../api/types';
import { titleOf } from '../../lib/documents';
import { about } from '../../state/indexes';
import { recentOf } from '../../state/recent';
import { search } from '../../state/trials';
import { Badge, Button, Combobox, Dialog, DragList, Empty, Failure, Icon, IconButton, Loaded, Segments, Switch, TextField } from '../../ui';
import { fieldOptions, Figure, texts } from '../settings/controls';
import { ruleRoute } from '.';
import { bodyOf, filterOf, LAST, nameFault, nameFor, pinned, say, type Draft, type Pin, type When } from './rule';

const SHOWN = 12, OFFERED = 10;
const WHENS: readonly { id: When; title: string }[] = [{ id: 'words', title: 'These words' }, { id: 'query', title: 'Any query' }, { id: 'empty', title: 'Empty query' }, { id: 'always', title: 'Every search' }];

export function Editor({ first, isNew, index, taken, onClose }: { first: Draft; isNew: boolean; index: string; taken: readonly string[]; onClose: () => void }) {
  const [start] = useState(() => JSON.stringify(first)), [draft, setDraft] = useState(first), [name, setName] = useState<string | null>(null), { busy, error, run } = useWork(), set = (change: Partial<Draft>) => setDraft({ ...draft, ...change });
  const uid = isNew ? name ?? nameFor(draft.words || draft.description, taken) : first.uid, key = about.value.primaryKey, order = texts(about.value.settings.searchableAttributes);
  const idOf = (hit: Hit) => key ? String(hit[key]) : '', nameOf = (hit: Hit) => titleOf(hit, key, order).slice(0, 120);
  const mine = draft.pins.filter(pin => pin.index === null || pin.index === index), ids = mine.map(pin => pin.id);
  const documents = useResource(signal => ids.length ? post<ListOf<Hit>>(route('indexes', index, 'documents', 'fetch'), { ids, limit: ids.length }, { signal }) : Promise.resolve({ results: [] }), [index, ids.join('\n')], { keep: true, live: false });
  const hitOf = (id: string): Hit | undefined => documents.data?.results.find(hit => idOf(hit) === id), sayPin = (pin: Pin) => { const hit = hitOf(pin.id); return hit ? nameOf(hit) : pin.id; };
  const fault = isNew ? nameFault(uid) ?? (name !== null && taken.includes(uid) ? 'A rule with this name exists already.' : null) : null;
  const off = draft.when === 'words' && !draft.words.trim() ? 'Enter the words first.' : !draft.pins.length ? 'Choose a document first.' : fault;
  const { when, then } = say(draft, sayPin);
  const save = () => run(async () => {
    const undo = () => (isNew ? writeAndWait('DELETE', ruleRoute(uid), { title: `Delete the rule ${uid}` }) : writeAndWait('PATCH', ruleRoute(uid), { title: `The rule ${uid} as before` }, { body: bodyOf(first) })).catch(() => { /* A message says so. */ });
    await writeAndWait('PATCH', ruleRoute(uid), { title: `Save the rule ${uid}`, done: `${when} → ${then}`, undo }, { body: bodyOf(draft) });
    onClose();
  });
  const pin = (id: string, position: number) => set({ pins: [...draft.pins.filter(one => one.id !== id), { id, index, position }].sort((one, other) => one.position - other.position) });
  return (
    <Dialog title={isNew ? 'Create a rule' : 'Change the rule'} size="l" class="rule-dialog" unsaved={JSON.stringify(draft) !== start} onClose={onClose} actions={<>
      <span class="sentence grow"><span dir="auto">{when}</span><span class="arrow" aria-label="then">→</span><strong dir="auto">{then}</strong></span>
      <Button onClick={onClose}>Cancel</Button><Button kind="primary" busy={busy} off={off} onClick={save}>{isNew ? 'Create' : 'Save'}</Button></>}>
      <Failure error={error} />
      <div class="rule-parts">
        <div class="stack">
          <div class="stack tight">
            <Segments label="When" value={draft.when} options={WHENS} onChange={now => set({ when: now })} />
            {draft.when === 'words' && <Combobox label="Words" hideLabel free value={draft.words} options={recentOf(index).map(value => ({ value }))} placeholder="space ship" onInput={words => set({ words })} onChange={words => set({ words })} hint="Matches queries that contain all of these words, in any order." />}
          </div>
          <Within index={index} values={draft.values} onChange={values => set({ values })} />
          <div class="pair-of"><TextField label="From" type="datetime-local" value={draft.start} onInput={start => set({ start })} /><TextField label="Until" type="datetime-local" value={draft.end} onInput={end => set({ end })} error={draft.start && draft.end && draft.end < draft.start ? 'The end is before the start.' : null} /></div>
          <details class="more"><summary>More</summary>
            <div class="stack">
              {isNew && <TextField label="Name" mono value={uid} onInput={setName} error={fault} />}
              <TextField label="Description" value={draft.description} onInput={description => set({ description })} />
              <Figure label="Precedence" value={draft.precedence} usual="last" hint="If rules pin to the same position, the lowest number wins." onChange={precedence => set({ precedence })} />
              <Switch label="Active" checked={draft.active} onChange={active => set({ active })} />
            </div>
          </details>
        </div>
        <Preview index={index} draft={draft} mine={mine} idOf={idOf} titleOf={nameOf} hitOf={hitOf} onPin={pin} onOrder={pins => set({ pins: [...draft.pins.filter(one => !mine.includes(one) || one.position >= LAST), ...pins] })} onUnpin={id => set({ pins: draft.pins.filter(one => one.id !== id) })} />
      </div>
    </Dialog>
  );
}

function Within({ index, values, onChange }: { index: string; values: [string, string][]; onChange: (values: [string, string][]) => void }) {
  const [asked, setAsked] = useState<{ name: string; text: string } | null>(null), filterable = (about.value.settings.filterableAttributes ?? []).filter((one): one is string => typeof one === 'string');
  const offered = useResource(signal => asked?.name ? orUsual(post<{ facetHits: { value: string; count: number }[] }>(route('indexes', index, 'facet-search'), { facetName: asked.name, facetQuery: asked.text }, { signal }), { facetHits: [] }) : Promise.resolve({ facetHits: [] }), [index, asked?.name, asked?.text], { keep: true, live: false });
  const put = (place: number, one: [string, string] | null) => onChange(values.flatMap((other, at) => at !== place ? [other] : one ? [one] : []));
  return (
    <div class="stack tight">
      {values.map(([name, value], place) => (
        <div class="row within" key={place}>
          <div class="grow"><Combobox label="Field" hideLabel value={name} placeholder="field" options={fieldOptions().filter(one => filterable.length === 0 || filterable.includes(one.value))} free onChange={now => { put(place, [now, value]); setAsked({ name: now, text: '' }); }} /></div>
          <div class="grow"><Combobox label={`Value of ${name}`} hideLabel value={value} placeholder="value" options={(offered.data?.facetHits ?? []).map(one => ({ value: one.value, about: String(one.count) }))} free onInput={text => { setAsked({ name, text }); put(place, [name, text]); }} onChange={now => put(place, [name, now])} /></div>
          <IconButton icon="close" label={`Remove the condition on ${name || 'a field'}`} onClick={() => put(place, null)} />
        </div>
      ))}
      <div><Button size="s" icon="filter" onClick={() => onChange([...values, ['', '']])}>Add a filter condition</Button></div>
    </div>
  );
}

interface PreviewProps { index: string; draft: Draft; mine: Pin[]; idOf: (hit: Hit) => string; titleOf: (hit: Hit) => string; hitOf: (id: string) => Hit | undefined; onPin: (id: string, position: number) => void; onOrder: (pins: Pin[]) => void; onUnpin: (id: string) => void }
function Preview({ index, draft, mine, idOf, titleOf, hitOf, onPin, onOrder, onUnpin }: PreviewProps) {
  const [text, setText] = useState(''), top = mine.filter(pin => pin.position < LAST), last = mine.filter(pin => pin.position >= LAST), q = draft.when === 'words' ? draft.words.trim() : '', filter = filterOf(draft), key = about.value.primaryKey;
  const found = useResource(signal => search<SearchAnswer>(index, { q, filter, limit: SHOWN + mine.length, explain: true }, signal), [index, q, JSON.stringify(filter), mine.length], { keep: true });
  const offered = useResource(signal => text.trim() ? search<SearchAnswer>(index, { q: text, limit: OFFERED }, signal) : Promise.resolve({ hits: [] as Hit[] }), [index, text], { keep: true, live: false });
  const pinnedBy = (hit: Hit) => { const of = hit['_explanation']; return typeof of === 'object' && of !== null && !Array.isArray(of) ? of['pinnedBy'] : undefined; };
  return (
    <section class="rule-preview" aria-label="Preview">
      <div class="row spread"><h3>Preview</h3>{q && <span class="muted" dir="auto">for “{q}”</span>}</div>
      <Combobox key={mine.length} label="Pin a document" hideLabel placeholder="Pin another document by its title" value="" onInput={setText} options={(offered.data?.hits ?? []).map(hit => ({ value: idOf(hit), title: titleOf(hit), about: idOf(hit) }))} onChange={id => { if (id && id !== text) onPin(id, top.length); setText(''); }} />
      <Loaded of={found} lines={6}>{answer => {
        // What this rule pins now is not where it would be found.
        const ranked = answer.hits.filter(hit => (pinnedBy(hit) !== draft.uid || !draft.uid) && !last.some(pin => pin.id === idOf(hit))), ghost = (id: string): Hit => hitOf(id) ?? (key ? { [key]: id } : {}), all = pinned(ranked, idOf, top, ghost).slice(0, SHOWN + top.length);
        if (!all.length && !last.length) return <Empty title="No results">Pin a document to show it for this query.</Empty>;
        return (
          <DragList label="Hits" items={all} keyOf={one => idOf(one.hit)} nameOf={one => titleOf(one.hit)} onChange={(items, moved) => {
            const isMine = (id: string) => id === idOf(moved.hit) || top.some(pin => pin.id === id);
            onOrder(items.flatMap((one, position) => { const id = idOf(one.hit); return isMine(id) ? [{ id, index: mine.find(pin => pin.id === id)?.index ?? index, position }] : []; }));
          }} render={(one, place) => {
            const id = idOf(one.hit), other = one.isPinned ? undefined : pinnedBy(one.hit), isMissing = one.isPinned && !hitOf(id);
            return (
              <>
                <span class="rank">{place + 1}</span><span class="grow"><span dir="auto" class="hit-name">{titleOf(one.hit)}</span> <small>{id}</small>{isMissing && <small class="bad-text"> does not exist yet</small>}</span>
                {typeof other === 'string' && <Badge>by {other}</Badge>}
                {one.isPinned ? <><Badge tone="accent"><Icon name="pin" />pinned</Badge><IconButton size="s" icon="close" label={`Unpin ${titleOf(one.hit)}`} onClick={() => onUnpin(id)} /></> : id && <><IconButton size="s" icon="pin" label={`Pin ${titleOf(one.hit)} first`} onClick={() => onPin(id, 0)} /><IconButton size="s" icon="last" label={`Move ${titleOf(one.hit)} to the end`} onClick={() => onPin(id, LAST)} /></>}
              </>
            );
          }} />
        );
      }}</Loaded>
      {last.length > 0 && <ul class="rule-last" aria-label="At the end">{last.map(({ id }) => {
        const hit = hitOf(id), name = hit ? titleOf(hit) : id;
        return <li key={id}><span class="grow"><span dir="auto" class="hit-name">{name}</span> <small>{id}</small></span><Badge><Icon name="last" />last</Badge><IconButton size="s" icon="close" label={`Put ${name} back`} onClick={() => onUnpin(id)} /></li>;
      })}</ul>}
      <p class="hint">Drag a hit to its position, pin it to the top or move it to the end. Filters still apply to these documents.</p>
    </section>
  );
}
