import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { isObject, parseYamlDocuments } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { parseSettings } from '#settings';
import { readArgs } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import { inWorld } from './effect-world.ts';
import { settingEffects } from './settings-effects.ts';

const usualConfig = readArgs(runOptions, [], {}).config;

/** Values that no key or field expects. */
const texts: Readonly<Record<string, string>> = {
  empty: '',
  'a list': '[1, {a: b}]',
  'a map': '{a: [b]}',
  'a number': '7',
  huge: 'x'.repeat(300_000),
  malformed: '{[: \u0000',
};

/** Keys whose values have a syntax; any text is a value of the others. */
const structured =
  /^(?:resource\.(?:exclusions|inclusions|compareoptions|customizations$|customizations\.(?:ignore|known|useOpen)|ignoreResourceUpdatesEnabled|respectRBAC)|globalProjects|application\.resourceTrackingMethod)/;

const keys = Object.keys(settingEffects);

describe('a bad value of a key of argocd-cm', () => {
  it.each(keys.flatMap((key) => Object.keys(texts).map((name) => [key, name] as const)))(
    '%s, %s: affects this key alone',
    (key, name) => {
      const good = { installationID: 'mine', 'resource.customLabels': 'team' };
      const { settings, problems } = parseSettings({ ...good, [key]: texts[name] ?? '' });
      if (key !== 'installationID') expect(settings.tracking.installationId).toBe('mine');
      if (key !== 'resource.customLabels') expect(settings.raw['resource.customLabels']).toBe('team');
      for (const { message } of problems) expect(message).toContain(key.split('.').slice(0, 2).join('.'));
      for (const { message } of problems) expect(message.length).toBeLessThan(70_000);
    },
  );

  it.each(keys.filter((key) => structured.test(key)))('%s, malformed: is reported with its name', (key) => {
    const { problems } = parseSettings({ [key]: '{[: ' });
    expect(problems.map(({ message }) => message).join()).toContain(key);
  });
});

/** Paths of the fields of `spec` in a CRD, with their types; lists by their first item. */
function fieldsOf(crd: 'application' | 'appproject'): readonly (readonly string[])[] {
  const path = join(import.meta.dirname, `../../manifests/crds/${crd}-crd.yaml`);
  const [document] = parseYamlDocuments(readFileSync(path, 'utf8'));
  const schema = at(document, ['spec', 'versions', '0', 'schema', 'openAPIV3Schema', 'properties', 'spec']);
  return walk(schema, [], 0);
}

function at(value: Json | undefined, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (found, key) => (found as Readonly<Record<string, Json>> | undefined)?.[key],
    value,
  );
}

function walk(schema: Json | undefined, path: readonly string[], depth: number): readonly (readonly string[])[] {
  if (!isObject(schema) || depth > 3) return [];
  const items = schema['items'];
  if (items !== undefined) return walk(items, [...path, '0'], depth);
  const properties = schema['properties'];
  const own = isObject(properties) ? Object.entries(properties) : [];
  return own.flatMap(([name, inner]) => [[...path, name], ...walk(inner, [...path, name], depth + 1)]);
}

const values: Readonly<Record<string, Json>> = {
  null: null,
  'a text': 'x',
  'an empty text': '',
  'a number': 7,
  'a list': [1],
  'a map': { a: 1 },
  'a boolean': true,
  huge: 'y'.repeat(20_000),
};

/** The object with another value at a path; lists are made where the path has a 0. */
function withValue(spec: Json | undefined, [head = '', ...rest]: readonly string[], value: Json): Json {
  const next = rest.length === 0 ? value : withValue(at(spec, [head]), rest, value);
  if (head === '0') return [next];
  return { ...(isObject(spec) ? spec : {}), [head]: next };
}

const batchesOf = <T>(all: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));

const healthy = async (change: (world: Parameters<Parameters<typeof inWorld>[1]>[0]['world']) => void): Promise<void> =>
  inWorld(usualConfig, async ({ world, start, pass }) => {
    world.project('good');
    world.application({ project: 'good' }, { metadata: { name: 'good', namespace: 'argocd' } });
    change(world);
    await start();
    await pass(20);
    expect(world.applicationOf('good').status?.sync?.status).toBe('OutOfSync');
    const bad = [...world.hub.objects.values()].filter(
      ({ kind, metadata }) => kind === 'Application' && metadata.name?.startsWith('bad') === true,
    );
    // Each bad one was compared, or has a condition that says why not.
    const silent = bad.filter((object) => {
      const { sync, conditions } = (object['status'] ?? {}) as {
        readonly sync?: { readonly status?: string };
        readonly conditions?: readonly unknown[];
      };
      return (sync?.status ?? '') === '' && (conditions?.length ?? 0) === 0;
    });
    expect(silent.map(({ metadata }) => metadata.annotations?.['case'])).toEqual([]);
  });

const applicationCases = fieldsOf('application').flatMap((path) =>
  Object.keys(values).map((name) => [path.join('.'), name, path] as const),
);
const projectCases = fieldsOf('appproject').flatMap((path) =>
  Object.keys(values).map((name) => [path.join('.'), name, path] as const),
);

describe('a bad value of a field', () => {
  it('has fields to test', () => {
    expect([applicationCases.length > 800, projectCases.length > 200]).toEqual([true, true]);
  });

  it.each(batchesOf(applicationCases, 80).map((batch) => [batch[0]?.[0] ?? '', batch] as const))(
    'of an Application, from %s on: the others go on, and no bad one is silent',
    async (_first, batch) => {
      await healthy((world) => {
        batch.forEach(([where, name, path], i) => {
          world.application({ project: 'good' }, { metadata: { name: `bad-${i}`, namespace: 'argocd' } });
          const object = world.applicationOf(`bad-${i}`) as unknown as KubeObject;
          const annotations = { case: `${where}: ${name}` };
          const spec = withValue(object['spec'] as Json, path, values[name] ?? null);
          world.hub.put({ ...object, metadata: { ...object.metadata, annotations }, spec });
        });
      });
    },
    60_000,
  );

  it.each(batchesOf(projectCases, 80).map((batch) => [batch[0]?.[0] ?? '', batch] as const))(
    'of an AppProject, from %s on: the others go on, and no Application of it is silent',
    async (_first, batch) => {
      await healthy((world) => {
        batch.forEach(([where, name, path], i) => {
          world.project(`project-${i}`);
          const project = world.hub.get('AppProject', `project-${i}`);
          if (project === undefined) throw new Error('no project');
          world.hub.put({ ...project, spec: withValue(project['spec'] as Json, path, values[name] ?? null) });
          const annotations = { case: `${where}: ${name}` };
          world.application(
            { project: `project-${i}` },
            { metadata: { name: `bad-${i}`, namespace: 'argocd', annotations } },
          );
        });
      });
    },
    60_000,
  );
});
