// The search as programs send it. A key is never written into it: it is read from the environment.
import type { Json, SearchQuery } from '../../api/types';
import { route } from '../../api/client';

export const LANGUAGES = ['curl', 'JavaScript', 'Python'] as const;
export type Language = typeof LANGUAGES[number];
interface Place { host: string; index: string; hasKey: boolean }

/** A text between single quotes, for a shell. */
const shell = (text: string) => "'" + text.replaceAll("'", "'\\''") + "'";

function python(value: Json | undefined): string {
  if (Array.isArray(value)) return '[' + value.map(python).join(', ') + ']';
  if (value && typeof value === 'object') return '{' + Object.entries(value).map(([name, one]) => JSON.stringify(name) + ': ' + python(one)).join(', ') + '}';
  return value === null || value === undefined ? 'None' : typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value);
}

export function codeOf(language: Language, { host, index, hasKey }: Place, query: SearchQuery): string {
  const { q = '', ...rest } = query, hasRest = Object.keys(rest).length > 0;
  if (language === 'curl') {
    return `curl ${shell(host + route('indexes', index, 'search'))} \\\n  -H 'Content-Type: application/json' \\\n${hasKey ? '  -H "Authorization: Bearer $LAMINA_KEY" \\\n' : ''}  --data ${shell(JSON.stringify(query, null, 2))}`;
  }
  if (language === 'JavaScript') {
    return `import { Meilisearch } from 'meilisearch';\n\nconst client = new Meilisearch({ host: ${JSON.stringify(host)}${hasKey ? ', apiKey: process.env.LAMINA_KEY' : ''} });\n`
      + `const { hits } = await client.index(${JSON.stringify(index)}).search(${JSON.stringify(q)}${hasRest ? ', ' + JSON.stringify(rest, null, 2) : ''});`;
  }
  return `${hasKey ? 'import os\n\n' : ''}import meilisearch\n\nclient = meilisearch.Client(${JSON.stringify(host)}${hasKey ? ', os.environ["LAMINA_KEY"]' : ''})\n`
    + `hits = client.index(${JSON.stringify(index)}).search(${JSON.stringify(q)}${hasRest ? ', ' + python(rest as Json) : ''})["hits"]`;
}
