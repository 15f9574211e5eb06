// What happens on the server meanwhile: tasks of everyone, and whether it still answers.
import { signal } from '@preact/signals';
import { Away, get, isAway } from '../api/client';
import { bump, isOpen } from '../api/tasks';
import type { ListOf, Task } from '../api/types';
import { wantsKey } from './session';

const QUIET_MS = 4000, BUSY_MS = 1000, SHOWN = 20;

/** The latest tasks; empty where the key may not see them. */
export const latest = signal<readonly Task[]>([]);
export const openTasks = signal(0);

let seen: string | null = null, timer: ReturnType<typeof setTimeout> | undefined;

async function look() {
  clearTimeout(timer);
  const wasAway = isAway.peek();
  let isBusy = wasAway;
  if (!wantsKey.peek()) {
    try {
      const found = await get<ListOf<Task>>('/tasks', { query: { limit: SHOWN } });
      latest.value = found.results;
      openTasks.value = found.results.filter(isOpen).length;
      const now = found.results.map(task => task.uid + task.status).join();
      if (wasAway || (seen !== null && now !== seen)) bump();
      seen = now;
      isBusy = openTasks.peek() > 0;
    } catch (error) {
      isBusy = error instanceof Away;
      if (!isBusy && wasAway) bump();
    }
  }
  timer = setTimeout(() => { if (!document.hidden) void look(); }, isBusy ? BUSY_MS : QUIET_MS);
}

export function watch() {
  document.addEventListener('visibilitychange', () => { if (!document.hidden) void look(); });
  void look();
}
export const lookNow = () => void look();
