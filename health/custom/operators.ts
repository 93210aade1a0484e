import {
  absent,
  check,
  condition,
  field,
  kindsOf,
  on,
  outcome,
  readyRule,
  stale,
  truthy,
  walk,
} from './rules/check.ts';
import type { CodeRule, HealthRule } from './rules/check.ts';
import { conditionsOf } from './rules/view.ts';

const waitingStatus: HealthRule = ['Progressing', absent('status.conditions'), 'Waiting for status'];
const staleStatus: HealthRule = ['Progressing', stale(), 'Waiting for reconciliation (generation mismatch)'];
const waitingReady = ['Progressing', 'Waiting for Ready condition'] as const;

const exhausted: CodeRule = {
  description: 'Degraded when a resource of the pool is exhausted',
  evaluate: (view) => {
    const names = view.members('status.exhaustions').map(([name]) => name);
    return names.length === 0 ? undefined : outcome('Degraded', `Pool exhausted for: ${names.join(', ')}`);
  },
};

/** Capsule: multi-tenancy. */
const capsule = (kinds: readonly string[], before: readonly HealthRule[], after: readonly HealthRule[]) =>
  check(
    kindsOf('capsule.clastix.io', ...kinds),
    [...before, waitingStatus, staleStatus, ...after, readyRule],
    waitingReady,
  );

/** SAP: a condition of another generation waits, a fault is Degraded; the order decides. */
const sapService: CodeRule = {
  description:
    'by the first condition that decides: Progressing when it is of another generation, Degraded when Succeeded is False or Failed is True; else Healthy',
  evaluate: (view) => {
    if (!Array.isArray(view.get(['status', 'conditions']))) return undefined;
    for (const item of view.conditions) {
      const seen = item.fields['observedGeneration'] ?? null;
      const generation = view.get(['metadata', 'generation']);
      if (seen !== null && generation !== null && seen !== generation)
        return outcome('Progressing', 'Waiting for spec update to be observed');
      if ((item.type === 'Succeeded' && item.status === 'False') || (item.type === 'Failed' && item.status === 'True'))
        return outcome('Degraded', item.message);
    }
    return outcome('Healthy', 'Ready to use');
  },
};

/**
 * Kyverno's CEL policies keep their conditions in `status.conditionStatus`. `shown` is the
 * condition whose message stands for a ready policy; '' is the first that is True.
 */
const celPolicy = (kind: string, shown: string, ownMessage: boolean): CodeRule => ({
  description:
    'Progressing when a condition is from an older generation, Healthy when conditionStatus.ready is true, else Degraded with the first condition that is False',
  evaluate: (view) => {
    if (!view.has('status.conditionStatus')) return undefined;
    const conditions = conditionsOf(view.get(['status', 'conditionStatus', 'conditions']));
    const generation = view.generation;
    const isOld = conditions.some(
      (item) => Number(item.fields['observedGeneration'] ?? generation) < (generation ?? 0),
    );
    if (isOld) return outcome('Progressing', `Waiting for ${kind} status to reflect latest generation`);
    const own = view.text('status.conditionStatus.message');
    if (view.get(['status', 'conditionStatus', 'ready']) === true) {
      const item = conditions.find((one) => one.status === 'True' && (shown === '' || one.type === shown));
      const text = item?.fields['message'] === undefined ? undefined : item.message;
      return outcome('Healthy', text ?? ((ownMessage && own) || 'Policy is ready'));
    }
    const wrong = conditions.find((item) => item.status === 'False');
    return outcome('Degraded', wrong === undefined ? own || 'Policy is not ready' : `${wrong.type}: ${wrong.message}`);
  },
});

const celPolicies = (kind: string, shown: string, ownMessage: boolean) =>
  [kind, `Namespaced${kind}`].map((name) =>
    check(
      `policies.kyverno.io/${name}`,
      [celPolicy(name, shown, ownMessage)],
      ['Progressing', `Waiting for ${name} status`],
    ),
  );

const policyReady: CodeRule = {
  description: 'Healthy when Ready is True (Succeeded) with the message Ready',
  evaluate: (view) =>
    view.conditions.some(
      (item) =>
        item.type === 'Ready' && item.status === 'True' && item.reason === 'Succeeded' && item.message === 'Ready',
    )
      ? outcome('Healthy', 'Policy is ready')
      : undefined,
};

