import { describe, expect, it } from '@jest/globals';
import { defined, newAbortController } from '#base';
import { appKeyOf } from '#model';
import { PromMetrics } from '#telemetry';
import type { Controller } from '../assembly/types.ts';
import { waitCauses, waitTypes } from '../shared/waits.ts';
import type { WaitCause } from '../shared/waits.ts';
import { automated, configMap } from '../testing/fake-world.ts';
import { hook, job } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';
import { firstCommit as first, waitCases } from '../testing/wait-cases.ts';

const at = tidyStage();
const limitSeconds = 600;
const shown = (type = 'WaitingWarning'): readonly string[] =>
  (at.world.app.status?.conditions ?? []).filter((one) => one.type === type).map(({ message }) => message);

const cases = Object.entries(waitCases(at)).flatMap(([cause, list]) =>
  typeof list === 'string' ? [] : list.map((one) => ({ cause: cause as WaitCause, ...one })),
);

/** The wait as `explain` shows it: the blocker of the operation or deletion, and the texts. */
async function explained(
  controller: Controller,
): Promise<{ readonly blockedBy: unknown; readonly since: unknown; readonly text: string }> {
  const key = appKeyOf(at.world.app);
  const details = await controller.report.details(key, newAbortController().signal);
  const { waiting, lastOperation, automatedSync } = details ?? {};
  const texts = [waiting?.what, lastOperation?.blockedBy?.message, automatedSync?.reason];
  const since = waiting?.since ?? lastOperation?.blockedBy?.since;
  return { blockedBy: lastOperation?.blockedBy?.type, since, text: texts.join(' ') };
}

/** The seconds of the oldest waits, by type and cause. */
async function oldest(metrics: PromMetrics): Promise<ReadonlyMap<string, number>> {
  const lines = (await metrics.expose()).matchAll(/^driftless_oldest_wait_seconds\{type="(.*)",cause="(.*)"\} (.*)$/gm);
  return new Map([...lines].map(([, type, cause, value]) => [`${type} ${cause}`, Number(value)]));
}

describe('nothing waits silently:', () => {
  it('has a case for each type of work that can wait', () => {
    expect(new Set(cases.map(({ type }) => type))).toEqual(new Set(Object.keys(waitTypes)));
  });

  it.each(cases)('$name', async ({ cause, type, wait, text, release, condition, config, dest }) => {
    at.world.git.push(first, [configMap('one')]);
    at.world.application(automated);
    const metrics = new PromMetrics();
    const { controller } = at.world.replica({ metrics, ...defined({ config, dest }) });
    await at.clock.advance(2000);
    await wait();
    await at.pass(limitSeconds);
    expect(shown(condition)).toEqual([expect.stringContaining(text)]);
    expect((await oldest(metrics)).get(`${type} ${cause}`)).toBeGreaterThan(300);
    const { blockedBy, since, text: seen } = await explained(controller);
    const { operation, metadata } = at.world.app;
    const { blocker } = waitCauses[cause];
    if (metadata.deletionTimestamp !== undefined && operation === undefined)
      expect(blockedBy).toBe(blocker === 'other' ? 'finalizer' : blocker);
    else if (operation !== undefined && type === 'operation') expect(blockedBy).toBe(blocker);
    if (type !== 'hand-over') {
      expect(since).toEqual(expect.any(String));
      expect(seen).toMatch(/waiting for|keeps the finalizers|sync window|cannot be read|backoff|attempt/);
    }
    release();
    await at.pass(300);
    if (at.world.hub.get('Application', 'demo') !== undefined) expect(shown()).toEqual([]);
  });

  it('the age of a wait outlives the replica', async () => {
    at.world.git.push(first, [configMap('one'), job('job', hook('PreSync'))]);
    at.world.application(automated);
    const replica = at.world.replica();
    await at.pass(290);
    expect(shown()).toEqual([]);
    const ended = replica.stop();
    await at.pass(5);
    await ended;
    const metrics = new PromMetrics();
    await at.start({ metrics });
    // The next one looks for a minute first: the work may go on.
    await at.pass(30);
    expect(shown()).toEqual([]);
    await at.pass(60);
    expect((await oldest(metrics)).get('operation hook')).toBeGreaterThan(300);
    expect(shown()).toEqual([expect.stringContaining('waiting for completion of hook batch/Job/job')]);
  });

  it('the metric has the oldest wait of each cause', async () => {
    at.world.git.push(first, [configMap('one'), job('job', hook('PreSync'))]);
    at.world.application(automated);
    const metrics = new PromMetrics();
    await at.start({ metrics });
    await at.pass(200);
    at.world.application(automated, { metadata: { name: 'other', namespace: 'argocd' } });
    await at.pass(100);
    at.world.application({}, { metadata: { name: 'third', namespace: 'argocd', finalizers: ['example.com/other'] } });
    at.world.hub.delete('Application', 'third');
    await at.pass(60);
    const ages = await oldest(metrics);
    expect(ages.get('operation hook')).toBeGreaterThan(300);
    expect([...ages.keys()].sort()).toEqual([
      'comparison ',
      'deletion foreign finalizer',
      'hand-over ',
      'operation hook',
      'refresh ',
    ]);
  });

  it('one message is stored once, and by the next replica as well', async () => {
    at.world.git.push(first, [configMap('one'), job('job', hook('PreSync'))]);
    at.world.application(automated);
    const replica = at.world.replica();
    await at.pass(limitSeconds);
    const before = at.world.writes().length;
    await at.pass(limitSeconds);
    expect(at.world.writes().length - before).toBeLessThanOrEqual(1);
    const ended = replica.stop();
    await at.pass(5);
    await ended;
    await at.start();
    await at.pass(60);
    expect(shown()).toHaveLength(1);
  });
});
