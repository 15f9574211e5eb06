// What keys may do, in groups; and sets of it for what programs usually are.
export interface Group { title: string; actions: readonly (readonly [string, string])[] }

/** Actions by what they are about, with what they allow. */
export const GROUPS: readonly Group[] = [
  { title: 'Search', actions: [['search', 'search'], ['chatCompletions', 'hold conversations']] },
  { title: 'Documents', actions: [['documents.get', 'read'], ['documents.add', 'add and change'], ['documents.delete', 'delete'], ['fields.post', 'list fields']] },
  { title: 'Indexes', actions: [['indexes.get', 'see'], ['indexes.create', 'create and clone'], ['indexes.update', 'rename'], ['indexes.delete', 'delete'], ['indexes.swap', 'swap, aliases'], ['indexes.compact', 'compact']] },
  { title: 'Settings', actions: [['settings.get', 'read'], ['settings.update', 'change'], ['stats.get', 'statistics']] },
  { title: 'Tasks', actions: [['tasks.get', 'see'], ['tasks.cancel', 'cancel'], ['tasks.delete', 'delete records']] },
  { title: 'Rules', actions: [['dynamicSearchRules.get', 'read'], ['dynamicSearchRules.update', 'change'], ['dynamicSearchRules.delete', 'delete']] },
  { title: 'Server', actions: [['version', 'version'], ['metrics.get', 'metrics'], ['network.get', 'replicas'], ['snapshots.create', 'snapshots'], ['dumps.create', 'dumps'], ['export', 'export'], ['experimental.get', 'see features'], ['experimental.update', 'switch features']] },
  { title: 'Keys', actions: [['keys.get', 'see'], ['keys.create', 'create'], ['keys.update', 'rename'], ['keys.delete', 'delete']] },
  { title: 'Webhooks', actions: [['webhooks.get', 'see'], ['webhooks.create', 'add'], ['webhooks.update', 'change'], ['webhooks.delete', 'delete']] },
  { title: 'Chats', actions: [['chats.get', 'see'], ['chats.delete', 'delete'], ['chatsSettings.get', 'see settings'], ['chatsSettings.update', 'change settings']] },
];

export interface Preset { id: string; title: string; about: string; actions: readonly string[]; name: string }
export const PRESETS: readonly Preset[] = [
  { id: 'search', title: 'Search page', about: 'Safe in a browser: it only searches', actions: ['search'], name: 'Search' },
  { id: 'load', title: 'Loader', about: 'Adds and deletes documents', actions: ['documents.add', 'documents.get', 'documents.delete', 'indexes.create', 'indexes.get', 'tasks.get'], name: 'Loader' },
  { id: 'agent', title: 'Agent (MCP)', about: 'Searches and reads, changes nothing', actions: ['search', 'documents.get', 'settings.get', 'indexes.get'], name: 'Agent' },
  { id: 'merchandise', title: 'Merchandiser', about: 'Settings, rules and comparisons', actions: ['search', 'documents.get', 'indexes.get', 'indexes.create', 'indexes.delete', 'settings.get', 'settings.update', 'stats.get', 'tasks.get', 'dynamicSearchRules.get', 'dynamicSearchRules.update', 'dynamicSearchRules.delete'], name: 'Merchandiser' },
  { id: 'watch', title: 'Monitoring', about: 'Reads metrics, tasks and sizes', actions: ['metrics.get', 'stats.get', 'tasks.get', 'version', 'network.get'], name: 'Monitoring' },
  { id: 'all', title: 'Everything', about: 'For a program that you trust', actions: ['*'], name: 'Everything' },
];

/** The preset that a set of actions is, if it is one. */
export const presetOf = (actions: ReadonlySet<string>): string => PRESETS.find(one => one.actions.length === actions.size && one.actions.every(action => actions.has(action)))?.id ?? '';

/** Whether an action reaches beyond indexes: a key for some indexes cannot have it. */
const GLOBAL = /^(version|export|metrics|dumps|snapshots|keys|experimental|network|chats|chatsSettings|webhooks|dynamicSearchRules)\b/;
export const isGlobal = (action: string) => GLOBAL.test(action);

const WIDE = 5;
/** What a key may, in a few words. */
export function said(actions: readonly string[]): string[] {
  if (actions.includes('*')) return ['everything'];
  return actions.length > WIDE ? [...actions.slice(0, WIDE - 1), `and ${actions.length - WIDE + 1} more`] : [...actions];
}

export const EXPIRIES = [{ value: '', title: 'Never' }, { value: '7', title: 'In a week' }, { value: '30', title: 'In 30 days' }, { value: '90', title: 'In 90 days' }, { value: '365', title: 'In a year' }, { value: 'day', title: 'On a day …' }] as const;
/** The time that a choice means; null is never. */
export function expiryOf(choice: string, day: string, now = Date.now()): string | null {
  if (choice === '') return null;
  if (choice === 'day') return day ? new Date(day + 'T23:59:59').toISOString() : null;
  return new Date(now + Number(choice) * 86_400_000).toISOString();
}
