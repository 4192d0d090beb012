import type { Case } from '../case.ts';
import {
  authServerCases,
  oauth2Cases,
  placementCases,
  registrationCases,
  storageCases,
  upstreamCases,
} from './auth-server.ts';
import {
  aggregationCases,
  backendCases,
  configIncomingCases,
  generalConfigCases,
  operationalCases,
  strategyCases,
  workflowCases,
} from './config.ts';
import { durationCases } from './durations.ts';
import { cloudStsCases, externalAuthBlockCases, externalAuthTypeCases } from './external-auth.ts';
import { entryCases, sharedConfigCases, workloadCases } from './other-kinds.ts';
import {
  acrossFieldsCases,
  authzCases,
  incomingAuthCases,
  outgoingAuthCases,
  serverCases,
  sessionStorageCases,
} from './virtual-mcp-server.ts';

export const allCases: readonly Case[] = [
  ...serverCases,
  ...incomingAuthCases,
  ...authzCases,
  ...outgoingAuthCases,
  ...sessionStorageCases,
  ...acrossFieldsCases,
  ...generalConfigCases,
  ...aggregationCases,
  ...backendCases,
  ...workflowCases,
  ...configIncomingCases,
  ...strategyCases,
  ...operationalCases,
  ...durationCases,
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
];
