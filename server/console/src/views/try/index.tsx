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
      <PageHead title="MCP and chat" about="Call the tools that agents get, and let a language model answer from your documents." />
      <Tabs label="MCP or chat" value={tab} onChange={now => setParams({ tab: now === 'mcp' ? null : now })} options={[{ id: 'mcp', title: 'MCP' }, { id: 'chat', title: 'Chat' }]}>
        {tab === 'mcp' ? <Mcp /> : <Chat />}
      </Tabs>
    </>
  );
}

export const view: View = { id: 'try', title: 'MCP and chat', group: 'Operate', icon: 'try', words: 'agents assistants tools model context protocol conversation', component: Try };
