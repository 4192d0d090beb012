import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startProcesses } from '../processes.ts';
import { publish } from '../publish.ts';
import { type Endpoint, type LoginsMeasured, measureLogins, measureRefreshes, type Refreshes } from './measure.ts';
import { startLockedRedis } from './redis.ts';
import { AT_ONCE, IN_MEMORY, IN_REDIS, LIBRARY, reportOf } from './report.ts';
import { ISSUER, PROVIDER, RESOURCE } from './sign-in.ts';

/** `npm run bench:auth-server [-- --rounds 2 --windows 12 --seconds 0.6 --users 10000 --write | --quick]`. */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '2' },
    windows: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '0.6' },
    users: { type: 'string', default: '10000' },
    write: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
});

const size = values.quick
  ? { settleMs: 50, rounds: 1, windows: 1, milliseconds: 50, users: 60, clients: [5] }
  : {
      settleMs: 10_000,
      rounds: Number(values.rounds),
      windows: Number(values.windows),
      milliseconds: Number(values.seconds) * 1_000,
      users: Number(values.users),
      clients: [50, 1],
    };

const PASSWORD = 'of-the-benchmark';
const CLIENT = 'bench';

const processes = await startProcesses();
const folder = await mkdtemp(join(tmpdir(), 'vmcp-bench-auth-'));
try {
  const backend = await processes.backend();
  const provider = await processes.role('auth-server/identity-provider.ts');
  const library = await processes.role('auth-server/library.ts', RESOURCE, CLIENT);
  const redis = await startLockedRedis(processes, PASSWORD);
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, PASSWORD);
  const kvstore = { addr: redis.address, aclUserConfig: { passwordFile } };
  const gateway = async (name: string, storage: object): Promise<Endpoint> => {
    const config = configOf(provider.url, storage);
    return { name, ...(await processes.vmcp(`${backend.url}/mcp`, { config })) };
  };
  const inMemory = await gateway(IN_MEMORY, { type: 'memory' });
  const inRedis = await gateway(IN_REDIS, { type: 'kvstore', kvstore });
  const floor: Endpoint = { name: LIBRARY, ...library, library: { clientId: CLIENT } };
  const refreshes: Refreshes[] = [];
  for (const clients of size.clients)
    refreshes.push(await measureRefreshes(processes, [floor, inMemory, inRedis], clients, size));
  const logins: LoginsMeasured[] = [
    await measureLogins(processes, inMemory, { users: size.users, atOnce: AT_ONCE }),
    await measureLogins(processes, inRedis, { users: size.users, atOnce: AT_ONCE, usedBytes: redis.usedBytes }),
  ];
  const report = reportOf({ refreshes, logins });
  console.log(report);
  const { rounds, windows, seconds } = values;
  if (values.write) await publish('auth-server', `${rounds} rounds of ${windows} windows of ${seconds} s`, report);
} finally {
  await processes.endAll();
  await rm(folder, { recursive: true });
}

/** One identity provider, of which no ID token has to be verified, and no logins that are known by others. */
function configOf(providerUrl: string, storage: object): Readonly<Record<string, unknown>> {
  const oidc = { issuer: ISSUER, audience: RESOURCE, resource: RESOURCE, clientId: 'vmcp', insecureAllowHttp: true };
  const oauth2Config = {
    authorizationEndpoint: `${providerUrl}/authorize`,
    tokenEndpoint: `${providerUrl}/token`,
    clientId: 'vmcp',
    identityFromToken: { subjectPath: 'user.id', namePath: 'user.name', emailPath: 'user.email' },
  };
  return {
    incomingAuth: { type: 'oidc', oidc },
    authServer: { issuer: ISSUER, storage, upstreamProviders: [{ name: PROVIDER, type: 'oauth2', oauth2Config }] },
    extensions: { trustedProxies: ['127.0.0.1/32'] },
  };
}
