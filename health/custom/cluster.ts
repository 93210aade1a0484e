import { ownMember } from '#base';
import type { HealthStatusCode } from '#model';
import {
  absent,
  all,
  check,
  condition,
  field,
  not,
  on,
  outcome,
  present,
  readyRule,
  same,
  stale,
  states,
  truthy,
  unobserved,
  unreadable,
  walk,
  walkBack,
} from './rules/check.ts';
import type { CodeRule } from './rules/check.ts';
import { conditionsOf } from './rules/view.ts';

/** Ready summarizes the provider's conditions. With severity Info it only takes time. */
const clusterNotReady: CodeRule = {
  description: 'Degraded when Ready is False with another severity than Info',
  evaluate: (view) => {
    const found = view.conditions.find(
      (item) => item.type === 'Ready' && item.status === 'False' && item.severity !== 'Info',
    );
    return found === undefined ? undefined : outcome('Degraded', found.message);
  },
};

/** By phase. The message names the conditions that are False. */
const machinePool: CodeRule = {
  description:
    'Healthy when phase is Running or Scaling, Degraded when Failed or Unknown, else Progressing; the message names the conditions that are False',
  evaluate: (view) => {
    const phase = view.text('status.phase');
    const missing = view.conditions
      .filter((item) => item.status === 'False' && item.fields['type'] !== undefined)
      .map((item) => `Not ${item.type}${item.fields['reason'] === undefined ? '' : ` (${item.reason})`}`)
      .join(', ');
    const start = view.has('status.phase') ? `MachinePool is ${phase}` : '';
    const message = `${start}${missing === '' ? '' : `: ${missing}`}`;
    if (phase === 'Running' || phase === 'Scaling') return outcome('Healthy', message);
    return outcome(phase === 'Failed' || phase === 'Unknown' ? 'Degraded' : 'Progressing', message);
  },
};

const controlPlaneErrors: CodeRule = {
  description: 'Healthy when Ready is True, Degraded when a condition is False with severity Error',
  evaluate: (view) => {
    if (view.conditions.some((item) => item.type === 'Ready' && item.status === 'True'))
      return outcome('Healthy', 'Control plane is ready');
    const errors = view.conditions.filter((item) => item.status === 'False' && item.severity === 'Error');
    return errors.length === 0 ? undefined : outcome('Degraded', errors.map((item) => `${item.message} `).join(''));
  },
};

/** Karmada: the member clusters' reports, one entry for each cluster that the binding selected. */
const memberReports = (needsClusters: boolean): CodeRule => ({
  description:
    'Progressing until every selected cluster reports, Degraded when a member is unhealthy, or unknown and not applied',
  evaluate: (view) => {
    const [selected, reported] = [view.count('spec.clusters'), view.count('status.aggregatedStatus')];
    const listed = view.has('spec.clusters');
    if (listed ? selected === 0 || selected !== reported : needsClusters || reported === 0) return undefined;
    const unhealthy = view
      .list('status.aggregatedStatus')
      .some((item) => item['health'] === 'Unhealthy' || (item['health'] === 'Unknown' && item['applied'] !== true));
    return unhealthy ? outcome('Degraded', 'Current resource status is unhealthy') : outcome('Healthy');
  },
});

const complianceDetails: CodeRule = {
  description: 'Healthy when compliant is Compliant, else Degraded; the message has the details',
  evaluate: (view) => {
    const compliant = view.text('status.compliant') === 'Compliant';
    if (!view.has('status.compliancyDetails')) return undefined;
    const texts = view
      .list('status.compliancyDetails')
      .flatMap((detail) => conditionsOf(ownMember(detail, 'conditions')))
      .filter((item) => item.fields['message'] !== undefined && item.fields['type'] !== undefined)
      .map((item) => `${item.type} - ${item.message}`);
    return outcome(compliant ? 'Healthy' : 'Degraded', texts.join('; '));
  },
};

const waitingStatus = 'Waiting for the status to be reported';

const noClusters: CodeRule = {
  description: 'Healthy when its placement matches no cluster',
  evaluate: (view) =>
    !view.has('status.compliant') && !view.has('status.status') && view.count('status.placement') > 0
      ? outcome('Healthy', 'No clusters match this policy')
      : undefined,
};

/**
 * Open Cluster Management: a root policy counts clusters, its replicated copies count templates.
 */
