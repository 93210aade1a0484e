import { describe, expect, it } from '@jest/globals';
import { fuzz } from '#support';
import type { FuzzTarget } from '#support';
import { nextActivation, parseCron } from './cron.ts';
import { matchesNamespacePattern } from './namespace-pattern.ts';

const targets: readonly FuzzTarget[] = [
  {
    name: 'the schedule of a window',
    seeds: ['*/5 0-6,12 1,15 JAN-DEC MON-FRI', 'TZ=Europe/Berlin 0 22 * * *', '0 0 30 2 *', '1-100000/1 * * * *'],
    read: (text) => {
      const schedule = parseCron(text.toString());
      return 'error' in schedule ? schedule : nextActivation(schedule, 1_700_000_000_000);
    },
  },
  {
    name: 'a pattern of namespaces',
    seeds: ['team-*', '!kube-*', '/^a(b|c)+$/', '/x{1,}{1,}/', '{a,b}', '{'.repeat(1000)],
    read: (text) => matchesNamespacePattern(text.toString().slice(0, 1000), 'team-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'),
  },
];

describe('parsers of project rules', () => {
  it.each(targets)(
    '$name: returns a result or our own error, in time',
    async (target) => {
      expect((await fuzz(target)).inputs).toBeGreaterThan(0);
    },
    120_000,
  );
});
