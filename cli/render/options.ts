import { UsageError } from '#base';
import type { OptionSpec } from '../options/args.ts';
import { help } from '../options/common-options.ts';

/** Options of `driftless render`. */
export const renderOptions = {
  listen: {
    flag: 'listen',
    kind: 'string',
    env: 'DRIFTLESS_RENDER_LISTEN',
    help: 'Address to listen on: unix:/path/render.sock or tls:HOST:PORT.',
  },
  tlsCert: {
    flag: 'tls-cert',
    kind: 'string',
    help: 'Path to the PEM server certificate, for tls: addresses.',
  },
  tlsKey: {
    flag: 'tls-key',
    kind: 'string',
    help: 'Path to the PEM private key of the server certificate.',
  },
  clientCa: {
    flag: 'client-ca',
    kind: 'string',
    help: 'Path to the PEM CA certificates that verify clients.',
  },
  folder: {
    flag: 'staging-dir',
    kind: 'string',
    help: 'Directory for the staging directories of requests. Empty: the temporary directory.',
  },
  parallelism: {
    flag: 'parallelism',
    kind: 'int',
    default: 16,
    min: 1,
    max: 256,
    help: 'Maximum number of concurrent requests; others wait.',
  },
  memoryLimit: {
    flag: 'memory-limit',
    kind: 'string',
    help: 'Memory limit of all programs together, such as 2Gi; beyond it the largest is killed. Empty: three quarters of the container limit.',
  },
  maxRequestBytes: {
    flag: 'max-request-bytes',
    kind: 'int',
    default: 1024 * 1024 * 1024,
    min: 1,
    help: 'Maximum size of the files and input of one request in bytes.',
  },
  toolPath: {
    flag: 'path',
    kind: 'string',
    help: 'Directories with helm, kustomize and jsonnet, separated by colons. Empty: PATH.',
  },
  allowToken: {
    flag: 'allow-service-account-token',
    kind: 'bool',
    help: 'Start although a ServiceAccount token is readable. Programs that run for tenants could steal it.',
  },
  check: {
    flag: 'check',
    kind: 'bool',
    help: 'Check whether the renderer at --listen answers, and exit with 0 if so. For probes.',
  },
  logFormat: {
    flag: 'logformat',
    kind: 'string',
    default: 'json',
    env: 'DRIFTLESS_LOG_FORMAT',
    choices: ['json', 'text'],
    help: 'Log format: json or text.',
  },
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;

const units: Readonly<Record<string, number>> = { '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/**
 * Parses `2Gi`, `512Mi` or a number of bytes.
 * @throws UsageError
 */
export function parseBytes(text: string, flag: string): number {
  const [, digits, unit = ''] = /^(\d{1,15})(Ki|Mi|Gi)?$/.exec(text) ?? [];
  const bytes = Number(digits) * (units[unit] ?? 1);
  if (digits === undefined || bytes < 2 ** 26)
    throw new UsageError(`${flag}: "${text}" is not a valid amount of memory: use at least 64Mi, such as 2Gi`);
  return bytes;
}
