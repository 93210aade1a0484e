import type { OptionSpec } from '../options/args.ts';
import { help, structuredOutput } from '../options/common-options.ts';
import { applicationNamespace, readApiOptions } from '../read-api/connect.ts';

const { kubeconfig, context, controllerNamespace } = readApiOptions;

/** Options of all commands that ask the controller to act on an Application. */
export const operateOptions = {
  namespace: applicationNamespace,
  wait: { flag: 'wait', short: 'w', kind: 'bool', help: 'Wait until the controller has finished.' },
  timeout: {
    flag: 'timeout',
    kind: 'duration',
    default: 300_000,
    min: 0,
    help: 'Maximum time to wait with --wait, such as 90s or 10m; 0 waits without limit.',
  },
  kubeconfig,
  context,
  controllerNamespace,
  output: structuredOutput,
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** Options of commands that start a sync. */
export const operationOptions = {
  prune: { flag: 'prune', kind: 'bool', help: 'Delete resources that Git no longer has.' },
  dryRun: { flag: 'dry-run', kind: 'bool', help: 'Only ask the API server, and change nothing.' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

export interface OperateConfig {
  readonly namespace: string;
  readonly wait: boolean;
  readonly timeout: number;
  readonly kubeconfig: string;
  readonly context: string;
  readonly controllerNamespace: string;
  readonly output: string;
}
