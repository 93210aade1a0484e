import {
  all,
  any,
  check,
  condition,
  empty,
  everyCondition,
  field,
  kindsOf,
  pattern,
  someCondition,
  stale,
} from './check.ts';
import type { HealthCheck, HealthRule } from './check.ts';

/**
 * Conditions of crossplane-runtime: Synced reports whether the provider could reconcile, Ready
 * whether the external resource exists.
 */
const managed = (kind: string, created: string, waiting = `Waiting for ${created} to be available`): HealthCheck =>
  check(
    kind,
    [
      ['Suspended', condition('Synced', 'False', 'ReconcilePaused'), '{@Synced.reason}'],
      ['Degraded', condition('Synced', 'False'), '{@Synced.message}'],
      ['Healthy', condition('Ready'), '{@Ready.reason}'],
      ['Progressing', condition('Ready', ['False', 'Unknown']), waiting],
    ],
    ['Progressing', `Waiting for ${created} to be created`],
  );

/** Kinds that only hold configuration: no controller ever sets a condition on them. */
const configuration = pattern(
  'kind',
  /^(?:ProviderConfig|ClusterProviderConfig|ProviderConfigUsage|Composition|CompositionRevision|EnvironmentConfig|DeploymentRuntimeConfig|ControllerConfig|StoreConfig|Usage|ClusterUsage|ImageConfig|ManagedResourceActivationPolicy)$/,
);
const useless = (status: string): HealthRule => [
  'Healthy',
  all(configuration, empty(status)),
  'Resource is up-to-date.',
];

const generic = (): readonly HealthRule[] => [
  ['Healthy', all(configuration, { on: 'present', path: 'status.users' }), 'Resource is in use.'],
  useless('status.conditions'),
  ['Degraded', condition('LastAsyncOperation', 'False'), '{@LastAsyncOperation.message}'],
  ['Suspended', condition('Synced', 'False', 'ReconcilePaused'), '{@Synced.reason}'],
  ['Degraded', condition('Synced', 'False'), '{@Synced.message}'],
  [
    'Degraded',
    any(condition('Healthy', 'False'), condition('RevisionHealthy', 'False')),
    '{@Healthy.message}{@RevisionHealthy.message}',
  ],
  [
    'Healthy',
    any(
      condition('Ready'),
      condition('Healthy'),
      condition('RevisionHealthy'),
      condition('Offered'),
      condition('Established'),
      condition('ValidPipeline'),
    ),
    'Resource is up-to-date.',
  ],
];

const connector: readonly HealthRule[] = [
  [
    'Healthy',
    all(pattern('kind', /^(?:ConfigConnector|ConfigConnectorContext)$/), field('status.healthy', 'true')),
    '{kind} is healthy',
  ],
  [
    'Degraded',
    all(pattern('kind', /^(?:ConfigConnector|ConfigConnectorContext)$/), field('status.healthy', 'false')),
    '{kind} is not healthy',
  ],
];

/**
 * Cloud resources managed through the Kubernetes API: Crossplane, Config Connector, ACK, and AWS by
 * iam-manager.
 */
