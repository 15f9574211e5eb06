// What people mean by a few letters: a name that begins with them, then one with a word that does, then one that has them in order.

/** How well a text fits; 0 where it does not. */
export function fits(text: string, typed: string): number {
  const wanted = typed.trim().toLowerCase(), there = text.toLowerCase();
  if (!wanted) return 1;
  if (there === wanted) return 100;
  if (there.startsWith(wanted)) return 80 - Math.min(20, there.length - wanted.length) / 10;
  const place = there.indexOf(wanted);
  if (place > 0) return /[\p{L}\p{N}]/u.test(there[place - 1] ?? '') ? 40 : 60;
  const words = wanted.split(/\s+/);
  if (words.length > 1) return words.every(word => there.includes(word)) ? 35 : 0;
  let at = -1, gaps = 0;
  for (const letter of wanted) {
    const next = there.indexOf(letter, at + 1);
    if (next < 0) return 0;
    if (at >= 0) gaps += next - at - 1;
    at = next;
  }
  return Math.max(1, 20 - gaps);
}

/** Those that fit, best first; equal ones keep their order. */
export function best<T>(all: readonly T[], typed: string, text: (one: T) => string, most = Infinity): T[] {
  return all.map(one => [one, fits(text(one), typed)] as const).filter(([, score]) => score > 0)
    .sort(([, one], [, other]) => other - one).slice(0, most).map(([one]) => one);
}
