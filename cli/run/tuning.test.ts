import { expect, it } from '@jest/globals';
import { readArgs } from '../options/args.ts';
import { runOptions } from '../options/run-options.ts';
import { connectionLimits } from './tuning.ts';

function limitsOf(argv: readonly string[], rate = 1): ReturnType<typeof connectionLimits> {
  return connectionLimits(readArgs(runOptions, argv, {}).config, rate);
}

it.each([
  ['twice the rate by default', [], 1, { qps: 50, burst: 100 }],
  ['multiplied for the hub, by default too', [], 4, { qps: 200, burst: 400 }],
  ['as set', ['--k8s-client-qps=10', '--k8s-client-burst=30'], 1, { qps: 10, burst: 30 }],
  ['as set, multiplied for the hub', ['--k8s-client-qps=10', '--k8s-client-burst=30'], 4, { qps: 40, burst: 120 }],
])('a burst of requests is %s', (_title, argv, rate, expected) => {
  expect(limitsOf(argv, rate)).toMatchObject(expected);
});

it.each([
  ['0s', 15_000],
  ['7s', 7000],
])("--k8s-tcp-keepalive=%s means %s ms, as in Go's dialer", (given, expected) => {
  expect(limitsOf([`--k8s-tcp-keepalive=${given}`]).keepAliveMs).toBe(expected);
});
