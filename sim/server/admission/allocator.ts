import type { ServiceAllocator } from './prepare.ts';

/**
 * Allocates service addresses and node ports in sequence; a simulated cluster never runs out of
 * either.
 */
export function createAllocator(): ServiceAllocator {
  let address = 1;
  let port = 0;
  return {
    clusterIp: () => {
      address += 1;
      return `10.96.${Math.floor(address / 256) % 256}.${address % 256}`;
    },
    nodePort: () => {
      port += 1;
      return 30_000 + ((port - 1) % 2768);
    },
  };
}
