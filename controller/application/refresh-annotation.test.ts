import { describe, expect, it } from '@jest/globals';
import type { Application } from '#model';
import {
  canHideAnother,
  isStillPending,
  markRefreshPatch,
  refreshAnnotation,
  removeRequestPatch,
} from './refresh-annotation.ts';
import type { RefreshAnnotation } from './refresh-annotation.ts';

const refresh = 'argocd.argoproj.io/refresh';
const timestamp = 'argocd.argoproj.io/refresh-timestamp';

function app(annotations: Record<string, string>): Application {
  return { metadata: { name: 'web', annotations } } as unknown as Application;
}

function request(annotations: Record<string, string>): RefreshAnnotation {
  const found = refreshAnnotation(app(annotations));
  if (found === undefined) throw new Error('no request');
  return found;
}

it('reads the request with its timestamp', () => {
  expect(refreshAnnotation(app({ [timestamp]: 't' }))).toBeUndefined();
  expect(request({ [refresh]: 'normal', [timestamp]: 't' })).toEqual({
    type: 'normal',
    value: 'normal',
    timestamp: 't',
    marked: false,
  });
  expect(request({ [refresh]: 'hard-in-progress' })).toMatchObject({ type: 'hard', marked: true });
  expect(request({ [refresh]: 'sometimes' }).type).toBe('normal');
});

describe('a request without a timestamp', () => {
  it('is marked once if it is a hard one, so that an identical one changes the object', () => {
    const path = '/metadata/annotations/argocd.argoproj.io~1refresh';
    expect(markRefreshPatch(request({ [refresh]: 'hard' }))).toEqual([
      { op: 'test', path, value: 'hard' },
      { op: 'replace', path, value: 'hard-in-progress' },
    ]);
    expect(markRefreshPatch(request({ [refresh]: 'hard-in-progress' }))).toBeUndefined();
    expect(markRefreshPatch(request({ [refresh]: 'hard', [timestamp]: 't' }))).toBeUndefined();
    expect(markRefreshPatch(request({ [refresh]: 'normal' }))).toBeUndefined();
  });

  it('can hide an identical one until it is marked', () => {
    expect(canHideAnother(request({ [refresh]: 'normal' }))).toBe(true);
    expect(canHideAnother(request({ [refresh]: 'normal-in-progress' }))).toBe(false);
    expect(canHideAnother(request({ [refresh]: 'normal', [timestamp]: 't' }))).toBe(false);
  });

  it('is still pending when it was only marked', () => {
    const asked = request({ [refresh]: 'hard' });
    expect(isStillPending(asked, asked)).toBe(true);
    expect(isStillPending(asked, request({ [refresh]: 'hard-in-progress' }))).toBe(true);
    expect(isStillPending(asked, request({ [refresh]: 'normal' }))).toBe(false);
    expect(isStillPending(asked, undefined)).toBe(false);
  });
});

it('removes exactly the request that was answered', () => {
  const path = '/metadata/annotations/argocd.argoproj.io~1refresh';
  expect(removeRequestPatch('refresh', request({ [refresh]: 'normal' }))).toEqual([
    { op: 'test', path, value: 'normal' },
    { op: 'remove', path },
  ]);
  expect(removeRequestPatch('refresh', request({ [refresh]: 'normal', [timestamp]: 't' }))).toEqual([
    { op: 'test', path, value: 'normal' },
    { op: 'test', path: `${path}-timestamp`, value: 't' },
    { op: 'remove', path: `${path}-timestamp` },
    { op: 'remove', path },
  ]);
});
