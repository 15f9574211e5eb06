// The views, in the order of the rail. A new one is a folder here, and a line.
import { view as search } from './search';
import { view as compare } from './compare';
import { view as rules } from './rules';
import { view as synonyms } from './synonyms';
import { view as settings } from './settings';
import { view as indexes } from './indexes';
import { view as documents } from './documents';
import { view as tasks } from './tasks';
import { view as server } from './server';
import { view as keys } from './keys';
import { view as tryOut } from './try';
import type { Group, View } from './types';

export const groups: readonly Group[] = ['Data', 'Relevance', 'Operate'];
export const views: readonly View[] = [indexes, documents, search, compare, rules, synonyms, settings, tasks, server, keys, tryOut];
export const viewOf = (id: string): View | undefined => views.find(one => one.id === id);
