import { ownMember } from '#base';
import type { HealthStatus } from '#model';
import { any, check, condition, empty, field, kindsOf, not, outcome, staleCondition } from './check.ts';
import type { HealthCheck, CodeRule, HealthRule } from './check.ts';
import { conditionsOf, scalarText } from './view.ts';
import type { StatusCondition, ObjectView } from './view.ts';

/** The conditions that one parent or ancestor reports about the object. */
interface ReferenceStatus {
  readonly name: string;
  readonly conditions: readonly StatusCondition[];
}

function referenceStatuses(view: ObjectView, path: string, ref: string): readonly ReferenceStatus[] {
  return view.list(path).map((item) => {
    const reference = ownMember(item, ref);
    const name =
      typeof reference === 'object' && reference !== null
        ? scalarText((reference as Record<string, never>)['name'])
        : '';
    return { name, conditions: conditionsOf(ownMember(item, 'conditions')) };
  });
}

function isStale(voice: ReferenceStatus, view: ObjectView): boolean {
  return voice.conditions.some(
    (item) => item.observedGeneration !== undefined && item.observedGeneration < (view.generation ?? 0),
  );
}

/**
 * Accepted or ResolvedRefs with status False is a user's mistake. Programmed with status False
 * means that the data plane has not caught up yet (Gateway API, GEP-1364).
 */
function conditionStatus(voice: ReferenceStatus, title: string): HealthStatus | undefined {
  const text = (item: StatusCondition): string =>
    `${title}${item.message === '' ? `Failed condition: ${item.type}` : item.message}`;
  const wrong = voice.conditions.find(
    (item) => ['Accepted', 'ResolvedRefs'].includes(item.type) && item.status === 'False',
  );
  if (wrong !== undefined) return outcome('Degraded', text(wrong));
  const waiting = voice.conditions.find((item) => item.type === 'Programmed' && item.status !== 'True');
  if (waiting !== undefined) return outcome('Progressing', text(waiting));
  const open = voice.conditions.find(
    (item) => ['Accepted', 'ResolvedRefs'].includes(item.type) && item.status === 'Unknown',
  );
  return open === undefined ? undefined : outcome('Progressing', text(open));
}

function worstStatus(found: readonly (HealthStatus | undefined)[]): HealthStatus | undefined {
  return found.find((item) => item?.status === 'Degraded') ?? found.find((item) => item !== undefined);
}

/**
 * Parents that a route no longer references keep their old conditions. Only conditions of the
 * current generation count, if there are any.
 */
const route: CodeRule = {
  description:
    'Degraded when a parent does not accept it or cannot resolve its references, Progressing while one is not programmed',
  evaluate: (view) => {
    const all = referenceStatuses(view, 'status.parents', 'parentRef').filter((voice) => voice.conditions.length > 0);
    const fresh = all.filter((voice) => !isStale(voice, view));
    if (fresh.length === 0) return undefined;
    return (
      worstStatus(fresh.map((voice) => conditionStatus(voice, `Parent ${voice.name}: `))) ??
      outcome('Healthy', `${view.kind} is healthy`)
    );
  },
};

const policy = (silent: 'Healthy' | 'Progressing'): CodeRule => ({
  description:
    'Progressing until every ancestor reports on this generation, Degraded when one does not accept it or cannot resolve its references',
  evaluate: (view) => {
    const all = referenceStatuses(view, 'status.ancestors', 'ancestorRef');
    if (all.length === 0 || (silent === 'Progressing' && all.some((voice) => voice.conditions.length === 0)))
      return undefined;
    const found = worstStatus(
      all.map((voice) => (isStale(voice, view) ? undefined : conditionStatus(voice, `Ancestor ${voice.name}: `))),
    );
    if (found?.status === 'Degraded') return found;
    const old = all.find((voice) => isStale(voice, view));
    if (old !== undefined)
      return outcome('Progressing', `Waiting for Ancestor ${old.name} to update ${view.kind} status`);
    return found ?? outcome('Healthy', `${view.kind} is healthy`);
  },
});

