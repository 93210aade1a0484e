// Builds the image by the unmodified Dockerfile, and writes archives that containerd imports.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pairsOf, parseDockerfile, stagesOf } from '../image/dockerfile.mjs';
import { root } from '../root.mjs';
import { makeBases } from './bases.mjs';
import { Engine } from './engine.mjs';

const pause = 'localhost/pause:e2e';

/**
 * Builds `image` from the files in `context`, and returns it with the archives of it and of the image
 * of pods, and if `packs` with an OCI archive (`packed`), whose layers are compressed as in a registry.
 * @throws Error with the step that failed
 */
export function buildImage({ image, context = root, buildArgs = {}, packs = false, folder, say }) {
  const engine = new Engine(folder);
  const bases = basesOf(readFileSync(join(context, 'Dockerfile'), 'utf8'));
  const names = { node: bases.NODE_IMAGE, go: bases.GO_IMAGE, pause };
  makeBases(engine, { names, folder, source: join(root, 'scripts', 'e2e-node', 'pause.go'), say });
  say(`${image}: buildah bud (minutes on a small machine; layers that did not change are kept)`);
  engine.run(
    [
      ...['bud', '--isolation', 'chroot', '--pull-never', '--layers', '--quiet', ...goCaches()],
      ...Object.entries(buildArgs).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
      ...['--tag', image, context],
    ],
    { timeout: 1_800_000, show: true },
  );
  return {
    image,
    pause,
    archives: [image, pause].map((name) => archive(engine, name, folder)),
    ...(packs ? { packed: archive(engine, image, folder, 'oci') } : {}),
  };
}

/** The base images that the head of the Dockerfile names, by argument. */
function basesOf(text) {
  const { head } = stagesOf(parseDockerfile(text));
  return Object.fromEntries(head.flatMap(({ name, args }) => (name === 'ARG' ? pairsOf(args) : [])));
}

/** Go's checksum database still verifies every module. */
function goCaches() {
  const of = (name) => execFileSync('go', ['env', name], { encoding: 'utf8' }).trim();
  const mounts = { '/go/pkg/mod': of('GOMODCACHE'), '/root/.cache/go-build': of('GOCACHE') };
  for (const path of Object.values(mounts)) mkdirSync(path, { recursive: true });
  return Object.entries(mounts).flatMap(([target, path]) => ['--volume', `${path}:${target}`]);
}

/** One archive for each image: an unchanged one is kept, an older one removed. */
function archive(engine, image, folder, format = 'docker') {
  const name = `${format === 'docker' ? '' : `${format}-`}${image.replaceAll(/[^a-z0-9]+/g, '-')}`;
  const path = join(folder, `${name}@${engine.idOf(image).slice(0, 16)}.tar`);
  if (!existsSync(path)) {
    for (const old of readdirSync(folder)) if (old.startsWith(`${name}@`)) rmSync(join(folder, old));
    const fresh = `${path}.${process.pid}`;
    engine.run(['push', '--quiet', image, `${format}-archive:${fresh}:${image}`]);
    renameSync(fresh, path);
  }
  return path;
}
