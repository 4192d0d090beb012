import { clipped } from '../text.ts';
import { pino, type DestinationStream } from 'pino';

/** A constant message plus fields. Never tokens, headers or bodies. */
export interface Log {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
  /** Takes effect at once. */
  readonly setLevel: (level: LogLevel) => void;
  /** Sets the fields that are repeated on every line from now on. */
  readonly setFields: (fields: LogFields) => void;
}

export type LogFields = Readonly<Record<string, string>>;

export type LogLevel = 'debug' | 'info' | 'silent';

type LogLine = (fields: Readonly<Record<string, unknown>>, message: string) => void;

/** Longest text of a field: some of them come from clients and backends. */
const MAX_TEXT = 2_000;

const cut = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === 'string' ? clipped(value, MAX_TEXT) : value]),
  );

/** JSON lines; `fields` are repeated on every line. Default destination: standard output. */
export const createLog = (
  options: { readonly level: LogLevel; readonly fields?: LogFields },
  destination?: DestinationStream,
): Log => {
  let repeated = options.fields;
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { log: cut },
    // A copy, as pino modifies the object.
    mixin: () => ({ ...repeated }),
  };
  const logger = destination ? pino(settings, destination) : pino(settings);
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    setLevel: (level) => {
      logger.level = level;
    },
    setFields: (fields) => {
      repeated = fields;
    },
  };
};
