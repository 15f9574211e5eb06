// Text of documents: what matched is marked, links are links, and nothing is HTML.
import type { Json, JsonObject } from '../api/types';
import { asText, isLink } from '../lib/documents';
import { partsOf, unmarked } from '../lib/marks';
import { count } from '../lib/text';
import { Chip, Link } from './controls';

const LISTED = 30, SHORT = 60, LONGEST = 5000;

/** A text with its marks; of one that nobody reads here to its end, the beginning. */
export function Marked({ text }: { text: string }) {
  const rest = text.length - LONGEST;
  return <>{partsOf(rest > 0 ? text.slice(0, LONGEST) : text).map((part, place) => part.isMarked ? <mark key={place}>{part.text}</mark> : part.text)}{rest > 0 && <span class="muted"> … and {count(rest)} more characters</span>}</>;
}

const isPlain = (value: Json | undefined) => value === null || typeof value !== 'object';

/** A value beside the same value with marks in it. */
export function Value({ value, formatted }: { value: Json; formatted?: Json }) {
  if (value === null) return <span class="muted">null</span>;
  if (typeof value !== 'object') {
    const text = typeof formatted === 'string' && unmarked(formatted) === String(value) ? formatted : String(value);
    return isLink(value) ? <Link href={value} external><Marked text={text} /></Link> : <Marked text={text} />;
  }
  if (Array.isArray(value)) {
    const inside = (place: number) => Array.isArray(formatted) ? formatted[place] : undefined;
    const isShort = value.every(one => isPlain(one) && asText(one).length < SHORT);
    const parts = value.slice(0, LISTED).map((one, place) => <Value value={one} formatted={inside(place)} />);
    const rest = value.length > LISTED && <span class="muted">and {value.length - LISTED} more</span>;
    return isShort ? <span class="chips">{parts.map((one, place) => <Chip key={place}>{one}</Chip>)}{rest}</span> : <ul class="values">{parts.map((one, place) => <li key={place} dir="auto">{one}</li>)}{rest && <li>{rest}</li>}</ul>;
  }
  const inside = formatted && typeof formatted === 'object' && !Array.isArray(formatted) ? formatted as JsonObject : {};
  const all = Object.entries(value);
  return <dl class="nested">{all.slice(0, LISTED).map(([name, one]) => <div key={name}><dt>{name}</dt><dd dir="auto"><Value value={one} formatted={inside[name]} /></dd></div>)}{all.length > LISTED && <div class="muted">and {count(all.length - LISTED)} more</div>}</dl>;
}
