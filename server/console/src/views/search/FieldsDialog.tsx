// What of a document is its title, its picture and its price, and which fields are shown: chosen once for an index.
import { about } from '../../state/indexes';
import { Button, Chips, Combobox, Dialog } from '../../ui';
import { chosenFields, NONE, type Chosen } from './Hits';

const ROLES = [['title', 'Title'], ['picture', 'Picture'], ['price', 'Price']] as const;

export function FieldsDialog({ index, onClose }: { index: string; onClose: () => void }) {
  const chosen = chosenFields.value[index] ?? {}, names = about.value.fields.map(value => ({ value }));
  const set = (change: Partial<Chosen>) => { chosenFields.value = { ...chosenFields.value, [index]: { ...chosen, ...change } }; };
  const reset = () => { const { [index]: _, ...rest } = chosenFields.value; chosenFields.value = rest; };
  const options = [{ value: '', title: 'Automatic' }, { value: NONE, title: 'None' }, ...names];
  return (
    <Dialog title="Display of hits" onClose={onClose} actions={<><Button onClick={reset}>Reset</Button><Button kind="primary" onClick={onClose}>Done</Button></>}>
      {ROLES.map(([role, label]) => <Combobox key={role} label={label} value={chosen[role] ?? ''} options={options} onChange={now => set({ [role]: now })} />)}
      <Chips label="Fields and columns" values={chosen.fields ?? []} options={names} onChange={fields => set({ fields })} placeholder="All fields" hint="In this order. This browser remembers the choice for the index." />
    </Dialog>
  );
}
