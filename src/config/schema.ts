import { z } from 'zod';
import { parseAddress } from './address.js';
import { DEFAULTS, MAX_BURST_SECONDS, MAX_RATE } from './defaults.js';
import { omittable, optional, required, section } from './fields.js';
import { entitlement, pool } from './pool-schema.js';
import { isFromEnvironment } from './secret.js';
import { parseStoreUrl } from './store-url.js';
import { glob, id as tenantId, sizeUpTo } from './values.js';

const MAX_MS = 24 * 3600 * 1000;
const MAX_BODY_BYTES = 1024 ** 3;
const CREDENTIAL_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'cookie', 'host'];

const enforcement = z.enum(['enforce', 'shadow', 'off']);
const filePath = z.string().min(1).max(4096);

/** Never quotes what was given: it may be a key that somebody pasted. */
function keyMessage(input: unknown): string {
  if (typeof input === 'string' && input.startsWith('sha256:')) return 'must have exactly 64 hex digits after "sha256:"';
  if (typeof input === 'string' && /^(sha256:)?[0-9a-f]{64}$/i.test(input)) return 'must begin with "sha256:", in small letters';
  return 'is not a hash: never put a key itself into the configuration, put what `tokenweir hash-key KEY` prints';
}

const keyHash = z.string().regex(/^sha256:[0-9a-fA-F]{64}$/, { error: (issue) => keyMessage(issue.input) });

const tcpOrUnix = z.string().refine((text) => parseAddress(text) !== null, { error: 'must be host:port (0 to 65535), [IPv6]:port or unix:/path' });
const tcp = z.string().refine((text) => parseAddress(text)?.kind === 'tcp', { error: 'must be host:port (0 to 65535) or [IPv6]:port' });

const size = sizeUpTo(MAX_BODY_BYTES, '1GiB');

const tls = z.strictObject({
  certFile: required(filePath, 'Certificate chain (PEM). Relative paths start at the configuration file’s folder.', 'tls/server.crt'),
  keyFile: required(filePath, 'Its private key (PEM).', 'tls/server.key'),
  clientCaFile: optional(filePath.nullable(), DEFAULTS.clientCaFile, 'Authorities (PEM) of which every client needs a certificate: mutual TLS.'),
});

const server = z.strictObject({
  extProc: optional(tcpOrUnix, DEFAULTS.extProc, 'Where Envoy’s ext_proc filter connects (gRPC): `host:port` or `unix:/path`. Port 0 lets the system choose.'),
  admin: optional(tcp, DEFAULTS.admin, 'HTTP for `/healthz`, `/readyz`, `/metrics`, `/status`, `/usage` and `/ledger`. On anything but loopback it needs `adminToken`.'),
  tls: section(
    z.strictObject({
      extProc: optional(tls.nullable(), DEFAULTS.tls, 'TLS for the ext_proc port.'),
      admin: optional(tls.nullable(), DEFAULTS.tls, 'TLS for the admin port.'),
    }),
    'TLS, for each port on its own.',
  ),
  drain: section(
    z.strictObject({
      noticeMs: optional(z.int().min(0).max(MAX_MS), DEFAULTS.drainNoticeMs, 'After SIGTERM: how long it still takes new work while `/readyz` says no.'),
      timeoutMs: optional(z.int().min(0).max(MAX_MS), DEFAULTS.drainTimeoutMs, 'How long open streams may then take to finish.'),
    }),
    'How the processor stops.',
  ),
  maxBodyBytes: optional(size, DEFAULTS.maxBodyBytes, 'Largest request body that is read; above it a request is answered with 413.'),
});

const jwt = z.strictObject({
  metadataNamespace: optional(z.string().min(1), DEFAULTS.metadataNamespace, 'Namespace of the dynamic metadata that holds the verified token.'),
  payloadKey: required(z.string().min(1), 'The name under it: `payload_in_metadata` of the jwt_authn provider.', 'jwt_payload'),
  claim: required(z.string().min(1), 'The claim that tells the tenant; dots reach into objects.', 'org.id'),
  tenants: optional(z.record(z.string(), tenantId).nullable(), DEFAULTS.jwtTenants, 'Claim value → tenant id.', { 'org-1234': 'acme' }),
});

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, { error: 'must be the name of a header' })
  .refine((name) => !CREDENTIAL_HEADERS.includes(name.toLowerCase()), { error: 'must not be a header that carries keys or addresses' });

