import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { nextActivation, parseCron } from './cron.ts';

interface Vectors {
  readonly froms: readonly string[];
  readonly rows: readonly { spec: string; error?: string; next?: readonly (readonly string[])[] }[];
}
const vectors = JSON.parse(readFileSync(new URL('./testdata/cron.json', import.meta.url), 'utf8')) as Vectors;

function activations(spec: string, from: string, count: number): string[] {
  const schedule = parseCron(spec);
  if ('error' in schedule) throw new Error(schedule.error);
  const found: string[] = [];
  let t = Date.parse(from);
  for (let i = 0; i < count; i += 1) {
    const next = nextActivation(schedule, t);
    if (next === undefined) return [...found, ''];
    found.push(new Date(next).toISOString().replace('.000Z', 'Z'));
    t = next;
  }
  return found;
}

describe('parseCron and nextActivation against robfig/cron', () => {
  it.each(vectors.rows)('$spec', ({ spec, error, next }) => {
    const schedule = parseCron(spec);
    expect('error' in schedule).toBe(error !== undefined);
    if ('error' in schedule) expect(error).toContain(schedule.error.split(' in ')[0]);
    else
      for (const [i, from] of vectors.froms.entries())
        expect(activations(spec, from, 4)).toEqual(next?.[i]?.map((at) => (at === 'HANG' ? '' : at)));
  });
});
