-- Claims what one processor at a time may do.
--
-- KEYS  1 "<until ms> <processor>"
-- ARGV  1 time ms or '', 2 processor, 3 ms that a claim holds
-- Returns 1 if the processor has it now, else 0.
-- Invariant: what another holds ends within a claim's time from now, also where a clock that was ahead wrote it.

local now = time_ms(ARGV[1])
local till, holder = match(call('GET', KEYS[1]) or '', '^(%-?%d+) (.*)$')
if till and holder ~= ARGV[2] and now < tonumber(till) then
  local longest = now + ARGV[3]
  if tonumber(till) > longest then call('SET', KEYS[1], format('%.0f %s', longest, holder)) end
  return 0
end
call('SET', KEYS[1], format('%.0f %s', now + ARGV[3], ARGV[2]))
return 1
