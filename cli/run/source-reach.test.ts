import { networkInterfaces } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { sourceReach } from './source-reach.ts';

const hub = (server: string): Parameters<typeof sourceReach>[1]['hub'] => ({
  server,
  insecure: false,
  credentials: {},
});

describe("the controller's own addresses", () => {
  it('are the API server of its kubeconfig, that of its pod, and those of its interfaces', () => {
    const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1' };
    const reach = sourceReach({ allowLocalSources: false }, { hub: hub('https://api.example:6443'), env });
    expect(reach.allowLocal).toBe(false);
    expect(reach.hubHosts).toEqual(['api.example', '10.96.0.1']);
    const loopback = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    expect(reach.interfaceAddresses?.()).toEqual(loopback.map(({ address }) => address));
  });

  it('are without a name where there is none', () => {
    const reach = sourceReach({ allowLocalSources: true }, { hub: hub(''), env: {} });
    expect([reach.allowLocal, reach.hubHosts]).toEqual([true, []]);
  });
});
