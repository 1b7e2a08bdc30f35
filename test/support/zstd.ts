const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

/** A zstd frame (RFC 8878) of one raw block, below 256 bytes: Node 20 can't write any. */
export function zstdRaw(bytes: Buffer): Buffer {
  if (bytes.length > 255) throw new Error('too long for one byte of length');
  return Buffer.concat([Buffer.from([...MAGIC, 0x20, bytes.length]), blockHeader(true, 0, bytes.length), bytes]);
}

const LARGEST_BLOCK = 128 * 1024;
/** Window descriptor of 128 KiB. */
const WINDOW = 7 << 3;

/** A zstd frame that is decoded to so many spaces (rounded up to 128 KiB), 32 KB for a GiB: blocks of one repeated byte. */
export function zstdBomb(decodedBytes: number): Buffer {
  const blocks = Math.ceil(decodedBytes / LARGEST_BLOCK);
  const parts = Array.from({ length: blocks }, (_, i) => Buffer.concat([blockHeader(i === blocks - 1, 1, LARGEST_BLOCK), Buffer.from(' ')]));
  return Buffer.concat([Buffer.from([...MAGIC, 0, WINDOW]), ...parts]);
}

function blockHeader(last: boolean, type: 0 | 1, size: number): Buffer {
  const header = Buffer.alloc(3);
  header.writeUIntLE((last ? 1 : 0) | (type << 1) | (size << 3), 0, 3);
  return header;
}
