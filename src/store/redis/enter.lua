-- Enters the slot if nobody holds it and nobody came before. Another client sees
-- SET key token NX PX ttl, no more.
-- KEYS: the slot, its fence, its queue, its presence list, its mark of a mixed fleet.
-- ARGV: token, ttl in ms, fence's ttl in ms, grace in s (0: none), waiter's name ('': does not
-- wait), its arrival in us ('': now), for how long it counts as present in ms, '1' to hold back: it
-- joins the queue and does not enter.
-- Answers {'entered', fence}, or {'taken', holder's token, place, arrival, ms left}, or
-- {'behind', '', place, arrival}: the slot is free for one who came before, or
-- {'open', '', place, arrival}: it is left to clients that do not know the queue for a moment, or
-- {'young', '', place, arrival}: it holds back, or has to, as a server that has just started may have
-- lost its keys, and those who held them get the grace to set them again first.
-- KEYS may be the slot alone, while its hash slot is being moved. Then there is no queue, and the fence
-- answered is to be had by count.lua.
-- include: call.lua
-- include: queue.lua
-- include: fence.lua

local alone = #KEYS == 1
local me = ARGV[5]
local mixed_for = 86400000 -- ms for which a fleet counts as mixed
local gap = 600000 -- us: a client that polls twice a second finds the slot free
local pause = 30000000 -- us between two gaps that nobody used

local function is_ours(token) return string.sub(token, 1, 6) == '{"id":' end

-- Joins the queue, or keeps the place in it. The arrival grows even if the clock is set back.
local function stay(now)
  if me == '' or alone then return -1, ARGV[6] end
  local arrival = ARGV[6]
  if arrival == '' then
    local last = call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2]
    arrival = exact(math.max(now, tonumber(last or 0) + 1))
  end
  local is_new = call('ZADD', KEYS[3], 'NX', arrival, me) == 1
  -- The answer to an earlier try was lost.
  if not is_new and ARGV[6] == '' then arrival = exact(tonumber(call('ZSCORE', KEYS[3], me))) end
  call('ZADD', KEYS[4], exact(now + ARGV[7] * 1000), me)
  call('PEXPIRE', KEYS[3], 60000)
  call('PEXPIRE', KEYS[4], 60000)
  return call('ZRANK', KEYS[3], me), arrival
end

local function is_young(now)
  local grace = tonumber(ARGV[4])
  if grace == 0 then return false end
  -- A server counts as saved when it starts, and LASTSAVE is far cheaper than INFO.
  local saved = redis.pcall('LASTSAVE')
  if type(saved) == 'number' and now / 1000000 - saved > grace + 1 then return false end
  -- The right to INFO is optional.
  local info = redis.pcall('INFO', 'server')
  local uptime = type(info) == 'string' and tonumber(string.match(info, 'uptime_in_seconds:(%d+)'))
  -- A difference of whole seconds: it says 1 of a server that may be hardly older than nothing.
  return uptime and uptime <= grace
end

-- Clients that do not know the queue poll, and would never find the slot free while there is one. So
-- where one of them has been seen in the last day, the slot is left open for a moment: after each
-- holder from the queue while they use it, and once in a while if they do not.
-- KEYS[5] has 'other', 'due:TIME' of the next such moment, or 'open:TIME' of its end.
local function is_left_open(now)
  local mark = call('GET', KEYS[5])
  if not mark then return false end
  local time = tonumber(string.match(mark, ':(%d+)') or 0)
  local is_open = string.sub(mark, 1, 5) == 'open:'
  local function remark(word, at) call('SET', KEYS[5], word .. exact(at), 'KEEPTTL') end
  if is_open and now < time then return true end
  if is_open then
    remark('due:', now + pause)
  elseif mark == 'other' then
    remark('due:', now)
  elseif now >= time then
    remark('open:', now + gap)
    return true
  end
  return false
end

local holder = token_at(KEYS[1])
local now = time_now()
local first
if holder and holder ~= ARGV[1] then
  if not alone and not is_ours(holder) then call('SET', KEYS[5], 'other', 'PX', mixed_for) end
  local place, arrival = stay(now)
  return {'taken', holder, place, arrival, call('PTTL', KEYS[1])}
elseif not holder then
  if ARGV[8] == '1' or is_young(now) then
    -- In the queue, so that the order of arrival is there when the grace is over.
    local place, arrival = stay(now)
    return {'young', '', place, arrival}
  end
  first = not alone and first_present(now)
  if first and first ~= me then
    local _, arrival = stay(now)
    first = wake_first(now, me)
    if first and first ~= me then
      return {'behind', '', me ~= '' and call('ZRANK', KEYS[3], me) or -1, arrival}
    end
  end
  if first and is_left_open(now) then
    local place, arrival = stay(now)
    return {'open', '', place, arrival}
  end
end
-- The slot comes last: whoever lacks a right for the rest is refused while it is still free.
if first then forget(me) end
local fence = alone and '0' or next_fence(KEYS[2], now, ARGV[3])
if holder then
  -- Our own: the answer to an earlier try was lost on the way.
  call('PEXPIRE', KEYS[1], ARGV[2])
else
  call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
end
return {'entered', fence}
