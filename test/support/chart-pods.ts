interface ChartMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
}

export interface PodContainer {
  readonly name: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string }[];
  readonly envFrom?: readonly unknown[];
  readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
  readonly securityContext?: { readonly runAsUser?: number; readonly [field: string]: unknown };
  readonly volumeMounts?: readonly ChartMount[];
  readonly startupProbe?: ChartProbe;
  readonly livenessProbe?: ChartProbe;
  readonly readinessProbe?: ChartProbe;
}

interface ChartProbe {
  readonly exec?: { readonly command: readonly string[] };
}

/** The spec of a pod, as the chart renders it. */
export interface ChartPod {
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly shareProcessNamespace?: boolean;
  readonly runtimeClassName?: string;
  readonly securityContext?: { readonly runAsUser?: number; readonly [field: string]: unknown };
  readonly initContainers?: readonly PodContainer[];
  readonly containers: readonly [PodContainer, PodContainer?, ...PodContainer[]];
  readonly volumes: readonly { readonly name: string; readonly [source: string]: unknown }[];
}

/** Names of the volumes that hold Secrets or tokens, or could. */
export function credentialVolumes({ volumes }: ChartPod): string[] {
  return volumes
    .filter((volume) => ['secret', 'projected', 'csi', 'hostPath'].some((source) => volume[source] !== undefined))
    .map(({ name }) => name);
}

/** Names of the volumes that a container mounts. */
export function mountsOf(container: PodContainer | undefined): string[] {
  return (container?.volumeMounts ?? []).map(({ name }) => name);
}

/** `env` and `envFrom` of a container. */
export function environmentOf(container: PodContainer | undefined): unknown[] {
  return [...(container?.env ?? []), ...(container?.envFrom ?? [])];
}

/** The user that a container runs as; undefined if the platform or the image chooses it. */
export function userOf(pod: ChartPod, container: PodContainer | undefined): number | undefined {
  return container?.securityContext?.runAsUser ?? pod.securityContext?.runAsUser;
}