const listeners: CodeRule = {
  description: 'Degraded or Progressing by its own conditions and those of its listeners',
  evaluate: (view) => {
    const own: ReferenceStatus = { name: '', conditions: view.conditions };
    if (own.conditions.length === 0 || isStale(own, view)) return undefined;
    const each = view.list('status.listeners').map((item) => {
      const voice = { name: scalarText(item['name']), conditions: conditionsOf(item['conditions']) };
      return conditionStatus(voice, `Listener ${voice.name}: `);
    });
    return worstStatus([conditionStatus(own, ''), ...each]) ?? outcome('Healthy', 'Gateway is healthy');
  },
};

/**
 * Gloo writes one state, or one for each namespace that it runs in. Old versions write the state as
 * a number.
 */
const gloo: CodeRule = {
  description: 'Healthy when accepted, Suspended while pending, Degraded when rejected or with a warning',
  evaluate: (view) => {
    const states = view.has('status.statuses')
      ? view.members('status.statuses').map(([, item]) => item)
      : [view.get(['status'])];
    const found = states.map((item) => {
      const [state, reason] =
        typeof item === 'object' && item !== null && !Array.isArray(item)
          ? [
              scalarText((item as Record<string, never>)['state']),
              scalarText((item as Record<string, never>)['reason']),
            ]
          : ['', ''];
      return { state: glooStates.get(state), reason };
    });
    const of = (...states: string[]) => found.find((item) => item.state !== undefined && states.includes(item.state));
    const bad = of('Rejected', 'Warning');
    if (bad !== undefined) return outcome('Degraded', bad.reason);
    if (of('Pending') !== undefined) return outcome('Suspended', 'The resource has not yet been validated');
    return of('Accepted') === undefined ? undefined : outcome('Healthy', 'The resource has been validated');
  },
};
const glooStates: ReadonlyMap<string, string> = new Map(
  ['Pending', 'Accepted', 'Rejected', 'Warning'].flatMap((name, index) => [
    [name, name],
    [String(index), name],
  ]),
);

const contour = (...more: HealthRule[]): readonly HealthRule[] => [
  ['Progressing', staleCondition('Valid'), 'Waiting for status'],
  ['Healthy', condition('Valid'), '{@Valid.message}'],
  ['Degraded', condition('Valid', 'False'), '{@Valid.message}'],
  ...more,
];

const admitted: CodeRule = {
  description: 'Degraded when a router does not admit it, Progressing until all have admitted it',
  evaluate: (view) => {
    const answers = view.list('status.ingress').flatMap((item) => conditionsOf(item['conditions']));
    const own = answers.filter((item) => item.type === 'Admitted');
    if (own.some((item) => item.status === 'False')) return outcome('Degraded', 'Route is degraded');
    if (own.length === 0 || own.some((item) => item.status !== 'True')) return undefined;
    return outcome('Healthy', 'Route is healthy');
  },
};

const discoverable: readonly HealthRule[] = [
  ['Degraded', condition('Adopted', 'False'), '{@Adopted.message}'],
  ['Degraded', condition('Advertised', 'False', 'AdvertiseError', 'UnadvertiseError'), '{@Advertised.message}'],
  ['Healthy', condition('Discoverable'), '{@Discoverable.message}'],
  [
    'Progressing',
    condition('Discoverable', 'False', 'NegativeBrowseResult', 'NegativeLookupResult'),
    '{@Discoverable.message}',
  ],
  ['Degraded', condition('Discoverable', 'False'), '{@Discoverable.message}'],
];

const routes = (...kinds: string[]): readonly HealthCheck[] =>
  kinds.map((kind) =>
    check(`gateway.networking.k8s.io/${kind}`, [route], ['Progressing', `Waiting for ${kind} status`]),
  );

