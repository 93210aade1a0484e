import {
  absent,
  all,
  any,
  check,
  condition,
  field,
  kindsOf,
  not,
  on,
  outcome,
  present,
  readyRule,
  states,
  unlisted,
  unreadable,
  unworded,
  walk,
} from './rules/check.ts';
import type { CodeRule, HealthRule } from './rules/check.ts';
import { scalarText } from './rules/view.ts';

/** The deciding conditions of a Flux kind (kstatus: Ready, Reconciling). */
interface FluxCounts {
  /** Status of Ready that counts as in progress, together with Reconciling. */
  readonly open: 'Unknown' | 'False';
  /** Reasons with which Reconciling counts; empty: any. */
  readonly reasons: readonly string[];
  /** Other conditions that must be True for health, beside Ready. */
  readonly also: readonly string[];
  /** How many conditions must be True. */
  readonly needed: 1 | 2;
  /** Status while Ready and Reconciling are both True. */
  readonly both: 'Progressing' | 'Degraded';
}

const suspended: readonly HealthRule[] = [
  unreadable(absent('spec'), 2, 'suspend'),
  ['Suspended', field('spec.suspend', true), '{kind} is suspended'],
];

/** The message is the reason of Ready, with that of ArtifactOutdated after it. */
function fluxCounts({ open, reasons, also, needed, both }: FluxCounts): CodeRule {
  const healthy = needed === 1 ? 'Ready is True' : `Ready and ${also.join(' or ')} are True`;
  return {
    description: `${both} when Ready is ${open} and Reconciling is True, Healthy when ${healthy}, else Degraded`,
    evaluate: (view) => {
      if (!view.has('status.conditions')) return undefined;
      let [progressing, succeeded, message] = [0, 0, ''];
      for (const { type, status, reason } of view.conditions) {
        if (type === 'Ready') {
          if (status === 'True') succeeded += 1;
          else if (status === open) progressing += 1;
          message = reason;
        } else if (status === 'True') {
          if (type === 'Reconciling' && (reasons.length === 0 || reasons.includes(reason))) progressing += 1;
          else if (also.includes(type)) succeeded += 1;
          else if (type === 'ArtifactOutdated' && also.includes('ArtifactInStorage')) message = `${message} ${reason}`;
        }
      }
      if (progressing === 2) return outcome(both, message);
      return outcome(succeeded === needed ? 'Healthy' : 'Degraded', message);
    },
  };
}

const flux = (kinds: string | readonly string[], counts: Partial<FluxCounts>, ...before: HealthRule[]) =>
  check(
    kinds,
    [...before, fluxCounts({ open: 'Unknown', reasons: [], also: [], needed: 1, both: 'Progressing', ...counts })],
    ['Progressing', 'Status unknown'],
  );

const artifact = { also: ['ArtifactInStorage'], needed: 2 } as const;

/** Flagger: the phase, the canary's weight and the messages of all conditions. */
const canary: CodeRule = {
  description:
    'Healthy when phase is Initialized or Succeeded, Degraded when Failed, Progressing when Progressing, Finalising or Promoting, else Unknown',
  evaluate: (view) => {
    if (!view.has('status')) return undefined;
    const phase = view.text('status.phase');
    const weight = Number(view.text('status.canaryWeight'));
    const first = weight > 0 ? `Canary Weight: ${view.text('status.canaryWeight')} %` : '';
    // Nothing separates a message from empty ones before it.
    const text = view.conditions.reduce((line, { message }) => `${line}${line === '' ? '' : ' --- '}${message}`, first);
    return outcome(canaryPhases.get(phase) ?? 'Unknown', `${phase} --- ${text}`);
  },
};
const canaryPhases = new Map([
  ['Initialized', 'Healthy'],
  ['Succeeded', 'Healthy'],
  ['Failed', 'Degraded'],
  ['Progressing', 'Progressing'],
  ['Finalising', 'Progressing'],
  ['Promoting', 'Progressing'],
] as const) as ReadonlyMap<string, 'Healthy' | 'Degraded' | 'Progressing'>;

