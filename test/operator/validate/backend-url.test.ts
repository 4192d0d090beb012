import assert from 'node:assert/strict';
import { test } from 'node:test';
import { urlProblem } from '../../../operator/validate/backend-url.ts';

const fine = [
  'http://everything:3001/mcp',
  'https://mcp.example.com',
  'http://10.0.0.7:8080/mcp',
  'http://127.0.0.1:3001/mcp',
  'http://[fd12::1]/mcp',
  'http://169.253.0.1/mcp',
];

for (const url of fine) {
  test(`${url} may be contacted`, () => assert.equal(urlProblem(url), undefined));
}

const refused: readonly (readonly [string, RegExp])[] = [
  ['http://169.254.169.254/latest/meta-data', /link-local/],
  ['http://2852039166/', /link-local/],
  ['http://0xA9FEA9FE/', /link-local/],
  ['http://[::ffff:169.254.169.254]/', /link-local/],
  ['http://[::ffff:a9fe:a9fe]/', /link-local/],
  ['http://[fe80::1]/mcp', /link-local/],
  ['http://[fd00:ec2::254]/', /link-local/],
  ['http://100.100.100.200/latest/meta-data', /metadata/],
  ['http://168.63.129.16/', /metadata/],
  ['http://[64:ff9b::a9fe:a9fe]/', /link-local/],
  ['http://metadata.google.internal/computeMetadata', /metadata/],
  ['http://METADATA.google.internal./x', /metadata/],
  ['https://me:secret@example.com/mcp', /credentials/],
  ['https://me@example.com/mcp', /credentials/],
  ['https://example.com/mcp#part', /fragment/],
  ['ftp://example.com/', /http:\/\/ or https/],
  ['http://', /no URL/],
];

for (const [url, why] of refused) {
  test(`${url} is refused, with what to do`, () => assert.match(urlProblem(url) ?? '', why));
}
