import { applyMergePatch } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import type { KindDefinition, OpenApiSchema, SchemaBook } from '../types.ts';

/** Valid objects for the tests of this folder, and ways to modify them. */

export function kindIn(book: SchemaBook, name: string, group?: string): KindDefinition {
  const kind = book.builtinKinds().find((one) => one.kind === name && (group === undefined || one.group === group));
  if (kind === undefined) throw new Error(`no kind ${name}`);
  return kind;
}

/** Applies a merge patch to an object, to describe an invalid variant. */
export function withChange(object: KubeObject, change: Json): KubeObject {
  return applyMergePatch(object as Json, change) as unknown as KubeObject;
}

const container = { name: 'a', image: 'nginx:1.25' };
const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [container] } };
const selector = { matchLabels: { app: 'a' } };
const metadata = { name: 'x', namespace: 'default' };

export const podSample: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [container] } };
export const deploymentSample: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata,
  spec: { replicas: 1, selector, template },
};
export const statefulSetSample: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata,
  spec: { serviceName: 's', selector, template },
};
export const daemonSetSample: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata,
  spec: { selector, template },
};
export const jobSample: KubeObject = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata,
  spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } } },
};
export const cronJobSample: KubeObject = {
  apiVersion: 'batch/v1',
  kind: 'CronJob',
  metadata,
  spec: { schedule: '*/5 * * * *', jobTemplate: { spec: jobSample['spec'] as Json } },
};
export const serviceSample: KubeObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata,
  spec: { selector: { app: 'a' }, ports: [{ port: 80 }] },
};
export const configMapSample: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: '1' } };
export const secretSample: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata, data: { a: 'MQ==' } };
export const claimSample: KubeObject = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata,
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};
export const volumeSample: KubeObject = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: 'x' },
  spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/d' } },
};
export const ingressSample: KubeObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata,
  spec: {
    rules: [
      {
        host: 'a.example',
        http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 's', port: { number: 80 } } } }] },
      },
    ],
  },
};
export const networkPolicySample: KubeObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata,
  spec: { podSelector: {} },
};
export const roleSample: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata,
  rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
};
export const roleBindingSample: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata,
  roleRef: { kind: 'Role', name: 'r' },
  subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }],
};
export const autoscalerSample: KubeObject = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata,
  spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' } },
};

/** A custom kind that covers most schema features. */
export const widgetSchema: OpenApiSchema = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 1, maximum: 5 },
        mode: { type: 'string', enum: ['A', 'B'], default: 'A' },
        name: { type: 'string', pattern: '^[a-z]+$', minLength: 2, maxLength: 4 },
        port: { 'x-kubernetes-int-or-string': true },
        when: { type: 'string', format: 'date-time' },
        maybe: { type: 'string', nullable: true },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        tags: { type: 'array', items: { type: 'string' }, maxItems: 2, 'x-kubernetes-list-type': 'set' },
        parts: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: { name: { type: 'string' }, weight: { type: 'integer', default: 7 } },
          },
        },
        template: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
        nested: { type: 'object', default: {}, properties: { depth: { type: 'integer', default: 3 } } },
      },
    },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};
export const widgetKind: KindDefinition = {
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  listKind: 'WidgetList',
  resource: 'widgets',
  singular: 'widget',
  shortNames: [],
  categories: [],
  namespaced: true,
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  statusSubresource: true,
  schema: widgetSchema,
  custom: true,
};
export const widgetSample: KubeObject = { apiVersion: 'example.com/v1', kind: 'Widget', metadata, spec: { size: 1 } };
