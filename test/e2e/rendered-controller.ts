import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadAll } from 'js-yaml';
import { mustRun } from './support/index.ts';
import type { AuditEvent } from './support/index.ts';

export const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const chartFolder = join(repository, 'charts', 'driftless');

/** An object of a rendered chart: as loose as YAML is. */
export interface Rendered {
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

export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** The rules that the ServiceAccount has: in one namespace, or everywhere. */
export interface Granted {
  /** Undefined: a ClusterRole. */
  readonly namespace: string | undefined;
  readonly role: string;
  readonly rules: readonly Rule[];
}

interface EnvironmentEntry {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly configMapKeyRef?: { readonly name: string; readonly key: string };
  };
}

interface Container {
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
    readonly containers: readonly [Container, ...Container[]];
    readonly [field: string]: unknown;
  };
}

export interface RenderOptions {
  /** Default driftless. */
  readonly release?: string;
  /** Default argocd. */
  readonly namespace?: string;
}

/** How the chart would run the controller. */
export interface RenderedController {
  /** Everything that the chart makes, in Helm's order; to be applied before the controller starts. */
  readonly objects: readonly Rendered[];
  readonly namespace: string;
  /** The StatefulSet or Deployment. */
  readonly workload: Rendered;
  /** Undefined: the autoscaler's business. */
  readonly replicas: number | undefined;
  readonly podTemplate: PodTemplate;
  /** For `node dist/cli/argocd-application-controller.js`: the container's arguments without the executable. */
  readonly args: readonly string[];
  /** The environment of a pod, as the kubelet would make it: references to ConfigMaps and to fields of the pod resolved. */
  readonly env: (podName: string) => Record<string, string>;
  readonly serviceAccount: string;
  readonly granted: readonly Granted[];
}

/** `helm template` of the chart. @throws Error with helm's message when the values are refused */
export async function renderChart(values: object = {}, options: RenderOptions = {}): Promise<readonly Rendered[]> {
  const { release = 'driftless', namespace = 'argocd' } = options;
  const args = ['template', release, chartFolder, '--namespace', namespace, '--values', '-'];
  const text = await mustRun('helm', args, { input: JSON.stringify(values) });
  return loadAll(text).filter((document) => document !== null && document !== undefined) as Rendered[];
}

/**
 * Renders the chart and takes from it what a kubelet would take: arguments, environment, ServiceAccount; and what that account may do. A
 * StatefulSet's pods are named `<workload>-0`, `<workload>-1`, …; a Deployment's as you like.
 */
export async function renderedController(
  values: object = {},
  options: RenderOptions = {},
): Promise<RenderedController> {
  const objects = await renderChart(values, options);
  const workload = objects.find(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment');
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
    args: container.args.slice(1),
    env: (podName) => environment(container.env, { objects, podName, namespace }),
    serviceAccount: pod.serviceAccountName,
    granted: grantedTo(pod.serviceAccountName, objects),
  };
}

function environment(
  entries: readonly EnvironmentEntry[],
  pod: { readonly objects: readonly Rendered[]; readonly podName: string; readonly namespace: string },
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

function grantedTo(account: string, objects: readonly Rendered[]): Granted[] {
  interface Binding {
    readonly roleRef: { readonly kind: string; readonly name: string };
    readonly subjects: readonly { readonly name: string }[];
  }
  return objects
    .filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding')
    .filter((object) => (object as unknown as Binding).subjects.some(({ name }) => name === account))
    .map((object) => {
      const { roleRef } = object as unknown as Binding;
      const { namespace } = object.metadata;
      const role = objects.find(
        ({ kind, metadata }) =>
          kind === roleRef.kind &&
          metadata.name === roleRef.name &&
          (kind === 'ClusterRole' || metadata.namespace === namespace),
      );
      if (role === undefined) throw new Error(`${roleRef.kind} ${roleRef.name} of a binding is not rendered`);
      return { namespace, role: roleRef.name, rules: role['rules'] as readonly Rule[] };
    });
}

/** One thing that a rule allows: `list apps/deployments`, `update configmaps argocd-cm`. */
export interface Permission {
  readonly granted: Granted;
  readonly rule: Rule;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
}

/** Every verb on every resource of every rule, one by one. */
export function permissionsOf(granted: readonly Granted[]): Permission[] {
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

/** Whether a request of the audit log used, or could have used, a permission. */
export function uses(event: AuditEvent, { granted, rule, verb, group, resource }: Permission): boolean {
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
