import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ApiFault } from './fault.ts';
import { continueAfter, formatApiRequest, parseApiRequest } from './request.ts';

describe('a request', () => {
  it.each([
    '/api/v1/replica',
    '/api/v1/ownership',
    '/api/v1/clusters',
    '/api/v1/queues',
    '/api/v1/repositories',
    '/api/v1/events',
    '/api/v1/costs/kinds',
    '/api/v1/clusters/https%3A%2F%2Fkubernetes.default.svc',
    '/api/v1/applications/argocd/shop',
    '/api/v1/applications?project=p&text=x&limit=5',
  ])('%s is understood, and written as it was read', (target) => {
    const parsed = parseApiRequest(target);
    expect(parseApiRequest(formatApiRequest(parsed))).toEqual(parsed);
  });

  it.each([
    ['/', 404],
    ['/api/v1', 404],
    ['/api/v2/replica', 404],
    ['/api/v1/nothing', 404],
    ['/api/v1/replica/more', 404],
    ['/api/v1/applications/only', 404],
    ['/api/v1/applications/a/b/c', 404],
    ['/api/v1/applications//b', 404],
    ['/api/v1/applications/%zz/b', 404],
    ['/api/v1/costs', 404],
    ['/api/v1/costs/everything', 404],
    ['/api/v1/replica?x=1', 400],
    ['/api/v1/applications?labels=a', 400],
    ['/api/v1/applications?limit=0', 400],
    ['/api/v1/applications?limit=1001', 400],
    ['/api/v1/applications?limit=ten', 400],
    ['/api/v1/applications?project=a&project=b', 400],
    [`/api/v1/applications?text=${'x'.repeat(600)}`, 400],
    ['/api/v1/applications?continue=nonsense', 400],
    [`/api/v1/${'x'.repeat(5000)}`, 414],
  ])('%.60s is refused with %i', (target, status) => {
    let found: unknown;
    try {
      parseApiRequest(target);
    } catch (error) {
      found = error;
    }
    expect(found).toBeInstanceOf(ApiFault);
    expect(found).toMatchObject({ status });
  });

  it('an unknown query parameter is named', () => {
    expect(() => parseApiRequest('/api/v1/applications?colour=red')).toThrow('unknown query parameter "colour"');
  });

  it('no text makes it throw anything else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webPath()), (text) => {
        for (const target of [text, `/api/v1/${text}`, `/api/v1/applications?${text}`])
          try {
            parseApiRequest(target);
          } catch (error) {
            expect(error).toBeInstanceOf(ApiFault);
          }
      }),
    );
  });

  it('a token survives its way for every key', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 300 }), (key) => {
        const target = `/api/v1/applications?continue=${continueAfter(key)}`;
        if (continueAfter(key).length <= 512) expect(parseApiRequest(target)).toMatchObject({ after: key });
      }),
    );
  });
});
