import { describe, expect, it } from '@jest/globals';
import { resourceKey } from '#model';
import type { Application, ApplicationStatus, ResourceKey } from '#model';
import { suspicionOf, worthFirst } from './suspicion.ts';

const reconciledAt = '2026-01-01T00:00:10Z';
const comparedSeconds = Date.parse(reconciledAt) / 1000;
const resource = { version: 'v1', kind: 'ConfigMap', namespace: 'apps', name: 'x' };
const key = resourceKey('', 'ConfigMap', 'apps', 'x');

function app(status: ApplicationStatus, automated = true): Application {
  const syncPolicy = automated ? { syncPolicy: { automated: {} } } : {};
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'demo' },
    spec: { destination: {}, ...syncPolicy },
    status,
  };
}

describe('an Application has probably drifted', () => {
  const synced = { sync: { status: 'Synced' } } as const;
  const open = { sync: { status: 'OutOfSync' } } as const;

  it.each<[string, ApplicationStatus, number | undefined, boolean, number | undefined]>([
    ['if an object was changed after the comparison', synced, comparedSeconds + 1, true, comparedSeconds + 1],
    ['if an object is gone', synced, undefined, true, Infinity],
    ['if an automated sync was due', open, 0, true, 0],
    ['not without changes', synced, 0, true, undefined],
    ['not by a change that the comparison has seen', synced, comparedSeconds, true, undefined],
    ['not because it waits for a manual sync', open, 0, false, undefined],
  ])('%s', (_name, status, edit, automated, expected) => {
    const subject = app({ ...status, reconciledAt, resources: [resource] }, automated);
    const edits = new Map(edit === undefined ? [] : [[key, edit]]);
    expect(suspicionOf(subject, (at: ResourceKey) => edits.get(at))?.changedAt).toBe(expected);
  });

  it('not because an object is still missing', () => {
    const subject = app({ ...open, reconciledAt, resources: [{ ...resource, status: 'OutOfSync' }] }, false);
    expect(suspicionOf(subject, () => undefined)).toBeUndefined();
  });

  it('not because a finished hook is gone', () => {
    const subject = app({ ...synced, reconciledAt, resources: [{ ...resource, hook: true }] });
    expect(suspicionOf(subject, () => undefined)).toBeUndefined();
  });

  it('not if it was never compared', () => {
    expect(suspicionOf(app({ ...open, resources: [resource] }), () => undefined)).toBeUndefined();
  });
});

describe('the Applications to compare first', () => {
  const suspect = (changedAt: number, automated = true) => ({ app: app({}, automated), changedAt });

  it('are automated ones, those with the newest change first', () => {
    const given = [suspect(0), suspect(9, false), suspect(5), suspect(Infinity), suspect(Infinity, false), suspect(7)];
    const order = worthFirst(given, 6).map(({ changedAt }) => changedAt);
    expect(order).toEqual([Infinity, 7, 5, 0, Infinity, 9]);
  });

  it('are few, so that live changes do not wait for them', () => {
    const all = Array.from({ length: 1000 }, (_, i) => suspect(i));
    expect(worthFirst(all, 1000).map(({ changedAt }) => changedAt)).toEqual(
      Array.from({ length: 50 }, (_, i) => 999 - i),
    );
    expect(worthFirst(all.slice(0, 30), 30)).toHaveLength(20);
  });
});
