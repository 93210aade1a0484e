import { renameSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { AppKey } from '#model';
import { eventually } from '#support';
import { automated, config, synced } from '../objects.ts';
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

// T-OBS-1
describe('driftless explain names the part that does not work:', () => {
  it(
    'a failing repository',
    async () => {
      repo.commit({ 'app/a.yaml': config('a') });
      const replica = await world.replica({ repoErrorGraceMs: 0 });
      renameSync(repo.path, `${repo.path}-moved`);
      world.application('demo', { ...repo.source(), ...automated });
      await world.until('demo', ({ status }) => expect(status?.sync?.status).toBe('Unknown'), screenTimeoutMs);
      const failing = 'file:///sample: N: failed to list refs: repository not found, since TIME (AGE)';
      const lines = [
        'Application argocd/demo: Unknown · Healthy',
        'BROKEN: failed to list refs: repository not found, since TIME (AGE)',
        'What to do   Check the URL, the network, and the credentials in the repository Secret of this URL',
        ...head,
        'Waits for    its source, which cannot be read, since TIME (AGE), until TIME (in AGE)',
        `Degraded     ${failing}`,
        'Conditions   ComparisonError: Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = failed to list refs: repository not found, since TIME (AGE)',
      ];
      await expectScreen(world, replica, { code: 4, lines }, (line) =>
        line.replace(/\d failures in a row|one failure/, 'N'),
      );
    },
    testTimeoutMs,
  );

  it(
    'a paused source',
    async () => {
      repo.commit({ 'app/a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n' });
      const replica = await world.replica({ repoErrorGraceMs: 0 });
      world.application('demo', { ...repo.source(), ...automated });
      for (let attempt = 0; attempt < 4; attempt += 1) {
        await world.until('demo', ({ status, metadata }) => {
          expect(status?.sync?.status).toBe('Unknown');
          expect(metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
        });
        world.refresh('demo');
      }
      const failure =
        'Failed to unmarshal "app/a.yaml": document 1: line 4, column 1: unexpected end of the stream within a flow collection';
      const paused = `file:///sample app main: paused, because it failed several times in a row: ${failure}, since TIME (AGE), until TIME (in AGE)`;
      const lines = [
        'Application argocd/demo: Unknown · Healthy',
        `BROKEN: ${failure}, since TIME (AGE)`,
        'What to do   Correct the file that the message names, and push; driftless manifests -f APPLICATION.yaml renders it on your machine',
        ...head,
        'Waits for    its source, which cannot be read, since TIME (AGE), until TIME (in AGE)',
        `Degraded     ${paused}; Correct the source and push, or request a hard refresh: both end the pause`,
        `Conditions   ComparisonError: Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = Manifest generation error (cached): ${failure}, since TIME (AGE)`,
      ];
      await expectScreen(world, replica, { code: 4, lines });
    },
    testTimeoutMs,
  );

  it(
    'a kind that cannot be listed',
    async () => {
      repo.commit({ 'app/a.yaml': config('a') });
      const message = 'configmaps is forbidden: User "u" cannot list resource "configmaps"';
      world.cluster.addFault({ verb: 'list', resource: 'configmaps', fault: { kind: 'status', code: 403, message } });
      const replica = await world.replica();
      world.application('demo', { ...repo.source(), ...automated });
      await expectScreen(world, replica, {
        code: 4,
        lines: [
          'Application argocd/demo: Unknown · Missing',
          `BROKEN: ConfigMap: ${message}, since TIME (AGE)`,
          'What to do   Grant list and watch on the kind, or exclude it by resource.exclusions',
          ...head,
          'Differs      1 of 1 resource',
          '             ConfigMap apps/a could not be read',
          `               its live state may be old: its kind was not listed yet: ${message}`,
          'Health       ConfigMap apps/a is Missing, since TIME (AGE)',
          `Degraded     ConfigMap: ${message}, since TIME (AGE)`,
          `Conditions   StaleResourceWarning: The live state of /ConfigMap is not up to date, nothing of this kind is pruned: ${message}, since TIME (AGE)`,
        ],
      });
      const tree = await replica.facts.controller.tree('argocd/demo' as AppKey, new AbortController().signal);
      expect(tree?.nodes).toMatchObject([{ kind: 'ConfigMap', name: 'a', liveAge: { reason: message } }]);
      expect(await replica.metrics.expose()).toMatch(
        /^driftless_cluster_kinds\{server="[^"]+",state="(?:degraded|forbidden)"\} 1$/m,
      );
    },
    testTimeoutMs,
  );

  it(
    'a pinned cluster whose shard has no replica',
    async () => {
      repo.commit({ 'app/a.yaml': config('a') });
      world.updateCluster('dest', world.cluster.url, { shard: 1 });
      const replica = await world.replica({}, { dynamic: false, hostname: 'test-0', replicas: 2 });
      world.application('demo', { ...repo.source(), ...automated });
      await expectScreen(world, replica, {
        code: 4,
        lines: [
          'Application argocd/demo: not compared yet',
          'BROKEN: no replica holds shard 1, to which its cluster Secret pins it',
          'What to do   Start the replica of that shard, or change shard in the cluster Secret',
          'Owner        none: no replica holds shard 1, its cluster is pinned to shard 1',
          'Destination  dest · https://dest, namespace apps, project default',
        ],
      });
    },
    testTimeoutMs,
  );

  it(
    'a full queue, and the Application that occupies its worker',
    async () => {
      repo.commit({ 'app/a.yaml': config('a') });
      const replica = await world.replica({ statusProcessors: 1 });
      world.application('demo', { ...repo.source(), ...automated });
      await world.until('demo', synced, screenTimeoutMs);
      // The hub does not answer changes of one Application yet, and the worker waits for it.
      let answer = (): void => undefined;
      const until = new Promise<void>((resolve) => (answer = resolve));
      const fault = { kind: 'hold', until } as const;
      const repair = world.hub.addFault({ verb: 'patch', resource: 'applications', name: 'slow', fault });
      world.application('slow', repo.source());
      await eventually(() => {
        const busy = replica.facts.controller.pools().flatMap((pool) => pool.contents().inProgress);
        expect(busy.map(({ key }) => key)).toEqual(['argocd/slow']);
      }, screenTimeoutMs);
      world.refresh('demo');
      const queue = 'a free worker of app_reconciliation_queue (1 due, workers busy: all 1), since TIME (AGE)';
      await expectScreen(world, replica, {
        code: 3,
        lines: [
          'Application argocd/demo: Synced · Healthy · operation Succeeded',
          `WAITING: ${queue}`,
          'What to do   See driftless explain replica test-0; if it lasts, raise --status-processors or add replicas',
          ...head,
          'Operation    sync by automated sync: Succeeded, AGE ago',
          '             successfully synced (all tasks run)',
          `Waits for    ${queue}`,
          '               the longest at work is argocd/slow, since TIME (AGE)',
        ],
      });
      repair();
      answer();
      await world.until('slow', ({ status }) => expect(status?.sync?.status).toBe('OutOfSync'), screenTimeoutMs);
    },
    testTimeoutMs,
  );
});
