import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/**
 * Finds programs on a PATH; else in folders that hold one folder per version, `<name>-<version>/<name>`, as `npm run e2e:setup` leaves them.
 * Looks anew at each call: what is installed while we run is found.
 */
export function createToolLookup(deps: {
  readonly path: string | undefined;
  readonly folders?: readonly string[];
}): (name: string) => string | undefined {
  const onPath = (deps.path ?? '').split(':').filter((folder) => isAbsolute(folder));
  return (name) => {
    const inFolders = (deps.folders ?? []).flatMap((folder) =>
      namesIn(folder)
        .filter((entry) => entry.startsWith(`${name}-`))
        .sort()
        .reverse()
        .map((entry) => join(folder, entry)),
    );
    return [...onPath, ...inFolders].map((folder) => join(folder, name)).find(isProgram);
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
