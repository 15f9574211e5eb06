// Files of documents, as they arrive: each document or row with the line that it begins at. A broken one costs itself alone.

export interface Piece { text: string; line: number }
export interface Row { cells: string[]; line: number }
/** Takes the next part of a text, and gives what has ended in it. */
export interface Splitter<T> { push: (text: string) => T[]; end: () => T[] }

/** A document a line. */
export function lines(): Splitter<Piece> {
  let rest = '', line = 0;
  const take = (texts: string[]) => texts.flatMap(text => {
    line += 1;
    return text.trim() ? [{ text: text.trim(), line }] : [];
  });
  return {
    push: text => {
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      return take(parts);
    },
    end: () => take([rest]),
  };
}

/** The elements of a JSON array, or objects one after the other, as they are written: numbers keep all of their digits. */
export function elements(): Splitter<Piece> {
  let text = '', at = 0, from = -1, depth = 0, base = -1, line = 1, fromLine = 1, isText = false, isEscaped = false;
  const out: Piece[] = [];
  const close = (end: number) => {
    const element = from < 0 ? '' : text.slice(from, end).trim();
    if (element) out.push({ text: element, line: fromLine });
    from = -1;
  };
  const inText = (letter: string) => {
    if (isEscaped) isEscaped = false;
    else if (letter === '\\') isEscaped = true;
    else if (letter === '"') isText = false;
  };
  const step = (letter: string) => {
    if (letter === '\n') line += 1;
    if (isText) return inText(letter);
    if (base < 0 && letter.trim()) {
      base = letter === '[' ? 1 : 0;
      if (base) { depth = 1; return; }
    }
    if (letter === ',' && depth === base) return close(at);
    if (letter === ']' && depth === 1 && base === 1) { close(at); base = depth = 0; return; }
    if (from < 0 && letter.trim()) { from = at; fromLine = line; }
    if (letter === '"') isText = true;
    else if (letter === '[' || letter === '{') depth += 1;
    else if (letter === ']' || letter === '}') {
      depth -= 1;
      if (depth === 0 && base === 0) close(at + 1);
    }
  };
  const taken = () => out.splice(0);
  return {
    push: more => {
      // What lies before the element under way is not needed any more.
      const kept = from < 0 ? at : from;
      text = text.slice(kept) + more;
      at -= kept;
      if (from >= 0) from = 0;
      for (; at < text.length; at++) step(text[at] ?? '');
      return taken();
    },
    end: () => { close(text.length); return taken(); },
  };
}

/** Rows of CSV, as the command line and the server read them: quotes count at the beginning of a cell, `\n` and `\r` end rows, blank lines are none. */
export function rows(delimiter: string): Splitter<Row> {
  let cells: string[] = [], cell = '', state: 'start' | 'plain' | 'quoted' | 'quote' = 'start', line = 1, from = 1, wasReturn = false;
  const endCell = () => { cells.push(cell); cell = ''; state = 'start'; };
  const endRow = (): Row[] => {
    endCell();
    const row = cells;
    cells = [];
    return row.length > 1 || row[0]?.trim() ? [{ cells: row, line: from }] : [];
  };
  return {
    push: text => {
      const out: Row[] = [];
      for (let at = 0; at < text.length; at++) {
        const letter = text[at] ?? '', isBreak = letter === '\n' || letter === '\r';
        if (letter === '\r' || (letter === '\n' && !wasReturn)) line += 1;
        const isSecond = letter === '\n' && wasReturn;
        wasReturn = letter === '\r';
        if (state === 'quoted') {
          if (letter === '"') state = 'quote'; else cell += letter;
        } else if (letter === '"' && state !== 'plain') {
          if (state === 'quote') cell += letter;
          state = 'quoted';
        } else if (letter === delimiter) endCell();
        else if (isBreak) {
          if (!isSecond) out.push(...endRow());
          from = line;
        } else { cell += letter; state = 'plain'; }
      }
      return out;
    },
    end: () => cells.length > 0 || cell ? endRow() : [],
  };
}

const DELIMITERS = [',', ';', '\t', '|'];
/** What the first row is split at: the comma, if it has one. */
export const delimiterOf = (header: string) => DELIMITERS.find(one => header.includes(one)) ?? ',';
