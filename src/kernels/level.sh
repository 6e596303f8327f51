# The highest level of instruction sets that this machine has, as mwcc --mcpu names it (src/cpu/processor.c).
case $(uname -m) in x86_64) ;; *) echo generic && exit ;; esac
has() { for feature; do grep -qwm1 "$feature" /proc/cpuinfo || return 1; done; }
if ! has avx2 bmi2 f16c fma movbe; then
  echo x86-64-v2
elif has avx512f avx512bw avx512cd avx512dq avx512vl; then
  echo x86-64-v4
else
  echo x86-64-v3
fi
