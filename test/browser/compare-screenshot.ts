import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import type { Browser, Page } from 'playwright-core';

/** Kept with the tests. `DRIFTLESS_UPDATE_SCREENSHOTS=1 npm run browser` writes them anew. */
const folder = join('test', 'browser', 'screenshots');
/**
 * Means of blocks are compared, not pixels: fonts differ between machines, and move the ink within
 * a block and a few texts to the next one.
 */
const blockPixels = 16;
/** In steps of 255, in any colour. Ink changes a block by less, a missing panel or badge more. */
const maxChannelDifference = 26;
/** A wrapped line or a moved badge is a percent; a missing panel several. */
export const maxDifferentShare = 0.03;

/** The share of blocks in which two images differ; 1 if their sizes differ. */
export async function differentShare(browser: Browser, images: readonly [Buffer, Buffer]): Promise<number> {
  const page = await browser.newPage();
  try {
    const sources = images.map((image) => `data:image/png;base64,${image.toString('base64')}`);
    return await page.evaluate<number>(
      `(${compareInPage})(${JSON.stringify([...sources, blockPixels, maxChannelDifference])})`,
    );
  } finally {
    await page.close();
  }
}

/** A canvas that is smaller by the block size averages the blocks. */
const compareInPage = `async ([first, second, block, limit]) => {
  const blocksOf = async (url) => {
    const image = await createImageBitmap(await (await fetch(url)).blob());
    const [width, height] = [Math.floor(image.width / block), Math.floor(image.height / block)];
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, width * block, height * block);
    const sums = new Float64Array(width * height * 3);
    for (let y = 0; y < height * block; y += 1)
      for (let x = 0; x < width * block; x += 1) {
        const from = 4 * (y * width * block + x);
        const to = 3 * (Math.floor(y / block) * width + Math.floor(x / block));
        for (let channel = 0; channel < 3; channel += 1) sums[to + channel] += data[from + channel];
      }
    return { size: image.width + 'x' + image.height, means: sums.map((sum) => sum / (block * block)) };
  };
  const [a, b] = [await blocksOf(first), await blocksOf(second)];
  if (a.size !== b.size) return 1;
  let different = 0;
  for (let i = 0; i < a.means.length; i += 3)
    if ([0, 1, 2].some((channel) => Math.abs(a.means[i + channel] - b.means[i + channel]) > limit)) different += 1;
  return different / (a.means.length / 3);
}`;

/** The share of blocks in which the page differs from the kept screenshot; writes it if asked. */
export async function differenceFromKept(browser: Browser, page: Page, name: string): Promise<number> {
  const path = join(folder, `${name}.png`);
  const now = await page.screenshot();
  if (env['DRIFTLESS_UPDATE_SCREENSHOTS'] === '1') {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, now);
  }
  if (!existsSync(path))
    throw new Error(`${path} is missing: run DRIFTLESS_UPDATE_SCREENSHOTS=1 npm run browser, and look at it`);
  return differentShare(browser, [readFileSync(path), now]);
}
