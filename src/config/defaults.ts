/** A default of the configuration, with what somebody needs to judge whether it fits them. */
export interface Default<T> {
  readonly value: T;
  /** Null where the value has none (names, switches). */
  readonly unit: string | null;
  /** Why this value and not another. */
  readonly reason: string;
}

function byDefault<T>(value: T, unit: string | null, reason: string): Default<T> {
  return { value, unit, reason };
}

/** Largest rate a limit may have, in units a minute: the levels of its bucket stay exact integers (a 60,000th of a unit). */
export const MAX_RATE = 1_000_000_000;
/** Longest burst, in seconds: with `MAX_RATE` the largest bucket that is still counted exactly. */
export const MAX_BURST_SECONDS = 3600;
/** Largest pool: sums of slots, bytes and rates stay exact integers. */
export const MAX_SLOTS = 1_000_000;
export const MAX_POOL_BYTES = 1024 ** 5;
/** Longest hold, in milliseconds: Envoy's own bound of `max_message_timeout`. */
export const MAX_HOLD_MS = 3_600_000;
/** Largest configuration file that is read, in bytes. */
export const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Deepest nesting that is read; the document itself needs six levels. */
export const MAX_DEPTH = 64;
/** How often aliases may repeat what they stand for, multiplied over nesting: above it the file counts as an attack. */
export const MAX_ALIASES = 2000;

