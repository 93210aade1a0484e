import { describe, expect, it } from '@jest/globals';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { customLabelsOf, detailsOf, infoOf } from './details.ts';

const object = (apiVersion: string, kind: string, more: object = {}): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'web', namespace: 'prod' },
  ...more,
});
const annotated = (apiVersion: string, kind: string, annotations: Readonly<Record<string, string>>): KubeObject =>
  object(apiVersion, kind, { metadata: { name: 'web', namespace: 'prod', annotations } });
const lines = (from: KubeObject, labels: readonly string[] = []): Record<string, string> => {
  const details = detailsOf(from, labels);
  return Object.fromEntries((details === undefined ? [] : infoOf(details)).map(({ name, value }) => [name, value]));
};
describe('the details of a Pod', () => {
  const pod = (status: object, spec: object = {}): KubeObject =>
    object('v1', 'Pod', { spec: { nodeName: 'n1', containers: [{ name: 'a' }, { name: 'b' }], ...spec }, status });
  const ended = (name: string, more: object = {}): object => ({
    name,
    state: { terminated: { exitCode: 0, ...more } },
  });
  const running = { name: 'a', ready: true, restartCount: 2, state: { running: {} } };

  it('are those of Argo CD, in its order', () => {
    const requests = { cpu: '250m', memory: '128Mi' };
    const spec = { containers: [{ name: 'a', resources: { requests } }, { name: 'b' }] };
    const details = detailsOf(pod({ phase: 'Running', containerStatuses: [running] }, spec), []);
    expect(details === undefined ? [] : infoOf(details)).toEqual([
      { name: 'Status Reason', value: 'Running' },
      { name: 'Node', value: 'n1' },
      { name: 'Containers', value: '1/2' },
      { name: 'Restart Count', value: '2' },
      { name: 'cpu', value: '250' },
      { name: 'memory', value: '134217728000' },
    ]);
  });

  const init = { initContainers: [{ name: 'i' }, { name: 'j' }] };
  it.each<[string, object, object]>([
    ['Pending', { phase: 'Pending' }, {}],
    ['Evicted', { phase: 'Failed', reason: 'Evicted' }, {}],
    [
      'SchedulingGated',
      { phase: 'Pending', conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated', status: 'False' }] },
      {},
    ],
    [
      'CrashLoopBackOff',
      { phase: 'Running', containerStatuses: [{ name: 'a', state: { waiting: { reason: 'CrashLoopBackOff' } } }] },
      {},
    ],
    ['OOMKilled', { phase: 'Running', containerStatuses: [ended('a', { exitCode: 137, reason: 'OOMKilled' })] }, {}],
    ['Signal:9', { phase: 'Running', containerStatuses: [ended('a', { exitCode: 137, signal: 9 })] }, {}],
    ['ExitCode:3', { phase: 'Running', containerStatuses: [ended('a', { exitCode: 3 })] }, {}],
    ['Running', { phase: 'Running', containerStatuses: [ended('b', { reason: 'Completed' }), running] }, {}],
    ['Init:0/2', { phase: 'Pending', initContainerStatuses: [{ name: 'i', state: { running: {} } }] }, init],
    [
      'Init:1/2',
      {
        phase: 'Pending',
        initContainerStatuses: [ended('i'), { name: 'j', state: { waiting: { reason: 'PodInitializing' } } }],
      },
      init,
    ],
    ['Init:Error', { phase: 'Pending', initContainerStatuses: [ended('i', { exitCode: 1, reason: 'Error' })] }, init],
    ['Init:ExitCode:1', { phase: 'Pending', initContainerStatuses: [ended('i', { exitCode: 1 })] }, init],
    [
      'Init:ErrImagePull',
      { phase: 'Pending', initContainerStatuses: [{ name: 'i', state: { waiting: { reason: 'ErrImagePull' } } }] },
      init,
    ],
  ])('reason %s', (reason, status, spec) => {
    expect(lines(pod(status, spec))['Status Reason']).toBe(reason);
  });

  it('a Pod being deleted is Terminating until it has finished; on a lost node it is Unknown', () => {
    const leaving = (status: object): string | undefined => {
      const live = pod(status);
      return lines({ ...live, metadata: { ...live.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } })[
        'Status Reason'
      ];
    };
    expect([
      leaving({ phase: 'Running', containerStatuses: [running] }),
      leaving({ phase: 'Succeeded', containerStatuses: [ended('a', { reason: 'Completed' })] }),
      leaving({ phase: 'Running', reason: 'NodeLost' }),
    ]).toEqual(['Terminating', 'Completed', 'Unknown']);
  });

  it('a sidecar counts as a container, and so do its requests', () => {
    const requests = (cpu: string): object => ({ resources: { requests: { cpu } } });
    const spec = {
      initContainers: [
        { name: 's', restartPolicy: 'Always', ...requests('100m') },
        { name: 'big', ...requests('1') },
      ],
      containers: [{ name: 'a', ...requests('200m') }],
      overhead: { cpu: '10m' },
    };
    const initContainerStatuses = [{ name: 's', started: true, ready: true, state: { running: {} } }, ended('big')];
    const found = lines(pod({ phase: 'Running', initContainerStatuses, containerStatuses: [running] }, spec));
    expect([found['Containers'], found['cpu']]).toEqual(['2/2', '1110']);
  });

  it('a finished Pod has no requests', () => {
    const spec = { containers: [{ name: 'a', resources: { requests: { cpu: '1' } } }] };
    expect(lines(pod({ phase: 'Succeeded' }, spec))['cpu']).toBeUndefined();
  });

  it('malformed fields are ignored', () => {
    expect(
      lines(pod({ phase: 7, containerStatuses: 'x', conditions: [null] }, { containers: [1], nodeName: [] })),
    ).toEqual({
      Containers: '0/1',
    });
  });
});

describe('other details', () => {
  it('the revision of a Deployment, ReplicaSet, Rollout or ControllerRevision', () => {
    expect([
      lines(annotated('apps/v1', 'ReplicaSet', { 'deployment.kubernetes.io/revision': '3' })),
      lines(annotated('argoproj.io/v1alpha1', 'Rollout', { 'rollout.argoproj.io/revision': '4' })),
      lines(object('apps/v1', 'ControllerRevision', { revision: 5 })),
      lines(annotated('apps/v1', 'ReplicaSet', { 'deployment.kubernetes.io/revision': 'first' })),
    ]).toEqual([{ Revision: 'Rev:3' }, { Revision: 'Rev:4' }, { Revision: 'Rev:5' }, {}]);
  });

  it('custom labels of argocd-cm', () => {
    const labelled = object('v1', 'ConfigMap', { metadata: { name: 'web', labels: { team: 'a', other: 'b' } } });
    expect(lines(labelled, ['team', 'missing'])).toEqual({ team: 'a' });
  });

  it('the URL of the instance that manages an Application', () => {
    const found = annotated('argoproj.io/v1alpha1', 'Application', {
      'argocd.argoproj.io/managed-by-url': 'https://a',
    });
    expect(lines(found)).toEqual({ 'managed-by-url': 'https://a' });
  });

  it('resource.customLabels is split at commas only: spaces are part of a name', () => {
    const labels = { team: 'a', 'example.com/tier': 'web', other: 'b' };
    const labelled = object('v1', 'ConfigMap', { metadata: { name: 'web', namespace: 'prod', labels } });
    const named = (text: string): readonly string[] =>
      customLabelsOf({ ...defaultSettings, raw: { 'resource.customLabels': text } });
    expect(lines(labelled, named('team,example.com/tier,missing'))).toEqual({ team: 'a', 'example.com/tier': 'web' });
    expect(lines(labelled, named('team, other'))).toEqual({ team: 'a' });
    expect(lines(labelled, customLabelsOf(defaultSettings))).toEqual({});
  });

  it('most objects have none', () => {
    expect(detailsOf(object('v1', 'ConfigMap', { data: { a: 'b' } }), ['team'])).toBeUndefined();
  });
});