const acme = (kind: string, name: string, pending: string) => {
  const lower = kind.toLowerCase();
  return check(
    `acme.cert-manager.io/${kind}`,
    [
      ['Progressing', any(absent('status.state'), field('status.state', '')), `Waiting for ${lower}`],
      ['Healthy', field('status.state', 'valid'), `${kind} is valid`],
      ...(['invalid', 'expired', 'errored'] as const).map((state): HealthRule => [
        'Degraded',
        field('status.state', state),
        `{status.reason|'${kind} is ${state}'}`,
      ]),
      ...(name === '' ? [] : ([['Progressing', present('status.reason'), name]] as const)),
    ],
    ['Progressing', pending],
  );
};

/** The last condition decides: the operator appends. */
const lastCondition: CodeRule = {
  description: 'by the last condition: Healthy when it is Ready, Degraded when PartiallyReady or NotReady',
  evaluate: (view) => {
    const last = view.conditions.at(-1);
    if (last?.status !== 'True') return undefined;
    if (last.type === 'Ready') return outcome('Healthy', last.message);
    return last.type === 'PartiallyReady' || last.type === 'NotReady' ? outcome('Degraded', last.message) : undefined;
  },
};

/** The conditions in the order of their last transition; those without a time come last. */
const keycloak: CodeRule = {
  description: 'by the oldest condition that is True: Healthy for Ready, Degraded for HasErrors',
  evaluate: (view) => {
    const time = (item: { readonly fields: Record<string, unknown> }): string =>
      scalarText(item.fields['lastTransitionTime'] as never);
    const sorted = view.conditions.toSorted((a, b) => compareTimes(time(a), time(b)));
    const found = sorted.find((item) => item.status === 'True' && ['Ready', 'HasErrors'].includes(item.type));
    if (found === undefined) return undefined;
    return found.type === 'Ready' ? outcome('Healthy') : outcome('Degraded', `Has Errors: ${found.message}`);
  },
};

function compareTimes(a: string, b: string): number {
  if (a === b) return 0;
  if (a === '') return 1;
  return b === '' || a < b ? -1 : 1;
}

/** Kubernetes External Secrets: a word, or `ERROR, ` and the reason. */
const fetched: CodeRule = {
  description: 'Degraded when status begins with ERROR',
  evaluate: (view) => {
    const text = view.text('status.status');
    return text.startsWith('ERROR') ? outcome('Degraded', text.replaceAll('ERROR, ', '')) : undefined;
  },
};

