// An explanation in sentences: what matched, what each ranking rule says, and where a hit beat the next one.
import type { Json, JsonObject } from '../../api/types';
import { count, plural } from '../../lib/text';
import { LAST } from '../rules/rule';

export interface Match { attribute: string; term?: string; match: string; positions?: number[] }
export interface WordSeen { word: string; isMatched: boolean; matches: Match[] }
export interface Stage { stage: string; took: string; documents?: number }
export type Rules = Record<string, JsonObject>;

const HOW: Record<string, string> = {
  exact: 'as it is', stem: 'another form', prefix: 'begins so', oneTypo: 'one typo', twoTypos: 'two typos', synonym: 'a synonym', split: 'as two words', concatenation: 'as one word', phrase: 'as a phrase',
};
export const howOf = (match: string) => HOW[match] ?? match;

export const REASONS: Record<string, string> = {
  hit: 'It is a hit.', documentNotFound: 'There is no such document.', documentDeleted: 'It was deleted.', filteredOut: 'The filter excludes it.',
  excludedByQuery: 'It contains a word that the query excludes.', missingWords: 'It lacks words that the query requires.',
  belowRankingScoreThreshold: 'Its score is below the threshold.', notDistinct: 'A better hit has the same value of the distinct field.',
  beyondMaxTotalHits: 'It lies beyond the last hit that pagination reaches.', outsideOfPage: 'It ranks further down the list.', searchCutoff: 'The time limit ended the search before it was ranked.',
};

