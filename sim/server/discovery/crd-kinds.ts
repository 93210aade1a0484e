import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { fieldAt, itemsAt, stringOrEmpty, stringAt, withField } from '../fields.ts';
import { groupKindOf } from './registry.ts';
import type { ServedKind } from './registry.ts';

const customVerbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

/** The kinds that a CustomResourceDefinition serves, one per served version. */
export function servedKindsOf(crd: KubeObject): readonly ServedKind[] {
  const group = stringAt(crd, 'spec', 'group');
  const names = (fieldAt(crd, 'spec', 'names') ?? {}) as JsonObject;
  const kind = stringOrEmpty(names['kind']);
  const versions = itemsAt(crd, 'spec', 'versions');
  const storageVersion = stringOrEmpty(versions.find((version) => version['storage'] === true)?.['name']);
  const strings = (value: Json | undefined): string[] => (Array.isArray(value) ? value.map(stringOrEmpty) : []);
  return versions
    .filter((version) => version['served'] === true)
    .map((version) => ({
      group,
      version: stringOrEmpty(version['name']),
      kind,
      listKind: stringOrEmpty(names['listKind']) || `${kind}List`,
      resource: stringOrEmpty(names['plural']),
      singular: stringOrEmpty(names['singular']) || kind.toLowerCase(),
      shortNames: strings(names['shortNames']),
      categories: strings(names['categories']),
      namespaced: stringAt(crd, 'spec', 'scope') === 'Namespaced',
      verbs: customVerbs,
      custom: true,
      groupKind: groupKindOf(group, kind),
      storageVersion,
      crd: crd.metadata.name ?? '',
      ...partsOf(version),
    }));
}

function partsOf(
  version: JsonObject,
): Pick<
  ServedKind,
  'statusSubresource' | 'scaleSubresource' | 'schema' | 'printerColumns' | 'selectable' | 'deprecation'
> {
  const parts = isObject(version['subresources']) ? version['subresources'] : {};
  const scale = isObject(parts['scale']) ? parts['scale'] : undefined;
  const schema = isObject(version['schema']) ? version['schema']['openAPIV3Schema'] : undefined;
  const columns = version['additionalPrinterColumns'];
  const selectable = itemsAt({ apiVersion: '', kind: '', metadata: {}, ...version }, 'selectableFields');
  const selector = scale === undefined ? '' : stringOrEmpty(scale['labelSelectorPath']);
  return {
    statusSubresource: isObject(parts['status']),
    ...(scale === undefined
      ? {}
      : {
          scaleSubresource: {
            specReplicasPath: stringOrEmpty(scale['specReplicasPath']),
            statusReplicasPath: stringOrEmpty(scale['statusReplicasPath']),
            ...(selector === '' ? {} : { labelSelectorPath: selector }),
          },
        }),
    ...(isObject(schema) ? { schema: schema } : {}),
    ...(Array.isArray(columns) ? { printerColumns: columns } : {}),
    ...(selectable.length === 0
      ? {}
      : { selectable: selectable.map((one) => stringOrEmpty(one['jsonPath']).replace(/^\./, '')) }),
    ...(version['deprecated'] === true ? { deprecation: stringOrEmpty(version['deprecationWarning']) } : {}),
  };
}

/** Sets the initial status of a new CustomResourceDefinition. */
export function prepareCrd(object: KubeObject, old: KubeObject | undefined): KubeObject {
  if (old !== undefined) return object;
  const storage = itemsAt(object, 'spec', 'versions').find((version) => version['storage'] === true);
  const status = {
    acceptedNames: { kind: '', plural: '' },
    conditions: null,
    storedVersions: [stringOrEmpty(storage?.['name'])],
  };
  return withField(object, 'status', status);
}
