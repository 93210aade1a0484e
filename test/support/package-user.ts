import { mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Lets the programs of a folder import the built engine, as those of its users do. */
export function makePackageUser(folder: string): void {
  const scope = join(folder, 'node_modules', '@driftless');
  mkdirSync(scope, { recursive: true });
  symlinkSync(resolve('dist', 'package'), join(scope, 'engine'));
}
