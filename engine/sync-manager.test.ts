import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { widgetCrd } from '#support';
import { diffObjects, diffRules } from './diff.ts';
import { kubeConfigOf, startCluster } from './sim.ts';
import type { SimCluster } from './sim.ts';
import { openGate, openWriter, planSync, runSync } from './sync.ts';
import type { OpenedSyncWriter, SyncInputs } from './sync.ts';

type Options = NonNullable<SyncInputs['options']>;
const modes = {
  'client-side': {},
  'server-side': { serverSideApply: true },
} satisfies Record<string, Options>;
type Mode = keyof typeof modes;
const switches = (Object.keys(modes) as Mode[]).flatMap((from) =>
  (Object.keys(modes) as Mode[]).map((to) => [from, to] as const),
);

const configMap = (...keys: readonly string[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'shared' },
  data: Object.fromEntries(keys.map((key) => [key, key])),
});

const deployment = (extra: object, ...containers: readonly string[]): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { ...extra, containers: containers.map((name) => ({ name, image: `${name}:1` })) },
    },
  },
});

const properties = { size: { type: 'integer' }, color: { type: 'string' } };
const widgetSchema = {
  type: 'object',
  properties: {
    spec: { type: 'object', properties },
    status: { type: 'object', properties: { phase: { type: 'string' } } },
  },
};

const widget = (spec: object): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'one' },
  spec,
});

