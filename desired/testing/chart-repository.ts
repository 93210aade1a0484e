import { chartArchive } from './archive.ts';
import type { WebServer } from './web-server.ts';

/** Makes a web server the repository of the chart `web` in these versions, with `files` in each. */
export function serveChart(
  server: WebServer,
  versions: readonly string[],
  files: Readonly<Record<string, string>> = {},
): void {
  for (const version of versions)
    server.pages.set(`/web-${version}.tgz`, { body: chartArchive('web', version, files) });
  const entries = versions.map((version) => `  - {version: ${version}, urls: [web-${version}.tgz]}\n`);
  server.pages.set('/index.yaml', { body: `apiVersion: v1\nentries:\n  web:\n${entries.join('')}` });
}
