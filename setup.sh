#!/bin/sh
# Sets up a Debian or Ubuntu machine for building and testing moonwarp: looks for each thing that the build uses and
# installs the packages of those that are missing. Where nothing is missing it changes nothing and needs no network.
#
#   sh setup.sh                 look, and install what is missing (as root, or through sudo)
#   sh setup.sh --check         only look; exit status 1 and a list where something is missing
#   sh setup.sh --llvm-config   print the llvm-config that the build uses (the Makefile asks)
#   sh setup.sh --clang-format  the same for clang-format
#   sh setup.sh --aarch64       prepare build/sysroot/aarch64 with AArch64's libraries and Lua, for make target=aarch64
#   sh setup.sh --peers         fetch NVIDIA's libcurand into build/peers, which the tests compare random numbers with
#   sh setup.sh --notebook      install Jupyter and the kernel ilua into build/notebook, for examples/notebook.ipynb
#   sh setup.sh --mpi           install Open MPI and MPICH, side by side, for the tests of mw.mpi
#   sh setup.sh --static-llvm   print "yes" where mwcc can be linked with the static libraries of LLVM and clang
#   sh setup.sh --bolt          print the folder of LLVM's BOLT, where that can lay out mwcc's code
set -u

LLVM_OLDEST=19
LLVM_NEWEST=22
LLVM_KNOWN="19 20 21 22" # the releases to look for, the one that moonwarp is tested with first

