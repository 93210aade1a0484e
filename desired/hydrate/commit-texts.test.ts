import { describe, expect, it } from '@jest/globals';
import { cleanMessage, defaultCommitMessage, defaultReadme } from './commit-texts.ts';
import { metadataJson, metadataOf, readTrailers } from './dry-commit.ts';

const sha = '3ff41cc5247197a6caf50216c4c76cc29d78a97d';
const repoURL = 'https://git/example';
const author = 'test <test@test.com>';
const dry = { author, authoredAt: 0, message: 'testSubject', references: [] };

describe('the default commit message', () => {
  it.each([
    ['a subject alone', dry, '3ff41cc: testSubject\n\nCo-authored-by: test <test@test.com>\n'],
    ['no author', { ...dry, author: '' }, '3ff41cc: testSubject\n\n'],
    [
      'a body and references',
      { ...dry, message: 'testSubject\n\ntestBody', references: [{ author: 'ref <r@x>' }, { subject: 'no author' }] },
      '3ff41cc: testSubject\n\ntestBody\n\n\nCo-authored-by: ref <r@x>\nCo-authored-by: test <test@test.com>\n',
    ],
  ])('has Argo CD’s text for %s', (_what, commit, expected) => {
    expect(defaultCommitMessage(metadataOf(repoURL, sha, commit))).toBe(expected);
  });
});

it('README.md lists the commands and the related commits', () => {
  const metadata = { repoURL, drySha: sha, commands: ['helm template .'] };
  expect(defaultReadme(metadata)).toBe(
    `# Manifest Hydration\n\nTo hydrate the manifests in this repository, run the following commands:\n\n\`\`\`shell\ngit clone ${repoURL}\n# cd into the cloned directory\ngit checkout ${sha}\nhelm template .\n\`\`\`\n`,
  );
  const related = {
    ...metadata,
    references: [{ sha: 'abcdef0123', repoURL: 'https://code', subject: 's', author: 'a' }],
  };
  expect(defaultReadme(related)).toContain('\n## References\n\n* [abcdef0](https://code): s (a)\n');
});

describe('trailers of the dry commit', () => {
  it('become one related commit, and leave the body', () => {
    const text = [
      'Signed-off-by: CI <ci@example.com>',
      'Argocd-reference-commit-author: Author Name <author@example.com>',
      'Argocd-reference-commit-sha: b82add298aa045d3672880802d5305c5a8aaa46e',
      'Argocd-reference-commit-subject: chore: make a change',
      'Argocd-reference-commit-body: "make a change\\n\\nend"',
      'Argocd-reference-commit-repourl: https://git.example.com/owner/repo',
      'Argocd-reference-commit-date: 2025-06-09T13:50:18-04:00',
    ].join('\n');
    expect(readTrailers(text)).toEqual({
      related: {
        author: '"Author Name" <author@example.com>',
        sha: 'b82add298aa045d3672880802d5305c5a8aaa46e',
        subject: 'chore: make a change',
        body: 'make a change\n\nend',
        repoURL: 'https://git.example.com/owner/repo',
        date: '2025-06-09T13:50:18-04:00',
      },
      rest: 'Signed-off-by: CI <ci@example.com>\n',
    });
  });

  it.each([
    'Argocd-reference-commit-sha: NOTHEX',
    'Argocd-reference-commit-date: yesterday',
    'Argocd-reference-commit-body: not json',
    'Argocd-reference-commit-author: nobody',
    'Argocd-reference-commit-other: x',
  ])('that are invalid stay in the body: %s', (line) => {
    expect(readTrailers(line)).toEqual({ related: undefined, rest: `${line}\n` });
  });
});

it('metadata keeps Argo CD’s order of fields and leaves out the empty ones', () => {
  const json = metadataJson(metadataOf(repoURL, sha, { ...dry, message: 's\n\nb', references: [{ sha: 'abcde' }] }));
  expect(Object.keys(json)).toEqual(['repoURL', 'drySha', 'author', 'date', 'subject', 'body', 'references']);
  expect(json).toMatchObject({ date: '1970-01-01T00:00:00Z', body: 'b\n', references: [{ commit: { sha: 'abcde' } }] });
  expect(metadataJson({ repoURL, drySha: sha })).toEqual({ repoURL, drySha: sha });
});

it('messages are cleaned as git commit does', () => {
  expect(cleanMessage('\n\n a  \n\n\n\nb\t\n\n')).toBe(' a\n\nb\n');
  expect(cleanMessage(' \n\n')).toBe('');
});
