// A control for each setting. What has none of its own is JSON, with the line that is wrong; what has one can be JSON as well.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Json, JsonObject, Settings } from '../../api/types';
import { isObject, parseJson } from '../../lib/json';
import { compact } from '../../lib/text';
import { go } from '../../state/address';
import { about } from '../../state/indexes';
import { Button, Chips, Combobox, DragList, IconButton, JsonEditor, Menu, Segments, Slider, Switch, TextField, type Choice } from '../../ui';
import { BoostDialog } from './Boost';
import { Embedders } from './Embedders';
import { isBoost, sayBoost } from './patch';

export interface ControlProps { index: string; name: string; value: Json | undefined; settings: Settings; error?: string | null; onChange: (value: Json) => void }

export const texts = (value: unknown): string[] => Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
const objectOf = (value: unknown): JsonObject => isObject(value) ? value : {};
const numberOf = (value: unknown, usual: number) => typeof value === 'number' ? value : usual;
const MOST_OPTIONS = 20_000;

/** The fields that documents have, with how many have each. */
export function fieldOptions(more: readonly string[] = []): Choice[] {
  const counts = about.value.stats?.fieldDistribution ?? {};
  const known = about.value.fields.slice(0, MOST_OPTIONS).map(value => ({ value, about: Object.hasOwn(counts, value) ? `in ${compact(counts[value] ?? 0)}` : undefined }));
  return [...known, ...more.filter(value => !about.value.fields.includes(value)).map(value => ({ value, about: undefined }))];
}

type Control = (props: ControlProps & { label: string }) => ComponentChildren;

const fields: Control = ({ label, value, onChange, error }) => <Chips label={label} hideLabel values={texts(value)} options={fieldOptions(['_geo'])} free placeholder="Add a field" error={error} onChange={onChange} />;
const words = (placeholder: string): Control => ({ label, value, onChange, error }) => <Chips label={label} hideLabel values={texts(value)} options={[]} free placeholder={placeholder} error={error} onChange={onChange} />;
const oneField: Control = ({ label, value, onChange, error }) => (
  <div class="row"><div class="grow"><Combobox label={label} hideLabel value={typeof value === 'string' ? value : ''} options={fieldOptions()} free placeholder="No field" error={error} onChange={now => onChange(now || null)} /></div>
    {typeof value === 'string' && <IconButton icon="close" label="No field" onClick={() => onChange(null)} />}</div>
);
/** A number; none is the default. */
export function Figure({ label, hideLabel, value, onChange, error, min = 0, max, hint, usual }: { label: string; hideLabel?: boolean; value: unknown; onChange: (value: number | null) => void; error?: string | null; min?: number; max?: number; hint?: string; usual?: string }) {
  return <TextField label={label} hideLabel={hideLabel} type="number" min={min} max={max} step="any" placeholder={usual} hint={hint} error={error} value={typeof value === 'number' ? String(value) : ''} onInput={text => onChange(text.trim() === '' || !Number.isFinite(Number(text)) ? null : Number(text))} />;
}
const choice = (options: readonly { id: string; title: string }[], usual: string, hints: Record<string, string> = {}): Control => ({ label, value, onChange, error }) => {
  const now = typeof value === 'string' ? value : usual;
  return <div class="stack tight"><div><Segments label={label} value={now} options={options} onChange={onChange} /></div>{hints[now] && <p class="hint">{hints[now]}</p>}{error && <Wrong text={error} />}</div>;
};
const Wrong = ({ text }: { text: string }) => <p class="wrong" role="alert">{text}</p>;

