// buildah with storage of its own, outside the repository: images of the machine are neither used
// nor changed.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Runs commands of buildah on the storage below `folder`. */
export class Engine {
  #options;

  constructor(folder) {
    const [root, runroot] = [join(folder, 'storage'), join(folder, 'run')];
    for (const path of [root, runroot]) mkdirSync(path, { recursive: true });
    this.#options = ['--root', root, '--runroot', runroot, '--storage-driver', 'overlay'];
  }

  /** Returns the output. @throws Error with the end of it */
  run(args, { timeout = 600_000, show = false } = {}) {
    const stdio = ['ignore', show ? 2 : 'pipe', show ? 2 : 'pipe'];
    const [command, ...rest] = args;
    const result = spawnSync('buildah', [...this.#options, command, ...rest], { encoding: 'utf8', stdio, timeout });
    if (result.status === 0) return (result.stdout ?? '').trim();
    const text = show
      ? 'see the lines above'
      : `${result.stdout}${result.stderr}`.trim().split('\n').slice(-10).join('\n');
    throw new Error(`buildah ${args.join(' ')}: ${result.error?.message ?? `exit ${result.status}`}: ${text}`);
  }

  /** The id of an image, undefined if there is none. */
  idOf(image) {
    return this.#inspect(image, '{{.FromImageID}}');
  }

  /** A label of an image, undefined without image or label. */
  labelOf(image, label) {
    return this.#inspect(image, `{{index .OCIv1.Config.Labels "${label}"}}`);
  }

  /** Makes an image of layers; `steps` adds to the working container. */
  make(image, labels, steps) {
    const container = this.run(['from', 'scratch']);
    try {
      steps(container);
      const flags = Object.entries(labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]);
      this.run(['config', ...flags, container]);
      this.run(['commit', '--quiet', container, image]);
    } finally {
      this.run(['rm', container]);
    }
  }

  #inspect(image, format) {
    const args = [...this.#options, 'inspect', '--type', 'image', '--format', format, image];
    const { status, stdout } = spawnSync('buildah', args, { encoding: 'utf8', timeout: 60_000 });
    const text = stdout?.trim();
    return status !== 0 || text === '' ? undefined : text;
  }
}
