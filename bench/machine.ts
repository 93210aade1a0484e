import { execFileSync } from 'node:child_process';
import { arch, cpus, platform, totalmem } from 'node:os';
import { benchSeed } from './harness.ts';

/** Where numbers come from. Numbers of two machines, or of two Node versions, do not compare; ratios mostly do. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly platform: string;
  readonly node: string;
  /** The commit that is measured, with `-dirty` when files differ from it; `unknown` outside a checkout. */
  readonly commit: string;
  readonly seed: number;
}

export function describeMachine(): Machine {
  const list = cpus();
  return {
    cpu: list[0]?.model.trim() ?? 'unknown',
    cores: list.length,
    memoryBytes: totalmem(),
    platform: `${platform()} ${arch()}`,
    node: process.version,
    commit: commit(),
    seed: benchSeed,
  };
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty', '--exclude=*'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}
