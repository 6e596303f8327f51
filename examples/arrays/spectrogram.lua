-- The spectrogram of a sound: overlapping frames, a Hann window, and one batch of Fourier transforms. The picture is
-- written to examples/out/spectrogram.png: time runs down, frequency to the right.
--   lua5.4 examples/arrays/spectrogram.lua [sound.wav]

local mw = require "moonwarp"
local examples = (arg[0]:match "^(.*/)" or "./") .. "../"
os.execute("mkdir -p '" .. examples .. "out'")

-- Without a sound it makes one: two seconds of a chirp from 300 to 1300 Hz with two weaker harmonics.
local LOW, HIGH, SECONDS = 300, 1300, 2
local function write_chirp(path)
  local rate = 8000
  local t = mw.arange(SECONDS * rate, "double") / rate
  local phase = (t * LOW + t * t * ((HIGH - LOW) / (2 * SECONDS))) * (2 * math.pi)
  mw.write_wav(path, (phase:sin() + (phase * 2):sin() / 4 + (phase * 3):sin() / 8) / 2, rate)
  print "made a chirp"
end

local path = arg[1] or examples .. "out/chirp.wav"
if not arg[1] then write_chirp(path) end                          --> made a chirp
local sound, rate = mw.read_wav(path)
if sound.rank == 2 then sound = sound:mean { axis = 2 } end       -- several channels

-- Frames of 40 ms that begin every 10 ms. Cut into hops, the sound has a frame at each hop and the three after it; the
-- four are views of the same memory, joined by one copy.
local hop = math.floor(rate / 100)
local size, count = 4 * hop, math.floor(#sound / hop) - 3
local parts = {}
for part = 1, 4 do
  local first = (part - 1) * hop
  parts[part] = sound:sub(first + 1, first + count * hop):reshape(count, hop)
end
local frames = mw.concat(parts, 2)

-- A Hann window, and the transforms of all frames at once.
local window = 0.5 - (mw.arange(size) * (2 * math.pi / size)):cos() * 0.5
local spectrum = mw.fft.rfft(frames * window, { axis = 2 })
local power = spectrum:abs() ^ 2
local decibels = power:maximum(power:max() * 1e-8):log10() * 10 -- 80 dB down to the least

decibels:plot {
  kind = "heat", title = "Sound, in dB", xlabel = "frequency / 25 Hz", ylabel = "time / 10 ms", height = 440,
  file = examples .. "out/spectrogram.png",
}
print(count, spectrum.shape[2])                                   --> 197 161

-- In each frame the chirp's power is greatest at its frequency in the frame's middle, to half a bin of 25 Hz.
if not arg[1] then
  local peaks = (power:argmax { axis = 2 } - 1) * rate / size
  local middles = (mw.arange(count) * hop + size / 2) / rate
  local expected = middles * ((HIGH - LOW) / SECONDS) + LOW
  print(peaks[1], peaks[99], peaks[197])                          --> 300.0 800.0 1300.0
  print((peaks - expected):abs():max() <= 12.5)                   --> true
end