const searchable: Control = ({ label, value, onChange, error }) => {
  const names = texts(value), isAll = names.length === 1 && names[0] === '*';
  return (
    <div class="stack tight">
      <Switch label="All fields, with equal rank" checked={isAll} onChange={on => onChange(on ? ['*'] : about.value.fields.slice(0, 20))} hint={isAll ? 'Choose fields and their order to rank matches in titles above others.' : undefined} />
      {!isAll && <DragList label={label} items={names} keyOf={one => one} nameOf={one => one} onChange={onChange} render={one => <><span dir="auto" class="grow">{one}</span><IconButton size="s" icon="close" label={'Remove ' + one} onClick={() => onChange(names.filter(other => other !== one))} /></>} />}
      {!isAll && <Add label="Add a field" options={fieldOptions().filter(one => !names.includes(one.value))} onAdd={one => onChange([...names.filter(other => other !== '*'), one])} />}
      {error && <Wrong text={error} />}
    </div>
  );
};

export function Add({ label, options, onAdd }: { label: string; options: readonly Choice[]; onAdd: (value: string) => void }) {
  return <Combobox key={options.length} label={label} hideLabel placeholder={label} value="" options={options} free onChange={one => { if (one.trim()) onAdd(one.trim()); }} />;
}

const RULES: Record<string, string> = {
  words: 'more query words first', typo: 'fewer typos first', proximity: 'words closer together first', attributeRank: 'matches in earlier fields first', sort: 'the order that a search requests', wordPosition: 'matches nearer to the start first',
  exactness: 'exact matches first', attribute: 'earlier fields, then earlier positions first',
};
function sayRule(rule: Json): string {
  if (typeof rule !== 'string') return sayBoost(rule);
  const found = /^(.+):(asc|desc)$/.exec(rule);
  return found ? `${found[2] === 'asc' ? 'smaller' : 'larger'} ${found[1]} first` : RULES[rule] ?? '';
}
const ruleName = (rule: Json) => isBoost(rule) ? 'boost' : String(rule);

function Ranking({ label, value, onChange, error }: ControlProps & { label: string }) {
  const rules = Array.isArray(value) ? value : [], [boost, setBoost] = useState<{ at: number | null; rule: JsonObject | null } | null>(null), [isField, setField] = useState(false);
  const missing = Object.keys(RULES).filter(name => name !== 'attribute' && !rules.includes(name));
  const keyed = rules.map((rule, place) => ({ rule, key: typeof rule === 'string' ? rule : JSON.stringify(rule) + rules.slice(0, place).filter(other => JSON.stringify(other) === JSON.stringify(rule)).length }));
  return (
    <div class="stack tight">
      <DragList label={label} items={keyed} keyOf={one => one.key} nameOf={one => ruleName(one.rule)} onChange={all => onChange(all.map(one => one.rule))} render={(one, place) => (
        <>
          <span class="grow"><strong dir="auto">{ruleName(one.rule)}</strong> <span class="muted" dir="auto">{sayRule(one.rule)}</span></span>
          {isBoost(one.rule) && <IconButton size="s" icon="edit" label={'Change ' + sayBoost(one.rule)} onClick={() => setBoost({ at: place, rule: one.rule as JsonObject })} />}
          <IconButton size="s" icon="close" label={'Remove ' + ruleName(one.rule)} onClick={() => onChange(rules.filter((_, other) => other !== place))} />
        </>
      )} />
      {isField && <div class="row"><div class="grow"><Add label="Field and order" options={fieldOptions().flatMap(one => ['desc', 'asc'].map(way => ({ value: `${one.value}:${way}`, about: way === 'desc' ? 'larger first' : 'smaller first' })))} onAdd={one => { setField(false); onChange([...rules, one]); }} /></div><Button onClick={() => setField(false)}>Cancel</Button></div>}
      <div class="row">
        <Menu label="Add a rule" text="Add" icon="plus" items={[...missing.map(name => ({ title: name, onPick: () => onChange([...rules, name]) })), { title: 'Sort by a field', icon: 'table' as const, onPick: () => setField(true) }, { title: 'A boost', icon: 'star' as const, onPick: () => setBoost({ at: null, rule: null }) }]} />
      </div>
      {error && <Wrong text={error} />}
      {boost && <BoostDialog rule={boost.rule} onClose={() => setBoost(null)} onDone={made => onChange(boost.at === null ? [...rules, made] : rules.map((rule, place) => place === boost.at ? made : rule))} />}
    </div>
  );
}

