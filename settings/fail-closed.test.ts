import { describe, expect, it } from '@jest/globals';
import { seededRandom, Shutdown } from '#base';
import { diffObjects } from '#diff';
import { defaultSettings } from '#model';
import type { KubeObject, Settings } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { parseSettings } from './parse.ts';
import { settingKeys } from './setting-table.ts';
import { createSettingsWriter } from './settings-writer.ts';
import { createSettingsStore } from './store.ts';
import { FakeHub } from './testing/fake-hub.ts';
import type { SettingsStore } from './types.ts';

type Data = Readonly<Record<string, string>>;

interface NarrowingCase {
  readonly key: string;
  /** A value that forbids a write. */
  readonly narrow: string;
  readonly unreadable: readonly string[];
  /** Whether the write that `narrow` forbids is still forbidden. */
  readonly forbids: (settings: Settings) => boolean;
}

const object = (kind: string, apiVersion: string, content: object): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'a', namespace: 'ns' },
  ...content,
});

/** An ignored field differs: it must neither be reported as a difference nor be decided. */
function leavesAlone(settings: Settings, target: KubeObject, live: KubeObject): boolean {
  const { modified, undecided } = diffObjects(target, live, { settings, ignoreDifferences: [] });
  return !modified || undecided;
}

const leavesData = (settings: Settings): boolean =>
  leavesAlone(
    settings,
    object('ConfigMap', 'v1', { data: { a: 'git' } }),
    object('ConfigMap', 'v1', { data: { a: 'operator' } }),
  );

const roleRules = (verb: string): object => ({ aggregationRule: {}, rules: [{ apiGroups: [''], verbs: [verb] }] });
const leavesAggregatedRole = (settings: Settings): boolean =>
  leavesAlone(
    settings,
    object('ClusterRole', 'rbac.authorization.k8s.io/v1', roleRules('get')),
    object('ClusterRole', 'rbac.authorization.k8s.io/v1', roleRules('list')),
  );

const leavesQuantity = (settings: Settings): boolean =>
  leavesAlone(
    settings,
    object('Foo', 'x.io/v1', { spec: { cpu: '1' } }),
    object('Foo', 'x.io/v1', { spec: { cpu: '1000m' } }),
  );

const badPointers = ['jsonPointers: /data/a', 'jsonPointers:\n- /data/a\n- 5', '- /data/a', 'jsonPointer: [/data/a]'];
const badRules = [
  ...badPointers,
  'jsonPointers:\n- "/data/a',
  'jsonPointers: {/data/a: 1}',
  'text',
  'jqPathExpressions: .data.a',
  'managedFieldsManagers: operator',
];
const bulk = (rules: string): string => `ConfigMap:\n  ignoreDifferences: |\n    ${rules.replaceAll('\n', '\n    ')}\n`;
const exclusion = '- kinds: [Secret]\n  apiGroups: [""]\n';
const badFilters = [
  '- kinds: Secret\n',
  '- kind: [Secret]\n',
  'kinds: [Secret]\n',
  '- kinds: [Secret\n',
  '- Secret\n',
  '- kinds: [Secret, 5]\n',
  '- apiGroups: ["[a"]\n',
];

