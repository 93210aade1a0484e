// Writes the type declarations of the doors of the engine, and of what they use, into dist/.
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.mjs';
import { doors } from './doors.mjs';

const config = join(root, 'dist', 'tsconfig.types.json');
writeFileSync(
  config,
  JSON.stringify({
    extends: '../tsconfig.json',
    compilerOptions: {
      declaration: true,
      emitDeclarationOnly: true,
      incremental: false,
      tsBuildInfoFile: null,
      sourceMap: false,
      rootDir: '..',
      outDir: '.',
      paths: { '#*': ['../*/index.ts'] },
    },
    include: [],
    files: [
      ...doors.map((name) => `../engine/${name}.ts`),
      '../model/hashing.d.ts',
      '../sharding/distribution/hashing.d.ts',
    ],
  }),
);
const tsc = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
const { status } = spawnSync(process.execPath, [tsc, '-p', config], { stdio: 'inherit' });
rmSync(config);
// A compiler that a signal ended has no exit code.
process.exit(status ?? 1);
