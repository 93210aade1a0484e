import { newerTypes } from './newer-types.ts';
import { coreTypes } from './schema-data.ts';
import type { TypeSchema } from './schema.ts';

const quantity: TypeSchema = { form: 'scalar', kind: 'q', pointer: false };

/** All types that `knownTypeFields` may name (Argo CD: util/argo/normalizers, its known types). */
export const namedTypes: ReadonlyMap<string, TypeSchema> = new Map<string, TypeSchema>([
  ['core/Quantity', quantity],
  ['meta/v1/Duration', { form: 'scalar', kind: 'd', pointer: false }],
  ['core/v1/ResourceList', { form: 'map', items: quantity }],
  ...[...coreTypes.split(' '), ...Object.keys(newerTypes)].map((name): [string, TypeSchema] => [
    `core/v1/${name}`,
    { form: 'struct', name, pointer: true },
  ]),
]);
