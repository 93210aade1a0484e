import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { afterEvent } from './kind-activity.ts';

describe('the lag of a watch', () => {
  const written = Date.parse('2026-01-02T03:04:05Z');
  const object: KubeObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', managedFields: [{ time: '2026-01-02T03:04:05Z' }, { time: '2026-01-01T00:00:00Z' }] },
  };

  it('is the time from the last write to its event', () => {
    expect(afterEvent({ events: 0 }, object, written + 200)).toMatchObject({ events: 1, lagMs: 200 });
  });

  it('stays as it was when an old object is deleted', () => {
    const before = afterEvent({ events: 0 }, object, written + 200);
    expect(afterEvent(before, undefined, written + 54_000)).toEqual({
      events: 2,
      lastEventAt: written + 54_000,
      lastHeardAt: written + 54_000,
      lagMs: 200,
    });
  });
});