const passOrReject = z.enum(['pass', 'reject']);
const unmetered = z.strictObject({
  countTokens: optional(passOrReject, DEFAULTS.countTokens, 'Counting a prompt: Anthropic’s and Bedrock’s count_tokens, Gemini’s countTokens, `/tokenize`, `/v1/responses/input_tokens`.'),
  realtime: optional(passOrReject, DEFAULTS.realtime, 'WebSockets and other upgrades on the path of any API, `/v1/realtime` and what sets one up, Gemini’s Live, Bedrock’s bidirectional streams. Upgrades need `upgrade_configs` in Envoy as well.'),
  batches: optional(passOrReject, DEFAULTS.batches, 'Batches: `/v1/batches`, `/v1/messages/batches`, `:batchGenerateContent`, Bedrock’s model invocation jobs and async-invoke.'),
  files: optional(passOrReject, DEFAULTS.files, 'Files, uploads, vector stores, cached contents.'),
  media: optional(passOrReject, DEFAULTS.media, 'Images, speech, transcription, video; Vertex’s `:predict`.'),
  assistants: optional(passOrReject, DEFAULTS.assistants, 'Runs on the provider’s side: assistants, threads, agents, interactions.'),
  fineTuning: optional(passOrReject, DEFAULTS.fineTuning, 'Fine-tuning jobs.'),
  moderations: optional(passOrReject, DEFAULTS.moderations, 'Moderations and guardrails.'),
  passThrough: optional(passOrReject, DEFAULTS.passThrough, 'What else stands under a gateway’s pass-through prefixes, such as LiteLLM’s `/anthropic/…`, `/bedrock/…`, `/vertex_ai/…`, `/azure/…`.'),
  other: optional(passOrReject, DEFAULTS.otherWork, 'Model work by an API that is known and not read: `/v1/complete`, Cohere’s chat, `:rawPredict` of publishers other than Anthropic; and other spellings of an API’s path, in capitals for example.'),
});

const identity = z.strictObject({
  anonymous: optional(tenantId, DEFAULTS.anonymous, 'Requests without a key: `reject` (401), or the id of the tenant they count for.', 'reject'),
  unknownKey: optional(
    tenantId,
    DEFAULTS.unknownKey,
    'Keys that are listed nowhere, such as a gateway’s own virtual keys: `reject` (401), or the id of a tenant that serves as template: each such key gets its limits for itself, under its parent; its entitlements in pools are one for all of them. A request that shows several such keys is refused (401): which one the gateway takes can’t be known.',
    'reject',
  ),
  maxTemplateTenants: optional(z.int().min(1).max(1_000_000), DEFAULTS.maxTemplateTenants, 'How many tenants made from the template are told apart at one time.'),
  trustedTenantHeader: optional(headerName.nullable(), DEFAULTS.trustedTenantHeader, 'Header that names the tenant, set by a gateway in front that removes what clients send under that name.'),
  jwt: optional(jwt.nullable(), DEFAULTS.jwt, 'Tenant from claims of a token that Envoy’s jwt_authn filter verified.'),
});

const rate = z.int().min(1).max(MAX_RATE);
const DIMENSION_FIELDS = ['requestsPerMinute', 'tokensPerMinute', 'inputTokensPerMinute', 'outputTokensPerMinute', 'concurrency'] as const;
const noLimit = { value: undefined, unit: null, reason: 'Not limited.' };

const limit = z
  .strictObject({
    models: optional(z.array(glob).min(1), DEFAULTS.limitedModels, 'Models that it counts, together: `*` stands for any characters, `?` for one.', ['gpt-4*']),
    requestsPerMinute: omittable(rate, noLimit, 'Requests a minute.', 600),
    tokensPerMinute: omittable(rate, noLimit, 'Input and output tokens a minute.', 60_000),
    inputTokensPerMinute: omittable(rate, noLimit, 'Input tokens a minute.', 30_000),
    outputTokensPerMinute: omittable(rate, noLimit, 'Output tokens a minute.', 8000),
    concurrency: omittable(z.int().min(1).max(MAX_RATE), noLimit, 'Requests at one time.', 16),
    burstSeconds: optional(
      z.int().min(1).max(MAX_BURST_SECONDS),
      DEFAULTS.burstSeconds,
      'What may be used at once: the rate over so many seconds (at least one unit). A request that needs more than that can never be admitted.',
    ),
    countCachedInput: optional(z.boolean(), DEFAULTS.countCachedInput, 'Whether input that the upstream read from its cache counts.'),
    enforcement: optional(enforcement.nullable(), DEFAULTS.limitEnforcement, 'For this limit alone: `enforce`, `shadow` or `off`.', 'shadow'),
  })
  .refine((given) => DIMENSION_FIELDS.some((field) => given[field] !== undefined), {
    error: `limits nothing: give it at least one of ${DIMENSION_FIELDS.join(', ')}`,
  });

