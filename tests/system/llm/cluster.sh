#!/bin/sh
# cluster.sh BIN SRC WORK: one model in several processes that mpirun starts, each with a part of its layers, on emulated devices of
# this machine. What they compute is what one process does; a rank that is lost, or has another kernel, ends all of them.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2
fresh "$3"
checkpoints=$bin/../checkpoints stories=$bin/../checkpoints/stories-llama
pids=
trap 'for p in $pids; do kill -KILL $p 2> kill.log || true; done' EXIT
# Of Open MPI: root may start it, more ranks than processors, no copies from other processes' memory.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# It leaves what it has allocated, which is not ours to find.
quiet=ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_plm=isolated

stages() { # FILE.etg NAME N OPTION...: NAME.1.hsaco to NAME.N.hsaco
    text=$1 name=$2 count=$3
    shift 3
    for k in $(seq "$count"); do
        cp "$(kernel "$bin/etcc" "$text" gfx942 static --layers="$k/$count" "$@")" "$name.$k.hsaco"
    done
}
ranks() { # N ARGUMENTS...
    many=$1
    shift
    timeout 300 env "$quiet" mpirun -n "$many" "$bin/etcluster" --limit 100 "$@"
}

# ---- the same text from one process and from three
text=$(imported "$bin" "$src" stories-llama)
whole=$(kernel "$bin/etcc" "$text" gfx942 static)
stages "$text" s 3
"$bin/etllm" generate --kernel "$whole" --model "$stories" -p 'Once upon a time' -p 'The cat' -n 5 --device emu:gfx942:cus=4 > one 2> log
ranks 3 generate --kernel s.%s.hsaco --model "$stories" -p 'Once upon a time' -p 'The cat' -n 5 --device emu:gfx942:cus=4 > three 2> log ||
    die "$(cat log)"
cmp one three || die 'three processes write another text'
grep -q 'stage 3 of 3 (rank 0)' log || die "who is who: $(cat log)"

grep -q 'stages hand on over MPI: --device emu:gfx942:cus=4 is not one NVIDIA GPU' log || die "by which way: $(cat log)"
! ranks 3 --wire nccl generate --kernel s.%s.hsaco --model "$stories" -p 'Once' -n 2 --device emu:gfx942:cus=4 > long 2> log || die 'NCCL, emulated'
grep -q -- '--wire nccl: --device emu:gfx942:cus=4 is not one NVIDIA GPU' log || die "$(cat log)"

# ---- logits of golden checkpoints: dense, where each process has two devices; quantised; a mixture
score() { # MODEL TOLERANCE DEVICE OPTION...
    golden=$checkpoints/$1 tolerance=$2 device=$3 model=$1
    shift 3
    text=$(imported "$bin" "$src" "$model")
    [ -f "$text" ] || text=$src/tests/targets/models/$model.etg
    stages "$text" "$model" 2 "$@"
    ranks 2 score --kernel "$model.%s.hsaco" --model "$golden" --device "$device" --tokens "$golden/golden.safetensors" --chunk 24 \
        --out "$model.safetensors" 2> log || die "$(cat log)"
    "$bin/etllm" compare --ref "$golden/golden.safetensors" --out "$model.safetensors" --tolerance "$tolerance" --gap 0.1
}
score qwen3 0.02 emu:gfx942:cus=4:agents=2 --devices=2
[ -z "${ETCC_LONG-}" ] || score awq 0.02 emu:gfx942:cus=4
[ -z "${ETCC_LONG-}" ] || score mixtral 0.02 emu:gfx942:cus=4

# ---- layers that carry states, of which a stage may have none, and the last one no attention
golden=$checkpoints/qwen3_5
"$bin/etimport" "$golden" -o states.etg --snapshots 2 --slots 2
stages "$PWD/states.etg" states 4
"$bin/etrun" states.4.hsaco --list | grep -F 'kc: bf16[1, 2, 2, 256, 32]' > /dev/null || die 'the head does not know the context'
"$bin/etllm" score --kernel "$(kernel "$bin/etcc" "$PWD/states.etg" gfx942 static)" --model "$golden" --tokens "$golden/golden.safetensors" \
    --chunk 24 --out one.safetensors 2> log || die "$(cat log)"
