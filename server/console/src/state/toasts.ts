// Short messages beside the page: what was done, with undo; what failed, until it is read.
import { signal } from '@preact/signals';

export type Tone = 'info' | 'good' | 'warn' | 'bad' | 'busy';
export interface Toast {
  id: number;
  tone: Tone;
  title: string;
  text?: string;
  /** The task that it is about: the toast links to it. */
  task?: number;
  /** A page that explains. */
  link?: string;
  undo?: () => unknown;
}

const USUAL_MS = 6000, UNDO_MS = 12_000, MOST = 5;
let last = 0;
const timers = new Map<number, ReturnType<typeof setTimeout>>();
export const toasts = signal<readonly Toast[]>([]);

/** Shows a toast; its number, to change or to close it. What failed stays until it is closed. */
export function toast(made: Omit<Toast, 'id' | 'tone'> & { tone?: Tone }): number {
  const id = ++last;
  const full: Toast = { tone: 'info', ...made, id };
  // The oldest that is no failure gives way.
  const all = [...toasts.peek(), full];
  while (all.length > MOST) {
    const place = all.findIndex(one => one.tone !== 'bad');
    all.splice(place < 0 ? 0 : place, 1);
  }
  toasts.value = all;
  plan(full);
  return id;
}

export function changeToast(id: number, change: Partial<Omit<Toast, 'id'>>) {
  const before = toasts.peek().find(one => one.id === id);
  if (!before) {
    if (change.tone === 'bad') toast({ title: '', ...change });
    return;
  }
  const now = { ...before, ...change };
  toasts.value = toasts.peek().map(one => one.id === id ? now : one);
  plan(now);
}

export function closeToast(id: number) {
  clearTimeout(timers.get(id));
  timers.delete(id);
  toasts.value = toasts.peek().filter(one => one.id !== id);
}

export const holdToast = (id: number) => clearTimeout(timers.get(id));
export function releaseToast(id: number) {
  const one = toasts.peek().find(one => one.id === id);
  if (one) plan(one);
}

function plan(one: Toast) {
  clearTimeout(timers.get(one.id));
  if (one.tone === 'bad' || one.tone === 'busy') return;
  timers.set(one.id, setTimeout(() => closeToast(one.id), one.undo ? UNDO_MS : USUAL_MS));
}
