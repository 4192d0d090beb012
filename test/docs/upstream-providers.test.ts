import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import * as z from 'zod';
import { embeddedAuthServerSchema, secretRefs } from '../../runtime/config/index.ts';
import { upstreamsCanBeAsked } from '../../runtime/config/upstream-checks.ts';

const page = readFileSync(new URL('../../docs/upstream-providers.md', import.meta.url), 'utf8');
const [, recipes = ''] = page.split('\n## Recipes\n');
const schema = embeddedAuthServerSchema(secretRefs(z.strictObject({ name: z.string(), key: z.string() })));

const headings = [...recipes.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
const blocks = [...recipes.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block = '']) => parse(block) as object);

test('every recipe is a provider as resources write it', () => {
  assert.deepEqual(headings, ['Google', 'Microsoft Entra', 'Okta', 'GitHub', 'Slack', 'Atlassian']);
  assert.equal(blocks.length, headings.length);
  const authServer = { issuer: 'https://mcp.example', upstreamProviders: blocks };
  const parsed = schema.safeParse(authServer);
  assert.ok(parsed.success, parsed.success ? '' : z.prettifyError(parsed.error));
  assert.deepEqual([...upstreamsCanBeAsked({ authServer })], []);
});

test('the first example is one, too', () => {
  const [, example = ''] = /^```yaml\n([\s\S]*?)^```$/m.exec(page) ?? [];
  assert.ok(schema.safeParse({ issuer: 'https://mcp.example', ...(parse(example) as object) }).success);
});