const tenant = z.strictObject({
  id: required(
    tenantId.refine((id) => id !== 'reject', { error: '"reject" is reserved: identity uses it for "no tenant"' }),
    'Its name, in metrics and refusals too.',
    'acme',
  ),
  keys: optional(z.array(keyHash), DEFAULTS.keys, 'Hashes of its keys, as `tokenweir hash-key KEY` prints them. The keys themselves are stored nowhere.', [
    'sha256:8649cdebee753898fd50e01408a9e438aa5090249bc3e51b65f33dce973b0873',
  ]),
  parent: optional(tenantId.nullable(), DEFAULTS.parent, 'A team or business unit: its limits apply too, to all its children together.'),
  models: optional(z.array(glob), DEFAULTS.allowedModels, 'Models it may use; an empty list allows none.'),
  limits: optional(z.union([limit, z.array(limit)]), DEFAULTS.limits, 'One mapping or a list. All that match have to allow a request; the longest wait is told.'),
  enforcement: optional(enforcement.nullable(), DEFAULTS.tenantEnforcement, 'For this tenant alone: `enforce`, `shadow` or `off`.'),
});

const model = z.strictObject({
  match: required(z.array(glob).min(1), 'Models it speaks of. Of several entries that match, the first that tells a field counts.', ['gpt-4*']),
  maxOutputTokens: omittable(z.int().min(1).max(MAX_RATE), DEFAULTS.maxOutputTokens, 'The model’s own largest output: no more is ever reserved.', 16_384),
  askForUsage: omittable(z.boolean(), DEFAULTS.askForUsage, 'Whether streamed requests may be edited to ask the upstream for usage; the client does not see it.', true),
});

const secret = z.string().min(1).max(4096);
const storeUrl = secret.refine((text) => isFromEnvironment(text) || parseStoreUrl(text).ok, {
  error: (issue) => {
    const parsed = parseStoreUrl(String(issue.input));
    return parsed.ok ? '' : parsed.message;
  },
});

const storeLogin = z.strictObject({
  username: optional(secret.nullable(), DEFAULTS.storeUsername, 'User of the Redis server (ACL).'),
  password: optional(secret.nullable(), DEFAULTS.storePassword, 'Its password. `env:NAME` takes it from the environment.'),
  passwordFile: optional(filePath.nullable(), DEFAULTS.storePassword, 'File that holds the password, instead of `password`. Space around it is dropped.'),
  sentinelUsername: optional(secret.nullable(), DEFAULTS.storeUsername, 'User of the Sentinels, which have logins of their own.'),
  sentinelPassword: optional(secret.nullable(), DEFAULTS.storePassword, 'Its password, or `env:NAME`.'),
  sentinelPasswordFile: optional(filePath.nullable(), DEFAULTS.storePassword, 'File that holds it, instead of `sentinelPassword`.'),
});

const storeTls = z.strictObject({
  caFile: optional(filePath.nullable(), DEFAULTS.storeCaFile, 'Authorities (PEM) that signed the server’s certificate.'),
  certFile: optional(filePath.nullable(), DEFAULTS.storeCertFile, 'Certificate (PEM) to show to the server, with `keyFile`.'),
  keyFile: optional(filePath.nullable(), DEFAULTS.storeCertFile, 'Its private key (PEM).'),
  serverName: optional(z.string().min(1).max(253).nullable(), DEFAULTS.storeServerName, 'Name that the server’s certificate must carry instead of the host’s.'),
  acceptAnyCertificate: optional(z.boolean(), DEFAULTS.acceptAnyCertificate, 'Encrypts without knowing with whom. For trials only.'),
});

const journal = z.strictObject({
  file: optional(filePath.nullable(), DEFAULTS.journalFile, 'File that the journal is written to as well, so that it outlives a restart of the processor. Each processor needs its own.', 'journal.jsonl'),
  maxBytes: optional(size, DEFAULTS.journalMaxBytes, 'Bound of the journal: above it what is settled is dropped, counted and told.'),
});

const ledger = z.strictObject({
  file: optional(filePath.nullable(), DEFAULTS.ledgerFile, 'File (JSON lines) that every settled request is written to. Events then leave the store only after they are in it. Each processor needs its own.', 'ledger.jsonl'),
  maxBytes: optional(size, DEFAULTS.ledgerMaxBytes, 'A file that grew to this is put aside under a name with its time, and a new one begun.'),
  keep: optional(z.int().min(1).max(100_000), DEFAULTS.ledgerKeep, 'How many of those are kept; the oldest is removed.'),
});

