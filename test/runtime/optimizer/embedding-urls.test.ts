import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  infoUrlFrom,
  modelsUrlFrom,
  type ProtocolName,
  PROTOCOLS,
} from '../../../runtime/optimizer/embeddings/protocols.ts';
import { covers } from '../../requirements.ts';

const URLS: readonly (readonly [ProtocolName, string, string])[] = [
  ['openai', 'https://x.example', 'https://x.example/v1/embeddings'],
  ['openai', 'https://x.example/a/v1/', 'https://x.example/a/v1/embeddings'],
  ['openai', 'https://x.example/a?api-version=2024', 'https://x.example/a/v1/embeddings?api-version=2024'],
  ['openai', 'https://x.example/a/v1/embeddings?v=2024', 'https://x.example/a/v1/embeddings?v=2024'],
  ['openai', 'https://x.example/models/m/embeddings?v=2024', 'https://x.example/models/m/embeddings?v=2024'],
  ['tei', 'https://x.example/?tenant=a', 'https://x.example/embed?tenant=a'],
  ['tei', 'https://x.example/a/embed?tenant=a', 'https://x.example/a/embed?tenant=a'],
];

for (const [protocol, base, expected] of URLS)
  test(`texts are posted to ${expected} where the service is ${base}`, () => {
    covers('optimizer.embedding-service.full-base-url');
    assert.equal(PROTOCOLS[protocol].urlFrom(base), expected);
  });

test('what a service tells of itself is asked for with the query of its URL, too', () => {
  assert.equal(infoUrlFrom('https://x.example/a/embed?tenant=a'), 'https://x.example/a/info?tenant=a');
  assert.equal(modelsUrlFrom('https://x.example/a/v1/embeddings?v=2024'), 'https://x.example/a/v1/models?v=2024');
});
