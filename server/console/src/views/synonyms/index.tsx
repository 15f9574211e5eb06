import { get, route } from '../../api/client';
import { useResource } from '../../api/resource';
import { uid } from '../../state/indexes';
import { Chip, Empty, Loaded, PageHead, Table } from '../../ui';
import type { View } from '../types';

function Synonyms() {
  const index = uid.value;
  const found = useResource(signal => get<Record<string, string[]>>(route('indexes', index, 'settings', 'synonyms'), { signal }), [index]);
  return (
    <>
      <PageHead title="Synonyms" about="Words that also find what other words find." />
      <Loaded of={found} isEmpty={all => Object.keys(all).length === 0} empty={<Empty icon="synonyms" title="There are no synonyms yet.">“movie” could find “film”, and “tv” “television”.</Empty>}>
        {all => <Table label="Synonyms" rows={Object.entries(all)} keyOf={([word]) => word} columns={[
          { id: 'word', title: 'Word', cell: ([word]) => <strong dir="auto">{word}</strong> },
          { id: 'finds', title: 'Also finds', grow: true, cell: ([, words]) => <span class="chips">{words.map(one => <Chip key={one}>{one}</Chip>)}</span> },
        ]} />}
      </Loaded>
    </>
  );
}

export const view: View = { id: 'synonyms', title: 'Synonyms', group: 'Relevance', icon: 'synonyms', needsIndex: true, words: 'stop words forms dictionary', component: Synonyms };
