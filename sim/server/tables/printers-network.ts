import { valueAt, isObject } from '#base';
import type { KubeObject } from '#model';
import { fieldAt, itemsAt, objectItemsOf, stringOrEmpty, stringAt } from '../fields.ts';
import { joinedOrNone, selectorCell, textCell } from './printer.ts';
import type { KindPrinter } from './printer.ts';

/** Services, their endpoints, and the kinds that route to them. */
export const networkPrinters: Readonly<Record<string, KindPrinter>> = {
  '/Service': {
    columns: 'Name | Type | Cluster-IP | External-IP | Port(s) | Age | Selector*',
    cells: (object) => [
      stringAt(object, 'spec', 'type'),
      textCell(object, ['spec', 'clusterIP']),
      externalIp(object),
      servicePorts(object),
      selectorCell(fieldAt(object, 'spec', 'selector')),
    ],
  },
  '/Endpoints': { columns: 'Name | Endpoints | Age', cells: (object) => [endpointsCell(object)] },
  'discovery.k8s.io/EndpointSlice': {
    columns: 'Name | AddressType | Ports | Endpoints | Age',
    cells: (object) => [
      stringAt(object, 'addressType'),
      joinedOrNone(itemsAt(object, 'ports').map((port) => String(Number(port['port'] ?? 0)))),
      joinedOrNone(
        itemsAt(object, 'endpoints').flatMap(({ addresses }) =>
          Array.isArray(addresses) ? addresses.map(stringOrEmpty) : [],
        ),
      ),
    ],
  },
  'networking.k8s.io/Ingress': {
    columns: 'Name | Class | Hosts | Address | Ports | Age',
    cells: (object) => [
      textCell(object, ['spec', 'ingressClassName']),
      ingressHosts(object),
      balancerAddresses(object),
      itemsAt(object, 'spec', 'tls').length > 0 ? '80, 443' : '80',
    ],
  },
  'networking.k8s.io/IngressClass': {
    columns: 'Name | Controller | Parameters | Age',
    cells: (object) => {
      const parameters = fieldAt(object, 'spec', 'parameters');
      const kind = isObject(parameters)
        ? `${stringOrEmpty(parameters['kind'])}/${stringOrEmpty(parameters['name'])}`
        : '<none>';
      return [stringAt(object, 'spec', 'controller'), kind];
    },
  },
  'networking.k8s.io/NetworkPolicy': {
    columns: 'Name | Pod-Selector | Age',
    cells: (object) => [selectorCell(fieldAt(object, 'spec', 'podSelector'))],
  },
};

function balancerAddresses(object: KubeObject): string {
  const entries = itemsAt(object, 'status', 'loadBalancer', 'ingress');
  return entries.map((entry) => stringOrEmpty(entry['ip']) || stringOrEmpty(entry['hostname'])).join(',');
}

function externalIp(service: KubeObject): string {
  const external = fieldAt(service, 'spec', 'externalIPs');
  const own = Array.isArray(external) ? external.map(stringOrEmpty) : [];
  switch (stringAt(service, 'spec', 'type')) {
    case 'ExternalName':
      return stringAt(service, 'spec', 'externalName');
    case 'LoadBalancer': {
      const given = balancerAddresses(service);
      const all = [...(given === '' ? [] : [given]), ...own];
      return all.length === 0 ? '<pending>' : all.join(',');
    }
    default:
      return joinedOrNone(own);
  }
}

function servicePorts(service: KubeObject): string {
  return joinedOrNone(
    itemsAt(service, 'spec', 'ports').map((port) => {
      const node = port['nodePort'] === undefined ? '' : `:${Number(port['nodePort'])}`;
      return `${Number(port['port'] ?? 0)}${node}/${stringOrEmpty(port['protocol']) || 'TCP'}`;
    }),
  );
}

function endpointsCell(object: KubeObject): string {
  const all = itemsAt(object, 'subsets').flatMap((subset) =>
    objectItemsOf(subset['addresses']).flatMap((address) =>
      objectItemsOf(subset['ports']).map((port) => `${stringOrEmpty(address['ip'])}:${Number(port['port'] ?? 0)}`),
    ),
  );
  return all.length > 3 ? `${all.slice(0, 3).join(',')} + ${all.length - 3} more...` : joinedOrNone(all);
}

function ingressHosts(ingress: KubeObject): string {
  const hosts = itemsAt(ingress, 'spec', 'rules')
    .map((rule) => stringOrEmpty(valueAt(rule, 'host')))
    .filter((host) => host !== '');
  return hosts.length > 3 ? `${hosts.slice(0, 3).join(',')} + ${hosts.length - 3} more...` : hosts.join(',') || '*';
}
