import { pino, type DestinationStream } from 'pino';

/** A constant message plus fields. Never tokens, headers or bodies. */
export interface Log {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
  /** Takes effect at once. */
  readonly setLevel: (level: LogLevel) => void;
}

export type LogLevel = 'debug' | 'info' | 'silent';

type LogLine = (fields: Readonly<Record<string, unknown>>, message: string) => void;

/** JSON lines; `base` is repeated on every line. Default destination: standard output. */
export const createLog = (
  options: { readonly level: LogLevel; readonly base?: Readonly<Record<string, string>> },
  destination?: DestinationStream,
): Log => {
  const settings = { level: options.level, base: { ...options.base }, timestamp: pino.stdTimeFunctions.isoTime };
  const logger = destination ? pino(settings, destination) : pino(settings);
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    setLevel: (level) => {
      logger.level = level;
    },
  };
};
