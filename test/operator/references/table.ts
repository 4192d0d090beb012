import { OTHERS } from './others.ts';
import { type Made, type Row, anonymous, issuer, remote } from './row.ts';
import { REMOTE_PROXIES } from './remote-proxies.ts';
import { VIRTUAL_SERVERS } from './virtual-servers.ts';

export const ROWS: readonly Row[] = [...VIRTUAL_SERVERS, ...REMOTE_PROXIES, ...OTHERS];

/** Backends that the pods of a server know. */
export const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  'by-default': ['tool'],
  'by-backend': ['tool'],
  'over-entries': ['entry'],
  ...Object.fromEntries(REMOTE_PROXIES.map(({ referrer: [, name] }) => [name, [name]])),
};

/** What is there from the beginning. */
export const WORLD: readonly Made[] = [
  ['MCPGroup', 'tools', {}],
  ['MCPGroup', 'manned', {}],
  ['MCPGroup', 'entries', {}],
  ['MCPServerEntry', 'tool', { ...remote, groupRef: { name: 'manned' } }],
  ['MCPOIDCConfig', 'shared-oidc', issuer('shared')],
  ['VirtualMCPServer', 'over-entries', { ...anonymous, groupRef: { name: 'entries' } }],
];
