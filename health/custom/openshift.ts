import { all, check, condition, field, outcome } from './check.ts';
import type { CodeRule } from './check.ts';

const bad = new Set(['CatalogSourcesUnhealthy', 'InstallPlanFailed', 'ResolutionFailed', 'BundleUnpackFailed']);

/**
 * OLM: a first version that waits for approval is not installed yet; an upgrade that waits leaves
 * the installed version running.
 */
const subscription: CodeRule = {
  description:
    'Degraded when a condition reports that catalog sources, resolution, unpacking or the install plan failed, or state is UpgradeFailed; Healthy when state is AtLatestKnown, or UpgradePending for a manual approval with a version installed',
  evaluate: (view) => {
    const shown = view.conditions.filter(
      (item) => item.type !== 'InstallPlanPending' || view.text('status.installedCSV') === '',
    );
    const lines = shown.map((item, index) => `${index + 1}: ${item.type} | ${item.status}\n`).join('');
    const state = view.text('status.state');
    const manual =
      state === 'UpgradePending' &&
      view.text('status.installedCSV') !== '' &&
      view.text('spec.installPlanApproval') === 'Manual';
    const word = state === '' ? '.status.state not yet known\n' : `.status.state is '${state}'`;
    const message = `${lines}${word}${state === '' ? '' : manual ? ' (manual InstallPlan approval pending; treated as healthy)\n' : '\n'}`;
    if (view.conditions.some((item) => bad.has(item.type) && item.status === 'True') || state === 'UpgradeFailed')
      return outcome('Degraded', message);
    if (state === 'AtLatestKnown' || manual) return outcome('Healthy', message);
    return view.conditions.length > 0 || state !== '' ? outcome('Progressing', message) : undefined;
  },
};

const reconciled = [
  ['Degraded', condition('VersionMismatch'), '{@VersionMismatch.message}'],
  ['Degraded', condition('Degraded'), '{@Degraded.message}'],
  ['Progressing', condition('Progressing'), '{@Progressing.message}'],
  ['Healthy', condition('Available'), '{@Available.message}'],
  ['Degraded', condition('Available', 'False'), '{@Available.message}'],
] as const;

/** Ready is also False before 3scale has answered. Only with a message is it a fault. */
const readyFalse: CodeRule = {
  description: 'Degraded when Ready is False with a message',
  evaluate: (view) => {
    const ready = view.condition('Ready');
    return ready?.status === 'False' && ready.message !== '' ? outcome('Degraded', ready.message) : undefined;
  },
};

/** OpenShift, its operators, and 3scale. */
export const openshift = [
  check(
    'apps.openshift.io/DeploymentConfig',
    [
      [
        'Healthy',
        all(field('status.replicas', '0'), condition('Progressing')),
        'replication controller successfully rolled out',
      ],
      ['Degraded', condition('Available', 'False'), 'Deployment config is degraded'],
      ['Degraded', condition('Progressing', 'False'), '{@Progressing.message}'],
      ['Progressing', condition('Progressing', 'Unknown'), 'replication controller is waiting for pods to run'],
      ['Healthy', condition('Available'), 'replication controller successfully rolled out'],
    ],
    ['Progressing', 'replication controller is waiting for pods to run'],
  ),
  check(
    'operator.openshift.io/IngressController',
    [
      ['Degraded', condition('Degraded'), '{@Degraded.message}'],
      ['Progressing', condition('Progressing'), '{@Progressing.message}'],
      ['Healthy', condition('Available'), 'IngressController is available'],
      ['Degraded', condition('Available', 'False'), '{@Available.message}'],
    ],
    ['Progressing', 'Status of IngressController is not known yet'],
  ),
  check(
    'operators.coreos.com/Subscription',
    [subscription],
    ['Progressing', 'Waiting for the status of the subscription'],
  ),
  check(
    'ocs.openshift.io/StorageCluster',
    [['Degraded', field('status.phase', 'Error'), '{@Available.message}'], ...reconciled],
    ['Progressing', 'Initializing StorageCluster'],
  ),
  check(
    'apps.3scale.net/APIManager',
    [['Healthy', condition('Available'), '3scale APIManager is available']],
    ['Progressing', 'Waiting for 3scale APIManager status...'],
  ),
  ...[
    'ActiveDoc',
    'Application',
    'ApplicationAuth',
    'Backend',
    'CustomPolicyDefinition',
    'DeveloperAccount',
    'DeveloperUser',
    'OpenAPI',
    'Product',
    'ProxyConfigPromote',
    'Tenant',
  ].map((kind) =>
    check(
      `capabilities.3scale.net/${kind}`,
      [
        ['Degraded', condition('Failed'), '{@Failed.message}'],
        ['Degraded', condition('Invalid'), '{@Invalid.message}'],
        ['Degraded', condition('Orphan'), '{@Orphan.message}'],
        ['Suspended', condition('Waiting'), '{@Waiting.message}'],
        [
          'Suspended',
          field('status.developerUserState', 'suspended'),
          '3scale Developer user is waiting for admin approval',
        ],
        ['Healthy', condition('Ready'), `3scale ${kind} is ready`],
        ['Healthy', condition('Synced'), `3scale ${kind} is synced`],
        readyFalse,
      ],
      ['Progressing', `Waiting for 3scale ${kind} status...`],
    ),
  ),
];
