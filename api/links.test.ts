import { describe, expect, it } from '@jest/globals';
import { UsageError } from '#base';
import { parseLinkTemplate } from './links.ts';

const parse = (template: string): ReturnType<typeof parseLinkTemplate> =>
  parseLinkTemplate('--dashboard-grafana-url', 'Grafana', template);

describe('a link to Grafana', () => {
  it('has the encoded values of its subject; absent ones are empty', () => {
    const link = parse('https://grafana.example/d/x?var-app={namespace}/{application}&var-cluster={cluster}');
    expect(link({ namespace: 'team-a', application: 'a&b=c#d' })).toEqual({
      name: 'Grafana',
      url: 'https://grafana.example/d/x?var-app=team-a/a%26b%3Dc%23d&var-cluster=',
    });
  });

  it.each(['javascript:alert(1)', 'ftp://grafana.example/', 'grafana.example/d/x', 'https://', 'https:///x', ''])(
    'is refused unless it is an http or https URL: %s',
    (template) => {
      expect(() => parse(template)).toThrow(UsageError);
      expect(() => parse(template)).toThrow('--dashboard-grafana-url: must be an http or https URL');
    },
  );

  it.each([
    'https://{cluster}.example/d/x',
    'https://me:secret@grafana.example/',
    'https://grafana.example:{server}/x',
  ])('has a fixed host without credentials: %s', (template) => {
    expect(() => parse(template)).toThrow(/must (?:have no placeholder|be an http)/);
  });

  it('refuses a placeholder that it does not know, and names those that it does', () => {
    expect(() => parse('https://grafana.example/{app}')).toThrow(
      '{app} is no placeholder; use {namespace}, {application}',
    );
  });

  it.each(['https://grafana.example/../{server}', 'https://grafana.example#{server}'])(
    'keeps its host whatever a tenant calls a cluster: %s',
    (template) => {
      const { url } = parse(template)({ server: '//evil.example/@\\..\u0000\ud800' });
      expect(new URL(url).host).toBe('grafana.example');
    },
  );
});
