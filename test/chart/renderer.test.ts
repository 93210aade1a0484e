import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { loadAll } from 'js-yaml';
import type { ChartPod } from '../support/chart-pods.ts';
import { credentialVolumes, environmentOf, mountsOf, userOf } from '../support/chart-pods.ts';

const manifests = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'manifests');
const files = readdirSync(manifests, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('install.yaml'),
);

interface Workload {
  readonly kind: string;
  readonly spec?: { readonly template?: { readonly spec: ChartPod } };
}

function podOf(name: string): ChartPod {
  const objects = loadAll(readFileSync(join(manifests, name), 'utf8')) as readonly Workload[];
  const [pod] = objects.flatMap(({ spec }) => (spec?.template === undefined ? [] : [spec.template.spec]));
  if (pod === undefined) throw new Error(`${name} has no workload`);
  return pod;
}

describe.each(files)('the pod of %s', (name) => {
  const pod = podOf(name);
  const [controller, renderer] = pod.containers;

  it('mounts the ServiceAccount token and Secrets only into the container of the controller', () => {
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.containers.map((container) => container?.name)).toEqual(['application-controller', 'renderer']);
    expect(mountsOf(controller)).toContain('service-account');
    const secret = credentialVolumes(pod);
    expect(secret).toEqual(['repo-server-tls', 'repo-server-mtls', 'service-account']);
    expect(mountsOf(renderer).filter((volume) => secret.includes(volume))).toEqual([]);
    expect(pod.initContainers ?? []).toEqual([]);
  });

  it('gives the renderer no environment of the controller, and of its volumes only the socket', () => {
    expect(environmentOf(renderer)).toEqual([]);
    const shared = mountsOf(renderer).filter((volume) => mountsOf(controller).includes(volume));
    expect(shared).toEqual(['renderer-socket']);
    const socket = controller.volumeMounts?.find((mount) => mount.name === 'renderer-socket');
    expect(socket?.readOnly).toBe(true);
  });

  it('runs the renderer as another user, without privileges and with a read-only root', () => {
    expect([userOf(pod, controller), userOf(pod, renderer)]).toEqual([999, 65_532]);
    expect(pod.shareProcessNamespace).toBeUndefined();
    expect(renderer?.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      privileged: false,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    });
  });
});
