// The frame: what people see around each view, and when there is none.
import { Component, type ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isAway } from '../api/client';
import { openTasks } from '../state/activity';
import { address, go, HOME, hrefOf } from '../state/address';
import { current, home, known, switchIndex, uid } from '../state/indexes';
import { key, signOut, wantsKey } from '../state/session';
import { isDark, switchTheme } from '../state/theme';
import { best } from '../lib/fuzzy';
import { takesText } from '../lib/keyboard';
import { Button, Drawer, Empty, Failure, Icon, IconButton, Link, Loading, Mark, Questions } from '../ui';
import { Toasts } from '../ui/toasts';
import { groups, viewOf, views } from '../views';
import type { View } from '../views/types';
import { FirstRun } from './FirstRun';
import { isPaletteOpen, Palette } from './Palette';
import { SignIn } from './SignIn';
import { Switcher } from './Switcher';

const IN_BAR = ['search', 'documents', 'settings', 'tasks'];

export function App() {
  // A view begins anew with another index, and not when the address names the one that is shown already: what is typed stays.
  const main = useRef<HTMLElement>(null), [isRailOpen, setRailOpen] = useState(false);
  const view = viewOf(address.value.view);
  useKeys();
  useEffect(() => {
    document.title = (view ? view.title + ' · ' : '') + 'Lamina';
    setRailOpen(false);
  }, [view?.id, address.value.index]);
  if (wantsKey.value !== null) return <><SignIn /><Toasts /></>;
  return (
    <div class={isAway.value ? 'shell stale' : 'shell'}>
      <a class="skip" href="#main" onClick={event => { event.preventDefault(); main.current?.focus(); }}>Skip to content</a>
      {isAway.value && <div class="banner" role="status"><span class="spinner" aria-hidden="true" />The server does not answer. This page shows older data and keeps trying …</div>}
      <div class="top"><Mark /><Switcher /><IconButton icon="search" label="Find anything" onClick={() => { isPaletteOpen.value = true; }} /></div>
      <aside class="rail" aria-label="Console"><Rail /></aside>
      <main id="main" ref={main} tabIndex={-1} aria-label={view?.title}><Boundary key={address.value.view + (view?.needsIndex ? uid.value : '')}><Content view={view} /></Boundary></main>
      <nav class="bottom" aria-label="Most used views">
        {IN_BAR.map(viewOf).map(one => one && <ViewLink key={one.id} view={one} />)}
        <button type="button" aria-haspopup="dialog" onClick={() => setRailOpen(true)}><Icon name="menu" />All</button>
      </nav>
      {isRailOpen && <Drawer title="Lamina" class="rail-drawer" onClose={() => setRailOpen(false)}><div class="rail"><Rail isInside /></div></Drawer>}
      {isPaletteOpen.value && <Palette />}
      <Questions />
      <Toasts />
    </div>
  );
}

function ViewLink({ view }: { view: View }) {
  const isHere = address.value.view === view.id;
  return (
    <a href={hrefOf({ view: view.id })} aria-current={isHere ? 'page' : undefined} onClick={event => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      go({ view: view.id });
    }}><Icon name={view.icon} />{view.title}{view.id === 'tasks' && openTasks.value > 0 && <span class="count" title="Tasks that wait or run">{openTasks.value}</span>}</a>
  );
}

function Rail({ isInside }: { isInside?: boolean }) {
  return (
    <>
      {!isInside && <>
        <div class="rail-head"><Link href={hrefOf({ view: home.value })} onGo={() => go({ view: home.value })}><Mark />Lamina</Link></div>
        <Switcher />
        <button type="button" class="find" onClick={() => { isPaletteOpen.value = true; }}><Icon name="search" /><span>Find anything</span><kbd>Ctrl K</kbd></button>
      </>}
      <nav aria-label="Views">
        {groups.map(group => [<h2 key={group}>{group}</h2>, ...views.filter(one => one.group === group).map(one => <ViewLink key={one.id} view={one} />)])}
      </nav>
      <div class="rail-foot">
        <span><Link href="/docs" external>Manual</Link></span>
        <IconButton size="s" icon={isDark() ? 'sun' : 'moon'} label={isDark() ? 'Light colours' : 'Dark colours'} onClick={switchTheme} />
        {key.value && <IconButton size="s" icon="out" label="Sign out" onClick={signOut} />}
      </div>
    </>
  );
}

function Content({ view }: { view: View | undefined }) {
  if (!view) {
    return <Empty icon="info" title={`There is no view “${address.value.view}”.`} actions={<Button kind="primary" onClick={() => go({ view: HOME })}>Go to Search</Button>}>The address may come from another version of the console.</Empty>;
  }
  if (view.needsIndex) {
    const here = current.value;
    if (here.kind === 'loading') return <Loading what="Loading the indexes" lines={6} />;
    if (here.kind === 'missing') return <Missing uid={here.uid} />;
    if (here.kind === 'none') return known.value.state === 'refused' ? <Failure error={known.value.error} /> : <FirstRun />;
  }
  const Shown = view.component;
  return <Shown />;
}

function Missing({ uid }: { uid: string }) {
  const near = best(known.value.list, uid, one => one.uid, 3), offered = near.length ? near : known.value.list.slice(0, 3);
  return (
    <Empty icon="indexes" title={`There is no index “${uid}”.`} actions={offered.map(one => <Button key={one.uid} onClick={() => switchIndex(one.uid)}>{one.uid}</Button>)}>
      It may have been deleted or renamed, or this key may not see it.{offered.length > 0 && ' These are there:'}
    </Empty>
  );
}

/** A view that fails takes nothing else with it. */
class Boundary extends Component<{ children: ComponentChildren }, { error: unknown }> {
  override state: { error: unknown } = { error: null };
  static override getDerivedStateFromError(error: unknown) { return { error }; }
  override render() {
    return this.state.error === null ? this.props.children : <Failure error={this.state.error} onRetry={() => this.setState({ error: null })} />;
  }
}

function useKeys() {
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        isPaletteOpen.value = !isPaletteOpen.value;
      } else if (event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && !takesText(document.activeElement as HTMLElement | null) && !document.querySelector('dialog[open]')) {
        event.preventDefault();
        focusSearch();
      }
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}

/** The field to search with that the view has; else that of the search. */
function focusSearch() {
  const enter = (field: HTMLInputElement | null) => { field?.focus(); field?.select(); };
  const find = () => document.querySelector<HTMLInputElement>('main [data-search]'), there = find();
  // At once: the next letters may be on their way.
  if (there) return enter(there);
  go({ view: HOME });
  setTimeout(() => enter(find()));
}
