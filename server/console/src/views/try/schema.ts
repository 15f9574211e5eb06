// Forms of the arguments of tools, from their schemas.
import type { Json, JsonObject } from '../../api/types';
import { parseJson } from '../../lib/json';

export type Form = { kind: 'text' | 'number' | 'json' | 'texts' | 'switch' } | { kind: 'choice'; choices: string[] };
export interface Argument { name: string; form: Form; about: string; isRequired: boolean }
export interface Tool { name: string; description?: string; inputSchema?: JsonObject }

const object = (value: Json | undefined): JsonObject => value && typeof value === 'object' && !Array.isArray(value) ? value : {};

function formOf(schema: JsonObject): Form {
  const choices = schema['enum'];
  if (Array.isArray(choices) && choices.every(one => typeof one === 'string')) return { kind: 'choice', choices: choices as string[] };
  const types = [schema['type']].flat();
  if (types.includes('boolean')) return { kind: 'switch' };
  if (types.includes('array')) return [object(schema['items'])['type']].flat().some(one => one === 'string' || one === undefined) ? { kind: 'texts' } : { kind: 'json' };
  if (types.includes('object') || schema['anyOf'] || schema['oneOf']) return { kind: 'json' };
  return types.includes('integer') || types.includes('number') ? { kind: 'number' } : { kind: 'text' };
}

export function argumentsOf(tool: Tool): Argument[] {
  const schema = object(tool.inputSchema), required = Array.isArray(schema['required']) ? schema['required'] : [];
  return Object.entries(object(schema['properties'])).map(([name, one]) => ({ name, form: formOf(object(one)), about: typeof object(one)['description'] === 'string' ? object(one)['description'] as string : '', isRequired: required.includes(name) }))
    .sort((one, other) => Number(other.isRequired) - Number(one.isRequired));
}

/** What is sent, of what people wrote; empty ones are left out. `fault` is at the argument that is no JSON. */
export function sentOf(all: readonly Argument[], written: Readonly<Record<string, string | string[] | boolean>>): { value: JsonObject; fault?: { name: string; message: string } } {
  const value: JsonObject = {};
  for (const { name, form } of all) {
    const text = written[name];
    if (text === undefined || text === '' || (Array.isArray(text) && text.length === 0)) continue;
    if (form.kind === 'json' && typeof text === 'string') {
      const parsed = parseJson(text);
      // A plain text stands for itself where a text is allowed.
      if (parsed.fault && /^\s*[[{"]/.test(text)) return { value, fault: { name, message: parsed.fault.message } };
      value[name] = parsed.fault ? text : parsed.value;
    } else value[name] = form.kind === 'number' && typeof text === 'string' && Number.isFinite(Number(text)) ? Number(text) : text as Json;
  }
  return { value };
}
