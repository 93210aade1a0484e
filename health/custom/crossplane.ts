import {
  all,
  any,
  check,
  condition,
  field,
  not,
  on,
  outcome,
  pattern,
  present,
  same,
  stale,
  walk,
} from './rules/check.ts';
import type { CodeRule, HealthCheck, HealthRule } from './rules/check.ts';
import type { ObjectView } from './rules/view.ts';

/**
 * Conditions of crossplane-runtime: Synced reports whether the provider could reconcile, Ready
 * whether the external resource exists.
 */
const managed = (kind: string, name: string): HealthCheck =>
  check(
    kind,
    [bothConditions(`Waiting for ${name} to be available`)],
    ['Progressing', `Waiting for ${name} to be created`],
  );

function bothConditions(waiting: string): CodeRule {
  return {
    description:
      'Healthy when Ready and Synced are True, Suspended when Synced is not True (ReconcilePaused), Progressing when only Synced is True, else Degraded',
    evaluate: (view) => {
      if (!view.has('status.conditions')) return undefined;
      const synced = view.conditions.filter((item) => item.type === 'Synced');
      const ready = view.conditions.findLast((item) => item.type === 'Ready');
      const isSynced = synced.at(-1)?.status === 'True';
      const isPaused = synced.some((item) => item.reason === 'ReconcilePaused');
      if (ready?.status === 'True' && isSynced) return outcome('Healthy', ready.reason);
      if (!isSynced && isPaused) return outcome('Suspended', 'ReconcilePaused');
      if (ready?.status !== 'True' && isSynced && !isPaused) return outcome('Progressing', waiting);
      return outcome('Degraded', synced.findLast((item) => item.reason === 'ReconcileError')?.message);
    },
  };
}

/** Kinds that only hold configuration: most never get a condition. */
const upboundConfiguration =
  /^(?:ProviderConfig|ProviderConfigUsage|StoreConfig|ClusterProviderConfig|ClusterProviderConfigUsage)$/;
const crossplaneConfiguration = new RegExp(
  `${upboundConfiguration.source.slice(0, -2)}|Composition|CompositionRevision|DeploymentRuntimeConfig|EnvironmentConfig|ImageConfig|ControllerConfig)$`,
);

const noConditions = not(condition('', ''));
const upToDate = 'Resource is up-to-date.';

const configuration = (kinds: RegExp): readonly HealthRule[] => [
  ['Healthy', all(noConditions, pattern('kind', kinds), present('status.users')), 'Resource is in use.'],
  ['Healthy', all(noConditions, pattern('kind', kinds)), upToDate],
];

const asyncFailure: HealthRule = walk([['Degraded', on('LastAsyncOperation|Synced', 'False'), '{it.message}']]);

const inactiveDefinition = all(
  condition('Established', '', 'InactiveManagedResource'),
  not(field('spec.state', 'Active')),
);

