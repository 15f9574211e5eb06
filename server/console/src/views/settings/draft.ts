// Changes that people prepare, for each index, over all views: they are looked at together and applied together.
import { signal } from '@preact/signals';
import { get, Refused, route } from '../../api/client';
import { writeAndWait } from '../../api/tasks';
import type { Json, JsonObject, Settings } from '../../api/types';
import { plural } from '../../lib/text';
import { over, patchOf, same, settingOf, undoOf } from './patch';
import { meta } from './known';

const drafts = signal<ReadonlyMap<string, Settings>>(new Map());
export interface Refusal { index: string; name?: string; error: unknown }
/** What the server refused of the draft. */
export const refusal = signal<Refusal | null>(null);

const NONE: Settings = {};
export const draftOf = (index: string): Settings => drafts.value.get(index) ?? NONE;
const put = (index: string, draft: Settings) => {
  const all = new Map(drafts.peek());
  if (Object.keys(draft).length) all.set(index, draft); else all.delete(index);
  drafts.value = all;
};

/** A value for a setting; one that it already has is no change. */
export function change(index: string, settings: Settings, name: string, value: Json) {
  const { [name]: _, ...rest } = drafts.peek().get(index) ?? NONE;
  put(index, same(settings[name], value) ? rest : { ...rest, [name]: value });
  if (refusal.peek()?.index === index) refusal.value = null;
}
export const leaveOut = (index: string, name: string) => { const { [name]: _, ...rest } = drafts.peek().get(index) ?? NONE; put(index, rest); };
export const discard = (index: string) => { put(index, NONE); refusal.value = null; };

/** Changes settings of an index for good, with undo. A refusal is thrown. */
export async function applySettings(index: string, wanted: (before: Settings) => Settings): Promise<void> {
  const path = route('indexes', index, 'settings'), before = await get<Settings>(path), after = wanted(before), body: JsonObject = patchOf(before, after), names = Object.keys(body);
  if (!names.length) return;
  const what = plural(names.length, 'setting') + ' of ' + index;
  const undo = () => writeAndWait('PATCH', path, { title: `Undo: ${what}`, done: `${what} as before` }, { body: undoOf(before, after, body) }).catch(() => { /* A message says so. */ });
  await writeAndWait('PATCH', path, { title: `Change ${what}`, done: `${what} changed`, undo }, { body });
}

export async function applyDraft(index: string) {
  const draft = drafts.peek().get(index) ?? NONE;
  refusal.value = null;
  try {
    await applySettings(index, before => over(before, draft));
    if (drafts.peek().get(index) === draft) discard(index);
  } catch (error) {
    refusal.value = { index, error, name: error instanceof Refused ? settingOf(error.code, Object.keys({ ...meta.peek(), ...draft })) : undefined };
  }
}