const cases: readonly NarrowingCase[] = [
  {
    key: 'resource.customizations.ignoreDifferences.ConfigMap',
    narrow: 'jsonPointers:\n- /data/a\n',
    unreadable: [...badRules, 'jqPathExpressions: [".data["]'],
    forbids: leavesData,
  },
  {
    key: 'resource.customizations.ignoreDifferences.all',
    narrow: 'jsonPointers:\n- /data/a\n',
    unreadable: badRules,
    forbids: leavesData,
  },
  {
    key: 'resource.customizations',
    narrow: bulk('jsonPointers:\n- /data/a'),
    unreadable: [
      ...badPointers.map(bulk),
      bulk('jsonPointers: ["/data/a'),
      'ConfigMap:\n  ignoreDifferences: |\n    a\n x',
      'ConfigMap: text',
      '- ConfigMap',
      'ConfigMap:\n  ignoreDiferences: |\n    jsonPointers: [/data/a]\n',
      'a/b/ConfigMap:\n  ignoreDifferences: |\n    jsonPointers: [/data/a]\n',
      '"Config[Map":\n  ignoreDifferences: |\n    jsonPointers: [/data/a]\n',
    ],
    forbids: leavesData,
  },
  {
    key: 'resource.customizations.knownTypeFields.x.io_Foo',
    narrow: '- field: spec.cpu\n  type: core/Quantity\n',
    unreadable: ['- field: spec.cpu\n', 'field: spec.cpu', '- field: [\n'],
    forbids: leavesQuantity,
  },
  {
    key: 'resource.compareoptions',
    narrow: 'ignoreAggregatedRoles: true\n',
    unreadable: ['ignoreAggregatedRoles: "true"', 'ignoreAggregatedRole: true', '- a', 'ignoreAggregatedRoles: [', 'x'],
    forbids: leavesAggregatedRole,
  },
  {
    key: 'resource.exclusions',
    narrow: exclusion,
    unreadable: badFilters,
    forbids: ({ exclusions }) => exclusions.some(({ kinds }) => kinds.includes('Secret')),
  },
  {
    key: 'resource.inclusions',
    narrow: exclusion,
    unreadable: badFilters,
    forbids: ({ inclusions }) => inclusions.length === 1 && inclusions[0]?.kinds.join(',') === 'Secret',
  },
  {
    key: 'application.resourceTrackingMethod',
    narrow: 'label',
    unreadable: ['lable', 'annotation + label', 'Label', 'label\n'],
    forbids: ({ tracking }) => tracking.method === 'label',
  },
  {
    key: 'application.instanceLabelKey',
    narrow: 'acme.io/instance',
    unreadable: ['acme io', 'a/b/c', '-a'],
    forbids: ({ tracking }) => tracking.labelKey === 'acme.io/instance',
  },
  {
    key: 'installationID',
    narrow: 'one',
    unreadable: ['\uFFFD'],
    forbids: ({ tracking }) => tracking.installationId === 'one',
  },
  {
    key: 'application.sync.impersonation.enabled',
    narrow: 'true',
    unreadable: ['True', 'yes', 'tru'],
    forbids: ({ impersonation }) => impersonation.enabled,
  },
  {
    key: 'application.sync.impersonation.enforced',
    narrow: 'true',
    unreadable: ['False', 'no'],
    forbids: ({ impersonation }) => impersonation.enforced,
  },
  {
    key: 'cluster.inClusterEnabled',
    narrow: 'false',
    unreadable: ['False', 'no', '0'],
    forbids: ({ inClusterEnabled }) => !inClusterEnabled,
  },
  {
    key: 'resource.respectRBAC',
    narrow: 'strict',
    unreadable: ['Strict', 'on'],
    forbids: ({ respectRBAC }) => respectRBAC === 'strict',
  },
  {
    key: 'globalProjects',
    narrow: '- projectName: deny\n  labelSelector: {}\n',
    unreadable: ['- projectName: 5\n', '- projectname: deny\n', 'projectName: deny\n', '- projectName: [\n', 'deny'],
    forbids: ({ globalProjects }) => globalProjects.some(({ projectName }) => projectName === 'deny'),
  },
];

/** Nothing is written at all, or the write of this case is not. */
function isClosed({ forbids }: NarrowingCase, settings: Settings): boolean {
  return settings.unreadable.some(({ kind, isKept }) => kind === undefined && !isKept) || forbids(settings);
}

interface RunningStore {
  readonly store: SettingsStore;
  readonly clock: FakeClock;
  readonly stop: () => Promise<void>;
}

async function start(hub: FakeHub): Promise<RunningStore> {
  const clock = new FakeClock();
  const deps = { client: hub.client(), namespace: 'argocd', clock, random: seededRandom(1), logger: silentLogger };
  const store = createSettingsStore({ ...deps, writer: createSettingsWriter(hub.client()) });
  const controller = new AbortController();
  const running = store.run(controller.signal);
  const ready = store.ready?.(controller.signal);
  await clock.advance(40_000);
  await ready;
  return {
    store,
    clock,
    stop: async () => {
      controller.abort(new Shutdown());
      await running;
      expect(clock.pending).toBe(0);
    },
  };
}

