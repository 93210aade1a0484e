import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { RepositoryError } from '#desired';
import type { RefreshFacts } from './refresh-facts.ts';
import { PassReader } from '../refresh/read-pass.ts';
import { automated, configMap } from '../testing/fake-world.ts';
import { stage } from '../testing/stage.ts';
import { decideRefresh } from './decide-refresh.ts';

/** Freezes plain values; objects with a class are no values. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  if (value instanceof Map) for (const entry of value.values()) freeze(entry);
  if (!isPlain) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) freeze(member);
  return value;
}

const at = stage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

const facts: RefreshFacts[] = [];
const read = Reflect.get<PassReader, 'read'>(PassReader.prototype, 'read');
beforeEach(() => {
  facts.length = 0;
  jest.spyOn(PassReader.prototype, 'read').mockImplementation(async function (this: PassReader, ...args) {
    const found = await read.apply(this, args);
    if (found === undefined) return undefined;
    facts.push(found);
    return { ...found, before: freeze(found.before), memory: freeze(found.memory), read: freeze(found.read) };
  });
});
afterEach(() => void jest.restoreAllMocks());

type Event = () => void;

const events: Readonly<Record<string, Event>> = {
  push: () => at.world.git.push('b'.repeat(40), [configMap('one', '2')]),
  drift: () => at.world.dest.put({ ...configMap('one'), data: { key: 'by hand' } }),
  loss: () => at.world.dest.delete('ConfigMap', 'two'),
  manual: () => at.world.edit(({ spec }) => ({ spec: { ...(spec as object), syncPolicy: {} } })),
  invalid: () => at.world.edit(({ spec }) => ({ spec: { ...(spec as object), project: 'none' } })),
  valid: () => at.world.edit(({ spec }) => ({ spec: { ...(spec as object), project: 'default' } })),
  outage: () => void (at.world.git.failure = new RepositoryError('connection refused')),
  recovery: () => void (at.world.git.failure = undefined),
  refresh: () => at.world.annotate({ 'argocd.argoproj.io/refresh': 'hard' }),
  window: () =>
    at.world.project('default', {
      syncWindows: [{ kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'] }],
    }),
};

describe('the decision of a refresh', () => {
  it('is the same for the same facts, and changes none of them', async () => {
    const script = fc.array(fc.constantFrom(...Object.keys(events)), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(script, async (names) => {
        at.renew();
        facts.length = 0;
        at.world.git.push('a'.repeat(40), [configMap('one'), configMap('two')]);
        at.world.application(automated);
        await at.start();
        for (const name of names) {
          events[name]?.();
          await at.pass(125);
        }
        expect(facts.length).toBeGreaterThan(0);
        for (const one of facts) expect(decideRefresh(one)).toEqual(decideRefresh(one));
        // A decision that changes frozen facts throws, and the pass is repeated without end.
        expect(at.conditions().filter((line) => line.includes('read only'))).toEqual([]);
        await at.world.close(at.clock);
      }),
      { numRuns: 6 },
    );
  });
});
