import { climb, configMap, each } from './attempt.ts';
import type { HostileAttempt, HostileTargets } from './attempt.ts';

/**
 * Repositories, revisions, submodules, LFS, registries and plugins that point at the controller.
 */
export function addressAttempts(targets: HostileTargets): HostileAttempt[] {
  const { tokenFile, cacheFolder, port, repository, socket, environmentName } = targets;
  const hosts = [
    `127.0.0.1`,
    `localhost`,
    `localhost.`,
    `127.1`,
    `0x7f000001`,
    `2130706433`,
    `0`,
    `0.0.0.0`,
    `[::1]`,
    `[::ffff:127.0.0.1]`,
    `[::]`,
    `017700000001`,
    `127.0.0.1.nip.io`,
  ];
  const authority = hosts.map((host) => `${host}:${port}`);
  return [
    ...each(authority, (host) => ({ name: 'git-http', source: { repoURL: `http://${host}/x.git` } })),
    ...each(authority, (host) => ({ name: 'git-login', source: { repoURL: `https://user:hunter2@${host}/x.git` } })),
    ...each(authority, (host) => ({
      name: 'chart-http',
      source: { repoURL: `http://${host}/c`, chart: 'c', targetRevision: '1.0.0' },
    })),
    ...each(authority, (host) => ({
      name: 'chart-oci',
      source: { repoURL: host, chart: 'c', targetRevision: '1.0.0' },
    })),
    ...each(authority, (host) => ({
      name: 'image-oci',
      source: { repoURL: `oci://${host}/c`, path: '.', targetRevision: '1.0.0' },
    })),
    ...each(
      [
        `ssh://git@127.0.0.1:${port}/x.git`,
        'git@localhost:x.git',
        `ssh://-oProxyCommand=cat${tokenFile}/x.git`,
        `-oProxyCommand=cat ${tokenFile}:x`,
        `--upload-pack=cat ${tokenFile}`,
        `ext::cat ${tokenFile}`,
        `ext::sh -c cat% ${tokenFile}% >&2`,
        `fd::3`,
        `git://127.0.0.1:${port}/x`,
        `ftp://127.0.0.1:${port}/x`,
        `file://${tokenFile}`,
        `file://${cacheFolder}`,
        cacheFolder,
        tokenFile,
        `http://unix:${socket}:/x.git`,
        'http://169.254.169.254/latest/meta-data',
        'http://metadata.google.internal/x.git',
      ],
      (repoURL) => ({ name: 'repo-url', source: { repoURL } }),
    ),
    ...each(
      [
        '--upload-pack=cat',
        `--output=${tokenFile}`,
        `-c core.sshCommand=x`,
        `HEAD:${tokenFile}`,
        `../../../${tokenFile}`,
        `main\n${tokenFile}`,
        '@{-1}',
        `refs/heads/main^{/x}`,
        ':/x',
      ],
      (targetRevision) => ({ name: 'revision', source: { repoURL: repository, path: 'dir-ok', targetRevision } }),
    ),
    ...each(['-x', '--help', 'c,d', `../../${tokenFile}`, 'c?x=y'], (chart) => ({
      name: 'chart-name',
      source: { repoURL: `http://127.0.0.1:${port}/c`, chart, targetRevision: '1.0.0' },
    })),
    ...each([`x`, `../secrets/api`, climb(socket).replace(/\.sock$/, ''), socket.replace(/\.sock$/, '')], (name) => ({
      name: 'plugin',
      files: { 'cm.yaml': configMap('p', {}) },
      source: {
        plugin: {
          name,
          env: [
            { name: 'LD_PRELOAD', value: tokenFile },
            { name: environmentName, value: `$${environmentName}` },
          ],
          parameters: [{ name: `a=${tokenFile}`, string: `@${tokenFile}` }],
        },
      },
    })),
    {
      name: 'lfs',
      files: {
        '.lfsconfig': `[lfs]\n\turl = http://127.0.0.1:${port}/lfs\n`,
        '.gitattributes': '*.yaml filter=lfs diff=lfs merge=lfs -text\n',
        'a.yaml': `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12\n`,
      },
    },
    ...each(
      [
        `http://127.0.0.1:${port}/sub.git`,
        `file://${cacheFolder}`,
        cacheFolder,
        climb(cacheFolder),
        `ext::cat ${tokenFile}`,
        `-u./x`,
      ],
      (url) => ({
        name: 'submodule',
        source: { directory: { recurse: true } },
        files: {
          'cm.yaml': configMap('sub', {}),
          '.gitmodules': `[submodule "s"]\n\tpath = s\n\turl = ${url}\n\tupdate = !cat ${tokenFile}\n`,
          s: { submodule: 'a'.repeat(40) },
        },
      }),
    ),
    {
      name: 'multi-repeat',
      sources: [
        { repoURL: repository, path: 'dir-ok', targetRevision: 'main', name: `--x=${tokenFile}` },
        { repoURL: `http://127.0.0.1:${port}/x.git`, path: '.', ref: tokenFile },
      ],
    },
    {
      name: 'hydrated',
      source: {
        repoURL: repository,
        directory: { exclude: `/../${tokenFile}`, include: tokenFile },
        path: 'dir-ok',
      },
    },
  ];
}
