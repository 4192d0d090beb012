import { pino } from 'pino';
import type { Logger } from 'pino';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** JSON lines on stdout. */
export const createLog = (level: string): Log =>
  pino({ level, base: {}, messageKey: 'message', timestamp: pino.stdTimeFunctions.isoTime });

/** What an error says, without a stack: fit for a field of a log line. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
