import { isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import type { HealthStatus } from '#model';
import { absent, all, check, field, kindsOf, not, outcome, pattern, present, truthy, unlisted } from './rules/check.ts';
import type { CodeRule, HealthRule } from './rules/check.ts';
import {
  accepted,
  ancestorPolicy,
  gatewayClass,
  listeners,
  listenerSet,
  referencePolicy,
  route,
  tlsRoute,
} from './gateway-api.ts';
import { scalarText } from './rules/view.ts';

/** Contour counts conditions of the current generation only. */
const contour = (valid: string, includes: boolean): CodeRule => ({
  description: `of the conditions of this generation: Healthy when Valid is True, Degraded when it is False${includes ? '; a proxy with includes is Healthy instead' : ''}`,
  evaluate: (view) => {
    const text = (message: string): string => (valid === '' ? message : view.text(valid));
    let found: HealthStatus | undefined;
    for (const item of view.conditions) {
      if ((item.fields['observedGeneration'] ?? null) !== view.get(['metadata', 'generation'])) continue;
      if (item.type === 'Valid' && item.status === 'True') return outcome('Healthy', text(item.message));
      if (includes && view.has('spec.includes') && item.status === 'False')
        found = outcome('Healthy', 'HTTPProxy inclusions cannot be health checked');
      else if (item.type === 'Valid' && item.status === 'False') return outcome('Degraded', text(item.message));
    }
    return found;
  },
});

/** Gloo: one status, or one for each namespace of a controller. */
function glooStatus(value: Json): HealthStatus | undefined {
  if (!isObject(value)) return undefined;
  const reason = scalarText(ownMember(value, 'reason'));
  switch (ownMember(value, 'state')) {
    case 'Accepted':
    case 1:
      return outcome('Healthy', 'The resource has been validated');
    case 'Warning':
    case 3:
    case 'Rejected':
    case 2:
      return outcome('Degraded', reason);
    case 'Pending':
    case 0:
      return outcome('Suspended', 'The resource has not yet been validated');
    default:
      return undefined;
  }
}

const gloo: CodeRule = {
  description:
    'Healthy when state is Accepted, Degraded when Warning or Rejected, Suspended when Pending; first by statuses, then by status',
  evaluate: (view) => {
    for (const [, value] of view.members('status.statuses')) {
      const found = glooStatus(value);
      if (found !== undefined) return found;
    }
    return glooStatus(view.get(['status']));
  },
};

/** OpenShift: every router that serves the route must have admitted it. */
const admitted: CodeRule = {
  description: 'Healthy when as many routers admitted it as are listed, Degraded when one refused it',
  evaluate: (view) => {
    if (!view.has('status.ingress')) return undefined;
    const conditions = view.list('status.ingress').flatMap((item) => listOf(ownMember(item, 'conditions')));
    const count = (status: string): number =>
      conditions.filter((item) => item['type'] === 'Admitted' && item['status'] === status).length;
    if (count('True') === view.count('status.ingress')) return outcome('Healthy', 'Route is healthy');
    return count('False') > 0 ? outcome('Degraded', 'Route is degraded') : undefined;
  },
};

function listOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonObject[]).filter((item) => typeof item === 'object') : [];
}

/** The last condition of each type counts. */
const discoverable: CodeRule = {
  description:
    'Degraded when Adopted is False or it could not be advertised, Unknown when discovery failed, Healthy when Discoverable is True',
  evaluate: (view) => {
    const last = (type: string) => view.conditions.findLast((item) => item.type === type);
    const [adopted, advertised, discovered] = [last('Adopted'), last('Advertised'), last('Discoverable')];
    if (adopted?.status === 'False') return outcome('Degraded', adopted.message);
    if (advertised?.reason === 'AdvertiseError' || advertised?.reason === 'UnadvertiseError')
      return outcome('Degraded', advertised.message);
    if (discovered?.reason === 'DiscoveryError') return outcome('Unknown', discovered.message);
    return outcome(discovered?.status === 'True' ? 'Healthy' : 'Progressing', discovered?.message);
  },
};

