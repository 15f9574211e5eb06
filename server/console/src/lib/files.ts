// Files of documents: what they are, and the index that they are for.

/** A name for an index, of the name of a file. */
export const nameOfFile = (name: string) => name.replace(/\.[^.]*$/, '').normalize('NFKD').replace(/\p{M}+/gu, '').replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 100).toLowerCase() || 'documents';

/** Gives people a text as a file. */
export function save(name: string, text: string, type: string) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export async function kindOfFile(file: { name: string; slice: Blob['slice'] }): Promise<{ type: string; query: Record<string, string> }> {
  const ending = file.name.split('.').pop()?.toLowerCase() ?? '';
  if (ending === 'csv') return { type: 'text/csv', query: {} };
  if (ending === 'tsv') return { type: 'text/csv', query: { csvDelimiter: '\t' } };
  const begins = (await file.slice(0, 64).text()).trimStart();
  return { type: begins.startsWith('[') ? 'application/json' : 'application/x-ndjson', query: {} };
}
