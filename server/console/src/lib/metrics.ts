// The page of metrics, and what two looks at it say: for servers that keep no history.

export interface Sample { name: string; labels: Record<string, string>; value: number }

export function readMetrics(text: string): Sample[] {
  return text.split('\n').flatMap(line => {
    const found = /^([^\s{#]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!found) return [];
    const labels: Record<string, string> = {};
    for (const [, name = '', value = ''] of (found[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    return [{ name: found[1] ?? '', labels, value: Number(found[3]) }];
  });
}

const sum = (all: readonly Sample[], name: string, fits: (labels: Record<string, string>) => boolean = () => true) =>
  all.reduce((sum, one) => one.name === name && fits(one.labels) ? sum + one.value : sum, 0);
const isSearch = (labels: Record<string, string>) => /search$/.test(labels['path'] ?? '');

type Buckets = [number, number][];
function buckets(all: readonly Sample[], fits: (labels: Record<string, string>) => boolean): Buckets {
  const found = new Map<number, number>();
  for (const one of all) {
    if (one.name !== 'lamina_http_response_time_seconds_bucket' || !fits(one.labels)) continue;
    const limit = one.labels['le'] === '+Inf' ? Infinity : Number(one.labels['le']);
    found.set(limit, (found.get(limit) ?? 0) + one.value);
  }
  return [...found].sort(([one], [other]) => one - other);
}

/** Milliseconds below which a share of the requests between two looks stayed; null where there was none. */
export function quantile(before: Buckets, now: Buckets, share: number): number | null {
  const counts = now.map(([limit, count]) => [limit, count - (before.find(([one]) => one === limit)?.[1] ?? 0)] as const);
  const all = counts.at(-1)?.[1] ?? 0;
  if (all <= 0) return null;
  const place = counts.findIndex(([, count]) => count >= share * all), limit = counts[place]?.[0] ?? Infinity;
  return (Number.isFinite(limit) ? limit : counts[place - 1]?.[0] ?? 0) * 1000;
}

/** What the server keeps of its last hours, a list for each series; and what is made of looks at the metrics. */
export interface History {
  window: string;
  stepSeconds: number;
  at: string[];
  requestsPerSecond: number[];
  failuresPerSecond: number[];
  searchesPerSecond: number[];
  requestP50Ms: (number | null)[];
  requestP99Ms: (number | null)[];
  searchP50Ms: (number | null)[];
  searchP99Ms: (number | null)[];
  memoryBytes: number[];
  heapBytes: number[];
  diskBytes: number[];
  waitingTasks: number[];
}
export interface Look { at: number; samples: Sample[] }

export function historyOf(looks: readonly Look[]): History {
  const made: History = {
    window: '', stepSeconds: 0, at: [], requestsPerSecond: [], failuresPerSecond: [], searchesPerSecond: [], requestP50Ms: [], requestP99Ms: [], searchP50Ms: [], searchP99Ms: [],
    memoryBytes: [], heapBytes: [], diskBytes: [], waitingTasks: [],
  };
  looks.slice(1).forEach((now, place) => {
    const before = looks[place];
    if (!before) return;
    const seconds = Math.max(0.001, (now.at - before.at) / 1000);
    const rate = (fits: (labels: Record<string, string>) => boolean) =>
      Math.max(0, sum(now.samples, 'lamina_http_requests_total', fits) - sum(before.samples, 'lamina_http_requests_total', fits)) / seconds;
    const ms = (fits: (labels: Record<string, string>) => boolean, share: number) => quantile(buckets(before.samples, fits), buckets(now.samples, fits), share);
    made.at.push(new Date(now.at).toISOString());
    made.requestsPerSecond.push(rate(() => true));
    made.failuresPerSecond.push(rate(labels => Number(labels['status']) >= 500));
    made.searchesPerSecond.push(rate(isSearch));
    made.requestP50Ms.push(ms(() => true, 0.5));
    made.requestP99Ms.push(ms(() => true, 0.99));
    made.searchP50Ms.push(ms(isSearch, 0.5));
    made.searchP99Ms.push(ms(isSearch, 0.99));
    made.memoryBytes.push(sum(now.samples, 'process_resident_memory_bytes'));
    made.heapBytes.push(sum(now.samples, 'lamina_heap_bytes'));
    made.diskBytes.push(sum(now.samples, 'lamina_db_size_bytes'));
    made.waitingTasks.push(sum(now.samples, 'lamina_nb_tasks', labels => labels['kind'] === 'statuses' && (labels['value'] === 'enqueued' || labels['value'] === 'processing')));
  });
  return made;
}