const policy: CodeRule = {
  description: 'Healthy when compliant is Compliant, else Degraded; the message names the clusters or templates',
  evaluate: (view) => {
    if (!view.has('status.compliant')) return undefined;
    const status = view.text('status.compliant') === 'Compliant' ? 'Healthy' : 'Degraded';
    const root = view.has('status.status');
    if (!root && !view.has('status.details')) return outcome(status);
    const names = view
      .list(root ? 'status.status' : 'status.details')
      .filter((item) => item['compliant'] !== 'Compliant')
      .map((item) => itemName(ownMember(item, root ? 'clustername' : 'templateMeta')))
      .filter((name) => name !== undefined);
    const what = root ? 'clusters' : 'templates';
    return outcome(
      status,
      names.length === 0 ? `All ${what} are compliant` : `NonCompliant ${what}: ${names.join(', ')}`,
    );
  },
};

function itemName(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const name = typeof value === 'object' && value !== null ? (value as { readonly name?: unknown }).name : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** A virtual machine's conditions; its printable status is the message when there is one. */
const virtualMachine: CodeRule = {
  description:
    'Suspended when Paused is True; by the last Ready: Healthy when True, else Suspended when it is not created; the message is printableStatus',
  evaluate: (view) => {
    const ready = view.conditions.findLast((item) => item.type === 'Ready');
    const printable = view.has('status.printableStatus') ? view.text('status.printableStatus') : undefined;
    if (ready === undefined) return outcome('Progressing', printable ?? 'No status available');
    if (ready.status === 'True') return outcome('Healthy', printable ?? 'Running');
    return view.isSet('status.created')
      ? outcome('Progressing', printable ?? 'Starting')
      : outcome('Suspended', printable ?? 'Stopped');
  },
};

const gardenerStatus = 'metadata.labels[shoot.gardener.cloud/status]';

/** Clusters, machines, virtual machines, and multi-cluster managers. */
export const cluster = [
  check(
    'addons.cluster.x-k8s.io/ClusterResourceSet',
    [
      walk([
        ['Healthy', on('ResourcesApplied'), 'cluster resource set is applied'],
        ['Degraded', on('ResourcesApplied', 'False'), '{it.message}'],
      ]),
    ],
    ['Progressing', 'Initializing cluster resource set'],
  ),
  check(
    'cluster.x-k8s.io/Cluster',
    [
      unreadable(absent('spec'), 36, 'paused'),
      ['Suspended', truthy('spec.paused'), 'Cluster is paused'],
      clusterNotReady,
      ...states('status.phase', { Provisioned: ['Healthy', 'Cluster is running'], Failed: ['Degraded'] }),
    ],
    ['Progressing', 'Waiting for clusters'],
  ),
  check(
    'cluster.x-k8s.io/Machine',
    [
      ['Healthy', field('status.phase', 'Running'), 'Machine is running'],
      ['Degraded', all(field('status.phase', 'Failed'), condition('Ready', 'False')), '{it.message}'],
      ['Degraded', field('status.phase', 'Failed'), 'Condition is unknown'],
      ['Progressing', condition('Ready', 'False'), '{it.message}'],
    ],
    ['Progressing', 'Condition is unknown'],
  ),
  check(
    'cluster.x-k8s.io/MachineDeployment',
    [
      unreadable(absent('spec'), 5, 'paused'),
      ['Suspended', truthy('spec.paused'), 'MachineDeployment is paused'],
      ...states('status.phase', {
        Running: ['Healthy', 'Machines are running under this deployment'],
        ScalingUp: ['Progressing', 'Cluster is spawning machines'],
        ScalingDown: ['Progressing', 'Cluster is stopping machines'],
        Failed: ['Degraded', 'MachineDeployment is failed'],
      }),
    ],
    ['Progressing', 'Waiting for machines'],
  ),
  check(
    'cluster.x-k8s.io/MachineHealthCheck',
    [
      ['Progressing', absent('status.currentHealthy')],
      ['Healthy', same('status.expectedMachines', 'status.currentHealthy')],
    ],
    ['Degraded'],
  ),
  check('cluster.x-k8s.io/MachinePool', [machinePool]),
  check(
    'controlplane.cluster.x-k8s.io/AWSManagedControlPlane',
    [
      ['Progressing', absent('status'), 'Provisioning...'],
      ['Progressing', stale(), 'Waiting for the control plane spec to be reconciled'],
      [
        'Degraded',
        all(present('status.failureMessage'), not(field('status.failureMessage', ''))),
        '{status.failureMessage}',
      ],
      ['Progressing', absent('status.conditions'), 'Provisioning...'],
      ['Progressing', condition('EKSControlPlaneUpdating'), 'EKS control plane is updating'],
      controlPlaneErrors,
      ['Progressing', field('status.ready', false), 'Control plane is not ready (.status.ready is false)'],
    ],
    ['Progressing', 'Control plane is not ready'],
  ),
  check(
    'core.gardener.cloud/Shoot',
    states(gardenerStatus, {
      healthy: ['Healthy', 'Component state: Healthy'],
      progressing: ['Progressing', 'Component state: Update in progress'],
      unhealthy: ['Degraded', 'Component state: Unhealthy'],
      unknown: ['Unknown', 'Component state: Unknown'],
    }),
    ['Progressing', 'Update in progress'],
  ),
  check(
    'karpenter.k8s.aws/EC2NodeClass',
    [
      walk([
        ['Degraded', on('Ready', 'False'), '{it.message}'],
        ['Healthy', on('Ready'), 'EC2NodeClass is ready'],
      ]),
    ],
    ['Progressing', 'Waiting for EC2NodeClass to be ready'],
  ),
  check('karpenter.sh/NodePool', [readyRule], ['Progressing', 'Waiting for NodePool to be ready']),
  check(
    'karpenter.sh/NodeClaim',
    [
      ['Progressing', stale(), 'Waiting for NodeClaim spec to be reconciled'],
      ['Suspended', condition('Disrupting'), '{it.message}'],
      readyRule,
      ['Progressing', condition('Initialized'), 'Node initialized, waiting for Ready'],
      ['Progressing', condition('Registered'), 'Node registered, waiting for initialization'],
      ['Progressing', condition('Launched'), 'Node launched, waiting for registration'],
    ],
    ['Progressing', 'Waiting for NodeClaim to be launched'],
  ),
  check('kubevirt.io/VirtualMachine', [['Suspended', condition('Paused'), 'Paused'], virtualMachine]),
  check(
    'kubevirt.io/VirtualMachineInstance',
    [
      ...states('status.phase', {
        Failed: ['Degraded', 'Failed'],
        'Pending|Scheduling|Scheduled': ['Progressing', '{status.phase}'],
        Succeeded: ['Suspended', 'Succeeded'],
        Unknown: ['Unknown', 'Unknown'],
      }),
      ['Suspended', condition('Paused'), '{it.message}'],
      walkBack([
        ['Healthy', on('Ready'), 'Running'],
        ['Degraded', on('Ready', '!True'), '{it.message}'],
      ]),
    ],
    ['Progressing', "{status.phase|'No status available'}"],
  ),
  check(
    'work.karmada.io/ClusterResourceBinding',
    [memberReports(true)],
    ['Progressing', 'Current resource status is insufficient'],
  ),
  check(
    'work.karmada.io/ResourceBinding',
    [memberReports(false)],
    ['Progressing', 'Current resource status is insufficient'],
  ),
  check(
    'policy.open-cluster-management.io/CertificatePolicy',
    [
      ['Progressing', absent('status.compliant'), waitingStatus],
      ['Healthy', field('status.compliant', 'Compliant'), 'All certificates found comply with the policy'],
    ],
    ['Degraded', 'At least once certificate does not comply with the policy'],
  ),
  check(
    'policy.open-cluster-management.io/ConfigurationPolicy',
    [
      ['Progressing', absent('status.compliant'), waitingStatus],
      ['Progressing', unobserved('status.lastEvaluatedGeneration'), 'Waiting for the status to be updated'],
      complianceDetails,
    ],
    ['Progressing', 'Waiting for compliance'],
  ),
  check(
    'policy.open-cluster-management.io/OperatorPolicy',
    [
      ['Progressing', absent('status.conditions'), waitingStatus],
      ['Progressing', stale(), 'Waiting for the status to be updated'],
      walk([
        ['Healthy', on('Compliant'), '{it.message}'],
        ['Degraded', on('Compliant', ''), '{it.message}'],
      ]),
    ],
    ['Progressing', 'Waiting for the compliance condition'],
  ),
  check(
    'policy.open-cluster-management.io/Policy',
    [
      unreadable(absent('spec'), 2, 'disabled'),
      ['Healthy', truthy('spec.disabled'), 'Policy is disabled'],
      noClusters,
      policy,
    ],
    ['Progressing', waitingStatus],
  ),
  check(
    'nmstate.io/NodeNetworkConfigurationPolicy',
    [nodeNetwork()],
    ['Progressing', 'Waiting for policy to be applied'],
  ),
];

function nodeNetwork(): CodeRule {
  const codes = new Map([
    ['Available', 'Healthy'],
    ['Degraded', 'Degraded'],
    ['Progressing', 'Progressing'],
    ['Ignored', 'Suspended'],
  ] as const) as ReadonlyMap<string, HealthStatusCode>;
  return {
    description:
      'by the first condition that is True: Healthy for Available, Degraded, Progressing, Suspended for Ignored',
    evaluate: (view) => {
      for (const item of view.conditions) {
        const code = item.status === 'True' ? codes.get(item.type) : undefined;
        if (code !== undefined)
          return outcome(code, item.message === '' ? item.reason : `${item.reason}: ${item.message}`);
      }
      return undefined;
    },
  };
}
