import { describe, expect, it } from '@jest/globals';
import { JsonSyntaxError } from '#base';
import { readValue } from './head.ts';

describe('14.3: what is nested too deeply', () => {
  it('14.3: and is no JSON either is not quoted', () => {
    const text = `${'['.repeat(600)}{"password": hunter2}`;
    expect(() => readValue(text)).toThrow(JsonSyntaxError);
    expect(() => readValue(text)).not.toThrow(/password|hunter2/);
  });
});
