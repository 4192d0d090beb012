import type { Case } from '../case.ts';
import { authServerCases, placementCases, storageCases } from './auth-server.ts';
import { aggregationCases, backendCases, generalConfigCases, serviceMetadataCases } from './config.ts';
import { configIncomingCases, strategyCases } from './config-auth.ts';
import { furtherIssuerCases } from './config-issuers.ts';
import { operationalCases } from './config-operation.ts';
import { workflowCases } from './config-workflows.ts';
import { durationCases, longestPeriodCases, positiveDurationCases } from './durations.ts';
import { cloudStsCases, externalAuthBlockCases, externalAuthTypeCases } from './external-auth.ts';
import { entryCases, sharedConfigCases, workloadCases } from './other-kinds.ts';
import { referenceCases } from './references.ts';
import { repeatedRuleCases } from './repeated-rules.ts';
import { oauth2Cases, upstreamCases } from './upstream-providers.ts';
import { registrationCases } from './upstream-registration.ts';
import { acrossFieldsCases, serverCases, sessionStorageCases } from './virtual-mcp-server.ts';
import { authzCases, incomingAuthCases, outgoingAuthCases } from './virtual-mcp-server-auth.ts';

export const allCases: readonly Case[] = [
  ...serverCases,
  ...incomingAuthCases,
  ...authzCases,
  ...outgoingAuthCases,
  ...sessionStorageCases,
  ...acrossFieldsCases,
  ...generalConfigCases,
  ...serviceMetadataCases,
  ...aggregationCases,
  ...backendCases,
  ...workflowCases,
  ...configIncomingCases,
  ...furtherIssuerCases,
  ...strategyCases,
  ...operationalCases,
  ...durationCases,
  ...positiveDurationCases,
  ...longestPeriodCases,
  ...authServerCases,
  ...storageCases,
  ...upstreamCases,
  ...oauth2Cases,
  ...registrationCases,
  ...placementCases,
  ...externalAuthTypeCases,
  ...externalAuthBlockCases,
  ...cloudStsCases,
  ...entryCases,
  ...workloadCases,
  ...sharedConfigCases,
  ...referenceCases,
  ...repeatedRuleCases,
];
