#!/bin/sh
# install.sh BUILD CC PROGRAM
# Installs the tree into a folder of its own, moves that folder, and there: compiles a model with the
# installed etcc, builds PROGRAM against libetrt through pkg-config and through CMake, with the static and
# with the shared library, and runs it on the installed emulator.
set -eu
build=$1 cc=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -R "$3" "$dir/program"
fail() {
    echo "install.sh: $*" >&2
    exit 1
}

cmake --install "$build" --prefix "$dir/first" > "$dir/log" || { cat "$dir/log"; fail 'cmake --install'; }
# What is found from now on is found relative to where it lies.
mv "$dir/first" "$dir/usr"
usr=$dir/usr bin=$dir/usr/bin
lib=$(dirname "$(find "$usr" -name libetrt.a)")
for file in "$bin/etcc" "$bin/etimport" "$bin/etgguf" "$bin/etquant" "$bin/etrun" "$bin/etinterp" "$bin/etllm" "$bin/etbench" "$lib/libetrt.so" "$lib/libetemu.so" \
    "$lib/pkgconfig/etrt.pc" "$usr/include/etrt.h" "$usr/include/etemu.h" \
    "$usr/share/man/man3/etrt.3" "$usr/share/man/man3/etrt_run.3" "$usr/share/doc/etcc/etrt.html"; do
    [ -f "$file" ] || fail "$file is not installed"
done
for file in "$bin"/* "$lib"/*.so; do
    if readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -F "$build"; then
        fail "$file looks for libraries in the build folder"
    fi
done

cd "$dir/program"
"$bin/etcc" saxpy.etg -o saxpy.hsaco
PKG_CONFIG_PATH=$lib/pkgconfig
export PKG_CONFIG_PATH
cflags=$(pkg-config --cflags etrt) libs=$(pkg-config --libs etrt)
# shellcheck disable=SC2086
"$cc" $cflags main.c $libs -o shared
# shellcheck disable=SC2086
"$cc" $cflags main.c -Wl,-Bstatic $libs -Wl,-Bdynamic -o "$bin/static"
# shellcheck disable=SC2046,SC2086
"$cc" $cflags main.c -Wl,-Bstatic $libs -Wl,-Bdynamic $(pkg-config --static --libs-only-other etrt) -o static
cmake -S . -B b -G Ninja -DCMAKE_PREFIX_PATH="$usr" -DCMAKE_C_COMPILER="$cc" > "$dir/log" &&
    cmake --build b >> "$dir/log" || { cat "$dir/log"; fail 'the CMake package'; }

# libetrt.so finds the emulator beside itself; a program that has libetrt.a inside finds it in its own prefix,
# in that of libetrt.a by its run path, or is told where it is.
LD_LIBRARY_PATH=$lib ./shared saxpy.hsaco || fail 'pkg-config, libetrt.so'
b/with_shared saxpy.hsaco || fail 'CMake, libetrt.so'
"$bin/static" saxpy.hsaco || fail 'libetrt.a, in the prefix'
./static saxpy.hsaco || fail 'pkg-config, libetrt.a'
b/with_static saxpy.hsaco || fail 'CMake, libetrt.a'
cp "$bin/static" elsewhere
ETRT_EMU_LIB="$lib/libetemu.so" ./elsewhere saxpy.hsaco || fail 'libetrt.a, ETRT_EMU_LIB'
for program in "$bin/static" static b/with_static; do
    others=$(ldd $program | awk '{ print $1 }' | grep -v -e linux-vdso -e ld-linux -e '^libc\.so' || true)
    [ -z "$others" ] || fail "$program needs" "$others"
done

# Inputs are missing, so this fails, but only after the installed emulator was found and opened.
LD_DEBUG=files "$bin/etrun" saxpy.hsaco --device emu --set N=1 > run.log 2>&1 && fail 'etrun ran without inputs'
grep -q "calling init: $usr/.*/libetemu.so" run.log || { cat run.log; fail 'etrun did not open the installed emulator'; }
