// How big the image is: unpacked on a node, and packed as registries store it.
import { statSync } from 'node:fs';

const megabyte = 1_000_000;
/** Maximum sizes of the image. gpg-agent, for PGP keys of SOPS, takes two MB of them. */
export const sizeLimitsMb = { unpacked: 302, packed: 111 };

/** Sizes in MB of an archive whose layers are not compressed, and of one whose layers are. */
export function sizesOf({ unpacked, packed }) {
  const megabytes = (path) => Math.round(statSync(path).size / megabyte);
  return { unpacked: megabytes(unpacked), packed: megabytes(packed) };
}

/** One line for each size that is above its limit. */
export function tooBig(sizes, limits = sizeLimitsMb) {
  return Object.keys(limits)
    .filter((name) => sizes[name] > limits[name])
    .map((name) => `the image has ${sizes[name]} MB ${name}, above its limit of ${limits[name]} MB`);
}
