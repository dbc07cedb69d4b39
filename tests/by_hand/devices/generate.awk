# generate.awk -v seed=S -v devices=N: a random program as decoders are made of, most of which can be divided among N devices: blocks
# of products with a residual, in a loop or not, gated or not, with biases, norms, weights in one piece or in one tensor, plain or
# quantised by groups of k, attention with few heads of keys; weights that are read twice, outputs of what is cut, @split of some, also
# in parts that there are not; rows, columns and heads that do not divide; launches of up to 4, 20 or 40 rows. With -v whole=1 also what needs
# all columns: norms and softmax of what is between two products and of the last one's result. With -v mixtures=1 there are mixtures of experts,
# with shared ones, biases and codes, whose sums meet the residual in several ways; with -v scans=1 states carried along rows.
function draw(n) { return int(rand() * n) }
function pick(list,  a, n) { n = split(list, a, " "); return a[1 + draw(n)] }
# " = its name in the checkpoint", of weight W.
function named(w) { return looped ? sprintf(" = \"at.{l}.%s\"", w) : "" }
function hint(axis) {
    if (rand() < 0.1) printf "%s@split(%d, %d)\n", pad, axis, pick(devices " " devices " 1 1 2")
}
# A weight of ROWS by K; what it is read as.
function weight(rows, k, kind,  w, groups) {
    w = "w" count++
    if (kind == "quantised") {
        printf "%sweight %sq : i8[%d, %d]%s\n", pad, w, rows, k, named(w "q")
        printf "%sweight %ss : f16[%d, %d]%s\n", pad, w, rows, k / 16, named(w "s")
        printf "%s%s = bf16(%sq * gather(%ss.T, idiv(iota(%d), 16)).T)\n", pad, w, w, w, k
        return w
    }
    hint(draw(2))
    printf "%sweight %s : %s[%d, %d]%s\n", pad, w, kind, rows, k, named(w)
    return w
}
function kind() { return rand() < 0.25 ? "quantised" : pick("bf16 bf16 f16 f32") }
function bias(size,  b) {
    if (rand() < 0.6) return ""
    b = "b" count++
    printf "%sweight %s : bf16[%d]%s\n", pad, b, size, named(b)
    return " + " b
}
# Bounded: what grows from block to block leaves f32.
function normed(x) { return pick("rmsnorm(" x ",g,eps=1e-5) tanh(" x ")") }
function act(x) { return pick("gelu silu tanh relu") "(" x ")" }
function mlp(  f, a, b, c, k) {
    f = devices * 16 * (1 + draw(3))
    if (rand() < 0.15) f += pick("8 8 1 4 17")
    k = f % 16 ? "bf16" : kind()
    printf "%sh%d = %s\n", pad, n, normed("x")
    if (rand() < 0.3) { # gate and up in one tensor
        printf "%sweight w%d : bf16[%d, %d]%s\n", pad, count, 2 * f, H, named("w" count)
        a = "w" count "[0:" f "]"; b = "w" count++ "[" f ":" 2 * f "]"
    } else {
        a = weight(f, H, k)
        b = rand() < 0.6 ? weight(f, H, k) : ""
    }
    c = bias(f)
    printf "%su%d = %s%s\n", pad, n, act("(h" n " @ " a ".T" c ")"), b != "" ? " * (h" n " @ " b ".T)" : ""
    last = "u" n
    if (whole && rand() < 0.3) { # what a device has a part of, read whole
        if (rand() < 0.5) {
            b = "w" count++
            printf "%sweight %s : bf16[%d]%s\n%su%d = %s(rmsnorm(u%d, %s, eps=1e-5))\n", pad, b, f, named(b), pad, n, k == "f16" ? "f32" : pick("bf16 f32"), n, b
        } else printf "%su%d = softmax(u%d) * 4\n", pad, n, n
    }
    a = weight(H, f, k)
    c = bias(H)
    printf "%sx = x + (u%d @ %s.T%s) * 0.2\n", pad, n, a, c
    n++
}
function attend(  nh, nkv, d, a, b, c, k, i) {
    nkv = pick("1 2 3 4 6"); nh = nkv * pick("1 2 3 4"); d = pick("16 32"); k = kind(); i = n++
    printf "state k%d, v%d : %s[%s2, %d, 8, %d]\n", i, i, pick("bf16 f32"), looped ? L ", " : "", nkv, d
    printf "%sh%d = %s\n", pad, i, normed("x")
    if (rand() < 0.3) {
        printf "%sweight w%d : bf16[%d, %d]%s\n", pad, count, (nh + 2 * nkv) * d, H, named("w" count)
        a = "w" count "[0:" nh * d "]"; b = "w" count "[" nh * d ":" (nh + nkv) * d "]"
        c = "w" count++ "[" (nh + nkv) * d ":" (nh + 2 * nkv) * d "]"
    } else {
        a = weight(nh * d, H, k); b = weight(nkv * d, H, k); c = weight(nkv * d, H, k)
    }
    printf "%sq%d = reshape(h%d @ %s.T%s, [N, %d, %d])\n", pad, i, i, a, "", nh, d
    printf "%sk%d[%sslots, :, positions, :] = reshape(h%d @ %s.T, [N, %d, %d])\n", pad, i, looped ? "l, " : "", i, b, nkv, d
    printf "%sv%d[%sslots, :, positions, :] = reshape(h%d @ %s.T, [N, %d, %d])\n", pad, i, looped ? "l, " : "", i, c, nkv, d
    printf "%sa%d = attention(q%d, k%d%s, v%d%s, slots, positions, scale=0.25)\n", pad, i, i, i, looped ? "[l]" : "", i, looped ? "[l]" : ""
    a = weight(H, nh * d, k)
    printf "%sx = x + (reshape(a%d, [N, %d]) @ %s.T) * 0.2\n", pad, i, nh * d, a
}
# Matrices of all experts, ROWS by K each; what they are read as.
function experts(e, rows, k, as,  w) {
    if (as != "quantised") {
        w = "w" count++
        if (rand() < 0.1) hint(draw(3))
        printf "%sweight %s : %s[%d, %d, %d]%s\n", pad, w, as, e, rows, k, named(w)
        return w
    }
    w = "w" count++
    printf "%sweight %sq : %s[%d, %d, %d]%s\n", pad, w, pick("i8 e4m3"), e, rows, k, named(w "q")
    if (rand() < 0.4) { # a scale for each row
        printf "%sweight %ss : f32[%d, %d, 1]%s\n", pad, w, e, rows, named(w "s")
        printf "%s%s = bf16(%sq * %ss)\n", pad, w, w, w
        return w
    }
    printf "%sweight %ss : f16[%d, %d, %d]%s\n", pad, w, e, rows, k / 16, named(w "s")
    printf "%s%s = bf16(reshape(reshape(%sq, [%d, %d, %d, 16]) * reshape(%ss, [%d, %d, %d, 1]), [%d, %d, %d]))\n", pad, w, w, e, rows, k / 16, w, e, rows, k / 16, e, rows, k
    return w
}
# A mixture of experts. Mostly chosen by what is not rounded, so that the whole and its parts choose alike.
function mixture(  e, c, f, k, i, a, b, r, from, t, y, own, of, more) {
    i = n++; e = pick("2 3 4 8 5"); c = 1 + draw(e < 4 ? e : 3); f = devices * 16 * (1 + draw(2)); k = kind()
    if (H % 16 && k == "quantised") k = "bf16"
    if (rand() < 0.1) f += pick("8 16 4")
    if (f % 16) k = "bf16"
    r = "w" count++
    printf "%sh%d = %s\n%sweight %s : f32[%d, %d]%s\n", pad, i, normed("x"), pad, r, e, H, named(r)
    from = rand() < 0.85 ? "x0" : "h" i
    printf "%ss%d, e%d = topk(%s, %d)\n", pad, i, i, pick("softmax(" from "@" r ".T) sigmoid(" from "@" r ".T) " from "@" r ".T"), c
    if (rand() < 0.4) printf "%ss%d = s%d / (sum(abs(s%d), keep=1) + 0.5)\n", pad, i, i, i
    printf "%srows%d, place%d, owner%d, first%d = group(e%d, %d%s)\n", pad, i, i, i, i, i, e, rand() < 0.3 ? ", pad=" pick("4 16 5") : ""
    printf "%st%d = gather(h%d, idiv(rows%d, %d))\n", pad, i, i, i, c
    t = "t" i
    if (rand() < 0.3) { # gate and up in one tensor
        a = experts(e, 2 * f, H, k == "quantised" ? "bf16" : k)
        printf "%sb%d = grouped(t%d, %s, owner%d)\n", pad, i, i, a, i
        own = act("b" i "[:, :, 0:" f "]") " * b" i "[:, :, " f ":" 2 * f "]"
    } else {
        a = experts(e, f, H, k); own = act("grouped(" t ", " a ", owner" i ")")
        if (rand() < 0.6) { b = experts(e, f, H, k); own = own " * grouped(" t ", " b ", owner" i ")" }
    }
    a = experts(e, H, f, k)
    of = "grouped(" own ", " a ", owner" i ")"
    if (rand() < 0.2) { # a bias of each expert
        b = "b" count++
        printf "%sweight %s : bf16[%d, %d]%s\n", pad, b, e, H, named(b)
        of = of " + reshape(gather(" b ", owner" i "), [size(owner" i ", axis=0), 1, " H "])"
    }
    printf "%sz%d = %s\n%sy%d = gather(reshape(z%d, [size(rows%d, axis=0) * size(rows%d, axis=1), %d]), place%d)\n", pad, i, of, pad, i, i, i, i, H, i
    y = pick("sum(reshape(s" i ",[N," c ",1])*y" i ",axis=1) sum(y" i "*reshape(s" i ",[N," c ",1]),axis=1) sum(where(reshape(s" i ",[N," c ",1])>0.1,y" i ",0),axis=1) sum(y" i ",axis=1)/" c)
    more = ""
    if (rand() < 0.45) { # a shared one
        a = weight(f, H, "bf16"); b = weight(H, f, "bf16")
        more = act("h" i " @ " a ".T") " @ " b ".T"
        if (rand() < 0.4) { r = weight(1, H, "f32"); more = "sigmoid(x0 @ " r ".T) * (" more ")" }
        more = rand() < 0.5 ? " + " more : " - " more
    }
    if (rand() < 0.3) {
        printf "%sm%d = %s%s\n", pad, i, y, more
        printf "%sx = %s\n", pad, pick("x+m" i "*0.2 m" i "*0.2+x x-m" i " (x+m" i ")*0.5 x*0.5+m" i "/4 where(x0>0,x,m" i ") where(x0>0,x+m" i ",x) tanh(x+m" i ") x+m" i "*m" i "*0.01 x+bf16(m" i ")*0.2 x+m" i "*tanh(x)")
    } else
        printf "%sx = x + (%s%s) * 0.2\n", pad, y, more
    if (!looped && rand() < 0.2) extra = extra sprintf("output of%d = %s\n", i, pick("y" i " e" i " z" i "*2 reshape(y" i ",[N*" c "," H "])"))
}
# A state carried along rows, for each head: a delta rule or a decay.
function carried(  i, nh, d, j, k, at, q, a, v, s, look) {
    i = n++; nh = pick("2 4 4 8 3 1"); d = pick("16 16 32 8"); j = pick("16 32"); k = kind()
    if (H % 16 && k == "quantised") k = "bf16"
    printf "state st%d : f32[%s2, %d, %d, %d]\n", i, looped ? L ", " : "", nh, d, j
    printf "%sh%d = %s\n", pad, i, normed("x")
    at = weight(nh * j, H, k); printf "%sq%d = reshape(h%d @ %s.T, [N, %d, %d])\n", pad, i, i, at, nh, j
    if (rand() < 0.3) { # keys that heads share
        at = weight(j, H, "bf16"); printf "%sk%d = tanh(h%d @ %s.T) * 0.25\n", pad, i, i, at; q = "k" i "[i, j]"
    } else {
        at = weight(nh * j, H, k); printf "%sk%d = tanh(reshape(h%d @ %s.T, [N, %d, %d])) * 0.25\n", pad, i, i, at, nh, j; q = "k" i "[i, h, j]"
    }
    at = weight(nh * d, H, k); printf "%sv%d = reshape(h%d @ %s.T, [N, %d, %d])\n", pad, i, i, at, nh, d
    at = weight(nh, H, "f32"); printf "%sa%d = sigmoid(x0 @ %s.T)\n", pad, i, at
    a = "a" i "[i, h]"; v = "v" i "[i, h, d]"
    s = rand() < 0.5
    look = s ? ", look = " a " * s * " q : ""
    printf "%so%d = scan(i in 0..N, h in 0..%d, d in 0..%d, j in 0..%d, carry = st%d[%sslots[i], h, d, j], fresh = positions[i] == 0%s, next = %s * s + %s, out = s * q%d[i, h, j])\n", \
        pad, i, nh, d, j, i, looped ? "l, " : "", look, a, s ? "(" v " - seen) * " q : v " * " q, i
    if (rand() < 0.4) { at = weight(nh * d, H, "bf16"); printf "%so%d = o%d * reshape(silu(h%d @ %s.T), [N, %d, %d])\n", pad, i, i, i, at, nh, d }
    at = weight(H, nh * d, k)
    printf "%sx = x + (reshape(o%d, [N, %d]) @ %s.T) * 0.2\n", pad, i, nh * d, at
}
BEGIN {
    srand(seed)
    H = pick("32 48 64 36 40"); M = pick("4 4 20 40"); L = 1 + draw(3); count = n = 0
    printf "model random\ndim N in 1..%d\ninput x0 : f32[N, %d]\ninput slots, positions : i32[N]\nweight g : bf16[%d]\n", M, H, H
    looped = rand() < 0.5
    blocks = 1 + draw(3)
    for (i = 0; i < blocks; i++) kinds[i] = rand() < 0.45
    if (mixtures) for (i = 0; i < blocks; i++) if (!i || rand() < 0.4) kinds[i] = 2
    if (scans) for (i = 0; i < blocks; i++) if (!i || rand() < 0.4) kinds[i] = 3
    pad = looped ? "  " : ""
    print "x = x0 * 0.5"
    if (looped) printf "for l in 0..%d {\n", L
    for (i = 0; i < blocks; i++) if (kinds[i] == 2) mixture(); else if (kinds[i] == 3) carried(); else if (kinds[i]) attend(); else mlp()
    if (looped) print "}"
    inner = looped; looped = 0; pad = ""
    if (!inner && last != "" && rand() < 0.3) printf "output inner = %s * 2\n", last
    if (rand() < 0.7) {
        columns = devices * 16 * (1 + draw(2))
        w = weight(columns, H, kind())
        printf "output y = %s @ %s.T\n", normed("x"), w
        if (whole && rand() < 0.5) print "output best = " pick("softmax(y) argmax(y,axis=-1) reshape(y,[N*" columns "])")
        if (rand() < 0.2) printf "output again = sum(f32(%s), axis=0)\n", w
    } else print "output y = x * 1"
    printf "%s", extra
}