function Weights({ value, settings, onChange, error }: ControlProps) {
  const weights = objectOf(value), order = texts(settings.searchableAttributes).filter(name => name !== '*');
  const names = [...new Set([...order, ...Object.keys(weights)])], usual = (name: string) => { const place = order.indexOf(name); return place < 0 ? 1 : 1 + 1 / (1 + place); };
  const set = (name: string, weight: number | null) => { const { [name]: _, ...rest } = weights; const all = weight === null ? rest : { ...rest, [name]: weight }; onChange(Object.keys(all).length ? all : null); };
  return (
    <div class="stack tight">
      {names.slice(0, 40).map(name => (
        <div class="row weight" key={name}>
          <div class="grow"><Slider label={name} min={0} max={5} step={0.1} value={numberOf(weights[name], usual(name))} show={now => (Object.hasOwn(weights, name) ? '' : 'default: ') + '× ' + Number(now.toFixed(2))} onInput={now => set(name, Math.max(0.001, now))} /></div>
          <IconButton size="s" icon="undo" label={`Reset the weight of ${name}`} off={!Object.hasOwn(weights, name) && 'It has the default weight.'} onClick={() => set(name, null)} />
        </div>
      ))}
      <Add label="Add a field" options={fieldOptions().filter(one => !names.includes(one.value))} onAdd={name => set(name, 1)} />
      <p class="hint">Weights apply to searches with the matching strategy “any”.</p>
      {error && <Wrong text={error} />}
    </div>
  );
}

const part = (props: ControlProps) => {
  const all = objectOf(props.value);
  return { all, set: (name: string, value: Json) => props.onChange({ ...all, [name]: value }) };
};

const typos: Control = props => {
  const { all, set } = part(props), sizes = objectOf(all['minWordSizeForTypos']);
  return (
    <div class="stack">
      <Switch label="Tolerate typos" checked={all['enabled'] !== false} onChange={on => set('enabled', on)} />
      {all['enabled'] !== false && <>
        <div class="row"><Figure label="Letters for one typo" max={255} value={numberOf(sizes['oneTypo'], 5)} onChange={now => set('minWordSizeForTypos', { ...sizes, oneTypo: now })} />
          <Figure label="Letters for two typos" max={255} value={numberOf(sizes['twoTypos'], 9)} onChange={now => set('minWordSizeForTypos', { ...sizes, twoTypos: now })} /></div>
        <Chips label="Not in these fields" values={texts(all['disableOnAttributes'])} options={fieldOptions()} free placeholder="Add a field" onChange={now => set('disableOnAttributes', now)} />
        <Chips label="Not in these words" values={texts(all['disableOnWords'])} options={[]} free placeholder="Add a word" onChange={now => set('disableOnWords', now)} />
        <Switch label="Not in numbers" checked={all['disableOnNumbers'] === true} onChange={on => set('disableOnNumbers', on)} />
      </>}
      {props.error && <Wrong text={props.error} />}
    </div>
  );
};

const faceting: Control = props => {
  const { all, set } = part(props), orders = objectOf(all['sortFacetValuesBy']);
  return (
    <div class="stack">
      <Figure label="Maximum number of values" value={numberOf(all['maxValuesPerFacet'], 100)} onChange={now => set('maxValuesPerFacet', now)} error={props.error} />
      <Switch label="Most frequent values first" hint="Otherwise in alphabetical order." checked={orders['*'] === 'count'} onChange={on => set('sortFacetValuesBy', { ...orders, '*': on ? 'count' : 'alpha' })} />
      <Chips label={orders['*'] === 'count' ? 'Alphabetical order for' : 'Most frequent first for'} options={fieldOptions()} free placeholder="Add a field"
        values={Object.keys(orders).filter(name => name !== '*' && orders[name] !== (orders['*'] ?? 'alpha'))}
        onChange={names => set('sortFacetValuesBy', { '*': orders['*'] ?? 'alpha', ...Object.fromEntries(names.map(name => [name, orders['*'] === 'count' ? 'alpha' : 'count'])) })} />
    </div>
  );
};

