-- A keeper tells processors; nothing, if it is keeper no more.
--
-- KEYS  1 claim, then the streams to the processors
-- ARGV  1 processor that keeps the pool, 2 epoch of its claim, 3 entries that a stream keeps at most, 4 ms after which a stream that nobody
--       reads expires, then a batch for each stream
-- Returns 1, or 0 if the claim is not its own.

local _, epoch, holder = match(call('GET', KEYS[1]) or '', '^(%d+) (%d+) (.*)$')
if holder ~= ARGV[1] or epoch ~= ARGV[2] then return 0 end
for i = 2, #KEYS do
  call('XADD', KEYS[i], 'MAXLEN', '~', ARGV[3], '*', 'b', ARGV[i + 3])
  call('PEXPIRE', KEYS[i], ARGV[4])
end
return 1
