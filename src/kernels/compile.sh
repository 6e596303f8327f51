# Compile the kernels of common operations on arrays: sh compile.sh mwcc texts folder level
# Each has the name by which the library finds it.
mwcc=$1 texts=$2 folder=$3 level=$4
rm -rf "$folder.new" && mkdir -p "$folder.new" || exit
find "$texts" -mindepth 1 -type d | sort | xargs -P "$(nproc)" -I '{}' \
  sh -c 'cd "$0" && exec "$1" --mcpu="$2" --ship="$3" kernel.cu' '{}' "$mwcc" "$level" "$folder.new" || exit
rm -rf "$folder" && mv "$folder.new" "$folder"
