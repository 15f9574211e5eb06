// What of a document is its title, its picture and its price, and which fields are shown: chosen once for an index.
import { about } from '../../state/indexes';
import { Button, Chips, Combobox, Dialog } from '../../ui';
import { chosenFields, NONE, type Chosen } from './Hits';

const ROLES = [['title', 'Title'], ['picture', 'Picture'], ['price', 'Price']] as const;

export function FieldsDialog({ index, onClose }: { index: string; onClose: () => void }) {
  const chosen = chosenFields.value[index] ?? {}, names = about.value.fields.map(value => ({ value }));
  const set = (change: Partial<Chosen>) => { chosenFields.value = { ...chosenFields.value, [index]: { ...chosen, ...change } }; };
  const reset = () => { const { [index]: _, ...rest } = chosenFields.value; chosenFields.value = rest; };
  const options = [{ value: '', title: 'As found' }, { value: NONE, title: 'None' }, ...names];
  return (
    <Dialog title="How hits look" onClose={onClose} actions={<><Button onClick={reset}>As found</Button><Button kind="primary" onClick={onClose}>Done</Button></>}>
      {ROLES.map(([role, label]) => <Combobox key={role} label={label} value={chosen[role] ?? ''} options={options} onChange={now => set({ [role]: now })} />)}
      <Chips label="Fields and columns" values={chosen.fields ?? []} options={names} onChange={fields => set({ fields })} placeholder="All, as they come" hint="In this order. This browser remembers it for the index." />
    </Dialog>
  );
}
