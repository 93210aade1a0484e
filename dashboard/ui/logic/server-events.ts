/** One server-sent event. */
export interface ServerEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

/** The complete events of a text, and what follows the last one. Comments are skipped. */
export function parseServerEvents(text: string): { readonly events: readonly ServerEvent[]; readonly rest: string } {
  const end = text.lastIndexOf('\n\n');
  if (end < 0) return { events: [], rest: text };
  const events: ServerEvent[] = [];
  for (const block of text.slice(0, end).split('\n\n')) {
    const event = { id: '', type: 'message', data: '' };
    for (const line of block.split('\n')) {
      if (line.startsWith('id: ')) event.id = line.slice(4);
      else if (line.startsWith('event: ')) event.type = line.slice(7);
      else if (line.startsWith('data: ')) event.data += line.slice(6);
    }
    if (event.data !== '') events.push(event);
  }
  return { events, rest: text.slice(end + 2) };
}
