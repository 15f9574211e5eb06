// What is done to whole indexes.
import { route } from '../../api/client';
import { write } from '../../api/tasks';
import { go } from '../../state/address';
import { forget, known, switchIndex } from '../../state/indexes';
import { askText, confirm, Menu } from '../../ui';

const NAME_HINT = 'Letters, digits, - and _';

export const create = () => askText({
  title: 'Create an index', label: 'Name', action: 'Create', hint: NAME_HINT,
  run: async uid => { await write('POST', '/indexes', { title: `Create ${uid}`, done: `${uid} is created` }, { body: { uid } }); },
});

/** A name that no index has yet. */
const freeName = (uid: string) => {
  for (let number = 2; ; number++) if (!known.peek().list.some(one => one.uid === `${uid}-${number}`)) return `${uid}-${number}`;
};

export const clone = (uid: string) => askText({
  title: `Clone ${uid}`, label: 'Name of the clone', action: 'Clone', value: freeName(uid), hint: 'Shares the files of the index: it takes milliseconds and no space.',
  run: async copy => { await write('POST', route('indexes', uid, 'clone'), { title: `Clone ${uid} as ${copy}`, done: `${copy} is a clone of ${uid}` }, { body: { uid: copy } }); },
});

export const rename = (uid: string) => askText({
  title: `Rename ${uid}`, label: 'New name', action: 'Rename', value: uid, hint: 'Aliases follow. Programs that use the old name are refused; an alias with it keeps them working.',
  run: async name => {
    const { done } = await write('PATCH', route('indexes', uid), { title: `Rename ${uid} to ${name}`, done: `${uid} is now ${name}`, undo: () => write('PATCH', route('indexes', name), { title: `Rename ${name} back to ${uid}` }, { body: { uid } }) }, { body: { uid: name } });
    void done.then(task => { if (task?.status === 'succeeded') go({ view: 'indexes', index: name }); });
  },
});

export const setAlias = (uid: string) => askText({
  title: `An alias for ${uid}`, label: 'Alias', action: 'Set', value: `${uid}-live`, hint: 'Programs can use the alias instead of the index. An existing alias moves here.',
  run: async alias => {
    const before = known.peek().aliases.find(one => one.alias === alias)?.indexUid ?? null;
    await write('PATCH', '/aliases', { title: `Set the alias ${alias}`, done: `${alias} stands for ${uid}`, undo: () => write('PATCH', '/aliases', { title: `Set ${alias} back` }, { body: { [alias]: before } }) }, { body: { [alias]: uid } });
  },
});

export async function compact(uid: string) {
  await write('POST', route('indexes', uid, 'compact'), { title: `Compact ${uid}`, done: `${uid} is compacted` });
}

export async function remove(uid: string) {
  if (!await confirm({ title: `Delete ${uid}?`, text: 'Deletes its documents and settings. Searches of it are refused.', action: 'Delete the index', danger: true, type: uid })) return;
  const { done } = await write('DELETE', route('indexes', uid), { title: `Delete ${uid}`, done: `${uid} is deleted` });
  const task = await done;
  if (task?.status !== 'succeeded') return;
  forget(uid);
  // The address must not name what is gone.
  if (new URLSearchParams(location.search).get('index') === uid) go({ view: 'indexes', index: '' });
}

export const MenuOf = ({ uid, onSheet }: { uid: string; onSheet: () => void }) => <Menu label={`More for ${uid}`} items={[
  { title: 'Details', icon: 'info', onPick: onSheet },
  { title: 'Settings', icon: 'settings', onPick: () => { switchIndex(uid); go({ view: 'settings' }); } },
  { title: 'Set an alias …', icon: 'pin', onPick: () => setAlias(uid) },
  { title: 'Clone …', icon: 'copy', onPick: () => clone(uid) },
  { title: 'Rename …', icon: 'edit', onPick: () => rename(uid) },
  { title: 'Delete …', icon: 'trash', danger: true, onPick: () => remove(uid) },
]} />;
