import { DCR, OAUTH2, accepts, dcr, refuses } from './auth-server-place.ts';
import { PATTERN } from './words.ts';

const longUrl = (length: number) => `https://idp.example.com/${'a'.repeat(length - 'https://idp.example.com/'.length)}`;

const discovery = 'https://git.example.com/metadata';
const registration = { registrationEndpoint: 'https://git.example.com/register' };

export const registrationCases = [
  ...accepts([], dcr(registration, { scopes: ['read'] })),
  ...refuses(
    ['authserver.upstream.dcr.discovery-https'],
    dcr({ discoveryUrl: 'http://git.example.com' }),
    `${DCR}.discoveryUrl`,
    PATTERN,
  ),
  ...accepts(['authserver.upstream.dcr.discovery-max-length'], dcr({ discoveryUrl: longUrl(2048) })),
  ...refuses(
    ['authserver.upstream.dcr.discovery-max-length'],
    dcr({ discoveryUrl: longUrl(2049) }),
    `${DCR}.discoveryUrl`,
    'more than 2048',
  ),
  ...refuses(
    ['authserver.upstream.dcr.registration-https'],
    dcr({ registrationEndpoint: 'http://git.example.com' }, { scopes: ['read'] }),
    `${DCR}.registrationEndpoint`,
    PATTERN,
  ),
  ...refuses(
    ['authserver.upstream.dcr.registration-max-length'],
    dcr({ registrationEndpoint: longUrl(2049) }, { scopes: ['read'] }),
    `${DCR}.registrationEndpoint`,
    'more than 2048',
  ),
  ...accepts(
    ['authserver.upstream.dcr.registration-max-length'],
    dcr({ registrationEndpoint: longUrl(2048) }, { scopes: ['read'] }),
  ),
  ...refuses(
    ['authserver.upstream.dcr.registration-needs-authorization-endpoint'],
    dcr(registration, { scopes: ['read'], authorizationEndpoint: undefined }),
    OAUTH2,
    'authorizationEndpoint is required',
  ),
  ...refuses(
    ['authserver.upstream.dcr.registration-needs-token-endpoint'],
    dcr(registration, { scopes: ['read'], tokenEndpoint: undefined }),
    OAUTH2,
    'tokenEndpoint is required',
  ),
  ...refuses(
    ['authserver.upstream.dcr.registration-needs-scopes'],
    dcr(registration),
    OAUTH2,
    'dcrConfig.registrationEndpoint needs scopes',
  ),
  ...refuses(
    ['authserver.upstream.dcr.discovery-registration-exclusive'],
    dcr({ ...registration, discoveryUrl: discovery }, { scopes: ['read'] }),
    DCR,
    'exactly one of discoveryUrl and registrationEndpoint must be set',
  ),
  ...refuses([], dcr({}), DCR, 'exactly one of discoveryUrl and registrationEndpoint must be set'),
  ...accepts(
    ['authserver.upstream.dcr.software-id-max-length'],
    dcr({ discoveryUrl: discovery, softwareId: 'a'.repeat(255) }),
  ),
  ...refuses(
    ['authserver.upstream.dcr.software-id-max-length'],
    dcr({ discoveryUrl: discovery, softwareId: 'a'.repeat(256) }),
    `${DCR}.softwareId`,
    'more than 255',
  ),
  ...accepts(
    ['authserver.upstream.dcr.software-statement-max-length', 'authserver.upstream.dcr.software-statement-inline'],
    dcr({ discoveryUrl: discovery, softwareStatement: 'a'.repeat(16_384) }),
    { 'upstreamProviders[0].oauth2Config.dcrConfig.softwareStatement': 'a'.repeat(16_384) },
  ),
  ...refuses(
    ['authserver.upstream.dcr.software-statement-max-length'],
    dcr({ discoveryUrl: discovery, softwareStatement: 'a'.repeat(16_385) }),
    `${DCR}.softwareStatement`,
    'more than 16384',
  ),
];
