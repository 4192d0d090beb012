import { Agent, request } from 'node:http';
import { signingKey, type SigningKey } from '../../fixtures/identity-provider.ts';
import type { ProtectedGateway } from '../../fixtures/protected-gateway.ts';

interface Part {
  /** Number of the first request. */
  readonly from: number;
  readonly count: number;
  /** Default: one in four is. */
  readonly only?: keyof typeof KINDS;
}

const KINDS = { valid: 0, refused: 2 };

const AT_A_TIME = 32;

/** Requests that differ from each other in token, user, issuer, tool and argument. Returns how many had which status. */
export const storm = async (gateway: ProtectedGateway, { from, count, only }: Part): Promise<Map<number, number>> => {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME });
  const foreign = await signingKey('storm');
  const statuses = new Map<number, number>();
  let at = from;
  const sender = async (): Promise<void> => {
    while (at < from + count) {
      const serial = at;
      at += 1;
      const token = await tokenOf(gateway, foreign, only ? 4 * serial + KINDS[only] : serial);
      const status = await sendAs(token, serial, { url: gateway.running.url, agent });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, sender));
  agent.destroy();
  return statuses;
};

const tokenOf = ({ provider }: ProtectedGateway, foreign: SigningKey, serial: number): Promise<string> => {
  const claims = { sub: `storm-user-${serial}` };
  switch (serial % 4) {
    case 0:
      return provider.token(claims);
    case 1:
      return provider.token({ ...claims, iss: `https://storm-${serial}.example` }, { key: foreign });
    case 2:
      return provider.token(claims, { key: foreign });
    default:
      return Promise.resolve(`storm-token-${serial}`);
  }
};

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

const sendAs = (token: string, serial: number, to: { readonly url: string; readonly agent: Agent }): Promise<number> =>
  new Promise((resolve, reject) => {
    const name = serial % 8 === 0 ? 'a_echo' : `storm-tool-${serial}`;
    const params = { name, arguments: { x: serial % 16 === 0 ? `storm-${serial}` : 0 }, _meta: META };
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
      authorization: `Bearer ${token}`,
    };
    request(to.url, { method: 'POST', agent: to.agent, headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    })
      .on('error', reject)
      .end(JSON.stringify({ jsonrpc: '2.0', id: serial, method: 'tools/call', params }));
  });
