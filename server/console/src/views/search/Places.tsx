// Places on a map without tiles: a grid of degrees, a point for each hit, a box that is drawn or stepped to.
import { useState } from 'preact/hooks';
import { post, route } from '../../api/client';
import { useResource } from '../../api/resource';
import type { Hit, SearchAnswer, Settings } from '../../api/types';
import { plural } from '../../lib/text';
import { setParams } from '../../state/address';
import { Button, IconButton, useWidth } from '../../ui';
import { gridOf, pointOf, project, viewOf, type Point, type Seen } from './map';
import { selectionOf, type Asked, type Box } from './query';

const POINTS = 500;
const rounded = (value: number) => Number(value.toFixed(5));

export function Places({ index, asked, settings, onPick, titleOf }: { index: string; asked: Asked; settings: Settings; onPick: (hit: Hit) => void; titleOf: (hit: Hit) => string }) {
  const query = { ...selectionOf(asked, settings), limit: POINTS };
  const found = useResource(signal => post<SearchAnswer>(route('indexes', index, 'search'), query, { signal }), [index, JSON.stringify(query)], { keep: true });
  const points = (found.data?.hits ?? []).flatMap(hit => { const at = pointOf(hit['_geo']); return at ? [{ ...at, hit }] : []; });
  const [moved, setMoved] = useState<Seen | null>(null), [drawn, setDrawn] = useState<{ from: [number, number]; to: [number, number] } | null>(null);
  const isThere = points.length > 0 || asked.box !== null;
  // Drawn in its own pixels: labels have the size of other texts, however wide the page is.
  const [svg, WIDTH] = useWidth<SVGSVGElement>(640, isThere), HEIGHT = Math.round(Math.min(420, Math.max(220, WIDTH / 2.2)));
  const seen = moved ?? (asked.box ? seenOf(asked.box) : viewOf(points, WIDTH / HEIGHT));
  if (!isThere) return null;
  const x = (point: Point) => project(point, seen, WIDTH, HEIGHT);
  const at = (event: PointerEvent): [number, number] => {
    const box = svg.current?.getBoundingClientRect();
    return box ? [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height] : [0, 0];
  };
  const choose = (box: Box) => { setMoved(null); setParams({ box: box.map(rounded).join(','), limit: null }); };
  const up = () => {
    if (drawn && Math.abs(drawn.from[0] - drawn.to[0]) > 0.01 && Math.abs(drawn.from[1] - drawn.to[1]) > 0.01) {
      const [left = 0, right = 0] = [drawn.from[0], drawn.to[0]].sort((one, other) => one - other), [top = 0, bottom = 0] = [drawn.from[1], drawn.to[1]].sort((one, other) => one - other);
      choose([seen.top - top * (seen.top - seen.bottom), seen.left + right * (seen.right - seen.left), seen.top - bottom * (seen.top - seen.bottom), seen.left + left * (seen.right - seen.left)]);
    }
    setDrawn(null);
  };
  const zoom = (by: number) => {
    const high = (seen.top - seen.bottom) * by / 2, wide = (seen.right - seen.left) * by / 2, lat = (seen.top + seen.bottom) / 2, lng = (seen.left + seen.right) / 2;
    setMoved({ top: Math.min(90, lat + high), bottom: Math.max(-90, lat - high), left: Math.max(-180, lng - wide), right: Math.min(180, lng + wide) });
  };
  return (
    <figure class="places">
      <figcaption><span>{plural(points.length, 'location')}{(found.data?.estimatedTotalHits ?? 0) > POINTS ? ` of the first ${POINTS} hits` : ''}</span>
        <span class="row"><IconButton size="s" icon="plus" label="Zoom in" onClick={() => zoom(0.5)} /><IconButton size="s" icon="minus" label="Zoom out" onClick={() => zoom(2)} />
          <Button size="s" onClick={() => choose([seen.top, seen.right, seen.bottom, seen.left])}>Search this area</Button>
          {asked.box && <Button size="s" kind="quiet" onClick={() => { setMoved(null); setParams({ box: null }); }}>Clear the area</Button>}</span></figcaption>
      <svg ref={svg} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label="Map: draw a box to search in it"
        onPointerDown={event => { if (!(event.target as Element).closest('a')) { svg.current?.setPointerCapture(event.pointerId); const here = at(event); setDrawn({ from: here, to: here }); } }}
        onPointerMove={event => { if (drawn) setDrawn({ ...drawn, to: at(event) }); }} onPointerUp={up} onPointerCancel={() => setDrawn(null)}>
        {gridOf(seen, WIDTH, HEIGHT).map(line => <g key={line.text} class="grid-line"><line x1={line.x1} y1={line.y1} x2={line.x2} y2={line.y2} /><text x={line.x1 + 4} y={line.isFlat ? line.y1 - 4 : HEIGHT - 6}>{line.text}</text></g>)}
        {points.map((point, place) => {
          const [left, top] = x(point), title = titleOf(point.hit);
          return left < 0 || left > WIDTH || top < 0 || top > HEIGHT ? null : (
            <a key={place} role="button" tabIndex={0} aria-label={title} onClick={() => onPick(point.hit)} onKeyDown={event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); onPick(point.hit); } }}>
              <circle cx={left} cy={top} r={points.length > 100 ? 4 : 6}><title>{title}</title></circle></a>
          );
        })}
        {drawn && <rect class="drawn" x={Math.min(drawn.from[0], drawn.to[0]) * WIDTH} y={Math.min(drawn.from[1], drawn.to[1]) * HEIGHT} width={Math.abs(drawn.from[0] - drawn.to[0]) * WIDTH} height={Math.abs(drawn.from[1] - drawn.to[1]) * HEIGHT} />}
      </svg>
    </figure>
  );
}

const seenOf = ([top, right, bottom, left]: Box): Seen => ({ top, right: right > left ? right : 180, bottom, left: right > left ? left : -180 });