const other: Data = { url: 'https://argocd.example.com' };
const put = (hub: FakeHub, data: Data): void => hub.put('ConfigMap', 'argocd-cm', data);

/** Changes of argocd-cm. */
const events: Readonly<Record<string, (hub: FakeHub, key: string) => void>> = {
  deleted: (hub) => hub.remove('ConfigMap', 'argocd-cm'),
  emptied: (hub) => put(hub, {}),
  binary: (hub, key) => hub.put('ConfigMap', 'argocd-cm', other, { more: { binaryData: { [key]: '/w==' } } }),
};

type Fault = readonly [title: string, act: (hub: FakeHub) => void];

const faultsOf = ({ key, unreadable }: NarrowingCase): readonly Fault[] => [
  ...unreadable.map((text): Fault => [JSON.stringify(text), (hub) => put(hub, { ...other, [key]: text })]),
  ...Object.entries(events).map(([title, act]): Fault => [title, (hub) => act(hub, key)]),
];

const rows = cases.flatMap((one) => faultsOf(one).map(([title, act]) => [one.key, title, one, act] as const));

describe('a setting that narrows what is written', () => {
  it('has a row here for each key of the table, and a narrow value that matters', () => {
    const tested = cases.map(({ key }) => key);
    for (const key of [...settingKeys['every write'], ...settingKeys.kinds])
      expect(tested.some((one) => (key.endsWith('*') ? one.startsWith(key.slice(0, -1)) : one === key))).toBe(true);
    for (const { key, narrow, forbids } of cases) {
      expect([key, forbids(parseSettings({ [key]: narrow }).settings)]).toEqual([key, true]);
      const isNarrowDefault = key === 'application.sync.impersonation.enforced';
      expect([key, forbids(defaultSettings)]).toEqual([key, isNarrowDefault]);
    }
  });

  it.each(rows)('%s, %s: stays in force at run time, and for a replica that starts then', async (key, _, one, act) => {
    const hub = new FakeHub();
    put(hub, { ...other, [key]: one.narrow });
    const first = await start(hub);
    expect([one.forbids(first.store.settings()), first.store.problems()]).toEqual([true, []]);
    act(hub);
    await first.clock.settle();
    expect(one.forbids(first.store.settings())).toBe(true);
    expect(first.store.problems()).not.toEqual([]);
    const second = await start(hub);
    expect(one.forbids(second.store.settings())).toBe(true);
    await first.stop();
    const restarted = await start(hub);
    expect(one.forbids(restarted.store.settings())).toBe(true);
    put(hub, other);
    await restarted.clock.settle();
    // An edit holds at once.
    expect([restarted.store.settings().unreadable, restarted.store.problems()]).toEqual([[], []]);
    await Promise.all([second.stop(), restarted.stop()]);
  });

  it.each(cases.flatMap((one) => one.unreadable.map((text) => [one.key, text, one] as const)))(
    '%s, %j: at a first start nothing that it concerns is written, until it can be read',
    async (key, text, one) => {
      const hub = new FakeHub();
      put(hub, { [key]: text });
      const { store, clock, stop } = await start(hub);
      expect(isClosed(one, store.settings())).toBe(true);
      hub.remove('ConfigMap', 'argocd-cm');
      await clock.settle();
      expect(isClosed(one, store.settings())).toBe(true);
      const restarted = await start(hub);
      expect(isClosed(one, restarted.store.settings())).toBe(true);
      put(hub, { [key]: one.narrow });
      await clock.settle();
      expect([one.forbids(store.settings()), store.problems()]).toEqual([true, []]);
      await Promise.all([stop(), restarted.stop()]);
    },
  );

  it.each(cases.map((one) => [one.key, one] as const))('%s: its removal by an edit holds at once', async (key, one) => {
    const hub = new FakeHub();
    put(hub, { ...other, [key]: one.narrow });
    const { store, clock, stop } = await start(hub);
    put(hub, other);
    await clock.settle();
    expect(store.settings().version).toBe(defaultSettings.version);
    await stop();
  });
});
