// Checks an OCI archive: an image with our labels for each platform.
import { spawnSync } from 'node:child_process';

const texts = ['title', 'description', 'licenses'];

/**
 * One line for each problem of an image archive.
 * @param readJson reads a file of the OCI layout, such as `index.json`
 */
export function archiveProblems(readJson, { platforms, version, revision }) {
  const configs = manifestsOf(readJson('index.json'), readJson).map(({ digest }) => configOf(digest, readJson));
  return platforms.flatMap((platform) => {
    const found = configs.find(({ os, architecture }) => `${os}/${architecture}` === platform);
    if (found === undefined) return [`no image for ${platform}`];
    const problems = labelProblems(found.config?.Labels ?? {}, { version, revision });
    return problems.map((problem) => `${platform}: ${problem}`);
  });
}

/** The manifests of an index, and of the indexes in it. */
function manifestsOf(index, readJson) {
  return index.manifests.flatMap((one) =>
    /\.(index|list)\.v\d/.test(one.mediaType ?? '') ? manifestsOf(readJson(blobOf(one.digest)), readJson) : [one],
  );
}

function configOf(digest, readJson) {
  return readJson(blobOf(readJson(blobOf(digest)).config.digest));
}

function blobOf(digest) {
  return `blobs/${digest.replace(':', '/')}`;
}

function labelProblems(labels, exact) {
  const name = (key) => `org.opencontainers.image.${key}`;
  return [
    ...Object.entries(exact)
      .filter(([key, value]) => labels[name(key)] !== value)
      .map(([key, value]) => `label ${name(key)} is ${labels[name(key)] ?? 'missing'}, not ${value}`),
    ...texts.filter((key) => !labels[name(key)]).map((key) => `label ${name(key)} is missing`),
  ];
}

/** Reads files of a tar archive as JSON. */
export function jsonReader(archive) {
  return (name) => {
    const { status, stdout, stderr } = spawnSync('tar', ['-xOf', archive, name], { encoding: 'utf8', maxBuffer: 16e6 });
    if (status !== 0) throw new Error(`${archive} has no ${name}: ${stderr.trim()}`);
    return JSON.parse(stdout);
  };
}
