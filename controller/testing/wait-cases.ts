import { KubeApiError } from '#kube';
import { defaultSettings } from '#model';
import type { ConditionType, KubeObject } from '#model';
import type { ControllerConfig } from '../assembly/types.ts';
import type { WaitCause, WaitType } from '../shared/waits.ts';
import type { CallInterference } from './fake-api.ts';
import { automated, configMap } from './fake-world.ts';
import { cascade, hook, job, wave } from './manifests.ts';
import type { TestStage } from './stage.ts';

/** The commit of the Application before it waits. */
export const firstCommit = 'a'.repeat(40);
const nextCommit = 'b'.repeat(40);
const preDelete = 'pre-delete-finalizer.argocd.argoproj.io';
const hourMs = 3_600_000;

/** Work that waits for longer than ten minutes. */
export interface WaitCase {
  readonly name: string;
  readonly type: WaitType;
  /** Prepares what waits; the Application is automated, without an operation, and Synced. */
  readonly wait: () => void | Promise<void>;
  readonly text: string;
  /** Lets it go on. */
  readonly release: () => void;
  /** The condition that names it; WaitingWarning if absent. */
  readonly condition?: ConditionType;
  readonly config?: Partial<ControllerConfig>;
  /** Hooks around the calls to the cluster. */
  readonly dest?: CallInterference;
}

type Cases = readonly WaitCase[];

/** A case for each cause, or why it cannot last for minutes. */
export function waitCases(at: TestStage): Readonly<Record<WaitCause, Cases | string>> {
  return {
    ...operationCases(at),
    ...deletionCases(at),
    ...failingDeletionCases(at),
    retry: retryCases(at),
    ...comparisonCases(at),
    cluster: clusterCases(at),
    settings: settingsCases(at),
    owner: [ownerCase(at)],
  };
}

function manual(at: TestStage): void {
  at.world.edit(() => ({ operation: { sync: { revision: firstCommit } } }));
}

function setPolicy(at: TestStage, syncPolicy: object): void {
  at.world.edit((object) => ({ spec: { ...(object['spec'] as object), syncPolicy } }));
}

/** Ends the operation by hand; the next one has nothing to wait for. */
function endOperation(at: TestStage): void {
  at.world.git.push('c'.repeat(40), [configMap('one')]);
  at.terminate();
}

function liveOf(at: TestStage, kind: string, name: string): KubeObject {
  const live = at.world.dest.get(kind, name);
  if (live === undefined) throw new Error(`${kind} ${name} is not on the cluster`);
  return live;
}

function setFinalizers(at: TestStage, name: string, finalizers: readonly string[]): void {
  const live = liveOf(at, 'ConfigMap', name);
  at.world.dest.put({ ...live, metadata: { ...live.metadata, finalizers } });
}

function clusterCases(at: TestStage): Cases {
  const text = 'waiting for the cache of cluster https://dest';
  const release = (): void => void (at.world.ready = true);
  const begin = (act: () => void) => (): void => {
    at.world.ready = false;
    act();
  };
  const cases: readonly (readonly [WaitType, string, () => void])[] = [
    ['operation', 'a sync', () => manual(at)],
    ['comparison', 'a comparison', () => at.world.git.push(nextCommit, [configMap('two')])],
    ['refresh', 'a requested refresh', () => at.world.annotate({ 'argocd.argoproj.io/refresh': 'normal' })],
    ['deletion', 'a deletion', () => at.setDeleting([cascade])],
  ];
  return cases.map(([type, what, act]) => ({
    name: `${what} whose cluster has no cache`,
    type,
    wait: begin(act),
    text,
    release,
    ...(type === 'deletion' ? { condition: 'DeletionError' } : {}),
  }));
}

function settingsCases(at: TestStage): Cases {
  const wait = (act: () => void) => (): void => {
    const unreadable = [{ key: 'resource.exclusions', problem: 'line 1', isKept: false }];
    at.world.settings = { ...defaultSettings, unreadable };
    act();
  };
  const release = (): void => void (at.world.settings = defaultSettings);
  const text = 'resource.exclusions';
  return [
    {
      name: 'a sync while the settings cannot be read',
      type: 'operation',
      wait: wait(() => manual(at)),
      text,
      release,
      condition: 'SettingsError',
    },
    {
      name: 'a deletion while the settings cannot be read',
      type: 'deletion',
      wait: wait(() => at.setDeleting([cascade])),
      text,
      release,
      condition: 'DeletionError',
    },
  ];
}

