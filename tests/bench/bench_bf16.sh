#!/bin/sh
# bench_bf16.sh - predictions and training steps in fp32, and in bf16 without and with AMX, as TSV.
#
#     bench_bf16.sh [NETWORK...]          networks a to d; default all
#
# a: CDIL, 64 channels, 128 hidden, 6 layers; b: ChordMixer, d=96, h=64; c: ChordMixer, d=288,
# h=128; d: ChordMixer, d=72, h=64. Crops of 250 to 8,000 bp (BASES in all, default 20,000), one
# thread and two (THREADS), the three in turn, ROUNDS times (default 5): medians of Mtokens per
# second, and their ratio to fp32 in the same round. A learning rate near 0 keeps the initial
# weights: with saturated classes (loss 7.5) gradients are subnormal, which train flushes to zero and
# bench_network does not: steps of c took three times as long in fp32. Then blocks of c and d on one sequence of 10,000 and of a million tokens
# (bench_ops), in Mtokens per second and block. WHAT is a choice of predict, step and blocks.
builddir=${builddir:-.}
tmp=$(mktemp -d) || exit
trap 'rm -rf "$tmp"' EXIT
c="$builddir/chordseq"
b="$builddir/tests/bench"
"$b/gen_fasta" "${BASES:-20000}" 1 250 8000 > "$tmp/x.fa"
"$b/gen_fasta" 4000 1 250 500 |
    awk '/^>/ { print $1 " class=" (++n % 2 ? "one" : "two"); next } { print }' > "$tmp/t.fa"

options()
{
    case $1 in
    a) echo '--encoder cdil --encoder.channels 64 --encoder.hidden 128 --encoder.layers 6' ;;
    b) echo '--encoder.track 4 --encoder.max-len 8388608 --encoder.hidden 64' ;;
    c) echo '--encoder.track 16 --encoder.max-len 131072 --encoder.hidden 128' ;;
    d) echo '--encoder.track 4 --encoder.max-len 131072 --encoder.hidden 64' ;;
    esac
}

# network NETWORK WHAT THREADS KIND - Mtokens per second
network()
{
    precision=$4; hidden=
    [ "$4" != amx ] && hidden=amx || precision=bf16
    CHORDSEQ_DISABLE=$hidden "$b/bench_network" -w "$2" -p $precision -s "${SECONDS_EACH:-0.3}" \
        "$tmp/m" "$tmp/x.fa" "$3" | awk 'END { print $6 }'
}

# blocks NETWORK blocks:LENGTH THREADS KIND - the same of a block
blocks()
{
    level=$4
    [ "$level" = fp32 ] && level=avx512
    case $1 in c) shape='288 128 16' ;; *) shape='72 64 4' ;; esac
    # shellcheck disable=SC2086
    "$b/bench_ops_$level" $shape 1 "${2#*:}" "$3" |
        awk '$1 == "blocks" { printf "%.4f\n", 1000 / $14; exit }'
}

# measure FUNCTION NETWORK WHAT THREADS - lines of the table
measure()
{
    i=0
    while [ $((i += 1)) -le "${ROUNDS:-5}" ]; do
        for kind in $kinds; do
            printf '%s\t%s\t' "$i" "$kind"
            "$@" "$kind"
        done
    done | awk -v line="$2	$3	$4" -v kinds="$kinds" -F '\t' '
        function median(a, m,   i, j, t) {
            for (i = 2; i <= m; i++)
                for (j = i; j > 1 && a[j] < a[j - 1]; j--) {
                    t = a[j]
                    a[j] = a[j - 1]
                    a[j - 1] = t
                }
            return m % 2 ? a[(m + 1) / 2] : (a[m / 2] + a[m / 2 + 1]) / 2
        }
        { v[$2, $1] = $3; if ($1 > m) m = $1 }
        END {
            n = split(kinds, kind, " ")
            for (k = 1; k <= n; k++) {
                for (i = 1; i <= m; i++) { a[i] = v[kind[k], i]; r[i] = a[i] / v["fp32", i] }
                printf "%s\t%s\t%.3f\t%.2f\n", line, kind[k], median(a, m), median(r, m)
            }
        }'
}

kinds='fp32 bf16'
"$b/bench_ops_amx" 72 64 4 1 10 1 | grep -q 'no such kernels' || kinds="$kinds amx"
printf 'network\twhat\tthreads\tproducts\tMtokens_per_s\tratio\n'
for n in ${*:-a b c d}; do
    # shellcheck disable=SC2046
    "$c" train -q -o "$tmp/m" --force --tokenizer base --max-steps 1 --lr 1e-9 \
        --label-key class $(options "$n") "$tmp/t.fa" || exit
    for what in ${WHAT:-predict step blocks}; do
        case $what,$n in
        blocks,c|blocks,d)
            for length in 10000 1000000; do
                measure blocks "$n" blocks:$length 1
            done ;;
        blocks,*) ;;
        *)
            for threads in ${THREADS:-1 2}; do
                measure network "$n" "$what" "$threads"
            done ;;
        esac
    done
done
