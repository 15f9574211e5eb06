// WCAG AA of every pair of tokens that stand on each other, in both themes.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const text = readFileSync(new URL('tokens.css', import.meta.url), 'utf8');
const tokens = new Map([...text.matchAll(/--([\w-]+): (?:light-dark\((#\w{6}), (#\w{6})\)|(#\w{6}));/g)].map(([, name, light, dark, both]) => [name ?? '', [light ?? both ?? '', dark ?? both ?? '']]));

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16) / 255).map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const GROUNDS = ['page', 'surface', 'raised', 'soft', 'hover'];
const TEXTS: [string, string[]][] = [
  ['text', [...GROUNDS, 'accent-soft', 'mark']], ['muted', [...GROUNDS, 'accent-soft']], ['accent', [...GROUNDS, 'accent-soft']], ['mark-text', ['mark']], ['on-accent', ['accent-fill']],
  ['on-bad', ['bad-fill']], ['good', ['good-soft', 'surface']], ['warn', ['warn-soft', 'surface']], ['bad', ['bad-soft', 'surface', 'page', 'raised']], ['info', ['info-soft', 'surface']],
];
describe.each([['light', 0], ['dark', 1]] as const)('%s', (_, theme) => {
  const of = (name: string) => {
    const found = tokens.get(name)?.[theme];
    if (!found) throw new Error('there is no token ' + name);
    return found;
  };
  test.each(TEXTS.flatMap(([ink, grounds]) => grounds.map(ground => [ink, ground] as const)))('%s on %s is read', (ink, ground) => { expect(contrast(of(ink), of(ground))).toBeGreaterThanOrEqual(4.5); });
  test.each(GROUNDS.slice(0, 3))('the edge of a field on %s is seen', ground => { expect(contrast(of('line-strong'), of(ground))).toBeGreaterThanOrEqual(3); });
});
