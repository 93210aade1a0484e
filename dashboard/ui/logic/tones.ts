export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'none';

const tones: Readonly<Record<string, Tone>> = {
  Synced: 'good',
  Healthy: 'good',
  Succeeded: 'good',
  synced: 'good',
  Ready: 'good',
  completed: 'good',
  OutOfSync: 'warn',
  Suspended: 'warn',
  degraded: 'warn',
  polled: 'warn',
  waiting: 'warn',
  'left-out': 'none',
  Progressing: 'busy',
  Running: 'busy',
  Terminating: 'busy',
  listing: 'busy',
  connecting: 'busy',
  running: 'busy',
  Degraded: 'bad',
  Missing: 'bad',
  Failed: 'bad',
  Error: 'bad',
  failed: 'bad',
  forbidden: 'bad',
  'Not ready': 'bad',
  SyncFailed: 'bad',
};

/** The tone of a state's word. */
export function toneOf(word: string): Tone {
  return Object.hasOwn(tones, word) ? (tones[word] ?? 'none') : 'none';
}

/** A shape for each tone, so that colour is never alone. */
export const glyphs: Readonly<Record<Tone, string>> = { good: '✓', busy: '◐', warn: '▲', bad: '✕', none: '○' };
