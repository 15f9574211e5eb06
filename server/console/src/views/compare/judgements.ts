// What people have judged, in this browser, for each index. The format is that of `lamina evaluate`.
import { preference } from '../../state/preferences';
import type { Judgement } from './measures';
import { gradeOf } from './measures';

const judged = preference<Record<string, Judgement[]>>('judged', {});
const isOne = (one: unknown): one is Judgement => typeof one === 'object' && one !== null && typeof (one as Judgement).q === 'string' && typeof (one as Judgement).relevant === 'object' && (one as Judgement).relevant !== null;

export const judgementsOf = (index: string): readonly Judgement[] => {
  const all: unknown = Object.hasOwn(judged.value, index) ? judged.value[index] : [];
  return Array.isArray(all) ? all.filter(isOne) : [];
};
export function keep(index: string, all: readonly Judgement[]) {
  const { [index]: _, ...rest } = judged.peek();
  judged.value = all.length ? { ...rest, [index]: [...all] } : rest;
}

/** The list with another grade of a document; null takes it away. A query without any is none. */
export function graded(all: readonly Judgement[], q: string, id: string, grade: number | null): Judgement[] {
  const place = all.findIndex(one => one.q === q), before = all[place];
  const relevant = new Map(Object.entries(before?.relevant ?? {}));
  if (grade === null) relevant.delete(id); else relevant.set(id, grade);
  const one: Judgement = { ...(before ?? { q }), relevant: Object.fromEntries(relevant) };
  if (place < 0) return relevant.size ? [...all, one] : [...all];
  return all.flatMap((other, at) => at !== place ? [other] : relevant.size ? [one] : []);
}
export const judgedOf = (all: readonly Judgement[], q: string) => all.find(one => one.q === q);
export const gradeIn = (one: Judgement | undefined, id: string) => one && gradeOf(one.relevant, id);
