// What may come next in a filter that is being written.
import { quoted } from '../../lib/filters';

const TOKENS = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[()[\],]|[<>!=]+|[^\s()[\],<>!="']+/g;
export const OPERATORS = ['=', '!=', '>', '>=', '<', '<=', 'TO', 'IN [', 'NOT IN [', 'EXISTS', 'NOT EXISTS', 'IS NULL', 'IS EMPTY', 'STARTS WITH'];
export type Next = 'name' | 'operator' | 'value' | 'list' | 'range' | 'join';
export interface Place { next: Next; name: string; partial: string; before: string }

export const bare = (text: string) => text.replace(/^["']|["']$/g, '').replace(/\\(.)/g, '$1');
/** As a filter has it: between quotes where it must be. */
export const asWord = (text: string) => /^[\p{L}\p{N}_.-]+$/u.test(text) && !/^(AND|OR|NOT|TO|IN|IS|EXISTS)$/i.test(text) ? text : quoted(text);

/** What may come next at the end of a text, and the token that is being typed. */
export function nextInFilter(text: string): Place {
  const tokens = text.match(TOKENS) ?? [];
  // Inside of quotes a blank ends nothing.
  const isQuoted = /^(?:"(?:[^"\\]|\\.)*|'(?:[^'\\]|\\.)*)$/.test(tokens.at(-1) ?? '');
  const partial = !text || (!isQuoted && /[\s([,]$/.test(text)) ? '' : tokens.pop() ?? '';
  let next: Next = 'name', name = '';
  for (const token of tokens) {
    if (next === 'name') {
      if (!/^(NOT|\()$/i.test(token)) { name = bare(token); next = 'operator'; }
    } else if (next === 'operator') {
      if (/^(EXISTS|NULL|EMPTY)$/i.test(token)) next = 'join';
      else if (/^[<>!=]|^WITH$/i.test(token)) next = 'value';
      else if (token === '[') next = 'list';
      else if (!/^(NOT|IN|IS|STARTS)$/i.test(token)) next = 'range';
    } else if (next === 'range') next = 'value';
    else if (next === 'list') { if (token === ']') next = 'join'; }
    else if (next === 'value') next = 'join';
    else if (/^(AND|OR)$/i.test(token)) next = 'name';
  }
  return { next, name, partial, before: text.slice(0, text.length - partial.length) };
}

const MOST = 12;
/** The whole filters that a place may become; `values` knows the values of a field. */
export async function offersOf(text: string, names: readonly string[], values: (name: string, text: string) => Promise<string[]>): Promise<{ filter: string; shown: string }[]> {
  const { next, name, partial, before } = nextInFilter(text);
  const starts = (list: readonly string[]) => list.filter(one => one.toLowerCase().startsWith(partial.toLowerCase()));
  const list = next === 'name' ? starts(names.map(asWord)) : next === 'operator' ? starts(OPERATORS) : next === 'join' ? starts(['AND', 'OR']) : next === 'range' ? starts(['TO'])
    : (await values(name, bare(partial))).map(asWord);
  return list.slice(0, MOST).map(one => ({ filter: before + (before && !/[\s([]$/.test(before) ? ' ' : '') + one, shown: one }));
}
