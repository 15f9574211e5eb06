// State that follows something outside of a component.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** State that begins as `value` and becomes it again whenever that changes. Not by an effect: one that comes late would take away what was typed meanwhile. */
export function useFollowed<T>(value: T): [T, (now: T) => void] {
  const [now, set] = useState(value), before = useRef(value);
  if (Object.is(before.current, value)) return [now, set];
  before.current = value;
  set(value);
  return [value, set];
}

/** The width of an element, as it changes; `isThere` says whether it is in the page. */
export function useWidth<E extends Element>(usual: number, isThere = true) {
  const place = useRef<E>(null), [width, setWidth] = useState(usual);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([one]) => { if (one && one.contentRect.width > 0) setWidth(Math.round(one.contentRect.width)); });
    if (place.current) watch.observe(place.current);
    return () => watch.disconnect();
  }, [isThere]);
  return [place, width] as const;
}