describe('a sync under another field manager', () => {
  let sim: SimCluster;
  let writer: OpenedSyncWriter;
  let argo: OpenedSyncWriter;

  beforeEach(async () => {
    sim = await startCluster({ workloads: { enabled: false, delayMs: 0 } });
    const kubeConfig = kubeConfigOf(sim);
    writer = await openWriter({ kubeConfig, fieldManager: 'team-agent' });
    argo = await openWriter({ kubeConfig });
    sim.store.create(widgetCrd('example.com', widgetSchema));
  });

  afterEach(async () => {
    await writer.close();
    await argo.close();
    await sim.close();
  });

  const stored = (kind: string, name: string, group = ''): KubeObject => {
    const namespace = kind === 'CustomResourceDefinition' ? '' : 'default';
    const object = sim.store.get(group, kind, namespace, name);
    if (object === undefined) throw new Error(`there is no ${kind} ${name}`);
    return object;
  };
  const keysIn = (object: KubeObject): readonly string[] => {
    const keys: readonly string[] = Object.keys(object['data'] as object);
    return [...keys].sort();
  };
  const managersOf = ({ metadata }: KubeObject): readonly string[] =>
    (metadata.managedFields ?? []).map(({ manager }) => manager as string);
  const sync = async (by: OpenedSyncWriter, mode: Mode, ...targets: readonly KubeObject[]): Promise<void> => {
    const { phase, results } = await runSync({ targets, writer: by, namespace: 'default', options: modes[mode] });
    expect([phase, results.filter(({ status }) => status !== 'Synced')]).toEqual(['Succeeded', []]);
  };

  it.each(switches)('removes what the targets drop, %s and then %s', async (from, to) => {
    const sidecar = deployment({ hostNetwork: true }, 'web', 'sidecar');
    await sync(writer, from, configMap('kept', 'dropped'), sidecar, widget({ size: 1, color: 'red' }));
    const after = [configMap('kept'), deployment({}, 'web'), widget({ size: 1 })];
    const plan = await planSync({ targets: after, writer, namespace: 'default', options: modes[to] });
    expect(plan.map(({ action }) => action)).toEqual(['update', 'update', 'update']);
    await sync(writer, to, ...after);
    expect(keysIn(stored('ConfigMap', 'shared'))).toEqual(['kept']);
    expect(JSON.stringify(stored('Deployment', 'web', 'apps')['spec'])).not.toMatch(/sidecar|hostNetwork/);
    expect(stored('Widget', 'one', 'example.com')['spec']).toEqual({ size: 1 });
    const again = await planSync({ targets: after, writer, namespace: 'default', options: modes[to] });
    expect(again.map(({ action }) => action)).toEqual(['unchanged', 'unchanged', 'unchanged']);
  });

  it.each(switches)('keeps what argocd-controller applied or wrote, %s and then %s', async (from, to) => {
    await sync(argo, 'server-side', configMap('applied'));
    await sync(writer, from, configMap('kept', 'dropped'));
    expect(keysIn(stored('ConfigMap', 'shared'))).toEqual(['applied', 'dropped', 'kept']);
    const live = stored('ConfigMap', 'shared') as KubeObject & { readonly data: object };
    sim.store.update({ ...live, data: { ...live.data, written: 'written' } }, { manager: 'argocd-controller' });
    await sync(writer, to, configMap('kept'));
    expect(keysIn(stored('ConfigMap', 'shared'))).toEqual(['applied', 'kept', 'written']);
  });

  it('does not take over what argocd-controller applied client-side, unless it is named', async () => {
    await sync(argo, 'client-side', configMap('theirs'));
    await sync(writer, 'server-side', configMap('ours'));
    expect(keysIn(stored('ConfigMap', 'shared'))).toEqual(['ours', 'theirs']);
    const options = { serverSideApply: true, migrationManager: 'argocd-controller' };
    expect(await runSync({ targets: [configMap('ours')], writer, namespace: 'default', options })).toMatchObject({
      phase: 'Succeeded',
    });
    expect(keysIn(stored('ConfigMap', 'shared'))).toEqual(['ours']);
  });

  it.each(['client-side', 'server-side'] as const)(
    'removes fields of the former owner after adopt by its name: as migrationManager if applied client-side (%s)',
    async (mode) => {
      const label = 'example.com/owner';
      const before = { targets: [configMap('kept', 'dropped')], namespace: 'default', options: modes[mode] };
      await runSync({ ...before, writer: argo, owner: { label, value: 'former' } });
      const owner = { label, value: 'new', adopt: true };
      const after = { targets: [configMap('kept')], namespace: 'default', owner };
      const adopt = async (by: OpenedSyncWriter, options: Options): Promise<readonly string[]> => {
        expect(await runSync({ ...after, writer: by, options })).toMatchObject({ phase: 'Succeeded' });
        return keysIn(stored('ConfigMap', 'shared'));
      };
      expect(await adopt(writer, { serverSideApply: true })).toEqual(['dropped', 'kept']);
      const migrated = await adopt(writer, { serverSideApply: true, migrationManager: 'argocd-controller' });
      expect(migrated).toEqual(mode === 'client-side' ? ['kept'] : ['dropped', 'kept']);
      expect(await adopt(argo, { serverSideApply: true })).toEqual(['kept']);
    },
  );

  it('names it in every write: creation, apply, replacement, metadata and status', async () => {
    const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } };
    const openAPIV3Schema = widgetSchema;
    const { spec, ...crd } = stored(
      'CustomResourceDefinition',
      'widgets.example.com',
      'apiextensions.k8s.io',
    ) as KubeObject & { readonly spec: object };
    sim.store.update({ ...crd, spec: { ...spec, versions: [{ ...version, schema: { openAPIV3Schema } }] } });
    const { signal } = new AbortController();
    const made = await writer.create(
      { ...widget({ size: 1 }), metadata: { name: 'one', namespace: 'default' } },
      signal,
    );
    const held = await writer.patchMetadata(made.object, { finalizers: ['example.com/a'] }, signal);
    expect(managersOf(await writer.patchStatus(held, { phase: 'Ready' }, signal))).toEqual([
      'team-agent',
      'team-agent',
    ]);
    await sync(writer, 'client-side', configMap('a'));
    await runSync({ targets: [configMap('b')], writer, namespace: 'default', options: { replace: true } });
    await sync(writer, 'server-side', configMap('c'));
    expect(new Set(managersOf(stored('ConfigMap', 'shared')))).toEqual(new Set(['team-agent']));
  });

  it('the gate of two managers leaves out only what each has applied', async () => {
    const gate = openGate();
    const kubeConfig = kubeConfigOf(sim);
    const [ours, theirs] = [
      await openWriter({ kubeConfig, gate, fieldManager: 'team-agent' }),
      await openWriter({ kubeConfig, gate }),
    ];
    await sync(ours, 'server-side', configMap('a'));
    await sync(theirs, 'server-side', configMap('a'));
    expect(new Set(managersOf(stored('ConfigMap', 'shared')))).toEqual(new Set(['team-agent', 'argocd-controller']));
    await ours.close();
    await theirs.close();
  });

  it('diffRules compares as that manager applies', async () => {
    await sync(writer, 'server-side', configMap('kept', 'dropped'));
    const [target, live] = [
      { ...configMap('kept'), metadata: { name: 'shared', namespace: 'default' } },
      stored('ConfigMap', 'shared'),
    ];
    for (const serverSideApply of [false, true]) {
      const own = diffRules({ serverSideApply, fieldManager: 'team-agent' });
      expect(diffObjects(target, live, own).paths).toEqual(['/data/dropped']);
      expect(diffObjects(target, live, diffRules({ serverSideApply })).modified).toBe(false);
    }
    expect(() => diffRules({ fieldManager: '' })).toThrow('fieldManager');
  });

  it.each([
    ['an empty name', ''],
    ['more than 128 bytes', 'é'.repeat(65)],
    ['a control character', 'team\nagent'],
    ['the name of the API server itself', 'before-first-apply'],
    ['no text', 7 as unknown as string],
  ])('refuses %s', async (_what, fieldManager) => {
    const opened = openWriter({ kubeConfig: kubeConfigOf(sim), fieldManager });
    await expect(opened).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('fieldManager') });
  });

  it('takes a name that the API server takes', async () => {
    const longest = await openWriter({ kubeConfig: kubeConfigOf(sim), fieldManager: `Équipe ${'x'.repeat(120)}` });
    await sync(longest, 'server-side', configMap('a'));
    expect(managersOf(stored('ConfigMap', 'shared'))[0]).toHaveLength(127);
    await longest.close();
  });
});
