import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { checksTable, customChecks, healthOf } from './index.ts';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';

type Parts = Readonly<Record<string, unknown>>;
const judge = (key: string, parts: Parts) => {
  const [group, kind] = key.split('/');
  const object = {
    apiVersion: `${group ?? ''}/v1`,
    kind,
    ...parts,
    metadata: { name: 'n', ...(parts['metadata'] as object) },
  };
  return healthOf(object as unknown as KubeObject, defaultSettings);
};
const said = (
  ...conditions: readonly (readonly [type: string, status: string, reason?: string, message?: string])[]
): Parts => ({
  status: {
    conditions: conditions.map(([type, status, reason = '', message = '']) => ({ type, status, reason, message })),
  },
});

describe('12.6: one of each family of rules', () => {
  const families: readonly (readonly [key: string, parts: Parts, status: string, message?: string])[] = [
    ['cert-manager.io/Certificate', said(['Ready', 'True', '', 'ok']), 'Healthy', 'ok'],
    ['cert-manager.io/Certificate', said(['Issuing', 'True', '', 'new'], ['Ready', 'False']), 'Progressing', 'new'],
    ['cert-manager.io/Certificate', said(['Ready', 'False', '', 'bad']), 'Degraded', 'bad'],
    ['cert-manager.io/Certificate', {}, 'Progressing', 'Waiting for certificate'],
    ['source.toolkit.fluxcd.io/GitRepository', said(['Ready', 'Unknown', 'Progressing']), 'Progressing', 'Progressing'],
    [
      'source.toolkit.fluxcd.io/GitRepository',
      said(['Stalled', 'True', 'InvalidURL'], ['Ready', 'False']),
      'Degraded',
      'InvalidURL',
    ],
    ['helm.toolkit.fluxcd.io/HelmRelease', { spec: { suspend: true }, ...said(['Ready', 'True']) }, 'Suspended'],
    ['s3.aws.upbound.io/Bucket', said(['Synced', 'True'], ['Ready', 'True']), 'Healthy', 'Resource is up-to-date.'],
    [
      's3.aws.upbound.io/Bucket',
      said(['Ready', 'True'], ['LastAsyncOperation', 'False', '', 'denied']),
      'Degraded',
      'denied',
    ],
    ['aws.upbound.io/ProviderConfig', {}, 'Healthy'],
    [
      'storage.cnrm.cloud.google.com/StorageBucket',
      { metadata: { generation: 2 }, status: { observedGeneration: 1 } },
      'Progressing',
    ],
    ['sql.cnrm.cloud.google.com/SQLUser', said(['Ready', 'False', 'DependencyNotReady']), 'Suspended'],
    ['ec2.services.k8s.aws/VPC', said(['ACK.Terminal', 'True', '', 'no']), 'Degraded', 'no'],
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
    ['kafka.strimzi.io/Kafka', said(['NotReady', 'True', 'Creating', 'soon']), 'Progressing', 'soon'],
    ['rabbitmq.com/Queue', {}, 'Unknown', 'RabbitMQ queue status is unknown'],
    ['core.humio.com/HumioView', { status: { state: 'NotFound' } }, 'Missing'],
    [
      'work.karmada.io/ResourceBinding',
      { spec: { clusters: [{}, {}] }, status: { aggregatedStatus: [{ applied: true, health: 'Healthy' }] } },
      'Progressing',
    ],
    [
      'policy/PodDisruptionBudget',
      said(['DisruptionAllowed', 'True', 'SufficientPods']),
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
      said(['Ready', 'Unknown', 'Deploying', 'wait']),
      'Progressing',
      'Ready is Unknown, since Deploying. wait\n',
    ],
    ['keda.sh/ScaledObject', said(['Ready', 'True'], ['Paused', 'True', '', 'paused']), 'Suspended', 'paused'],
  ];
  it.each(families.map(([key, parts, status, message]) => ({ key, parts, status, message })))(
    '$key $parts is $status',
    ({ key, parts, status, message }) => {
      const found = judge(key, parts);
      expect(found?.status).toBe(status);
      if (message !== undefined) expect(found?.message).toBe(message);
    },
  );

  it('a kind is in the table once, and any JSON in its status has an answer', () => {
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
        expect(judge(key, { status: value, spec })?.status).toBeDefined();
      }),
      { numRuns: 3000 },
    );
  });

  it('docs/health.md has a row for each kind (node scripts/generate-health-docs.mjs)', () => {
    const page = readFileSync('docs/health.md', 'utf8');
    expect(page.slice(page.indexOf('| kind |'))).toBe(checksTable(customChecks));
  });
});

describe('12.6: kstatus, for an object of a kind without a check that asks for it', () => {
  const metadata = { annotations: { 'driftless.io/health': 'kstatus' }, generation: 2 };
  it.each<readonly [Parts, string]>([
    [{ status: { observedGeneration: 1 } }, 'Progressing'],
    [said(['Stalled', 'True']), 'Degraded'],
    [said(['Reconciling', 'True'], ['Ready', 'True']), 'Progressing'],
    [said(['Ready', 'False']), 'Progressing'],
    [said(['Available', 'True']), 'Healthy'],
    [{}, 'Healthy'],
  ])('%j is %s', (parts, status) => {
    expect(judge('example.com/Thing', { metadata, ...parts })?.status).toBe(status);
    expect(judge('example.com/Thing', parts)).toBeNull();
  });
});
