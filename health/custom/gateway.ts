import { own } from '#base';
import type { HealthStatus } from '#model';
import { any, check, condition, empty, field, kindsOf, not, outcome, staleCondition } from './form.ts';
import type { Check, CodeRule, Rule } from './form.ts';
import { conditionsOf, textOf } from './view.ts';
import type { Condition, View } from './view.ts';

/** One parent or ancestor with what it says of the object. */
interface Voice {
  readonly name: string;
  readonly conditions: readonly Condition[];
}

function voices(view: View, path: string, ref: string): readonly Voice[] {
  return view.list(path).map((item) => {
    const reference = own(item, ref);
    const name =
      typeof reference === 'object' && reference !== null ? textOf((reference as Record<string, never>)['name']) : '';
    return { name, conditions: conditionsOf(own(item, 'conditions')) };
  });
}

function isStale(voice: Voice, view: View): boolean {
  return voice.conditions.some(
    (item) => item.observedGeneration !== undefined && item.observedGeneration < (view.generation ?? 0),
  );
}

/**
 * Accepted and ResolvedRefs that are False are mistakes of the user; Programmed that is False says that the data plane is not there yet
 * (Gateway API, GEP-1364).
 */
function verdict(voice: Voice, title: string): HealthStatus | undefined {
  const text = (item: Condition): string =>
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

function worst(found: readonly (HealthStatus | undefined)[]): HealthStatus | undefined {
  return found.find((item) => item?.status === 'Degraded') ?? found.find((item) => item !== undefined);
}

/** Parents that a route no longer names keep their old conditions: only those of this generation count, if there are any. */
const route: CodeRule = {
  says: 'Degraded when a parent does not accept it or cannot resolve its references, Progressing while one is not programmed',
  judge: (view) => {
    const all = voices(view, 'status.parents', 'parentRef').filter((voice) => voice.conditions.length > 0);
    const fresh = all.filter((voice) => !isStale(voice, view));
    if (fresh.length === 0) return undefined;
    return (
      worst(fresh.map((voice) => verdict(voice, `Parent ${voice.name}: `))) ??
      outcome('Healthy', `${view.kind} is healthy`)
    );
  },
};

const policy = (silent: 'Healthy' | 'Progressing'): CodeRule => ({
  says: 'Progressing until every ancestor speaks of this generation, Degraded when one does not accept it or cannot resolve its references',
  judge: (view) => {
    const all = voices(view, 'status.ancestors', 'ancestorRef');
    if (all.length === 0 || (silent === 'Progressing' && all.some((voice) => voice.conditions.length === 0)))
      return undefined;
    const found = worst(
      all.map((voice) => (isStale(voice, view) ? undefined : verdict(voice, `Ancestor ${voice.name}: `))),
    );
    if (found?.status === 'Degraded') return found;
    const old = all.find((voice) => isStale(voice, view));
    if (old !== undefined)
      return outcome('Progressing', `Waiting for Ancestor ${old.name} to update ${view.kind} status`);
    return found ?? outcome('Healthy', `${view.kind} is healthy`);
  },
});

const listeners: CodeRule = {
  says: 'the same for its own conditions and for those of its listeners',
  judge: (view) => {
    const own: Voice = { name: '', conditions: view.conditions };
    if (own.conditions.length === 0 || isStale(own, view)) return undefined;
    const each = view.list('status.listeners').map((item) => {
      const voice = { name: textOf(item['name']), conditions: conditionsOf(item['conditions']) };
      return verdict(voice, `Listener ${voice.name}: `);
    });
    return worst([verdict(own, ''), ...each]) ?? outcome('Healthy', 'Gateway is healthy');
  },
};

/** Gloo writes one state, or one for each namespace that it runs in; the state is a word, or a number in old versions. */
const gloo: CodeRule = {
  says: 'Healthy when accepted, Suspended while pending, Degraded when rejected or with a warning',
  judge: (view) => {
    const states = view.has('status.statuses')
      ? view.members('status.statuses').map(([, item]) => item)
      : [view.get(['status'])];
    const found = states.map((item) => {
      const [state, reason] =
        typeof item === 'object' && item !== null && !Array.isArray(item)
          ? [textOf((item as Record<string, never>)['state']), textOf((item as Record<string, never>)['reason'])]
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

const contour = (...more: Rule[]): readonly Rule[] => [
  ['Progressing', staleCondition('Valid'), 'Waiting for status'],
  ['Healthy', condition('Valid'), '{@Valid.message}'],
  ['Degraded', condition('Valid', 'False'), '{@Valid.message}'],
  ...more,
];

const admitted: CodeRule = {
  says: 'Degraded when a router does not admit it, Progressing until all have answered',
  judge: (view) => {
    const answers = view.list('status.ingress').flatMap((item) => conditionsOf(item['conditions']));
    const own = answers.filter((item) => item.type === 'Admitted');
    if (own.some((item) => item.status === 'False')) return outcome('Degraded', 'Route is degraded');
    if (own.length === 0 || own.some((item) => item.status !== 'True')) return undefined;
    return outcome('Healthy', 'Route is healthy');
  },
};

const discoverable: readonly Rule[] = [
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

const routes = (...kinds: string[]): readonly Check[] =>
  kinds.map((kind) =>
    check(`gateway.networking.k8s.io/${kind}`, [route], ['Progressing', `Waiting for ${kind} status`]),
  );

/** How traffic comes in: the Gateway API and its cousins. */
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
    says: 'Degraded when a domain has failed',
    judge: (view) =>
      view.list('status.domainStatus').some((item) => textOf(item['status']).startsWith('Failed'))
        ? outcome('Degraded', 'At least one certificate has failed to be provisioned')
        : undefined,
  };
}