const failedDomain: CodeRule = {
  description: 'Degraded when the status of a domain is FailedNotVisible',
  evaluate: (view) =>
    view.list('status.domainStatus').some((item) => item['status'] === 'FailedNotVisible')
      ? outcome('Degraded', 'At least one certificate has failed to be provisioned')
      : undefined,
};

const istio = (state: number, word: string, code: 'Unknown' | 'Progressing' | 'Healthy' | 'Degraded', text: string) =>
  [code, field('status.status', state, word), text] as const satisfies HealthRule;

/** Ingress traffic: the Gateway API and similar projects. */
export const gateway = [
  ...['GRPCRoute', 'HTTPRoute'].map((kind) =>
    check(`gateway.networking.k8s.io/${kind}`, [route], ['Progressing', `Waiting for ${kind} status`]),
  ),
  check('gateway.networking.k8s.io/TLSRoute', [tlsRoute], ['Progressing', 'Waiting for TLSRoute status']),
  check(
    'gateway.networking.k8s.io/ListenerSet',
    [unlisted(all(present('status'), absent('status.conditions')), 17), listenerSet],
    ['Progressing', 'Waiting for ListenerSet status'],
  ),
  check(
    'gateway.networking.k8s.io/BackendTLSPolicy',
    [ancestorPolicy({ strict: false })],
    ['Progressing', 'Waiting for {kind} status'],
  ),
  check('gateway.networking.k8s.io/Gateway', [listeners], ['Progressing', 'Waiting for Gateway status']),
  check('gateway.networking.k8s.io/GatewayClass', [gatewayClass], ['Progressing', 'Waiting for GatewayClass status']),
  ...['BackendTrafficPolicy', 'ClientTrafficPolicy', 'EnvoyExtensionPolicy', 'EnvoyPatchPolicy', 'SecurityPolicy'].map(
    (kind) => check(`gateway.envoyproxy.io/${kind}`, [referencePolicy], ['Progressing', `Waiting for ${kind} status`]),
  ),
  check('gateway.envoyproxy.io/Backend', [accepted], ['Progressing', 'Waiting for Backend status']),
  check(
    'microgateway.airlock.com/*',
    [['Healthy', not(pattern('kind', /Policy$/)), '{kind} is healthy'], ancestorPolicy({ strict: true })],
    ['Progressing', 'Waiting for {kind} status'],
  ),
  check(
    [
      ...kindsOf(
        'gateway.solo.io',
        'Gateway',
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
  check('projectcontour.io/ExtensionService', [contour('', false)], ['Progressing', 'Waiting for status']),
  check(
    'projectcontour.io/HTTPProxy',
    [
      contour('status.description', true),
      ['Progressing', all(absent('status.conditions'), truthy('status.currentStatus')), '{status.description}'],
    ],
    ['Progressing', 'Waiting for status'],
  ),
  check('route.openshift.io/Route', [admitted], ['Progressing', 'Route is still getting admitted']),
  check('proclaim.dogmatiq.io/DNSSDServiceInstance', [discoverable]),
  check(
    'networking.gke.io/ManagedCertificate',
    [failedDomain, ['Healthy', field('status.certificateStatus', 'Active'), 'All certificates are active']],
    ['Progressing', 'At least one certificate is still being provisioned'],
  ),
  check(
    'install.istio.io/IstioOperator',
    [
      istio(0, 'NONE', 'Unknown', 'Component is not present.'),
      istio(1, 'UPDATING', 'Progressing', 'Component is being updated to a different version.'),
      istio(
        2,
        'RECONCILING',
        'Progressing',
        'Controller has started but not yet completed reconciliation loop for the component.',
      ),
      istio(3, 'HEALTHY', 'Healthy', 'Component is healthy.'),
      istio(4, 'ERROR', 'Degraded', 'Component is in an error state.'),
    ],
    ['Progressing', 'Waiting for Istio Control Plane'],
  ),
];
