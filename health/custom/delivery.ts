import { all, any, check, condition, empty, field, kindsOf, not, outcome, pattern } from './check.ts';
import type { CodeRule, HealthRule } from './check.ts';

/**
 * Ready is True, or False with a message: the pattern that most operators follow (Kubernetes API
 * conventions, "Typical status properties").
 */
const ready = (
  waiting: string,
  healthy = '{@Ready.message}',
): readonly [readonly HealthRule[], readonly ['Progressing', string]] => [
  [
    ['Healthy', condition('Ready'), healthy],
    ['Degraded', condition('Ready', 'False'), '{@Ready.message}'],
  ],
  ['Progressing', waiting],
];

/**
 * Flux uses kstatus conditions: Stalled is final, Ready decides. The message is the condition's
 * reason.
 */
const flux: readonly HealthRule[] = [
  ['Suspended', field('spec.suspend', 'true'), '{kind} is suspended'],
  ['Healthy', all(pattern('kind', /^HelmRepository$/), field('spec.type', 'oci'))],
  ['Degraded', condition('Stalled'), '{@Stalled.reason}'],
  ['Healthy', condition('Ready'), '{@Ready.reason}'],
  ['Progressing', condition('Ready', 'False', 'Progressing', 'Reconciling'), '{@Ready.reason}'],
  ['Degraded', condition('Ready', 'False'), '{@Ready.reason}'],
  ['Progressing', condition('Ready', 'Unknown'), '{@Ready.reason}'],
];

const canary: CodeRule = {
  description:
    'Healthy when phase is Initialized or Succeeded, Degraded when Failed, Suspended when it waits for a promotion, else Progressing',
  evaluate: (view) => {
    const phase = view.text('status.phase');
    if (phase === '') return undefined;
    const parts = [phase];
    const weight = view.number('status.canaryWeight') ?? 0;
    if (phase === 'Progressing' && weight > 0) parts.push(`Canary Weight: ${weight} %`);
    const message = view.conditions[0]?.message ?? '';
    if (message !== '') parts.push(message);
    return outcome(canaryPhases.get(phase) ?? 'Progressing', parts.join(' --- '));
  },
};
const canaryPhases = new Map([
  ['Initialized', 'Healthy'],
  ['Succeeded', 'Healthy'],
  ['Failed', 'Degraded'],
  ['Waiting', 'Suspended'],
  ['WaitingPromotion', 'Suspended'],
] as const) as ReadonlyMap<string, 'Healthy' | 'Degraded' | 'Suspended'>;

const issuing: HealthRule = ['Progressing', condition('Issuing'), '{@Issuing.message}'];

/** Delivery: GitOps tools, certificates, secrets and policies. */
export const delivery = [
  check(
    [
      ...kindsOf('source.toolkit.fluxcd.io', 'Bucket', 'GitRepository', 'HelmChart', 'HelmRepository', 'OCIRepository'),
      ...kindsOf('kustomize.toolkit.fluxcd.io', 'Kustomization'),
      ...kindsOf('helm.toolkit.fluxcd.io', 'HelmRelease'),
      ...kindsOf('notification.toolkit.fluxcd.io', 'Receiver'),
      ...kindsOf('image.toolkit.fluxcd.io', 'ImagePolicy', 'ImageRepository', 'ImageUpdateAutomation'),
    ],
    flux,
    ['Progressing', 'Waiting for {kind}'],
  ),
  check('flagger.app/Canary', [canary], ['Progressing', 'Waiting for Canary']),
  check(
    kindsOf('keda.sh', 'ScaledJob', 'ScaledObject'),
    [
      ['Suspended', condition('Paused'), '{@Paused.message}'],
      ['Degraded', condition('Fallback'), '{@Fallback.message}'],
      ['Healthy', condition('Ready'), '{@Ready.message}'],
      ['Degraded', condition('Ready', ['False', 'Unknown']), '{@Ready.message}'],
    ],
    ['Progressing', 'Waiting for {kind}'],
  ),
  check('cert-manager.io/Certificate', [issuing, ...ready('')[0]], ['Progressing', 'Waiting for certificate']),
  check('certmanager.k8s.io/Certificate', [issuing, ...ready('')[0]], ['Progressing', 'Waiting for certificate']),
  check('cert-manager.io/Issuer', ...ready('Initializing Issuer')),
  check('cert-manager.io/ClusterIssuer', ...ready('Initializing ClusterIssuer')),
  check('certmanager.k8s.io/Issuer', ...ready('Initializing issuer')),
  check('certmanager.k8s.io/ClusterIssuer', ...ready('Initializing issuer')),
  check(
    kindsOf('external-secrets.io', 'ClusterExternalSecret', 'ClusterPushSecret'),
    [
      ['Healthy', condition('Ready'), '{@Ready.message}'],
      ['Degraded', condition('Ready', 'False'), '{@Ready.message}'],
      ['Degraded', condition('NotReady'), '{@NotReady.message}'],
      ['Degraded', condition('PartiallyReady'), '{@PartiallyReady.message}'],
    ],
    ['Progressing', 'Waiting for {kind}'],
  ),
  check(
    kindsOf('external-secrets.io', 'ClusterSecretStore', 'ExternalSecret', 'PushSecret', 'SecretStore'),
    ...ready('Waiting for {kind}'),
  ),
  check(
    'kubernetes-client.io/ExternalSecret',
    [
      ['Healthy', field('status.status', 'SUCCESS')],
      {
        description: 'Degraded when status begins with ERROR',
        evaluate: (view) => {
          const text = view.text('status.status');
          return text.startsWith('ERROR') ? outcome('Degraded', text.replace(/^ERROR,?\s*/, '')) : undefined;
        },
      },
    ],
    ['Progressing', 'Waiting for ExternalSecret'],
  ),
  check(
    'bitnami.com/SealedSecret',
    [
      ['Healthy', condition('Synced'), '{@Synced.message}'],
      ['Degraded', condition('Synced', 'False'), '{@Synced.message}'],
    ],
    ['Progressing', 'Waiting for Sealed Secret to be decrypted'],
  ),
  check('onepassword.com/OnePasswordItem', ...ready('Waiting for controller to report status')),
  check(
    'k8s.keycloak.org/Keycloak',
    [
      ['Progressing', empty('status.conditions'), 'Waiting for Keycloak status conditions to exist'],
      ['Degraded', condition('HasErrors'), 'Has Errors: {@HasErrors.message}'],
      ['Healthy', condition('Ready')],
    ],
    ['Progressing'],
  ),
  check(
    kindsOf('kyverno.io', 'ClusterPolicy', 'Policy'),
    [
      [
        'Healthy',
        any(condition('Ready'), all(field('status.ready', 'true'), empty('status.conditions'))),
        '{kind} is ready',
      ],
      ['Degraded', condition('Ready', 'False', 'Failed'), '{@Ready.message}'],
    ],
    ['Progressing', 'Waiting for {kind} to be ready'],
  ),
  check(
    'tower.ansible.com/AnsibleJob',
    [
      [
        'Healthy',
        field('status.ansibleJobResult.status', 'successful'),
        '{status.ansibleJobResult.status} job - {status.ansibleJobResult.url}',
      ],
      [
        'Degraded',
        field('status.ansibleJobResult.status', 'failed', 'error', 'canceled'),
        '{status.ansibleJobResult.status} job - {status.ansibleJobResult.url}',
      ],
      [
        'Progressing',
        not(empty('status.ansibleJobResult.status')),
        '{status.ansibleJobResult.status} job - {status.ansibleJobResult.url}',
      ],
    ],
    ['Progressing', 'Waiting for AnsibleJob'],
  ),
];
