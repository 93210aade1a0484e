import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base';
import type { ManifestsRequest } from '#desired';
import { medianSeconds } from './harness.ts';
import type { BenchContext, Benchmark, BenchMetrics } from './harness.ts';
import { createBenchSource, deploymentYaml, GitRepository, renderPaths } from './source-fixture.ts';
import { helmCost, kustomizeCost, measurePrice } from './source-price.ts';

/**
 * Cost of sources: a push to a repository of many Applications, a big directory, an unchanged
 * request, and Helm charts and overlays beside plain helm and kustomize. Uses real git, and the
 * programs if available (on PATH, or built by `npm run e2e:setup`); otherwise omits their figures.
 */
export const sourcesBenchmark: Benchmark = {
  name: 'sources',
  about:
    'fetching and rendering: one push for many Applications, 2,000 manifests, a warm request, Helm charts and overlays beside the plain programs',
  parts: ['push', 'directory', 'charts', 'overlays'],
  run: async (context) => {
    const root = mkdtempSync(join(tmpdir(), 'driftless-bench-'));
    try {
      return {
        ...(context.wants('push') ? await measurePush(join(root, 'push'), context) : {}),
        ...(context.wants('directory') ? await measureDirectory(join(root, 'directory'), context) : {}),
        ...(context.wants('charts') ? await measurePrice(join(root, 'charts'), helmCost, context) : {}),
        ...(context.wants('overlays') ? await measurePrice(join(root, 'overlays'), kustomizeCost, context) : {}),
      };
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  },
};

/** A thousand Applications of one repository, twenty at a time, like the status processors. */
async function measurePush(root: string, { smoke }: BenchContext): Promise<BenchMetrics> {
  const size = smoke ? 30 : 1000;
  const changed = smoke ? 3 : 10;
  const apps = Array.from({ length: size }, (_, i) => `apps/app-${i}`);
  const repository = new GitRepository(join(root, 'repo'));
  repository.commit(
    Object.fromEntries(apps.map((path, i) => [`${path}/deployment.yaml`, deploymentYaml(`app-${i}`, 'v1')])),
  );
  const { desired, ran } = createBenchSource(join(root, 'cache'));
  const all = (more: Partial<ManifestsRequest>): ReturnType<typeof renderPaths> =>
    renderPaths(desired, repository, apps, more);
  const before = await all({});
  repository.commit(
    Object.fromEntries(
      apps.slice(0, changed).map((path, i) => [`${path}/deployment.yaml`, deploymentYaml(`app-${i}`, 'v2')]),
    ),
  );
  const ranBefore = ran.length;
  const begin = process.hrtime.bigint();
  const after = await all({ cache: { revision: { notBefore: systemClock.monotonic() }, manifests: 'cached' } });
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  const runs = (word: string): number => ran.slice(ranBefore).filter((argv) => argv.includes(word)).length;
  return {
    push_ls_remote_count: runs('ls-remote'),
    push_fetch_count: runs('fetch'),
    push_changed_count: changed,
    push_rendered_count: after.filter((objects, i) => objects !== before[i]).length,
    push_seconds: seconds,
  };
}

async function measureDirectory(root: string, { smoke }: BenchContext): Promise<BenchMetrics> {
  const size = smoke ? 50 : 2000;
  const repository = new GitRepository(join(root, 'repo'));
  repository.commit(
    Object.fromEntries(Array.from({ length: size }, (_, i) => [`app/${i}.yaml`, deploymentYaml(`app-${i}`, 'v1')])),
  );
  const { desired } = createBenchSource(join(root, 'cache'));
  const once = async (more: Partial<ManifestsRequest>): Promise<void> => {
    await renderPaths(desired, repository, ['app'], more);
  };
  let cpuSeconds = 0;
  const cold = await medianSeconds(smoke ? 1 : 5, async () => {
    const cpu = process.cpuUsage();
    await once({ cache: { revision: 'cached', manifests: 'rerender' } });
    const { user, system } = process.cpuUsage(cpu);
    cpuSeconds = (user + system) / 1e6;
  });
  const requests = smoke ? 20 : 1000;
  const warm = await medianSeconds(smoke ? 1 : 5, async () => {
    for (let i = 0; i < requests; i += 1) await once({});
  });
  return {
    manifests_2000_seconds: cold,
    manifests_2000_cpu_seconds: cpuSeconds,
    warm_request_ms: (warm / requests) * 1000,
  };
}
