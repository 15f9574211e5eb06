// A stream of events as the server sends it: `data:` lines, an empty one between two events.

export interface StreamEvent { event: string; data: string }

export function eventsOf(): { push: (text: string) => StreamEvent[] } {
  let rest = '';
  return {
    push: text => {
      const parts = (rest + text).replace(/\r\n/g, '\n').split('\n\n');
      rest = parts.pop() ?? '';
      return parts.flatMap(part => {
        let event = 'message';
        const data: string[] = [];
        for (const line of part.split('\n')) {
          if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
          else if (line.startsWith('event:')) event = line.slice(6).trim();
        }
        return data.length ? [{ event, data: data.join('\n') }] : [];
      });
    },
  };
}
