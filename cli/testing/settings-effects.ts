import { configMap } from '../../controller/testing/index.ts';
import { fingerprint } from '#diff';
import { isExcluded } from '#live';
import { trackedApp } from '#model';
import type { KubeObject, Settings } from '#model';
import { indexClusters, clusterList, resolveDestination } from '#settings';
import { readArgs } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import { row, stateOf, world as liveWorld, configMap as configMapKey, tracked } from '../../live/testing/index.ts';
import { firstCommit, inWorld } from './effect-world.ts';
import type { ProvenElsewhere, WithoutEffect } from './effect-types.ts';

/** The difference that a key of argocd-cm makes. */
export interface SettingEffect {
  readonly given: string;
  /** Other keys that it needs. */
  readonly beside?: Readonly<Record<string, string>>;
  readonly observe: (settings: Settings) => unknown;
  readonly usual: unknown;
  readonly changed: unknown;
}

const usualConfig = readArgs(runOptions, [], {}).config;
const hydrated = (names: string): ProvenElsewhere => ({ test: 'controller/hydration/hydrator.test.ts', names });
const byOptions = (names: string): ProvenElsewhere => ({ test: 'cli/options/run-options.test.ts', names });

const labelled: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', namespace: 'ns', labels: { 'my/label': 'mine', 'app.kubernetes.io/instance': 'usual' } },
};
const appOfLabels = ({ tracking }: Settings): string | undefined =>
  trackedApp(labelled, { ...tracking, method: 'label' });

/** The request for manifests of an Application. */
const requestedOptions = (settings: Settings): Promise<unknown> =>
  inWorld(
    usualConfig,
    async ({ world, start }) => {
      world.application();
      await start();
      return world.git.requests[0]?.options;
    },
    { settings },
  );
const requested = async (settings: Settings, member: string): Promise<unknown> =>
  ((await requestedOptions(settings)) as Readonly<Record<string, unknown>>)[member];

/** The sync status when a live value differs from Git. */
const statusOfDrift = (settings: Settings, object: KubeObject, change: object): Promise<string | undefined> =>
  inWorld(
    usualConfig,
    async ({ world, start, pass }) => {
      world.git.push(firstCommit, [object]);
      world.application({}, { operation: { sync: {} } });
      await start();
      await pass(3);
      const live = world.dest.get(object.kind, object.metadata.name ?? '');
      world.dest.put({ ...live, ...change } as KubeObject);
      world.annotate({ 'argocd.argoproj.io/refresh': 'hard' });
      await pass(3);
      return world.app.status?.sync?.status;
    },
    { settings },
  );

const syncUser = (settings: Settings, accounts: boolean): Promise<string> =>
  inWorld(
    usualConfig,
    async ({ world, start, pass }) => {
      const account = { server: '*', namespace: '*', defaultServiceAccount: 'deployer' };
      world.project('default', accounts ? { destinationServiceAccounts: [account] } : {});
      world.application({}, { operation: { sync: {} } });
      await start();
      await pass(3);
      const { phase = '', message = '' } = world.app.status?.operationState ?? {};
      return world.dest.impersonated[0] ?? (phase === 'Succeeded' ? 'itself' : (message.split(' for ')[0] ?? ''));
    },
    { settings },
  );

const inLive = async <T>(
  settings: Settings,
  look: (w: Awaited<ReturnType<typeof liveWorld>>) => Promise<T> | T,
  prepare?: Parameters<typeof liveWorld>[0],
): Promise<T> => {
  const w = await liveWorld(prepare, { settings });
  try {
    return await look(w);
  } finally {
    await w.stop();
  }
};

const connection = { server: 'https://kubernetes.default.svc', insecure: false, credentials: {} };
const pods = { group: '', kind: 'Pod' };
const fingerprintDiffers = (settings: Settings): boolean => {
  const at = (value: string): KubeObject => ({ ...configMap('a', value), status: { at: value } });
  return fingerprint(at('1'), settings) !== fingerprint(at('2'), settings);
};
const ignoreData = 'jsonPointers: [/data]';
const ignoreAll = 'jsonPointers: [/data, /status]';
const withStatus: KubeObject = { ...configMap('one'), status: { phase: 'a' } };

