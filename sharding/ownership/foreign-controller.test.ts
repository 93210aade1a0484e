import { beforeEach, describe, expect, it } from '@jest/globals';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { ForeignController } from './foreign-controller.ts';
import { MemoryHub } from '../testing/memory-hub.ts';

let hub: MemoryHub;
let clock: FakeClock;
let client: ReturnType<MemoryHub['client']>;
const life = new AbortController().signal;
const app = 'argocd/web' as Parameters<ForeignController['noteWrite']>[0]['app'];

beforeEach(() => {
  hub = new MemoryHub();
  clock = new FakeClock();
  client = hub.client();
});

function found(ownWorkload = 'driftless'): ForeignController {
  return new ForeignController({ client, namespace: 'argocd', clock, ownWorkload });
}

async function looked(ownWorkload?: string): Promise<ForeignController> {
  const foreign = found(ownWorkload);
  void foreign.run(life);
  await clock.settle();
  return foreign;
}

function runs(image: string, replicas?: number): void {
  const spec = { replicas, template: { spec: { containers: [{ name: 'init' }, { image }] } } };
  hub.put('StatefulSet', 'argocd-application-controller', { spec });
}

describe('a workload of Argo CD beside us', () => {
  it.each([
    'quay.io/argoproj/argocd:v3.1.0',
    'registry.example/mirror/argocd@sha256:00',
    'bitnami/argo-cd:2',
    'registry.example:5000/openshift-gitops-1/argocd-rhel8:v1',
  ])('is found by its image %s', async (image) => {
    runs(image, 2);
    const foreign = await looked();
    expect(foreign.message()).toContain(`StatefulSet argocd/argocd-application-controller has 2 replicas of ${image}`);
    expect(foreign.message()).toContain('scale it to 0');
  });

  it('is found again after five minutes, and is gone when it is scaled to 0', async () => {
    const foreign = await looked();
    expect(foreign.message()).toBeUndefined();
    runs('quay.io/argoproj/argocd:v3.1.0');
    await clock.advance(300_000);
    expect(foreign.message()).toContain('has 1 replicas');
    runs('quay.io/argoproj/argocd:v3.1.0', 0);
    await clock.advance(300_000);
    expect(foreign.message()).toBeUndefined();
  });

  it('is not one that has our image, or is our own', async () => {
    runs('registry.example/argocd/driftless:1', 2);
    expect((await looked()).message()).toBeUndefined();
    runs('quay.io/argoproj/argocd:v3.1.0', 2);
    expect((await looked('argocd-application-controller')).message()).toBeUndefined();
  });

  it('stays known while the API server fails, and is not reported where we may not read it', async () => {
    runs('quay.io/argoproj/argocd:v3.1.0', 2);
    const foreign = await looked();
    hub.refusal = { code: 500, message: 'down' };
    await clock.advance(300_000);
    expect(foreign.message()).toContain('StatefulSet argocd/argocd-application-controller');
    hub.refusal = { code: 403, message: 'forbidden' };
    await clock.advance(300_000);
    expect(foreign.message()).toBeUndefined();
  });

  it('is found as a Deployment where StatefulSets may not be read', async () => {
    hub.put('Deployment', 'argocd-application-controller', {
      spec: { template: { spec: { containers: [{ image: 'quay.io/argoproj/argocd:v3' }] } } },
    });
    const get = client.get;
    client.get = (resource, ...rest) =>
      resource.kind === 'StatefulSet'
        ? Promise.reject(new KubeApiError({ code: 403, reason: 'Forbidden', message: 'no' }, 'get'))
        : get(resource, ...rest);
    expect((await looked()).message()).toContain('Deployment argocd/argocd-application-controller');
  });

  it.each<Partial<KubeObject>>([{}, { spec: 'x' }, { spec: { template: { spec: { containers: [null, {}] } } } }])(
    'is not a malformed object: %j',
    async (content) => {
      hub.put('StatefulSet', 'argocd-application-controller', content);
      expect((await looked()).message()).toBeUndefined();
    },
  );
});

describe('writes to the status of our Applications by others', () => {
  it('are reported from the third within 15 minutes, with the manager, and for 15 minutes', async () => {
    const foreign = found();
    const write = { app, manager: 'argocd-application-controller' };
    foreign.noteWrite(write);
    foreign.noteWrite(write);
    expect(foreign.message()).toBeUndefined();
    foreign.noteWrite(write);
    expect(foreign.message()).toContain('as field manager argocd-application-controller, last that of argocd/web');
    await clock.advance(15 * 60_000);
    expect(foreign.message()).toContain('last that of argocd/web');
    await clock.advance(1);
    expect(foreign.message()).toBeUndefined();
  });

  it('are not reported when they are rare', async () => {
    const foreign = found();
    for (let i = 0; i < 10; i += 1) {
      foreign.noteWrite({ app, manager: '' });
      await clock.advance(8 * 60_000);
      expect(foreign.message()).toBeUndefined();
    }
  });
});
