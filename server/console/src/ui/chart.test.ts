import { describe, expect, test } from 'vitest';
import { pathOf, stepOf } from './chart';

const x = (place: number) => place * 10, y = (value: number) => 100 - value;

describe('a line', () => {
  test('breaks where a value is missing, and a single one is a dot', () => { expect(pathOf([1, 2, null, 3], x, y)).toBe('M0.0 99.0L10.0 98.0M30.0 97.0h0'); });
  test('has an area down to the base, of each of its parts', () => { expect(pathOf([1, 2, null, 3], x, y, 100)).toBe('M0.0 100L0.0 99.0L10.0 98.0V100ZM30.0 100L30.0 97.0V100Z'); });
  test('of nothing is none', () => { expect([pathOf([], x, y), pathOf([null], x, y, 100)]).toEqual(['', '']); });
});

describe('a scale', () => {
  test.each([[0, false, 1], [NaN, false, 1], [3, false, 1], [10, false, 5], [0.3, false, 0.1], [5000, true, 2048]])('up to %s', (most, isBytes, step) => { expect(stepOf(most, isBytes)).toBeCloseTo(step); });
});
