-- A processor uses a pool no more. If it kept it, the others hear so in the same step: one of them may begin at once.
--
-- KEYS  1 claim, 2 sorted set of processors, 3 stream to this processor, then the streams to the others
-- ARGV  1 processor, 2 epoch of its claim or '', 3 entries that a stream keeps at most, 4 ms after which a stream that nobody reads expires,
--       then a batch for each stream to others
-- Returns 1 if it was keeper, else 0.

local _, epoch, holder = match(call('GET', KEYS[1]) or '', '^(%d+) (%d+) (.*)$')
call('ZREM', KEYS[2], ARGV[1])
call('DEL', KEYS[3])
if holder ~= ARGV[1] or epoch ~= ARGV[2] then return 0 end
call('DEL', KEYS[1])
for i = 4, #KEYS do
  call('XADD', KEYS[i], 'MAXLEN', '~', ARGV[3], '*', 'b', ARGV[i + 1])
  call('PEXPIRE', KEYS[i], ARGV[4])
end
return 1
