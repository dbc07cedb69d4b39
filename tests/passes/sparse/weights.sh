# weights.sh: what etfill makes the weights of mlp.etg and experts.etg of, into mlp.weights and experts.weights here. Sourced by tests.
echo 'head:bf16[250,512]:-0.1:0.1' > mlp.weights
for l in 0 1; do
    printf "layers.$l.%s\n" 'wg:bf16[320,512]:-0.1:0.1' 'wu:bf16[320,512]:-0.1:0.1' 'down:bf16[512,320]:-0.1:0.1'
done >> mlp.weights
printf '%s\n' 'wg:bf16[8,128,256]:-0.1:0.1' 'wu:bf16[8,128,256]:-0.1:0.1' > experts.weights
for e in 0 1 2 3 4 5 6 7; do
    echo "experts.$e.down:bf16[256,128]:-0.1:0.1"
done >> experts.weights
