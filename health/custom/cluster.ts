import { all, any, check, condition, empty, field, not, outcome, pattern, someCondition, stale } from './check.ts';
import type { CodeRule, HealthRule } from './check.ts';
import { conditionsOf } from './view.ts';

/**
 * Cluster API conditions carry a severity: False with Error needs a user's action, with Info only
 * time.
 */
const error: HealthRule = ['Degraded', someCondition('False', 'Error'), '{some.message}'];

const pool: CodeRule = {
  description: 'by phase; the message names the conditions that are not True',
  evaluate: (view) => {
    const phase = view.text('status.phase');
    if (phase === '') return undefined;
    const missing = view.conditions
      .filter((item) => item.status !== 'True')
      .map((item) => `Not ${item.type} (${item.reason})`)
      .join(', ');
    const message = `MachinePool is ${phase}${missing === '' ? '' : `: ${missing}`}`;
    if (phase === 'Failed') return outcome('Degraded', message);
    if (view.conditions.some((item) => item.status === 'False' && item.severity === 'Error'))
      return outcome('Degraded', message);
    const works = phase === 'Running' || phase.startsWith('Scaling') || phase === 'Provisioned';
    return outcome(works && missing === '' ? 'Healthy' : 'Progressing', message);
  },
};

const gardenerConditions: CodeRule = {
  description:
    'Progressing when the API server is not available, Unknown when another condition is not True, Healthy when all are',
  evaluate: (view) => {
    if (view.conditions.length === 0) return undefined;
    const bad = view.conditions.filter((item) => item.status !== 'True');
    if (bad.length === 0) return outcome('Healthy', 'Component state: Healthy');
    if (bad.some((item) => item.type === 'APIServerAvailable' || item.status === 'Progressing'))
      return outcome('Progressing', 'Component state: Update in progress');
    return outcome('Unknown', 'Component state: Unknown');
  },
};

/** Karmada: the member clusters' reports, one entry for each cluster that the binding selected. */
const members: CodeRule = {
  description:
    'Degraded when a member is unhealthy, or unknown and not applied; Progressing until every selected cluster reports',
  evaluate: (view) => {
    const reports = view.list('status.aggregatedStatus');
    const unhealthy = reports.some(
      (item) => item['health'] === 'Unhealthy' || (item['applied'] !== true && item['health'] !== 'Healthy'),
    );
    if (unhealthy) return outcome('Degraded', 'Current resource status is unhealthy');
    if (reports.length === 0 || reports.length < view.list('spec.clusters').length) return undefined;
    return view.condition('Scheduled')?.status === 'False' ? undefined : outcome('Healthy');
  },
};

const compliance: CodeRule = {
  description: 'Degraded with the violations when it is not compliant',
  evaluate: (view) => {
    if (view.text('status.compliant') !== 'NonCompliant') return undefined;
    const texts = view
      .list('status.compliancyDetails')
      .flatMap((detail) =>
        detail['Compliant'] === 'NonCompliant'
          ? conditionsOf(detail['conditions']).map((item) => `${item.type} - ${item.message}`)
          : [],
      );
    return outcome('Degraded', texts.join('; '));
  },
};

const waitingStatus = 'Waiting for the status to be reported';

/**
 * Open Cluster Management: a root policy counts clusters, its replicated copies count templates.
 */
const policy: CodeRule = {
  description: 'Degraded when a template or a cluster is not compliant, Progressing while one is pending',
  evaluate: (view) => {
    const compliant = view.text('status.compliant');
    if (compliant === '') return undefined;
    const root = view.has('status.placement') || view.has('status.status');
    if (compliant === 'Compliant')
      return outcome('Healthy', root ? 'All clusters are compliant' : 'All templates are compliant');
    const items = view
      .list(root ? 'status.status' : 'status.details')
      .filter((item) => item['compliant'] !== 'Compliant');
    const names = items
      .map((item) => itemName(item[root ? 'clustername' : 'templateMeta']))
      .filter((name) => name !== '');
    const what = `${root ? 'Clusters' : 'Templates'} ${compliant === 'NonCompliant' ? 'noncompliant' : 'pending or unknown'}: ${names.join(', ')}`;
    return outcome(compliant === 'NonCompliant' ? 'Degraded' : 'Progressing', what);
  },
};

function itemName(value: unknown): string {
  if (typeof value === 'string') return value;
  const name = typeof value === 'object' && value !== null ? (value as { readonly name?: unknown }).name : undefined;
  return typeof name === 'string' ? name : '';
}

