// Lists of queries and filters, with bars that say how much each is of the first.
import { useState } from 'preact/hooks';
import { get, route } from '../../api/client';
import { useResource } from '../../api/resource';
import type { ListOf } from '../../api/types';
import { count } from '../../lib/text';
import { go, param, setParams } from '../../state/address';
import { Button, Loaded, Tabs } from '../../ui';
import { expressionOf, timesOf, type List, type Range, type Row } from './figures';

const FIRST = 8, MORE = 50;
/** The row that was opened last, with the time that it is of. */
export let picked: { row: Row; of: string } | null = null;

export function Ranked({ label, name, lists, index, range }: { label: string; name: string; lists: readonly List[]; index: string; range: Range }) {
  const list = lists.find(one => one.id === param(name)) ?? lists[0]!, [most, setMost] = useState(FIRST), times = JSON.stringify([range.start, range.step]);
  const found = useResource(async signal => ({ ...await get<ListOf<Row>>(route('analytics', index, list.id), { query: { ...timesOf(range), limit: most }, signal }), of: list }), [index, list.id, times, most], { live: false, keep: true, everyMs: 60_000 });
  const open = (row: Row) => {
    if (row.query === undefined) return go({ view: 'search', params: { q: null, filter: expressionOf(row.filter ?? '') } });
    picked = { row, of: times };
    setParams({ query: row.query }, { replace: false });
  };
  return (
    <section class="card">
      <Tabs label={label} value={list.id} options={lists} onChange={id => { setMost(FIRST); setParams({ [name]: id === lists[0]?.id ? null : id }); }}>
        <Loaded of={found} lines={FIRST} isEmpty={all => all.results.length === 0} empty={<p class="muted">{list.empty ?? 'Nothing in this time.'}</p>}>{({ results, total = 0, of }) => {
          const highest = Math.max(...results.map(of.bar)) || 1;
          return (
            <>
              <table class="ranked" aria-label={of.title}>
                <thead><tr><th scope="col">{of.id === 'filters' ? 'Filter' : 'Query'}</th>{of.columns.map(one => <th key={one.title} scope="col" class="number">{one.title}</th>)}</tr></thead>
                <tbody>{results.map(row => (
                  <tr key={row.query ?? row.filter} onClick={() => open(row)}>
                    <th scope="row"><i style={{ width: of.bar(row) / highest * 100 + '%' }} /><button type="button" class="plain" dir="auto">{row.query ?? expressionOf(row.filter ?? '')}</button></th>
                    {of.columns.map(one => <td key={one.title} class="number">{one.text(row)}</td>)}
                  </tr>
                ))}</tbody>
              </table>
              {total > results.length && most < 1000 && <Button size="s" kind="quiet" busy={found.loading} onClick={() => setMost(Math.min(1000, most + MORE))}>Show more of {count(total)}</Button>}
            </>
          );
        }}</Loaded>
      </Tabs>
    </section>
  );
}
