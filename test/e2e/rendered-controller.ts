import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadAll } from 'js-yaml';
import { mustRun } from './support/index.ts';
import type { AuditEvent } from './support/index.ts';

const compiledOrSources = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** The root of the repository, also for the compiled copy of this file. */
export const repository = basename(compiledOrSources) === 'dist' ? dirname(compiledOrSources) : compiledOrSources;
export const chartFolder = join(repository, 'charts', 'driftless');

/** An object of a rendered chart. */
export interface RenderedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export interface RbacRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** Rules of the ServiceAccount in a namespace or in the whole cluster. */
export interface GrantedRules {
  /** Undefined for a ClusterRole. */
  readonly namespace: string | undefined;
  readonly role: string;
  readonly rules: readonly RbacRule[];
}

interface EnvironmentEntry {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly configMapKeyRef?: { readonly name: string; readonly key: string };
  };
}

interface RenderedContainer {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly EnvironmentEntry[];
  readonly readinessProbe: unknown;
  readonly livenessProbe: unknown;
  readonly startupProbe: unknown;
}

interface PodTemplate {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly serviceAccountName: string;
    readonly containers: readonly [RenderedContainer, ...RenderedContainer[]];
    readonly [field: string]: unknown;
  };
}

export interface RenderOptions {
  /** Default driftless. */
  readonly release?: string;
  /** Default argocd. */
  readonly namespace?: string;
}

/** The controller as the chart runs it. */
export interface RenderedController {
  /** All objects of the chart in Helm's order. Apply them before the controller starts. */
  readonly objects: readonly RenderedObject[];
  readonly namespace: string;
  /** The StatefulSet or Deployment. */
  readonly workload: RenderedObject;
  /** Undefined if an autoscaler sets it. */
  readonly replicas: number | undefined;
  readonly podTemplate: PodTemplate;
  /**
   * Arguments for `node dist/cli/argocd-application-controller.js`: those of the container without
   * the renderer of the pod, which does not run here.
   */
  readonly args: readonly string[];
  /**
   * The environment of a pod, with references to ConfigMaps and fields resolved as the kubelet
   * does.
   */
  readonly env: (podName: string) => Record<string, string>;
  readonly serviceAccount: string;
  readonly granted: readonly GrantedRules[];
}

/**
 * Renders the chart with `helm template`. @throws Error with helm's message if it rejects the
 * values
 */
export async function renderChart(
  values: object = {},
  options: RenderOptions = {},
): Promise<readonly RenderedObject[]> {
  const { release = 'driftless', namespace = 'argocd' } = options;
  const args = ['template', release, chartFolder, '--namespace', namespace, '--values', '-'];
  const text = await mustRun('helm', args, { input: JSON.stringify(values) });
  return loadAll(text).filter((document) => document !== null && document !== undefined) as RenderedObject[];
}

/**
 * Renders the chart and extracts what the kubelet uses: arguments, environment and ServiceAccount;
 * and the RBAC rules of that account. Pods of a StatefulSet are named `<workload>-0`, …; those of a
 * Deployment can have any name.
 */
export async function renderedController(
  values: object = {},
  options: RenderOptions = {},
): Promise<RenderedController> {
  return controllerOf(await renderChart(values, options));
}

/** The controller of the plain manifests, with these keys of argocd-cmd-params-cm. */
export function manifestController(params: Readonly<Record<string, string>> = {}): RenderedController {
  const text = readFileSync(join(repository, 'manifests', 'install.yaml'), 'utf8');
  const objects = loadAll(text) as RenderedObject[];
  return controllerOf(
    objects.map((object) => (object.metadata.name === 'argocd-cmd-params-cm' ? { ...object, data: params } : object)),
  );
}

