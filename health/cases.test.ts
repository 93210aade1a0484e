import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { healthOf } from './index.ts';

/** Objects of the tests of Argo CD 3.6.1 (Apache-2.0), with the health that it gives each. */
type PublicCase = readonly [name: string, object: KubeObject, status: string, message: string];
const cases = readFileSync('health/testing/public-cases.jsonl', 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as PublicCase);
/** Share of the cases that may differ. */
const allowedShare = 0.03;

/** What differs: the status, or only the message. */
function difference([name, object, status, message]: PublicCase): string[] {
  const found = healthOf(object, defaultSettings);
  if (found?.status !== status) return [`${name}: ${status}, but ${found?.status ?? 'no check'}`];
  const shown = found.message ?? '';
  return shown === message ? [] : [`${name}: ${JSON.stringify(message)}, but ${JSON.stringify(shown)}`];
}

describe('public cases of custom kinds', () => {
  it('at least 97 % have the same status and message as in Argo CD', () => {
    expect(cases.length).toBeGreaterThan(700);
    const all = cases.flatMap(difference);
    expect(all.length > cases.length * allowedShare ? all : []).toEqual([]);
  });
});
