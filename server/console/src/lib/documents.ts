// What people would call a document by, and how it looks.
import type { Json, JsonObject } from '../api/types';

const TITLES = ['title', 'name', 'label', 'headline', 'subject'];
const TITLE_MOST = 200;

/** The field that people would call a document by. */
export function titleField(document: JsonObject, primaryKey: string | null, searchable: readonly string[] = []): string | null {
  const isTitle = (name: string) => {
    const value = Object.hasOwn(document, name) ? document[name] : undefined;
    return typeof value === 'string' && value !== '' && name !== primaryKey && value.length < TITLE_MOST && !name.startsWith('_');
  };
  return [...TITLES, ...searchable.filter(name => name !== '*'), ...Object.keys(document)].find(isTitle) ?? null;
}

/** What people would call a document: its title, else its id. */
export function titleOf(document: JsonObject, primaryKey: string | null, searchable?: readonly string[]): string {
  const name = titleField(document, primaryKey, searchable) ?? primaryKey;
  return (name && asText(document[name])) || 'Document';
}

/** The field with a picture: an address that ends like one, or in a field that is called like one. */
export function pictureField(document: JsonObject): string | null {
  for (const [name, value] of Object.entries(document)) {
    const url = Array.isArray(value) ? value[0] : value;
    if (typeof url !== 'string' || !isLink(url)) continue;
    if (/\.(avif|gif|jpe?g|png|svg|webp)(\?\S*)?$/i.test(url) || /(image|img|picture|photo|poster|thumb|cover|avatar)/i.test(name)) return name;
  }
  return null;
}

/** Only these become links: nothing that runs. */
export const isLink = (value: Json | undefined): value is string => typeof value === 'string' && /^https?:\/\/[^\s/]\S*$/.test(value);
export const asText = (value: Json | undefined): string => typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
/** In a cell of a table: lists of texts and numbers without their brackets. */
export const asCell = (value: Json | undefined): string => Array.isArray(value) && value.every(one => one === null || typeof one !== 'object') ? value.map(asText).join(', ') : value === null ? '' : asText(value);