/** Ingress traffic: the Gateway API and similar projects. */
export const gateway = [
  ...routes('GRPCRoute', 'HTTPRoute', 'TCPRoute', 'TLSRoute', 'UDPRoute'),
  check(
    'gateway.networking.k8s.io/BackendTLSPolicy',
    [policy('Progressing')],
    ['Progressing', 'Waiting for {kind} status'],
  ),
  check('gateway.networking.k8s.io/Gateway', [listeners], ['Progressing', 'Waiting for Gateway status']),
  check(
    'gateway.networking.k8s.io/GatewayClass',
    [
      ['Progressing', staleCondition('Accepted'), 'Waiting for GatewayClass status'],
      ['Healthy', condition('Accepted'), '{@Accepted.message}'],
      ['Degraded', condition('Accepted', 'False'), '{@Accepted.message}'],
      ['Progressing', condition('Accepted', 'Unknown'), '{@Accepted.message}'],
    ],
    ['Progressing', 'Waiting for GatewayClass status'],
  ),
  check('microgateway.airlock.com/*', [policy('Healthy')], ['Progressing', 'Waiting for {kind} status']),
  check(
    [
      ...kindsOf(
        'gateway.solo.io',
        'Gateway',
        'HttpGateway',
        'MatchableHttpGateway',
        'RouteOption',
        'RouteTable',
        'VirtualHostOption',
        'VirtualService',
      ),
      ...kindsOf('gloo.solo.io', 'Proxy', 'Settings', 'Upstream', 'UpstreamGroup'),
    ],
    [gloo],
    ['Progressing', 'Update in progress'],
  ),
  check('projectcontour.io/ExtensionService', contour(), ['Progressing', 'Waiting for status']),
  check(
    'projectcontour.io/HTTPProxy',
    contour(
      ['Degraded', field('status.currentStatus', 'invalid', 'orphaned'), '{status.description}'],
      ['Healthy', field('status.currentStatus', 'valid'), '{status.description}'],
      [
        'Progressing',
        any(field('status.currentStatus', 'NotReconciled'), not(empty('status.description'))),
        '{status.description}',
      ],
    ),
    ['Progressing', 'Waiting for status'],
  ),
  check('route.openshift.io/Route', [admitted], ['Progressing', 'Route is still getting admitted']),
  check('proclaim.dogmatiq.io/DNSSDServiceInstance', discoverable, [
    'Progressing',
    'Waiting for the instance to be advertised',
  ]),
  check(
    'networking.gke.io/ManagedCertificate',
    [
      ['Healthy', field('status.certificateStatus', 'Active'), 'All certificates are active'],
      failedDomain(),
      [
        'Progressing',
        field('status.certificateStatus', 'Provisioning'),
        'At least one certificate is still being provisioned',
      ],
      ['Degraded', not(empty('status.certificateStatus')), 'At least one certificate has failed to be provisioned'],
    ],
    ['Progressing', 'At least one certificate is still being provisioned'],
  ),
  check(
    'install.istio.io/IstioOperator',
    [
      ['Healthy', field('status.status', 'HEALTHY'), 'Component is healthy.'],
      ['Degraded', field('status.status', 'ERROR'), 'Component is in an error state.'],
      ['Degraded', field('status.status', 'ACTION_REQUIRED'), 'Component needs an action of the user.'],
      ['Progressing', field('status.status', 'UPDATING'), 'Component is being updated to a different version.'],
      [
        'Progressing',
        field('status.status', 'RECONCILING'),
        'Controller has started but not yet completed reconciliation loop for the component.',
      ],
    ],
    ['Progressing', 'Waiting for Istio Control Plane'],
  ),
];

function failedDomain(): CodeRule {
  return {
    description: 'Degraded when a domain has failed',
    evaluate: (view) =>
      view.list('status.domainStatus').some((item) => scalarText(item['status']).startsWith('Failed'))
        ? outcome('Degraded', 'At least one certificate has failed to be provisioned')
        : undefined,
  };
}
