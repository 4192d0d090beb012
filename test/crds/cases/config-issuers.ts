import { casesOf } from '../case.ts';

const { accepts, refuses } = casesOf('VirtualMCPServer');

const AT = 'spec.config.extensions.issuers';
const issuers = (...items: readonly object[]) => ({ set: { 'config.extensions': { issuers: items } } });
const issuer = (more: object = {}) => ({ issuer: 'https://ci.example.com', ...more });
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => issuer({ issuer: `https://idp-${index}.example` }));
const claims = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`claim${index}`, 'other']));

export const furtherIssuerCases = [
  accepts(
    issuers(
      issuer({
        audience: 'mcp',
        jwksUrl: 'https://ci.example.com/keys',
        scopes: ['run'],
        claimMapping: { sub: 'repository', groups: 'roles' },
      }),
      { issuer: 'http://127.0.0.1:9000', insecureAllowHttp: true, jwksAllowPrivateIp: true },
    ),
  ),
  accepts(
    issuers(
      issuer({ issuerKeys: { keys: [{ kty: 'EC', crv: 'P-256' }] }, caBundlePath: '/etc/vmcp/secrets/ca/ca.crt' }),
      // Compared character by character: another issuer.
      issuer({ issuer: 'https://ci.example.com/', claimMapping: claims(32) }),
    ),
  ),
  accepts(issuers(...numbered(16))),
  refuses(issuers(...numbered(17)), AT, 'must have at most 16 items'),
  refuses(issuers(issuer(), issuer({ audience: 'other' })), `${AT}[1]`, 'Duplicate value'),
  refuses(issuers({ audience: 'mcp' }), `${AT}[0].issuer`, 'Required value'),
  refuses(issuers({ issuer: 'ci.example.com' }), `${AT}[0].issuer`, 'should match'),
  ...[{}, { insecureAllowHttp: false }].map((more) =>
    refuses(
      issuers({ issuer: 'http://ci.example.com', ...more }),
      `${AT}[0].issuer`,
      'an issuer without TLS is not allowed',
    ),
  ),
  ...['iss', 'aud', 'exp', 'nbf'].map((name) =>
    refuses(
      issuers(issuer({ claimMapping: { [name]: 'x' } })),
      `${AT}[0].claimMapping`,
      'are checked as the token has them',
    ),
  ),
  refuses(issuers(issuer({ claimMapping: claims(33) })), `${AT}[0].claimMapping`, 'must have at most 32'),
  refuses(issuers(issuer({ claimMapping: { sub: '' } })), `${AT}[0].claimMapping.sub`, 'at least 1'),
  refuses(issuers(issuer({ caBundlePath: 'ca.crt' })), `${AT}[0].caBundlePath`, 'should match'),
  refuses(issuers(issuer({ clientSecretEnv: 'SECRET' })), `${AT}[0].clientSecretEnv`, 'unknown field'),
];