/** Delivery: GitOps tools, pipelines, certificates, secrets and policies. */
export const delivery = [
  acme('Challenge', '{status.reason}', 'Challenge is {status.state}'),
  acme('Order', '', 'Order is {status.state}'),
  check(
    'cert-manager.io/Certificate',
    [['Progressing', condition('Issuing'), '{it.message}'], readyRule],
    ['Progressing', 'Waiting for certificate'],
  ),
  check(
    'cert-manager.io/CertificateRequest',
    [
      ['Degraded', condition('Denied|InvalidRequest'), '{it.message}'],
      walk([
        ['Healthy', on('Ready'), '{it.message}'],
        ['Progressing', on('Ready', '', 'Pending'), '{it.message}'],
        ['Degraded', on('Ready', ''), '{it.message}'],
      ]),
    ],
    ['Progressing', 'Waiting for certificate request'],
  ),
  check('cert-manager.io/ClusterIssuer', [readyRule], ['Progressing', 'Initializing ClusterIssuer']),
  check(['cert-manager.io/Issuer', 'certmanager.k8s.io/Issuer'], [readyRule], ['Progressing', 'Initializing issuer']),
  check('certmanager.k8s.io/Certificate', [readyRule], ['Progressing', 'Waiting for certificate']),
  check(
    'trust.cert-manager.io/Bundle',
    [
      walk([
        ['Healthy', on('Synced'), "{it.message|'Bundle is synced'}"],
        ['Degraded', on('Synced', ''), "{it.message|it.reason|'Bundle is not synced'}"],
      ]),
    ],
    ['Progressing', 'Waiting for Bundle to be synced'],
  ),
  check(
    'external-secrets.io/ClusterExternalSecret',
    [unreadable(all(present('status.conditions'), not(condition('', ''))), 6, 'type'), lastCondition],
    ['Progressing', 'Waiting for ClusterExternalSecret'],
  ),
  ...['ClusterSecretStore', 'ExternalSecret', 'PushSecret', 'SecretStore'].map((kind) =>
    check(`external-secrets.io/${kind}`, [readyRule], ['Progressing', `Waiting for ${kind}`]),
  ),
  check(
    'kubernetes-client.io/ExternalSecret',
    [
      ['Healthy', field('status.status', 'SUCCESS'), 'Fetched ExternalSecret.'],
      unreadable(all(present('status'), absent('status.status')), 6, 'find'),
      fetched,
    ],
    ['Progressing', 'Waiting for ExternalSecret.'],
  ),
  check('onepassword.com/OnePasswordItem', [readyRule], ['Progressing', 'Waiting for controller to report status']),
  check(
    'bitnami.com/SealedSecret',
    [
      walk([
        ['Degraded', on('Synced', 'False'), '{it.message}'],
        ['Healthy', on('Synced'), '{it.message}'],
      ]),
    ],
    ['Progressing', 'Waiting for Sealed Secret to be decrypted'],
  ),
  check(
    'k8s.keycloak.org/Keycloak',
    [['Progressing', absent('status.conditions'), 'Waiting for Keycloak status conditions to exist'], keycloak],
    ['Progressing'],
  ),
  check(
    'flagger.app/Canary',
    [
      ['Unknown', absent('status'), 'No status'],
      ['Unknown', absent('status.canaryWeight'), '<string>:5: attempt to compare number with nil'],
      unlisted(absent('status.conditions'), 8),
      unworded(absent('status.phase'), 26),
      canary,
    ],
    ['Unknown', 'No status'],
  ),
  flux('helm.toolkit.fluxcd.io/HelmRelease', { also: ['Released', 'TestSuccess'], needed: 2 }, ...suspended),
  flux(
    ['kustomize.toolkit.fluxcd.io/Kustomization', 'image.toolkit.fluxcd.io/ImageUpdateAutomation'],
    {},
    ...suspended,
  ),
  flux('image.toolkit.fluxcd.io/ImagePolicy', {
    open: 'False',
    reasons: ['NewGeneration', 'AccessingRepository', 'ApplyingPolicy'],
  }),
  flux(
    'image.toolkit.fluxcd.io/ImageRepository',
    { open: 'False', reasons: ['NewGeneration', 'Scanning'] },
    ...suspended,
  ),
  flux('notification.toolkit.fluxcd.io/Receiver', { open: 'False', both: 'Degraded' }, ...suspended),
  flux(
    kindsOf('source.toolkit.fluxcd.io', 'Bucket', 'GitRepository', 'HelmChart', 'OCIRepository'),
    artifact,
    ...suspended,
  ),
  flux('source.toolkit.fluxcd.io/HelmRepository', artifact, ...suspended, [
    'Healthy',
    field('spec.type', 'oci'),
    "Helm repositories of type 'oci' do not contain any information in the status.",
  ]),
  check(
    kindsOf('tekton.dev', 'PipelineRun', 'TaskRun'),
    [
      walk([
        ['Healthy', on('Succeeded'), '{it.message|it.reason}'],
        ['Degraded', on('Succeeded', 'False'), '{it.message|it.reason}'],
        ['Progressing', on('Succeeded', ''), '{it.message|it.reason}'],
      ]),
    ],
    ['Progressing', 'Waiting for run to start'],
  ),
  check(
    'tower.ansible.com/AnsibleJob',
    states('status.ansibleJobResult.status', {
      successful: ['Healthy', '{status.ansibleJobResult.status} job - {status.ansibleJobResult.url}'],
      'failed|error|canceled': ['Degraded', '{status.ansibleJobResult.status} job - {status.ansibleJobResult.url}'],
      'new|pending|waiting|running': [
        'Progressing',
        '{status.ansibleJobResult.status} job - {status.ansibleJobResult.url}',
      ],
    }),
    ['Progressing', 'Waiting for AnsibleJob'],
  ),
];
