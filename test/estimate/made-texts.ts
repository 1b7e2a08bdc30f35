/** Texts that are made, always the same: nobody publishes base64. */
export function madeText(name: string): string {
  const random = lcg(name.length * 7919 + name.charCodeAt(0));
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const whole = (below: number): number => Math.floor(random() * below);
  const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => whole(256)));
  const uuid = (): string => bytes(16).toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  const time = (): string => new Date(1.76e12 + whole(1e9)).toISOString();
  const lines = (count: number, line: () => string): string => Array.from({ length: count }, line).join('\n');
  const path = (): string => `/${pick(['api', 'v1', 'static', 'users'])}/${pick(['orders', 'img', 'profile', 'search'])}/${whole(100_000)}`;
  switch (name) {
    case 'base64':
      return bytes(9000).toString('base64');
    case 'base64url':
      return lines(40, () => `"${bytes(120).toString('base64url')}"`);
    case 'hex':
      return lines(120, () => bytes(32).toString('hex'));
    case 'uuids':
      return lines(250, uuid);
    case 'access-log':
      return lines(100, () => `10.${whole(256)}.${whole(256)}.${whole(256)} - - [${time()}] "${pick(['GET', 'POST'])} ${path()} HTTP/1.1" ${pick([200, 304, 404, 500])} ${whole(60_000)} "-" "Mozilla/5.0 (X11; Linux x86_64)"`);
    case 'json-log':
      return lines(80, () => JSON.stringify({ level: pick(['info', 'warn', 'error']), time: time(), requestId: uuid(), msg: pick(['request completed', 'upstream timed out', 'cache miss']), durationMs: whole(9000) / 10, url: path() }));
    case 'kubernetes-log':
      return lines(100, () => `${pick(['I', 'W', 'E'])}${1000 + whole(300)} ${time().slice(11, 23)}000       1 ${pick(['controller', 'scheduler', 'kubelet'])}.go:${whole(2000)}] "${pick(['Syncing pod', 'Failed to pull image', 'Updated endpoint slices'])}" pod="default/web-${bytes(5).toString('hex')}-${bytes(3).toString('hex')}" err="context deadline exceeded"`);
    case 'csv':
      return lines(250, () => `${whole(1e6)},${time().slice(0, 10)},${(random() * 1000).toFixed(2)},${(random() * 10).toFixed(4)},${pick(['north', 'south', 'east'])}`);
    case 'table':
      return lines(200, () => `| ${String(whole(1e5)).padStart(8)} | ${(random() * 100).toFixed(3).padEnd(10)} | ${pick(['ok', 'failed', 'pending']).padEnd(9)} |`);
    case 'rules':
      return lines(90, () => `${pick(['-', '=', '*', '#', '_', '.'])}`.repeat(20 + whole(60)) + `\n${' '.repeat(whole(30))}${pick(['Section', 'Summary', 'Notes'])} ${whole(20)}`);
    case 'random-json':
      return JSON.stringify(Array.from({ length: 120 }, () => ({ id: whole(1e9), user_name: pick(['ann', 'bob', 'carol']), isActive: random() > 0.5, tags: [pick(['red', 'blue']), pick(['big', 'small'])], score: random() * 10, ref: null })), null, 2);
    default:
      throw new Error(`no such text: ${name}`);
  }
}

/** The generator of Numerical Recipes: 32 bits are enough here. */
function lcg(seed: number): () => number {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}
