// The settings that there are: in groups, as people call them. What each is for and what a change costs is the server's to say: its description of itself has both.
import { signal } from '@preact/signals';
import { get } from '../../api/client';

export interface Meta { about: string; cost: string | undefined }
export const meta = signal<Record<string, Meta>>({});

interface Schema { properties?: Record<string, { description?: string }> }
interface Described { paths?: Record<string, { patch?: { requestBody?: { content?: Record<string, { schema?: Schema }> } } }> }

/** "What it is for. Cost of a change: none." */
export function metaOf(description = ''): Meta {
  const [about = '', cost] = description.split(/\.? Cost of a change: /);
  return { about: about ? about[0]?.toUpperCase() + about.slice(1).replace(/`/g, '') + '.' : '', cost: cost?.replace(/\.$/, '') };
}

let asked: Promise<void> | null = null;
export const loadMeta = () => asked ??= get<Described>('/openapi.json').then(all => {
  const settings = all.paths?.['/indexes/{indexUid}/settings']?.patch?.requestBody?.content?.['application/json']?.schema?.properties ?? {};
  meta.value = Object.fromEntries(Object.entries(settings).map(([name, one]) => [name, metaOf(one.description)]));
}).catch(() => { asked = null; });

export interface Group { id: string; title: string; names: readonly string[] }
export const GROUPS: readonly Group[] = [
  { id: 'search', title: 'Search', names: ['searchableAttributes', 'searchableAttributesWeights', 'matchingStrategy', 'prefixSearch', 'typoTolerance', 'proximityPrecision'] },
  { id: 'ranking', title: 'Ranking', names: ['rankingRules', 'distinctAttribute', 'bm25'] },
  { id: 'facets', title: 'Filters and facets', names: ['filterableAttributes', 'sortableAttributes', 'faceting', 'facetSearch'] },
  { id: 'words', title: 'Words', names: ['synonyms', 'stopWords', 'wordForms', 'dictionary', 'separatorTokens', 'nonSeparatorTokens', 'localizedAttributes'] },
  { id: 'meaning', title: 'Embedders', names: ['embedders', 'rerankers'] },
  { id: 'answers', title: 'Results', names: ['displayedAttributes', 'pagination', 'searchCutoffMs', 'completions'] },
  { id: 'more', title: 'More', names: ['expiryAttribute', 'foreignKeys', 'chat'] },
];
const TITLES: Record<string, string> = {
  searchableAttributes: 'Searchable fields', searchableAttributesWeights: 'Field weights', matchingStrategy: 'Matching strategy', prefixSearch: 'Prefix search', typoTolerance: 'Typo tolerance',
  proximityPrecision: 'Proximity precision', rankingRules: 'Ranking rules', distinctAttribute: 'Distinct field', bm25: 'BM25', filterableAttributes: 'Filterable fields', sortableAttributes: 'Sortable fields',
  faceting: 'Facet values', facetSearch: 'Facet search', synonyms: 'Synonyms', stopWords: 'Stop words', wordForms: 'Word forms', dictionary: 'Dictionary', separatorTokens: 'Separators',
  nonSeparatorTokens: 'Characters within words', localizedAttributes: 'Languages', embedders: 'Embedders', rerankers: 'Rerankers', displayedAttributes: 'Displayed fields', pagination: 'Pagination', searchCutoffMs: 'Time limit',
  completions: 'Completions', expiryAttribute: 'Expiry', foreignKeys: 'Foreign keys', chat: 'Conversations',
};
/** What people call it; the name that programs use where there is no other. */
export const titleOfSetting = (name: string) => Object.hasOwn(TITLES, name) ? TITLES[name] ?? name : name;
/** The groups, with settings that this console does not know in the last. */
export function groupsOf(names: readonly string[]): Group[] {
  const listed = new Set(GROUPS.flatMap(group => group.names)), others = names.filter(name => !listed.has(name));
  return GROUPS.map(group => ({ ...group, names: [...group.names.filter(name => names.length === 0 || names.includes(name)), ...(group.id === 'more' ? others : [])] }));
}
