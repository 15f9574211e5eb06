// The field to search with. Words that the last one may become are offered over the page; the right arrow takes the first.
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { post, route } from '../../api/client';
import { plural } from '../../lib/text';
import { classes, Icon } from '../../ui';

interface Completion { q: string; documents: number; source?: string }
const OFFERED = 6, NONE = { of: '', all: [] };
const folded = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().trimStart();

export function SearchField({ index, value, onInput }: { index: string; value: string; onInput: (now: string) => void }) {
  const [offers, setOffers] = useState<{ of: string; all: Completion[] }>(NONE), [isOpen, setOpen] = useState(false), [at, setAt] = useState(-1);
  const id = useId(), field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const control = new AbortController();
    if (!isOpen || !/\S$/.test(value)) { setOffers(NONE); return; }
    post<{ completions: Completion[] }>(route('indexes', index, 'completions'), { q: value, limit: OFFERED }, { signal: control.signal })
      .then(answer => { if (!control.signal.aborted) { setOffers({ of: value, all: answer.completions.filter(one => one.q !== value) }); setAt(-1); } }, () => { if (!control.signal.aborted) setOffers(NONE); });
    return () => control.abort();
  }, [index, value, isOpen]);
  // Of those for fewer letters, only what still goes on from here.
  const fitting = offers.of === value ? offers.all : offers.all.filter(one => folded(one.q).startsWith(folded(value))), isShown = isOpen && fitting.length > 0;
  const take = (one: Completion | undefined) => { if (one) { onInput(one.q); setOpen(false); setAt(-1); field.current?.focus(); } };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = field.current, isAtEnd = here?.selectionStart === value.length;
    if (event.key === 'ArrowDown' && isShown) setAt(Math.min(fitting.length - 1, at + 1));
    else if (event.key === 'ArrowUp' && isShown) setAt(Math.max(-1, at - 1));
    else if (event.key === 'ArrowRight' && isShown && isAtEnd && value) take(fitting[Math.max(0, at)]);
    else if (event.key === 'Enter') { if (at >= 0 && isShown) take(fitting[at]); else setOpen(false); }
    else if (event.key === 'ArrowDown') document.querySelector<HTMLElement>('main .hit')?.focus();
    else if (event.key === 'Escape' && isShown) setOpen(false);
    else if (event.key === 'Escape' && value) onInput('');
    else return;
    event.preventDefault();
  };
  return (
    <div class="search-field picker">
      <Icon name="search" />
      <input ref={field} data-search type={'search' as 'text'} role="combobox" aria-label="Search" aria-expanded={isShown} aria-controls={id} aria-autocomplete="list" aria-activedescendant={isShown && at >= 0 ? id + at : undefined}
        placeholder={`Search ${index}`} value={value} autocomplete="off" spellcheck={false} onInput={event => { setOpen(true); onInput(event.currentTarget.value); }} onBlur={() => setOpen(false)} onKeyDown={onKeyDown} />
      <ul class="listbox" role="listbox" id={id} hidden={!isShown} aria-label="Completions">
        {isShown && fitting.map((one, place) => (
          <li key={one.q} id={id + place} role="option" aria-selected={place === at} class={classes(place === at && 'at')} dir="auto" onMouseDown={event => { event.preventDefault(); take(one); }}>
            <span>{one.q}</span><small>{one.source ? 'searched before' : plural(one.documents, 'document')}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}
