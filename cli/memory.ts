import type { DesiredLimits } from '#desired';

const most = 2 * 1024 * 1024 * 1024;
const least = 256 * 1024 * 1024;

/**
 * What programs (helm, kustomize, jsonnet, git) may take each, in a container that may take `limitBytes` in all: four of them at once, beside the
 * heap, must not have the container ended, which would hit everybody. 0 or more than any machine has: no limit.
 */
export function programMemory(limitBytes: number): Pick<DesiredLimits, 'maxToolMemoryBytes' | 'maxGitAllocationBytes'> {
  const share = limitBytes > 0 ? Math.floor(limitBytes / 8) : most;
  const bytes = Math.min(most, Math.max(least, share));
  return { maxToolMemoryBytes: bytes, maxGitAllocationBytes: Math.min(bytes, most / 2) };
}