const ready = (waiting: string): readonly [readonly HealthRule[], readonly ['Progressing', string]] => [
  [
    ['Healthy', condition('Ready'), '{@Ready.message}'],
    ['Degraded', condition('Ready', 'False'), '{@Ready.message}'],
  ],
  ['Progressing', waiting],
];

/** Clusters, machines, virtual machines, and multi-cluster managers. */
export const cluster = [
  check(
    'addons.cluster.x-k8s.io/ClusterResourceSet',
    [
      ['Healthy', condition('ResourcesApplied'), 'cluster resource set is applied'],
      ['Degraded', condition('ResourcesApplied', 'False'), '{@ResourcesApplied.message}'],
    ],
    ['Progressing', 'Initializing cluster resource set'],
  ),
  check(
    'cluster.x-k8s.io/Cluster',
    [
      ['Suspended', field('spec.paused', 'true'), 'Cluster is paused'],
      error,
      ['Degraded', field('status.phase', 'Failed'), '{status.failureMessage}'],
      [
        'Healthy',
        all(
          field('status.phase', 'Provisioned'),
          condition('Ready'),
          not(condition('ControlPlaneReady', 'False')),
          not(condition('InfrastructureReady', 'False')),
        ),
        'Cluster is running',
      ],
      ['Healthy', all(field('status.phase', 'Provisioned'), condition('Available')), 'Cluster is running'],
    ],
    ['Progressing', 'Waiting for clusters'],
  ),
  check(
    'cluster.x-k8s.io/Machine',
    [
      error,
      ['Degraded', field('status.phase', 'Failed'), '{status.failureMessage}'],
      [
        'Healthy',
        all(field('status.phase', 'Running'), not(someCondition('False', '', 'Paused', 'Deleting', 'Updating'))),
        'Machine is running',
      ],
    ],
    ['Progressing', 'Waiting for machines'],
  ),
  check(
    'cluster.x-k8s.io/MachineDeployment',
    [
      ['Suspended', field('spec.paused', 'true'), 'MachineDeployment is paused'],
      ['Degraded', field('status.phase', 'Failed'), 'MachineDeployment is failed'],
      ['Healthy', field('status.phase', 'Running'), 'MachineDeployment is running'],
      ['Progressing', field('status.phase', 'ScalingUp'), 'Cluster is spawning machines'],
      ['Progressing', field('status.phase', 'ScalingDown'), 'Cluster is stopping machines'],
      ['Unknown', field('status.phase', 'Unknown'), 'MachineDeployment is unknown'],
    ],
    ['Progressing', 'Waiting for machines'],
  ),
  check('cluster.x-k8s.io/MachinePool', [pool], ['Progressing', 'Waiting for MachinePool']),
  check(
    'controlplane.cluster.x-k8s.io/AWSManagedControlPlane',
    [
      ['Degraded', not(empty('status.failureMessage')), '{status.failureMessage}'],
      ['Progressing', stale(), 'Waiting for the control plane spec to be reconciled'],
      error,
      ['Progressing', condition('EKSControlPlaneCreating'), 'EKS control plane is being created'],
      ['Progressing', condition('EKSControlPlaneUpdating'), 'EKS control plane is updating'],
      [
        'Healthy',
        any(condition('Ready'), all(field('status.ready', 'true'), not(condition('Ready', 'False')))),
        'Control plane is ready',
      ],
    ],
    ['Progressing', 'Waiting for the control plane to be ready'],
  ),
  check(
    'core.gardener.cloud/Shoot',
    [
      [
        'Suspended',
        all(field('spec.hibernation.enabled', 'true'), field('status.lastOperation.state', 'Succeeded')),
        'Component state: Hibernated',
      ],
      [
        'Degraded',
        field('status.lastOperation.state', 'Error', 'Failed', 'Aborted'),
        '{status.lastOperation.description}',
      ],
      [
        'Progressing',
        field('status.lastOperation.state', 'Processing', 'Pending'),
        '{status.lastOperation.description}',
      ],
      gardenerConditions,
    ],
    ['Progressing', 'Component state: Update in progress'],
  ),
  check('karpenter.k8s.aws/EC2NodeClass', ...ready('Waiting for EC2NodeClass to be ready')),
  check('karpenter.sh/NodePool', ...ready('Waiting for NodePool to be ready')),
  check(
    'karpenter.sh/NodeClaim',
    [
      ['Progressing', stale(), 'Waiting for NodeClaim spec update to be observed'],
      ['Healthy', condition('Ready'), 'NodeClaim is ready'],
      ['Degraded', condition('Ready', 'False'), '{@Ready.message}'],
      [
        'Degraded',
        someCondition(
          'False',
          '',
          'Drifted',
          'Consolidatable',
          'Empty',
          'Expired',
          'Drained',
          'VolumesDetached',
          'InstanceTerminating',
          'ConsistentStateFound',
          'DisruptionReason',
        ),
        '{some.message}',
      ],
      ['Progressing', condition('Initialized'), 'Node initialized, waiting for Ready'],
      ['Progressing', condition('Registered'), 'Node registered, waiting for initialization'],
      ['Progressing', condition('Launched'), 'Instance launched, waiting for registration'],
    ],
    ['Progressing', 'Waiting for NodeClaim to be launched'],
  ),
  check(
    'kubevirt.io/VirtualMachine',
    [
      ['Progressing', empty('status.printableStatus'), 'No status available'],
      ['Degraded', condition('Failure'), '{@Failure.message}'],
      ['Suspended', field('status.printableStatus', 'Paused', 'Stopped'), '{status.printableStatus}'],
      ['Healthy', field('status.printableStatus', 'Running', 'Migrating'), '{status.printableStatus}'],
      [
        'Degraded',
        pattern('status.printableStatus', /Err|Fail|BackOff|NotFound|Unschedulable/),
        '{status.printableStatus}',
      ],
      ['Unknown', field('status.printableStatus', 'Unknown'), '{status.printableStatus}'],
    ],
    ['Progressing', '{status.printableStatus}'],
  ),
  check(
    'kubevirt.io/VirtualMachineInstance',
    [
      ['Progressing', empty('status.phase'), 'No status available'],
      ['Degraded', field('status.phase', 'Failed'), 'Failed'],
      ['Degraded', condition('Synchronized', 'False'), '{@Synchronized.message}'],
      ['Suspended', condition('Paused'), '{@Paused.message}'],
      ['Suspended', field('status.phase', 'Succeeded'), 'Succeeded'],
      ['Healthy', all(field('status.phase', 'Running'), condition('Ready')), 'Running'],
      ['Unknown', field('status.phase', 'Unknown'), 'Unknown'],
    ],
    ['Progressing', '{status.phase}'],
  ),
  check(
    ['work.karmada.io/ClusterResourceBinding', 'work.karmada.io/ResourceBinding'],
    [members],
    ['Progressing', 'Current resource status is insufficient'],
  ),
  check(
    'policy.open-cluster-management.io/CertificatePolicy',
    [
      ['Healthy', field('status.compliant', 'Compliant'), 'All certificates found comply with the policy'],
      [
        'Degraded',
        field('status.compliant', 'NonCompliant'),
        'At least once certificate does not comply with the policy',
      ],
    ],
    ['Progressing', waitingStatus],
  ),
  check(
    'policy.open-cluster-management.io/ConfigurationPolicy',
    [
      ['Progressing', empty('status.compliant'), waitingStatus],
      ['Progressing', stale('status.lastEvaluatedGeneration'), 'Waiting for the status to be updated'],
      ['Healthy', field('status.compliant', 'Compliant'), 'All policies are compliant'],
      compliance,
    ],
    ['Progressing', 'Waiting for the policy to be evaluated'],
  ),
  check(
    'policy.open-cluster-management.io/OperatorPolicy',
    [
      ['Progressing', empty('status'), waitingStatus],
      ['Progressing', stale(), 'Waiting for the status to be updated'],
      ['Healthy', condition('Compliant'), '{@Compliant.message}'],
      ['Degraded', condition('Compliant', 'False'), '{@Compliant.message}'],
    ],
    ['Progressing', 'Waiting for the compliance condition'],
  ),
  check(
    'policy.open-cluster-management.io/Policy',
    [policy, ['Healthy', not(empty('status.placement')), 'No clusters match this policy']],
    ['Progressing', waitingStatus],
  ),
  check(
    'nmstate.io/NodeNetworkConfigurationPolicy',
    [
      ['Suspended', condition('Ignored'), '{@Ignored.reason}'],
      ['Degraded', condition('Degraded'), '{@Degraded.reason}: {@Degraded.message}'],
      ['Progressing', condition('Progressing'), '{@Progressing.reason}: {@Progressing.message}'],
      ['Healthy', condition('Available'), '{@Available.reason}: {@Available.message}'],
    ],
    ['Progressing', 'Policy is not yet reconciled'],
  ),
];
