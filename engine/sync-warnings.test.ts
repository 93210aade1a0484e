import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { kubeConfigOf, startCluster } from './sim.ts';
import type { SimCluster } from './sim.ts';
import { openWriter, runSync } from './sync.ts';
import type { OpenedSyncWriter, SyncInputs, SyncReport, SyncWarning } from './sync.ts';

const configMap = (name: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...more,
});
const unknown = { dta: { a: '1' } };
const validateFalse = { 'argocd.argoproj.io/sync-options': 'Validate=false' };

describe('warnings of the server', () => {
  let sim: SimCluster;
  let writer: OpenedSyncWriter;
  let warnings: [string, SyncWarning][];

  beforeAll(async () => {
    sim = await startCluster();
    writer = await openWriter({ kubeConfig: kubeConfigOf(sim) });
  });

  afterAll(async () => {
    await writer.close();
    await sim.close();
  });

  beforeEach(() => {
    warnings = [];
  });

  const sync = (targets: readonly KubeObject[], more: Partial<SyncInputs> = {}): Promise<SyncReport> =>
    runSync({
      targets,
      writer,
      namespace: 'default',
      onWarning: (message, warning) => void warnings.push([message, warning]),
      ...more,
    });

  it.each([
    ['a creation', {}],
    ['a client-side apply', {}],
    ['a replacement', { replace: true }],
  ])('reach onWarning once for %s, with their object', async (_how, options) => {
    const target = configMap('unknown', { ...unknown, data: { of: _how } });
    expect((await sync([target], { options })).phase).toBe('Succeeded');
    const message = 'unknown field "dta"';
    const object = { group: '', kind: 'ConfigMap', namespace: 'default', name: 'unknown' };
    expect(warnings).toEqual([[`ConfigMap default/unknown: ${message}`, { source: 'server', message, object }]]);
  });

  it.each([false, true])('tell of a deprecated version (server-side: %s)', async (serverSideApply) => {
    await sync([{ apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'old' } }], { options: { serverSideApply } });
    expect(warnings.map(([text]) => text)).toEqual([
      'Endpoints default/old: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
    ]);
  });

  it.each([
    ['the option of the sync', {}, { options: { validate: false } }],
    ['the option of the object', validateFalse, {}],
    ['a replacement', validateFalse, { options: { replace: true } }],
  ])('about unknown fields are not asked for without validation: %s', async (how, annotations, more) => {
    const target = configMap(`quiet-${how.length}`, {
      ...unknown,
      metadata: { name: `quiet-${how.length}`, annotations },
    });
    expect((await sync([target], more)).phase).toBe('Succeeded');
    expect(warnings).toEqual([]);
  });

  it('do not end the sync if onWarning throws', async () => {
    const onWarning = (): never => {
      throw new Error('no reader');
    };
    const { phase } = await sync([configMap('thrown', unknown)], { onWarning });
    expect(phase).toBe('Succeeded');
    expect(sim.store.get('', 'ConfigMap', 'default', 'thrown')?.metadata.name).toBe('thrown');
  });

  it.each([
    ['throws', thrown('no scale'), 'no scale'],
    ['returns no status', () => ({ status: 'healthy' }) as never, 'it must return null or { status }'],
  ])('name the object for which the health of the caller %s', async (_how, health, why) => {
    const wave = { 'argocd.argoproj.io/sync-wave': '1' };
    const targets = [configMap('sick'), configMap('next', { metadata: { name: 'next', annotations: wave } })];
    const waiting = new AbortController();
    const onWarning: SyncInputs['onWarning'] = (message, warning) => {
      warnings.push([message, warning]);
      waiting.abort();
    };
    await expect(sync(targets, { health, onWarning, signal: waiting.signal })).rejects.toThrow('aborted');
    const text = `ConfigMap default/sick: inputs.health failed, so the sync waits for the object: ${why}`;
    const object = { group: '', kind: 'ConfigMap', namespace: 'default', name: 'sick' };
    expect(warnings).toMatchObject([[expect.stringContaining(text), { source: 'sync', object }]]);
  });

  it.each(['first', '1.5', '', '9223372036854775808'])(
    'name an object whose sync wave is no number: %j',
    async (wave) => {
      const waves = { 'argocd.argoproj.io/sync-wave': wave, 'helm.sh/hook-weight': '1' };
      const targets = [configMap('waved', { metadata: { name: 'waved', annotations: waves } }), configMap('plain')];
      expect((await sync(targets)).phase).toBe('Succeeded');
      const message = `its wave is ignored: "${wave}" (argocd.argoproj.io/sync-wave) is not a whole number of 64 bits`;
      const object = { group: '', kind: 'ConfigMap', namespace: 'default', name: 'waved' };
      expect(warnings).toEqual([[`ConfigMap default/waved: ${message}`, { source: 'sync', message, object }]]);
    },
  );

  it('name an object whose hook type is unknown, and no hook that others run', async () => {
    const hooks = ['Presync', 'Skip', 'PreDelete', 'PostSync'].map((type) =>
      configMap(`hook-${type.toLowerCase()}`, {
        metadata: { name: `hook-${type.toLowerCase()}`, annotations: { 'argocd.argoproj.io/hook': type } },
      }),
    );
    expect((await sync(hooks)).results.map(({ name }) => name)).toEqual(['hook-postsync']);
    expect(warnings.map(([text]) => text)).toEqual([
      'ConfigMap default/hook-presync: it is left out: "Presync" is no hook type (PreSync, Sync, PostSync, SyncFail or Skip)',
    ]);
  });
});

function thrown(message: string): () => never {
  return () => {
    throw new Error(message);
  };
}
