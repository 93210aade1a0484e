import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/** Finds the absolute path of a program on this machine; undefined if it is missing. */
export type ToolLookup = (name: string) => string | undefined;

/**
 * Finds programs on a PATH, otherwise in folders with one subfolder per version,
 * `<name>-<version>/<name>`, like `npm run e2e:setup` creates them. Searches on each call, so
 * programs installed later are found.
 */
export function createToolLookup(deps: {
  readonly path: string | undefined;
  readonly folders?: readonly string[];
}): ToolLookup {
  const onPath = (deps.path ?? '').split(':').filter((folder) => isAbsolute(folder));
  const inFolders = (name: string): readonly string[] =>
    (deps.folders ?? []).flatMap((folder) =>
      namesIn(folder)
        .filter((entry) => entry.startsWith(`${name}-`))
        .sort()
        .reverse()
        .map((entry) => join(folder, entry)),
    );
  const find = (folders: readonly string[], name: string): string | undefined =>
    folders.map((folder) => join(folder, name)).find(isProgram);
  return (name) => find(onPath, name) ?? find(inFolders(name), name);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isProgram(path: string): boolean {
  // Most folders of a PATH do not have it: no exception for those.
  if (!existsSync(path)) return false;
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
