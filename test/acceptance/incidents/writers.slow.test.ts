import { afterEach, beforeEach, describe, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { automated, config, deployment, synced } from '../objects.ts';
import { World } from '../world.ts';
import type { GitFixture } from '../world.ts';
import { expectScreen, head, screenTimeoutMs, testTimeoutMs } from './screen.ts';

let world: World;
let repo: GitFixture;

beforeEach(async () => {
  world = await World.start();
  repo = world.repository('sample');
});
afterEach(() => world.close());

/** Sets the replicas of a Deployment again and again, as an operator does. */
function fight(manager: string): () => void {
  const timer = setInterval(() => {
    const object = world.live('apps', 'Deployment', 'web') as
      (KubeObject & { spec?: { replicas?: number } }) | undefined;
    if (object === undefined || object.spec?.replicas === 4) return;
    world.cluster.store.update({ ...object, spec: { ...object.spec, replicas: 4 } }, { manager });
  }, 20);
  return () => clearInterval(timer);
}

// T-OBS-1
describe('driftless explain names the writer of', () => {
  it(
    'drift that an operator fights for',
    async () => {
      repo.commit({ 'app/web.yaml': deployment(), 'app/a.yaml': config('a') });
      // Longer pauses than the operator needs, so that the differences can be seen.
      const replica = await world.replica({ selfHeal: { backoffMs: 50, factor: 4, capMs: 300_000, timeoutMs: 0 } });
      world.application('demo', { ...repo.source(), ...automated });
      await world.until('demo', synced, screenTimeoutMs);
      const stop = fight('web-operator');
      try {
        const lines = [
          'Application argocd/demo: OutOfSync · Healthy · operation Succeeded',
          'BROKEN: Deployment apps/web: field manager web-operator changes /spec/replicas each time it is restored. Automated sync goes on, with its backoff. If an autoscaler sets the replicas, remove them from Git, or add /spec/replicas to ignoreDifferences, since TIME (AGE)',
          'What to do   Stop the other writer, or add its fields to spec.ignoreDifferences',
          ...head,
          'Differs      1 of 2 resources',
          '             Deployment apps/web differs, last written by web-operator (Update) AGE ago',
          '               /spec/replicas: 4 instead of 2, changed by web-operator (Update) AGE ago',
          '               field manager web-operator undoes each repair',
          'Operation    sync by automated sync: Succeeded, AGE ago',
          '             successfully synced (all tasks run)',
          'Automation   automated sync did not start: self-heal attempt N waits for its backoff, until TIME (in AGE)',
          '               contest: another writer fights over 1 of 1 resources that differ',
        ];
        await expectScreen(world, replica, { code: 4, lines }, (line) => line.replaceAll(/attempt \d+/g, 'attempt N'));
      } finally {
        stop();
      }
    },
    testTimeoutMs,
  );

  it(
    'an ignored difference, by the rule that hides it',
    async () => {
      repo.commit({ 'app/web.yaml': deployment() });
      const replica = await world.replica();
      const ignoreDifferences = [{ group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/replicas'] }];
      world.application('demo', { ...repo.source(), ...automated, ignoreDifferences });
      await world.until('demo', synced, screenTimeoutMs);
      const spec = world.live('apps', 'Deployment', 'web')?.['spec'] as object;
      world.tamper('apps', 'Deployment', 'web', { spec: { ...spec, replicas: 4 } });
      const lines = [
        'Application argocd/demo: Synced · Healthy · operation Succeeded',
        'HEALTHY: compared AGE ago by test-0',
        ...head,
        'Ignored      Deployment apps/web: /spec/replicas (by the Application)',
        'Operation    sync by automated sync: Succeeded, AGE ago',
        '             successfully synced (all tasks run)',
      ];
      await expectScreen(world, replica, { code: 0, lines });
    },
    testTimeoutMs,
  );
});
