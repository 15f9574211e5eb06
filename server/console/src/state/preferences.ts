// What people chose once and keep in this browser.
import { effect, signal, type Signal } from '@preact/signals';

const PREFIX = 'lamina.';
const known = new Map<string, Signal<unknown>>();

/** A value under a name, shared by all who ask for it, kept in the browser. */
export function preference<T>(name: string, usual: T): Signal<T> {
  const there = known.get(name);
  if (there) return there as Signal<T>;
  const made = signal(read(name, usual));
  known.set(name, made as Signal<unknown>);
  let isFirst = true;
  effect(() => {
    const text = JSON.stringify(made.value);
    if (!isFirst) try { localStorage.setItem(PREFIX + name, text); } catch { /* It lasts as long as the page. */ }
    isFirst = false;
  });
  return made;
}

function read<T>(name: string, usual: T): T {
  try {
    const text = localStorage.getItem(PREFIX + name);
    if (text === null) return usual;
    const value: unknown = JSON.parse(text);
    return isLike(value, usual) ? value as T : usual;
  } catch {
    return usual;
  }
}

// What another version, or someone by hand, has stored is not trusted to have the form.
const isLike = (value: unknown, usual: unknown) =>
  usual === null || (typeof value === typeof usual && value !== null && Array.isArray(value) === Array.isArray(usual));
