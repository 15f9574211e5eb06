import { useState } from 'preact/hooks';
import type { SearchQuery } from '../../api/types';
import { key } from '../../state/session';
import { CodeBlock, Drawer, Tabs } from '../../ui';
import { codeOf, LANGUAGES, type Language } from './code';

export function CodeDrawer({ index, query, onClose }: { index: string; query: SearchQuery; onClose: () => void }) {
  const [language, setLanguage] = useState<Language>('curl');
  const code = codeOf(language, { host: location.origin, index, hasKey: Boolean(key.value) }, query);
  return (
    <Drawer title="This search as code" onClose={onClose}>
      <Tabs label="Language" value={language} onChange={setLanguage} options={LANGUAGES.map(id => ({ id, title: id }))}><CodeBlock label={language} code={code} /></Tabs>
      {key.value && <p class="muted">The code does not contain your key; it reads LAMINA_KEY.</p>}
    </Drawer>
  );
}
