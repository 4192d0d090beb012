import { errors } from 'oidc-provider';
import type { Families } from './families.ts';
import { nameOf } from './names.ts';
import type { Records } from './records.ts';
import type { Redemption } from './redemption.ts';
import type { OwnAnswer } from './commit-refresh.ts';

export interface CodeParts {
  readonly families: Families;
  readonly records: Records;
}

/**
 * Uses up the code that the request has presented, as the last step before its answer: a request that fails earlier, as
 * while the store is away, has issued nothing, and its client may present the code again. Of several requests one is
 * answered; each of the others ends what came of the code (RFC 6749 §4.1.2).
 */
export const redeemCode = async (
  { code, family }: Redemption,
  { response }: OwnAnswer,
  { families, records }: CodeParts,
): Promise<void> => {
  if (code === undefined) return;
  const request = nameOf('redemption', String(response['access_token']));
  if (await records.redeem('AuthorizationCode', code, request)) return;
  if (family) await families.revoke(family.handle);
  throw new errors.InvalidGrant('authorization code already used');
};
