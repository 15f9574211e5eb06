// Synonyms as people think of them: rows, one way or both.
export type Synonyms = Record<string, string[]>;
export interface Row { word: string; finds: string[]; isBoth: boolean }

export function rowsOf(all: Synonyms): Row[] {
  return Object.entries(all).map(([word, finds]) => ({ word, finds, isBoth: finds.length > 0 && finds.every(one => Object.hasOwn(all, one) && all[one]?.includes(word)) }));
}

/** What a word finds, with the way back if it goes both ways. What does not find anything any more goes. */
export function withRow(all: Synonyms, { word, finds, isBoth }: Row): Synonyms {
  const before = Object.hasOwn(all, word) ? all[word] ?? [] : [], wasBoth = rowsOf(all).find(row => row.word === word)?.isBoth ?? false;
  const made = new Map(Object.entries(all));
  const put = (name: string, list: string[]) => { if (list.length) made.set(name, [...new Set(list)]); else made.delete(name); };
  put(word, finds.filter(one => one !== word));
  for (const one of new Set([...before, ...finds])) {
    if (one === word) continue;
    const back = made.get(one) ?? [];
    if (isBoth && finds.includes(one)) put(one, [...back, word]);
    else if (wasBoth) put(one, back.filter(other => other !== word));
  }
  return Object.fromEntries(made);
}
export const withoutRow = (all: Synonyms, row: Row): Synonyms => withRow(all, { ...row, finds: [], isBoth: false });

/** Words that people paste: by lines, commas or semicolons. */
export const wordsOf = (text: string): string[] => [...new Set(text.split(/[\n,;]+/).map(one => one.trim()).filter(Boolean))];