/** The document. Strict: whatever it does not know is an error. */
export const schema = z.strictObject({
  server: section(server, 'The processor’s own ports. Changes here need a restart.'),
  store: optional(
    storeUrl,
    DEFAULTS.store,
    'Where counts are kept: `memory`, `redis://[user:password@]host:port/db`, `redis+cluster://h1,h2` or `redis+sentinel://h1,h2/name`; `rediss…` for TLS. `env:NAME` takes the whole URL from the environment. Changes here and in the fields of the store below need a restart.',
    'redis://127.0.0.1:6379/0',
  ),
  storeLogin: section(storeLogin, 'User and password of the store, where they are not in its URL.'),
  storeTls: section(storeTls, 'How TLS to the store is checked.'),
  storeTimeoutMs: optional(z.int().min(1).max(1000), DEFAULTS.storeTimeoutMs, 'Longest that a request waits for the store; then the store counts as away for it.'),
  onStoreFailure: optional(
    z.enum(['local', 'open', 'closed']),
    DEFAULTS.onStoreFailure,
    'While the shared store is away: `local` goes on with this processor’s share of what remained, `open` lets all pass, `closed` answers 503 with Retry-After.',
  ),
  journal: section(journal, 'What is settled while the shared store is away, to be booked when it is back.'),
  ledger: section(ledger, 'The usage ledger on disk.'),
  enforcement: optional(enforcement, DEFAULTS.enforcement, '`enforce` refuses. `shadow` decides, charges and records what it would refuse, and changes nothing of the traffic. `off` does neither.'),
  adminToken: optional(
    z.string().min(1).max(4096).nullable(),
    DEFAULTS.adminToken,
    'Bearer token of the admin port: needed as soon as that listens on more than loopback. `env:NAME` takes it from the environment.',
  ),
  adminTokenFile: optional(filePath.nullable(), DEFAULTS.adminToken, 'File that holds the token, instead of `adminToken`. Space around it is dropped.'),
  identity: section(identity, 'How a request tells whose it is.'),
  unknownPaths: optional(z.enum(['pass', 'reject']), DEFAULTS.unknownPaths, 'Requests to paths of no known API: let them pass uncounted, or answer 404.'),
  unmetered: section(unmetered, 'Requests that are known and can’t be metered: let them pass uncounted (a metric by kind), or answer 403. GET, HEAD, OPTIONS and DELETE always pass.'),
  background: optional(z.enum(['meter', 'reject']), DEFAULTS.background, 'Bodies with `background: true`, whose answer is made after the response: `meter` charges the estimate (prompt, and the output that is usual for the model), `reject` answers 400.'),
  tenants: optional(z.array(tenant), { value: [], unit: null, reason: 'Nobody is served without being configured, unless identity says so.' }, 'Whose use is counted and limited.'),
  pools: optional(z.array(pool), DEFAULTS.pools, 'What serves models, and how much of it there is: [pools.md](pools.md). In order: the first that matches a model has it.'),
  entitlements: optional(z.array(entitlement), DEFAULTS.entitlements, 'What tenants have of pools. Those without one have the lowest class that is named there, without a baseline.'),
  models: optional(z.array(model), DEFAULTS.models, 'What is known of models.'),
  estimate: section(
    z.strictObject({
      unknownOutputTokens: optional(z.int().min(1).max(1_000_000), DEFAULTS.unknownOutputTokens, 'Output reserved for a request without a cap while nothing was learned.'),
      exact: section(
        z.strictObject({
          models: optional(z.array(glob), DEFAULTS.exactModels, 'Models whose prompts are counted by OpenAI’s own tokenizer (o200k), in a thread of its own, instead of estimated.', ['gpt-4.1*']),
          maxBytes: optional(size, DEFAULTS.exactMaxBytes, 'Longer bodies are estimated.'),
          timeoutMs: optional(z.int().min(1).max(1000), DEFAULTS.exactTimeoutMs, 'A count that takes longer is not waited for: the estimate is taken.'),
        }),
        'Exact counting of prompts: off unless models are named. It needs the package `gpt-tokenizer`.',
      ),
    }),
    'What a request will cost, before that is known.',
  ),
  log: section(
    z.strictObject({
      level: optional(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']), DEFAULTS.logLevel, 'The least that is logged. Prompts, answers and keys never are.'),
    }),
    'What is logged.',
  ),
});

/** A document that passed the schema, with all defaults in it. */
export type Document = z.output<typeof schema>;
export type LimitDocument = z.output<typeof limit>;
export type PoolDocument = Document['pools'][number];
export type EntitlementDocument = Document['entitlements'][number];
export type TlsDocument = z.output<typeof tls>;
