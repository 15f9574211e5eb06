import './try.css';
import { param, setParams } from '../../state/address';
import { PageHead, Tabs } from '../../ui';
import type { View } from '../types';
import { Chat } from './Chat';
import { Mcp } from './Mcp';

function Try() {
  const tab = param('tab') === 'chat' ? 'chat' : 'mcp';
  return (
    <>
      <PageHead title="Try" about="What agents see through MCP, and how a language model answers from these documents." />
      <Tabs label="What is tried" value={tab} onChange={now => setParams({ tab: now === 'mcp' ? null : now })} options={[{ id: 'mcp', title: 'MCP' }, { id: 'chat', title: 'Chat' }]}>
        {tab === 'mcp' ? <Mcp /> : <Chat />}
      </Tabs>
    </>
  );
}

export const view: View = { id: 'try', title: 'Try: MCP & chat', group: 'Operate', icon: 'try', words: 'agents assistants tools model context protocol conversation', component: Try };
