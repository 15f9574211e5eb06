// A filter that is written, with names, operators and values offered.
import { useId, useRef, useState } from 'preact/hooks';
import { post, route } from '../../api/client';
import { param, setParams } from '../../state/address';
import { classes, Field, useFollowed } from '../../ui';
import { offersOf } from './complete';

export function FilterField({ index, names, counts, error }: { index: string; names: readonly string[]; counts: (name: string) => string[]; error?: string | null }) {
  const applied = param('filter'), [text, setText] = useFollowed(applied), [offers, setOffers] = useState<{ filter: string; shown: string }[]>([]), [at, setAt] = useState(-1), [isOpen, setOpen] = useState(false);
  const id = useId(), turn = useRef(0), field = useRef<HTMLInputElement>(null), chosen = useRef<string | undefined>(undefined);
  chosen.current = offers[at]?.filter;
  const values = (name: string, typed: string) => post<{ facetHits: { value: string }[] }>(route('indexes', index, 'facet-search'), { facetName: name, facetQuery: typed })
    .then(answer => answer.facetHits.map(hit => hit.value), () => counts(name).filter(one => one.toLowerCase().includes(typed.toLowerCase())));
  const offer = async (now: string) => {
    const mine = ++turn.current, found = await offersOf(now, names, values);
    if (mine !== turn.current) return;
    // What the arrows stand on stays chosen while it is offered.
    const all = found.filter(one => one.filter !== now), on = chosen.current;
    setOffers(all);
    setAt(all.findIndex(one => one.filter === on));
  };
  const change = (now: string) => { setText(now); setOpen(true); setAt(-1); void offer(now); if (!now) setParams({ filter: null, limit: null }); };
  const apply = (now = text) => { setOpen(false); setParams({ filter: now.trim() || null, limit: null }); };
  const pick = (one: { filter: string }) => {
    const now = one.filter + (one.filter.endsWith('[') ? '' : ' ');
    change(now);
    field.current?.focus();
  };
  const isShown = isOpen && offers.length > 0;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' && isShown) setAt(Math.min(offers.length - 1, at + 1));
    else if (event.key === 'ArrowUp' && isShown) setAt(Math.max(-1, at - 1));
    else if (event.key === 'Enter') { const one = isShown ? offers[at] : undefined; if (one) pick(one); else apply(); }
    else if (event.key === 'Escape' && isShown) { event.stopPropagation(); setOpen(false); }
    else return;
    event.preventDefault();
  };
  const example = names[0] ? `for example ${names[0]} EXISTS` : 'no field is filterable yet';
  return (
    <Field label="Filter" hideLabel error={error}>
      {wiring => (
        <div class="picker">
          <input {...wiring} ref={field} role="combobox" class="mono" aria-expanded={isShown} aria-controls={id} aria-autocomplete="list" aria-activedescendant={isShown && at >= 0 ? id + at : undefined}
            placeholder={'Filter: ' + example} value={text} autocomplete="off" spellcheck={false} onInput={event => change(event.currentTarget.value)}
            onFocus={() => { setOpen(true); void offer(text); }} onBlur={() => { setOpen(false); if (text.trim() !== applied) apply(); }} onKeyDown={onKeyDown} />
          <ul class="listbox" role="listbox" id={id} hidden={!isShown} aria-label="Completions">
            {isShown && offers.map((one, place) => <li key={one.filter} id={id + place} role="option" aria-selected={place === at} class={classes(place === at && 'at')} dir="auto"
              onMouseDown={event => { event.preventDefault(); pick(one); }}>{one.shown}</li>)}
          </ul>
        </div>
      )}
    </Field>
  );
}
