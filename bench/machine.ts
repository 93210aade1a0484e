import { execFileSync } from 'node:child_process';
import { arch, cpus, platform, totalmem } from 'node:os';
import { benchSeed } from './harness.ts';

/**
 * The origin of the numbers. Results of different machines or Node versions are not comparable;
 * ratios mostly are.
 */
export interface MachineInfo {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly platform: string;
  readonly node: string;
  /** The measured commit, with `-dirty` if files differ from it; `unknown` outside a checkout. */
  readonly commit: string;
  readonly seed: number;
}

export function describeMachine(): MachineInfo {
  const list = cpus();
  return {
    cpu: list[0]?.model.trim() ?? 'unknown',
    cores: list.length,
    memoryBytes: totalmem(),
    platform: `${platform()} ${arch()}`,
    node: process.version,
    commit: currentCommit(),
    seed: benchSeed,
  };
}

function currentCommit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty', '--exclude=*'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}
