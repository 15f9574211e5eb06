// The index that is looked at, and how many documents each has.
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { best } from '../lib/fuzzy';
import { compact, plural } from '../lib/text';
import { current, documentsOf, known, switchIndex } from '../state/indexes';
import { classes, Icon } from '../ui';

const SHOWN = 200;

export function Switcher() {
  const [isOpen, setOpen] = useState(false), [typed, setTyped] = useState(''), [at, setAt] = useState(0);
  const place = useRef<HTMLDivElement>(null), list = useRef<HTMLUListElement>(null), id = useId();
  const { list: indexes, aliases, state } = known.value, here = current.value;
  const names = [...indexes.map(one => ({ uid: one.uid, about: '' })), ...aliases.map(one => ({ uid: one.alias, about: 'alias of ' + one.indexUid }))];
  const offered = best(names, typed, one => one.uid, SHOWN);
  useLayoutEffect(() => {
    if (!isOpen) return;
    place.current?.querySelector('input')?.focus();
    const outside = (event: Event) => { if (!place.current?.contains(event.target as Node)) setOpen(false); };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, [isOpen]);
  useEffect(() => { list.current?.children[at]?.scrollIntoView({ block: 'nearest' }); }, [at]);
  // Its place is kept until it is known whether there is an index.
  if (state === 'loading') return <div class="switcher" aria-hidden="true"><div class="switcher-button"><Icon name="indexes" /><div><strong>&nbsp;</strong><small>&nbsp;</small></div></div></div>;
  if (state !== 'refused' && names.length === 0) return null;
  const uid = here.kind === 'there' || here.kind === 'missing' ? here.uid : '', documents = documentsOf(aliases.find(one => one.alias === uid)?.indexUid ?? uid);
  const close = () => { setOpen(false); setTyped(''); setAt(0); place.current?.querySelector('button')?.focus(); };
  const pick = (name: string | undefined) => { if (name) { close(); switchIndex(name); } };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(Math.min(offered.length - 1, at + 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
    else if (event.key === 'Enter') pick(offered[at]?.uid ?? (state === 'refused' ? typed : undefined));
    else if (event.key === 'Escape') { event.stopPropagation(); close(); }
    else return;
    event.preventDefault();
  };
  return (
    <div class="switcher" ref={place}>
      <button type="button" class="switcher-button" aria-haspopup="listbox" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="indexes" />
        <div><span class="unseen">Index </span><strong dir="auto">{uid || 'Choose an index'}</strong><small>{here.kind === 'missing' ? 'does not exist' : documents === null ? ' ' : plural(documents, 'document')}</small></div>
        <Icon name="down" />
      </button>
      {isOpen && (
        <div class="listbox">
          <input role="combobox" aria-label="Find an index" aria-expanded="true" aria-controls={id} aria-activedescendant={offered[at] ? id + at : undefined} placeholder="Find an index" value={typed}
            autocomplete="off" spellcheck={false} onInput={event => { setTyped(event.currentTarget.value); setAt(0); }} onKeyDown={onKeyDown} />
          <ul role="listbox" id={id} ref={list} aria-label="Indexes">
            {offered.map((one, number) => (
              <li key={one.uid} id={id + number} role="option" aria-selected={one.uid === uid} class={classes(number === at && 'at')} onClick={() => pick(one.uid)}>
                <span dir="auto">{one.uid}</span><small>{one.about || (documentsOf(one.uid) === null ? '' : compact(documentsOf(one.uid) ?? 0))}</small>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}
