import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { kubeConfigOf, startCluster } from './sim.ts';
import type { SimCluster } from './sim.ts';
import { openGate, openWriter, planSync, runSync, serverSideDiff } from './sync.ts';
import type { OpenedSyncWriter, SyncInputs, WriterOptions } from './sync.ts';

const configMap: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: {} };
const circular = (): KubeObject => {
  const data: Record<string, unknown> = {};
  data['self'] = data;
  return { ...configMap, data };
};

const wrongOptions: readonly (readonly [object, string])[] = [
  [{ purne: true }, 'inputs.options has no member "purne"; its members are prune, force, replace, serverSideApply, '],
  [{ dryRun: true }, 'there is no inputs.options.dryRun: a writer of openWriter({ dryRun: true }) makes the sync a'],
  [{ prune: 'yes' }, 'options.prune must be true or false, not "yes"'],
  [{ validate: 0 }, 'options.validate must be true or false, not 0'],
  [
    { prunePropagationPolicy: 'x' },
    'options.prunePropagationPolicy must be one of Foreground, Background, Orphan, not "x"',
  ],
  [{ waveDelayMs: 'x' }, 'options.waveDelayMs must be a number of milliseconds, 0 or more, not "x"'],
  [{ waveDelayMs: Number.NaN }, 'options.waveDelayMs must be a number of milliseconds, 0 or more, not NaN'],
  [{ migrationManager: '' }, 'options.migrationManager must be 1 to 128 bytes of printable text, and not before'],
  [{ defaultPrune: 'no' }, 'options.defaultPrune must be one of true, false, confirm, not "no"'],
];

const wrongInputs: readonly (readonly [object, string])[] = [
  [{ targets: undefined }, 'targets must be a list, not undefined'],
  [{ targets: configMap }, 'targets must be a list, not an object'],
  [{ targets: [circular()] }, 'target 0 contains itself, or has more than 500 levels'],
  [{ known: 'x' }, 'known must be a list, not "x"'],
  [{ writer: undefined }, 'writer must be that of openWriter (await it), or a SyncWriter, not undefined'],
  [{ writer: Promise.resolve() }, 'writer must be that of openWriter (await it), or a SyncWriter, not an object'],
  [{ cache: {} }, 'cache must be that of openCache (await it), not an object'],
  [{ namespace: 5 }, 'namespace must be the name of a namespace: 1 to 63 lower-case letters, digits and "-", not 5'],
  [{ namespace: 'BAD NS' }, 'namespace must be the name of a namespace: 1 to 63 lower-case letters, digits and "-"'],
  [{ owner: 'x' }, 'owner must be an object, not "x"'],
  [{ owner: { label: 'a/b' } }, 'owner.value must be the value of a label: '],
  [{ owner: { label: 'a/b', value: 'a', adopt: 'no' } }, 'owner.adopt must be true or false, not "no"'],
  [
    { owner: { label: 'a/b', value: 'a', adpot: true } },
    'inputs.owner has no member "adpot"; its members are label, value, adopt',
  ],
  [{ options: [] }, 'options must be an object, not a list'],
  [{ inventoryName: 5 }, 'inventoryName must be a text, not 5'],
  [{ revision: 5 }, 'revision must be a text, not 5'],
  [{ diff: {} }, 'diff must be that of diffRules, not an object'],
  [{ health: 1 }, 'health must be a function, not 1'],
  [{ isSelected: 1 }, 'isSelected must be a function, not 1'],
  [{ onStep: 1 }, 'onStep must be a function, not 1'],
  [{ onWarning: 'x' }, 'onWarning must be a function, not "x"'],
  [{ deadlineMs: Number.NaN }, 'deadlineMs must be a number of milliseconds, more than 0, not NaN'],
  [{ deadlineMs: 'x' }, 'deadlineMs must be a number of milliseconds, more than 0, not "x"'],
  [{ deadlineMs: -5 }, 'deadlineMs must be a number of milliseconds, more than 0, not -5'],
  [{ signal: {} }, 'signal must be an AbortSignal, not an object'],
];

describe('the options of @driftless/engine/sync', () => {
  let sim: SimCluster;
  let writer: OpenedSyncWriter;
  let requests: string[];

  beforeAll(async () => {
    sim = await startCluster({ workloads: { enabled: false, delayMs: 0 } });
    writer = await openWriter({ kubeConfig: kubeConfigOf(sim) });
    sim.onRequest(({ verb, resource }) => void requests.push(`${verb} ${resource}`));
  });

  beforeEach(() => {
    requests = [];
  });

  afterAll(async () => {
    await writer.close();
    await sim.close();
  });

  const usage = (message: string): object => ({ code: 'USAGE', message: expect.stringContaining(message) });
  const all = [runSync, planSync, serverSideDiff];

  it.each([...wrongInputs, ...wrongOptions.map(([options, message]) => [{ options }, message] as const)])(
    'a sync refuses %j before it sends anything',
    async (wrong, message) => {
      const inputs = { targets: [configMap], writer, ...wrong } as unknown as SyncInputs;
      for (const run of all) await expect(run(inputs)).rejects.toMatchObject(usage(message));
      expect(requests).toEqual([]);
    },
  );

  it('a sync without inputs is refused', async () => {
    for (const run of all as unknown as readonly (() => Promise<unknown>)[])
      await expect(run()).rejects.toMatchObject(usage('inputs must be an object, not undefined'));
  });

  it('accepts every option that has a valid value, and options that are undefined', async () => {
    const options = {
      prune: true,
      waveDelayMs: 0,
      migrationManager: 'kubectl',
      prunePropagationPolicy: 'Orphan',
    } as const;
    const { signal } = new AbortController();
    const inputs = { targets: [configMap], namespace: 'default', options, deadlineMs: Infinity, signal, revision: '' };
    const unset = { cache: undefined, owner: undefined, inventory: undefined } as unknown as Partial<SyncInputs>;
    expect(await runSync({ ...inputs, ...unset, writer })).toMatchObject({ phase: 'Succeeded' });
  });

  it.each([
    [
      { fieldmanager: 'x' },
      'options has no member "fieldmanager"; its members are kubeConfig, context, dryRun, denied, fieldManager',
    ],
    [{ fieldManager: '' }, 'fieldManager must be 1 to 128 bytes of printable text, and not before-first-apply, not ""'],
    [{ dryRun: 'yes' }, 'dryRun must be true or false, not "yes"'],
    [{ denied: 1 }, 'denied must be a function, not 1'],
    [{ gate: {} }, 'gate must be that of openGate, not an object'],
    [{ kubeConfig: 5 }, 'options.kubeConfig must be a path, a KubeConfig of '],
    [{ context: 5 }, 'options.context must be a text that is not empty, not 5'],
  ])('openWriter refuses %j', async (wrong, message) => {
    const options = { kubeConfig: kubeConfigOf(sim), ...wrong } as unknown as WriterOptions;
    await expect(openWriter(options)).rejects.toMatchObject(usage(message));
    expect(requests).toEqual([]);
  });

  it.each([
    [{ maxEntries: 'x' }, 'maxEntries must be a whole number of at least 1, not "x"'],
    [{ max: 1 }, 'options has no member "max"; its members are maxEntries'],
  ])('openGate refuses %j', (wrong, message) => {
    expect(() => openGate(wrong as object)).toThrow(expect.objectContaining(usage(message)));
  });
});