const reportsHealthy = pattern('kind', /^ConfigConnector(?:Context)?$/);
const isCustomization = pattern('apiVersion', /^customize\.core\.cnrm\.cloud\.google\.com\//);

const connectorHealth: readonly HealthRule[] = [
  ...healthyField(all(reportsHealthy, not(stale()))),
  ...healthyField(all(isCustomization, any(field('status.observedGeneration', 0), not(stale())))),
];

function healthyField(when: ReturnType<typeof all>): readonly HealthRule[] {
  return [
    ['Healthy', all(when, field('status.healthy', true)), '{kind} is healthy'],
    ['Degraded', all(when, present('status.healthy')), '{kind} is not healthy'],
  ];
}

/** The reasons of both conditions, or of the one that is there. */
const provider: CodeRule = {
  description: 'Healthy when Installed and Healthy are True, else Degraded when one of them has a reason',
  evaluate: (view) => {
    const [installed, healthy] = ['Installed', 'Healthy'].map((type) =>
      view.conditions.findLast((item) => item.type === type),
    );
    const reasons = [installed, healthy]
      .map((item) => item?.fields['reason'])
      .filter((reason) => typeof reason === 'string');
    if (reasons.length === 0) return undefined;
    const good = installed?.status === 'True' && healthy?.status === 'True';
    return outcome(good ? 'Healthy' : 'Degraded', reasons.join(' '));
  },
};

const role = (view: ObjectView): string => {
  const or = (name: string): string => (view.has(`status.${name}`) ? view.text(`status.${name}`) : '<none>');
  return `'${or('roleName')}'|'${or('roleARN')}'|'${or('roleID')}'`;
};

const iamRole: CodeRule = {
  description:
    'Healthy when state is Ready, Degraded when Error, RolesMaxLimitReached, PolicyNotAllowed or RoleNameNotAvailable',
  evaluate: (view) => {
    const state = view.text('status.state');
    const [name = '', arn = '', id = ''] = role(view).split('|');
    if (state === 'Ready') return outcome('Healthy', `Role ${name} exists with ARN ${arn} and ID ${id}.`);
    if (!['Error', 'RolesMaxLimitReached', 'PolicyNotAllowed', 'RoleNameNotAvailable'].includes(state))
      return undefined;
    const retries = view.number('status.retryCount') ?? 0;
    const what = `Failed to reconcile the Iamrole ${retries > 0 ? `(retry ${retries}) ` : ''}for role ${name}`;
    const error = view.has('status.errorDescription')
      ? ` Reconciliation error was: ${view.text('status.errorDescription')}`
      : '';
    return outcome('Degraded', `${what} with ARN ${arn} and ID ${id}.${error}`);
  },
};

/** KRO judges conditions of the current generation only. */
const kro = (
  types: string,
  code: (view: ObjectView, text: string | undefined, type: string) => ReturnType<CodeRule['evaluate']>,
  done: string,
): CodeRule => ({
  description: `of the conditions of this generation: Healthy when Ready is True, by the first of ${types.replaceAll('|', ', ')} that is False`,
  evaluate: (view) => {
    const known = types.split('|');
    for (const item of view.conditions) {
      const seen = item.fields['observedGeneration'];
      if (seen === undefined || seen !== view.get(['metadata', 'generation'])) continue;
      if (item.type === 'Ready' && item.status === 'True') return outcome('Healthy', done);
      if (item.status !== 'False' || !known.includes(item.type)) continue;
      const found = code(view, item.fields['message'] === undefined ? undefined : item.message, item.type);
      if (found !== undefined) return found;
    }
    return undefined;
  },
});

const kroWaiting: HealthRule = ['Progressing', not(present('status.conditions')), 'Waiting for KRO to report status'];

/**
 * Cloud resources managed through the Kubernetes API: Crossplane, Config Connector, ACK, Pulumi,
 * KRO and AWS by iam-manager.
 */
export const crossplane = [
  managed('cloudfront.aws.crossplane.io/Distribution', 'distribution'),
  managed('iam.aws.crossplane.io/Policy', 'Policy'),
  managed('iam.aws.crossplane.io/Role', 'Role'),
  managed('iam.aws.crossplane.io/RolePolicyAttachment', 'RolePolicyAttachment'),
  managed('rds.aws.crossplane.io/DBCluster', 'DBCluster'),
  managed('rds.aws.crossplane.io/DBInstance', 'DBInstance'),
  managed('route53.aws.crossplane.io/ResourceRecordSet', 'resourcrecordset'),
  managed('s3.aws.crossplane.io/Bucket', 'Bucket'),
  check('pkg.crossplane.io/Provider', [provider], ['Progressing', 'Waiting for provider to be installed']),
  check(
    'stacks.crossplane.io/ClusterStackInstall',
    [
      walk([['Healthy', on('Ready'), '{it.reason}']], 'status.conditionedStatus.conditions'),
      walk([['Progressing', on('Ready', ''), '{it.reason}']], 'status.conditionedStatus.conditions'),
    ],
    ['Progressing', 'Waiting for stack to be installed'],
  ),
  check(
    '*.crossplane.io/*',
    [
      ...configuration(crossplaneConfiguration),
      asyncFailure,
      [
        'Healthy',
        any(condition('Ready|Healthy|Offered|Established|ValidPipeline|RevisionHealthy'), inactiveDefinition),
        upToDate,
      ],
    ],
    ['Progressing', 'Provisioning ...'],
  ),
  check(
    '*.upbound.io/*',
    [...configuration(upboundConfiguration), asyncFailure, ['Healthy', condition('Ready'), upToDate]],
    ['Progressing', 'Provisioning ...'],
  ),
  check(
    '*.cnrm.cloud.google.com/*',
    [
      ...connectorHealth,
      ['Progressing', stale(), 'Update in progress'],
      walk([
        ['Healthy', on('', 'True', 'UpToDate'), '{it.message}'],
        ['Degraded', on('', '', 'UpdateFailed|DependencyNotFound'), '{it.message}'],
        ['Suspended', on('', '', 'DependencyNotReady'), '{it.message}'],
      ]),
    ],
    ['Progressing', 'Update in progress'],
  ),
  check(
    '*.services.k8s.aws/*',
    [
      walk([
        ['Degraded', on('ACK.Terminal'), '{it.message}'],
        ['Progressing', on('Ready', 'False'), '{it.message}'],
        ['Healthy', on('Ready')],
      ]),
    ],
    ['Progressing', 'Waiting for resource to be ready'],
  ),
  check('iammanager.keikoproj.io/Iamrole', [iamRole], ['Progressing', 'Waiting for Iamrole to be reconciled']),
  check(
    'kro.run/ResourceGraphDefinition',
    [
      kroWaiting,
      kro(
        'GraphRevisionsResolved|GraphAccepted|KindReady|ControllerReady|Ready',
        (_view, text, type) => outcome('Degraded', text ?? `${type} is False`),
        'ResourceGraphDefinition is active and serving instances',
      ),
    ],
    ['Progressing', 'Waiting for ResourceGraphDefinition to become ready'],
  ),
  check(
    'kro.run/*',
    [
      kroWaiting,
      kro(
        'InstanceManaged|GraphResolved|ResourcesReady|Ready',
        (view, text, type) => {
          const state = view.text('status.state');
          if (state === 'FAILED' || state === 'ERROR') return outcome('Degraded', text ?? `${type} is False`);
          return state === 'IN_PROGRESS' ? outcome('Progressing', text ?? `${type} is in progress`) : undefined;
        },
        'Instance is active and running',
      ),
    ],
    ['Progressing', 'Waiting for instance to become ready'],
  ),
  check(
    'pulumi.com/Stack',
    [
      [
        'Progressing',
        not(same('status.observedGeneration', 'metadata.generation')),
        'Waiting for the operator to observe the latest spec change',
      ],
      ['Progressing', not(present('status')), 'Waiting for the operator to observe the latest spec change'],
      walk([
        ['Degraded', on('Stalled'), '{it.message}'],
        ['Progressing', on('Reconciling'), '{it.message}'],
        ['Healthy', on('Ready'), '{it.message}'],
      ]),
    ],
    ['Progressing', 'Waiting for the stack to be reconciled'],
  ),
];