ranks 4 score --kernel states.%s.hsaco --model "$golden" --device emu:gfx942:cus=4 --tokens "$golden/golden.safetensors" --chunk 24 \
    --out four.safetensors 2> log || die "$(cat log)"
cmp one.safetensors four.safetensors || die 'four processes carry other states'

# ---- the head serves; keys and values in pages that two texts share, copied on all ranks
"$bin/etimport" "$stories" -o paged.etg --paged 4 --pages 24 --slots 4
stages "$PWD/paged.etg" paged 2
serve() { # LIMIT: two processes, the head of which serves; $pids, $address, and $other, rank 1
    : > server.log
    env "$quiet" mpirun -n 2 "$bin/etcluster" --limit "$1" serve --kernel paged.%s.hsaco --model "$stories" --port 0 --device emu:gfx942:cus=4 2> server.log &
    pids=$!
    for _ in $(seq 600); do
        # What rank 1 says comes through mpirun, perhaps after what the head says.
        other=$(sed -n 's/^etcluster: stage 1 of 2 (rank 1), process //p' server.log)
        ! grep -q '^etllm: ready' server.log || [ -z "$other" ] || break
        sleep 0.1
    done
    address=$(sed -n 's/^etllm: listening on //p' server.log)
    [ -n "$address" ] || die "$(cat server.log)"
}
serve 100
asked='{"model":"stories-llama","prompt":"Once upon a time, there was","temperature":0,"max_tokens":4,"echo":true}'
curl -sS -m 100 --data-binary "$asked" "$address/v1/completions" | sed 's/.*"choices"/"choices"/; s/"usage".*//' > first
curl -sS -m 100 --data-binary "$asked" "$address/v1/completions" | sed 's/.*"choices"/"choices"/; s/"usage".*//' > again
cmp first again || die 'asked again, another text'
"$bin/etllm" generate --kernel "$whole" --model "$stories" -p 'Once upon a time, there was' -n 4 --device emu:gfx942:cus=4 > one 2> log
grep -qF "\"text\":\"$(cat one)\"" first || die "one process: $(cat one); served: $(cat first)"

# ---- a rank that is silent: the error names it, and all end
head=$(sed -n 's/^etcluster: stage 2 of 2 (rank 0), process //p' server.log)
kill -TERM "$head" # the head ends what it began, and tells the others
wait $pids || die "stopped, it failed: $(cat server.log)"
pids=
! kill -0 "$other" 2> kill.log || die 'the other rank still runs'
lost() { # SIGNAL LIMIT WORDS: what rank 1 of 2 gets while the head serves, before a text is asked for
    serve "$2"
    kill -"$1" "$other"
    curl -sS -m 100 --data-binary "$asked" "$address/v1/completions" > answer 2> curl.log &
    asking=$!
    from=$(date +%s)
    status=0
    wait $pids || status=$?
    pids=
    wait $asking || true # without an answer, by whichever end it came to
    kill -KILL "$other" 2> kill.log || true
    [ $status != 0 ] && [ $(($(date +%s) - from)) -lt 30 ] || die "a lost rank: status $status after $(($(date +%s) - from)) s"
    grep -q "$3" server.log || die "no '$3' in: $(cat server.log)"
}
lost STOP 3 'stage 1 of 2 (rank 1) has not answered for 3.5 s'
lost KILL 100 'rank 1 with PID .* exited on signal 9'

# ---- kernels of other stages, or of all
cp "$whole" wrong.1.hsaco && cp paged.2.hsaco wrong.2.hsaco
! ranks 2 generate --kernel wrong.%s.hsaco --model "$stories" -p 'Once' -n 2 --device emu:gfx942:cus=4 > long 2> log || die 'a whole model as stage 1'
grep -q 'is not the kernel of stage 1: etcc --layers=1/2 makes it' log || die "$(cat log)"
cp paged.1.hsaco wrong.1.hsaco && cp "$whole" wrong.2.hsaco
! ranks 2 generate --kernel wrong.%s.hsaco --model "$stories" -p 'Once' -n 2 --device emu:gfx942:cus=4 > long 2> log || die 'a whole model as the last stage'
grep -q 'has no input stage_in: etcc --layers=2/2 makes it' log || die "$(cat log)"
echo ok
