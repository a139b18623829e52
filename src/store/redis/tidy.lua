-- Removes what the doctor has tried. KEYS: whatever is to go.
-- include: call.lua

for _, key in ipairs(KEYS) do free(key) end
return #KEYS
