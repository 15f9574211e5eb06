// The two ways of searching that are compared: parameters of searches, and settings that a clone has.
import type { Json, SearchQuery, Settings } from '../../api/types';
import { isObject } from '../../lib/json';
import { sayBoost, withBoosts } from '../settings/patch';
import { titleOfSetting } from '../settings/known';

export interface Side {
  strategy?: string;
  embedder?: string;
  ratio?: number;
  boosts?: Json[];
  settings: Settings;
}
export const NONE: Side = { settings: {} };

/** A side as the address has it; what is no side is that of the index. */
export function sideOf(text: string): Side {
  try {
    const value: unknown = JSON.parse(text || '{}');
    if (!isObject(value)) return NONE;
    const { strategy, embedder, ratio, boosts, settings } = value;
    return {
      ...(typeof strategy === 'string' ? { strategy } : {}), ...(typeof embedder === 'string' ? { embedder } : {}), ...(typeof ratio === 'number' ? { ratio } : {}),
      ...(Array.isArray(boosts) ? { boosts } : {}), settings: isObject(settings) ? settings : {},
    };
  } catch {
    return NONE;
  }
}
export function textOf({ settings, ...rest }: Side): string {
  const all = { ...rest, ...(Object.keys(settings).length ? { settings } : {}) };
  return Object.keys(all).length ? JSON.stringify(all) : '';
}

/** The parameters that it adds to a search. */
export function parametersOf({ strategy, embedder, ratio = 0.5, boosts }: Side): SearchQuery {
  return { ...(strategy ? { matchingStrategy: strategy } : {}), ...(embedder ? { hybrid: { embedder, semanticRatio: ratio } } : {}), ...(boosts ? { boosts } : {}) };
}
/** The settings that make the index search so by itself. The share of meaning is none: searches say it. */
export function appliedOf(side: Side, before: Settings): Settings {
  const made: Settings = { ...side.settings };
  if (side.strategy) made['matchingStrategy'] = side.strategy;
  if (side.boosts) made.rankingRules = withBoosts((made.rankingRules ?? before.rankingRules ?? []) as Json[], side.boosts);
  return made;
}
const STRATEGIES: Record<string, string> = { last: 'last words optional', frequency: 'frequent words optional', all: 'all words', any: 'any word' };
export function sayOf(side: Side): string[] {
  const { strategy, embedder, ratio = 0.5, boosts, settings } = side, said: string[] = [];
  if (strategy) said.push(Object.hasOwn(STRATEGIES, strategy) ? STRATEGIES[strategy] ?? strategy : strategy);
  if (embedder) said.push(ratio >= 1 ? 'vectors alone' : ratio <= 0 ? 'words alone' : `${Math.round(ratio * 100)} % vectors`);
  if (boosts) said.push(...(boosts.length ? boosts.map(sayBoost) : ['no boosts']));
  for (const [name, value] of Object.entries(settings)) {
    if (name === 'searchableAttributesWeights' && isObject(value)) said.push(...Object.entries(value).slice(0, 4).map(([field, weight]) => `${field} × ${String(weight)}`));
    else said.push(name === 'wordForms' && isObject(value) ? (value['enabled'] === true ? 'word forms' : value['enabled'] === false ? 'no word forms' : 'other word forms') : titleOfSetting(name).toLowerCase());
  }
  return said;
}

/** Where a hit is on the other side. */
export function movedTo(place: number, other: number): { text: string; say: string; tone: 'good' | 'bad' | 'accent' | 'plain' } | null {
  if (other === place) return null;
  if (other < 0) return { text: 'only here', say: 'not among the first of the other side', tone: 'accent' };
  return other > place ? { text: '↑ ' + (other - place), say: `${other - place} higher than on the other side`, tone: 'good' } : { text: '↓ ' + (place - other), say: `${place - other} lower than on the other side`, tone: 'bad' };
}
