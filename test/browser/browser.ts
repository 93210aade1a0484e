import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/** Screenshots of every run are kept here. */
const screenshots = join('build', 'browser');

export function startBrowser(): Promise<Browser> {
  mkdirSync(screenshots, { recursive: true });
  // Chromium's sandbox needs rights that containers lack; only our own page is opened.
  return chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
}

/** A page that records errors of scripts, and what the Content-Security-Policy blocks. */
export class WatchedPage {
  readonly page: Page;
  readonly #faults: string[] = [];

  constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(10_000);
    page.on('pageerror', ({ message }) => this.#faults.push(message));
    page.on('console', (message) => {
      // A refused request is logged as an error, too: the page shows it.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        this.#faults.push(message.text());
    });
  }

  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
    const context = await browser.newContext({
      viewport: { width: 1360, height: 860 },
      reducedMotion: 'reduce',
      ...options,
    });
    const watched = new WatchedPage(await context.newPage());
    await watched.page.goto(url);
    return watched;
  }

  async screenshot(name: string): Promise<void> {
    await this.page.screenshot({ path: join(screenshots, `${name}.png`) });
  }

  /** Fails on any violation of WCAG 2.2 AA that axe-core finds, and on faults so far. */
  async check(): Promise<void> {
    // Evaluated by the protocol, outside of the page's policy.
    const { source } = axe();
    const violations = await this.page.evaluate(`(async () => {
      const module = { exports: {} };
      ${source}
      const { violations } = await axe.run(document, {
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      });
      return violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ target, failureSummary }) => target + ' ' + failureSummary).join(' | '));
    })()`);
    expect(violations).toEqual([]);
    this.expectNoFaults();
  }

  expectNoFaults(): void {
    expect(this.#faults).toEqual([]);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

function axe(): { readonly source: string } {
  return {
    source: readFileSync(createRequire(join(process.cwd(), 'package.json')).resolve('axe-core/axe.min.js'), 'utf8'),
  };
}