function controllerOf(objects: readonly RenderedObject[]): RenderedController {
  const workload = objects.find(
    ({ kind, metadata }) => (kind === 'StatefulSet' || kind === 'Deployment') && !metadata.name.endsWith('-renderer'),
  );
  if (workload === undefined) throw new Error('the chart renders neither a StatefulSet nor a Deployment');
  const spec = workload['spec'] as { readonly replicas?: number; readonly template: PodTemplate };
  const namespace = workload.metadata.namespace ?? '';
  const { spec: pod } = spec.template;
  const [container] = pod.containers;
  return {
    objects,
    namespace,
    workload,
    replicas: spec.replicas,
    podTemplate: spec.template,
    args: container.args.slice(1).filter((arg) => !arg.startsWith('--renderer')),
    env: (podName) => environment(container.env, { objects, podName, namespace }),
    serviceAccount: pod.serviceAccountName,
    granted: grantedTo(pod.serviceAccountName, objects),
  };
}

function environment(
  entries: readonly EnvironmentEntry[],
  pod: { readonly objects: readonly RenderedObject[]; readonly podName: string; readonly namespace: string },
): Record<string, string> {
  const fields: Readonly<Record<string, string>> = {
    'metadata.name': pod.podName,
    'metadata.namespace': pod.namespace,
  };
  const found: Record<string, string> = {};
  for (const { name, value, valueFrom } of entries) {
    const { fieldRef, configMapKeyRef: reference } = valueFrom ?? {};
    const config = pod.objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === reference?.name);
    const data = config?.['data'] as Readonly<Record<string, string>> | undefined;
    const text = value ?? (fieldRef === undefined ? data?.[reference?.key ?? ''] : (fields[fieldRef.fieldPath] ?? ''));
    if (text !== undefined) found[name] = text;
  }
  return found;
}

function grantedTo(account: string, objects: readonly RenderedObject[]): GrantedRules[] {
  interface RenderedBinding {
    readonly roleRef: { readonly kind: string; readonly name: string };
    readonly subjects: readonly { readonly name: string }[];
  }
  return objects
    .filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding')
    .filter((object) => (object as unknown as RenderedBinding).subjects.some(({ name }) => name === account))
    .map((object) => {
      const { roleRef } = object as unknown as RenderedBinding;
      const { namespace } = object.metadata;
      const role = objects.find(
        ({ kind, metadata }) =>
          kind === roleRef.kind &&
          metadata.name === roleRef.name &&
          (kind === 'ClusterRole' || metadata.namespace === namespace),
      );
      if (role === undefined) throw new Error(`${roleRef.kind} ${roleRef.name} of a binding is not rendered`);
      return { namespace, role: roleRef.name, rules: role['rules'] as readonly RbacRule[] };
    });
}

/** One permission of a rule: `list apps/deployments`, `update configmaps argocd-cm`. */
export interface GrantedPermission {
  readonly granted: GrantedRules;
  readonly rule: RbacRule;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
}

/** All combinations of verb and resource of all rules. */
export function permissionsOf(granted: readonly GrantedRules[]): GrantedPermission[] {
  return granted.flatMap((one) =>
    one.rules.flatMap((rule) =>
      rule.verbs.flatMap((verb) =>
        (rule.apiGroups ?? []).flatMap((group) =>
          (rule.resources ?? []).map((resource) => ({ granted: one, rule, verb, group, resource })),
        ),
      ),
    ),
  );
}

/** Whether a permission allows a request of the audit log. */
export function uses(event: AuditEvent, { granted, rule, verb, group, resource }: GrantedPermission): boolean {
  const asked = event.objectRef;
  if (asked === undefined || event.verb !== verb) return false;
  const full = asked.subresource === undefined ? asked.resource : `${asked.resource}/${asked.subresource}`;
  return (
    (granted.namespace === undefined || granted.namespace === asked.namespace) &&
    (group === '*' || group === (asked.apiGroup ?? '')) &&
    (resource === '*' || resource === full) &&
    (rule.resourceNames === undefined || rule.resourceNames.includes(asked.name ?? ''))
  );
}
