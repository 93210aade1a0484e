// Local images with the names of the Dockerfile's base images, for machines without a registry:
// Debian by mmdebstrap, Node and npm from npm, Go from the installed toolchain.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { goVersion } from '../e2e/go.mjs';
import { imageNode, nodeVersion } from '../image/node.mjs';

const debian = 'trixie';
const aptSettings = ['Dir::Cache::pkgcache ""', 'Dir::Cache::srcpkgcache ""', 'APT::Keep-Downloaded-Packages "false"'];
/** As in the slim images that the Dockerfile names: no documentation, and apt-get keeps no files. */
const slim = [
  ...['doc', 'man', 'info', 'locale', 'lintian'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
  `--customize-hook=rm -f "$1"/var/cache/apt/*.bin; printf '%s;\\n' ${aptSettings.map((line) => `'${line}'`).join(' ')} > "$1/etc/apt/apt.conf.d/slim"`,
];
const npmVersion = '11.21.2';
const label = 'driftless.e2e.inputs';
const caFile = '/etc/ssl/certs/ca-certificates.crt';
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Makes the base images that the Dockerfile names, and the one of pods (`pause`), unless they exist
 * with the same inputs.
 */
export function makeBases(engine, { names, folder, source, say }) {
  const inputs = createHash('sha256')
    .update([debian, ...slim, nodeVersion, npmVersion, goVersion(), label].join())
    .digest('hex')
    .slice(0, 16);
  const make = (image, steps) => {
    if (engine.labelOf(image, label) === inputs) return;
    say(`making ${image}`);
    engine.make(image, { [label]: inputs }, steps);
  };
  make(names.node, (container) => nodeBase(engine, container, debianTar(folder, say)));
  make(names.go, (container) => goBase(engine, container, debianTar(folder, say)));
  make(names.pause, (container) => pauseImage(engine, container, source));
}

/** Debian's smallest variant and what Node links to, from the mirror of this machine. */
function debianTar(folder, say) {
  const tar = join(folder, `${debian}-slim.tar`);
  if (existsSync(tar)) return tar;
  say(`${debian}: mmdebstrap`);
  const fresh = join(folder, `${debian}.${process.pid}.tar`);
  const mirror = execFileSync(
    'apt-get',
    ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages', 'Origin: Debian'],
    { encoding: 'utf8' },
  ).split('\n')[0];
  const args = ['--quiet', '--mode=root', '--variant=minbase', '--include=libatomic1', ...slim, debian, fresh, mirror];
  const { status, stderr } = spawnSync('mmdebstrap', args, { encoding: 'utf8', timeout: 900_000 });
  if (status !== 0) rmSync(fresh, { force: true });
  if (status !== 0) throw new Error(`mmdebstrap ${debian}: ${stderr.trim().split('\n').slice(-10).join('\n')}`);
  renameSync(fresh, tar);
  return tar;
}

function nodeBase(engine, container, tar) {
  inFolder((folder) => {
    const local = join(folder, 'usr', 'local');
    mkdirSync(join(local, 'bin'), { recursive: true });
    copyFileSync(imageNode(), join(local, 'bin', 'node'));
    cpSync(npmFolder(folder), join(local, 'lib', 'node_modules', 'npm'), { recursive: true, verbatimSymlinks: true });
    rmSync(join(folder, 'npm'), { recursive: true });
    for (const name of ['npm', 'npx'])
      symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name));
    mkdirSync(join(local, 'etc'));
    writeFileSync(join(local, 'etc', 'npmrc'), `cafile=${caFile}\n`);
    trust(folder);
    engine.run(['add', container, tar, '/']);
    engine.run(['copy', container, folder, '/']);
  });
  engine.run(['config', '--env', `PATH=${path}`, '--env', `NODE_VERSION=${nodeVersion}`, '--cmd', 'node', container]);
}

function npmFolder(folder) {
  const cwd = join(folder, 'npm');
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'package.json'), '{"private":true}');
  const args = ['install', '--no-audit', '--no-fund', '--no-save', '--ignore-scripts', `npm@${npmVersion}`];
  const { status } = spawnSync('npm', args, { cwd, stdio: ['ignore', 2, 2], timeout: 300_000 });
  if (status !== 0) throw new Error(`cannot get npm@${npmVersion}: see the lines above`);
  return join(cwd, 'node_modules', 'npm');
}

function goBase(engine, container, tar) {
  const toolchain = execFileSync('go', ['env', 'GOROOT'], { encoding: 'utf8' }).trim();
  inFolder((folder) => {
    trust(folder);
    engine.run(['add', container, tar, '/']);
    engine.run(['copy', container, folder, '/']);
    engine.run(['copy', container, toolchain, '/usr/local/go']);
  });
  const env = [`PATH=/go/bin:/usr/local/go/bin:${path}`, 'GOPATH=/go', 'GOTOOLCHAIN=local'];
  engine.run(['config', ...env.flatMap((one) => ['--env', one]), container]);
}

function pauseImage(engine, container, source) {
  inFolder((folder) => {
    const env = { ...process.env, CGO_ENABLED: '0', GO111MODULE: 'off' };
    execFileSync('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', join(folder, 'pause'), source], { env });
    engine.run(['copy', container, join(folder, 'pause'), '/pause']);
  });
  engine.run(['config', '--entrypoint', '["/pause"]', '--user', '65535:65535', container]);
}

/** The build downloads packages with the CAs that this machine trusts. */
function trust(folder) {
  const bundle = process.env.NODE_EXTRA_CA_CERTS || caFile;
  mkdirSync(join(folder, dirname(caFile)), { recursive: true });
  if (existsSync(bundle)) copyFileSync(bundle, join(folder, caFile));
}

function inFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-base-'));
  try {
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