/** KEDA: Ready and Paused. The message is that of the last condition that counts. */
const scaled = (isFault: (type: string, status: string) => boolean, faults: string): CodeRule => ({
  description: `Degraded when ${faults}; Healthy when Ready is True, Suspended when Paused is True too`,
  evaluate: (view) => {
    const read = view.conditions.filter(
      ({ type, status }) => isFault(type, status) || (status === 'True' && (type === 'Ready' || type === 'Paused')),
    );
    const message = read.at(-1)?.message;
    if (read.some((item) => isFault(item.type, item.status))) return outcome('Degraded', message);
    if (!read.some((item) => item.type === 'Ready')) return undefined;
    return outcome(read.some((item) => item.type === 'Paused') ? 'Suspended' : 'Healthy', message);
  },
});

/** Policies, tenancy and operators that fit no other file. */
export const operators = [
  check(
    'spot.io/SpotDeployment',
    [
      ['Progressing', absent('status.conditions'), 'Waiting for rollout to finish: status has not been reconciled.'],
      walk([
        ['Degraded', on('InvalidSpec', ''), '{it.message}'],
        ['Degraded', on('Progressing', '', 'RolloutAborted|ProgressDeadlineExceeded'), '{it.message}'],
        ['Suspended', on('Paused'), 'Rollout is paused'],
      ]),
      ['Progressing', field('status.phase', 'Progressing'), 'Waiting for rollout to finish steps'],
    ],
    ['Healthy'],
  ),
  check(
    kindsOf('addons.projectcapsule.dev', 'GlobalSopsSecret', 'SopsProvider', 'SopsSecret'),
    [
      waitingStatus,
      staleStatus,
      walk([
        ['Healthy', on('Ready'), '{it.message}'],
        ['Degraded', on('Ready', 'False'), '{it.message}'],
        ['Progressing', on('Ready', 'Unknown'), '{it.message}'],
      ]),
    ],
    waitingReady,
  ),
  capsule(
    ['CapsuleConfiguration', 'CustomQuota', 'GlobalCustomQuota', 'GlobalProxySettings', 'ProxySetting', 'TenantOwner'],
    [],
    [],
  ),
  capsule(
    ['GlobalTenantResource', 'TenantResource'],
    [['Suspended', truthy('spec.cordoned'), 'Replication is cordoned']],
    [],
  ),
  capsule(['ResourcePool'], [], [exhausted]),
  capsule(['ResourcePoolClaim'], [], [['Suspended', condition('Bound', 'False'), '{it.message}']]),
  capsule(['Tenant'], [], [['Suspended', condition('Cordoned'), '{it.message}']]),
  check(
    kindsOf('services.cloud.sap.com', 'ServiceBinding', 'ServiceInstance'),
    [sapService],
    ['Progressing', 'Waiting for status'],
  ),
  check(
    'kyverno.io/ClusterPolicy',
    [
      walk([
        ['Healthy', on('Ready'), '{it.message}'],
        ['Degraded', on('Ready', ''), '{it.message}'],
      ]),
    ],
    ['Progressing', 'Waiting for ClusterPolicy to become ready'],
  ),
  check(
    'keda.sh/ScaledJob',
    [scaled((type, status) => type === 'Ready' && ['False', 'Unknown'].includes(status), 'Ready is False or Unknown')],
    ['Progressing', 'Waiting for ScaledJob'],
  ),
  check(
    'keda.sh/ScaledObject',
    [
      scaled(
        (type, status) => (type === 'Ready' && status === 'False') || (type === 'Fallback' && status === 'True'),
        'Ready is False or Fallback is True',
      ),
    ],
    ['Progressing', 'Creating HorizontalPodAutoscaler Object'],
  ),
  check('kyverno.io/Policy', [policyReady], ['Progressing', 'Waiting for Policy to be ready']),
  ...celPolicies('DeletingPolicy', '', true),
  ...celPolicies('GeneratingPolicy', '', true),
  ...celPolicies('ImageValidatingPolicy', 'WebhookConfigured', true),
  ...celPolicies('MutatingPolicy', 'WebhookConfigured', false),
  ...celPolicies('ValidatingPolicy', 'WebhookConfigured', false),
];
