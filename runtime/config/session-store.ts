import * as z from 'zod';
import { atMostOne, withRules } from './rules.ts';
import { filePathSchema } from './file-paths.ts';
import { hostPortSchema } from './scalars.ts';

const user = (whose: string) =>
  z.string().min(1).max(256).optional().describe(`User of ${whose}; absent: the default one.`);

const tls = (what: string) =>
  z
    .strictObject({
      caFile: filePathSchema
        .optional()
        .describe('File of the authorities to trust (PEM), read at every connect; absent: those of the system.'),
      insecureSkipVerify: z.boolean().default(false).describe('Accepts any certificate.'),
    })
    .optional()
    .describe(`Presence turns TLS on for the connections to ${what}.`);

const passwordFile = (otherwise: string) =>
  filePathSchema.optional().describe(`File of the password, read at every connect; ${otherwise}.`);

const others = (what: string) => z.array(hostPortSchema).max(32).default([]).describe(`Further ${what}, host:port.`);

/** How the store of `sessionStorage` is reached, where an address is not enough. */
export const sessionStoreSchema = withRules(
  z.strictObject({
    username: user('the store'),
    passwordFile: passwordFile('where there is none, VMCP_SESSION_KVSTORE_PASSWORD counts'),
    tls: tls('the store'),
    sentinel: z
      .strictObject({
        masterName: z.string().min(1).max(256).describe('Name that the sentinels watch the master under.'),
        addresses: others('sentinels'),
        username: user('the sentinels'),
        passwordFile: passwordFile('absent: they ask for none'),
        tls: tls('the sentinels'),
      })
      .optional()
      .describe('Presence says that sessionStorage.address is a sentinel; they name the master.'),
    cluster: z
      .strictObject({ addresses: others('nodes') })
      .optional()
      .describe('Presence says that sessionStorage.address is a node of a cluster; it names the others.'),
  }),
  atMostOne('sentinel', 'cluster'),
).describe('How the key-value store is reached: user, TLS, Sentinel, cluster.');
