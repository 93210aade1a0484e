import { networkInterfaces } from 'node:os';
import type { SourceReach } from '#desired';
import type { ClusterConnection } from '#model';

/** Addresses of this process and of its API server, which sources must not resolve to. */
export function sourceReach(
  { allowLocalSources }: { readonly allowLocalSources: boolean },
  { hub, env }: { readonly hub: ClusterConnection; readonly env: Readonly<Record<string, string | undefined>> },
): SourceReach {
  const server = URL.canParse(hub.server) ? new URL(hub.server).hostname : '';
  return {
    allowLocal: allowLocalSources,
    hubHosts: [server, env['KUBERNETES_SERVICE_HOST'] ?? ''].filter((host) => host !== ''),
    interfaceAddresses: () =>
      Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)),
  };
}