function Filterable({ label, value, onChange, error }: ControlProps & { label: string }) {
  const all = Array.isArray(value) ? value : [], plain = texts(all), others = all.filter(isObject);
  return (
    <div class="stack tight">
      <Chips label={label} hideLabel values={plain} options={fieldOptions(['_geo', '_geojson'])} free placeholder="Add a field" error={error} onChange={now => onChange([...now, ...others])} />
      {others.map((one, place) => {
        const features = objectOf(one['features']), filter = objectOf(features['filter']);
        const put = (change: JsonObject | null) => onChange([...plain, ...others.flatMap((other, at) => at !== place ? [other] : change ? [change] : [])]);
        const feature = (change: JsonObject) => put({ ...one, features: { ...features, ...change } });
        return (
          <div class="pattern" key={place}>
            <div class="row"><div class="grow"><Chips label="Patterns of names" hideLabel values={texts(one['attributePatterns'])} options={fieldOptions()} free placeholder="For example *_id" onChange={now => put({ ...one, attributePatterns: now })} /></div><IconButton icon="trash" label="Remove this pattern" onClick={() => put(null)} /></div>
            <div class="row">
              <Switch label="Equality" checked={filter['equality'] !== false} onChange={on => feature({ filter: { ...filter, equality: on } })} />
              <Switch label="Comparison" checked={filter['comparison'] === true} onChange={on => feature({ filter: { ...filter, comparison: on } })} />
              <Switch label="Facet search" checked={features['facetSearch'] === true} onChange={on => feature({ facetSearch: on })} />
            </div>
          </div>
        );
      })}
      <div><Button size="s" icon="plus" onClick={() => onChange([...all, { attributePatterns: ['*_id'], features: { facetSearch: false, filter: { equality: true, comparison: false } } }])}>Add a pattern</Button></div>
    </div>
  );
}

const bm25: Control = props => {
  const { all, set } = part(props);
  return (
    <div class="stack tight">
      <Slider label="Weight of repeated words (k1)" min={0} max={3} step={0.05} value={Math.min(3, numberOf(all['k1'], 1.2))} show={now => now.toFixed(2)} low="count once" high="count each" onInput={now => set('k1', now)} />
      <Slider label="Length normalization (b)" min={0} max={1} step={0.05} value={numberOf(all['b'], 0.75)} show={now => now.toFixed(2)} low="none" high="full" onInput={now => set('b', now)} />
      <p class="hint">Applies to searches with the matching strategy “any”.</p>
      {props.error && <Wrong text={props.error} />}
    </div>
  );
};

const completions: Control = props => {
  const { all, set } = part(props);
  return (
    <div class="stack">
      <Switch label="Suggest queries that others have sent" checked={all['fromQueries'] === true} onChange={on => set('fromQueries', on)} />
      {all['fromQueries'] === true && <Figure label="Sent at least so many times" min={1} value={numberOf(all['minCount'], 3)} onChange={now => set('minCount', now)} />}
      {props.error && <Wrong text={props.error} />}
    </div>
  );
};

const size = (value: unknown) => Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0;
const elsewhere = (tab: string, say: (value: Json | undefined) => string): Control => ({ value, error }) => (
  <div class="stack tight"><div class="row spread"><span>{say(value)}</span><Button icon="synonyms" onClick={() => go({ view: 'synonyms', params: { tab } })}>Open Synonyms</Button></div>{error && <Wrong text={error} />}</div>
);

export const STRATEGIES = [{ id: 'last', title: 'Last optional' }, { id: 'frequency', title: 'Frequent optional' }, { id: 'all', title: 'All words' }, { id: 'any', title: 'Any word' }] as const;
export const STRATEGY_HINTS = { last: 'Words at the end of the query may be missing.', frequency: 'The most frequent words may be missing.', all: 'Every word must match.', any: 'One word is enough; BM25 ranks by all of them. For questions.' };

