// Requests to the server: the key, JSON both ways, and three ways to fail: Refused, Away, aborted.
import { signal } from '@preact/signals';
import { key, needKey, proveKey } from '../state/session';
import type { ErrorBody } from './types';

/** The server answered, and refuses. */
export class Refused extends Error {
  readonly code: string;
  readonly link: string;
  constructor(readonly status: number, body: Partial<ErrorBody>) {
    super(body.message || `The server answered ${status} without a reason.`);
    this.code = body.code ?? '';
    this.link = body.link ?? '';
  }
}

/** There was no answer at all. */
export class Away extends Error {
  constructor() { super('The server does not answer.'); }
}

/** Whether the last request got an answer. */
export const isAway = signal(false);

/** How far a replica is, as its answers say. */
export const replica = signal<{ generation: string | null; lagMs: number | null } | null>(null);

export const route = (...parts: (string | number)[]) => '/' + parts.map(part => encodeURIComponent(part)).join('/');

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export interface Options {
  body?: unknown;
  /** Sent as it is, with its type. */
  raw?: { data: BodyInit; type: string };
  query?: Record<string, string | number | boolean | null | undefined>;
  signal?: AbortSignal;
}

export const isAborted = (error: unknown) => error instanceof DOMException && error.name === 'AbortError';

export function withQuery(path: string, query: Options['query'] = {}): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined && value !== '') all.set(name, String(value));
  const text = all.toString();
  return text ? path + (path.includes('?') ? '&' : '?') + text : path;
}

/** The answer itself, for streams and texts; it is refused or not. */
export async function fetchAnswer(method: Method, path: string, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { 'Lamina-Record': 'false' };
  if (key.peek()) headers['Authorization'] = 'Bearer ' + key.peek();
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';
  if (options.raw) headers['Content-Type'] = options.raw.type;
  const body = options.raw ? options.raw.data : options.body === undefined ? null : JSON.stringify(options.body);
  const sent = key.peek(), what = method + ' ' + path;
  const answer = await fetch(withQuery(path, options.query), { method, headers, body, signal: options.signal ?? null }).catch(error => {
    if (isAborted(error)) throw error;
    isAway.value = true;
    throw new Away();
  });
  isAway.value = false;
  noteReplica(answer.headers);
  if (answer.ok) {
    proveKey(sent, what);
    return answer;
  }
  const refused = new Refused(answer.status, await answer.json().catch(() => ({})));
  if (sent === key.peek()) needKey(refused, what);
  throw refused;
}

export async function request<T>(method: Method, path: string, options: Options = {}): Promise<T> {
  const answer = await fetchAnswer(method, path, options);
  if (answer.status === 204) return undefined as T;
  return await answer.json() as T;
}

export const get = <T>(path: string, options?: Options) => request<T>('GET', path, options);
export const post = <T>(path: string, body?: unknown, options?: Options) => request<T>('POST', path, { ...options, body });

/** What takes the place of an answer that is refused: what a key may not see is left out. */
export const orUsual = <T, U>(work: Promise<T>, usual: U): Promise<T | U> => work.catch(error => {
  if (error instanceof Refused) return usual;
  throw error;
});
export const orNothing = <T>(work: Promise<T>) => orUsual(work, null);

function noteReplica(headers: Headers) {
  const generation = headers.get('Lamina-Generation'), lag = headers.get('Lamina-Lag-Ms');
  if (generation !== null || lag !== null) replica.value = { generation, lagMs: lag === null ? null : Number(lag) };
}

/**
 * Puts a refusal at the control that it is about: the first name whose codes has the error's code gets the message, `rest` has what no control is for.
 *
 *     const wrong = atControls(error, { uid: ['invalid_index_uid', 'index_already_exists'] });
 *     <TextField error={wrong.uid} … />  {wrong.rest && <Failure error={wrong.rest} />}
 */
export function atControls<N extends string>(error: unknown, codes: Record<N, string[]>): Partial<Record<N, string>> & { rest?: unknown } {
  if (!error) return {};
  if (error instanceof Refused) {
    for (const name in codes) if (codes[name].includes(error.code)) return { [name]: error.message } as Partial<Record<N, string>>;
  }
  return { rest: error } as Partial<Record<N, string>> & { rest?: unknown };
}
