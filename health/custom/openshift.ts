import { above, absent, all, check, condition, field, on, outcome, present, walk, walkBack } from './rules/check.ts';
import type { CodeRule, HealthRule, WalkRule } from './rules/check.ts';

/** OLM: an upgrade that waits for a manual approval leaves the installed version running. */
const subscription: CodeRule = {
  description:
    'Degraded when catalog sources, resolution or the install plan failed, or state is UpgradeFailed; Progressing while an install plan or the state is pending, unless it waits for a manual approval with a version installed; else Healthy',
  evaluate: (view) => {
    if (!view.has('status.conditions')) return undefined;
    const approval = view.conditions.some(
      (item) => item.type === 'InstallPlanPending' && item.status === 'True' && item.reason === 'RequiresApproval',
    );
    const manual = approval && view.text('spec.installPlanApproval') === 'Manual' && view.has('status.installedCSV');
    const shown = view.conditions
      .map((item, index) => ({ ...item, number: index + 1 }))
      .filter((item) => !manual || item.type !== 'InstallPlanPending');
    const lines = shown.map((item) => `${item.number}: ${item.type} | ${item.status}\n`).join('');
    const state = view.has('status.state') ? view.text('status.state') : undefined;
    const waits =
      state === undefined || ['', 'UpgradeAvailable'].includes(state) || (state === 'UpgradePending' && !manual);
    const message = `${lines}${stateLine(state, manual)}`;
    if (state === 'UpgradeFailed' || shown.some(isSubscriptionFault)) return outcome('Degraded', message);
    const pending = shown.some((item) => item.type === 'InstallPlanPending' && item.status === 'True');
    return outcome(waits || pending ? 'Progressing' : 'Healthy', message);
  },
};

function stateLine(state: string | undefined, manual: boolean): string {
  if (state === undefined) return '.status.state not yet known\n';
  const note = state === 'UpgradePending' && manual ? ' (manual InstallPlan approval pending; treated as healthy)' : '';
  return `.status.state is '${state}'${note}\n`;
}

function isSubscriptionFault(item: {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
}): boolean {
  if (item.type === 'InstallPlanMissing') return item.reason !== 'ReferencedInstallPlanNotFound';
  return (
    item.status === 'True' && ['CatalogSourcesUnhealthy', 'InstallPlanFailed', 'ResolutionFailed'].includes(item.type)
  );
}

const deploymentConfig: CodeRule = {
  description:
    'of Available and Progressing (NewReplicationControllerAvailable): Healthy when both are True or there are no replicas, Progressing when one is, Degraded when none is',
  evaluate: (view) => {
    if (!view.has('status.conditions') || !view.has('status.replicas')) return undefined;
    const good = view.conditions.filter(
      (item) =>
        item.status === 'True' &&
        (item.type === 'Available' ||
          (item.type === 'Progressing' && item.reason === 'NewReplicationControllerAvailable')),
    ).length;
    if (good === 2 || view.number('status.replicas') === 0)
      return outcome('Healthy', 'replication controller successfully rolled out');
    return good === 1
      ? outcome('Progressing', 'replication controller is waiting for pods to run')
      : outcome('Degraded', 'Deployment config is degraded');
  },
};

const group = 'capabilities.3scale.net';

/** 3scale: what each condition that is True means; the first in the list decides. */
const threescale = (kind: string, done: 'ready' | 'synced', texts: Readonly<Record<string, string>>): HealthRule => {
  const codes: Readonly<Record<string, 'Suspended' | 'Progressing' | undefined>> = {
    Waiting: 'Suspended',
    'In-progress': 'Progressing',
  };
  const lines = Object.entries(texts).map(([type, text]): WalkRule['lines'][number] => [
    codes[type] ?? 'Degraded',
    on(type),
    `{it.message|'${text}'}`,
  ]);
  return walk([['Healthy', on(done === 'ready' ? 'Ready' : 'Synced'), `3scale ${kind} is ${done}`], ...lines]);
};

const capability = (
  kind: string,
  done: 'ready' | 'synced',
  texts: Readonly<Record<string, string>>,
  ...before: HealthRule[]
) =>
  check(
    `${group}/${kind}`,
    [...before, threescale(kind, done, texts)],
    ['Progressing', `Waiting for 3scale ${kind} status...`],
  );

const apiManagerWaiting = 'Waiting for 3scale APIManager status...';
const apiManagerAvailable = '3scale APIManager is available';

