// What is tried on a side, in forms and sliders.
import { useState } from 'preact/hooks';
import type { Json, JsonObject, Settings } from '../../api/types';
import { isObject } from '../../lib/json';
import { Badge, Button, Chip, Chips, Combobox, IconButton, Segments, Select, Slider, TextField } from '../../ui';
import { BoostDialog } from '../settings/Boost';
import { SettingControl, STRATEGY_HINTS } from '../settings/controls';
import { meta, titleOfSetting } from '../settings/known';
import { isBoost, sayBoost } from '../settings/patch';
import { pairsOf } from '../synonyms';
import { rowsOf, withoutRow, withRow } from '../synonyms/words';
import type { Side } from './sides';

const OWN = ['matchingStrategy', 'searchableAttributesWeights', 'wordForms', 'synonyms', 'embedders', 'foreignKeys', 'chat', 'stopWords'];

export function SideForm({ index, side, settings, onChange, error }: { index: string; side: Side; settings: Settings; onChange: (side: Side) => void; error: { name?: string; text: string } | null }) {
  const [boost, setBoost] = useState<{ at: number | null } | null>(null), embedders = Object.keys(isObject(settings.embedders) ? settings.embedders : {});
  const put = (change: Partial<Side>) => {
    const all: Side = { ...side, ...change };
    for (const name of ['strategy', 'embedder', 'ratio', 'boosts'] as const) if (all[name] === undefined || all[name] === '') delete all[name];
    onChange(all);
  };
  const set = (name: string, value: Json | undefined) => { const { [name]: _, ...rest } = side.settings; put({ settings: value === undefined ? rest : { ...rest, [name]: value } }); };
  const has = (name: string) => name in side.settings, valueOf = (name: string) => (has(name) ? side.settings[name] : settings[name]) as Json | undefined;
  const boosts = side.boosts ?? (settings.rankingRules ?? []).filter(isBoost), forms = isObject(valueOf('wordForms')) ? valueOf('wordForms') as JsonObject : {};
  const others = Object.keys(side.settings).filter(name => !OWN.includes(name) || name === 'stopWords'), wrong = (name: string) => error?.name === name ? error.text : null;
  const offered = Object.keys({ ...meta.value, ...settings }).filter(name => !has(name) && (!OWN.includes(name) || name === 'stopWords')).map(name => ({ value: name, title: titleOfSetting(name), about: name }));
  return (
    <div class="side-form">
      <Select label="Matching strategy" value={side.strategy ?? ''} onChange={now => put({ strategy: now })} hint={side.strategy ? STRATEGY_HINTS[side.strategy as 'any'] : undefined} error={wrong('matchingStrategy')}
        options={[{ value: '', title: `Current: ${String(settings['matchingStrategy'] ?? 'last')}` }, { value: 'last', title: 'Last words optional' }, { value: 'frequency', title: 'Frequent words optional' }, { value: 'all', title: 'All words required' }, { value: 'any', title: 'Any word, ranked by BM25' }]} />
      {embedders.length > 0 && <Select label="Embedder" value={side.embedder ?? ''} options={[{ value: '', title: 'None: words alone' }, ...embedders.map(value => ({ value, title: value }))]} onChange={now => put({ embedder: now, ratio: now ? side.ratio ?? 0.5 : undefined })} />}
      {side.embedder && <Slider label="Semantic ratio" value={side.ratio ?? 0.5} step={0.05} show={now => `${Math.round(now * 100)} % meaning`} low="words" high="meaning" onInput={ratio => put({ ratio })} />}
      <Part title="Boosts" isChanged={side.boosts !== undefined} onReset={() => put({ boosts: undefined })}>
        <div class="row">
          {boosts.map((one, place) => <Chip key={place} label={sayBoost(one)} onRemove={() => put({ boosts: boosts.filter((_, at) => at !== place) })}><button type="button" class="plain" onClick={() => setBoost({ at: place })}>{sayBoost(one)}</button></Chip>)}
          <Button size="s" icon="plus" onClick={() => setBoost({ at: null })}>Add a boost</Button>
        </div>
      </Part>
      <Part title="Field weights" isChanged={has('searchableAttributesWeights')} onReset={() => set('searchableAttributesWeights', undefined)}>
        {(side.strategy ?? settings['matchingStrategy']) === 'any'
          ? <SettingControl index={index} name="searchableAttributesWeights" label="Field weights" value={valueOf('searchableAttributesWeights')} settings={{ ...settings, ...side.settings }} error={wrong('searchableAttributesWeights')} onChange={value => set('searchableAttributesWeights', value)} />
          : <p class="hint">Weights apply to the strategy “any” only. <button type="button" class="plain link" onClick={() => put({ strategy: 'any' })}>Use it</button></p>}
      </Part>
      <Part title="Word forms" isChanged={has('wordForms')} onReset={() => set('wordForms', undefined)}>
        <Segments label="Word forms" value={forms['enabled'] === true ? 'on' : forms['enabled'] === false ? 'off' : 'any'} options={[{ id: 'any', title: 'Strategy “any”' }, { id: 'on', title: 'Always' }, { id: 'off', title: 'Never' }]}
          onChange={now => set('wordForms', { ...forms, enabled: now === 'any' ? null : now === 'on' })} />
      </Part>
      <Part title="Synonyms" isChanged={has('synonyms')} onReset={() => set('synonyms', undefined)}><Pairs before={pairsOf(settings.synonyms)} now={pairsOf(valueOf('synonyms'))} onChange={now => set('synonyms', now)} error={wrong('synonyms')} /></Part>
      {others.map(name => (
        <Part key={name} title={titleOfSetting(name)} isChanged onReset={() => set(name, undefined)} cost={meta.value[name]?.cost}>
          {name === 'stopWords' ? <Chips label="Stop words" hideLabel values={(valueOf(name) as string[] | undefined) ?? []} options={[]} free error={wrong(name)} onChange={value => set(name, value)} />
            : <SettingControl index={index} name={name} label={titleOfSetting(name)} value={valueOf(name)} settings={{ ...settings, ...side.settings }} error={wrong(name)} onChange={value => set(name, value)} />}
        </Part>
      ))}
      <Combobox key={others.length} label="Try another setting" value="" options={offered} placeholder="Typo tolerance, ranking rules, stop words …" onChange={name => { if (offered.some(one => one.value === name)) set(name, (settings[name] ?? null) as Json); }} />
      {error && !error.name && <p class="wrong" role="alert">{error.text}</p>}
      {boost && <BoostDialog rule={boost.at === null ? null : boosts[boost.at] as JsonObject} onClose={() => setBoost(null)} onDone={made => put({ boosts: boost.at === null ? [...boosts, made] : boosts.map((one, place) => place === boost.at ? made : one) })} />}
    </div>
  );
}

