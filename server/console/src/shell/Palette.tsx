// Ctrl-K: views, indexes, and whatever the views can do.
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { best } from '../lib/fuzzy';
import { plural } from '../lib/text';
import { go } from '../state/address';
import { documentsOf, known, switchIndex, uid } from '../state/indexes';
import { key, signOut } from '../state/session';
import { switchTheme, theme } from '../state/theme';
import { classes, Icon, type IconName } from '../ui';
import { views } from '../views';

export const isPaletteOpen = signal(false);
interface Entry { id: string; title: string; about: string; icon: IconName; words: string; run: () => unknown }
const SHOWN = 40;

function entries(): Entry[] {
  const all: Entry[] = views.map(one => ({ id: 'view ' + one.id, title: one.title, about: one.group, icon: one.icon, words: one.words ?? '', run: () => go({ view: one.id }) }));
  for (const view of views) for (const one of view.actions?.() ?? []) all.push({ id: 'action ' + view.id + one.id, title: one.title, about: view.title, icon: one.icon ?? view.icon, words: '', run: one.run });
  for (const one of known.value.list) {
    const documents = documentsOf(one.uid);
    all.push({ id: 'index ' + one.uid, title: one.uid, about: documents === null ? 'index' : plural(documents, 'document'), icon: 'indexes', words: 'index', run: () => switchIndex(one.uid) });
  }
  all.push({ id: 'theme', title: 'Switch between light and dark', about: 'Console', icon: 'moon', words: 'theme colours', run: switchTheme });
  all.push({ id: 'system', title: 'Use the colours of the system', about: 'Console', icon: 'sun', words: 'theme', run: () => { theme.value = 'system'; } });
  all.push({ id: 'docs', title: 'Manual', about: 'Console', icon: 'book', words: 'docs help', run: () => { window.open('/docs', '_blank', 'noopener'); } });
  all.push({ id: 'api', title: 'API reference', about: 'Console', icon: 'book', words: 'docs reference http', run: () => { window.open('/docs/api', '_blank', 'noopener'); } });
  if (key.value) all.push({ id: 'out', title: 'Sign out', about: 'Console', icon: 'out', words: 'key leave', run: signOut });
  return all;
}

export function Palette() {
  const [typed, setTyped] = useState(''), [at, setAt] = useState(0), [all] = useState(entries);
  const element = useRef<HTMLDialogElement>(null), list = useRef<HTMLUListElement>(null);
  const close = () => { isPaletteOpen.value = false; };
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    element.current?.showModal();
    return () => { if (before?.isConnected) before.focus({ preventScroll: true }); };
  }, []);
  useEffect(() => { list.current?.children[at]?.scrollIntoView({ block: 'nearest' }); }, [at]);
  const offered = best(all, typed, one => one.title + ' ' + one.words, SHOWN);
  if (typed.trim() && uid.value) {
    offered.push({ id: 'search', title: `Search “${typed.trim()}” in ${uid.value}`, about: '', icon: 'search', words: '', run: () => go({ view: 'search', params: { q: typed.trim() } }) });
  }
  const pick = (one: Entry | undefined) => { if (one) { close(); void one.run(); } };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt(at >= offered.length - 1 ? 0 : at + 1);
    else if (event.key === 'ArrowUp') setAt(at <= 0 ? offered.length - 1 : at - 1);
    else if (event.key === 'Enter') pick(offered[at]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={element} class="dialog palette" aria-label="Find anything" onCancel={event => { event.preventDefault(); close(); }} onMouseDown={event => { if (event.target === element.current) close(); }}>
      <input role="combobox" aria-label="Find anything" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={offered[at] ? 'palette-' + at : undefined} autocomplete="off" spellcheck={false}
        placeholder="View, index or command" value={typed} onInput={event => { setTyped(event.currentTarget.value); setAt(0); }} onKeyDown={onKeyDown} autoFocus />
      <ul id="palette-list" role="listbox" ref={list} aria-label="Results">
        {offered.map((one, place) => (
          <li key={one.id} id={'palette-' + place} role="option" aria-selected={place === at} class={classes(place === at && 'at')} onMouseMove={() => setAt(place)} onClick={() => pick(one)}>
            <Icon name={one.icon} /><span dir="auto">{one.title}</span><small>{one.about}</small>
          </li>
        ))}
      </ul>
      {offered.length === 0 && <p class="muted">No view, index or command matches.</p>}
    </dialog>
  );
}
