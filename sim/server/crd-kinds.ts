import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { field, items, str, text, withField } from './fields.ts';
import { shelfOf } from './registry.ts';
import type { ServedKind } from './registry.ts';

const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

/** The kinds that a definition serves, one per served version. */
export function kindsOf(crd: KubeObject): readonly ServedKind[] {
  const group = text(crd, 'spec', 'group');
  const names = (field(crd, 'spec', 'names') ?? {}) as JsonObject;
  const kind = str(names['kind']);
  const versions = items(crd, 'spec', 'versions');
  const storageVersion = str(versions.find((version) => version['storage'] === true)?.['name']);
  const strings = (value: Json | undefined): string[] => (Array.isArray(value) ? value.map(str) : []);
  return versions
    .filter((version) => version['served'] === true)
    .map((version) => ({
      group,
      version: str(version['name']),
      kind,
      listKind: str(names['listKind']) || `${kind}List`,
      resource: str(names['plural']),
      singular: str(names['singular']) || kind.toLowerCase(),
      shortNames: strings(names['shortNames']),
      categories: strings(names['categories']),
      namespaced: text(crd, 'spec', 'scope') === 'Namespaced',
      verbs,
      custom: true,
      shelf: shelfOf(group, kind),
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
  const selectable = items({ apiVersion: '', kind: '', metadata: {}, ...version }, 'selectableFields');
  const selector = scale === undefined ? '' : str(scale['labelSelectorPath']);
  return {
    statusSubresource: isObject(parts['status']),
    ...(scale === undefined
      ? {}
      : {
          scaleSubresource: {
            specReplicasPath: str(scale['specReplicasPath']),
            statusReplicasPath: str(scale['statusReplicasPath']),
            ...(selector === '' ? {} : { labelSelectorPath: selector }),
          },
        }),
    ...(isObject(schema) ? { schema: schema } : {}),
    ...(Array.isArray(columns) ? { printerColumns: columns } : {}),
    ...(selectable.length === 0
      ? {}
      : { selectable: selectable.map((one) => str(one['jsonPath']).replace(/^\./, '')) }),
    ...(version['deprecated'] === true ? { deprecation: str(version['deprecationWarning']) } : {}),
  };
}

/** A definition with the names and the conversion that follow from the others. */
export function completeCrd(object: KubeObject): KubeObject {
  const spec = (field(object, 'spec') ?? {}) as JsonObject;
  const names = isObject(spec['names']) ? spec['names'] : {};
  const kind = str(names['kind']);
  const filled = {
    ...spec,
    conversion: spec['conversion'] ?? { strategy: 'None' },
    names: {
      ...names,
      listKind: str(names['listKind']) || `${kind}List`,
      singular: str(names['singular']) || kind.toLowerCase(),
    },
  };
  return { ...object, spec: filled };
}

/** The status of a new definition. */
export function prepareCrd(object: KubeObject, old: KubeObject | undefined): KubeObject {
  if (old !== undefined) return object;
  const storage = items(object, 'spec', 'versions').find((version) => version['storage'] === true);
  const status = {
    acceptedNames: { kind: '', plural: '' },
    conditions: null,
    storedVersions: [str(storage?.['name'])],
  };
  return withField(object, 'status', status);
}
