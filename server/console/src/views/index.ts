// The views. A new one is a folder here, and a line. They are imported in the order in which the whole is smallest: what is alike stands together.
import { view as compare } from './compare';
import { view as rules } from './rules';
import { view as search } from './search';
import { view as settings } from './settings';
import { view as synonyms } from './synonyms';
import { view as analytics } from './analytics';
import { view as indexes } from './indexes';
import { view as keys } from './keys';
import { view as tasks } from './tasks';
import { view as server } from './server';
import { view as documents } from './documents';
import { view as tryOut } from './try';
import type { Group, View } from './types';

export const groups: readonly Group[] = ['Data', 'Relevance', 'Operate'];
/** In the order of the rail. */
export const views: readonly View[] = [analytics, indexes, documents, search, compare, rules, synonyms, settings, tasks, server, keys, tryOut];
export const viewOf = (id: string): View | undefined => views.find(one => one.id === id);
