// Search of the manual, for the page and for the test of its queries: sections of pages, found with typos and prefixes.

/** Words that a page of the manual calls otherwise. */
const SAME = {
  autosuggest: 'autocomplete', typeahead: 'autocomplete', fuzzy: 'typo', misspelling: 'typo', misspelled: 'typo', spelling: 'typo',
  container: 'docker', podman: 'docker', k8s: 'kubernetes', postgres: 'postgresql', facetting: 'facets', faceted: 'facets',
  geo: 'places', geolocation: 'places', latitude: 'places', elastic: 'elasticsearch', auth: 'keys', authentication: 'keys',
  pagination: 'paging', bm25: 'bm25', gpu: 'gpu', llm: 'agent', ai: 'agent', rag: 'agent', vectors: 'semantic', dedupe: 'variants',
};

/** How MiniSearch has to be set up, when the index is made and when it is read. */
const SETUP = {
  idField: 'url',
  fields: ['page', 'title', 'also', 'text'],
  storeFields: ['of', 'title', 'kind', 'lead'],
  tokenize: text => text.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(word => word),
  searchOptions: {
    boost: { page: 5, title: 4, also: 4, text: 1 },
    prefix: word => word.length > 2,
    fuzzy: word => (word.length > 7 ? 2 : word.length > 3 ? 1 : 0),
    weights: { fuzzy: 0.35, prefix: 0.5 },
    combineWith: 'OR',
    // A task is looked for more often than an entry of a reference, and a page more often than a part of it.
    boostDocument: (url, term, stored) =>
      ({ Start: 1.15, 'How-to': 1.3, Explanation: 0.85, Reference: 0.8 })[stored?.kind] * (url.includes('#') ? 0.7 : 1),
  },
};

/** Words that say nothing in a question. */
const STOP = new Set('a an and are can do does for how i in is it my of on or the to use using what when where with you your'.split(' '));

/** Returns the function that finds sections, best first, at most two of a page. */
function manual(index) {
  return query => {
    const words = SETUP.tokenize(query);
    const telling = words.filter(word => !STOP.has(word));
    const asked = (telling.length ? telling : words).map(word => SAME[word] ?? word);
    if (!asked.length) return [];
    const ofPage = new Map();
    return index
      .search(asked.join(' '))
      // A section with more of the words comes before one with a word more often.
      .map(hit => ({ ...hit, score: hit.score * (new Set(hit.queryTerms).size / asked.length) ** 2 }))
      .sort((a, b) => b.score - a.score)
      .filter(hit => {
        const page = hit.id.split('#')[0];
        ofPage.set(page, (ofPage.get(page) ?? 0) + 1);
        return ofPage.get(page) < 3;
      })
      .slice(0, 12);
  };
}

if (typeof module === 'object') module.exports = { SETUP, manual };
