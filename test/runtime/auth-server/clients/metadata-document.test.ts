import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  isMetadataDocumentUrl,
  readMetadataDocument,
} from '../../../../runtime/auth-server/clients/metadata-document.ts';

test('a client id is the URL of a metadata document', () => {
  const urls = [
    'https://claude.ai/oauth/claude-code-client-metadata',
    'https://agent.example/',
    'https://agent.example:8443/client.json',
    'https://agent.example/client?version=2',
    'https://xn--bcher-kva.example/client.json',
  ];
  for (const url of urls) assert.ok(isMetadataDocumentUrl(url), url);
});

test('a client id is no such URL', () => {
  const others = [
    '',
    'c1-AAAA',
    'http://agent.example/client.json',
    'https://agent.example',
    'https://agent.example/client.json#part',
    'https://agent.example/client.json#',
    'https://user@agent.example/client.json',
    'https://user:password@agent.example/client.json',
    'https://@agent.example/client.json',
    'https://agent.example/a/../client.json',
    'https://agent.example/a/./client.json',
    'https://agent.example/a/%2e%2e/client.json',
    'https://agent.example:443/client.json',
    'HTTPS://agent.example/client.json',
    'https://Agent.example/client.json',
    'https://agent.example\\client.json',
    'https:/agent.example/client.json',
    'https:agent.example/client.json',
    'https://bücher.example/client.json',
    'https://agent.example/client .json',
    ' https://agent.example/client.json',
    'https://agent.example/client.json\n',
    'https://0x7f.1/client.json',
    `https://agent.example/${'x'.repeat(1_024)}`,
  ];
  for (const text of others) assert.equal(isMetadataDocumentUrl(text), false, text);
});

test('any text is either refused as a document, with a reason, or a client with redirect URIs', () => {
  const url = 'https://agent.example/client.json';
  const member = fc.oneof(
    fc.constantFrom('https://a.example/', 'none', 'code', ['https://a.example/'], ['code']),
    fc.jsonValue(),
  );
  const documents = fc.dictionary(
    fc.constantFrom(
      'client_name',
      'redirect_uris',
      'scope',
      'grant_types',
      'response_types',
      'token_endpoint_auth_method',
      'jwks',
      'jwks_uri',
      'client_secret',
      '__proto__',
    ),
    member,
  );
  fc.assert(
    fc.property(
      fc.oneof(
        documents.map((members) => JSON.stringify({ ...members, client_id: url })),
        fc.string(),
        fc.json(),
      ),
      (text) => {
        const read = readMetadataDocument(url, Buffer.from(text));
        if (typeof read === 'string') assert.ok(read.length > 10);
        else assert.ok(read.redirectUris.length > 0);
      },
    ),
    { numRuns: 1_000 },
  );
});
