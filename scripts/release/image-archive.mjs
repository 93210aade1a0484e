// `node scripts/release/image-archive.mjs ARCHIVE VERSION REVISION`: checks the OCI archive of a
// release: an image with our labels for each platform, and an SBOM and the provenance attached to it.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const releasePlatforms = ['linux/amd64', 'linux/arm64'];

/** In-toto predicate types that BuildKit attaches, by the beginning of the type. */
const attestations = { 'an SBOM': 'https://spdx.dev/Document', provenance: 'https://slsa.dev/provenance/' };
const texts = ['title', 'description', 'licenses'];

/**
 * One line for each problem of an image archive.
 * @param readJson reads a file of the OCI layout, such as `index.json`
 * @param expected platforms, version and revision of the image; `isAttested`: attestations are required
 */
export function archiveProblems(readJson, { platforms, version, revision, isAttested }) {
  const manifests = manifestsOf(readJson('index.json'), readJson);
  const images = manifests.filter(({ annotations }) => annotations?.[referenceType] === undefined);
  const configs = images.map(({ digest }) => ({ digest, config: configOf(digest, readJson) }));
  return platforms.flatMap((platform) => {
    const found = configs.find(({ config }) => `${config.os}/${config.architecture}` === platform);
    if (found === undefined) return [`no image for ${platform}`];
    const problems = labelProblems(found.config.config?.Labels ?? {}, { version, revision });
    const missing = isAttested ? missingAttestations(found.digest, manifests, readJson) : [];
    return [...problems, ...missing].map((problem) => `${platform}: ${problem}`);
  });
}

const referenceType = 'vnd.docker.reference.type';
const referenceDigest = 'vnd.docker.reference.digest';

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

function missingAttestations(digest, manifests, readJson) {
  const types = manifests
    .filter(
      ({ annotations }) =>
        annotations?.[referenceType] === 'attestation-manifest' && annotations[referenceDigest] === digest,
    )
    .flatMap((one) => readJson(blobOf(one.digest)).layers)
    .map(({ annotations }) => annotations?.['in-toto.io/predicate-type'] ?? '');
  return Object.entries(attestations)
    .filter(([, type]) => !types.some((found) => found.startsWith(type)))
    .map(([name]) => `${name} is not attached: use a builder that stores attestations`);
}

/** Reads files of a tar archive as JSON. */
export function jsonReader(archive) {
  return (name) => {
    const { status, stdout, stderr } = spawnSync('tar', ['-xOf', archive, name], { encoding: 'utf8', maxBuffer: 16e6 });
    if (status !== 0) throw new Error(`${archive} has no ${name}: ${stderr.trim()}`);
    return JSON.parse(stdout);
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [archive, version, revision] = process.argv.slice(2);
  const expected = { platforms: releasePlatforms, version, revision, isAttested: true };
  const problems = archiveProblems(jsonReader(archive), expected);
  for (const problem of problems) process.stderr.write(`${archive}: ${problem}\n`);
  process.exitCode = Math.min(problems.length, 1);
}
