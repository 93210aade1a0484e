import { Secret, seededRandom, systemClock } from '#base';
import { createKubeClient } from '#kube';
import type { KubeClient } from '#kube';
import { silentLogger } from '#telemetry';
import type { Server } from './server.ts';

/** Our own client of a real server, as its administrator, with as many requests a second as the server takes. */
export function clientOf({ access }: Server): KubeClient {
  const { server, ca = '', cert = '', key = '' } = access;
  return createKubeClient(
    { server, insecure: false, caData: ca, credentials: { certData: new Secret(cert), keyData: new Secret(key) } },
    {
      clock: systemClock,
      random: seededRandom(1),
      logger: silentLogger,
      userAgent: 'e2e',
      limits: { qps: 10_000, burst: 10_000 },
    },
  );
}
