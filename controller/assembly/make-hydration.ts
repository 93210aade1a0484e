import { defined } from '#base';
import type { Runnable, Tenant } from '#base';
import type { HydrationCommitter } from '#desired';
import type { AppKey } from '#model';
import { createWorkQueue } from '#queues';
import type { WorkQueue } from '#queues';
import type { ApplicationStore } from '../application/application-store.ts';
import { Renderer } from '../comparison/rendering.ts';
import { HydrationIndex } from '../hydration/hydration-index.ts';
import { HydrationTriggers } from '../hydration/hydration-triggers.ts';
import { HydrationWrites } from '../hydration/hydration-writes.ts';
import { Hydrator } from '../hydration/hydrator.ts';
import type { HydrationKey } from '../hydration/hydrator-spec.ts';
import { isWatched, limiters, makePool, tenantIn } from './parts.ts';
import type { MadePool, WiredParts } from './parts.ts';
import type { ControllerConfig, ControllerDeps } from './types.ts';

export interface HydrationParts {
  readonly pools: readonly MadePool[];
  readonly queues: readonly WorkQueue<string, undefined>[];
  readonly watchers: readonly Runnable[];
}

/**
 * Builds the source hydrator with its two queues. The queues exist also while hydration is off, so
 * that their metrics do, as in Argo CD.
 */
export function makeHydration(
  deps: ControllerDeps,
  config: ControllerConfig,
  parts: Pick<WiredParts, 'apps' | 'projectInformer' | 'guard' | 'projects' | 'memories' | 'triggers'> & {
    readonly store: ApplicationStore;
  },
): HydrationParts {
  const common = { clock: deps.clock, ...defined({ metrics: deps.queueMetrics }) };
  const index = new HydrationIndex();
  const tenantOf = tenantIn(parts.apps);
  const groupTenant = (group: HydrationKey): Tenant => tenantOf(index.members(group)[0] ?? ('' as AppKey));
  const looks = createWorkQueue<AppKey>({
    ...common,
    name: 'app_hydration_queue',
    flowOf: (key) => tenantOf(key).project,
    ...limiters(config),
  });
  const groups = createWorkQueue<HydrationKey>({
    ...common,
    name: 'manifest_hydration_queue',
    flowOf: (group) => groupTenant(group).project,
    ...limiters(config),
  });
  const queues = [looks, groups];
  const { hydration } = config;
  if (hydration === undefined) return { pools: [], queues, watchers: [] };
  const { committer } = deps;
  if (committer === undefined) throw new TypeError('hydration needs a committer');
  const hydrator = makeHydrator(deps, config, { ...parts, committer, index, looks, groups });
  const routes = new HydrationTriggers({
    apps: parts.apps,
    projects: parts.projectInformer,
    index,
    ownership: deps.ownership,
    queue: looks,
    isWatched: (namespace) => isWatched(config, namespace),
    leads: (key) => hydrator.leads(key),
  });
  const { activity } = parts.memories;
  const workers = Math.max(1, hydration.processors);
  const pools = [
    makePool(deps, config, { queue: looks, handler: hydrator.look, workers: 1, activity, tenantOf }),
    makePool(deps, config, { queue: groups, handler: hydrator.hydrate, workers, activity, tenantOf: groupTenant }),
  ];
  return { pools, queues, watchers: [routes, committer] };
}

function makeHydrator(
  deps: ControllerDeps,
  config: ControllerConfig,
  parts: Parameters<typeof makeHydration>[2] & {
    readonly committer: HydrationCommitter;
    readonly index: HydrationIndex;
    readonly looks: WorkQueue<AppKey, undefined>;
    readonly groups: WorkQueue<HydrationKey, undefined>;
  },
): Hydrator {
  const { settings, clock, logger, desired } = deps;
  const { guard, projects, store, committer, index, looks, groups, triggers } = parts;
  const renderer = new Renderer(
    {
      desired,
      clock,
      repository: (url, project) => settings.repository(url, project),
      chartRepositories: () => settings.chartRepositories(),
      decryptionKeys: (secret) => settings.decryptionKeys(secret),
    },
    config,
  );
  const writes = new HydrationWrites({
    get: (key) => store.get(key),
    patch: (app, patch, leader) => store.patchHydration(app, patch, leader),
    refresh: (key) => triggers.look(key, 'the source was hydrated'),
    now: () => clock.now(),
  });
  return new Hydrator(
    {
      index,
      writes,
      looks,
      groups,
      committer,
      renderer,
      desired,
      settings,
      lookup: (key) => store.get(key),
      isMine: (app) => guard.isMine(app),
      projectFor: (app) => projects.of(app),
      fenced: (leader, signal, send) => guard.toApplication(leader, signal, send),
      clock,
      logger,
    },
    { resyncMs: config.appResyncMs },
  );
}
