#!/bin/sh
# install.sh BUILD CC PROBE.HSACO
# Install the tree into a folder of its own, build a program outside the tree against that copy through
# pkg-config and through CMake, with both libraries, and run it and etrun on the installed emulator.
set -eu
build=$1 cc=$2 probe=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "install.sh: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$dir/usr" >"$dir/log" || { cat "$dir/log"; fail "cmake --install"; }
lib=$(dirname "$(find "$dir/usr" -name libetrt.a)")
[ -f "$lib/libetemu.so" ] || fail "no libetemu.so beside libetrt.a"

mkdir "$dir/program"
cat >"$dir/program/main.c" <<'C'
#include <etrt.h>
#include <stdio.h>
int main(int argc, char **argv) {
    etrt_device *device;
    etrt_model *model = NULL;
    etrt_status st = etrt_device_open("emu:gfx942:cus=3", &device);
    if (st == ETRT_OK && argc > 1) st = etrt_model_load(device, argv[1], &model);
    printf("%s: %s %s %s\n", etrt_status_name(st), etrt_device_name(device), etrt_model_name(model),
           etrt_last_error());
    etrt_model_unload(model);
    etrt_device_close(device);
    return st != ETRT_OK;
}
C
cat >"$dir/program/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.25)
project(program LANGUAGES C)
find_package(etrt 0.1 REQUIRED)
add_executable(with_static main.c)
target_link_libraries(with_static PRIVATE etrt::etrt)
add_executable(with_shared main.c)
target_link_libraries(with_shared PRIVATE etrt::etrt_shared)
C

cd "$dir/program"
export PKG_CONFIG_PATH="$lib/pkgconfig"
"$cc" main.c $(pkg-config --cflags --libs etrt) -o with_pkgconfig
cmake -S . -B b -DCMAKE_PREFIX_PATH="$dir/usr" -DCMAKE_C_COMPILER="$cc" >"$dir/log" &&
    cmake --build b >>"$dir/log" || { cat "$dir/log"; fail "the CMake package"; }

# libetrt.so finds the emulator beside itself; a static program is told where its library folder is.
LD_LIBRARY_PATH="$lib" ./with_pkgconfig "$probe" || fail "pkg-config"
b/with_shared "$probe" || fail "libetrt.so"
ETRT_EMU_LIB="$lib/libetemu.so" b/with_static "$probe" || fail "libetrt.a"
"$dir/usr/bin/etrun" --list "$probe" || fail "etrun --list"
"$dir/usr/bin/etrun" "$probe" --device emu --set N=1 2>&1 | grep 'weights of model probe' ||
    fail "the installed etrun finds no emulator"