function ownerCase(at: TestStage): WaitCase {
  return {
    name: 'a hand-over that nobody takes',
    type: 'hand-over',
    wait: () => at.world.handOver(-1),
    text: 'No replica of the application controller owns cluster "https://dest"',
    release: () => at.world.handOver(0),
    condition: 'UnownedClusterWarning',
  };
}

function operationCases(at: TestStage): Readonly<Record<OperationCause, Cases>> {
  const commit =
    (...objects: KubeObject[]) =>
    (): void =>
      at.world.git.push(nextCommit, objects);
  const end = (): void => endOperation(at);
  const waved = [job('job', wave(0)), configMap('two', '1', wave(1))];
  return {
    hook: [
      {
        name: 'a hook that does not end',
        type: 'operation',
        wait: commit(configMap('two'), job('job', hook('PreSync'))),
        text: 'minutes: waiting for completion of hook batch/Job/job',
        release: end,
      },
    ],
    health: [
      {
        name: 'a sync whose wave does not get healthy',
        type: 'operation',
        wait: commit(...waved),
        text: 'The operation has made no progress for five minutes: waiting for healthy state of batch/Job/job',
        release: end,
      },
    ],
    wave: [
      {
        name: 'a sync whose pause between waves is an hour',
        type: 'operation',
        wait: commit(configMap('one', '2', wave(0)), configMap('two', '1', wave(1))),
        text: 'The operation has made no progress for five minutes: ',
        release: end,
        config: { syncWaveDelayMs: hourMs },
      },
    ],
    window: [
      {
        name: 'a sync that a window forbids',
        type: 'operation',
        wait: () => {
          const window = { kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'] } as const;
          at.world.project('default', { syncWindows: [window] });
          manual(at);
        },
        text: 'The operation has made no progress for five minutes: ',
        release: () => at.world.project('default'),
      },
    ],
  };
}
type OperationCause = 'hook' | 'health' | 'wave' | 'window';

function retryCases(at: TestStage): Cases {
  let refuses = false;
  const refuse = (call: string): void => {
    if (refuses && call.startsWith('create'))
      throw new KubeApiError({ code: 403, reason: 'Forbidden', message: 'no' }, 'x');
  };
  return [{ limit: -1 }, { limit: -1, backoff: { duration: '1h', factor: 1, maxDuration: '1h' } }].map((retry) => ({
    name: `a retry without end by ${JSON.stringify(retry)}`,
    type: 'operation',
    wait: () => {
      refuses = true;
      at.world.git.push(nextCommit, [configMap('one'), configMap('two')]);
      setPolicy(at, { ...automated.syncPolicy, retry });
    },
    text: 'Retrying attempt #',
    release: () => {
      refuses = false;
      at.terminate();
    },
    dest: { before: refuse },
  }));
}

function deletionCases(at: TestStage): Readonly<Record<DeletionCause, Cases>> {
  return {
    'object deletion': [
      {
        name: 'a deletion of an object that another controller holds',
        type: 'deletion',
        wait: () => {
          setFinalizers(at, 'one', ['example.com/held']);
          at.setDeleting([cascade]);
        },
        text: 'waiting for the deletion of ConfigMap apps/one (finalizers: example.com/held) for more than five minutes',
        release: () => setFinalizers(at, 'one', []),
        condition: 'DeletionError',
      },
    ],
    confirmation: [
      {
        name: 'a deletion that waits for its confirmation',
        type: 'deletion',
        wait: async () => {
          const one = liveOf(at, 'ConfigMap', 'one');
          const annotations = { ...one.metadata.annotations, 'argocd.argoproj.io/sync-options': 'Delete=confirm' };
          at.world.dest.put({ ...one, metadata: { ...one.metadata, annotations } });
          await at.pass(10);
          at.setDeleting([cascade]);
        },
        text: 'The deletion has made no progress for five minutes: waiting for the deletion to be confirmed',
        release: () =>
          at.world.annotate({ 'argocd.argoproj.io/deletion-approved': new Date(at.clock.now()).toISOString() }),
      },
    ],
    'foreign finalizer': [
      {
        name: 'a deletion that another controller holds',
        type: 'deletion',
        wait: () => at.setDeleting(['example.com/other']),
        text: 'The deletion has made no progress for five minutes: waiting for finalizers of other controllers: example.com/other',
        release: () => at.world.edit((object) => ({ metadata: { ...object.metadata, finalizers: [] } })),
      },
    ],
  };
}
type DeletionCause = 'object deletion' | 'confirmation' | 'foreign finalizer';

function failingDeletionCases(at: TestStage): Readonly<Record<FailingDeletionCause, Cases>> {
  return {
    'failed step': [
      {
        name: 'a deletion whose finalizers the server adds again',
        type: 'deletion',
        wait: () => {
          at.setDeleting([cascade]);
          at.world.hub.admit = (object) =>
            object.kind === 'Application'
              ? { ...object, metadata: { ...object.metadata, finalizers: [cascade] } }
              : object;
        },
        text: 'the API server keeps the finalizers that the controller removes: resources-finalizer.argocd.argoproj.io',
        release: () => (at.world.hub.admit = (object) => object),
        condition: 'DeletionError',
      },
    ],
    'running operation': [
      {
        name: 'a deletion whose operation cannot be terminated',
        type: 'deletion',
        wait: async () => {
          at.world.git.push(nextCommit, [configMap('one', '2'), job('job', hook('PreSync'))]);
          await at.pass(200);
          at.world.hub.invalid = (object) => {
            if (!JSON.stringify(object['status'] ?? {}).includes('"phase":"Terminating"')) return undefined;
            throw new KubeApiError({ code: 403, reason: '', message: 'the webhook says no' }, 'patch');
          };
          at.setDeleting([cascade]);
        },
        text: 'the operation that runs cannot be terminated for more than a minute: the webhook says no',
        release: () => (at.world.hub.invalid = () => undefined),
        condition: 'DeletionError',
      },
    ],
    'delete hook': [
      {
        name: 'a deletion whose PreDelete hook does not end',
        type: 'deletion',
        wait: async () => {
          at.world.git.push(nextCommit, [configMap('one'), job('job', hook('PreDelete'))]);
          await at.pass(200);
          at.setDeleting([cascade, preDelete]);
        },
        text: 'waiting for the end of PreDelete hook(s) Job apps/job for more than five minutes',
        release: () => {
          const live = liveOf(at, 'Job', 'job');
          at.world.dest.put({ ...live, status: { conditions: [{ type: 'Complete', status: 'True' }] } });
        },
        condition: 'DeletionError',
      },
    ],
  };
}
type FailingDeletionCause = 'failed step' | 'running operation' | 'delete hook';

function comparisonCases(at: TestStage): Readonly<Record<ComparisonCause, Cases | string>> {
  let endRendering = (): void => undefined;
  return {
    source: [
      {
        name: 'a comparison whose source cannot be read',
        type: 'comparison',
        wait: () => {
          at.world.git.server = 'refuses';
          at.world.git.push(nextCommit, [configMap('two')]);
        },
        text: 'The source cannot be read since ',
        release: () => {
          at.world.git.server = 'answers';
        },
        condition: 'SourceUnavailableWarning',
      },
    ],
    turn: [
      {
        name: 'a requested refresh whose rendering does not end',
        type: 'refresh',
        wait: () => {
          const rendered = new Promise<void>((resolve) => (endRendering = resolve));
          at.world.git.takes = () => rendered;
          at.world.git.push(nextCommit, [configMap('one')]);
          at.world.annotate({ 'argocd.argoproj.io/refresh': 'hard' });
        },
        text: 'The requested refresh has made no progress for five minutes: waiting for its comparison',
        release: () => {
          at.world.git.takes = undefined;
          endRendering();
        },
      },
    ],
    'automated sync': [
      {
        name: 'a repair that waits for a backoff of an hour',
        type: 'comparison',
        wait: async () => {
          for (let n = 0; n < 4; n += 1) {
            const live = liveOf(at, 'ConfigMap', 'one');
            at.world.dest.put({ ...live, data: { key: `by hand ${n}` } });
            await at.pass(20);
          }
        },
        text: 'The comparison has made no progress for five minutes: ',
        release: () => setPolicy(at, {}),
        config: { selfHeal: { backoffMs: hourMs, factor: 3, capMs: hourMs, timeoutMs: 0 } },
      },
    ],
    'rate limit': 'a request is answered ten seconds after the last one (asked-refreshes.test.ts)',
  };
}
type ComparisonCause = 'source' | 'turn' | 'automated sync' | 'rate limit';