function Part({ title, isChanged, onReset, cost, children }: { title: string; isChanged: boolean; onReset: () => void; cost?: string; children: preact.ComponentChildren }) {
  return (
    <fieldset class="part">
      <legend>{title}{isChanged && <IconButton size="s" icon="undo" label={`Reset: ${title}`} onClick={onReset} />}{cost && !cost.startsWith('none') && <Badge tone="warn">{cost}</Badge>}</legend>
      {children}
    </fieldset>
  );
}

/** Synonyms that differ from those of the index. */
function Pairs({ before, now, onChange, error }: { before: Record<string, string[]>; now: Record<string, string[]>; onChange: (now: Record<string, string[]>) => void; error: string | null }) {
  const [word, setWord] = useState(''), [finds, setFinds] = useState('');
  const changed = rowsOf(now).filter(row => (before[row.word] ?? []).join() !== row.finds.join());
  const add = () => {
    const list = finds.split(',').map(one => one.trim()).filter(Boolean);
    if (!word.trim() || !list.length) return;
    onChange(withRow(now, { word: word.trim(), finds: [...(Object.hasOwn(now, word.trim()) ? now[word.trim()] ?? [] : []), ...list], isBoth: true }));
    setWord('');
    setFinds('');
  };
  return (
    <div class="stack tight">
      {changed.map(row => <span key={row.word} class="row"><span dir="auto" class="grow">{row.word} {row.isBoth ? '↔' : '→'} {row.finds.join(', ')}</span><IconButton size="s" icon="close" label={`Remove ${row.word}`} onClick={() => onChange(withoutRow(now, row))} /></span>)}
      <div class="row"><div class="grow"><TextField label="Word" hideLabel placeholder="word" value={word} onInput={setWord} onEnter={add} /></div><span aria-hidden="true" class="muted">↔</span><div class="grow"><TextField label="Also finds" hideLabel placeholder="also finds" value={finds} onInput={setFinds} onEnter={add} /></div>
        <IconButton icon="plus" label="Add the synonym" off={(!word.trim() || !finds.trim()) && 'Enter both first.'} onClick={add} /></div>
      {error && <p class="wrong" role="alert">{error}</p>}
    </div>
  );
}
