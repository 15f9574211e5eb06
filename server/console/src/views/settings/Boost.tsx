// A boost: what moves a document up besides its words.
import { useState } from 'preact/hooks';
import type { Json, JsonObject } from '../../api/types';
import { isObject } from '../../lib/json';
import { Button, Combobox, Dialog, Segments, Slider, TextField } from '../../ui';
import { fieldOptions } from './controls';

type Kind = 'boost' | 'decay' | 'boostIf';
const KINDS: readonly { id: Kind; title: string }[] = [{ id: 'boost', title: 'By value' }, { id: 'decay', title: 'By closeness' }, { id: 'boostIf', title: 'By condition' }];
const HINTS: Record<Kind, string> = { boost: 'For sales, views or ratings: the larger the number, the higher the hit.', decay: 'For dates, distances or prices: the closer to a value, the higher the hit.', boostIf: 'Documents that meet the condition move up; with a weight below 1, down.' };
const asNumber = (text: string): Json => text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;

export function boostOf(kind: Kind, { field, origin, scale, filter, weight }: { field: string; origin: string; scale: string; filter: string; weight: number }): JsonObject {
  const place = /^\s*(-?[\d.]+)\s*,\s*(-?[\d.]+)\s*$/.exec(origin);
  if (kind === 'boost') return { boost: { field, weight } };
  if (kind === 'boostIf') return { boostIf: { filter, weight } };
  return { decay: { field, origin: place ? { lat: Number(place[1]), lng: Number(place[2]) } : asNumber(origin), scale: asNumber(scale), weight } };
}

export function BoostDialog({ rule, onClose, onDone }: { rule: JsonObject | null; onClose: () => void; onDone: (rule: JsonObject) => void }) {
  const first = rule ? Object.entries(rule)[0] : undefined, body: JsonObject = isObject(first?.[1]) ? first[1] : {}, isKnown = KINDS.some(one => one.id === first?.[0]);
  const [kind, setKind] = useState<Kind>(isKnown ? first?.[0] as Kind : 'boost'), [field, setField] = useState(String(body['field'] ?? '')), [chosen, setWeight] = useState(typeof body['weight'] === 'number' ? body['weight'] : null);
  // Times one, a condition changes nothing.
  const weight = chosen ?? (kind === 'boostIf' ? 2 : 1);
  const [origin, setOrigin] = useState(isObject(body['origin']) ? Object.values(body['origin']).join(', ') : String(body['origin'] ?? 'now')), [scale, setScale] = useState(String(body['scale'] ?? '365d'));
  const [filter, setFilter] = useState(typeof body['filter'] === 'string' ? body['filter'] : JSON.stringify(body['filter'] ?? '').replace(/^""$/, ''));
  const off = kind === 'boostIf' ? (!filter.trim() ? 'Enter a condition first.' : weight === 1 && 'With × 1 it changes nothing.') : !field ? 'Choose a field first.' : kind === 'decay' && (!origin.trim() || !scale.trim()) && 'Enter the origin and the distance first.';
  const done = () => {
    const made = boostOf(kind, { field, origin, scale, filter, weight }), kept = kind === first?.[0] ? body : {};
    // Fields that this form does not show stay as they are.
    onDone({ [kind]: { ...kept, ...(made[kind] as JsonObject) } });
    onClose();
  };
  return (
    <Dialog title={rule ? 'Change the boost' : 'Add a boost'} onClose={onClose} actions={<><Button onClick={onClose}>Cancel</Button><Button kind="primary" off={off} onClick={done}>{rule ? 'Change' : 'Add'}</Button></>}>
      <div><Segments label="Kind" value={kind} options={KINDS} onChange={setKind} /><p class="hint">{HINTS[kind]}</p></div>
      {kind === 'boostIf'
        ? <TextField label="Condition" mono placeholder="inStock = true" value={filter} onInput={setFilter} hint="A filter on filterable fields." />
        : <Combobox label="Field" value={field} options={fieldOptions(['_geo'])} free onChange={setField} hint="It must be filterable or sortable." />}
      {kind === 'decay' && <div class="row"><div class="grow"><TextField label="Origin" value={origin} onInput={setOrigin} hint="now, a date, a number, or latitude, longitude" /></div><div class="grow"><TextField label="Half the boost at" value={scale} onInput={setScale} hint="30d, 10km, or a number" /></div></div>}
      <Slider label="Weight" min={0.1} max={kind === 'boostIf' ? 10 : 5} step={0.1} value={weight} show={now => '× ' + Number(now.toFixed(2))} low="a little" high="a lot" onInput={setWeight} />
    </Dialog>
  );
}
