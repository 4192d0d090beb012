import type { JWK } from 'oidc-provider';
import { systemClock } from '../../../../runtime/process/index.ts';
import { onRedis } from '../../store/stores.ts';
import { startReplica } from './provider.ts';

/** A replica as a process of its own, which a test can kill: it writes a line when it serves. */
export interface ReplicaArguments {
  readonly redis: string;
  readonly port: number;
  readonly key: JWK;
}

const { redis, port, key } = JSON.parse(process.argv[2] ?? '') as ReplicaArguments;
const { store } = onRedis([redis]);
await store.firstAnswer;
await startReplica({ store, clock: systemClock, port, key, refreshReuseWindowMs: 60_000 });
process.stdout.write('serving\n');
