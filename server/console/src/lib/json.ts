// Where JSON that someone writes is wrong: browsers say it each in its own words, some without a place.
import type { Json, JsonObject } from '../api/types';

export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export interface JsonFault { message: string; line: number; column: number; offset: number }
export type Parsed = { value: Json; fault?: undefined } | { value?: undefined; fault: JsonFault };

class Stop extends Error {
  constructor(message: string, readonly at: number) { super(message); }
}

export function parseJson(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    const { message, at } = faultOf(text);
    return { fault: { message, offset: at, ...placeOf(text, at) } };
  }
}

export function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

function faultOf(text: string): { message: string; at: number } {
  try {
    const end = space(text, value(text, space(text, 0), 0));
    if (end < text.length) throw new Stop('Unexpected text after the end.', end);
  } catch (error) {
    if (error instanceof Stop) return { message: error.message, at: error.at };
    throw error;
  }
  return { message: 'This is not valid JSON.', at: 0 };
}

const DEEPEST = 2000;
const space = (text: string, at: number) => { while (' \t\r\n'.includes(text[at] ?? 'x')) at += 1; return at; };

function value(text: string, at: number, depth: number): number {
  const first = text[at];
  if (depth > DEEPEST) throw new Stop('This is nested too deeply.', at);
  if (first === undefined) throw new Stop(text.trim() ? 'A value is missing at the end.' : 'Enter some JSON.', at);
  if (first === '{') return members(text, at, depth, '}');
  if (first === '[') return members(text, at, depth, ']');
  if (first === '"') return string(text, at);
  const word = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\p{L}\p{N}_.])/u.exec(text.slice(at, at + 400));
  if (word) return at + word[0].length;
  if (first === "'") throw new Stop('Strings need double quotes.', at);
  if (first === ',' || first === ']' || first === '}') throw new Stop(`A value is missing before "${first}".`, at);
  const written = /^[\p{L}\p{N}_.+-]+/u.exec(text.slice(at, at + 40))?.[0] ?? first;
  throw new Stop(`"${written}" is not a value: strings need double quotes.`, at);
}

function string(text: string, at: number): number {
  for (let place = at + 1; place < text.length; place++) {
    const letter = text[place] ?? '';
    if (letter === '"') return place + 1;
    if (letter === '\n') throw new Stop('A closing quote is missing.', at);
    if (letter < ' ') throw new Stop('A control character must be written with a backslash.', place);
    if (letter === '\\') {
      const escaped = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.exec(text.slice(place, place + 6));
      if (!escaped) throw new Stop('After a backslash comes one of " \\ / b f n r t or u with four digits.', place);
      place += escaped[0].length - 1;
    }
  }
  throw new Stop('A closing quote is missing.', at);
}

function members(text: string, open: number, depth: number, close: '}' | ']'): number {
  let at = space(text, open + 1);
  if (text[at] === close) return at + 1;
  for (;;) {
    if (close === '}') {
      if (text[at] === undefined) throw new Stop('A closing "}" is missing.', open);
      if (text[at] !== '"') throw new Stop(text[at] === '}' ? 'There is an extra comma before "}".' : 'A name between double quotes is missing.', at);
      at = space(text, string(text, at));
      if (text[at] !== ':') throw new Stop('A ":" is missing after the name.', at);
      at = space(text, at + 1);
    } else if (text[at] === ']') throw new Stop('There is an extra comma before "]".', at);
    at = space(text, value(text, at, depth + 1));
    if (text[at] === close) return at + 1;
    if (text[at] === undefined) throw new Stop(`A closing "${close}" is missing.`, open);
    if (text[at] !== ',') throw new Stop(`A comma or "${close}" is missing.`, at);
    at = space(text, at + 1);
  }
}