export const crossplane = [
  managed('cloudfront.aws.crossplane.io/Distribution', 'distribution'),
  managed('iam.aws.crossplane.io/Policy', 'policy'),
  managed('iam.aws.crossplane.io/Role', 'role'),
  managed('iam.aws.crossplane.io/RolePolicyAttachment', 'rolepolicyattachment'),
  managed('rds.aws.crossplane.io/DBCluster', 'DBCluster'),
  managed('rds.aws.crossplane.io/DBInstance', 'DBInstance'),
  managed('route53.aws.crossplane.io/ResourceRecordSet', 'resourcerecordset'),
  check(
    'pkg.crossplane.io/Provider',
    [
      [
        'Degraded',
        any(condition('Installed', 'False'), condition('Healthy', 'False')),
        '{@Installed.reason} {@Healthy.reason}',
      ],
      ['Healthy', all(condition('Installed'), condition('Healthy')), '{@Installed.reason} {@Healthy.reason}'],
    ],
    ['Progressing', 'Waiting for provider to be installed'],
  ),
  check(
    'stacks.crossplane.io/ClusterStackInstall',
    [
      ['Healthy', condition('Ready'), '{@Ready.reason}'],
      ['Degraded', condition('Synced', 'False'), '{@Synced.message}'],
    ],
    ['Progressing', 'Waiting for stack to be installed'],
  ),
  check(['*.crossplane.io/*', '*.upbound.io/*'], generic(), ['Progressing', 'Provisioning {kind} ...']),
  check(
    '*.cnrm.cloud.google.com/*',
    [
      ['Progressing', stale(), 'Update in progress'],
      ...connector,
      ['Healthy', condition('Ready'), '{@Ready.message}'],
      ['Suspended', condition('Ready', 'False', 'DependencyNotReady'), '{@Ready.message}'],
      [
        'Degraded',
        condition(
          'Ready',
          'False',
          'UpdateFailed',
          'DeleteFailed',
          'DependencyNotFound',
          'DependencyInvalid',
          'ManagementConflict',
          'PreActuationTransformFailed',
          'PostActuationTransformFailed',
          'FullyQualifiedNameImmutable',
        ),
        '{@Ready.message}',
      ],
    ],
    ['Progressing', 'Update in progress'],
  ),
  check(
    '*.services.k8s.aws/*',
    [
      ['Degraded', condition('ACK.Terminal'), '{@ACK.Terminal.message}'],
      ['Healthy', condition('Ready'), '{@Ready.reason}'],
      ['Degraded', condition('ACK.Recoverable'), '{@ACK.Recoverable.message}'],
      ['Progressing', condition('Ready', ['False', 'Unknown']), '{@Ready.message}'],
      ['Healthy', condition('ACK.ResourceSynced'), '{@ACK.ResourceSynced.reason}'],
    ],
    ['Progressing', 'Waiting for resource to be ready'],
  ),
  check(
    'iammanager.keikoproj.io/Iamrole',
    [
      [
        'Healthy',
        field('status.state', 'Ready'),
        "Role '{status.roleName}' exists with ARN '{status.roleARN}' and ID '{status.roleID}'.",
      ],
      iamRoleFailure(),
    ],
    ['Progressing', 'Waiting for Iamrole to be reconciled'],
  ),
  check(
    'pulumi.com/Stack',
    [
      ['Progressing', stale(), 'Waiting for the operator to observe the latest spec change'],
      ['Degraded', condition('Stalled'), '{@Stalled.message}'],
      ['Healthy', condition('Ready'), '{@Ready.message}'],
      ['Progressing', condition('Reconciling'), '{@Reconciling.message}'],
      ['Degraded', field('status.lastUpdate.state', 'failed'), '{@Ready.message}'],
      ['Progressing', condition('Ready', ['False', 'Unknown']), '{@Ready.message}'],
    ],
    ['Progressing', 'Waiting for the stack to be processed'],
  ),
  check(
    kindsOf('services.cloud.sap.com', 'ServiceBinding', 'ServiceInstance'),
    [
      ['Progressing', any(staleOf('Ready'), staleOf('Succeeded')), 'Waiting for spec update to be observed'],
      ['Degraded', condition('Failed'), '{@Failed.message}'],
      ['Healthy', all(condition('Ready'), condition('Succeeded')), 'Ready to use'],
      ['Progressing', someCondition('False'), '{some.message}'],
      ['Healthy', everyCondition('True'), 'Ready to use'],
    ],
    ['Progressing', 'Waiting for status'],
  ),
];

function staleOf(type: string) {
  return { on: 'stale condition', type } as const;
}

function iamRoleFailure(): HealthRule {
  return {
    description: 'Degraded when state has any other value',
    evaluate: (view) => {
      if (view.text('status.state') === '') return undefined;
      const or = (path: string): string => view.text(path) || '<none>';
      const retries = view.number('status.retryCount') ?? 0;
      const what = `Failed to reconcile the Iamrole ${retries > 0 ? `(retry ${retries}) ` : ''}for role '${or('status.roleName')}'`;
      const which = `with ARN '${or('status.roleARN')}' and ID '${or('status.roleID')}'`;
      return {
        status: 'Degraded',
        message: `${what} ${which}. Reconciliation error was: ${or('status.errorDescription')}`,
      };
    },
  };
}
