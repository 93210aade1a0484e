import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checksTable, customChecks, healthOf } from './index.ts';
import { defaultSettings } from '#model';
import type { HealthStatusCode, KubeObject } from '#model';

type Parts = Readonly<Record<string, unknown>>;
const healthCodes: readonly HealthStatusCode[] = [
  'Healthy',
  'Suspended',
  'Progressing',
  'Missing',
  'Degraded',
  'Unknown',
];
const healthOfKind = (key: string, parts: Parts) => {
  const [group, kind] = key.split('/');
  const object = {
    apiVersion: `${group ?? ''}/v1`,
    kind,
    ...parts,
    metadata: { name: 'n', ...(parts['metadata'] as object) },
  };
  return healthOf(object as unknown as KubeObject, defaultSettings);
};
const withConditions = (
  ...conditions: readonly (readonly [type: string, status: string, reason?: string, message?: string])[]
): Parts => ({
  status: {
    conditions: conditions.map(([type, status, reason = '', message = '']) => ({ type, status, reason, message })),
  },
});

describe('health checks of custom kinds', () => {
  const families: readonly (readonly [key: string, parts: Parts, status: string, message?: string])[] = [
    ['cert-manager.io/Certificate', withConditions(['Ready', 'True', '', 'ok']), 'Healthy', 'ok'],
    [
      'cert-manager.io/Certificate',
      withConditions(['Issuing', 'True', '', 'new'], ['Ready', 'False']),
      'Progressing',
      'new',
    ],
    ['cert-manager.io/Certificate', withConditions(['Ready', 'False', '', 'bad']), 'Degraded', 'bad'],
    ['cert-manager.io/Certificate', {}, 'Progressing', 'Waiting for certificate'],
    [
      'source.toolkit.fluxcd.io/GitRepository',
      withConditions(['Ready', 'Unknown', 'Progressing']),
      'Progressing',
      'Progressing',
    ],
    [
      'source.toolkit.fluxcd.io/GitRepository',
      withConditions(['Stalled', 'True', 'InvalidURL'], ['Ready', 'False']),
      'Degraded',
      'InvalidURL',
    ],
    [
      'helm.toolkit.fluxcd.io/HelmRelease',
      { spec: { suspend: true }, ...withConditions(['Ready', 'True']) },
      'Suspended',
    ],
    [
      's3.aws.upbound.io/Bucket',
      withConditions(['Synced', 'True'], ['Ready', 'True']),
      'Healthy',
      'Resource is up-to-date.',
    ],
    [
      's3.aws.upbound.io/Bucket',
      withConditions(['Ready', 'True'], ['LastAsyncOperation', 'False', '', 'denied']),
      'Degraded',
      'denied',
    ],
    ['aws.upbound.io/ProviderConfig', {}, 'Healthy'],
    [
      'storage.cnrm.cloud.google.com/StorageBucket',
      { metadata: { generation: 2 }, status: { observedGeneration: 1 } },
      'Progressing',
    ],
    ['sql.cnrm.cloud.google.com/SQLUser', withConditions(['Ready', 'False', 'DependencyNotReady']), 'Suspended'],
    ['ec2.services.k8s.aws/VPC', withConditions(['ACK.Terminal', 'True', '', 'no']), 'Degraded', 'no'],
    ['operator.victoriametrics.com/VMSingle', { status: { updateStatus: 'operational' } }, 'Healthy'],
    [
      'gateway.networking.k8s.io/HTTPRoute',
      {
        status: {
          parents: [{ parentRef: { name: 'g' }, conditions: [{ type: 'Accepted', status: 'False', message: 'm' }] }],
        },
      },
      'Degraded',
      'Parent g: m',
    ],
    ['gateway.networking.k8s.io/HTTPRoute', { status: { parents: [] } }, 'Progressing', 'Waiting for HTTPRoute status'],
    [
      'gateway.networking.k8s.io/Gateway',
      {
        status: {
          conditions: [{ type: 'Accepted', status: 'True' }],
          listeners: [{ name: 'l', conditions: [{ type: 'ResolvedRefs', status: 'False', message: 'm' }] }],
        },
      },
      'Degraded',
      'Listener l: m',
    ],
    [
      'argoproj.io/Rollout',
      { metadata: { generation: 3 }, status: { observedGeneration: '3', phase: 'Paused', message: 'step' } },
      'Suspended',
      'step',
    ],
    [
      'argoproj.io/Rollout',
      { metadata: { generation: 4 }, status: { observedGeneration: '3', phase: 'Healthy' } },
      'Progressing',
    ],
    ['argoproj.io/AnalysisRun', { status: { phase: 'Failed', message: 'why' } }, 'Degraded', 'why'],
    [
      'apps.kruise.io/CloneSet',
      { metadata: { generation: 1 }, status: { observedGeneration: 1, replicas: 3, updatedAvailableReplicas: 1 } },
      'Degraded',
    ],
    ['postgresql.cnpg.io/Cluster', { metadata: { annotations: { 'cnpg.io/hibernation': 'on' } } }, 'Suspended'],
    ['kafka.strimzi.io/Kafka', withConditions(['NotReady', 'True', 'Creating', 'soon']), 'Progressing', 'soon'],
    ['rabbitmq.com/Queue', {}, 'Unknown', 'RabbitMQ queue status is unknown'],
    ['core.humio.com/HumioView', { status: { state: 'NotFound' } }, 'Missing'],
    [
      'work.karmada.io/ResourceBinding',
      { spec: { clusters: [{}, {}] }, status: { aggregatedStatus: [{ applied: true, health: 'Healthy' }] } },
      'Progressing',
    ],
    [
      'policy/PodDisruptionBudget',
      withConditions(['DisruptionAllowed', 'True', 'SufficientPods']),
      'Healthy',
      'PodDisruptionBudget has SufficientPods',
    ],
    ['batch/CronJob', { spec: { suspend: true }, status: {} }, 'Healthy', 'CronJob is Suspended'],
    ['cluster.x-k8s.io/Machine', { status: { phase: 'Running' } }, 'Healthy', 'Machine is running'],
    ['snapshot.storage.k8s.io/VolumeSnapshot', { status: { error: { message: 'no' } } }, 'Degraded', 'no'],
    [
      'promoter.argoproj.io/PullRequest',
      { status: { conditions: [{ type: 'Ready', status: true }], state: 'open' } },
      'Healthy',
      'Pull request is open',
    ],
    [
      'serving.knative.dev/Service',
      withConditions(['Ready', 'Unknown', 'Deploying', 'wait']),
      'Progressing',
      'Ready is Unknown, since Deploying. wait\n',
    ],
    [
      'keda.sh/ScaledObject',
      withConditions(['Ready', 'True'], ['Paused', 'True', '', 'paused']),
      'Suspended',
      'paused',
    ],
  ];
  it.each(families.map(([key, parts, status, message]) => ({ key, parts, status, message })))(
    '$key $parts is $status',
    ({ key, parts, status, message }) => {
      const found = healthOfKind(key, parts);
      expect(found?.status).toBe(status);
      if (message !== undefined) expect(found?.message).toBe(message);
    },
  );

  it('lists each kind once, and gives one of the health statuses for any JSON in its status', () => {
    const keys = customChecks.flatMap((check) => check.kinds);
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
    const kinds = keys.map((key) => key.replace('*.', 'x.').replace('/*', '/Any'));
    const condition = fc.record({
      type: fc.constantFrom('Ready', 'Synced', 'Available', 'Accepted', 'Progressing', 'x'),
      status: fc.constantFrom('True', 'False', 'Unknown', true, null, 3),
      message: fc.jsonValue({ maxDepth: 1 }),
      observedGeneration: fc.constantFrom(0, 1, 'x'),
    });
    const status = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.record({ conditions: fc.array(condition), phase: fc.string() }),
    );
    fc.assert(
      fc.property(fc.constantFrom(...kinds), status, fc.jsonValue({ maxDepth: 3 }), (key, value, spec) => {
        expect(healthCodes).toContain(healthOfKind(key, { status: value, spec })?.status);
      }),
      { numRuns: 3000 },
    );
  });

  it('are documented in docs/health.md (node scripts/generate/health-docs.mjs)', () => {
    const page = readFileSync('docs/health.md', 'utf8');
    expect(page.slice(page.indexOf('| Kind |'))).toBe(checksTable(customChecks));
  });
});

describe('kstatus, requested by annotation for a kind without a check', () => {
  const metadata = { annotations: { 'driftless.io/health': 'kstatus' }, generation: 2 };
  it.each<readonly [Parts, string]>([
    [{ status: { observedGeneration: 1 } }, 'Progressing'],
    [withConditions(['Stalled', 'True']), 'Degraded'],
    [withConditions(['Reconciling', 'True'], ['Ready', 'True']), 'Progressing'],
    [withConditions(['Ready', 'False']), 'Progressing'],
    [withConditions(['Available', 'True']), 'Healthy'],
    [{}, 'Healthy'],
  ])('%j is %s', (parts, status) => {
    expect(healthOfKind('example.com/Thing', { metadata, ...parts })?.status).toBe(status);
    expect(healthOfKind('example.com/Thing', parts)).toBeNull();
  });
});
