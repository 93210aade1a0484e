import { valueAt, isObject, omit, parseGoBool } from '#base';
import type { Json, JsonObject } from '#base';
import { annotationOf } from '#model';
import type { KubeObject } from '#model';
import { listAt, objectAt, objectIn, textAt } from './pod-facts.ts';
import type { NetworkingInfo, TargetRef } from '../types.ts';

type MutableNetworkingInfo = { -readonly [K in keyof NetworkingInfo]: NetworkingInfo[K] };
type IngressAddress = NonNullable<NetworkingInfo['ingress']>[number];

/**
 * Addresses of an object and the targets of its traffic; undefined if there are none. Targets keep
 * the order of the object (in Argo CD it is random). Like Argo CD's controller/cache/info.go.
 */
export function networkingOf(object: KubeObject, group: string): NetworkingInfo | undefined {
  const made = readersByKind[`${group}/${object.kind}`]?.(object) ?? {};
  const links = linksOf(object);
  const urls = [...new Set([...links, ...(made.externalURLs ?? [])])];
  if (Object.keys(made).length === 0 && urls.length === 0) return undefined;
  return { ...omit(made, 'externalURLs'), ...(urls.length === 0 ? {} : { externalURLs: urls }) };
}

const readersByKind: Readonly<Record<string, (object: KubeObject) => MutableNetworkingInfo>> = {
  '/Service': service,
  '/Pod': (pod) => withLabels('labels', pod.metadata.labels),
  'extensions/Ingress': ingress,
  'networking.k8s.io/Ingress': ingress,
  'networking.istio.io/VirtualService': virtualService,
  'networking.istio.io/ServiceEntry': serviceEntry,
  'gateway.networking.k8s.io/Gateway': gateway,
  ...Object.fromEntries(
    ['HTTPRoute', 'GRPCRoute', 'TCPRoute', 'TLSRoute', 'UDPRoute'].map((kind) => [
      `gateway.networking.k8s.io/${kind}`,
      route,
    ]),
  ),
};

/** URLs of the link annotations; text before `|` is a title. Other values are ignored. */
function linksOf(object: KubeObject): readonly string[] {
  return Object.entries(object.metadata.annotations ?? {})
    .filter(([name, value]) => name.startsWith('link.argocd.argoproj.io/') && isWebAddress(value))
    .map(([, value]) => value);
}

function isWebAddress(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const url = value.slice(value.indexOf('|') + 1);
  return url === '' || (/^https?:/i.test(url) && URL.canParse(url));
}

function service(object: KubeObject): MutableNetworkingInfo {
  const spec = objectAt(object, 'spec');
  const balanced = textAt(spec, 'type') === 'LoadBalancer' ? loadBalancer(object) : [];
  return {
    ...withLabels('targetLabels', objectIn(spec, 'selector')),
    ...(balanced.length === 0 ? {} : { ingress: balanced }),
  };
}

function ingress(object: KubeObject): MutableNetworkingInfo {
  const spec = objectAt(object, 'spec');
  const namespace = object.metadata.namespace ?? '';
  const paths = listAt(spec, 'rules').flatMap((rule) => listAt(objectAt(rule, 'http'), 'paths'));
  const backends = [objectIn(spec, 'backend'), ...paths.map((path) => objectIn(path, 'backend'))];
  const names = backends.map(
    (backend) => textAt(backend, 'serviceName') || textAt(objectAt(backend, 'service'), 'name'),
  );
  const targets = names.filter((name) => name !== '').map((name) => serviceRef(namespace, name));
  const balanced = loadBalancer(object);
  const urls = ignoresDefaultLinks(object) ? [] : ingressUrls(spec, balanced);
  return {
    ...withTargets(targets),
    ...(balanced.length === 0 ? {} : { ingress: balanced }),
    ...(urls.length === 0 ? {} : { externalURLs: urls }),
  };
}

function ingressUrls(spec: JsonObject, balanced: readonly IngressAddress[]): readonly string[] {
  const [first] = balanced;
  const secure = listAt(spec, 'tls');
  const urls = listAt(spec, 'rules').flatMap((rule) => {
    const host = textAt(rule, 'host') || (first?.hostname ?? first?.ip ?? '');
    if (host === '') return [];
    const tls = secure.some(
      (entry) =>
        textAt(entry, 'secretName') !== '' || textAt(entry, 'host') === host || listAt(entry, 'hosts').includes(host),
    );
    return listAt(objectAt(rule, 'http'), 'paths').map((path) => {
      const end = textAt(path, 'path').replace(/\*$/, '');
      return `${tls ? 'https' : 'http'}://${host}${end}`;
    });
  });
  return urls.filter((url) => URL.canParse(url));
}

