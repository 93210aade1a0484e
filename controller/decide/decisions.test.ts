import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { RepositoryError } from '#desired';
import type { OperationState } from '#model';
import type { BoundApplication } from '../admission/bound.ts';
import { Comparer } from '../comparison/comparer.ts';
import type { ComparedApplication } from '../comparison/comparer.ts';
import { Syncer } from '../operation/syncer.ts';
import type { RefreshFacts } from './refresh-facts.ts';
import { PassReader } from '../refresh/read-pass.ts';
import { automated, configMap } from '../testing/fake-world.ts';
import { hook, job } from '../testing/manifests.ts';
import { stage } from '../testing/stage.ts';
import { decideRefresh } from './decide-refresh.ts';
import { decideStep } from './operation-step.ts';
import type { StepDecision } from './operation-step.ts';

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

interface StepFacts {
  readonly bound: BoundApplication;
  readonly state: OperationState;
  readonly compared?: ComparedApplication;
}

const facts: RefreshFacts[] = [];
const steps: StepFacts[] = [];
const read = Reflect.get<PassReader, 'read'>(PassReader.prototype, 'read');
const step = Reflect.get<Syncer, 'step'>(Syncer.prototype, 'step');
const compare = Reflect.get<Comparer, 'compare'>(Comparer.prototype, 'compare');
beforeEach(() => {
  jest.spyOn(Syncer.prototype, 'step').mockImplementation(function (this: Syncer, bound, state, work) {
    freeze(bound.app);
    steps.push({ bound, state: freeze(state) });
    return step.call(this, bound, state, work);
  });
  jest.spyOn(Comparer.prototype, 'compare').mockImplementation(async function (this: Comparer, request, ...args) {
    const compared = await compare.call(this, request, ...args);
    const asked = steps.findLast(({ bound }) => bound === request.bound);
    if (asked !== undefined) steps.push({ ...asked, compared: freeze(compared) });
    return compared;
  });
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
  hook: () => at.world.git.push('c'.repeat(40), [job('hook', hook('PreSync')), configMap('one', '3')]),
  terminate: () => {
    if (at.phase() === 'Running') at.terminate();
  },
  refresh: () => at.world.annotate({ 'argocd.argoproj.io/refresh': 'hard' }),
  window: () =>
    at.world.project('default', {
      syncWindows: [{ kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'] }],
    }),
};

/** The decision before the comparison, and the one after it. */
function stepDecisions({ bound, state, compared }: StepFacts): readonly StepDecision[] {
  const first = decideStep(bound, state);
  return compared === undefined ? [first] : [first, decideStep(bound, first.state, compared)];
}

describe('the decisions of refreshes and steps', () => {
  it('are the same for the same facts, and change none of them', async () => {
    const script = fc.array(fc.constantFrom(...Object.keys(events)), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(script, async (names) => {
        at.renew();
        facts.length = 0;
        steps.length = 0;
        at.world.git.push('a'.repeat(40), [configMap('one'), configMap('two')]);
        at.world.application(automated);
        await at.start();
        for (const name of names) {
          events[name]?.();
          await at.pass(125);
        }
        expect(facts.length).toBeGreaterThan(0);
        for (const one of facts) expect(decideRefresh(one)).toEqual(decideRefresh(one));
        expect(steps.some(({ compared }) => compared !== undefined)).toBe(true);
        for (const one of steps) expect(stepDecisions(one)).toEqual(stepDecisions(one));
        // A decision that changes frozen facts throws, and the pass is repeated without end.
        expect(at.conditions().filter((line) => line.includes('read only'))).toEqual([]);
        await at.world.close(at.clock);
      }),
      { numRuns: 6 },
    );
  });
});
