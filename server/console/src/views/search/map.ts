// A flat map: what of the earth is seen, and where a point is in it.
import type { Json } from '../../api/types';
import { niceStep } from './query';

export interface Point { lat: number; lng: number }
export interface Seen { top: number; right: number; bottom: number; left: number }

export function pointOf(value: Json | undefined): Point | null {
  const one = Array.isArray(value) ? value[0] : value;
  if (!one || typeof one !== 'object' || Array.isArray(one)) return null;
  const read = (part: Json | undefined) => typeof part === 'number' || (typeof part === 'string' && part.trim()) ? Number(part) : NaN;
  const lat = read(one['lat']), lng = read(one['lng']);
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 180 ? { lat, lng } : null;
}

const MARGIN = 0.15, LEAST = 0.02, PART = 80;
/** All points with a margin, in a map `shape` times as wide as high: degrees of longitude are narrower away from the equator. */
export function viewOf(points: readonly Point[], shape: number): Seen {
  if (!points.length) return { top: 80, bottom: -60, left: -180, right: 180 };
  const lats = points.map(one => one.lat), lngs = points.map(one => one.lng);
  const lat = (Math.max(...lats) + Math.min(...lats)) / 2, lng = (Math.max(...lngs) + Math.min(...lngs)) / 2, narrow = Math.max(0.2, Math.cos(lat * Math.PI / 180));
  let high = Math.max(LEAST, Math.max(...lats) - Math.min(...lats)) * (1 + 2 * MARGIN), wide = Math.max(LEAST, Math.max(...lngs) - Math.min(...lngs)) * (1 + 2 * MARGIN);
  if (wide * narrow < high * shape) wide = high * shape / narrow; else high = wide * narrow / shape;
  return { top: Math.min(90, lat + high / 2), bottom: Math.max(-90, lat - high / 2), left: Math.max(-180, lng - wide / 2), right: Math.min(180, lng + wide / 2) };
}

export const project = ({ lat, lng }: Point, seen: Seen, width: number, height: number): [number, number] =>
  [(lng - seen.left) / (seen.right - seen.left || 1) * width, (seen.top - lat) / (seen.top - seen.bottom || 1) * height];

export interface Line { x1: number; y1: number; x2: number; y2: number; text: string; isFlat: boolean }
export function gridOf(seen: Seen, width: number, height: number): Line[] {
  const lines: Line[] = [], each = (from: number, to: number, parts: number, draw: (degree: number) => void) => {
    const step = niceStep(from, to, parts);
    for (let place = Math.ceil(from / step); place * step < to && lines.length < 60; place++) draw(Number((place * step).toFixed(6)));
  };
  each(seen.bottom, seen.top, Math.max(2, height / PART), lat => { const [, y] = project({ lat, lng: 0 }, seen, width, height); lines.push({ x1: 0, y1: y, x2: width, y2: y, text: Math.abs(lat) + '°' + (lat < 0 ? ' S' : ' N'), isFlat: true }); });
  each(seen.left, seen.right, Math.max(3, width / PART), lng => { const [x] = project({ lat: 0, lng }, seen, width, height); lines.push({ x1: x, y1: 0, x2: x, y2: height, text: Math.abs(lng) + '°' + (lng < 0 ? ' W' : ' E'), isFlat: false }); });
  return lines;
}