const CONTROLS: Record<string, Control> = {
  searchableAttributes: searchable, searchableAttributesWeights: props => <Weights {...props} />, matchingStrategy: choice(STRATEGIES, 'last', STRATEGY_HINTS),
  prefixSearch: choice([{ id: 'indexingTime', title: 'On' }, { id: 'disabled', title: 'Off' }], 'indexingTime', { indexingTime: '“ali” finds “alien”.', disabled: 'The last word must be complete.' }),
  proximityPrecision: choice([{ id: 'byWord', title: 'By word' }, { id: 'byAttribute', title: 'By field' }], 'byWord', { byWord: 'Counts the words in between.', byAttribute: 'Checks only whether the words are in the same field.' }),
  typoTolerance: typos, rankingRules: props => <Ranking {...props} />, distinctAttribute: oneField, expiryAttribute: oneField, bm25, filterableAttributes: props => <Filterable {...props} />, sortableAttributes: fields, faceting,
  facetSearch: ({ value, onChange, error }) => <><Switch label="Allow searches in facet values" checked={value !== false} onChange={onChange} />{error && <Wrong text={error} />}</>,
  synonyms: elsewhere('synonyms', value => `${size(value)} words with synonyms`), stopWords: elsewhere('stop', value => `${size(value)} stop words`), wordForms: elsewhere('forms', value => isObject(value) ? (value['enabled'] === true ? 'On' : value['enabled'] === false ? 'Off' : 'With the strategy “any” only') : 'With the strategy “any” only'),
  dictionary: words('For example J. R. R.'), separatorTokens: words('For example &hellip;'), nonSeparatorTokens: words('For example #'), displayedAttributes: fields,
  pagination: props => { const { all, set } = part(props); return <Figure label="Maximum number of hits" hideLabel min={1} value={numberOf(all['maxTotalHits'], 1000)} onChange={now => set('maxTotalHits', now)} error={props.error} />; },
  searchCutoffMs: ({ value, onChange, error }) => <Figure label="Milliseconds" hideLabel value={value} usual="1500" hint="In milliseconds. After that, a search returns the best hits found so far." onChange={onChange} error={error} />,
  completions, embedders: props => <Embedders {...props} />,
};
/** Those for which JSON says more than the control. */
const WITH_JSON = new Set(['filterableAttributes', 'rankingRules', 'embedders', 'typoTolerance', 'faceting']);
const EXAMPLES: Record<string, string> = { localizedAttributes: '[{"attributePatterns": ["*_ja"], "locales": ["jpn"]}]', foreignKeys: '[{"foreignIndexUid": "authors", "fieldName": "author"}]', rerankers: '{"cross": {"source": "huggingFace", "model": "…"}}' };

export const hasJson = (name: string) => WITH_JSON.has(name) && Object.hasOwn(CONTROLS, name);
export function SettingControl({ asJson, label, ...props }: ControlProps & { label: string; asJson?: boolean }) {
  const control = Object.hasOwn(CONTROLS, props.name) ? CONTROLS[props.name] : undefined;
  return !control || asJson ? <AsJson {...props} label={label} /> : <>{control({ ...props, label })}</>;
}

function AsJson({ label, name, value, onChange, error }: ControlProps & { label: string }) {
  const now = value === undefined ? 'null' : JSON.stringify(value, null, 2), [text, setText] = useState<{ text: string; for: string } | null>(null);
  const shown = text?.for === now ? text.text : now;
  const example = Object.hasOwn(EXAMPLES, name) ? <>For example <code>{EXAMPLES[name]}</code></> : undefined;
  return <JsonEditor label={label} hideLabel text={shown} rows={Math.min(14, Math.max(3, shown.split('\n').length + 1))} error={error} hint={example} onInput={written => {
    const parsed = parseJson(written);
    if (parsed.fault) setText({ text: written, for: now });
    else { setText({ text: written, for: JSON.stringify(parsed.value, null, 2) }); onChange(parsed.value as Json); }
  }} />;
}
