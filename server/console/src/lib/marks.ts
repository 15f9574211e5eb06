// What matched stands between two characters that no text has. Documents are never HTML here: parts become text nodes.
export const OPEN = '\u0001', CLOSE = '\u0002';
export interface Part { text: string; isMarked: boolean }

export function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  const add = (part: string, isMarked: boolean) => { if (part) parts.push({ text: part, isMarked }); };
  for (const [place, part] of text.split(OPEN).entries()) {
    if (place === 0) { add(part.replaceAll(CLOSE, ''), false); continue; }
    const [inside = '', ...rest] = part.split(CLOSE);
    add(inside, rest.length > 0);
    add(rest.join(''), false);
  }
  return parts;
}

export const unmarked = (text: string) => text.replaceAll(OPEN, '').replaceAll(CLOSE, '');