say() { printf '%s\n' "setup: $*"; }
die() { printf '%s\n' "setup: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# An LLVM is usable when it is new enough and its clang, its C headers and its shared library are all there.
llvm_is_usable() {
  version=$("$1" --version 2>/dev/null) || return 1
  [ "${version%%.*}" -ge $LLVM_OLDEST ] 2>/dev/null && [ "${version%%.*}" -le $LLVM_NEWEST ] &&
    [ -x "$("$1" --bindir)/clang" ] &&
    [ -e "$("$1" --includedir)/llvm-c/Core.h" ] &&
    [ -e "$("$1" --link-shared --libfiles 2>/dev/null)" ]
}

find_llvm_config() {
  for release in $LLVM_KNOWN ""; do
    candidate=llvm-config${release:+-$release}
    if have "$candidate" && llvm_is_usable "$candidate"; then command -v "$candidate"; return 0; fi
  done
  return 1
}

# The static libraries of LLVM and of clang, what they need in turn, and a C++ compiler: with them mwcc starts faster.
# clang's C++ interface changes with each release, and src/mwcc/front/clang_embedded.cc is written for this one.
LLVM_STATIC=19
static_llvm_is_usable() {
  version=$("$1" --version 2>/dev/null) && [ "${version%%.*}" -eq $LLVM_STATIC ] || return 1
  have c++ && [ -e "$("$1" --includedir)/clang/Frontend/CompilerInstance.h" ] || return 1
  folder=$("$1" --libdir)
  for library in -lclangFrontend $("$1" --link-static --libs passes native lto 2>/dev/null || echo missing); do
    [ -e "$folder/lib${library#-l}.a" ] || return 1
  done
  for library in $("$1" --link-static --system-libs); do
    case $library in
    -l*)
      [ -e "$(c++ -print-file-name="lib${library#-l}.so")" ] || [ -e "$(c++ -print-file-name="lib${library#-l}.a")" ] || return 1
      ;;
    *) [ -e "$library" ] || return 1 ;;
    esac
  done
}

# BOLT, with what lets a program count its branches. What counts in src/mwcc/layout is for this kind of processor.
find_bolt() {
  llvm=$(find_llvm_config) || return 1
  folder=$("$llvm" --bindir)
  [ "$(uname -m)" = x86_64 ] && [ -x "$folder/llvm-bolt" ] && [ -x "$folder/merge-fdata" ] &&
    [ -e "$("$llvm" --libdir)/libbolt_rt_instr.a" ] && echo "$folder"
}

find_clang_format() {
  for release in $LLVM_KNOWN ""; do
    candidate=clang-format${release:+-$release}
    have "$candidate" || continue
    version=$("$candidate" --version | sed 's/.*version \([0-9]*\).*/\1/')
    if [ "$version" -ge $LLVM_OLDEST ] 2>/dev/null; then command -v "$candidate"; return 0; fi
  done
  return 1
}

# ---- what is missing: one line of reasons, one list of packages ----

missing=""  # package names
reasons=""  # what each is for
want() { missing="$missing $1"; reasons="$reasons
  $1: $2"; }
wishes="" # packages that only make things faster: nothing fails without them
wish() { wishes="$wishes $1"; reasons="$reasons
  $1: $2"; }

extras="" # packages that let more be tested: they are installed where others are, and alone they are not worth it
extra() { extras="$extras $1"; reasons="$reasons
  $1: $2"; }

compiles() { # can the C compiler use this header, with these flags?
  # shellcheck disable=SC2086 # flags are words
  printf '#include <%s>\n' "$1" | cc -E ${2:-} - >/dev/null 2>&1
}

have_library() { # does the dynamic linker know it?
  { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | grep -q "$1"
}

# In the name of a package @ stands for the release of LLVM, which the machine's package lists decide.
look() {
  have gcc || want gcc "the C compiler"
  compiles stdio.h || want libc6-dev "the C library's headers"
  have c++ || want g++ "the kernel compiler's C++ part, and C++ hosts in the tests"
  have make || want make "the build"
  have ld || want binutils "the linker"
  have pkg-config || want pkg-config "finding Lua and libpng"
  have lua5.4 || want lua5.4 "Lua"
  compiles lua.h "$(pkg-config --cflags lua5.4 2>/dev/null || echo -I/usr/include/lua5.4)" ||
    want liblua5.4-dev "Lua's headers, for the Lua module"
  have luajit || want luajit "LuaJIT"
  compiles lua.h "$(pkg-config --cflags luajit 2>/dev/null || echo -I/usr/include/luajit-2.1)" ||
    want libluajit-5.1-dev "LuaJIT's headers, for the Lua module that it can load"
  lua5.4 -e 'require "readline"' >/dev/null 2>&1 || want lua-readline "line editing at the prompt"
  have luarocks || want luarocks "testing the rockspec"
  compiles png.h || want libpng-dev "PNG images"
  compiles zlib.h || want zlib1g-dev "compressed .npz files"
  compiles mpfr.h || want libmpfr-dev "the tests: exact values of mathematical functions"
  lua5.4 -e 'require "busted"' >/dev/null 2>&1 || want lua-busted "the tests"
  have luacheck || want lua-check "make lint"
  if ! find_llvm_config >/dev/null; then
    want clang-@ "reading CUDA C"
    want llvm-@-dev "the kernel compiler"
  fi
  llvm=$(find_llvm_config)
  if [ -z "$llvm" ] || { [ "$("$llvm" --version | cut -d. -f1)" -eq $LLVM_STATIC ] && ! static_llvm_is_usable "$llvm"; }; then
    wish libclang-@-dev "a kernel compiler that starts fast"
    wish libpolly-@-dev "the same: what Debian's LLVM was built with"
    wish libzstd-dev "the same"
  fi
  if [ "$(uname -m)" = x86_64 ] && ! find_bolt >/dev/null &&
    { [ -z "$llvm" ] || [ "$("$llvm" --version | cut -d. -f1)" -eq $LLVM_STATIC ]; }; then
    wish bolt-@ "a kernel compiler that takes 14 % less time"
  fi
  have_library libfftw3f.so.3 || extra libfftw3-single3 "the tests: Fourier transforms by FFTW"
  have_library libfftw3.so.3 || extra libfftw3-double3 "the same in double precision"
  have_library libopenblas.so.0 || extra libopenblas0 "the tests: products and factorisations by OpenBLAS"
  have_library libEGL_mesa.so.0 || extra libegl1 "the tests: OpenGL's buffers and images shared with kernels"
  have_library libglapi.so.0 || have_library libgallium || extra libgl1-mesa-dri "the same: a renderer in software"
  [ -e /usr/include/Random123/philox.h ] || extra librandom123-dev "the tests: libraries of headers in kernels"
  [ -e /usr/include/glm/glm.hpp ] || extra libglm-dev "the same"
  [ -e /usr/include/eigen3/Eigen/Core ] || extra libeigen3-dev "the same"
  find_clang_format >/dev/null || want clang-format-@ "make lint"
}

# The oldest usable release of LLVM that the package lists offer whole.
llvm_release() {
  for release in $LLVM_KNOWN; do
    if [ -n "$(apt-cache --quiet madison "llvm-$release-dev" 2>/dev/null)" ] &&
      [ -n "$(apt-cache --quiet madison "clang-$release" 2>/dev/null)" ]; then
      echo "$release"
      return 0
    fi
  done
  return 1
}

with_release() { printf '%s' "$1" | sed "s/@/$2/g"; }

# ---- install ----

install() {
  have apt-get || die "this machine has no apt-get. Install these, or what your system calls them (LLVM $LLVM_OLDEST to $LLVM_NEWEST for @):$reasons"
  root=""
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || die "installing needs root. As root, run: sh setup.sh (it would install:$(with_release "$missing" $LLVM_OLDEST))"
    root="sudo"
  fi
  apt() { # noninteractive also behind sudo, which drops the environment
    $root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a apt-get --quiet --yes "$@" </dev/null
  }
  say "fetching the package lists"
  apt update || say "not every package list could be fetched; going on with those that are there"
  case $missing$wishes in
  *@*)
    release=$(llvm_release) || die "no package list offers LLVM $LLVM_OLDEST to $LLVM_NEWEST (clang-$LLVM_OLDEST, llvm-$LLVM_OLDEST-dev). Debian 12 and newer have it in their main archive, https://apt.llvm.org has it for others: add one of them to apt's sources, then run sh setup.sh again"
    missing=$(with_release "$missing" "$release")
    wishes=$(with_release "$wishes" "$release")
    ;;
  esac
  # Not every release of a distribution has them all, and one that is not there would keep the others away.
  offered=""
  for package in $wishes; do
    [ -z "$(apt-cache --quiet madison "$package" 2>/dev/null)" ] || offered="$offered $package"
  done
  wishes=$offered
  say "installing$missing$wishes$extras"
  # shellcheck disable=SC2086 # lists
  apt install --no-install-recommends $missing $wishes $extras && return
  # shellcheck disable=SC2086
  [ -n "$wishes$extras" ] && { [ -z "$missing" ] || apt install --no-install-recommends $missing; } && return
  die "apt-get could not install them; its messages stand above. Mend what they say and run sh setup.sh again, or install by hand:$missing"
}

# ---- AArch64, emulated ----

# Packages of that kind of machine, unpacked into a folder: nothing is installed, and apt's own lists stay as they are.
AARCH64_PACKAGES="lua5.4 liblua5.4-dev libpng-dev lua-filesystem lua-system lua-term"

aarch64_archive() { # as a line of sources.list
  # shellcheck disable=SC1091 # the system's
  . /etc/os-release
  case ${ID:-} in
  debian) echo "deb http://deb.debian.org/debian ${VERSION_CODENAME:-stable} main" ;;
  ubuntu) echo "deb http://ports.ubuntu.com/ubuntu-ports $VERSION_CODENAME main universe" ;;
  *) die "packages for AArch64 are fetched from Debian's or Ubuntu's archive, and this is ${ID:-neither}" ;;
  esac
}

prepare_aarch64() {
  have apt-get || die "the packages come from Debian's or Ubuntu's archive: this machine has no apt-get"
  missing=""
  have aarch64-linux-gnu-gcc || want gcc-aarch64-linux-gnu "the cross compiler"
  have qemu-aarch64 || want qemu-user "the emulator"
  # The build has AArch64's C library in its own folder; what is built without that folder needs the cross compiler's.
  [ -e /usr/aarch64-linux-gnu/include/dlfcn.h ] || extra libc6-dev-arm64-cross "the tests: programs that load modules"
  [ -z "$missing" ] || install
  have aarch64-linux-gnu-gcc && have qemu-aarch64 || die "installed, but still not found:$reasons"
  root=$(cd "$(dirname "$0")" && pwd)/build/sysroot/aarch64
  work=$(mktemp -d) || exit 1
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work" # apt fetches as a user of its own
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  : >"$work/status"
  aarch64_archive >"$work/sources.list" || exit 1
  apt_aarch64() {
    apt-get -qq -oAPT::Architecture=arm64 -oAPT::Architectures=arm64 -oDir::State="$work" -oDir::State::Lists="$work/lists" \
      -oDir::State::status="$work/status" -oDir::Cache="$work/cache" -oDir::Etc::sourcelist="$work/sources.list" \
      -oDir::Etc::sourceparts=/dev/null -oAcquire::Languages=none -oAPT::Sandbox::User=root -oDebug::NoLocking=1 \
      -oAcquire::http::Timeout=30 -oAcquire::Retries=1 "$@"
  }
  say "fetching AArch64's packages from $(cut -d' ' -f2- "$work/sources.list")"
  # shellcheck disable=SC2086 # a list
  apt_aarch64 update && apt_aarch64 --download-only --no-install-recommends --yes install $AARCH64_PACKAGES >/dev/null ||
    die "they could not be fetched"
  rm -rf "$root.new"
  mkdir -p "$root.new"
  for package in "$work"/cache/archives/*.deb; do dpkg -x "$package" "$root.new" || die "$package could not be unpacked"; done
  qemu-aarch64 -L "$root.new" "$root.new/usr/bin/lua5.4" -v >/dev/null || die "$(command -v qemu-aarch64) does not run AArch64's Lua here"
  rm -rf "$root"
  mv "$root.new" "$root" || exit 1
  say "done: $root; now make target=aarch64 test"
}

# ---- what the tests compare with: moonwarp itself neither needs it nor uses it ----

# A wheel is an archive. Nothing is installed but for pip, if there is none.
fetch_peers() {
  root=$(cd "$(dirname "$0")" && pwd)/build/peers
  [ -e "$root/nvidia/curand/lib/libcurand.so.10" ] && { say "all there: $root"; return; }
  [ "$(uname -m)" = x86_64 ] || die "NVIDIA's libcurand is fetched for x86-64, and this is $(uname -m): tests that need it are pending"
  missing=""
  python3 -m pip --version >/dev/null 2>&1 || want python3-pip "fetching packages of Python's index"
  [ -z "$missing" ] || install
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --upgrade --target "$root" \
    nvidia-curand-cu12 || die "nvidia-curand-cu12 could not be fetched: tests that need it are pending"
  say "done: $root"
}

# Jupyter, without its server and pages, and a kernel that runs Lua, in a Python environment of their own. What ilua
# uses of Python's distutils is setuptools' since Python 3.12.
fetch_notebook() {
  root=$(cd "$(dirname "$0")" && pwd)/build/notebook
  [ -x "$root/bin/jupyter" ] && "$root/bin/python" -c 'import ilua' 2>/dev/null && { say "all there: $root"; return; }
  missing=""
  python3 -c 'import ensurepip' 2>/dev/null || want python3-venv "Python environments"
  [ -z "$missing" ] || install
  python3 -m venv --clear "$root" &&
    "$root/bin/python" -m pip install --quiet --disable-pip-version-check ilua nbconvert nbclient setuptools ||
    die "ilua and nbconvert could not be fetched: the test of the notebook is pending"
  say "done: $root"
}

# ---- MPI: what several processes of a script need, and the tests of that ----

install_mpi() {
  missing=""
  have mpirun.openmpi || want openmpi-bin "Open MPI"
  compiles mpi.h "-I/usr/lib/$(cc -print-multiarch)/openmpi/include" || want libopenmpi-dev "its headers, for the C programs in bench/"
  have mpirun.mpich || want mpich "MPICH"
  compiles mpi.h "-I/usr/include/$(cc -print-multiarch)/mpich" || want libmpich-dev "its headers"
  [ -z "$missing" ] || install
  have mpirun.openmpi && have mpirun.mpich || die "installed, but still not found:$reasons"
  say "all there: $(mpirun.openmpi --version | head -n 1), $(mpirun.mpich --version | sed -n 's/ *Version: *\(.*\)/MPICH \1/p')"
}

case ${1:-} in
--notebook)
  fetch_notebook
  exit
  ;;
--mpi)
  install_mpi
  exit
  ;;
--aarch64)
  prepare_aarch64
  exit
  ;;
--peers)
  fetch_peers
  exit
  ;;
--llvm-config)
  find_llvm_config
  exit
  ;;
--clang-format)
  find_clang_format
  exit
  ;;
--static-llvm)
  llvm=$(find_llvm_config) && static_llvm_is_usable "$llvm" && echo yes
  exit
  ;;
--bolt)
  find_bolt
  exit
  ;;
--check | "") ;;
*) die "unknown option $1 (there are --check, --aarch64, --peers, --notebook, --mpi, --llvm-config, --clang-format, --static-llvm and --bolt)" ;;
esac

# Where only what makes things faster is missing, and nobody here may install it, that is all there is to do.
can_install() { have apt-get && { [ "$(id -u)" -eq 0 ] || have sudo; }; }

look
if [ -z "$missing" ] && { [ -z "$wishes" ] || [ "${1:-}" = --check ] || ! can_install; }; then
  [ -z "$wishes$extras" ] || say "nothing fails without, but would be better with:$(with_release "$reasons" "$LLVM_OLDEST")"
  say "all there: $(find_llvm_config), $(lua5.4 -v | cut -d' ' -f1-2), busted, luacheck"
  exit 0
fi
say "missing:$(with_release "$reasons" "$LLVM_OLDEST")"
[ "${1:-}" = --check ] && exit 1
install
missing=""
wishes=""
extras=""
reasons=""
look
[ -z "$missing" ] || die "installed, but still not found:$(with_release "$reasons" "$LLVM_OLDEST")"
say "done: $(find_llvm_config), $(lua5.4 -v | cut -d' ' -f1-2), busted, luacheck"