/** OpenShift, its operators, and 3scale. */
export const openshift = [
  check(
    'apps.openshift.io/DeploymentConfig',
    [deploymentConfig],
    ['Progressing', 'replication controller is waiting for pods to run'],
  ),
  check(
    'operator.openshift.io/IngressController',
    [
      walk([
        ['Degraded', on('Degraded'), '{it.message}'],
        ['Progressing', on('DeploymentReplicasAllAvailable', 'False'), '{it.message}'],
        ['Progressing', on('Progressing'), '{it.reason}'],
        ['Healthy', on('Available'), 'IngressController is available'],
      ]),
    ],
    ['Progressing', 'Status of IngressController is not known yet'],
  ),
  check(
    'operators.coreos.com/Subscription',
    [subscription],
    ['Progressing', 'An install plan for a subscription is pending installation'],
  ),
  check(
    'ocs.openshift.io/StorageCluster',
    [
      walkBack([['Degraded', on('Degraded'), '{it.message}']]),
      walkBack([['Progressing', on('Progressing'), '{it.message}']]),
      walkBack([['Healthy', on('Available'), '{it.message}']]),
    ],
    ['Unknown', 'StorageCluster is in an unknown state.'],
  ),
  check(
    'apps.3scale.net/APIManager',
    [
      [
        'Healthy',
        all(
          present('status.deployments.ready'),
          absent('status.deployments.starting'),
          absent('status.deployments.stopped'),
        ),
        apiManagerAvailable,
      ],
      walk([
        ['Healthy', on('Available'), apiManagerAvailable],
        ['Degraded', on('Available', '', '!'), '3scale APIManager is degraded: {it.reason}'],
      ]),
    ],
    ['Progressing', apiManagerWaiting],
  ),
  capability('ActiveDoc', 'ready', {
    Invalid: '3scale ActiveDoc configuration is invalid',
    Orphan: '3scale ActiveDoc references non-existing resources',
    Failed: '3scale ActiveDoc synchronization failed',
  }),
  check(
    `${group}/Application`,
    [
      ['Suspended', field('status.state', 'suspended'), '3scale Application is suspended'],
      ['Healthy', all(above('status.adminId', 0), condition('Ready')), '3scale Application is ready'],
      ['Progressing', above('status.adminId', 0), 'Waiting for 3scale Application status...'],
      walk([
        ['Healthy', on('Ready'), '3scale Application is ready'],
        ['Degraded', on('Ready', ''), "{it.message|'3scale Application is not ready'}"],
      ]),
    ],
    ['Progressing', 'Waiting for 3scale Application status...'],
  ),
  capability('ApplicationAuth', 'ready', { Failed: '3scale ApplicationAuth failed' }),
  capability('Backend', 'synced', {
    Invalid: '3scale Backend configuration is invalid',
    Failed: '3scale Backend synchronization failed',
  }),
  capability('CustomPolicyDefinition', 'ready', {
    Invalid: '3scale CustomPolicyDefinition configuration is invalid',
    Failed: '3scale CustomPolicyDefinition synchronization failed',
  }),
  capability('DeveloperAccount', 'ready', {
    Invalid: '3scale DeveloperAccount configuration is invalid',
    Failed: '3scale DeveloperAccount synchronization failed',
    Waiting: '3scale DeveloperAccount is waiting for approval',
  }),
  capability(
    'DeveloperUser',
    'ready',
    {
      Invalid: '3scale DeveloperUser configuration is invalid',
      Orphan: '3scale DeveloperUser references non-existing resources',
      Failed: '3scale DeveloperUser synchronization failed',
    },
    [
      'Suspended',
      field('status.developerUserState', 'suspended'),
      '3scale Developer user is waiting for admin approval',
    ],
  ),
  capability('OpenAPI', 'ready', {
    Invalid: '3scale OpenAPI configuration is invalid',
    Failed: '3scale OpenAPI reconciliation failed',
  }),
  capability('Product', 'synced', {
    Invalid: '3scale Product configuration is invalid',
    Orphan: '3scale Product references non-existing resources',
    Failed: '3scale Product synchronization failed',
  }),
  capability('ProxyConfigPromote', 'ready', {
    'In-progress': '3scale ProxyConfigPromote is in progress',
    Failed: '3cale ProxyConfigPromote failed',
  }),
  check(
    `${group}/Tenant`,
    [
      [
        'Healthy',
        all(condition('Ready'), above('status.tenantId', 0), above('status.adminId', 0)),
        '3scale Tenant is ready',
      ],
      ['Degraded', condition('Ready', '!True'), "{it.message|'3scale Tenant is degraded'}"],
    ],
    ['Progressing', 'Waiting for 3scale Tenant status...'],
  ),
];
