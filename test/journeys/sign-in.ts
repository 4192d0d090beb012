import { generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { resource } from './callers.ts';

/** Keys of the authorization server: in use now, and before. */
export interface SignInKeys {
  /** PEM. */
  signing: readonly [string, string];
  hmac: readonly [Buffer, Buffer];
}

export const newSigningKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

export const secret = (name: string, values: Readonly<Record<string, string | Buffer>>): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  data: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')])),
});

/** The Secret of examples/sign-in with these keys. */
export const keySecret = ({ signing, hmac }: SignInKeys): object =>
  secret('sign-in-keys', {
    'signing-current': signing[0],
    'signing-previous': signing[1],
    'hmac-current': hmac[0],
    'hmac-previous': hmac[1],
  });

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

const EXAMPLES = join(import.meta.dirname, '..', '..', 'examples');

/**
 * The resources of an example with other addresses. The server last: a user who signs in before its backend is there
 * has not agreed that the backend gets a token.
 */
export const exampleOf = async (
  file: string,
  addresses: Readonly<Record<string, string>>,
): Promise<readonly object[]> => {
  const text = await readFile(join(EXAMPLES, file), 'utf8');
  const written = Object.entries(addresses).reduce((whole, [from, to]) => whole.replaceAll(from, to), text);
  const all = parseAllDocuments(written).map((document) => {
    const each = document.toJS() as Resource;
    if (each.kind !== 'MCPOIDCConfig') return each;
    return ownIssuer(each.metadata.name, (each.spec['inline'] as { readonly issuer: string }).issuer);
  });
  return all.toSorted((a, b) => Number(isServer(a)) - Number(isServer(b)));
};

const isServer = (each: object): boolean => 'kind' in each && each.kind === 'VirtualMCPServer';

/** On localhost an issuer need not have TLS. */
export const ownIssuer = (name: string, issuer: string): object =>
  resource('MCPOIDCConfig', name, { type: 'inline', inline: { issuer, insecureAllowHTTP: true } });

/** The same with more in its spec, if it is of this kind. */
export const withSpec = (each: object, kind: string, more: object): object =>
  'kind' in each && each.kind === kind && 'spec' in each
    ? { ...each, spec: { ...(each.spec as object), ...more } }
    : each;

/** Arguments of Node's image: a program that sends what it gets on port 3001 to this address, and the answers back. */
export const passingOnTo = (url: string): readonly string[] => ['node', '--eval', PASS_ON, url];

const PASS_ON = `
  const { createServer, request } = require('node:http');
  createServer((asked, answer) => {
    const { method, headers } = asked;
    const passedOn = request(process.argv[1], { method, headers }, (got) => {
      got.pipe(answer.writeHead(got.statusCode, got.headers));
    });
    asked.pipe(passedOn.on('error', () => answer.destroy()));
  }).listen(3001);
`;
