import { describe, expect, it } from '@jest/globals';
import type { Application } from '#model';
import { judgeUnresolved } from './unresolved-deletion.ts';

const unresolved = { error: 'no Secret' } as Parameters<typeof judgeUnresolved>[1];
const ended = { unclaimedMs: 60_000, graceMs: 33_000 };

function appWith(status: object): Application {
  return { metadata: { name: 'demo' }, spec: {}, status } as unknown as Application;
}

const one = { kind: 'ConfigMap', name: 'one' };

describe('a deletion without its cluster', () => {
  it.each([
    ['a row of the last comparison', { resources: [one] }],
    ['a result of a sync that no comparison has followed', { operationState: { syncResult: { resources: [one] } } }],
  ])('does not give up while there is %s', (_what, status) => {
    expect(judgeUnresolved(appWith(status), unresolved, ended)).toEqual({
      do: 'report',
      message: expect.stringContaining('no Secret. 1 resource of its last comparison may still exist there'),
    });
  });

  it.each([
    ['a status', {}],
    ['rows of objects but hooks', { resources: [{ ...one, hook: true }] }],
  ])('gives up without %s, but not before two leases', (_what, status) => {
    const app = appWith(status);
    expect(judgeUnresolved(app, unresolved, { ...ended, unclaimedMs: 32_999 })).toMatchObject({ do: 'wait' });
    expect(judgeUnresolved(app, unresolved, ended)).toEqual({ do: 'give up' });
    expect(judgeUnresolved(app, unresolved, { ...ended, unclaimedMs: undefined })).toMatchObject({ do: 'report' });
  });
});
