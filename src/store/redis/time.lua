local function time_now()
  local time = call('TIME')
  return time[1] * 1000000 + time[2]
end

local function exact(number) return string.format('%.0f', number) end
