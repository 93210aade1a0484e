// How big the image is: unpacked on a node, and packed as registries store it.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';

const megabyte = 1_000_000;
/** Above what the image has, so that growth is noticed. */
export const sizeLimitsMb = { unpacked: 355, packed: 118 };

/** Sizes of a docker-archive, whose layers are not compressed, in MB. */
export async function sizesOf(archive) {
  const kept = `${archive}.packed`;
  if (!existsSync(kept)) writeFileSync(kept, String(await packedBytes(archive)));
  const toMb = (bytes) => Math.round(bytes / megabyte);
  return { unpacked: toMb(statSync(archive).size), packed: toMb(Number(readFileSync(kept, 'utf8'))) };
}

/** One line for each size that is above its limit. */
export function tooBig(sizes, limits = sizeLimitsMb) {
  return Object.keys(limits)
    .filter((name) => sizes[name] > limits[name])
    .map((name) => `the image has ${sizes[name]} MB ${name}, above its limit of ${limits[name]} MB`);
}

function packedBytes(path) {
  const child = spawn('gzip', ['--stdout', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  let bytes = 0;
  child.stdout.on('data', (chunk) => (bytes += chunk.length));
  return new Promise((done, failed) => {
    child.once('error', failed);
    child.once('close', (code) => (code === 0 ? done(bytes) : failed(new Error(`gzip ${path}: exit ${code}`))));
  });
}
