/** The event that a step waits for. */
export type WaitedFor = 'hook' | 'health' | 'object deletion' | 'confirmation' | 'other';

const reasons: readonly (readonly [string, WaitedFor])[] = [
  ['hook', 'hook'],
  ['healthy state of', 'health'],
  ['confirmation of', 'confirmation'],
  ['deletion of', 'object deletion'],
];

/** The subject of a `waitingMessage` of step.ts; undefined for another message. */
export function parseWaitingMessage(
  message: string,
): { readonly what: WaitedFor; readonly group: string; readonly kind: string; readonly name: string } | undefined {
  const found = /^waiting for ([a-z ]+) ([^ /]*)\/([^ /]+)\/([^ ]*)/.exec(message);
  if (found === null) return undefined;
  const [, reason = '', group = '', kind = '', name = ''] = found;
  return { what: reasons.find(([end]) => reason.endsWith(end))?.[1] ?? 'other', group, kind, name };
}
