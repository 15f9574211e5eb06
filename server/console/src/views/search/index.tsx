import './search.css';
import { go } from '../../state/address';
import type { View } from '../types';
import { Search } from './Search';

export const view: View = {
  id: 'search', title: 'Search', group: 'Relevance', icon: 'search', needsIndex: true, words: 'find query hits facets explain', component: Search,
  actions: () => [{ id: 'new', title: 'Search from the beginning', icon: 'search', run: () => go({ view: 'search', params: { q: null } }) }],
};
