// What the image is made of, for the scripts that check it.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The Node version of the image: the newest of the newest LTS line on which the tests have run. */
export const nodeVersion = '26.10.0';

/** A folder outside the repository. */
export function cacheFolder(name) {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'driftless', name);
}

/**
 * The path of that Node, from npm when the cache does not have it yet.
 * @throws Error when npm cannot deliver it
 */
export function imageNode() {
  const cache = cacheFolder(`node-${nodeVersion}`);
  const node = join(cache, 'node_modules', 'node', 'bin', 'node');
  if (works(node)) return node;
  process.stderr.write(`driftless: fetching Node ${nodeVersion} ...\n`);
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, 'package.json'), '{"private":true}');
  const args = ['install', '--no-audit', '--no-fund', '--no-save', `node@${nodeVersion}`];
  const { status } = spawnSync('npm', args, { cwd: cache, stdio: ['ignore', 2, 2] });
  if (status !== 0 || !works(node)) throw new Error(`cannot get node@${nodeVersion} from npm: see the lines above`);
  return node;
}

function works(node) {
  return existsSync(node) && spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim() === `v${nodeVersion}`;
}

/** Instructions of a Dockerfile: continued lines joined, comments dropped. */
export function parseDockerfile(text) {
  const joined = text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replace(/\\\n/g, ' ');
  return joined
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => ({
      name: line.split(/\s+/, 1)[0].toUpperCase(),
      args: line
        .replace(/^\S+\s+/, '')
        .replace(/\s+/g, ' ')
        .trim(),
    }));
}

/** The same by stages: what stands before the first FROM, then each FROM with its name and its instructions. */
export function stagesOf(instructions) {
  const head = [];
  const stages = [];
  for (const one of instructions) {
    if (one.name === 'FROM') {
      const [, base, name] = /^(\S+)(?: AS (\S+))?$/i.exec(one.args) ?? [];
      stages.push({ base: base ?? one.args, name: name ?? `stage-${stages.length}`, instructions: [] });
    } else (stages.at(-1)?.instructions ?? head).push(one);
  }
  return { head, stages };
}

/** `A=1 B="two words"` as pairs; `$A` and `${A}` are filled in. */
export function pairsOf(text, known = {}) {
  const pairs = [...text.matchAll(/([\w.]+)=("[^"]*"|\S*)/g)];
  return pairs.map(([, key, value]) => [key, fill(value.replace(/^"|"$/g, ''), known)]);
}

export function fill(text, known) {
  return text.replace(/\$\{(\w+)\}|\$(\w+)/g, (whole, a, b) => known[a ?? b] ?? whole);
}
