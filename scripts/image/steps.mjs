// Runs the steps of a Dockerfile without a container engine: each stage has its own folder, and
// absolute paths point into it. What needs an engine (the stage with system packages, owners of
// files) is skipped and reported. In place of base images: this machine, with the image's Node
// version and the local Go.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fill, pairsOf } from './dockerfile.mjs';
import { cacheFolder } from './node.mjs';

const enginesOnly = new Set(['chown']);

/**
 * Runs all stages below `folder`. Returns folder and environment of the last stage, and the skipped
 * commands.
 * @throws Error that names the failed instruction
 */
export function runStages({ head, stages }, { folder, context, ignore, node, say }) {
  const run = { folder, context, ignored: ignoreRules(ignore), node, say, skipped: [], done: new Map() };
  const globals = Object.fromEntries(head.flatMap(({ name, args }) => (name === 'ARG' ? pairsOf(args) : [])));
  for (const stage of stages) {
    const at = { root: join(folder, stage.name), workdir: '/', args: {}, env: {}, base: fill(stage.base, globals) };
    mkdirSync(join(at.root, 'tmp'), { recursive: true });
    run.done.set(stage.name, at);
    // Its steps change the system that they run on.
    at.isSkipped = stage.instructions.some(({ name, args }) => name === 'RUN' && args.startsWith('apt-get '));
    if (at.isSkipped) run.skipped.push(`the stage ${stage.name}`);
    else for (const one of stage.instructions) step(one, at, run);
  }
  return { ...run.done.get(stages.at(-1).name), skipped: run.skipped };
}

function step({ name, args }, at, run) {
  const known = { ...at.args, ...at.env };
  if (name === 'ARG') Object.assign(at.args, Object.fromEntries(pairsOf(args, known)));
  else if (name === 'ENV') Object.assign(at.env, Object.fromEntries(pairsOf(args, known)));
  else if (name === 'WORKDIR') mkdirSync(join(at.root, (at.workdir = args)), { recursive: true });
  else if (name === 'COPY') copy(args, at, run);
  else if (name === 'RUN') runShell(args, at, run);
}

/**
 * COPY: the contents of a folder, or a file, which goes into the target if that is a folder or ends
 * with a slash.
 */
function copy(text, at, run) {
  const words = text.split(' ').filter((word) => !word.startsWith('--'));
  const from = /--from=(\S+)/.exec(text)?.[1];
  const target = words.pop();
  const to = target.startsWith('/') ? join(at.root, target) : join(at.root, at.workdir, target);
  for (const path of words) {
    const source = join(from === undefined ? run.context : run.done.get(from).root, path);
    if (from !== undefined && run.done.get(from).isSkipped) continue;
    if (!existsSync(source)) throw new Error(`COPY ${text}: ${path} does not exist`);
    if (statSync(source).isDirectory()) copyFolder(source, to, from === undefined ? run : undefined);
    else copyFile(source, target.endsWith('/') || isFolder(to) ? join(to, basename(source)) : to);
  }
}

function copyFile(source, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(source, to);
}

function copyFolder(source, to, run) {
  mkdirSync(to, { recursive: true });
  if (run === undefined) {
    cpSync(source, to, { recursive: true, verbatimSymlinks: true });
    return;
  }
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    const path = relative(run.context, join(source, entry.name));
    if (entry.isDirectory()) {
      if (mayHold(path, run.ignored)) copyFolder(join(source, entry.name), join(to, entry.name), run);
    } else if (!isIgnored(path, run.ignored)) copyFile(join(source, entry.name), join(to, entry.name));
  }
}

function isFolder(path) {
  return existsSync(path) && statSync(path).isDirectory();
}

/** Rules of .dockerignore. The last one that matches a path or a parent folder decides. */
function ignoreRules(text) {
  const lines = text.split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ isKept: line.startsWith('!'), pattern: line.replace(/^!/, '') }))
    .map((rule) => ({ ...rule, matches: glob(rule.pattern) }));
}

/** The subset of Docker's patterns that we use: `*` within a name, a leading `**` for any depth. */
function glob(pattern) {
  const text = pattern
    .replace(/[.+?^$()|[\]{}\\]/g, '\\$&')
    .replaceAll('**/', '\0')
    .replaceAll('*', '[^/]*')
    .replaceAll('\0', '(?:.*/)?');
  return new RegExp(`^${text}$`);
}

function isIgnored(path, rules) {
  const parts = path.split('/');
  const prefixes = parts.map((_, i) => parts.slice(0, i + 1).join('/'));
  const last = rules.findLast(({ matches }) => prefixes.some((prefix) => matches.test(prefix)));
  return last !== undefined && !last.isKept;
}

function mayHold(path, rules) {
  return !isIgnored(path, rules) || rules.some(({ isKept, pattern }) => isKept && pattern.startsWith(`${path}/`));
}

function runShell(text, at, run) {
  if (/^golang[:@]/.test(at.base)) return runGo(text, at, run);
  for (const command of text.split(' && ')) {
    const word = command.split(' ', 1)[0];
    if (enginesOnly.has(word)) run.skipped.push(word);
    else shell(moved(command, at.root), at, run);
  }
}

/**
 * Takes minutes, so the results are cached beside the tools of e2e, keyed by the text of the line.
 */
function runGo(text, at, run) {
  const line = fill(text, { ...at.args, ...at.env });
  const key = createHash('sha256')
    .update(JSON.stringify([line, at.env]))
    .digest('hex')
    .slice(0, 16);
  const kept = cacheFolder(`image-tools-${key}`);
  const out = join(at.root, 'out');
  if (!isFolder(kept)) {
    if (spawnSync('go', ['version']).status !== 0) {
      at.isSkipped = true;
      run.skipped.push('go install (Go is not here)');
      return;
    }
    run.say('go install of helm, kustomize and jsonnet (minutes, once)');
    const modules = spawnSync('go', ['env', 'GOMODCACHE'], { encoding: 'utf8' }).stdout.trim();
    shell(moved(text, at.root), at, run, { GOMODCACHE: modules });
    cpSync(out, kept, { recursive: true });
  } else cpSync(kept, out, { recursive: true });
}

/** Rewrites absolute paths of the image to paths below the stage's folder. */
function moved(text, root) {
  return text.replace(/(^|[\s="'])\/(?=\w)/g, (_, before) => `${before}${root}/`);
}

function shell(command, at, run, more = {}) {
  const own = Object.entries({ ...at.args, ...at.env }).map(([key, value]) => [key, moved(value, at.root)]);
  const env = {
    ...process.env,
    ...Object.fromEntries(own),
    ...more,
    HOME: process.env.HOME,
    PATH: `${dirname(run.node)}:${process.env.PATH}`,
  };
  const { status } = spawnSync('sh', ['-ec', command], {
    cwd: join(at.root, at.workdir),
    env,
    stdio: ['ignore', 2, 2],
    timeout: 1_500_000,
  });
  if (status !== 0) throw new Error(`RUN ${command}: exit ${status}`);
}

/**
 * Adds what an engine gives to the last stage: Node, a home owned by the user, everything readable
 * and only that home writable.
 */
export function finish(last, node, user) {
  copyFile(node, join(last.root, 'usr/local/bin/node'));
  chmodSync(join(last.root, 'usr/local/bin/node'), 0o755);
  spawnSync('chmod', ['-R', 'go+rX,go-w', last.root]);
  if (process.getuid?.() === 0) spawnSync('chown', ['-R', `${user}:${user}`, join(last.root, 'home')]);
}
