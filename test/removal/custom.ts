import { readFileSync } from 'node:fs';
import { omit, parseYamlDocuments } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';

/** A custom kind of custom.yaml. */
interface CustomKind {
  readonly kind: string;
  readonly group: string;
  readonly version?: string;
  readonly cluster?: boolean;
  readonly status?: boolean;
  readonly schema: JsonObject;
  readonly top?: JsonObject;
  readonly spec: Json;
  readonly extra?: JsonObject;
}

const kinds = parseYamlDocuments(
  readFileSync(new URL('./custom.yaml', import.meta.url), 'utf8'),
)[0] as unknown as readonly CustomKind[];

/** The CustomResourceDefinitions of {@link customManifests}. */
export function customDefinitions(): readonly KubeObject[] {
  return kinds.map(({ kind, group, version = 'v1', cluster = false, status = false, schema, top = {} }) => {
    const [singular, plural] = [kind.toLowerCase(), `${kind.toLowerCase()}s`];
    const properties = { ...top, spec: schema, ...(status ? { status: { type: 'object' } } : {}) };
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}`, annotations: approved(group) },
      spec: {
        group,
        scope: cluster ? 'Cluster' : 'Namespaced',
        names: { kind, singular, plural, listKind: `${kind}List` },
        versions: [
          {
            name: version,
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties } },
            ...(status ? { subresources: { status: {} } } : {}),
          },
        ],
      },
    };
  });
}

/** API servers protect groups below k8s.io. */
function approved(group: string): Readonly<Record<string, string>> {
  return group.endsWith('.k8s.io') ? { 'api-approved.kubernetes.io': 'unapproved, a test' } : {};
}

/** One manifest of each custom kind, with every field set. */
export function customManifests(namespace: string): readonly KubeObject[] {
  return kinds.map(({ kind, group, version = 'v1', cluster = false, spec, extra = {} }) => {
    const metadata = {
      name: kind.toLowerCase(),
      namespace,
      labels: { app: 'a', tier: 'b' },
      annotations: { note: 'x' },
    };
    return {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: cluster ? omit(metadata, 'namespace') : metadata,
      ...extra,
      spec,
    };
  });
}
