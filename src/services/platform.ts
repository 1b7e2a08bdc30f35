import { isAtLeast } from './versions.js';

/** Oldest GNU C library that the Envoy wheel runs on. */
const OLDEST_GLIBC = '2.31';

export interface Platform {
  readonly os: string;
  readonly arch: string;
  /** Version of the GNU C library; null on systems with another one. */
  readonly glibc: string | null;
}

/** Why the Envoy wheel can't be used on a platform, in a few words; null where it can. */
export function whyNoEnvoyWheel(platform: Platform = thisPlatform()): string | null {
  if (platform.os !== 'linux' || platform.arch !== 'x64') return `there is a wheel for x86-64 Linux only, this is ${platform.os} ${platform.arch}`;
  if (platform.glibc === null) return 'the wheel needs the GNU C library';
  return isAtLeast(platform.glibc, OLDEST_GLIBC) ? null : `the wheel needs glibc ${OLDEST_GLIBC}, this is ${platform.glibc}`;
}

function thisPlatform(): Platform {
  return { os: process.platform, arch: process.arch, glibc: process.platform === 'linux' ? glibcVersion() : null };
}

function glibcVersion(): string | null {
  const report: unknown = process.report.getReport();
  const header = hasHeader(report) ? report.header : {};
  const version = header['glibcVersionRuntime'];
  return typeof version === 'string' ? version : null;
}

function hasHeader(report: unknown): report is { header: Record<string, unknown> } {
  return typeof report === 'object' && report !== null && 'header' in report && typeof report.header === 'object' && report.header !== null;
}