function virtualService(object: KubeObject): MutableNetworkingInfo {
  const hosts = listAt(objectAt(object, 'spec'), 'http').flatMap((http) =>
    listAt(http, 'route').map((way) => textAt(objectAt(way, 'destination'), 'host')),
  );
  const targets = hosts
    .filter((host) => host !== '')
    .map((host) => {
      const [name = '', namespace = object.metadata.namespace ?? ''] = host.split('.');
      return serviceRef(namespace, name);
    });
  return withTargets(targets);
}

function serviceEntry(object: KubeObject): MutableNetworkingInfo {
  const selector = objectIn(objectAt(objectAt(object, 'spec'), 'workloadSelector'), 'labels');
  const made = withLabels('targetLabels', selector);
  return made.targetLabels === undefined ? {} : { ...made, targetRefs: [{ kind: 'Pod', name: '' }] };
}

function route(object: KubeObject): MutableNetworkingInfo {
  const spec = objectAt(object, 'spec');
  const namespace = object.metadata.namespace ?? '';
  const backends = listAt(spec, 'rules').flatMap((rule) => listAt(rule, 'backendRefs'));
  const targets = [
    ...listAt(spec, 'parentRefs').map((ref) =>
      refOf(ref, { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace }),
    ),
    ...backends.map((ref) => refOf(ref, { group: '', kind: 'Service', namespace })),
  ];
  return withTargets(targets.filter(({ name }) => name !== ''));
}

function gateway(object: KubeObject): MutableNetworkingInfo {
  const addresses = listAt(objectAt(object, 'status'), 'addresses').flatMap((entry): IngressAddress[] => {
    const [type, value] = [textAt(entry, 'type'), textAt(entry, 'value')];
    if (value === '') return [];
    if (type === 'Hostname') return [{ hostname: value }];
    return type === 'IPAddress' || type === '' ? [{ ip: value }] : [];
  });
  const urls = ignoresDefaultLinks(object)
    ? []
    : listAt(objectAt(object, 'spec'), 'listeners').flatMap((listener) => listenerUrls(listener, addresses));
  return {
    ...(addresses.length === 0 ? {} : { ingress: addresses }),
    ...(urls.length === 0 ? {} : { externalURLs: urls }),
  };
}

function listenerUrls(listener: Json, addresses: readonly IngressAddress[]): readonly string[] {
  const scheme = ['HTTPS', 'TLS'].includes(textAt(listener, 'protocol')) ? 'https' : 'http';
  const hostname = textAt(listener, 'hostname');
  const own = hostname !== '' && hostname !== '*';
  const hosts = own ? [hostname] : addresses.map((address) => address.hostname ?? address.ip ?? '');
  const port = valueAt(listener, 'port');
  const usual = port === (scheme === 'https' ? 443 : 80) || typeof port !== 'number';
  return hosts.filter((host) => host !== '').map((host) => `${scheme}://${host}${usual ? '' : `:${port}`}`);
}

/** Prefers the hostname to the IP address. */
function loadBalancer(object: KubeObject): readonly IngressAddress[] {
  return listAt(objectAt(objectAt(object, 'status'), 'loadBalancer'), 'ingress').flatMap((entry): IngressAddress[] => {
    const [hostname, ip] = [textAt(entry, 'hostname'), textAt(entry, 'ip')];
    if (hostname !== '') return [{ hostname }];
    return ip === '' ? [] : [{ ip }];
  });
}

function ignoresDefaultLinks(object: KubeObject): boolean {
  return parseGoBool(annotationOf(object, 'argocd.argoproj.io/ignore-default-links')) === true;
}

function serviceRef(namespace: string, name: string): TargetRef {
  return { kind: 'Service', namespace, name };
}

function refOf(
  ref: Json,
  usual: { readonly group: string; readonly kind: string; readonly namespace: string },
): TargetRef {
  const group = textAt(ref, 'group') || usual.group;
  return {
    ...(group === '' ? {} : { group }),
    kind: textAt(ref, 'kind') || usual.kind,
    namespace: textAt(ref, 'namespace') || usual.namespace,
    name: textAt(ref, 'name'),
  };
}

/** Removes duplicate targets. */
function withTargets(targets: readonly TargetRef[]): MutableNetworkingInfo {
  const unique = new Map(targets.map((target) => [JSON.stringify(target), target]));
  return unique.size === 0 ? {} : { targetRefs: [...unique.values()] };
}

/** Copies string values; a malformed map may have others. */
function withLabels(name: 'labels' | 'targetLabels', values: unknown): MutableNetworkingInfo {
  if (!isObject(values)) return {};
  const texts = Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return texts.length === 0 ? {} : { [name]: Object.fromEntries(texts) };
}
