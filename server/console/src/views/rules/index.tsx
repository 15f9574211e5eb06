import { post, Refused, request } from '../../api/client';
import { useResource } from '../../api/resource';
import { bump } from '../../api/tasks';
import type { ListOf, Rule } from '../../api/types';
import { Badge, Button, Empty, Loaded, PageHead, Table } from '../../ui';
import type { View } from '../types';

function Rules() {
  const found = useResource(signal => post<ListOf<Rule>>('/dynamic-search-rules', { limit: 1000 }, { signal }).catch(error => {
    if (error instanceof Refused && error.code === 'feature_not_enabled') return null;
    throw error;
  }), []);
  const turnOn = async () => {
    await request('PATCH', '/experimental-features', { body: { dynamicSearchRules: true } });
    bump();
  };
  return (
    <>
      <PageHead title="Rules" about="A rule pins, hides or boosts documents in searches that meet its conditions." />
      <Loaded of={found} isEmpty={rules => rules !== null && rules.results.length === 0} empty={<Empty icon="rules" title="There is no rule yet.">A rule puts the right document first for the words that people type.</Empty>}>
        {rules => rules === null
          ? <Empty icon="rules" title="Rules are turned off." actions={<Button kind="primary" onClick={turnOn}>Turn rules on</Button>}>They are an experimental feature of this server.</Empty>
          : <Table label="Rules" rows={rules.results} keyOf={rule => rule.uid} columns={[
            { id: 'uid', title: 'Rule', cell: rule => <strong dir="auto">{rule.uid}</strong> },
            { id: 'about', title: 'Description', grow: true, cell: rule => rule.description ?? '' },
            { id: 'state', title: 'State', cell: rule => <Badge tone={rule.active === false ? 'plain' : 'good'}>{rule.active === false ? 'off' : 'on'}</Badge> },
          ]} />}
      </Loaded>
    </>
  );
}

export const view: View = { id: 'rules', title: 'Rules', group: 'Relevance', icon: 'rules', words: 'pin hide boost merchandise', component: Rules };
