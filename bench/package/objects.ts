import type { KubeObject } from '#model';
import { widgetCrd } from '#support';

const namespace = 'shop';

function named(apiVersion: string, kind: string, name: string, content: object): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace, labels: { app: name } }, ...content };
}

const workload = (name: string): object => ({
  replicas: 2,
  selector: { matchLabels: { app: name } },
  template: {
    metadata: { labels: { app: name } },
    spec: {
      containers: [
        {
          name: 'main',
          image: `registry.example/${name}:1.0`,
          ports: [{ containerPort: 8080 }],
          env: [{ name: 'MODE', value: 'production' }],
          resources: { requests: { cpu: '100m', memory: '64Mi' } },
        },
      ],
    },
  },
});

const makers: readonly ((i: number) => KubeObject)[] = [
  (i) => named('v1', 'ConfigMap', `config-${i}`, { data: { 'app.yaml': `port: ${8000 + i}\n` } }),
  (i) => named('apps/v1', 'Deployment', `web-${i}`, { spec: workload(`web-${i}`) }),
  (i) => named('v1', 'Service', `web-${i}`, { spec: { selector: { app: `web-${i}` }, ports: [{ port: 80 }] } }),
  (i) => named('v1', 'ServiceAccount', `web-${i}`, {}),
  (i) => named('v1', 'Secret', `web-${i}`, { stringData: { password: `secret-${i}` } }),
  (i) =>
    named('rbac.authorization.k8s.io/v1', 'Role', `web-${i}`, {
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
    }),
];

/** A Namespace, definitions, their objects, and the usual kinds of a service: `count` in all. */
export function serviceObjects(count: number): readonly KubeObject[] {
  const groups = ['alpha', 'beta', 'gamma'].map((name) => `${name}.example.com`);
  const fixed = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...groups.map((group) => widgetCrd(group)),
    ...groups.map((group) => named(`${group}/v1`, 'Widget', 'main', { spec: { size: 3 } })),
  ];
  const rest = Array.from({ length: Math.max(0, count - fixed.length) }, (_, i) =>
    makers.flatMap((make, at) => (i % makers.length === at ? [make(i)] : [])),
  );
  return [...fixed, ...rest.flat()];
}

/** The same objects, one of them with another content. */
export function withOneChange(objects: readonly KubeObject[], value: number): readonly KubeObject[] {
  const at = objects.findIndex(({ kind }) => kind === 'ConfigMap');
  return objects.map((object, i) => (i === at ? { ...object, data: { 'app.yaml': `port: ${value}\n` } } : object));
}
