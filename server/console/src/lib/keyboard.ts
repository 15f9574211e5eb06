// Whether a key that is pressed is text for the element that has the focus. Boxes to tick, sliders and buttons take none.
const TEXTS = new Set(['text', 'search', 'email', 'url', 'tel', 'password', 'number', 'date', 'time', 'datetime-local', 'month', 'week']);

export function takesText(element: { tagName: string; type?: string; isContentEditable?: boolean } | null): boolean {
  if (!element) return false;
  const name = element.tagName.toUpperCase();
  return name === 'TEXTAREA' || name === 'SELECT' || element.isContentEditable === true || (name === 'INPUT' && TEXTS.has(element.type ?? 'text'));
}
