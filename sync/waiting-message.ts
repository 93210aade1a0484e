/** The subject of a `waitingMessage` of step.ts; undefined for another message. */
export function parseWaitingMessage(
  message: string,
):
  | { readonly what: 'hook' | 'health' | 'other'; readonly group: string; readonly kind: string; readonly name: string }
  | undefined {
  const found = /^waiting for ([a-z ]+) ([^ /]*)\/([^ /]+)\/([^ ]*)/.exec(message);
  if (found === null) return undefined;
  const [, reason = '', group = '', kind = '', name = ''] = found;
  const what = reason.endsWith('hook') ? 'hook' : reason === 'healthy state of' ? 'health' : 'other';
  return { what, group, kind, name };
}
