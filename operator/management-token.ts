import { text } from 'node:stream/consumers';
import { systemClock } from '../runtime/process/index.ts';
import type { CommandDeps } from './command.ts';
import { keysIn } from './engine/key-secret.ts';
import { managementToken } from './engine/management-keys.ts';
import type { KubeObject } from './object.ts';

/**
 * Prints a token that opens the management port of one server for a minute: signed with the keys of the Secret on
 * standard input, so that only a user who may read the Secret can ask servers.
 */
export const runManagementToken = async (args: readonly string[], { stdout, stderr }: CommandDeps): Promise<number> => {
  const [uid, ...more] = args;
  if (uid === undefined || uid.startsWith('-') || more.length > 0) {
    stderr('usage: kubectl get secret … -o json | vmcp-operator management-token UID\n');
    return 2;
  }
  const secret = secretIn(await text(process.stdin));
  stdout(`${await managementToken(uid, keysIn(secret), systemClock.now())}\n`);
  return 0;
};

const secretIn = (json: string): KubeObject => {
  try {
    return JSON.parse(json) as KubeObject;
  } catch {
    // The reason of a syntax error repeats what was read.
    throw new Error('standard input is not the Secret as JSON');
  }
};
