import * as z from 'zod';
import { presentExactlyWhen, resourceBlocks, withRules } from '../runtime/config/index.ts';
import { embeddedAuthServer } from './embedded-auth-server.ts';
import { AGE_COLUMN, REFERENCES_COLUMN, VALID_COLUMN, defineKind } from './kind.ts';
import { secretRef } from './kit.ts';
import { sharedConfigStatus } from './shared-config.ts';

const { tokenExchange, headerInjection, bearerToken, cloudSts, upstreamInject, ...others } =
  resourceBlocks(secretRef());

/** Those of strategies come from their list (`runtime/config/strategies`); the order is that of `kubectl explain`. */
const siblings = {
  tokenExchange,
  headerInjection,
  bearerToken,
  embeddedAuthServer: embeddedAuthServer
    .optional()
    .describe('An authorization server of its own, for the server that refers to this object.'),
  cloudSts,
  upstreamInject,
  ...others,
};

const types = [...Object.keys(siblings), 'unauthenticated'];

export const mcpExternalAuthConfig = defineKind({
  kind: 'MCPExternalAuthConfig',
  plural: 'mcpexternalauthconfigs',
  shortNames: ['extauth', 'mcpextauth'],
  description: 'How a server authenticates to a service outside, shared by the workloads that refer to it.',
  spec: withRules(
    z.strictObject({
      type: z.enum(types).describe('Which of the blocks below is used; unauthenticated uses none.'),
      ...siblings,
    }),
    ...Object.keys(siblings).flatMap((name) => presentExactlyWhen({ key: 'type', is: name }, name)),
  ),
  status: sharedConfigStatus(),
  columns: [{ name: 'Type', path: '.spec.type' }, VALID_COLUMN, REFERENCES_COLUMN, AGE_COLUMN],
});
