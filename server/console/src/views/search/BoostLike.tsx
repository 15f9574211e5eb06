// Documents like a hit move up or down in every search: a boost among the ranking rules, with the hits as they will be.
import { useState } from 'preact/hooks';
import { post, route } from '../../api/client';
import { useResource, useWork } from '../../api/resource';
import type { Hit, Json, SearchAnswer, Settings } from '../../api/types';
import { titleOf } from '../../lib/documents';
import { go, hrefOf } from '../../state/address';
import { Button, Checkbox, Dialog, Failure, Link, Loaded, Segments, Slider } from '../../ui';
import { applySettings } from '../settings/draft';
import { climbs, traitsOf } from './like';
import { selectionOf, type Asked } from './query';

const SHOWN = 10, SEEN = 100;
const DIRECTIONS = [{ id: 'up', title: 'Move up' }, { id: 'down', title: 'Move down' }] as const;

export function BoostLike({ hit, index, asked, settings, primaryKey, onClose }: { hit: Hit; index: string; asked: Asked; settings: Settings; primaryKey: string; onClose: () => void }) {
  const traits = traitsOf(hit, primaryKey, settings), [chosen, setChosen] = useState<readonly string[]>(traits.slice(0, 1).map(one => one.filter)), [way, setWay] = useState<'up' | 'down'>('up'), [force, setForce] = useState(2);
  const { busy, error, run } = useWork();
  const weight = Number((way === 'up' ? force : 1 / force).toFixed(2)), rules: Json[] = settings.rankingRules ?? [], boost: Json = { boostIf: { filter: chosen.join(' AND '), weight } }, base = selectionOf(asked, settings);
  const nameOf = (one: Hit) => titleOf(one, primaryKey, settings.searchableAttributes), idOf = (one: Hit) => String(one[primaryKey]);
  const found = useResource(async signal => {
    const ask = (more: object) => post<SearchAnswer>(route('indexes', index, 'search'), { ...base, limit: SEEN, ...more }, { signal });
    const [now, then] = await Promise.all([ask({}), ask({ boosts: [...rules.filter(one => typeof one === 'object'), ...(chosen.length ? [boost] : [])] })]);
    return { then: then.hits.slice(0, SHOWN), climbs: climbs(now.hits.map(idOf), then.hits.map(idOf)).slice(0, SHOWN) };
  }, [index, JSON.stringify(base), JSON.stringify(boost)], { keep: true });
  const add = () => run(async () => {
    await applySettings(index, before => ({ ...before, rankingRules: [...before.rankingRules ?? [], boost] }));
    onClose();
  });
  const ranking = { view: 'settings', params: { group: 'ranking' } };
  return (
    <Dialog title={`Boost documents like ${nameOf(hit)}`} size="l" onClose={onClose} actions={<><Button onClick={onClose}>Cancel</Button>
      <Button kind="primary" busy={busy} off={!settings.rankingRules ? 'This key may not read the settings.' : !chosen.length && 'Choose what they have in common first.'} onClick={add}>Add the boost</Button></>}>
      <Failure error={error} />
      <div class="like-parts">
        <div class="stack">
          <fieldset class="like-traits"><legend>Documents with all of these</legend>
            {traits.map(one => <Checkbox key={one.filter} label={one.text} checked={chosen.includes(one.filter)} onChange={isOn => setChosen(isOn ? [...chosen, one.filter] : chosen.filter(other => other !== one.filter))} />)}
          </fieldset>
          <div><Segments label="Direction" value={way} options={DIRECTIONS} onChange={setWay} /></div>
          <Slider label="Strength" min={1.1} max={10} step={0.1} value={force} show={() => '× ' + weight} low="a little" high="a lot" onInput={setForce} />
          <p class="hint">In every search of {index}. For one query only, pin the document or move it to the end instead.</p>
        </div>
        <section class="like-preview" aria-label="Preview">
          <h3>Preview {asked.q && <span class="muted" dir="auto">for “{asked.q}”</span>}</h3>
          <Loaded of={found} lines={8}>{({ then, climbs }) => <>
            <ol>{then.map((one, place) => { const by = climbs[place] ?? null; return <li key={idOf(one)}><span class="rank">{place + 1}</span><span class="grow" dir="auto">{nameOf(one)}</span>{by !== 0 && <span class={by === null || by > 0 ? 'climb up' : 'climb'}>{by === null ? 'new' : by > 0 ? `▲ ${by}` : `▼ ${-by}`}</span>}</li>; })}</ol>
            {chosen.length > 0 && climbs.every(by => by === 0) && <p class="hint">Nothing changes here: the ranking rules before it decide. To let it decide earlier, add it and move it up in the <Link href={hrefOf(ranking)} onGo={() => go(ranking)}>ranking settings</Link>.</p>}
          </>}</Loaded>
        </section>
      </div>
    </Dialog>
  );
}
