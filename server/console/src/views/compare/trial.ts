// The index that a side searches: the index itself, or a clone of it while settings are tried.
import { useEffect, useRef, useState } from 'preact/hooks';
import { route } from '../../api/client';
import type { Settings } from '../../api/types';
import { carryOut, cloneOf, dropTrial } from '../../state/trials';
import { over, patchOf } from '../settings/patch';

interface Held { name: string; of: string; at: string; settings: Settings }
export interface Trial { uid: string; version: number; busy: boolean; error: unknown }
const SETTLED_MS = 300;

/** `at` is when the index changed last: a clone of an older state is made anew. */
export function useTrial(index: string, at: string, settings: Settings, wanted: Settings): Trial {
  const held = useRef<Held | null>(null), work = useRef<Promise<unknown>>(Promise.resolve()), number = useRef(0);
  const [state, setState] = useState<Trial>({ uid: index, version: 0, busy: false, error: undefined });
  const isTried = Object.keys(wanted).length > 0, text = JSON.stringify(wanted);
  const release = () => { if (held.current) void dropTrial(held.current.name); held.current = null; };
  useEffect(() => () => { number.current = -1; void work.current.then(release); }, []);
  useEffect(() => {
    const mine = ++number.current;
    const isLast = () => number.current === mine;
    if (!isTried) {
      void (work.current = work.current.then(() => { if (isLast()) release(); }));
      setState(now => ({ uid: index, version: now.version + 1, busy: false, error: undefined }));
      return;
    }
    setState(now => ({ ...now, busy: true }));
    const run = async () => {
      if (!isLast()) return;
      try {
        if (held.current && (held.current.of !== index || held.current.at !== at)) release();
        held.current ??= { name: await cloneOf(index), of: index, at, settings };
        const now = held.current, after = over(settings, wanted), body = patchOf(now.settings, back(now.settings, settings, after));
        if (Object.keys(body).length) await carryOut('PATCH', route('indexes', now.name, 'settings'), body);
        now.settings = after;
        if (isLast()) setState(before => ({ uid: now.name, version: before.version + 1, busy: false, error: undefined }));
      } catch (error) {
        // What it has is not known: the next try begins anew.
        release();
        if (isLast()) setState(before => ({ ...before, uid: index, version: before.version + 1, busy: false, error }));
      }
    };
    const timer = setTimeout(() => { work.current = work.current.then(run); }, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [index, at, text]);
  return state;
}

/** What a clone has and neither the index nor the change names goes back to its default. */
const back = (now: Settings, usual: Settings, after: Settings): Settings => ({ ...Object.fromEntries(Object.keys(now).filter(name => !(name in usual) && !(name in after)).map(name => [name, null])), ...after });
