import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { ToolName } from '../../test/e2e/support/index.ts';

const toolsVariable = 'DRIFTLESS_E2E_TOOLS';

/**
 * Passes the location of external programs to the e2e support, like `npm run e2e`: from
 * `KUBEBUILDER_ASSETS`, the result of `npm run e2e:setup`, or PATH. Returns the names of missing
 * ones.
 */
export function missingTools(names: readonly ToolName[]): readonly ToolName[] {
  const known = JSON.parse(process.env[toolsVariable] ?? '{}') as Partial<Record<ToolName, string>>;
  const found = { ...Object.fromEntries(names.map((name) => [name, locate(name)])), ...known };
  process.env[toolsVariable] = JSON.stringify(found);
  return names.filter((name) => found[name] === undefined);
}

function locate(name: ToolName): string | undefined {
  const { env } = process;
  const cache = env['DRIFTLESS_E2E_CACHE'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'driftless/e2e');
  const built = existsSync(cache) ? readdirSync(cache).filter((folder) => folder.startsWith(`${name}-`)) : [];
  const path = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return [env['KUBEBUILDER_ASSETS'] ?? '', ...built.map((folder) => join(cache, folder)), ...path]
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));
}
