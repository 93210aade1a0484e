import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject, ResourceIgnoreDifferences } from '#model';
import { readsOwnership } from '../comparison/apply-method.ts';
import { diffObjects } from '../comparison/diff.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { readOpenApi } from './open-api.ts';

const kube = (object: unknown): KubeObject => object as KubeObject;

function modified(
  target: KubeObject,
  live: KubeObject,
  ignoreDifferences: readonly ResourceIgnoreDifferences[],
): boolean {
  return diffObjects(target, live, { settings: defaultSettings, ignoreDifferences }).modified;
}

/** Reduces an object to its manifest. */
function manifest(object: KubeObject): KubeObject {
  const { name, annotations = {} } = object.metadata;
  return kube({ ...object, metadata: { name, annotations } });
}

describe('fields of a trusted manager', () => {
  it("are found by the kind's schema: list items by all keys, atomic maps as a whole", () => {
    const service = (ports: JsonObject, fields: JsonObject, selector: JsonObject = { app: 'a' }): KubeObject =>
      kube({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 's', managedFields: [{ manager: 'm', fieldsV1: { 'f:spec': fields } }] },
        spec: { ports: [ports], selector },
      });
    const trusted = [{ kind: 'Service', managedFieldsManagers: ['m'] }];
    const wanted = manifest(service({ port: 80, targetPort: 1 }, {}));
    const owned = { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:targetPort': {} } } };
    const other = (protocol: string): KubeObject => service({ port: 80, protocol, targetPort: 2 }, owned);
    expect(modified(wanted, other('TCP'), trusted)).toBe(false);
    expect(modified(wanted, other('UDP'), trusted)).toBe(true);
    const elsewhere = service({ port: 80, targetPort: 1 }, { 'f:selector': {} }, { app: 'b', tier: 'c' });
    expect(modified(wanted, elsewhere, trusted)).toBe(false);
  });

  it('do not include the content of a granular list or map that it owns', () => {
    const web = (fields: JsonObject, image: string, note: string): KubeObject =>
      kube({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web', annotations: { note }, managedFields: [{ manager: 'm', fieldsV1: fields }] },
        spec: { template: { spec: { containers: [{ name: 'web', image }] } } },
      });
    const trusted = [{ group: 'apps', kind: 'Deployment', managedFieldsManagers: ['m'] }];
    const containers = (items: JsonObject): JsonObject => ({
      'f:spec': { 'f:template': { 'f:spec': { 'f:containers': items } } },
    });
    const wanted = manifest(web({}, 'a:1', 'x'));
    expect(modified(wanted, web({}, 'a:1', 'x'), trusted)).toBe(false);
    for (const fields of [containers({}), containers({ 'k:{"name":"web"}': { '.': {} } })])
      expect(modified(wanted, web(fields, 'a:2', 'x'), trusted)).toBe(true);
    expect(modified(wanted, web({ 'f:metadata': { 'f:annotations': {} } }, 'a:1', 'y'), trusted)).toBe(true);
  });

  it('are found in a custom resource by the published schema and its key defaults', () => {
    const zones = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['id', 'zone'],
      items: { type: 'object', properties: { zone: { type: 'string', default: 'a' } } },
    };
    const kinds = [{ group: 'e.io', version: 'v1', kind: 'Widget' }];
    const spec = { type: 'object', properties: { zones } };
    const widget = { type: 'object', 'x-kubernetes-group-version-kind': kinds, properties: { spec } };
    const schemas = readOpenApi({ components: { schemas: { Widget: widget } } });
    const owned = { 'f:spec': { 'f:zones': { 'k:{"id":1,"zone":"a"}': { 'f:size': {} } } } };
    const object = (size: number, more: JsonObject = {}): KubeObject =>
      kube({
        apiVersion: 'e.io/v1',
        kind: 'Widget',
        metadata: { name: 'w', managedFields: [{ manager: 'm', fieldsV1: owned }] },
        spec: { zones: [{ id: 1, ...more, size }] },
      });
    const ignoreDifferences = [{ group: 'e.io', kind: 'Widget', managedFieldsManagers: ['m'] }];
    const trusting = { settings: defaultSettings, ignoreDifferences };
    const [target, live] = [manifest(object(1)), object(2, { zone: 'a' })];
    const sizes = (rules: DiffRules): readonly string[] => diffObjects(target, live, rules).paths;
    expect(sizes({ ...trusting, schemas })).toEqual([]);
    expect(sizes(trusting)).not.toEqual([]);
    expect([readsOwnership(target, trusting), readsOwnership(target, { ...trusting, ignoreDifferences: [] })]).toEqual([
      true,
      false,
    ]);
  });
});
