import { SecretValue, seededRandom, systemClock } from '#base';
import { createKubeClient } from '#kube';
import type { KubeClient } from '#kube';
import { silentLogger } from '#telemetry';
import type { Server } from './server.ts';

/** Our own client of a real server, as administrator and without a rate limit. */
export function clientOf({ access }: Server): KubeClient {
  const { server, ca = '', cert = '', key = '' } = access;
  return createKubeClient(
    {
      server,
      insecure: false,
      caData: ca,
      credentials: { certData: new SecretValue(cert), keyData: new SecretValue(key) },
    },
    {
      clock: systemClock,
      random: seededRandom(1),
      logger: silentLogger,
      userAgent: 'e2e',
      limits: { qps: 10_000, burst: 10_000 },
    },
  );
}