/** Every default of the configuration, by its path. */
export const DEFAULTS = {
  extProc: byDefault('127.0.0.1:9002', null, 'Only this machine: Envoy usually runs beside the processor.'),
  admin: byDefault('127.0.0.1:9003', null, 'Only this machine: it needs no token there.'),
  tls: byDefault(null, null, 'Both ports listen on loopback unless told otherwise.'),
  clientCaFile: byDefault(null, null, 'Without it the port encrypts, but asks no client for a certificate.'),
  drainNoticeMs: byDefault(1000, 'ms', 'Long enough for a health check to see that the processor is leaving.'),
  drainTimeoutMs: byDefault(30_000, 'ms', 'The time orchestrators usually grant before they kill; most answers end within it.'),
  maxBodyBytes: byDefault('16MiB', 'bytes', 'Holds a prompt with several images, and bounds what one request can take of memory.'),
  store: byDefault('memory', null, 'Needs no other service. Counts are lost on restart and are not shared between processors.'),
  storeUsername: byDefault(null, null, 'The server’s default user.'),
  storePassword: byDefault(null, null, 'The URL’s, or none. There is no built-in password.'),
  storeCaFile: byDefault(null, null, 'The authorities that the system trusts.'),
  storeCertFile: byDefault(null, null, 'Most servers ask clients for a password only.'),
  storeServerName: byDefault(null, null, 'The host’s name. Sentinels and clusters tell addresses, which certificates often do not carry: then it is needed.'),
  acceptAnyCertificate: byDefault(false, null, 'Whoever stands between could read and change every count.'),
  storeTimeoutMs: byDefault(50, 'ms', 'Above what a healthy store needs by far (about 1 ms), and too short to be felt before a model’s first token.'),
  onStoreFailure: byDefault('local' as const, null, 'Stops nobody, and all processors together stay near the limits.'),
  journalFile: byDefault(null, null, 'In memory: a processor that is killed while the store is away loses what it settled meanwhile.'),
  journalMaxBytes: byDefault('64MiB', 'bytes', 'About 100,000 requests: an hour at 30 a second.'),
  ledgerFile: byDefault(null, null, 'The latest events are in the store, and at `/ledger`. Name a file to keep all.'),
  ledgerMaxBytes: byDefault('64MiB', 'bytes', 'About 100,000 requests, and still opened by any tool.'),
  ledgerKeep: byDefault(8, 'files', 'Half a GiB at most. Keep more, or ship the files, where the ledger is the bill.'),
  enforcement: byDefault('enforce' as const, null, 'A limit that is written down is meant. Use shadow to try one first.'),
  tenantEnforcement: byDefault(null, null, 'As the whole configuration. A tenant’s own word replaces it, so that tenants can go from shadow to enforce one by one.'),
  limitEnforcement: byDefault(null, null, 'As its tenant. A limit can only be weaker than the tenant whose request it is: a tenant in shadow is never refused.'),
  adminToken: byDefault(null, null, 'Loopback needs none. There is no built-in token that somebody could forget to change.'),
  anonymous: byDefault('reject', null, 'A request that nobody answers for is not served.'),
  unknownKey: byDefault('reject', null, 'A key that is listed nowhere is more often a mistake than a customer.'),
  maxTemplateTenants: byDefault(10_000, 'tenants', 'A few MB at most; bounds what somebody who invents keys can take.'),
  trustedTenantHeader: byDefault(null, null, 'A header that any client can set proves nothing.'),
  jwt: byDefault(null, null, 'Only useful with Envoy’s jwt_authn filter in front of this one.'),
  metadataNamespace: byDefault('envoy.filters.http.jwt_authn', null, 'Where Envoy’s own filter writes.'),
  jwtTenants: byDefault(null, null, 'The claim’s value is the tenant id itself.'),
  unknownPaths: byDefault('pass' as const, null, 'Health checks, model lists and dashboards behind Envoy keep working.'),
  countTokens: byDefault('pass' as const, null, 'It runs no model.'),
  realtime: byDefault('reject' as const, null, 'Nobody counts what is said on such a connection, for hours if need be: a way past every limit.'),
  batches: byDefault('reject' as const, null, 'One request carries the work of thousands, and is answered later: a way past every limit.'),
  files: byDefault('pass' as const, null, 'It is storage; the work comes with the requests that refer to it.'),
  media: byDefault('pass' as const, null, 'Pictures, speech and video are not made of tokens. Reject what your models are not meant for.'),
  assistants: byDefault('reject' as const, null, 'The provider runs models on its own, as often as it likes, and no answer tells what that cost.'),
  fineTuning: byDefault('reject' as const, null, 'Training costs more than any request, and no answer tells how much.'),
  moderations: byDefault('pass' as const, null, 'Short, and free at most providers.'),
  passThrough: byDefault('reject' as const, null, 'What a gateway hands on unseen can be work of any kind. APIs that are read here are metered under these prefixes too.'),
  otherWork: byDefault('reject' as const, null, 'Work that nobody counts is a hole in every limit.'),
  background: byDefault('meter' as const, null, 'The request itself can be counted; only the answer’s length is a guess, at what is usual.'),
  keys: byDefault([], null, 'A parent, a template or a tenant known by token or header needs no key.'),
  parent: byDefault(null, null, 'Most tenants stand alone.'),
  allowedModels: byDefault(['*'], null, 'Which models exist is decided behind us.'),
  limits: byDefault([], null, 'A tenant without limits is unlimited.'),
  limitedModels: byDefault(['*'], null, 'A limit without models counts all of them.'),
  burstSeconds: byDefault(60, 's', 'A full minute’s worth may come at once, as providers with limits a minute allow.'),
  countCachedInput: byDefault(true, null, 'What a client sent counts. Set false to follow providers that do not count cache reads.'),
  pools: byDefault([], null, 'Nothing is scheduled unless pools are told: tenants’ own limits are all there is.'),
  provider: byDefault(null, null, 'The id says it, mostly.'),
  capacityDimension: byDefault(null, null, 'Not bounded.'),
  providerLimits: byDefault(null, null, 'Most pools are of your own servers.'),
  poolBurstSeconds: byDefault(4, 's', 'Long enough for a few large requests, short enough that no server piles up more than a few seconds of work.'),
  prefillWeight: byDefault(null, null, '0.25 with `kind: self-hosted`: about what a prompt’s token costs of an answer’s where servers run full, and what providers ask for it; measure yours. 1 with `kind: provider`: their limits count both alike.'),
  kvBytesPerToken: byDefault(0, 'bytes', 'KV cache is not counted.'),
  classWeight: byDefault(10, null, 'The same for all: the class acts through the baseline. With larger weights the bursts of guaranteed tenants would starve the baselines of elastic ones.'),
  holdInteractiveMs: byDefault(10_000, 'ms', 'Who looks at a screen does not wait longer; many clients give up soon after.'),
  holdBackgroundMs: byDefault(60_000, 'ms', 'Waiting costs less than a retry; and load balancers on the way often end what is silent for longer.'),
  holdMaxRequests: byDefault(1000, 'requests', 'A queue that is longer than it can be served in time only delays the refusal.'),
  holdMaxBytes: byDefault('256MiB', 'bytes', 'Bodies wait in Envoy’s memory, or in ours.'),
  reclaimMs: byDefault(1000, 'ms', 'Most waits end by themselves within it; a stream that is ended is lost work.'),
  entitlements: byDefault([], null, 'All tenants share pools alike.'),
  baselineDimension: byDefault(null, null, 'Not assured.'),
  baselineTokens: byDefault(null, null, 'Its share of the pool’s by slots (requests) where both are told; else not assured.'),
  sloMs: byDefault(2000, 'ms', 'What people who wait for the first word of a chat put up with. It weighs 1.'),
  work: byDefault('interactive' as const, null, 'Somebody waits, unless the request or this says otherwise.'),
  lend: byDefault('all' as const, null, 'What idles helps nobody.'),
  preemptible: byDefault(null, null, 'True for spot, else false: only who asked for what is left over expects to be cut off.'),
  models: byDefault([], null, 'Nothing about a model has to be known.'),
  maxOutputTokens: byDefault(null, 'tokens', 'Unknown; what is learned from answers is used.'),
  askForUsage: byDefault(true, null, 'The upstream’s own count is better than ours. Switch it off for servers that refuse the option.'),
  exactModels: byDefault([], null, 'The estimate is within a few percent after some traffic, and costs nothing.'),
  exactMaxBytes: byDefault('64KiB', 'bytes', 'About 15 ms of work; above it a few tokens make no difference.'),
  exactTimeoutMs: byDefault(50, 'ms', 'No request waits longer for a number.'),
  unknownOutputTokens: byDefault(1024, 'tokens', 'A long answer of a chat; after a few answers what was learned takes its place.'),
  logLevel: byDefault('info' as const, null, 'One line a request.'),
} as const;
