import { at, isObject, omit, parseGoBool } from '#base';
import type { Json, JsonObject } from '#base';
import { annotationOf } from '#model';
import type { KubeObject } from '#model';
import { listAt, objectAt, objectIn, textAt } from './pod.ts';
import type { NetworkingInfo, TargetRef } from './types.ts';

type Made = { -readonly [K in keyof NetworkingInfo]: NetworkingInfo[K] };
type Ingress = NonNullable<NetworkingInfo['ingress']>[number];

/**
 * How traffic reaches an object, what it sends it to, and its addresses for people; undefined where there is nothing of that. Targets are in
 * the order in which the object names them (Argo CD: in none). Source: Argo CD controller/cache/info.go.
 */
export function networkingOf(object: KubeObject, group: string): NetworkingInfo | undefined {
  const made = byKind[`${group}/${object.kind}`]?.(object) ?? {};
  const links = linksOf(object);
  const urls = [...new Set([...links, ...(made.externalURLs ?? [])])];
  if (Object.keys(made).length === 0 && urls.length === 0) return undefined;
  return { ...omit(made, 'externalURLs'), ...(urls.length === 0 ? {} : { externalURLs: urls }) };
}

const byKind: Readonly<Record<string, (object: KubeObject) => Made>> = {
  '/Service': service,
  '/Pod': (pod) => labelled('labels', pod.metadata.labels),
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

/** Links that people annotate. Only those with a web address; the text before `|` is their title. */
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

function service(object: KubeObject): Made {
  const spec = objectAt(object, 'spec');
  const balanced = textAt(spec, 'type') === 'LoadBalancer' ? loadBalancer(object) : [];
  return {
    ...labelled('targetLabels', objectIn(spec, 'selector')),
    ...(balanced.length === 0 ? {} : { ingress: balanced }),
  };
}

function ingress(object: KubeObject): Made {
  const spec = objectAt(object, 'spec');
  const namespace = object.metadata.namespace ?? '';
  const paths = listAt(spec, 'rules').flatMap((rule) => listAt(objectAt(rule, 'http'), 'paths'));
  const backends = [objectIn(spec, 'backend'), ...paths.map((path) => objectIn(path, 'backend'))];
  const names = backends.map(
    (backend) => textAt(backend, 'serviceName') || textAt(objectAt(backend, 'service'), 'name'),
  );
  const targets = names.filter((name) => name !== '').map((name) => serviceRef(namespace, name));
  const balanced = loadBalancer(object);
  const urls = ignoresLinks(object) ? [] : ingressUrls(spec, balanced);
  return {
    ...referring(targets),
    ...(balanced.length === 0 ? {} : { ingress: balanced }),
    ...(urls.length === 0 ? {} : { externalURLs: urls }),
  };
}

function ingressUrls(spec: JsonObject, balanced: readonly Ingress[]): readonly string[] {
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

function virtualService(object: KubeObject): Made {
  const hosts = listAt(objectAt(object, 'spec'), 'http').flatMap((http) =>
    listAt(http, 'route').map((way) => textAt(objectAt(way, 'destination'), 'host')),
  );
  const targets = hosts
    .filter((host) => host !== '')
    .map((host) => {
      const [name = '', namespace = object.metadata.namespace ?? ''] = host.split('.');
      return serviceRef(namespace, name);
    });
  return referring(targets);
}

function serviceEntry(object: KubeObject): Made {
  const selector = objectIn(objectAt(objectAt(object, 'spec'), 'workloadSelector'), 'labels');
  const made = labelled('targetLabels', selector);
  return made.targetLabels === undefined ? {} : { ...made, targetRefs: [{ kind: 'Pod', name: '' }] };
}

function route(object: KubeObject): Made {
  const spec = objectAt(object, 'spec');
  const namespace = object.metadata.namespace ?? '';
  const backends = listAt(spec, 'rules').flatMap((rule) => listAt(rule, 'backendRefs'));
  const targets = [
    ...listAt(spec, 'parentRefs').map((ref) =>
      refOf(ref, { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace }),
    ),
    ...backends.map((ref) => refOf(ref, { group: '', kind: 'Service', namespace })),
  ];
  return referring(targets.filter(({ name }) => name !== ''));
}

function gateway(object: KubeObject): Made {
  const addresses = listAt(objectAt(object, 'status'), 'addresses').flatMap((entry): Ingress[] => {
    const [type, value] = [textAt(entry, 'type'), textAt(entry, 'value')];
    if (value === '') return [];
    if (type === 'Hostname') return [{ hostname: value }];
    return type === 'IPAddress' || type === '' ? [{ ip: value }] : [];
  });
  const urls = ignoresLinks(object)
    ? []
    : listAt(objectAt(object, 'spec'), 'listeners').flatMap((listener) => listenerUrls(listener, addresses));
  return {
    ...(addresses.length === 0 ? {} : { ingress: addresses }),
    ...(urls.length === 0 ? {} : { externalURLs: urls }),
  };
}

function listenerUrls(listener: Json, addresses: readonly Ingress[]): readonly string[] {
  const scheme = ['HTTPS', 'TLS'].includes(textAt(listener, 'protocol')) ? 'https' : 'http';
  const hostname = textAt(listener, 'hostname');
  const own = hostname !== '' && hostname !== '*';
  const hosts = own ? [hostname] : addresses.map((address) => address.hostname ?? address.ip ?? '');
  const port = at(listener, 'port');
  const usual = port === (scheme === 'https' ? 443 : 80) || typeof port !== 'number';
  return hosts.filter((host) => host !== '').map((host) => `${scheme}://${host}${usual ? '' : `:${port}`}`);
}

/** The name rather than the number. */
function loadBalancer(object: KubeObject): readonly Ingress[] {
  return listAt(objectAt(objectAt(object, 'status'), 'loadBalancer'), 'ingress').flatMap((entry): Ingress[] => {
    const [hostname, ip] = [textAt(entry, 'hostname'), textAt(entry, 'ip')];
    if (hostname !== '') return [{ hostname }];
    return ip === '' ? [] : [{ ip }];
  });
}

function ignoresLinks(object: KubeObject): boolean {
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

/** Each target once. */
function referring(targets: readonly TargetRef[]): Made {
  const unique = new Map(targets.map((target) => [JSON.stringify(target), target]));
  return unique.size === 0 ? {} : { targetRefs: [...unique.values()] };
}

/** A map of texts; what else somebody put there is left out. */
function labelled(name: 'labels' | 'targetLabels', values: unknown): Made {
  if (!isObject(values)) return {};
  const texts = Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return texts.length === 0 ? {} : { [name]: Object.fromEntries(texts) };
}
