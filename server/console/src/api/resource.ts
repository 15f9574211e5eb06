// What a component shows of the server: it is loaded, and loaded anew when something changes; an answer to an older question never replaces a newer one.
import { useEffect, useRef, useState } from 'preact/hooks';
import { isAborted } from './client';
import { revision } from './tasks';

export interface Resource<T> {
  data: T | undefined;
  error: unknown;
  /** It is under way; `data` is then what was there before. */
  loading: boolean;
  reload: () => void;
}

export interface ResourceOptions {
  /** Loads anew when a task has ended. It does unless this is false: forms keep what is being written in them. */
  live?: boolean;
  /** Loads anew every so often. */
  everyMs?: number;
  /** Shows what was there until the answer to other dependencies is there, as while someone types. */
  keep?: boolean;
}

/** Work that people start: whether it is under way, and how it failed the last time. What it says itself is not said here. */
export function useWork() {
  const [busy, setBusy] = useState(false), [error, setError] = useState<unknown>();
  const run = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try { await work(); } catch (failure) { setError(failure); }
    setBusy(false);
  };
  return { busy, error, run };
}

/** `load` is called when `deps` change; it passes the signal on to its requests. */
export function useResource<T>(load: (signal: AbortSignal) => Promise<T>, deps: readonly unknown[], { live = true, everyMs, keep = false }: ResourceOptions = {}): Resource<T> {
  const [state, setState] = useState<{ data: T | undefined; error: unknown; loading: boolean }>({ data: undefined, error: undefined, loading: true });
  const [turn, setTurn] = useState(0);
  const before = useRef<readonly unknown[]>(deps);
  const number = live ? revision.value : 0;
  useEffect(() => {
    const control = new AbortController();
    // What belongs to other dependencies is not shown for these.
    const isSame = keep || before.current.length === deps.length && before.current.every((one, place) => Object.is(one, deps[place]));
    before.current = deps;
    setState(now => isSame ? { ...now, loading: true } : { data: undefined, error: undefined, loading: true });
    load(control.signal).then(
      data => { if (!control.signal.aborted) setState({ data, error: undefined, loading: false }); },
      error => { if (!control.signal.aborted && !isAborted(error)) setState(now => ({ ...now, error, loading: false })); },
    );
    return () => control.abort();
  }, [...deps, number, turn]);
  useEffect(() => {
    if (!everyMs) return;
    const timer = setInterval(() => { if (!document.hidden) setTurn(now => now + 1); }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return { ...state, reload: () => setTurn(now => now + 1) };
}
