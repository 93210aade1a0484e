import { at, isObject } from '#base';
import type { KubeObject } from '#model';
import { field, items, itemsOf, str, text } from './fields.ts';
import { joined, selectorCell, textCell } from './printer.ts';
import type { Printer } from './printer.ts';

/** Services, their endpoints, and what leads to them. */
export const networkPrinters: Readonly<Record<string, Printer>> = {
  '/Service': {
    columns: 'Name | Type | Cluster-IP | External-IP | Port(s) | Age | Selector*',
    cells: (object) => [
      text(object, 'spec', 'type'),
      textCell(object, ['spec', 'clusterIP']),
      externalIp(object),
      servicePorts(object),
      selectorCell(field(object, 'spec', 'selector')),
    ],
  },
  '/Endpoints': { columns: 'Name | Endpoints | Age', cells: (object) => [endpoints(object)] },
  'discovery.k8s.io/EndpointSlice': {
    columns: 'Name | AddressType | Ports | Endpoints | Age',
    cells: (object) => [
      text(object, 'addressType'),
      joined(items(object, 'ports').map((port) => String(Number(port['port'] ?? 0)))),
      joined(
        items(object, 'endpoints').flatMap(({ addresses }) => (Array.isArray(addresses) ? addresses.map(str) : [])),
      ),
    ],
  },
  'networking.k8s.io/Ingress': {
    columns: 'Name | Class | Hosts | Address | Ports | Age',
    cells: (object) => [
      textCell(object, ['spec', 'ingressClassName']),
      ingressHosts(object),
      balancerAddresses(object),
      items(object, 'spec', 'tls').length > 0 ? '80, 443' : '80',
    ],
  },
  'networking.k8s.io/IngressClass': {
    columns: 'Name | Controller | Parameters | Age',
    cells: (object) => {
      const parameters = field(object, 'spec', 'parameters');
      const kind = isObject(parameters) ? `${str(parameters['kind'])}/${str(parameters['name'])}` : '<none>';
      return [text(object, 'spec', 'controller'), kind];
    },
  },
  'networking.k8s.io/NetworkPolicy': {
    columns: 'Name | Pod-Selector | Age',
    cells: (object) => [selectorCell(field(object, 'spec', 'podSelector'))],
  },
};

function balancerAddresses(object: KubeObject): string {
  const entries = items(object, 'status', 'loadBalancer', 'ingress');
  return entries.map((entry) => str(entry['ip']) || str(entry['hostname'])).join(',');
}

function externalIp(service: KubeObject): string {
  const external = field(service, 'spec', 'externalIPs');
  const own = Array.isArray(external) ? external.map(str) : [];
  switch (text(service, 'spec', 'type')) {
    case 'ExternalName':
      return text(service, 'spec', 'externalName');
    case 'LoadBalancer': {
      const given = balancerAddresses(service);
      const all = [...(given === '' ? [] : [given]), ...own];
      return all.length === 0 ? '<pending>' : all.join(',');
    }
    default:
      return joined(own);
  }
}

function servicePorts(service: KubeObject): string {
  return joined(
    items(service, 'spec', 'ports').map((port) => {
      const node = port['nodePort'] === undefined ? '' : `:${Number(port['nodePort'])}`;
      return `${Number(port['port'] ?? 0)}${node}/${str(port['protocol']) || 'TCP'}`;
    }),
  );
}

function endpoints(object: KubeObject): string {
  const all = items(object, 'subsets').flatMap((subset) =>
    itemsOf(subset['addresses']).flatMap((address) =>
      itemsOf(subset['ports']).map((port) => `${str(address['ip'])}:${Number(port['port'] ?? 0)}`),
    ),
  );
  return all.length > 3 ? `${all.slice(0, 3).join(',')} + ${all.length - 3} more...` : joined(all);
}

function ingressHosts(ingress: KubeObject): string {
  const hosts = items(ingress, 'spec', 'rules')
    .map((rule) => str(at(rule, 'host')))
    .filter((host) => host !== '');
  return hosts.length > 3 ? `${hosts.slice(0, 3).join(',')} + ${hosts.length - 3} more...` : hosts.join(',') || '*';
}
