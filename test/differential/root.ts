import { existsSync } from 'node:fs';

/** The folder of the repository, from its sources as from dist. */
export const root = new URL(
  existsSync(new URL('../../package.json', import.meta.url)) ? '../../' : '../../../',
  import.meta.url,
);
