/** Revisions with `initialize` and sessions, oldest first. */
export const LEGACY_REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;

/** What `initialize` answers to revisions that are not known here. */
export const LATEST_LEGACY_REVISION = '2025-11-25';

/** The revision in which each request speaks for itself. */
export const MODERN_REVISION = '2026-07-28';
