import { lstatSync } from 'node:fs';
import { homedir } from 'node:os';
import { runOptions } from '../options/run-options.ts';
import { kubeconfigIn } from '../process/hub.ts';
import { debugSocketOf, ownNames } from '../process/replica-paths.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Values for empty flags of a command; "" where this machine has no such file. */
export interface ReadApiDefaults {
  readonly kubeconfig: string;
  /** Unix socket of the controller in this pod, by the environment that the two share. */
  readonly socket: string;
}

export function readApiDefaults(env: Environment): ReadApiDefaults {
  return { kubeconfig: defaultKubeconfig(env), socket: socketOfThisPod(env) };
}

/** ~/.kube/config if it exists; a pod has its own connection. */
export function defaultKubeconfig(env: Environment): string {
  return kubeconfigIn(env['HOME'] ?? homedir());
}

function socketOfThisPod(env: Environment): string {
  const { hostname, cacheDir } = runOptions;
  const own = ownNames({ hostname: env[hostname.env] ?? '', cacheDir: env[cacheDir.env] ?? '' });
  const path = debugSocketOf({ debugSocket: '', cacheDir: own.cacheDir });
  return isOwnSocket(path) ? path : '';
}

/** A socket of another user may answer anything: only a flag makes a command ask it. */
function isOwnSocket(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isSocket() === true && found.uid === process.getuid?.();
}
