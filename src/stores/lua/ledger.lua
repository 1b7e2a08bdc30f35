-- Totals and events: the loader puts this before scripts that book, after leases.lua, which says how they are kept.

-- The port promises 40 days and 14 months of totals.
local DAY_KEPT_MS = 45 * 86400000
local MONTH_KEPT_MS = 460 * 86400000
local EVENTS_KEPT_MS = 7 * 86400000

local function add_totals(period, kept_ms, tenants, figures)
  local key = base .. 'u:' .. period
  local fields = {}
  for i, packed in ipairs(call('HMGET', key, unpack(tenants))) do
    local r, n, c, o, s = 0, 0, 0, 0, 0
    if packed then r, n, c, o, s = struct.unpack(FIVE, packed) end
    fields[#fields + 1] = tenants[i]
    fields[#fields + 1] = struct.pack(FIVE, r + figures[1], n + figures[2], c + figures[3], o + figures[4], s + figures[5])
  end
  call('HSET', key, unpack(fields))
  if kept_ms then call('PEXPIRE', key, kept_ms, 'NX') end
end

-- Books an event once to each tenant that the lease was charged to, its own and its parent. entry: 1 event (JSON), 2 requests,
-- 3 input, 4 cached, 5 output, 6 reasoning, 7 day, 8 month, 9 parent or ''. `keep`: for a sink, until it has it.
local function book(lease, entry, keep, recent)
  local tenants, seen = { lease.t }, { [lease.t] = true }
  local function bill(tenant)
    if tenant ~= '' and not seen[tenant] then
      seen[tenant] = true
      tenants[#tenants + 1] = tenant
    end
  end
  bill(entry[9])
  for _, holding in ipairs(lease.h) do bill(holding[7]) end
  local figures = { entry[2], entry[3], entry[4], entry[5], entry[6] }
  add_totals('all', nil, tenants, figures)
  add_totals(entry[7], DAY_KEPT_MS, tenants, figures)
  add_totals(entry[8], MONTH_KEPT_MS, tenants, figures)
  call('XADD', base .. 'e', 'MAXLEN', '~', recent, '*', 'e', entry[1])
  call('PEXPIRE', base .. 'e', EVENTS_KEPT_MS)
  if keep == '1' then call('XADD', base .. 'q', '*', 'e', entry[1]) end
end
