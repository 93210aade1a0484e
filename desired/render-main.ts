/**
 * The renderer of one machine: a child of the controller, connected by an inherited pair of
 * sockets. It has no environment; its settings are its argument. When its parent dies, it exits
 * with everything that it started.
 */
import { Socket } from 'node:net';
import { argv, getuid } from 'node:process';
import { newAbortController, systemClock, systemRandom } from '#base';
import { createLogger } from '#telemetry';
import { createToolLookup } from './command/lookup.ts';
import { programsFrom } from './render/environment.ts';
import { inheritedDescriptor } from './render/local.ts';
import type { LocalRendererSettings } from './render/local.ts';
import { parserCommand } from './render/parser.ts';
import { serveSession } from './render/server-session.ts';
import { RenderService } from './render/service.ts';

const settings = JSON.parse(argv[2] ?? '{}') as LocalRendererSettings;
const logger = createLogger({ level: settings.logLevel, format: settings.logFormat, destination: process.stderr });
const service = new RenderService({
  clock: systemClock,
  random: systemRandom,
  logger,
  folder: settings.folder,
  programs: programsFrom(createToolLookup({ path: settings.path, folders: settings.folders }), parserCommand()),
  parallelism: settings.parallelism,
  memoryBytes: settings.memoryBytes,
  isRoot: getuid?.() === 0,
});
// Ctrl-C reaches the whole process group of the terminal; the parent decides when to stop us.
process.on('SIGINT', () => undefined);
try {
  await service.open(newAbortController().signal);
} catch (error) {
  logger.error('The renderer cannot start: check the volume of its folder', { folder: settings.folder, error });
  // The log line names the reason; nothing can be served without the folder.
  process.exit(1);
}
const stream = new Socket({ fd: inheritedDescriptor });
await serveSession(stream, {
  service,
  version: settings.version,
  instance: systemRandom.uuid(),
  maxRequestBytes: settings.maxRequestBytes,
});
await service.close();
process.exit(0);
