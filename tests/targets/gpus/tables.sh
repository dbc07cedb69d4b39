# Programs of what is odd: rows with NaN and infinities, and all values of narrow types; read with `. .../tables.sh`. Their inputs are made by
# nan_rows and all_values, which also compares what comes out.
# shellcheck shell=sh disable=SC2154

nan_rows=320 # each kind of row with what is odd in 32 places
nan_columns=${NAN_COLUMNS:-3 5 64 100 128 1024 1500} nan_few='5 100 1024' # shared by few lanes, by a wave and a part of one, by a workgroup
# What is reduced, of the rows a: f32, or rounded. One a line.
nan_kinds='a
f32(bf16(a))
f32(f16(a) + 0)'

nan_program() { # COLUMNS, KIND
    cat << X
model nan
dim N in 1..$nan_rows
input a : f32[N, $1]
x = $2
output zero_most = max(x)
output zero_least = min(x)
output first = argmax(x)
output zero_down = max(x, axis=0)
output first_down = argmax(x, axis=0)
output sums = max(where(x > 0, 1, 0))
X
    [ "$1" -gt 200 ] || cat << X
output near_soft = softmax(x)
one = f32(iota($1 * 2) * 0 + 1)
output near_attend = attend(i in 0..N, h in 0..1, p in 0..$1, d in 0..2, q = one[d], k = one[p], v = one[p + d], score = qk * 0 + x[i, p])
output near_masked = attend(i in 0..N, h in 0..1, p in 0..$1, d in 0..2, q = one[d], k = one[p], v = one[p + d], mask = x[i, p] < 30,
                            score = x[i, p], extra = one[h] * -100)
v, i = topk(x, $(($1 > 1 ? 2 : 1)))
product = x @ reshape(f32(mod(iota($1 * 8), 3) - 1), [$1, 8])
output odd_product = where(abs(product) < 1e30, 0, product)
output zero_top = v
output top = i
X
}

# ---- all values: programs for rows of $columns, $rows of them

give() { # EXPRESSION, near where it is not exact, zero where zeros may have any sign: in all types
    made=$((made + 1))
    for t in f16 bf16 f32 e4m3; do
        echo "output ${2-}y${made}_$t = $t($1)"
    done
}
# Converted once and twice; some by way of a state.
converted() {
    for x in b h f 'c + 0 * h' 'd + 0 * h'; do
        give "$x"
        for t in f16 bf16 e4m3; do give "$t($x)"; done
        for t in f16 bf16; do
            made=$((made + 1))
            cat << X
state s$made : $t[$rows, $columns]
s$made[iota(N), :] = $x + h2
output z$made = f32(gather(s$made, iota(N)))
X
        done
    done
    # One row: reduced by lanes that have a value, or none.
    for t in f16 bf16 f32; do echo "output of_one_$t = $t(max(f16(b[:1, :]), axis=0))"; done
}
one() { # EXPRESSION of x
    for x in b h f '(c + 0 * h)' 'bf16(f)' 'f16(b)' 'bf16(h)' 'e4m3(f)'; do
        give "$(echo "$1" | sed "s/\<x\>/$x/g")" "${2-}"
    done
}
two() { # EXPRESSION of x and y
    for x in b h f c d; do
        for y in b2 h2 f2 c d; do
            [ "$x" != "$y" ] || continue
            case $x$y in cd | dc) continue ;; esac
            give "$(echo "$1" | sed "s/\<x\>/$x/g; s/\<y\>/$y/g")" "${2-}"
        done
    done
}
several() { # what compilers may put together, or narrow, behind a conversion
    for x in b h 'bf16(f)'; do
        for y in b2 h2 'bf16(h2)'; do
            give "where($x < $y, $x - $y, $x * 2)"
            give "abs($x + $y) - 0.5"
            give "-($x + 998.5)"
            give "$x * 0.25 + where($y < 1, $x, 3)" near
        done
    done
}

# A line for each program: NAME FUNCTION EXPRESSION, its results in a word if they are not all exact. The first few are the most telling.
values_few='converted converted
add two x+y
multiply two x*y'
values_more='subtract two x-y
where two where(x<y,x,y)
negative one -x
zero_less one (0-x)*0.5
zero_divides one 1/(0-x) near
absolute one abs(x)
floor one floor(x)
divide two x/y near
largest two maximum(x,y) zero
least two minimum(x,y) zero
root one sqrt(x) near
several several'

values_inputs() { # "N, ", or nothing for one row alone
    cat << X
model values
${1:+dim N in 1..$rows}
input b, b2 : bf16[$1$columns]
input h, h2 : f16[$1$columns]
input f, f2 : f32[$1$columns]
weight c : e4m3[$columns]
weight d : e5m2[$columns]
X
}
values_program() { # FUNCTION EXPRESSION...
    made=0
    values_inputs 'N, '
    "$@"
}

# ---- folds: signs, choices and conversions one inside another, which compilers take apart and put together again

# Programs for parts of one row of 65,536, which lanes have from one to many elements of, or of SLICED=0 for $rows of $columns; the SEED decides
# which. Sums and products are left out: all results are exact.
values_folds() { # SEED COUNT SLICED
    awk -v seed="$1" -v count="$2" -v sliced="$3" '
    function draw(n) { seed = (seed * 1103 + 12345) % 2147483; return int(seed / 7) % n }
    function pick(words, parts) { return parts[1 + draw(split(words, parts, " "))] }
    function type() { return pick("bf16 f16 f32 e4m3") }
    function leaf() {
        var = pick("b b2 b b2 h h2 f f2 c d") part
        if (draw(3) == 0) return type() "(" var ")"
        if (draw(6) == 0) return "i32(" var ")"
        if (draw(12) == 0) return pick("1 0.5 (-1) 0 448 (-0.0078125) 65504")
        return var
    }
    function condition(depth, left) {
        left = tree(depth)
        left = left " " pick("< <= > >= == !=")
        left = left " " tree(depth)
        return draw(6) ? left : "not (" left ")"
    }
    function tree(depth, what, left) {
        if (depth == 0) return leaf()
        what = draw(20)
        if (what < 5) return "(-" tree(depth - 1) ")"
        if (what < 7) return "abs(" tree(depth - 1) ")"
        if (what < 13) {
            left = "where(" condition(depth - 1)
            left = left ", " tree(depth - 1)
            return left ", " tree(depth - 1) ")"
        }
        if (what < 16) {
            zeros = 1
            left = pick("minimum maximum")
            left = left "(" tree(depth - 1)
            return left ", " tree(depth - 1) ")"
        }
        if (what == 19) return leaf()
        left = type()
        return left "(" tree(depth - 1) ")"
    }
    BEGIN {
        for (i = 0; i < 20; i++) draw(2)
        while (made < count) {
            zeros = 0
            width = 256 * 2 ^ draw(6)
            part = draw(65536 / width) * width
            part = sliced ? "[" part ":" part + width "]" : ""
            e = tree(2 + draw(3))
            if (e !~ /[bhf]2?[[,) ]|^[bhf]2?$/) continue
            printf "output %sy%d = %s(%s)\n", zeros ? "zero_" : "", ++made, pick("bf16 f16 f32 e4m3 i32"), e
        }
    }'
}