/** Every key of argocd-cm that Argo CD's controller reads. A data table. */
export const settingEffects: Readonly<Record<string, SettingEffect | WithoutEffect | ProvenElsewhere>> = {
  'application.instanceLabelKey': { given: 'my/label', usual: 'usual', changed: 'mine', observe: appOfLabels },
  'application.resourceTrackingMethod': {
    given: 'label',
    usual: undefined,
    changed: 'usual',
    observe: ({ tracking }) => trackedApp(labelled, tracking),
  },
  installationID: {
    given: 'one',
    usual: 'shop',
    changed: undefined,
    observe: ({ tracking }) => trackedApp(tracked('a') as KubeObject, tracking),
  },
  'application.allowedNodeLabels': {
    given: 'zone',
    usual: [],
    changed: ['zone'],
    observe: ({ allowedNodeLabels }) => allowedNodeLabels,
  },
  'application.sync.impersonation.enabled': {
    given: 'true',
    usual: 'itself',
    changed: 'system:serviceaccount:apps:deployer',
    observe: (settings) => syncUser(settings, true),
  },
  'application.sync.impersonation.enforced': {
    given: 'false',
    beside: { 'application.sync.impersonation.enabled': 'true' },
    usual: 'no matching service account found',
    changed: 'itself',
    observe: (settings) => syncUser(settings, false),
  },
  'cluster.inClusterEnabled': {
    given: 'false',
    usual: false,
    changed: true,
    observe: ({ inClusterEnabled }) => {
      const clusters = indexClusters(clusterList([], inClusterEnabled, connection));
      return 'error' in resolveDestination({ name: 'in-cluster' }, clusters, inClusterEnabled);
    },
  },
  globalProjects: {
    given: '- projectName: base\n  labelSelector: {matchLabels: {a: b}}',
    usual: [],
    changed: ['base'],
    observe: ({ globalProjects }) => globalProjects.map(({ projectName }) => projectName),
  },
  'resource.exclusions': {
    given: '- kinds: [Pod]',
    usual: false,
    changed: true,
    observe: (settings) => isExcluded(settings, pods, 'https://a'),
  },
  'resource.inclusions': {
    given: '- kinds: [Pod]',
    usual: false,
    changed: true,
    observe: (settings) => isExcluded(settings, { group: '', kind: 'Service' }, 'https://a'),
  },
  'resource.compareoptions': {
    given: 'ignoreResourceStatusField: none',
    usual: 'Synced',
    changed: 'OutOfSync',
    observe: (settings) => statusOfDrift(settings, withStatus, { status: { phase: 'b' } }),
  },
  'resource.customizations': {
    given: `ConfigMap:\n  ignoreDifferences: |\n    ${ignoreData}`,
    usual: 'OutOfSync',
    changed: 'Synced',
    observe: (settings) => statusOfDrift(settings, configMap('one'), { data: { key: '2' } }),
  },
  'resource.customizations.ignoreDifferences.ConfigMap': {
    given: ignoreData,
    usual: 'OutOfSync',
    changed: 'Synced',
    observe: (settings) => statusOfDrift(settings, configMap('one'), { data: { key: '2' } }),
  },
  'resource.customizations.ignoreResourceUpdates.ConfigMap': {
    given: ignoreAll,
    usual: true,
    changed: false,
    observe: fingerprintDiffers,
  },
  'resource.customizations.health.ConfigMap': { test: 'health/lua.test.ts', names: 'healthLua' },
  'resource.customizations.useOpenLibs.ConfigMap': { test: 'health/lua.test.ts', names: 'useOpenLibs' },
  'resource.customizations.knownTypeFields.ConfigMap': { test: 'settings/parse.test.ts', names: 'knownTypeFields' },
  'resource.customizations.actions.ConfigMap': { given: 'x', row: 'resource actions' },
  'resource.ignoreResourceUpdatesEnabled': {
    given: 'false',
    beside: { 'resource.customizations.ignoreResourceUpdates.ConfigMap': ignoreAll },
    usual: 0,
    changed: 1,
    observe: (settings) =>
      inLive(
        settings,
        async (w) => {
          w.server.put(tracked('a', 'shop', { data: { x: '2' } }));
          await w.clock.advance(1000);
          return w.changes.length;
        },
        (server) => void server.put(tracked('a', 'shop', { data: { x: '1' } })),
      ),
  },
  'resource.sensitive.mask.annotations': {
    given: 'team/secret',
    usual: [],
    changed: ['team/secret'],
    observe: ({ sensitiveAnnotations }) => sensitiveAnnotations,
  },
  'resource.selectors': { given: '- selector: a=b', row: '`resource.selectors`' },
  'resource.manifest.compression.enabled': { given: 'true', row: 'variables with nothing to change' },
  'resource.manifest.compression': { given: 'gzip', row: 'variables with nothing to change' },
  'resource.manifest.storage': { given: 'json', row: 'variables with nothing to change' },
  'resource.customLabels': {
    given: 'team',
    usual: [],
    changed: [{ name: 'team', value: 'blue' }],
    observe: (settings) =>
      inLive(
        settings,
        async (w) => {
          const shown = await row(w, configMapKey('a'));
          return shown?.info ?? [];
        },
        (server) => {
          const { metadata, ...rest } = tracked('a');
          server.put({ ...rest, metadata: { ...metadata, labels: { team: 'blue' } } });
        },
      ),
  },
  'resource.includeEventLabelKeys': { test: 'settings/parse.test.ts', names: 'resource.includeEventLabelKeys' },
  'resource.excludeEventLabelKeys': { test: 'settings/parse.test.ts', names: 'resource.excludeEventLabelKeys' },
  'resource.respectRBAC': {
    given: 'normal',
    usual: 'forbidden',
    changed: 'left-out',
    observe: (settings) =>
      inLive(
        settings,
        (w) => stateOf(w, 'Pod')?.state,
        (server) => void server.faults.set('list pods', 403),
      ),
  },
  'kustomize.buildOptions': {
    given: '--enable-helm',
    usual: '',
    changed: '--enable-helm',
    observe: (settings) => requested(settings, 'kustomizeBuildOptions'),
  },
  'kustomize.buildOptions.v5': {
    given: '--x',
    usual: undefined,
    changed: { v5: '--x' },
    observe: (settings) => requested(settings, 'kustomizeVersionOptions'),
  },
  'kustomize.path.v5': {
    given: '/k5',
    usual: {},
    changed: { v5: '/k5' },
    observe: (settings) => requested(settings, 'kustomizeVersions'),
  },
  'kustomize.version.v5': {
    given: '/k5',
    usual: {},
    changed: { v5: '/k5' },
    observe: (settings) => requested(settings, 'kustomizeVersions'),
  },
  'kustomize.enable': {
    given: 'false',
    usual: true,
    changed: false,
    observe: async (settings) => isEnabled(await requested(settings, 'enabledTypes'), 'Kustomize'),
  },
  'helm.enable': {
    given: 'false',
    usual: true,
    changed: false,
    observe: async (settings) => isEnabled(await requested(settings, 'enabledTypes'), 'Helm'),
  },
  'jsonnet.enable': {
    given: 'false',
    usual: true,
    changed: false,
    observe: async (settings) => isEnabled(await requested(settings, 'enabledTypes'), 'Directory'),
  },
  'helm.valuesFileSchemes': {
    given: 's3',
    usual: ['https', 'http'],
    changed: ['s3'],
    observe: (settings) => requested(settings, 'valuesFileSchemes'),
  },
  'sourceHydrator.commitMessageTemplate': hydrated('sourceHydrator.commitMessageTemplate'),
  'sourceHydrator.readmeMessageTemplate': hydrated('sourceHydrator.readmeMessageTemplate'),
  'commit.author.name': hydrated('commit.author.name'),
  'commit.author.email': hydrated('commit.author.email'),
  'timeout.reconciliation': byOptions('ARGOCD_RECONCILIATION_TIMEOUT'),
  'timeout.hard.reconciliation': byOptions('ARGOCD_HARD_RECONCILIATION_TIMEOUT'),
  'timeout.reconciliation.jitter': byOptions('ARGOCD_RECONCILIATION_JITTER'),
};

function isEnabled(types: unknown, type: string): boolean {
  return (types as Readonly<Record<string, boolean>>)[type] !== false;
}
