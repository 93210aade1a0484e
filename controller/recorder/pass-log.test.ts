import { describe, expect, it } from '@jest/globals';
import { appKey } from '#model';
import type { RefreshCapture } from './capture.ts';
import { PassLog } from './pass-log.ts';

/** A pass that read this many objects. */
function capture(name: string, objects: number, startedAt = 0): RefreshCapture {
  const facts = { live: { objects: new Map(Array.from({ length: objects }, (_, i) => [String(i), {}])) } };
  const known: unknown = { kind: 'refresh', key: appKey('argocd', name), startedAt, comparison: { facts } };
  return known as RefreshCapture;
}

describe('the log of passes', () => {
  it('keeps the last pass of each Application', () => {
    const log = new PassLog();
    log.keep(capture('a', 1, 1));
    log.keep(capture('a', 1, 2));
    expect(log.lastOf(appKey('argocd', 'a')).map(({ startedAt }) => startedAt)).toEqual([2]);
  });

  it('is bounded by objects and by Applications; the oldest go first', () => {
    const log = new PassLog();
    for (let i = 0; i < 500; i += 1) log.keep(capture(`a${i}`, 20));
    expect(log.size.objects).toBeLessThanOrEqual(1000);
    for (let i = 0; i < 500; i += 1) log.keep(capture(`b${i}`, 0));
    expect(log.size).toEqual({ applications: 200, objects: 0 });
    expect(log.lastOf(appKey('argocd', 'b499'))).toHaveLength(1);
  });

  it('keeps a bigger Application alone', () => {
    const log = new PassLog();
    log.keep(capture('small', 1));
    log.keep(capture('big', 5000));
    expect(log.size).toEqual({ applications: 1, objects: 5000 });
    log.keep(capture('small', 1));
    expect(log.size).toEqual({ applications: 1, objects: 1 });
  });

  it('is bounded by bytes: the oldest go first, and one that is larger is not kept', () => {
    const bytes: Record<string, number> = { 'argocd/small': 10, 'argocd/other': 60, 'argocd/large': 101 };
    const log = new PassLog({ bytesOf: (key) => bytes[key] ?? 0, maxBytes: 100 });
    const isKept = (name: string): boolean => log.lastOf(appKey('argocd', name)).length > 0;
    for (let i = 0; i < 3; i += 1) {
      log.keep(capture('small', 1));
      log.keep(capture('other', 1));
    }
    expect([isKept('small'), isKept('other')]).toEqual([true, true]);
    bytes['argocd/small'] = 50;
    log.keep(capture('small', 1));
    expect([isKept('small'), isKept('other')]).toEqual([true, false]);
    log.keep(capture('large', 1));
    expect([isKept('small'), isKept('large'), log.size.objects]).toEqual([false, false, 0]);
  });

  it('bounds what a recording that nobody reads keeps, at 100 passes a second', () => {
    const log = new PassLog();
    const passes = log.subscribe(appKey('argocd', 'a'));
    for (let i = 0; i < 60 * 100; i += 1) log.keep(capture('a', 10, i));
    const taken = [];
    for (let next = passes.take(); next !== undefined; next = passes.take()) taken.push(next);
    expect([taken.length, passes.takeDropped()]).toEqual([256, 6000 - 256]);
    passes.close();
    log.keep(capture('a', 1));
    expect(passes.take()).toBeUndefined();
  });
});
