import { isObject, omit, ownMember, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import type { DiffResult } from '#diff';
import { annotations } from '#model';
import { failureOf, textOf } from '../area.ts';
import type { Area, Verdict } from '../area.ts';
import type { Draw } from '../draw.ts';
import { mutated, pathsIn, replaceAt, valueAtPath } from '../mutate.ts';
import type { JsonPath } from '../mutate.ts';
import type { Ask, OracleAnswer } from '../oracle.ts';
import { compareCase, compareDryRun } from './diff-case.ts';
import type { DiffCase } from './diff-case.ts';
import { explainDiff } from './diff-rows.ts';
import { customExamples, kindExamples, withItemKeys } from './manifests.ts';

const managers = ['argocd-controller', 'kubectl', 'other', 'kube-controller-manager'];

/** Manifests of real kinds, rarely custom ones. */
function manifest(draw: Draw): JsonObject {
  if (draw.chance(0.15)) return draw.pick(customExamples);
  const { raw, stored } = draw.pick(kindExamples);
  const object = draw.chance(0.8) ? raw : stored;
  return draw.chance(0.9) ? (withItemKeys(object) as JsonObject) : object;
}

function withMetadata(object: JsonObject, more: JsonObject): JsonObject {
  const before = object['metadata'];
  return { ...object, metadata: { ...(isObject(before) ? before : {}), ...more } };
}

function annotated(object: JsonObject, key: string, value: string): JsonObject {
  const metadata = object['metadata'];
  const before = isObject(metadata) ? metadata['annotations'] : undefined;
  return withMetadata(object, { annotations: { ...(isObject(before) ? before : {}), [key]: value } });
}

/** The live object: the manifest as the API server stores it, and changes by other managers. */
async function liveOf(applied: JsonObject, draw: Draw, ask: Ask): Promise<JsonObject | undefined> {
  const isCustom = customExamples.some(({ kind }) => kind === applied['kind']);
  let live = isCustom ? (mutated(applied, draw.below(3), draw) as JsonObject) : await applyAll(applied, draw, ask);
  if (live === undefined) return undefined;
  if (draw.chance(0.7))
    live = annotated(
      live,
      annotations.lastApplied,
      stringifyJson(draw.chance(0.1) ? mutated(applied, 1, draw) : applied),
    );
  live = withMetadata(live, {
    ...{ uid: 'u', resourceVersion: '1', creationTimestamp: '2024-01-01T00:00:00Z' },
  });
  return draw.chance(0.2) ? { ...live, status: draw.pick<Json>([{ phase: 'x' }, {}, { replicas: 1 }]) } : live;
}

/** The object after applies and updates of several managers, as Kubernetes' own code makes it. */
async function applyAll(applied: JsonObject, draw: Draw, ask: Ask): Promise<JsonObject | undefined> {
  const steps = [
    { manager: draw.pick(managers), update: draw.chance(0.6), object: applied },
    ...draw.some([0, 2], () => ({
      manager: draw.pick(managers),
      update: draw.chance(0.5),
      object: mutated(applied, draw.below(3), draw),
    })),
  ];
  const answer = await ask('apply', { live: null, applied: steps });
  return answer.kind === 'result' && isObject(answer.value) ? answer.value : undefined;
}

function formatPath(path: JsonPath): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function jqPath(path: JsonPath, draw: Draw): string {
  const steps = path.map((step) => {
    if (typeof step === 'number') return draw.pick([`[${step}]`, '[]', '[]?', '[0]', `[${step}:]`]);
    return /^[A-Za-z_]\w*$/.test(step) ? `.${step}${draw.chance(0.1) ? '?' : ''}` : `[${JSON.stringify(step)}]`;
  });
  const text = steps.join('');
  return text.startsWith('.') ? text : `.${text}`;
}

/** Paths without those that leave nothing to compare. */
function comparedPaths(object: Json): JsonPath[] {
  const paths = pathsIn(object).filter((path) => {
    const [first, second] = path;
    return first === 'metadata'
      ? ['labels', 'annotations', 'finalizers'].includes(String(second)) && !formatPath(path).endsWith('/annotations')
      : !['apiVersion', 'kind'].includes(String(first));
  });
  return paths.length === 0 ? [['spec']] : paths;
}

function ignoreRule(object: JsonObject, draw: Draw): JsonObject {
  const paths = comparedPaths(object);
  const path = (): JsonPath => (paths.length === 0 ? ['spec'] : draw.pick(paths));
  const [group, kind] = [groupOf(object), textOf(object['kind'])];
  const rule: Record<string, Json> = {
    group: draw.pick([group, group, group, '*', '', 'apps']),
    kind: draw.pick([kind, kind, kind, '*', `${kind.slice(0, 3)}*`, 'Other']),
  };
  if (draw.chance(0.15)) rule['name'] = draw.pick(['x', 'w', 'other']);
  if (draw.chance(0.1)) rule['namespace'] = draw.pick(['default', 'other']);
  if (draw.chance(0.6))
    rule['jsonPointers'] = draw.some([1, 2], () =>
      draw.chance(0.9) ? formatPath(path()) : draw.pick(['/', 'spec', '/spec/-', '/spec/01', '/nothing']),
    );
  if (draw.chance(0.4))
    rule['jqPathExpressions'] = draw.some([1, 2], () =>
      draw.chance(0.85) ? jqPath(path(), draw) : draw.pick(jqPrograms),
    );
  if (draw.chance(0.25))
    rule['managedFieldsManagers'] = draw.some([1, 2], () => draw.pick([...managers.slice(1), 'none']));
  return rule;
}

const jqPrograms = [
  '.spec.template.spec.containers[] | select(.name == "x") | .image',
  '.spec.template.spec.containers[]?.env[]?',
  '.metadata.labels | to_entries[]',
  '.data["k0"]',
  '.spec | select(.replicas > 1) | .replicas',
  '.. | .name?',
  '.metadata.annotations["a"]',
  '.spec.template.spec.initContainers[] | select(.name | test("^x"))',
  '.spec.ports[0:1]',
  'del(.spec)',
  '.spec.x.y.z',
];

export function groupOf(object: JsonObject): string {
  const [group = '', version] = textOf(object['apiVersion']).split('/');
  return version === undefined ? '' : group;
}

function configMap(object: JsonObject, draw: Draw): Record<string, string> {
  if (draw.chance(0.5)) return {};
  const group = groupOf(object);
  const key = group === '' ? textOf(object['kind']) : `${group}_${textOf(object['kind'])}`;
  const data: Record<string, string> = {};
  if (draw.chance(0.3))
    data['resource.compareoptions'] = draw.pick([
      'ignoreAggregatedRoles: true',
      'ignoreResourceStatusField: none',
      'ignoreResourceStatusField: crd',
      'ignoreResourceStatusField: off',
      'ignoreAggregatedRoles: true\nignoreResourceStatusField: all',
    ]);
  if (draw.chance(0.4))
    data['application.resourceTrackingMethod'] = draw.pick(['label', 'annotation', 'annotation+label']);
  if (draw.chance(0.3))
    data[`resource.customizations.ignoreDifferences.${draw.pick([key, key, 'all'])}`] = stringifyJson(
      omit(ignoreRule(object, draw), 'group', 'kind', 'name', 'namespace'),
    );
  if (draw.chance(0.15) && group !== '')
    data[`resource.customizations.knownTypeFields.${key}`] = stringifyJson([
      {
        field: draw.pick(['spec.template.spec', 'spec.template', 'spec']),
        type: draw.pick(['core/v1/PodSpec', 'core/v1/Container', 'core/Quantity', 'core/v1/ResourceList']),
      },
      ...draw.some([0, 1], () => ({
        field: draw.pick(['spec.cpu', 'spec.template.containers', 'spec.items']),
        type: draw.pick(['core/Quantity', 'core/v1/Container', 'core/v1/EnvVar', 'meta/v1/Duration']),
      })),
    ]);
  return data;
}

/** Live objects are in the namespace of their manifest: rendering fills it in. */
function inNamespace(object: JsonObject, draw: Draw): JsonObject {
  return draw.chance(0.8) ? withMetadata(object, { namespace: 'default' }) : object;
}

function tracked(object: JsonObject, draw: Draw): JsonObject {
  const id = `${draw.pick(['app', 'other'])}:${groupOf(object)}/${textOf(object['kind'])}:default/x`;
  const result = draw.chance(0.7) ? annotated(object, annotations.trackingId, id) : object;
  if (!draw.chance(0.4)) return result;
  const labels = isObject(result['metadata']) ? result['metadata']['labels'] : undefined;
  return withMetadata(result, { labels: { ...(isObject(labels) ? labels : {}), 'app.kubernetes.io/instance': 'app' } });
}

async function diffCase(draw: Draw, ask: Ask): Promise<DiffCase | undefined> {
  const base = manifest(draw);
  let applied = mutated(inNamespace(base, draw), draw.pick([0, 0, 1, 2]), draw) as JsonObject;
  if (draw.chance(0.3)) applied = tracked(applied, draw);
  let target: JsonObject | null = mutated(applied, draw.pick([0, 0, 0, 1, 1, 2]), draw) as JsonObject;
  if (draw.chance(0.05))
    target = annotated(
      target,
      'argocd.argoproj.io/ignore-differences',
      stringifyJson({ jsonPointers: [formatPath(draw.pick(comparedPaths(target)))] }),
    );
  let live: JsonObject | null | undefined = await liveOf(applied, draw, ask);
  if (live === undefined) return undefined;
  if (draw.chance(0.02)) [target, live] = draw.chance(0.5) ? [target, null] : [null, live];
  return {
    target,
    live,
    ignoreDifferences: draw.chance(0.4) ? draw.some([1, 2], () => ignoreRule(target ?? live ?? base, draw)) : [],
    configMap: configMap(base, draw),
  };
}

async function dryRunCase(draw: Draw, ask: Ask): Promise<Json | undefined> {
  const { raw } = draw.pick(kindExamples);
  const applied = mutated(withItemKeys(raw), draw.pick([0, 1, 2]), draw) as JsonObject;
  const live = await applyAll(applied, draw, ask);
  if (live === undefined) return undefined;
  const target = mutated(applied, draw.pick([0, 1, 1, 2]), draw) as JsonObject;
  const answer = await ask('apply', {
    live,
    applied: [{ manager: 'argocd-controller', update: false, object: target }],
  });
  if (answer.kind !== 'result' || !isObject(answer.value)) return undefined;
  const predicted = draw.chance(0.3) ? mutatedBelow(answer.value, draw) : answer.value;
  const ignoreDifferences = draw.chance(0.3) ? [ignoreRule(target, draw)] : [];
  return {
    target,
    live,
    predicted,
    includeMutations: draw.chance(0.2),
    ignoreDifferences,
    configMap: configMap(raw, draw),
  };
}

/** A random change by a mutating webhook. It does not change `managedFields`. */
function mutatedBelow(object: JsonObject, draw: Draw): JsonObject {
  const fields = valueAtPath(object, ['metadata', 'managedFields']);
  const changed = mutated(object, 1, draw);
  return replaceAt(changed, ['metadata', 'managedFields'], fields) as JsonObject;
}

function verdictOf(result: DiffResult, answer: OracleAnswer): Verdict {
  const value = failureOf(answer);
  const isResult = isObject(value) && Object.hasOwn(value, 'modified');
  return {
    ours: { modified: result.modified, ...(result.undecided ? { undecided: true } : {}) },
    theirs: isResult ? { modified: ownMember(value, 'modified') ?? null } : value,
  };
}

function kindOf(input: Json): string {
  const { target, live } = input as unknown as DiffCase;
  return textOf((target ?? live)?.['kind']);
}

export const diffArea: Area = {
  name: 'diff',
  generate: async (draw, ask) => (await diffCase(draw, ask)) as unknown as Json | undefined,
  judge: (input, answer) => verdictOf(compareCase(input as unknown as DiffCase), answer),
  shapeOf: kindOf,
  explain: explainDiff,
};

export const dryRunArea: Area = {
  name: 'dryrun',
  generate: dryRunCase,
  judge: (input, answer) => verdictOf(compareDryRun(input as unknown as DiffCase), answer),
  shapeOf: kindOf,
  explain: explainDiff,
};
