import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, uptime } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { bootClock } from './boot-clock.ts';

describe('the boot clock', () => {
  let folder = '';
  let file = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'boot-clock-'));
    file = join(folder, 'uptime');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const clockOf = (text: string): (() => number) => {
    writeFileSync(file, text);
    return bootClock({ file, uptime: () => 77 });
  };

  it('shows a suspend at the very next reading', () => {
    const now = clockOf('66159.87 131063.46\n');
    expect(now()).toBeCloseTo(66_159_870);
    writeFileSync(file, '70000.12 131063.46\n');
    expect(now()).toBeCloseTo(70_000_120);
  });

  it.each(['', 'no number\n'])('asks the system where the file is no number: %j', (text) => {
    expect(clockOf(text)()).toBe(77_000);
  });

  it('asks the system where the file does not exist', () => {
    expect(bootClock({ file: join(folder, 'missing'), uptime: () => 77 })()).toBe(77_000);
  });

  it('agrees with the clock of this machine', () => {
    const before = uptime() * 1000;
    const now = bootClock()();
    expect(now).toBeGreaterThanOrEqual(before - 20);
    expect(now).toBeLessThanOrEqual(uptime() * 1000 + 20);
  });
});
