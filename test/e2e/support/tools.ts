import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

export type ToolName =
  | 'argocd'
  | 'kube-apiserver'
  | 'etcd'
  | 'etcdutl'
  | 'git-lfs-transfer'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubelet'
  | 'kubectl'
  | 'helm'
  | 'kustomize'
  | 'jsonnet'
  | 'oauth2-proxy'
  | 'openssl'
  | 'redis-server'
  | 'sops'
  | 'sshd';

/** Environment variable with the path of each tool as JSON, which `npm run e2e` sets. */
const variable = 'DRIFTLESS_E2E_TOOLS';

/** The absolute path of a tool. @throws Error that says what to run if it is missing */
export function toolPath(name: ToolName): string {
  const known = JSON.parse(process.env[variable] ?? '{}') as Partial<Record<ToolName, string>>;
  if (known[name] !== undefined) return known[name];
  for (const folder of [process.env['KUBEBUILDER_ASSETS'] ?? '', ...(process.env['PATH'] ?? '').split(delimiter)]) {
    if (folder !== '' && executable(join(folder, name))) return join(folder, name);
  }
  throw new Error(`${name} is missing: run these tests with npm run e2e, which finds or builds it (npm run e2e:setup)`);
}

/**
 * A PATH with every found tool, for programs that run tools themselves (the controller runs helm
 * and kustomize).
 */
export function toolsPath(): string {
  const known = JSON.parse(process.env[variable] ?? '{}') as Partial<Record<ToolName, string>>;
  return [...new Set(Object.values(known).map((path) => dirname(path))), process.env['PATH'] ?? ''].join(delimiter);
}

export interface ToolResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ToolOptions {
  readonly input?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The tool is killed after this time, by default 120 s. */
  readonly timeoutMs?: number;
}

/** Runs a tool, with any exit code. */
export function runTool(name: ToolName, args: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
  return new Promise((done, failed) => {
    const env = { ...process.env, PATH: toolsPath(), ...options.env };
    const cwd = options.cwd === undefined ? {} : { cwd: options.cwd };
    const child = spawn(toolPath(name), args, {
      ...cwd,
      env,
      timeout: options.timeoutMs ?? 120_000,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    child.once('error', failed);
    child.once('close', (code) => done({ code, stdout, stderr }));
  });
}

/**
 * Runs a tool that must succeed. @returns its stdout. @throws Error with command line and output
 */
export async function mustRun(name: ToolName, args: readonly string[], options: ToolOptions = {}): Promise<string> {
  const result = await runTool(name, args, options);
  if (result.code === 0) return result.stdout;
  throw new Error(
    `${name} ${args.join(' ')} ended with ${result.code ?? 'a signal'}:\n${result.stdout}${result.stderr}`,
  );
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
