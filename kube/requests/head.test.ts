import { describe, expect, it } from '@jest/globals';
import { JsonSyntaxError } from '#base';
import { readValue } from './head.ts';

describe('a text that is nested too deeply', () => {
  it('is not quoted if it is not JSON', () => {
    const text = `${'['.repeat(600)}{"password": hunter2}`;
    expect(() => readValue(text)).toThrow(JsonSyntaxError);
    expect(() => readValue(text)).not.toThrow(/password|hunter2/);
  });
});
