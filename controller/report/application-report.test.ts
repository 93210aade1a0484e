import { expect, it } from '@jest/globals';
import type { Json } from '#base';
import { appKeyOf } from '#model';
import type { Application } from '#model';
import { reportState } from './application-report.ts';
import type { ApplicationReportDeps } from './application-report.ts';

const started = Date.parse('2026-01-01T00:00:00Z');

/** The replica does not own the Application, and remembers nothing about it. */
const deps = {
  clock: { now: () => started + 3_600_000, monotonic: () => 3_600_000 },
  startedAt: started,
  memoryOf: () => undefined,
  rowsOf: () => [],
  syncHold: () => undefined,
  fullQueue: () => undefined,
  syncTimeoutMs: 0,
} as unknown as ApplicationReportDeps;

function asked(managedFields: readonly Json[]): Application {
  const metadata = { namespace: 'argocd', name: 'shop', managedFields };
  const spec = { project: 'default', destination: { server: 'https://c', namespace: 'shop' } };
  return { metadata, spec, operation: { sync: {} } } as unknown as Application;
}

it.each([
  [
    'the last change of the Application',
    ['2026-01-01T00:20:00Z', '2026-01-01T00:50:00Z', null],
    '2026-01-01T00:50:00Z',
  ],
  ['the start of the process, if the hub does not tell', [], '2026-01-01T00:00:00Z'],
])('an operation that another replica has to begin waits since %s', (_, times, since) => {
  const app = asked(times.map((time) => ({ manager: 'kubectl', time })));
  expect(reportState(appKeyOf(app), app, deps).waiting).toEqual({
    what: 'waiting for its first step',
    since: since.replace('Z', '.000Z'),
  });
});