const TITLES: Record<string, string> = {
  words: 'Words', typo: 'Typos', proximity: 'Proximity', attributeRank: 'Field', attribute: 'Field', wordPosition: 'Position', exactness: 'Exactness', bm25: 'Relevance (BM25)',
  vectorSort: 'Vectors', fusion: 'Words and vectors', rerank: 'Reranker', pin: 'Pinned', skipped: 'Not evaluated',
};
export function ruleTitle(rule: string): string {
  if (TITLES[rule]) return TITLES[rule];
  const [, kind, field] = /^(boost|decay|boostIf)(?::(.*?))?(?:#\d+)?$/.exec(rule) ?? [];
  if (kind) return field ? `Boost by ${field}` : 'Boost';
  const sort = /^(.*):(asc|desc)$/.exec(rule);
  return sort ? `${sort[1]}, ${sort[2] === 'asc' ? 'ascending' : 'descending'}` : rule;
}

const number = (value: Json | undefined) => typeof value === 'number' ? value : 0;
const shown = (value: Json | undefined) => typeof value === 'number' ? (Math.round(value * 1000) / 1000).toLocaleString('en') : value === null || value === undefined ? 'no value' : typeof value === 'string' ? value : JSON.stringify(value);

/** Words that stand between the words of the query, where all are in one field: as near as they come. Null where they are in none together. */
export function wordsBetween(words: readonly WordSeen[]): number | null {
  const matched = words.filter(one => one.isMatched);
  if (matched.length < 2) return null;
  const places = (one: WordSeen) => {
    const by = new Map<string, number[]>();
    for (const match of one.matches) by.set(match.attribute, [...(by.get(match.attribute) ?? []), ...(match.positions ?? [])]);
    return by;
  };
  let best: number | null = null;
  for (const [attribute, starts] of places(matched[0] as WordSeen)) {
    let ends = new Map(starts.map(at => [at, 0]));
    for (const word of matched.slice(1)) {
      const there = places(word).get(attribute) ?? [], next = new Map<number, number>();
      for (const at of there) for (const [before, between] of ends) {
        if (at === before) continue;
        const all = between + Math.abs(at - before) - 1;
        if (all < (next.get(at) ?? Infinity)) next.set(at, all);
      }
      ends = next;
    }
    for (const all of ends.values()) if (best === null || all < best) best = all;
  }
  return best;
}

const spelt = (words: readonly WordSeen[]) => words.flatMap(({ word, matches }) => {
  const isExact = matches.some(one => ['exact', 'prefix', 'stem', 'phrase'].includes(one.match)), typo = matches.find(one => /Typo/.test(one.match));
  const joined = matches.find(one => one.match === 'concatenation' || one.match === 'split');
  if (isExact || !(typo ?? joined)) return [];
  return [typo ? `${word} → ${typo.term ?? '…'}` : `${joined?.term ?? word} ${howOf(joined?.match ?? '')}`];
});

/** What a rule says of a hit. */
export function sentenceOf(rule: string, detail: JsonObject, words: readonly WordSeen[]): string {
  const of = (name: string) => `${number(detail['matchingWords'])} of ${plural(number(detail['maxMatchingWords']), name)}`;
  switch (rule) {
    case 'words': return of('word') + (words.some(one => !one.isMatched) ? `; missing: ${words.filter(one => !one.isMatched).map(one => one.word).join(', ')}` : '');
    case 'typo': {
      const typos = [...new Set(spelt(words))], count = number(detail['typoCount']);
      return count === 0 ? 'no typos' : plural(count, 'typo') + (typos.length ? ': ' + typos.join(', ') : '');
    }
    case 'proximity': {
      const between = wordsBetween(words);
      return between === null ? (words.length < 2 ? 'only one word' : 'no field contains the words together') : between === 0 ? 'side by side' : `${plural(between, 'word')} in between`;
    }
    case 'attributeRank': case 'attribute': {
      const fields = [...new Set(words.flatMap(one => one.matches.map(match => match.attribute)))];
      return fields.length ? 'in ' + fields.slice(0, 4).join(', ') + (fields.length > 4 ? ' …' : '') : 'in no field';
    }
    case 'wordPosition': {
      const first = Math.min(...words.flatMap(one => one.matches.flatMap(match => match.positions ?? [])));
      return Number.isFinite(first) ? (first === 0 ? 'from the first word on' : `first match at word ${first + 1}`) : 'how early the words occur';
    }
    case 'exactness': return detail['matchType'] === 'exactMatch' ? 'the field equals the query' : detail['matchType'] === 'matchesStart' ? 'the field begins with the query' : of('word') + ' as typed';
    case 'bm25': return `${of('word')}, score ${shown(detail['value'])} of at most ${shown(detail['maxValue'])}`;
    case 'vectorSort': return `similarity ${shown(detail['similarity'])}`;
    case 'fusion': return [['words', 'by words'], ['vectors', 'by vectors']].map(([name = '', by]) => {
      const arm = detail[name] as JsonObject | null | undefined;
      return arm ? `#${number(arm['rank']) + 1} ${by}` : `not ${by}`;
    }).join(', ');
    case 'rerank': return `score ${shown(detail['score'])} by the model`;
    case 'pin': { const at = number(detail['position']); return at >= LAST ? 'a rule moves it to the end' : `a rule pins it to position ${count(at + 1)}`; }
    case 'skipped': return 'decided by the rules above, or out of time';
  }
  if ('factor' in detail) return `times ${shown(detail['factor'])}`;
  if ('distance' in detail) return detail['distance'] === null ? 'no location' : `${number(detail['distance']).toLocaleString('en')} m away`;
  if ('value' in detail) return shown(detail['value']);
  return 'score' in detail ? `score ${shown(detail['score'])}` : '';
}

export const inOrder = (rules: Rules) => Object.entries(rules).sort(([, one], [, other]) => number(one['order']) - number(other['order']));

const same = (one: JsonObject, other: JsonObject) => JSON.stringify({ ...one, order: 0 }) === JSON.stringify({ ...other, order: 0 });
const measure = (detail: JsonObject) => JSON.stringify('score' in detail ? detail['score'] : detail['value'] ?? detail['factor'] ?? detail['similarity'] ?? detail);

/** The first rule that tells two hits apart. */
export function decidedBy(mine: Rules, next: Rules): string | null {
  for (const [rule, detail] of inOrder(mine)) {
    const other = Object.hasOwn(next, rule) ? next[rule] : undefined;
    if (!other || (!same(detail, other) && measure(detail) !== measure(other))) return rule;
  }
  return null;
}

const STAGES: Record<string, string> = {
  embed: 'Embed the query', parse: 'Parse the query', 'match and filter': 'Match and filter', 'split words': 'Split words', rank: 'Rank', hits: 'Sort the hits', facets: 'Count facets', facetDetails: 'Build histograms', format: 'Load and highlight hits',
  'filter for vectors': 'Filter for vectors', nearness: 'Compare vectors', 'hits by nearness': 'Sort by similarity',
};
export const stageTitle = (stage: string) => STAGES[stage] ?? stage;
