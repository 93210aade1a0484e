import { applyMergePatch } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import type { KindDefinition, OpenApiSchema, SchemaBook } from '../types.ts';

/** Objects for the tests of this folder, and ways to modify them. */

export function kindIn(book: SchemaBook, name: string, group?: string): KindDefinition {
  const kind = book.builtinKinds().find((one) => one.kind === name && (group === undefined || one.group === group));
  if (kind === undefined) throw new Error(`no kind ${name}`);
  return kind;
}

/** Applies a merge patch to an object, to describe an invalid variant. */
export function withChange(object: KubeObject, change: Json): KubeObject {
  return applyMergePatch(object as Json, change) as unknown as KubeObject;
}

const metadata = { name: 'x', namespace: 'default' };

export const deploymentSample: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata,
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'a' } },
    template: { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'a', image: 'nginx:1.25' }] } },
  },
};
export const podSample: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata,
  spec: { containers: [{ name: 'a', image: 'nginx:1.25' }] },
};
export const claimSample: KubeObject = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata,
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};

export const widgetSchema: OpenApiSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer', minimum: 1, maximum: 5 },
        nested: { type: 'object', default: {}, properties: { depth: { type: 'integer', default: 3 } } },
      },
    },
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
