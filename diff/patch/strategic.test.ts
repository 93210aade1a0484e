import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { schemaOf } from '../schema/schema.ts';
import { applyStrategic, strategicPatch } from './strategic.ts';

interface Vector {
  readonly original: JsonObject;
  readonly target: JsonObject;
  readonly live: JsonObject;
  readonly result: JsonObject;
}
const [, ...vectors] = readFileSync(new URL('../testdata/strategic.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Vector);

const deployment = schemaOf({ apiVersion: 'apps/v1', kind: 'Deployment' })!;
const service = schemaOf({ apiVersion: 'v1', kind: 'Service' })!;

describe('strategicPatch and applyStrategic', () => {
  it.each(vectors.map((vector, i) => [i, vector] as const))(
    'gives the same result as apimachinery, case %i',
    (_i, vector) => {
      const type = vector.target['kind'] === 'Service' ? service : deployment;
      const before = JSON.stringify(vector);
      const patch = strategicPatch(vector, type);
      const result = patch === undefined ? vector.live : applyStrategic(vector.live, patch, type);
      expect(withoutEmpty(result)).toEqual(withoutEmpty(vector.result));
      expect(JSON.stringify(vector)).toBe(before);
    },
  );

  it('writes the directives that the API server knows', () => {
    const spec = (containers: JsonObject[], finalizers: string[]): JsonObject => ({
      metadata: { name: 'd', finalizers },
      spec: { template: { spec: { containers } } },
    });
    const patch = strategicPatch(
      {
        original: spec([{ name: 'a' }, { name: 'gone' }], ['x', 'y']),
        target: spec([{ name: 'a', image: 'i:2' }], ['x']),
        live: spec([{ name: 'a', image: 'i:1' }, { name: 'gone' }, { name: 'injected' }], ['x', 'y', 'z']),
      },
      deployment,
    );
    expect(patch).toEqual({
      metadata: { '$deleteFromPrimitiveList/finalizers': ['y'], '$setElementOrder/finalizers': ['x'] },
      spec: {
        template: {
          spec: {
            containers: [
              { name: 'a', image: 'i:2' },
              { $patch: 'delete', name: 'gone' },
            ],
            '$setElementOrder/containers': [{ name: 'a' }],
          },
        },
      },
    });
  });

  it('distinguishes two ports with the same number and keeps their node ports', () => {
    const ports = (...list: JsonObject[]): JsonObject => ({ spec: { ports: list } });
    const target = ports({ name: 'udp', port: 53, protocol: 'UDP' }, { name: 'tcp', port: 53, targetPort: 'dns' });
    const live = ports(
      { name: 'udp', port: 53, protocol: 'UDP', nodePort: 30001 },
      { name: 'tcp', port: 53, protocol: 'TCP', nodePort: 30002 },
    );
    const patch = strategicPatch({ original: undefined, target, live }, service)!;
    expect(applyStrategic(live, patch, service)).toEqual(
      ports(
        { name: 'udp', port: 53, protocol: 'UDP', nodePort: 30001 },
        { name: 'tcp', port: 53, protocol: 'TCP', nodePort: 30002, targetPort: 'dns' },
      ),
    );
    expect(strategicPatch({ original: undefined, target: live, live }, service)).toBeUndefined();
  });
});

/**
 * Drops empty lists and maps, which equal absent ones for these types, and the nulls and directives
 * that upstream leaves in added items; the API server drops them too.
 */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => !isDeletion(item)).map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, withoutEmpty(member)] as const)
      .filter(([key, member]) => !key.startsWith('$') && member !== null && !(isEmpty(member) && key !== 'emptyDir')),
  );
}

function isDeletion(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as JsonObject)['$patch'] === 'delete';
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
