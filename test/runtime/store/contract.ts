import { STORE_LIMITS, type Store } from '../../../runtime/store/store.ts';
import { boundsContract } from './contract-bounds.ts';
import { kindsContract } from './contract-kinds.ts';
import { mapsContract } from './contract-maps.ts';
import { messagesContract } from './contract-messages.ts';
import { roomsContract } from './contract-rooms.ts';
import { tokensContract } from './contract-tokens.ts';
import { valuesContract } from './contract-values.ts';

/** What every store does, whatever it is made of. */
export const contract = (given: () => Store, keyBytes: number = STORE_LIMITS.keyBytes): void => {
  let count = 0;
  const told = { given, newKey: (): string => `key:${(count += 1)}`, keyBytes };
  valuesContract(told);
  mapsContract(told);
  kindsContract(told);
  roomsContract(told);
  tokensContract(told);
  messagesContract(told);
  boundsContract(told);
};
