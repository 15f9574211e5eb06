import { uid } from '../../state/indexes';
import { CodeBlock, PageHead } from '../../ui';
import type { View } from '../types';

function Try() {
  const url = location.origin + '/mcp' + (uid.value ? '?index=' + encodeURIComponent(uid.value) : '');
  const settings = JSON.stringify({ mcpServers: { [uid.value || 'lamina']: { type: 'http', url, headers: { Authorization: 'Bearer …' } } } }, null, 2);
  return (
    <>
      <PageHead title="Try" about="Assistants and agents search these documents through MCP. The tools only read." />
      <div class="stack"><CodeBlock label="For clients that speak MCP" code={settings} /></div>
    </>
  );
}

export const view: View = { id: 'try', title: 'Try: MCP & chat', group: 'Operate', icon: 'try', words: 'agents assistants tools model context protocol', component: Try };
